// Measures the cost of shipping: the time from an acknowledged commit to the place, processor time per MB that is shipped, and the latency of
// decisions at a fixed rate with and without shipping, in turns. Latencies begin when a question was due.
// Run alone: bun test/stress/shipping-cost.ts [--turns 3] [--seconds 30] [--rate 500] [--captures 20]
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { FolderPlace } from '../../src/backup/places/folder-place.ts'
import { listShipped } from '../../src/backup/shipping/moments.ts'
import { openShippingFigures } from '../../src/backup/shipping/shipping-figures.ts'
import { openConnections } from '../../src/cli/bench/http-connections.ts'
import { type LoadFigures, runLoad } from '../../src/cli/bench/load.ts'
import { childrenOf } from '../support/child-processes.ts'
import { killAll, runCommand, startServer } from '../support/cli-process.ts'
import {
  captured,
  HttpConnection,
  makeProject,
  policyBody,
  type WorkerFixture,
  type WorkerProject,
} from '../support/worker-fixture.ts'
import { numberAfter } from './flags.ts'

const turns = numberAfter('--turns', 3)
const seconds = numberAfter('--seconds', 30)
const rate = numberAfter('--rate', 500)
const capturesPerSecond = numberAfter('--captures', 20)

const PEOPLE = 1000
const NODES_PER_CAPTURE = 100
const POLL_MS = 20
/** Hundredths of a second, as in proc(5). */
const TICK_S = 0.01

const root = mkdtempSync(join(tmpdir(), 'verdigraph-shipping-cost-'))
const data = join(root, 'data')
const place = join(root, 'place')

function cpuSecondsOf(pid: number): number {
  const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
  return (Number(fields[11]) + Number(fields[12])) * TICK_S
}

/** The value below which a share of the values is. */
function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) * share)] ?? Number.NaN
}

/** The newest shipped moment, milliseconds since the epoch. */
async function newestMoment(): Promise<number> {
  return Math.max(
    0,
    ...Array.from((await listShipped(new FolderPlace(place))).values())
      .flat()
      .map(({ timeMs }) => timeMs),
  )
}

/** Captures at a fixed rate, and the times of the acknowledgements. */
class Captures {
  readonly acknowledgedMs: number[] = []
  private isStopped = false
  private readonly done: Promise<void>

  constructor(line: HttpConnection, project: WorkerProject) {
    this.done = this.run(line, project)
  }

  private async run(line: HttpConnection, project: WorkerProject): Promise<void> {
    const startMs = performance.now()
    for (let number = 0; !this.isStopped; number++) {
      const waitMs = startMs + (number * 1000) / capturesPerSecond - performance.now()
      if (waitMs > 0) await Bun.sleep(waitMs)
      const nodes = Array.from({ length: NODES_PER_CAPTURE }, (_, at) => ({
        type: 'Event',
        external_id: `${startMs}-${number}-${at}`,
        properties: [{ type: 'text', value: `capture ${number} of this turn` }],
      }))
      await captured(line, project, 'nodes', { nodes })
      this.acknowledgedMs.push(Date.now())
    }
  }

  /** Rejects if a capture failed. */
  async stop(): Promise<void> {
    this.isStopped = true
    await this.done
  }
}

/** For each acknowledged commit the time until a shipped object covers it. */
class LagWatch {
  readonly seenMs: { readonly momentMs: number; readonly atMs: number }[] = []
  private isStopped = false
  private readonly done = this.run()

  private async run(): Promise<void> {
    for (let newest = 0; !this.isStopped; await Bun.sleep(POLL_MS)) {
      const momentMs = await newestMoment()
      if (momentMs > newest) this.seenMs.push({ momentMs, atMs: Date.now() })
      newest = momentMs
    }
  }

  lagsOf(acknowledgedMs: readonly number[]): number[] {
    return acknowledgedMs.flatMap((time) => {
      const covered = this.seenMs.find(({ momentMs }) => momentMs >= time)
      return covered === undefined ? [] : [covered.atMs - time]
    })
  }

  async stop(): Promise<void> {
    this.isStopped = true
    await this.done
  }
}

function percentileOf({ latency }: LoadFigures, percentile: number): number {
  return latency.percentiles.find((one) => one.percentile === percentile)?.us ?? Number.NaN
}

interface TurnFigures {
  readonly p50Us: number
  readonly p99Us: number
  readonly lagsMs: readonly number[]
  readonly cpuS: number
  readonly shippedMb: number
  readonly objects: number
}

