// A served project whose graph is in Neo4j, under load: its server, the service and the network between them are killed, paused, cut and
// refused, at random times and exactly at commits. No acknowledged capture is lost, no capture is stored in part, no decision is
// wrong, the events are those of the committed captures, and the service recovers by itself. Skips without Java and Maven.
// bun test/stress/database-faults.ts [--seconds 180] [--seed N] [--workers N] [--only kind,kind] [--verbose]
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Random, stressSeed } from '../generate/random.ts'
import { BoltProxy, type CommitMoment } from '../support/bolt-proxy.ts'
import { runCommand, type Server, startServer } from '../support/cli-process.ts'
import { CounterpartMissing } from '../support/counterparts/install.ts'
import { type KeptNeo4jServer, startKeptNeo4j } from '../support/counterparts/neo4j.ts'
import { sinkBody } from '../support/events.ts'
import { type RecordedHistory, recordedHistory } from './database-fault-events.ts'
import { DECISION_MS, FaultLoad } from './database-fault-load.ts'
import { hasFlag, numberAfter, textsAfter } from './flags.ts'

const LIMITS = { timeMs: 4_000, retryMs: 3_000 }
const settings = {
  VERDIGRAPH_UPSTREAM_ALLOW: '127.0.0.1',
  VERDIGRAPH_DECISION_TIME_MS: String(DECISION_MS),
  VERDIGRAPH_DATABASE_CONNECT_TIME_MS: '1000',
  VERDIGRAPH_DATABASE_TIME_MS: String(LIMITS.timeMs),
  VERDIGRAPH_DATABASE_RETRY_MS: String(LIMITS.retryMs),
}
/** Events are recorded for it and stay in the outbox. */
const unreachableProvider = {
  event_topic: { topic_endpoint: 'http://127.0.0.1:9/events', access_key: 'key' },
  include_cdc_events: true,
}
const routes = [{ type: 'svc.audit.capture.*' }, { type: 'svc.audit.cdc.*' }]
/** Only a hang reaches the limits of this program. */
const RECOVERY_MS_MAX = 240_000
/** Captures that are stored before each fault. */
const CAPTURES_MIN = 3
/** Time in which the events of interrupted captures must be recorded. */
const SETTLED_MS_MAX = 240_000

/** The processes, and the network between them. */
interface FaultTargets {
  readonly neo4j: KeptNeo4jServer
  readonly proxy: BoltProxy
  killService(): Promise<void>
  startService(): Promise<void>
}

/** Resolves when the fault has ended. The drawn numbers depend on the seed only. */
type Fault = (targets: FaultTargets, random: Random) => Promise<void>

async function restartServer({ neo4j }: FaultTargets, random: Random): Promise<void> {
  const downMs = random.between(0, 1_000)
  await neo4j.kill()
  await Bun.sleep(downMs)
  await neo4j.start()
}

async function pauseServer({ neo4j }: FaultTargets, ms: number): Promise<void> {
  neo4j.signal('SIGSTOP')
  await Bun.sleep(ms)
  neo4j.signal('SIGCONT')
}

async function restartService({ killService, startService }: FaultTargets): Promise<void> {
  await killService()
  await startService()
}

async function stall({ proxy }: FaultTargets, ms: number): Promise<void> {
  proxy.stop()
  await Bun.sleep(ms)
  proxy.resume()
}

/** Waits for a moment of a commit, and a few milliseconds more. */
async function commit({ proxy }: FaultTargets, random: Random, moments: readonly CommitMoment[]): Promise<void> {
  const moment = random.pick(moments)
  const laterMs = moment === 'sent' || moment === 'delivered' ? random.between(0, 5) : 0
  if (!(await proxy.atCommit(moment))) throw new Error('nothing was committed')
  if (laterMs > 0) await Bun.sleep(laterMs)
}

const moments: readonly CommitMoment[] = ['unsent', 'sent', 'answered', 'delivered']

