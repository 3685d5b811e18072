// What does the audit log add to a capture and to a decision?
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { captureNodes } from '../../src/capture/nodes.ts'
import { captureRelationships } from '../../src/capture/relationships.ts'
import { noOrigin } from '../../src/kernel/request/request-origin.ts'
import { evaluate } from '../../src/pdp/evaluate.ts'
import type { Settings } from '../../src/settings.ts'
import { type Bench, type BenchOptions, median, mustEqual, randomFrom, round } from '../harness.ts'
import { documentId, ownedBy, ownershipGraph, personId, questions } from '../ownership-graph.ts'
import { type EventBenchProject, openEventBench } from './service.ts'

/** Different nodes: nearly all captures change one that exists. */
const NODES = 20_000

/** A service, timed in turn with the others. The first one is the baseline, the second one shows the noise. */
interface AuditCase {
  readonly name: string
  readonly settings: Partial<Settings>
  /** Captures are in the audit log. */
  readonly captures: 0 | 1
  /** Decisions are in the audit log. */
  readonly decisions: 0 | 1
}

const cases: readonly AuditCase[] = [
  { name: 'off', settings: { audit: 'off' }, captures: 0, decisions: 0 },
  { name: 'off_again', settings: { audit: 'off' }, captures: 0, decisions: 0 },
  { name: 'on', settings: { audit: 'on' }, captures: 1, decisions: 0 },
  { name: 'on_with_decisions', settings: { audit: 'on', auditDecisions: 'all' }, captures: 1, decisions: 1 },
]

interface OpenCase extends AuditCase {
  readonly project: EventBenchProject
}

/** The bench `audit`. */
export const audit: Bench = {
  name: 'audit',
  question: 'what the audit log adds to a capture and to a decision in process',
  async run(options) {
    const folder = mkdtempSync(join(tmpdir(), 'verdigraph-bench-audit-'))
    const open: OpenCase[] = []
    try {
      for (const one of cases)
        open.push({ ...one, project: await openEventBench(join(folder, one.name), one.settings) })
      await captures(open, 1, options)
      await captures(open, 250, options)
      await decisions(open, options)
    } finally {
      for (const { project } of open) await project.app.close()
      rmSync(folder, { recursive: true, force: true })
    }
  },
}

/** Times of one turn in µs. */
interface TurnTimes {
  readonly us: number
  /** Processor time of all threads: hardly affected by other load on the machine. */
  readonly cpuUs: number
}

/** Returns the time since the call, divided by `count`. */
function stopwatch(count: number): () => TurnTimes {
  const cpu = process.cpuUsage()
  const start = Bun.nanoseconds()
  return () => {
    const us = (Bun.nanoseconds() - start) / 1000
    const { user, system } = process.cpuUsage(cpu)
    return { us: us / count, cpuUs: (user + system) / count }
  }
}

/**
 * Times all cases in each round, in random order: a case that came twice in a row at each change of direction would find the caches of
 * the processor filled. The first round only warms up. Returns times by case, one for each round.
 */
async function inRounds(
  open: readonly OpenCase[],
  rounds: number,
  random: (below: number) => number,
  turn: (one: OpenCase) => Promise<TurnTimes>,
): Promise<ReadonlyMap<string, TurnTimes[]>> {
  const samples = new Map(open.map(({ name }): [string, TurnTimes[]] => [name, []]))
  for (let at = -1; at < rounds; at++) {
    const left = [...open]
    while (left.length > 0) {
      const [one] = left.splice(random(left.length), 1) as [OpenCase]
      const times = await turn(one)
      if (at >= 0) samples.get(one.name)!.push(times)
    }
  }
  return samples
}

/** Medians over the rounds; `added_…`: of the differences to the baseline in the same round, divided by `parts`. */
function figures(samples: ReadonlyMap<string, TurnTimes[]>, name: string, parts = 1): object {
  const own = samples.get(name)!
  const [baseline] = samples.values()
  const figure = { us: round(median(own.map(({ us }) => us))), cpu_us: round(median(own.map(({ cpuUs }) => cpuUs))) }
  if (own === baseline) return figure
  const added = (of: (times: TurnTimes) => number): number =>
    round(median(own.map((one, at) => of(one) - of(baseline![at]!))) / parts)
  return { ...figure, added_us: added(({ us }) => us), added_cpu_us: added(({ cpuUs }) => cpuUs) }
}

