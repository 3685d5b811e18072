// What do events add to a captured node and to a decision, and how fast do they leave the outbox?
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { captureNodes } from '../../src/capture/nodes.ts'
import { captureRelationships } from '../../src/capture/relationships.ts'
import { envelopesOf } from '../../src/events/envelope.ts'
import { noOrigin } from '../../src/kernel/request/request-origin.ts'
import { evaluate } from '../../src/pdp/evaluate.ts'
import { type Bench, type BenchOptions, median, mustEqual, randomFrom, round } from '../harness.ts'
import {
  documentId,
  type OwnershipGraph,
  type OwnershipQuestion,
  ownedBy,
  ownershipGraph,
  personId,
  questions,
} from '../ownership-graph.ts'
import { type BenchSink, type EventBenchProject, openEventBench } from './service.ts'

/** Nodes of one request. */
const REQUEST_NODES = 500
/** Different nodes: nearly all captures change one that exists. */
const NODES = 20_000
/** Events that are read from the outbox at once, as the dispatcher reads them. */
const READ = { events: 500, bytes: 1024 * 1024 }

/** A case, timed in turn with the others. The first one of a list is the baseline, the second one shows the noise. */
interface EventCase {
  readonly name: string
  readonly sink: BenchSink | null
  /** Of each captured node or decision. */
  readonly events: number
}

const withoutSink: readonly EventCase[] = [
  { name: 'without_sink', sink: null, events: 0 },
  { name: 'without_sink_again', sink: null, events: 0 },
]

const captureCases: readonly EventCase[] = [
  ...withoutSink,
  { name: 'without_matching_route', sink: { routes: [{ type: 'svc.audit.config.*' }] }, events: 0 },
  { name: 'with_matching_route', sink: { routes: [{ type: 'svc.audit.capture.*' }] }, events: 1 },
  {
    name: 'with_matching_context',
    sink: { routes: [{ type: 'svc.audit.capture.*', context: { captureLabel: 'Document', tier: 'gold' } }] },
    events: 1,
  },
  { name: 'with_changes', sink: { routes: [{ type: 'svc.audit.cdc.*' }], hasChanges: true }, events: 1 },
]

const decisionCases: readonly EventCase[] = [
  ...withoutSink,
  { name: 'without_matching_route', sink: { routes: [{ type: 'svc.audit.capture.*' }] }, events: 0 },
  { name: 'with_matching_route', sink: { routes: [{ type: 'svc.audit.authorization.*' }] }, events: 1 },
]

/** Times of one turn in µs per node or decision. */
interface Spent {
  readonly us: number
  /** Processor time of all threads: hardly affected by other load on the machine. */
  readonly cpuUs: number
}

/** Times by case, one for each round. */
type Samples = ReadonlyMap<string, Spent[]>

/** Returns the time since the call, divided by `count`. */
function stopwatch(count: number): () => Spent {
  const cpu = process.cpuUsage()
  const start = Bun.nanoseconds()
  return () => {
    const us = (Bun.nanoseconds() - start) / 1000
    const { user, system } = process.cpuUsage(cpu)
    return { us: us / count, cpuUs: (user + system) / count }
  }
}