/** In the order of the first round, which begins with what a short run needs; later rounds are shuffled. */
const faults: Readonly<Record<string, Fault>> = {
  'commit, answer lost': (targets, random) => commit(targets, random, ['answered']),
  'commit, service killed': async (targets, random) => {
    await commit(targets, random, moments)
    await restartService(targets)
  },
  'commit, server killed': async (targets, random) => {
    await commit(targets, random, ['sent'])
    await restartServer(targets, random)
  },
  paused: (targets, random) => pauseServer(targets, random.between(100, 1_500)),
  'connections cut': async ({ proxy }) => proxy.cut(),
  'commit, answer lost and server away': async (targets, random) => {
    await commit(targets, random, ['answered'])
    targets.proxy.refuse()
    await Bun.sleep(LIMITS.retryMs + random.between(500, 1_500))
    targets.proxy.accept()
  },
  'paused, longer than the time limit': (targets, random) =>
    pauseServer(targets, LIMITS.timeMs + random.between(300, 2_000)),
  'commit, request lost': (targets, random) => commit(targets, random, ['unsent']),
  'connections refused': async ({ proxy }, random) => {
    proxy.refuse()
    await Bun.sleep(random.between(200, 2_000))
    proxy.accept()
  },
  'network stopped': (targets, random) => stall(targets, random.between(200, 1_500)),
  'server killed': restartServer,
  'service killed': restartService,
  'network stopped, longer than the time limit': (targets, random) =>
    stall(targets, LIMITS.timeMs + random.between(300, 2_000)),
  'commit, server paused longer than the time limit': async (targets, random) => {
    await commit(targets, random, ['sent'])
    await pauseServer(targets, LIMITS.timeMs + random.between(300, 2_000))
  },
  'commit, server and service killed': async (targets, random) => {
    await commit(targets, random, ['sent', 'answered'])
    await Promise.all([targets.neo4j.kill(), targets.killService()])
    await Promise.all([targets.neo4j.start(), targets.startService()])
  },
}

/** The kinds of faults in the order of a run, without end. */
function* schedule(kinds: readonly string[], random: Random): Generator<string> {
  yield* kinds
  for (;;) {
    const left = [...kinds]
    while (left.length > 0) yield left.splice(random.between(0, left.length - 1), 1)[0]!
  }
}

/** Waits until the service has recorded what it has to, and returns what is wrong. */
async function settledHistory(
  read: () => Promise<RecordedHistory>,
): Promise<RecordedHistory & { readonly ms: number }> {
  const startMs = performance.now()
  for (;;) {
    const history = await read()
    const ms = Math.round(performance.now() - startMs)
    if (history.faults.length === 0 && history.intents === 0) return { ...history, ms }
    if (ms > SETTLED_MS_MAX) return { ...history, ms }
    await Bun.sleep(100)
  }
}

interface FaultMeasurement {
  count: number
  readonly recoveryMs: number[]
  readonly settledMs: number[]
}