async function turn(project: WorkerProject, isShipping: boolean): Promise<TurnFigures> {
  const environment = { VERDIGRAPH_LANES: '0', ...(isShipping && { VERDIGRAPH_SHIP_TO: place }) }
  const server = await startServer(['--data', data], environment)
  const watch = isShipping ? new LagWatch() : null
  try {
    // The base of a generation is not part of the figures.
    while (isShipping && (await newestMoment()) === 0) await Bun.sleep(POLL_MS)
    const shipper = childrenOf(server.pid).find(({ words }) => words.includes('shipper'))?.pid ?? null
    if (isShipping && shipper === null) throw new Error('no process ships')
    const figures = isShipping ? openShippingFigures(data) : null
    const bodies = Array.from({ length: PEOPLE }, (_, at) => ({
      subject: { type: 'Person', id: `p${at}` },
      action: { name: 'read' },
      resource: { type: 'Page', id: `g${at % 2 === 0 ? at : (at + 1) % PEOPLE}` },
    }))
    const system = await openConnections({
      url: server.url,
      path: '/access/v1/evaluation',
      headers: { 'x-svc-clientkey': project.key },
      bodies: bodies.map((body) => JSON.stringify(body)),
      connections: 8,
      decisionOf: (body) => (JSON.parse(body) as { readonly decision: boolean }).decision,
    })
    const questions = bodies.map((request, at) => ({ request, expected: at % 2 === 0 }))
    // Everything is compiled and read once before the measurement.
    await runLoad(system, questions, { rate, durationS: 3, warmUpS: 0 })
    const line = await HttpConnection.to(server.url)
    const captures = new Captures(line, project)
    const before = { cpuS: shipper === null ? 0 : cpuSecondsOf(shipper), ...figures }
    const load = await runLoad(system, questions, { rate, durationS: seconds, warmUpS: 2 })
    await captures.stop()
    line.close()
    if (load.wrong + load.errors > 0) throw new Error(load.firstWrong ?? load.firstError ?? '')
    const last = captures.acknowledgedMs.at(-1) ?? 0
    while (isShipping && (await newestMoment()) < last) await Bun.sleep(POLL_MS)
    // The watch sees it, too.
    await Bun.sleep(5 * POLL_MS)
    await watch?.stop()
    await system.close()
    const lagsMs = watch?.lagsOf(captures.acknowledgedMs) ?? []
    if (isShipping && lagsMs.length !== captures.acknowledgedMs.length) throw new Error('a commit was not shipped')
    return {
      p50Us: percentileOf(load, 50),
      p99Us: percentileOf(load, 99),
      lagsMs,
      cpuS: shipper === null ? 0 : cpuSecondsOf(shipper) - before.cpuS,
      shippedMb: ((figures?.kibibytes ?? 0) - (before.kibibytes ?? 0)) / 1024,
      objects: (figures?.objects ?? 0) - (before.objects ?? 0),
    }
  } finally {
    await watch?.stop()
    await server.kill('SIGTERM')
  }
}

async function prepare(): Promise<WorkerProject> {
  const { token, organization_id } = JSON.parse((await runCommand(['init', '--data', data, '--json'])).stdout)
  const server = await startServer(['--data', data], { VERDIGRAPH_LANES: '0' })
  const fixture: WorkerFixture = {
    server,
    organization: organization_id,
    admin: { authorization: `Bearer ${token}` },
    close: async () => void (await server.kill('SIGTERM')),
  }
  const line = await HttpConnection.to(server.url)
  const project = await makeProject(fixture, line, 'shipped')
  const policy = policyBody(project, 'read', 'MATCH (subject)-[:OWNS]->(resource)')
  const created = await line.request('POST', '/configs/v1/authorization-policies', fixture.admin, policy)
  if (created.status !== 201) throw new Error(created.body)
  for (let from = 0; from < PEOPLE; from += 100) {
    const part = Array.from({ length: 100 }, (_, at) => from + at)
    const nodes = part.flatMap((at) => [
      { type: 'Person', external_id: `p${at}`, is_identity: true },
      { type: 'Page', external_id: `g${at}` },
    ])
    await captured(line, project, 'nodes', { nodes })
    const relationships = part.map((at) => ({
      source: { type: 'Person', external_id: `p${at}` },
      type: 'OWNS',
      target: { type: 'Page', external_id: `g${at}` },
    }))
    await captured(line, project, 'relationships', { relationships })
  }
  line.close()
  await fixture.close()
  return project
}

try {
  const project = await prepare()
  const found = { with: [] as TurnFigures[], without: [] as TurnFigures[] }
  for (let number = 0; number < turns; number++)
    for (const kind of ['without', 'with'] as const) {
      const figures = await turn(project, kind === 'with')
      found[kind].push(figures)
      const latency = `p50 ${Math.round(figures.p50Us)} µs, p99 ${(figures.p99Us / 1000).toFixed(2)} ms`
      console.log(`turn ${number + 1}, ${kind.padEnd(7)} shipping: ${latency}`)
    }
  const median = (kind: keyof typeof found, value: (one: TurnFigures) => number): number =>
    quantile(found[kind].map(value), 0.5)
  for (const [name, value] of [
    ['p50', (one: TurnFigures) => one.p50Us],
    ['p99', (one: TurnFigures) => one.p99Us],
  ] as const) {
    const [off, on] = [median('without', value), median('with', value)]
    console.log(
      `${name} of decisions  ${Math.round(off)} µs without, ${Math.round(on)} µs with: factor ${(on / off).toFixed(2)}`,
    )
  }
  const lags = found.with.flatMap(({ lagsMs }) => lagsMs)
  console.log(
    `lag of ${lags.length} commits  p50 ${quantile(lags, 0.5)} ms, p99 ${quantile(lags, 0.99)} ms, longest ${Math.max(...lags)} ms`,
  )
  const sum = (value: (one: TurnFigures) => number): number => found.with.reduce((total, one) => total + value(one), 0)
  const mb = sum(({ shippedMb }) => shippedMb)
  const cpuS = sum(({ cpuS }) => cpuS)
  const objects = sum((one) => one.objects)
  console.log(
    `shipped  ${mb.toFixed(1)} MB in ${objects} objects, processor ${cpuS.toFixed(1)} s: ${((cpuS * 1000) / mb).toFixed(0)} ms per MB, ${((100 * cpuS) / (turns * seconds)).toFixed(1)} % of a processor`,
  )
} finally {
  await killAll()
  rmSync(root, { recursive: true, force: true })
}
