// All files that the commands write are private to their user, even if the umask would let others read them.
import { chmodSync, lstatSync, mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { killAll, runCommand, startServer } from '../../support/cli-process.ts'

let folder: string
let data: string
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'verdigraph-private-'))
  data = join(folder, 'data')
})
afterEach(async () => {
  await killAll()
  rmSync(folder, { recursive: true, force: true })
})

/** Runs the command with a umask of 0. */
const openly = ['sh', '-c', 'umask 0; exec "$0" "$@"']
const run = (...args: string[]) => runCommand(args, {}, openly)

/** All entries below `path`, including itself, that grant any permission to others, each with its mode. */
function wideIn(path: string): { seen: number; wide: string[] } {
  const found = lstatSync(path, { throwIfNoEntry: false })
  // A service may have removed or renamed it since the folder was read.
  if (found === undefined) return { seen: 0, wide: [] }
  const own = (found.mode & 0o077) === 0 ? [] : [`${path} ${(found.mode & 0o777).toString(8)}`]
  const inner = found.isDirectory() ? namesIn(path).map((name) => wideIn(join(path, name))) : []
  return {
    seen: inner.reduce((sum, { seen }) => sum + seen, 1),
    wide: [...own, ...inner.flatMap(({ wide }) => wide)],
  }
}

/** Empty if the folder was removed. */
function namesIn(path: string): readonly string[] {
  try {
    return readdirSync(path)
  } catch (failure) {
    if ((failure as NodeJS.ErrnoException).code === 'ENOENT') return []
    throw failure
  }
}

const modeOf = (path: string): string => (lstatSync(path).mode & 0o777).toString(8)

describe.each([1, 2])('a folder that is served by %i', (workers) => {
  it('is 0700, and its files, log and locks are 0600', async () => {
    const server = await startServer(
      ['--data', data, '--demo', '--workers', String(workers)],
      { VERDIGRAPH_DECISION_LOG: join(folder, 'decisions.ndjson') },
      openly,
    )
    const { seen, wide } = wideIn(data)
    expect([wide, seen > 10, modeOf(data)]).toEqual([[], true, '700'])
    expect(modeOf(join(data, 'config', 'data.mdb'))).toBe('600')
    expect(modeOf(join(data, 'config', 'lock.mdb'))).toBe('600')
    await expect.poll(() => modeOf(join(folder, 'decisions.ndjson'))).toBe('600')
    expect(await server.kill('SIGTERM')).toBe(0)
    expect(wideIn(data).wide).toEqual([])
  })
})

it('a backup, an export, and folders created from them are private to their user', async () => {
  expect((await run('init', '--data', data)).exitCode).toBe(0)
  expect(wideIn(data).wide).toEqual([])
  const [backup, lines] = [join(folder, 'backup.tar'), join(folder, 'lines.ndjson')]
  expect((await run('backup', '--data', data, '--out', backup)).exitCode).toBe(0)
  expect((await run('export', '--data', data, '--out', lines)).exitCode).toBe(0)
  expect([modeOf(backup), modeOf(lines)]).toEqual(['600', '600'])
  const [restored, imported] = [join(folder, 'restored'), join(folder, 'imported')]
  expect((await run('restore', '--data', restored, '--in', backup)).exitCode).toBe(0)
  expect((await run('import', '--data', imported, '--in', lines)).exitCode).toBe(0)
  expect((await run('migrate', '--data', restored)).exitCode).toBe(0)
  expect((await run('rotate-master-key', '--data', data)).exitCode).toBe(0)
  for (const made of [data, restored, imported]) expect([modeOf(made), wideIn(made).wide]).toEqual(['700', []])
})

it('a store that another program embeds is private too, and keeps the umask of that program', async () => {
  const source = join(import.meta.dirname, '..', '..', '..', 'src', 'store', 'graph', 'open-store.ts')
  const path = join(folder, "it's a store")
  const script = `
    process.umask(0o022)
    const { openStore } = await import(${JSON.stringify(source)})
    const store = openStore(${JSON.stringify(path)})
    await store.write((batch) => batch.upsertNode({ type: 'Item', externalId: 'one' }))
    await store.close()
    console.log(process.umask().toString(8))`
  const child = Bun.spawnSync([process.execPath, '-e', script])
  expect([child.stdout.toString(), child.exitCode]).toEqual(['22\n', 0])
  expect([modeOf(path), modeOf(join(path, 'data.mdb')), modeOf(join(path, 'lock.mdb'))]).toEqual(['700', '600', '600'])
})

describe('a folder with wider permissions', () => {
  it('is reported with the command that fixes it, in the log and on the error stream', async () => {
    data = join(folder, "it's data")
    await run('init', '--data', data)
    mkdirSync(join(data, 'wide'), { mode: 0o755 })
    chmodSync(data, 0o755)
    const command = `chmod -R go= '${folder}/it'\\''s data'`
    const told = `the data folder ${data} has the mode 0755, so other users may access its files: run \`${command}\``
    const { stderr, exitCode } = await run('token', '--data', data)
    expect([exitCode, stderr]).toEqual([0, `warning: ${told}\n`])
    const server = await startServer(['--data', data])
    expect(await server.kill('SIGTERM')).toBe(0)
    const logged = (await server.errors()).trim().split('\n')
    expect(logged.map((line) => JSON.parse(line).message)).toEqual([told])
    // After it is fixed, nothing is reported any more.
    expect(Bun.spawnSync(['sh', '-c', command]).exitCode).toBe(0)
    expect(wideIn(data).wide).toEqual([])
    expect((await run('token', '--data', data)).stderr).toBe('')
  })
})
