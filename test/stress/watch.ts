// Change streams under load: random writes against an oracle of all decisions, and many watchers, slow ones among them, while a worker
// is killed again and again.
// Run alone: bun test/stress/watch.ts [--rounds 500] [--watchers 1000] [--kills 5] [--seed N]
import { mkdtempSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createClient, type WatchEvent } from '../../src/client/index.ts'
import { Random, stressSeed } from '../generate/random.ts'
import { checkWatch } from '../oracle/watched-decisions.ts'
import { childrenOf, killProcess } from '../support/child-processes.ts'
import { startService } from '../support/service.ts'
import { HttpConnection, makeProject, policyBody, startWorkers } from '../support/worker-fixture.ts'
import { numberAfter } from './flags.ts'

/** The result of a run with watchers. */
export interface WatchersOutcome {
  readonly watchers: number
  readonly kills: number
  /** Watchers that did not receive an event after the last write. */
  missed: number
  /** The longest time from a write to its last watcher, in milliseconds. */
  slowestMs: number
}

/** Runs watchers of a service with two workers. `slow`: connections that read nothing. */
export async function checkWatchers(watchers: number, slow: number, kills: number): Promise<WatchersOutcome> {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-watch-'))
  const fixture = await startWorkers(join(folder, 'data'), 2)
  const outcome: WatchersOutcome = { watchers, kills, missed: 0, slowestMs: 0 }
  const { url } = fixture.server
  try {
    const line = await HttpConnection.to(url)
    const project = await makeProject(fixture, line, 'watched')
    const policy = policyBody(project, 'read', 'MATCH (subject:Person)-[:WROTE]->(resource:Page)')
    await line.request('POST', '/configs/v1/authorization-policies', fixture.admin, policy)
    line.close()
    const client = createClient({ url, key: project.key, retries: 20 })
    const counts = new Array<number>(watchers).fill(0)
    const stopping = new AbortController()
    const read = async (at: number): Promise<void> => {
      for await (const { type } of client.watch({ signal: stopping.signal }) as AsyncIterable<WatchEvent>) {
        counts[at] = type === 'hello' ? 1 : counts[at]! + 1
      }
    }
    const reading = counts.map((_, at) => read(at).catch(() => undefined))
    for (let at = 0; at < slow; at++) openSlowly(url, project.key)
    await until(() => counts.every((count) => count > 0))
    for (let round = 0; round <= kills; round++) {
      const before = [...counts]
      const startMs = performance.now()
      await client.write({ nodes: [{ type: 'Page', external_id: `p${round}` }] })
      await until(() => counts.every((count, at) => count > before[at]!)).catch(() => {
        outcome.missed += counts.filter((count, at) => count <= before[at]!).length
      })
      outcome.slowestMs = Math.max(outcome.slowestMs, performance.now() - startMs)
      if (round === kills) break
      const workers = childrenOf(fixture.server.pid)
      killProcess(workers[round % workers.length]!.pid)
    }
    stopping.abort()
    await Promise.all(reading)
    return outcome
  } finally {
    await fixture.close()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** A connection that reads nothing of its stream. */
function openSlowly(url: string, key: string): void {
  const { hostname, port } = new URL(url)
  const socket = connect(Number(port), hostname)
  socket.on('error', () => undefined)
  socket.write(`GET /access/v1/watch HTTP/1.1\r\nhost: test\r\nx-svc-clientkey: ${key}\r\n\r\n`)
  socket.pause()
  socket.unref()
}

async function until(condition: () => boolean): Promise<void> {
  const end = performance.now() + 300_000
  while (!condition()) {
    if (performance.now() > end) throw new Error('no event in 5 minutes')
    await Bun.sleep(10)
  }
}

if (import.meta.main) {
  // The runtime limits the requests of a process, and reads the limit at its start.
  if (process.env.BUN_CONFIG_MAX_HTTP_REQUESTS === undefined) {
    const env = { ...process.env, BUN_CONFIG_MAX_HTTP_REQUESTS: '10000' }
    const again = Bun.spawn([process.execPath, ...process.argv.slice(1)], {
      env,
      stdio: ['ignore', 'inherit', 'inherit'],
    })
    process.exit(await again.exited)
  }
  const seed = numberAfter('--seed', stressSeed())
  console.log(`seed ${seed}`)
  const service = await startService({}, { sync: false })
  const covered = await checkWatch(service, new Random(seed), numberAfter('--rounds', 500))
  await service.stop()
  console.log(covered)
  const watched = await checkWatchers(numberAfter('--watchers', 1000), 50, numberAfter('--kills', 5))
  console.log(watched)
  process.exit(covered.missed.length + watched.missed === 0 ? 0 : 1)
}
