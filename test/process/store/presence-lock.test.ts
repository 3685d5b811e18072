// Which processes exclude each other from a folder: a process under Node all others, also those under Bun, until it ends.
import { mkdtempSync, rmSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { openStore } from '../../../src/store/graph/open-store.ts'
import { nodeProgram } from '../../support/node-program.ts'

const top = join(import.meta.dirname, '..', '..', '..')
const folder = mkdtempSync(join(tmpdir(), 'verdigraph-presence-'))
const node = nodeProgram()
const bun = process.execPath
const children: Bun.Subprocess[] = []
let count = 0

/** Opens the folder twice, which one process may. Prints `open` and stays, or prints the error and ends. */
const program = `
  import { openStore } from './library.mjs'
  const [folder, options] = process.argv.slice(2)
  try {
    const stores = [openStore(folder, JSON.parse(options)), openStore(folder, JSON.parse(options))]
    await stores[0].write((batch) => batch.upsertNode({ type: 'A', externalId: String(process.pid) }))
    console.log('open')
    process.stdin.on('data', async () => {
      for (const store of stores) await store.close()
      console.log('closed')
    })
  } catch (error) {
    console.log(error.name + ': ' + error.message)
    process.exit(1)
  }
`

beforeAll(async () => {
  const built = await Bun.build({
    entrypoints: [join(top, 'src', 'index.ts')],
    target: 'node',
    packages: 'external',
  })
  writeFileSync(join(folder, 'library.mjs'), await built.outputs[0]!.text())
  writeFileSync(join(folder, 'program.mjs'), program)
  symlinkSync(join(top, 'node_modules'), join(folder, 'node_modules'))
})

afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGKILL')
    await child.exited
  }
})

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const newFolder = (): string => join(folder, `graph-${count++}`)

async function start(runtime: string, path: string, options: object = {}, environment: Record<string, string> = {}) {
  const child = Bun.spawn([runtime, join(folder, 'program.mjs'), path, JSON.stringify(options)], {
    stdin: 'pipe',
    stdout: 'pipe',
    stderr: 'inherit',
    env: { ...process.env, ...environment },
  })
  children.push(child)
  const lines = child.stdout.pipeThrough(new TextDecoderStream()).getReader()
  const line = async () => ((await lines.read()).value ?? '').trim()
  return { child, line, first: await line() }
}

const forNode = (path: string) =>
  `OperationalError: the store in ${path} is open in another process or worker thread; under Node only one may have it open`
const forBun = (path: string) =>
  `OperationalError: the store in ${path} is open in a process under Node, which excludes all others`

test('under Node a second process is refused, under Node and under Bun, until the first one closes', async () => {
  const path = newFolder()
  const holder = await start(node, path)
  expect(holder.first).toBe('open')
  expect((await start(node, path)).first).toBe(forNode(path))
  expect((await start(bun, path)).first).toBe(forBun(path))
  expect(() => openStore(path)).toThrow('is open in a process under Node')
  holder.child.stdin.write('close\n')
  await holder.child.stdin.flush()
  expect(await holder.line()).toBe('closed')
  expect((await start(node, path)).first).toBe('open')
})

test('the lock ends with a process that is killed', async () => {
  const path = newFolder()
  const holder = await start(node, path)
  expect((await start(node, path)).first).toBe(forNode(path))
  holder.child.kill('SIGKILL')
  await holder.child.exited
  expect((await start(node, path)).first).toBe('open')
})

test('under Bun several processes have a folder open, and all of them must end before one under Node', async () => {
  const path = newFolder()
  const store = openStore(path)
  const other = await start(bun, path)
  expect(other.first).toBe('open')
  expect((await start(node, path)).first).toBe(forNode(path))
  await store.close()
  expect((await start(node, path)).first).toBe(forNode(path))
  other.child.kill('SIGKILL')
  await other.child.exited
  expect((await start(node, path)).first).toBe('open')
  expect(() => openStore(path)).toThrow('is open in a process under Node')
})

test('the lock file is private', async () => {
  const path = newFolder()
  await start(node, path)
  expect(statSync(join(path, 'open.lock')).mode & 0o777).toBe(0o600)
})

test.skipIf(process.platform !== 'linux')('without the `flock` command Node needs `lockFolder: false`', async () => {
  const path = newFolder()
  const { first } = await start(node, path, {}, { PATH: folder })
  expect(first).toContain(`OperationalError: the store in ${path} cannot be locked with the command \`flock\``)
  expect(first).toContain('install it (package util-linux), or open the store with `lockFolder: false`')
  expect((await start(node, path, { lockFolder: false }, { PATH: folder })).first).toBe('open')
})
