// Where the command pull writes: below its folder only, whatever a service answers and whatever links the folder has.
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Finished, runCommand } from '../../support/cli-process.ts'
import { removeTemporaryFolders, temporaryFolder } from '../../support/temporary-folder.ts'

const drive = 'subject: Person\nactions: [drive]\nresource: Car\ncypher: MATCH (subject)-[:OWNS]->(resource)\n'

let base: string
let data: string

beforeAll(async () => {
  base = temporaryFolder()
  data = join(base, 'data')
  await runCommand(['init', '--data', data])
})
afterAll(removeTemporaryFolders)

function folderWith(name: string, files: Readonly<Record<string, string>>): string {
  const folder = join(base, name)
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

const run = (...args: string[]): Promise<Finished> => runCommand([...args, '--data', data])

describe('pull', () => {
  test.each([
    ['authorization-policies', '../../outside'],
    ['authorization-policies', '/outside'],
    ['organizations', 'outside'],
  ])('writes nothing if a service answers with the document %s %s', async (kind, name) => {
    const document = (of: string, named: string, body: object) => ({
      kind: of,
      id: named,
      name: named,
      body,
      secrets: [],
    })
    const answer = {
      etag: '"1"',
      project: document('projects', 'cars', { region: 'local' }),
      documents: [document(kind, name, { status: 'ACTIVE', policy: 'text', tags: [] })],
      credentials: {},
    }
    const service = Bun.serve({ port: 0, hostname: '127.0.0.1', fetch: () => Response.json(answer) })
    try {
      const parent = join(temporaryFolder(), 'parent')
      mkdirSync(parent)
      const url = `http://127.0.0.1:${service.port}`
      const { exitCode, stderr } = await runCommand(
        ['pull', join(parent, 'folder'), '--project', 'cars', '--url', url, '--data', data],
        { VERDIGRAPH_TOKEN: 'unused' },
      )
      expect(stderr).toContain(`error: the answer of ${url}: ${kind} "${name}": `)
      expect(exitCode).toBe(1)
      expect([readdirSync(parent), readdirSync(dirname(parent))]).toEqual([[], ['parent']])
    } finally {
      await service.stop(true)
    }
  })

  test('with --force writes and deletes nothing through a symbolic link', async () => {
    const files = {
      'verdigraph.yaml': 'name: linked\n',
      'policies/drive.policy.yaml': drive,
      'queries/own.query.yaml': 'policy: see\nnodes: [car.external_id]\n',
      'policies/see.policy.yaml': `version: 1.0-ciq\nsubject: Person\ncypher: MATCH (subject)-[:OWNS]->(car:Car) WHERE subject.external_id = $token.sub\nallowed_reads: {nodes: [car.external_id]}\n`,
    }
    const original = folderWith('original', files)
    expect((await run('apply', original, '--create')).stderr).toBe('')
    const outside = folderWith('outside', { 'drive.policy.yaml': 'text of another file', 'x/own.query.yaml': 'kept' })
    const linkedFile = folderWith('linked-file', { 'verdigraph.yaml': 'name: linked\n', 'policies/notes.md': '' })
    symlinkSync(join(outside, 'drive.policy.yaml'), join(linkedFile, 'policies/drive.policy.yaml'))
    const linkedFolder = folderWith('linked-folder', { 'verdigraph.yaml': 'name: linked\n' })
    symlinkSync(join(outside, 'x'), join(linkedFolder, 'queries'))
    const dangling = folderWith('dangling', { 'verdigraph.yaml': 'name: linked\n' })
    symlinkSync(join(outside, 'new'), join(dangling, 'policies'))
    const linkedProject = folderWith('linked-project', {})
    mkdirSync(linkedProject)
    symlinkSync(join(original, 'verdigraph.yaml'), join(linkedProject, 'verdigraph.yaml'))
    for (const [folder, path] of [
      [linkedFile, 'policies/drive.policy.yaml'],
      [linkedFolder, 'queries'],
      [dangling, 'policies'],
      [linkedProject, 'verdigraph.yaml'],
    ] as const) {
      const before = readdirSync(folder, { recursive: true }).sort()
      const { exitCode, stderr } = await run('pull', folder, '--force')
      expect([exitCode, stderr], folder).toEqual([2, expect.stringContaining(`error: ${path}:`)])
      expect(stderr).toMatch(/symbolic link/)
      expect(readdirSync(folder, { recursive: true }).sort()).toEqual(before)
    }
    expect(readFileSync(join(outside, 'drive.policy.yaml'), 'utf8')).toBe('text of another file')
    expect(readFileSync(join(outside, 'x/own.query.yaml'), 'utf8')).toBe('kept')
    expect(existsSync(join(outside, 'new'))).toBe(false)
  })

  test('with --force writes a YAML file for a policy that a file of Cypher cannot have', async () => {
    const cypherFile = `---\nsubject: Person\nactions: [drive]\nresource: Car\n---\nMATCH (subject)-[:OWNS]->(resource)\n`
    const pulled = folderWith('pulled', {
      'verdigraph.yaml': 'name: texts\n',
      'policies/sub/drive.cypher': cypherFile,
      'policies/sell.cypher': cypherFile,
    })
    expect((await run('apply', pulled, '--create')).stderr).toBe('')
    const changed = folderWith('changed', {
      'verdigraph.yaml': 'name: texts\n',
      'policies/drive.policy.yaml': 'status: DRAFT\ntext: not a policy\n',
      'policies/sell.policy.yaml': drive.replace(/cypher: (.*)/, 'cypher: "$1  "'),
    })
    expect((await run('apply', changed)).stderr).toBe('')
    const { exitCode, stdout, stderr } = await run('pull', pulled, '--force', '--json')
    expect([exitCode, stderr]).toEqual([0, ''])
    expect(JSON.parse(stdout)).toMatchObject({
      written: ['policies/sub/drive.policy.yaml', 'policies/sell.policy.yaml'],
      removed: ['policies/sell.cypher', 'policies/sub/drive.cypher'],
    })
    const again = await run('apply', pulled)
    expect([again.stdout, again.stderr]).toEqual(['0 created, 0 updated, 0 deleted, 3 unchanged\n', ''])
  })
})
