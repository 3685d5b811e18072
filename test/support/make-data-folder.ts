// Makes a data folder with the demo by a version of the program, and packs it for the tests of migrations with the answers that this
// version gives. Run it before the layout version is raised, and again with the new version:
//   bun test/support/make-data-folder.ts [PROGRAM...]     PROGRAM: the command line; absent: this checkout
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { environmentsIn } from '../../src/cli/folder/folder-layouts.ts'
import { AUDIT_FOLDER, AUDIT_INDEX_FOLDER, DATA_FILE } from '../../src/kernel/folder/data-folder.ts'
import { readFolderLayout } from '../../src/store/lmdb/layout.ts'
import { bin, ownEnvironment } from './cli-process.ts'
import {
  type AskedDecision,
  askDataFolder,
  dataFolders,
  type EarlierDataFolder,
  layoutKinds,
} from './earlier-data-folders.ts'
import { removeTemporaryFolders, temporaryFolder } from './temporary-folder.ts'

/** Versions without audit logs never make the index. */
const INDEX_MS = 10_000
/** So that the repository stays small. */
const PACKED_BYTES_MAX = 150_000

const nodes = join(import.meta.dirname, '..', '..', 'data', 'demo', 'nodes.json')
const people = (JSON.parse(readFileSync(nodes, 'utf8')) as { nodes: { type: string; external_id: string }[] }).nodes
  .filter(({ type }) => type === 'Person')
  .map(({ external_id }) => external_id)

function questions(): Omit<AskedDecision, 'answer'>[] {
  const person = (id: string) => ({ type: 'Person', id })
  const tow = { action: { name: 'tow' }, resource: { type: 'Car', id: 'bramble' } }
  return [
    ...people.flatMap((id) => [
      ...[1800, 2400].map((load_kg) => ({
        target: '/access/v1/evaluation',
        body: { subject: person(id), ...tow, context: { input_params: { load_kg } } },
      })),
      {
        target: '/access/v1/search/resource',
        body: { subject: person(id), action: { name: 'read' }, resource: { type: 'Document' } },
      },
    ]),
    {
      target: '/access/v1/search/subject',
      body: { subject: { type: 'Person' }, action: { name: 'read' }, resource: { type: 'Document', id: 'rota' } },
    },
  ]
}

async function make(program: readonly string[]): Promise<void> {
  const folder = join(temporaryFolder(), 'data')
  const child = Bun.spawn([...program, 'serve', '--demo', '--data', folder, '--port', '0'], {
    env: ownEnvironment,
    stdin: 'ignore',
    stdout: 'pipe',
    stderr: 'inherit',
  })
  let output = ''
  const decoder = new TextDecoder()
  for await (const bytes of child.stdout) {
    output += decoder.decode(bytes, { stream: true })
    // The last answer of the printed examples that every version prints.
    if (output.includes('"welcome"}]}')) break
  }
  const url = /listening on (http:\/\/\S+)/.exec(output)?.[1]
  const key = /\b(vgk_\S+?)['"\s]/.exec(output)?.[1]
  if (url === undefined || key === undefined) throw new Error(`the program did not serve: ${output}`)
  const asked: AskedDecision[] = []
  for (const question of questions()) {
    asked.push({ ...question, answer: await askDataFolder(url, key, question.target, question.body) })
  }
  // The index of the audit logs is made with the first seal.
  const until = Date.now() + INDEX_MS
  while (Date.now() < until && !existsSync(join(folder, AUDIT_FOLDER, AUDIT_INDEX_FOLDER, DATA_FILE))) {
    await Bun.sleep(100)
  }
  child.kill('SIGTERM')
  await child.exited

  const layouts: Record<string, number> = {}
  for (const environment of environmentsIn(folder)) {
    const { kind, version } = await readFolderLayout(environment)
    const contents = layoutKinds.find(([, layout]) => layout.kind === kind)?.[0]
    if (contents === undefined) throw new Error(`${environment} has contents of the unknown kind ${kind}`)
    layouts[contents] ??= version
    if (layouts[contents] !== version) throw new Error(`${contents} has two versions`)
  }
  const name = layoutKinds
    .flatMap(([contents]) => (layouts[contents] === undefined ? [] : [`${contents}-${layouts[contents]}`]))
    .join('-')
  const packed = join(dataFolders, `${name}.tar.gz`)
  for (const one of ['lock.mdb', '*.lock', 'lanes']) {
    Bun.spawnSync(['find', folder, '-name', one, '-exec', 'rm', '-rf', '{}', '+'])
  }
  const tar = Bun.spawnSync(['tar', '-C', folder, '--owner=0', '--group=0', '--sort=name', '-czf', packed, '.'])
  if (tar.exitCode !== 0) throw new Error(`tar: ${tar.stderr}`)
  const { size } = Bun.file(packed)
  if (size > PACKED_BYTES_MAX) {
    rmSync(packed)
    throw new Error(`the packed folder has ${size} bytes, more than ${PACKED_BYTES_MAX}`)
  }
  const described: EarlierDataFolder = { layouts, key, asked }
  writeFileSync(join(dataFolders, `${name}.json`), `${JSON.stringify(described, null, 1)}\n`)
  process.stdout.write(`${relative(process.cwd(), packed)}: ${size} bytes, ${asked.length} answers\n`)
}

await make(process.argv.length > 2 ? process.argv.slice(2) : [bin])
removeTemporaryFolders()