/** The bench `events`. */
export const events: Bench = {
  name: 'events',
  question: 'what events add to a captured node and to a decision in process, and how fast they leave the outbox',
  async run(options) {
    const folder = mkdtempSync(join(tmpdir(), 'verdigraph-bench-events-'))
    const project = await openEventBench(folder)
    try {
      await captures(project, options)
      await outbox(project, options)
      await decisions(project, options)
    } finally {
      await project.app.close()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

/** Runs all cases in each round, in alternating order. The first round only warms up. */
async function inRounds(
  project: EventBenchProject,
  cases: readonly EventCase[],
  rounds: number,
  turn: (one: EventCase, round: number) => Promise<void>,
): Promise<void> {
  for (let at = -1; at < rounds; at++) {
    for (const one of at % 2 === 0 ? cases : cases.toReversed()) {
      await project.setSink(one.sink)
      await turn(one, at)
    }
  }
}

function noSamples(cases: readonly EventCase[]): Samples {
  return new Map(cases.map(({ name }) => [name, []]))
}

/** Medians over the rounds. `added_cpu_us`: over the baseline in the same round. */
function figures(samples: Samples, name: string): object {
  const own = samples.get(name)!
  const [baseline] = samples.values()
  const compared = (by: (one: number, base: number) => number): number =>
    round(median(own.map(({ cpuUs }, at) => by(cpuUs, baseline![at]!.cpuUs))))
  const figure = { us: round(median(own.map(({ us }) => us))), cpu_us: round(median(own.map(({ cpuUs }) => cpuUs))) }
  if (own === baseline) return figure
  const addedUs = compared((one, base) => one - base)
  return { ...figure, added_cpu_us: addedUs, cpu_ratio: compared((one, base) => one / base) }
}

async function captures(project: EventBenchProject, { small, seed, report }: BenchOptions): Promise<void> {
  const rounds = small ? 20 : 80
  const requests = 4
  const random = randomFrom(seed)
  const samples = noSamples(captureCases)
  await capture(
    project,
    Array.from({ length: NODES }, (_, at) => nodeOf(at, random)),
  )
  await inRounds(project, captureCases, rounds, async ({ name, events }, at) => {
    const bodies = Array.from({ length: requests }, () => drawnNodes(random))
    const spent = stopwatch(requests * REQUEST_NODES)
    for (const nodes of bodies) await capture(project, nodes)
    if (at >= 0) samples.get(name)!.push(spent())
    mustEqual(`events of ${name}`, await storedEvents(project, 'graph'), events * requests * REQUEST_NODES)
  })
  const nodes = rounds * requests * REQUEST_NODES
  for (const { name } of captureCases) {
    report.line({ record: 'capture', case: name, nodes, ...figures(samples, name) })
  }
}

function nodeOf(at: number, random: (below: number) => number) {
  const properties = [
    { type: 'title', value: `title ${random(1_000_000)}` },
    { type: 'size', value: random(1_000_000) },
    { type: 'tier', value: 'gold' },
  ]
  return { type: 'Document', external_id: documentId(at), properties }
}

function drawnNodes(random: (below: number) => number) {
  const drawn = new Set<number>()
  while (drawn.size < REQUEST_NODES) drawn.add(random(NODES))
  return Array.from(drawn, (at) => nodeOf(at, random))
}

async function capture({ app, caller }: EventBenchProject, nodes: ReturnType<typeof drawnNodes>): Promise<void> {
  const captured = await captureNodes(app.capture, { caller, origin: noOrigin }, { nodes })
  if (!captured.ok) throw new Error(`a capture was refused: ${captured.error.kind}`)
}

async function storedEvents({ app, caller }: EventBenchProject, source: 'graph' | 'activity'): Promise<number> {
  await app.settleEvents()
  return app.eventStreams.withStreams(caller.projectId, async (streams) =>
    streams
      .filter((stream) => stream.source === source)
      .reduce((sum, { outbox, name }) => sum + (outbox.status(name)?.next ?? 1) - 1, 0),
  )
}

/** Reads events as the dispatcher does, and compares it with reading their records only. */
async function outbox(project: EventBenchProject, { small, seed, report }: BenchOptions): Promise<void> {
  const rounds = small ? 8 : 24
  const requests = small ? 20 : 60
  const { app, caller } = project
  for (const { name, sink } of captureCases.filter(({ events }) => events > 0)) {
    await project.setSink(sink)
    const random = randomFrom(seed)
    for (let at = 0; at < requests; at++) await capture(project, drawnNodes(random))
    await app.eventStreams.withStreams(caller.projectId, async (streams) => {
      const { outbox, ...stream } = streams.find(({ source }) => source === 'graph')!
      let bytes = 0
      const pass = (isBuilt: boolean): number => {
        let from = 1
        let count = 0
        bytes = 0
        const start = Bun.nanoseconds()
        for (let isEnd = false; !isEnd; ) {
          const records = outbox.read(stream.name, from, READ)
          isEnd = records.length === 0
          for (const record of records) {
            from = record.sequence + record.count
            const built = isBuilt ? envelopesOf(record, stream) : []
            for (const { data } of built) bytes += data.length
            count += isBuilt ? built.length : record.count
          }
        }
        const us = (Bun.nanoseconds() - start) / 1000 / count
        mustEqual(`events of ${name}`, count, requests * REQUEST_NODES)
        return us
      }
      const pairs = Array.from({ length: rounds + 1 }, () => ({ read: pass(false), built: pass(true) })).slice(1)
      const us = median(pairs.map(({ built }) => built))
      report.line({
        record: 'outbox',
        case: name,
        events: requests * REQUEST_NODES,
        bytes_per_event: round(bytes / (requests * REQUEST_NODES), 0),
        us: round(us),
        events_per_s: round(1e6 / us, 0),
        ratio_to_read: round(median(pairs.map(({ built, read }) => built / read))),
      })
    })
  }
}

async function decisions(project: EventBenchProject, { small, seed, report }: BenchOptions): Promise<void> {
  const rounds = small ? 20 : 80
  const calls = 2_000
  const graph = ownershipGraph(small ? 2_000 : 10_000, seed)
  const asked = questions(graph, calls, seed + 1, ownedBy)
  const answered = noSamples(decisionCases)
  const written = noSamples(decisionCases)
  await project.setSink(null)
  await load(project, graph)
  await inRounds(project, decisionCases, rounds, async ({ name, events }, at) => {
    const spent = stopwatch(calls)
    for (const question of asked) ask(project, question)
    const answeredSpent = spent()
    await project.app.settleEvents()
    const writtenSpent = spent()
    mustEqual(`events of ${name}`, await storedEvents(project, 'activity'), events * calls)
    if (at < 0) return
    answered.get(name)!.push(answeredSpent)
    written.get(name)!.push(writtenSpent)
  })
  for (const { name } of decisionCases) {
    report.line({ record: 'decision', case: name, calls: rounds * calls, ...figures(answered, name) })
    report.line({ record: 'decision_and_write', case: name, calls: rounds * calls, ...figures(written, name) })
  }
}

async function load(project: EventBenchProject, graph: OwnershipGraph): Promise<void> {
  const { app, caller } = project
  const nodes = (type: string, count: number, idOf: (at: number) => string) =>
    Array.from({ length: count }, (_, at) => ({ type, external_id: idOf(at) }))
  const people = nodes('Person', graph.people, personId)
  const relationships = people.flatMap((source, at) =>
    Array.from(ownedBy(graph, at), (one) => ({
      source,
      type: 'OWNS',
      target: { type: 'Document', external_id: documentId(one) },
    })),
  )
  const call = { caller, origin: noOrigin }
  const captured = await captureNodes(app.capture, call, {
    nodes: [...people, ...nodes('Document', graph.documents, documentId)],
  })
  const connected = await captureRelationships(app.capture, call, { relationships })
  if (!captured.ok || !connected.ok) throw new Error('the graph was not captured')
}

function ask({ app, caller }: EventBenchProject, { subject, resource, granted }: OwnershipQuestion): void {
  const answer = evaluate(app.decisions, caller, noOrigin, {
    subject: { type: 'Person', id: subject },
    resource: { type: 'Document', id: resource },
    action: { name: 'open' },
  })
  if (!answer.ok || answer.value.decision !== granted) throw new Error(`wrong answer: may ${subject} open ${resource}`)
}
