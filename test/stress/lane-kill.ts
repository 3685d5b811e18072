// Mixed requests compared with oracles while the lanes of the served process are killed: decisions, batches, searches,
// knowledge queries that read and write, captures, deletions and configuration. A request whose lane is killed may be
// refused with 408, 503 or 504. No response may be wrong, no acknowledged write lost, and no write done in part.
// Run alone: bun test/stress/lane-kill.ts [--requests 20000] [--workers 1] [--seed N] [--no-kills]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Random, stressSeed } from '../generate/random.ts'
import { killAll, runCommand } from '../support/cli-process.ts'
import { startWorkers, type WorkerFixture } from '../support/worker-fixture.ts'
import { hasFlag, numberAfter } from './flags.ts'
import { ContextStream } from './isolation/context-stream.ts'
import { DecisionStream } from './isolation/decision-stream.ts'
import { lanesOf } from './isolation/fixture.ts'
import { Requests, StreamError } from './isolation/requests.ts'

/** Concurrent streams of requests, each with a project of its own. */
const STREAMS = { decisions: 4, contexts: 4 } as const
/**
 * A random number of requests between two kills, and then a few milliseconds, so that a lane that starts slowly still
 * completes requests.
 */
const KILL_REQUESTS = { min: 5, max: 40 } as const
const KILL_MS_MAX = 50

const seed = numberAfter('--seed', stressSeed())
const requestsMax = numberAfter('--requests', 20_000)
console.log(`seed ${seed}`)

const kills = { done: 0, lanesSeen: 0 }
let isOver = false

async function killLanes(fixture: WorkerFixture, sent: Requests, random: Random): Promise<void> {
  while (!isOver) {
    const next = sent.done + random.between(KILL_REQUESTS.min, KILL_REQUESTS.max)
    while (!isOver && sent.done < next) await Bun.sleep(5)
    await Bun.sleep(random.between(0, KILL_MS_MAX))
    const lanes = lanesOf(fixture.server.pid)
    kills.lanesSeen = Math.max(kills.lanesSeen, lanes.length)
    if (isOver || lanes.length === 0 || hasFlag('--no-kills')) continue
    try {
      process.kill(random.pick(lanes).pid, 'SIGKILL')
      kills.done += 1
    } catch (fault) {
      // It has ended since it was found.
      if ((fault as { code?: string }).code !== 'ESRCH') throw fault
    }
  }
}

const folder = mkdtempSync(join(tmpdir(), 'verdigraph-lane-kill-'))
const data = join(folder, 'data')
const faults: string[] = []
let requests: Requests | null = null
const startMs = performance.now()
try {
  const environment = { VERDIGRAPH_LOG_LEVEL: 'error', VERDIGRAPH_DECISION_TIME_MS: '10000' }
  const fixture = await startWorkers(data, numberAfter('--workers', 1), environment)
  const sent = new Requests(fixture, requestsMax)
  requests = sent
  const killing = killLanes(fixture, sent, new Random(seed))
  const streams = [
    ...Array.from({ length: STREAMS.decisions }, (_, i) => new DecisionStream(sent, new Random(seed + 1 + i), i)),
    ...Array.from({ length: STREAMS.contexts }, (_, i) => new ContextStream(sent, new Random(seed + 101 + i), i, data)),
  ]
  await Promise.all(
    streams.map(async (stream) => {
      try {
        await stream.run()
      } catch (fault) {
        sent.end()
        if (!(fault instanceof StreamError)) throw fault
        faults.push(fault.message)
      }
    }),
  )
  isOver = true
  await killing
  console.log(`${sent.done} requests in ${Math.round((performance.now() - startMs) / 1000)} s`)
  const stopMs = performance.now()
  try {
    await fixture.close()
  } catch (fault) {
    faults.push(String(fault))
  }
  console.log(`stopped in ${Math.round(performance.now() - stopMs)} ms`)
  const verified = await runCommand(['verify', '--data', data])
  if (verified.exitCode !== 0) faults.push(`verify: ${verified.stdout}`)
} finally {
  isOver = true
  await killAll()
  rmSync(folder, { recursive: true, force: true })
}
const counts = Object.fromEntries([...(requests?.counts ?? [])].sort())
const seconds = Math.round((performance.now() - startMs) / 1000)
console.log(
  JSON.stringify({ requests: requests?.done ?? 0, kills: kills.done, lanesSeen: kills.lanesSeen, seconds, counts }),
)
for (const fault of faults.slice(0, 5)) console.error(fault)
// Without enough results, writes and kills the run would prove nothing.
const wanted = ['permits', 'denials', 'searches that found', 'batches', 'rows', 'wrote', 'captured', 'policies', 'dear']
const few = wanted.filter((what) => Number(counts[what] ?? 0) < requestsMax / 1000)
if (faults.length === 0 && few.length > 0) console.error(`hardly any: ${few.join(', ')}`)
const unkilled = kills.lanesSeen > 0 && kills.done === 0 && !hasFlag('--no-kills')
if (unkilled) console.error('there are lanes, and none was killed')
process.exit(faults.length + few.length > 0 || unkilled ? 1 : 0)
