// Workers are replaced one after another under load: no client sees an error, and a successor that does not start changes nothing.
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { GRAPH_DESCRIPTION, openMeta } from '../../../src/store/lmdb/databases.ts'
import { documentsLayout, encodeLayout, LAYOUT_KEY } from '../../../src/store/lmdb/layout.ts'
import { LmdbFile } from '../../../src/store/lmdb/lmdb-file.ts'
import { restartUnderLoad } from '../../stress/rolling-restart.ts'
import { killAll, runCommand, type Server, startServer } from '../../support/cli-process.ts'

let folder: string
let data: string

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'verdigraph-rolling-'))
  data = join(folder, 'data')
})

afterEach(async () => {
  await killAll()
  rmSync(folder, { recursive: true, force: true })
})

const workerOf = async (url: string): Promise<number> =>
  ((await (await fetch(`${url}/health`, { headers: { connection: 'close' } })).json()) as { worker: number }).worker

// Elsewhere a system cannot hand the connections of a port to one process.
describe.skipIf(process.platform !== 'linux').each([1, 2])('a rolling restart of %i', (workers) => {
  it('refuses no request on kept, pipelined, quiet and new connections, ends streams, and loses no write', async () => {
    const { replaced, clients, writes, lost } = await restartUnderLoad({ workers, rounds: 1 })
    const errors = Object.entries(clients).flatMap(([name, { errors }]) => errors.map((error) => `${name}: ${error}`))
    expect([errors, lost, replaced]).toEqual([[], [], workers])
    expect(writes).toBeGreaterThan(0)
    for (const [name, { answers, closes }] of Object.entries(clients)) {
      // A client of one request per connection is never asked to close it.
      expect([name, answers > 0, closes > 0]).toEqual([name, true, name !== 'one connection each'])
    }
  })
})

/** Stops a server during a restart, after the log has the text. */
async function stopDuringRestart(
  begun: RegExp,
): Promise<{ server: Server; restarting: ReturnType<typeof runCommand> }> {
  for (;;) {
    const server = await startServer(['--data', data, '--workers', '2'])
    const restarting = runCommand(['restart', '--data', data])
    await expect.poll(() => server.notices(), { timeout: 60_000, interval: 5 }).toMatch(begun)
    expect(await server.kill('SIGTERM')).toBe(0)
    // On a busy machine, the restart may have been completed before the signal.
    if (!/a rolling restart ended"/.test(server.notices())) return { server, restarting }
    await restarting
  }
}

describe('the command restart', () => {
  it('names the workers and their successors, and the signal does the same', async () => {
    const server = await startServer(['--data', data, '--workers', '2'])
    const { exitCode, stdout } = await runCommand(['restart', '--data', data])
    expect([exitCode, stdout]).toEqual([0, 'worker 1 was replaced by worker 3\nworker 2 was replaced by worker 1\n'])
    expect([1, 3]).toContain(await workerOf(server.url))
    process.kill(server.pid, 'SIGUSR2')
    // The first restart has replaced worker 1 by worker 3, too.
    const ended = () => server.notices().match(/a rolling restart ended/g)?.length
    await expect.poll(ended, { timeout: 120_000 }).toBe(2)
    const replaced = (server.notices().match(/.*a worker was replaced.*/g) ?? []).map((line) => JSON.parse(line))
    expect(replaced.map(({ worker, by }) => [worker, by])).toEqual([
      ...[
        [1, 3],
        [2, 1],
      ],
      ...[
        [3, 2],
        [1, 3],
      ],
    ])
    expect(await server.kill('SIGTERM')).toBe(0)
  })

  it('that a stop interrupts is no failure in the log, and the stop succeeds', async () => {
    for (const isEarly of [true, false]) {
      const { server, restarting } = await stopDuringRestart(
        isEarly ? /a rolling restart began/ : /a worker was replaced/,
      )
      const lines = server.notices().trim().split('\n')
      expect(lines.filter((line) => line.includes('"level":"error"'))).toEqual([])
      expect(lines.at(-1)).toContain('a rolling restart ended early, because the service stops')
      // The restart was not completed.
      expect((await restarting).exitCode).toBe(1)
    }
  })

  it('fails if a successor does not start, and the workers continue', async () => {
    const server = await startServer(['--data', data, '--workers', '2'])
    const file = new LmdbFile(join(data, 'config'), {})
    const meta = openMeta(file, GRAPH_DESCRIPTION)
    await file.transaction(() => {
      meta.raw.put(LAYOUT_KEY, encodeLayout({ ...documentsLayout, version: 99 }))
    })
    await file.close()
    const { exitCode, stdout, stderr } = await runCommand(['restart', '--data', data])
    expect([exitCode, stdout, stderr]).toEqual([
      1,
      '',
      'error: the successor of worker 1 does not start; 0 of 2 workers were replaced, and the others continue; the log of the service has the reason\n',
    ])
    await expect.poll(() => server.notices()).toContain('layout version 99, written by a newer program')
    expect([1, 2]).toContain(await workerOf(server.url))
    expect(await server.kill('SIGTERM')).toBe(0)
  })

  it('is refused without a service, and for one process without a supervisor, which survives the signal', async () => {
    const missing = await runCommand(['restart', '--data', data])
    expect([missing.exitCode, missing.stderr]).toEqual([1, `error: no process serves the folder ${data}\n`])
    const server = await startServer(['--data', data])
    const refused = await runCommand(['restart', '--data', data])
    expect([refused.exitCode, refused.stderr]).toEqual([
      1,
      'error: the service is one process without a supervisor, which cannot be restarted without a pause: start it with `--workers 2` or with the setting `supervisor` `on`\n',
    ])
    process.kill(server.pid, 'SIGUSR2')
    await expect.poll(() => server.notices(), { timeout: 30_000 }).toContain('a rolling restart needs')
    expect((await fetch(`${server.url}/health`)).status).toBe(200)
    expect(await server.kill('SIGTERM')).toBe(0)
  })
})