async function captures(
  open: readonly OpenCase[],
  requestNodes: number,
  { small, seed, report }: BenchOptions,
): Promise<void> {
  const rounds = small ? 40 : requestNodes === 1 ? 600 : 120
  const requests = requestNodes === 1 ? 50 : 8
  const random = randomFrom(seed)
  for (const { project } of open)
    await capture(
      project,
      Array.from({ length: NODES }, (_, at) => nodeOf(at, random)),
    )
  const samples = await inRounds(open, rounds, random, async ({ name, project, captures: each }) => {
    const bodies = Array.from({ length: requests }, () => drawnNodes(requestNodes, random))
    const before = await auditedEvents(project, 'graph')
    await capture(project, drawnNodes(requestNodes, random))
    const spent = stopwatch(requests)
    for (const nodes of bodies) await capture(project, nodes)
    const times = spent()
    const recorded = (await auditedEvents(project, 'graph')) - before
    mustEqual(`records of ${name}`, recorded, each * (requests + 1) * requestNodes)
    return times
  })
  for (const { name } of open) {
    report.line({ record: 'capture', case: name, request_nodes: requestNodes, ...figures(samples, name, requestNodes) })
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

function drawnNodes(count: number, random: (below: number) => number) {
  const drawn = new Set<number>()
  while (drawn.size < count) drawn.add(random(NODES))
  return Array.from(drawn, (at) => nodeOf(at, random))
}

async function capture({ app, caller }: EventBenchProject, nodes: ReturnType<typeof drawnNodes>): Promise<void> {
  const captured = await captureNodes(app.capture, { caller, origin: noOrigin }, { nodes })
  if (!captured.ok) throw new Error(`a capture was refused: ${captured.error.kind}`)
}

async function auditedEvents({ app, caller }: EventBenchProject, source: 'graph' | 'activity'): Promise<number> {
  await app.settleEvents()
  return app.eventStreams.withAuditStreams(caller, async (streams) =>
    streams
      .filter((stream) => stream.source === source)
      .reduce((sum, { outbox, name }) => sum + (outbox.status(name)?.next ?? 1) - 1, 0),
  )
}

async function decisions(open: readonly OpenCase[], { small, seed, report }: BenchOptions): Promise<void> {
  const rounds = small ? 40 : 120
  const calls = 1_000
  const graph = ownershipGraph(small ? 2_000 : 10_000, seed)
  const asked = questions(graph, calls, seed + 1, ownedBy)
  for (const { project } of open) {
    const call = { caller: project.caller, origin: noOrigin }
    const people = Array.from({ length: graph.people }, (_, at) => ({ type: 'Person', external_id: personId(at) }))
    const relationships = people.flatMap((source, at) =>
      Array.from(ownedBy(graph, at), (one) => ({
        source,
        type: 'OWNS',
        target: { type: 'Document', external_id: documentId(one) },
      })),
    )
    const documents = Array.from({ length: graph.documents }, (_, at) => nodeOf(at, randomFrom(seed)))
    const captured = await captureNodes(project.app.capture, call, { nodes: [...people, ...documents] })
    const connected = await captureRelationships(project.app.capture, call, { relationships })
    if (!captured.ok || !connected.ok) throw new Error('the graph was not captured')
  }
  const answered = new Map(open.map(({ name }): [string, TurnTimes[]] => [name, []]))
  const written = await inRounds(open, rounds, randomFrom(seed), async ({ name, project, decisions: each }) => {
    const { app, caller } = project
    const before = await auditedEvents(project, 'activity')
    const times: number[] = []
    const spent = stopwatch(calls)
    for (const { subject, resource, granted } of asked) {
      const begun = Bun.nanoseconds()
      const answer = evaluate(app.decisions, caller, noOrigin, {
        subject: { type: 'Person', id: subject },
        resource: { type: 'Document', id: resource },
        action: { name: 'open' },
      })
      times.push((Bun.nanoseconds() - begun) / 1000)
      if (!answer.ok || answer.value.decision !== granted) throw new Error(`wrong answer: ${subject} ${resource}`)
    }
    const { cpuUs } = spent()
    await app.settleEvents()
    const total = spent()
    mustEqual(`records of ${name}`, (await auditedEvents(project, 'activity')) - before, each * calls)
    answered.get(name)!.push({ us: median(times), cpuUs })
    return total
  })
  for (const { name } of open) {
    report.line({ record: 'decision_p50', case: name, calls: rounds * calls, ...figures(answered, name) })
    report.line({ record: 'decision_and_write', case: name, calls: rounds * calls, ...figures(written, name) })
  }
}