async function run(): Promise<void> {
  const seed = numberAfter('--seed', stressSeed())
  const seconds = numberAfter('--seconds', 180)
  const workers = numberAfter('--workers', 0)
  const only = textsAfter('--only')
  console.log(`seed ${seed}`)
  const note = hasFlag('--verbose') ? (line: string) => console.log(line) : () => undefined
  const random = new Random(seed)
  const neo4j = await startKeptNeo4j()
  const proxy = new BoltProxy(Number(new URL(neo4j.url).port))
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-database-faults-'))
  const data = join(folder, 'data')
  let server: Server | null = null
  const problems: string[] = []
  try {
    const url = await proxy.listen()
    const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
    const serve = (): Promise<Server> =>
      startServer(['--data', data, ...(workers > 0 ? ['--workers', String(workers)] : [])], settings)
    server = await serve()
    const load = await FaultLoad.create({
      ...{ server, token, organizationId: organization_id, url, databaseUrl: neo4j.url, seed },
      sink: (projectId) => sinkBody(projectId, routes, { main: unreachableProvider }),
    })
    const targets: FaultTargets = {
      neo4j,
      proxy,
      async killService() {
        load.use(null)
        await server?.kill('SIGKILL')
      },
      async startService() {
        server = await serve()
        load.use(server)
      },
    }
    const measured = new Map<string, FaultMeasurement>()
    const verify = async (what: string): Promise<number> => {
      await load.pause()
      await load.verify()
      const history = await settledHistory(() => recordedHistory(data, load.projectId, neo4j.url))
      if (history.intents > 0) problems.push(`${what}: the events of ${history.intents} captures are not recorded`)
      problems.push(...history.faults.slice(0, 5).map((fault) => `${what}: ${fault}`))
      return history.ms
    }
    const endMs = performance.now() + seconds * 1000
    const kinds = Object.keys(faults).filter((kind) => only.length === 0 || only.includes(kind))
    load.start()
    for (const kind of schedule(kinds, random)) {
      if (performance.now() > endMs) break
      await Bun.sleep(random.between(300, 1_500))
      await load.acknowledges(CAPTURES_MIN)
      await faults[kind]!(targets, random)
      const overMs = performance.now()
      const recoveredMs = await load.recovered(overMs, RECOVERY_MS_MAX)
      if (recoveredMs === null) throw new Error(`after ${kind} the service did not recover`)
      const settledMs = await verify(kind)
      const of = measured.get(kind) ?? { count: 0, recoveryMs: [], settledMs: [] }
      measured.set(kind, of)
      of.count += 1
      of.recoveryMs.push(recoveredMs - overMs)
      of.settledMs.push(settledMs)
      note(`${kind}: recovered after ${Math.round(recoveredMs - overMs)} ms, events after ${settledMs} ms more`)
      load.start()
    }
    await verify('at the end')
    if (![...measured.keys()].some((kind) => kind.includes('service killed'))) {
      await restartService(targets)
      await verify('after a start')
    }
    report(load, measured, problems)
  } finally {
    await server?.kill('SIGKILL')
    proxy.close()
    await neo4j.stop()
    rmSync(folder, { recursive: true, force: true })
  }
}

/** Prints the figures and ends the process. */
function report(load: FaultLoad, measured: ReadonlyMap<string, FaultMeasurement>, problems: readonly string[]): void {
  const { counts, lost, partial, wrong, unexpected } = load
  const all = [...measured.values()].flatMap(({ recoveryMs }) => recoveryMs)
  for (const [kind, { count, recoveryMs, settledMs }] of measured) {
    const median = Math.round(medianOf(recoveryMs))
    const longest = Math.round(Math.max(...recoveryMs))
    const settled = Math.max(...settledMs)
    console.log(
      `${kind}: ${count} times, recovered in ${median} ms (longest ${longest}), events in ${settled} ms at most`,
    )
  }
  console.log(
    JSON.stringify({
      faults: all.length,
      ...counts,
      lost: lost.length,
      partial: partial.length,
      wrong: wrong.length,
      medianRecoveryMs: Math.round(medianOf(all)),
      longestRecoveryMs: Math.round(Math.max(...all)),
    }),
  )
  const found = [...lost, ...partial, ...wrong, ...unexpected, ...problems]
  for (const one of found.slice(0, 40)) console.log(one)
  const isIdle =
    all.length === 0 || counts.acknowledged < CAPTURES_MIN * all.length || counts.refused + counts.undecided === 0
  if (isIdle) console.log('too few captures or no fault was met: the run shows nothing')
  console.log(`${counts.acknowledged + counts.decisions} passed, ${found.length + (isIdle ? 1 : 0)} failed`)
  process.exitCode = found.length > 0 || isIdle ? 1 : 0
}

function medianOf(numbers: readonly number[]): number {
  const sorted = numbers.toSorted((a, b) => a - b)
  const middle = sorted.length / 2
  return ((sorted[Math.ceil(middle) - 1] ?? 0) + (sorted[Math.floor(middle)] ?? 0)) / 2
}

try {
  await run()
} catch (failure) {
  if (!(failure instanceof CounterpartMissing)) throw failure
  console.log(`skipped: ${failure.message}`)
}
process.exit()
