// What does a decision cost in process, compared with the reads that it needs, and does the size of the graph matter?
import { compileCondition } from '../../src/engine/conditions.ts'
import type { OpenSnapshot, Snapshot } from '../../src/engine/store.ts'
import {
  AnswerHash,
  type Bench,
  type InterleavedRounds,
  interleaved,
  mustEqual,
  quantile,
  round,
  type TimedCall,
  type Timing,
} from '../harness.ts'
import {
  documentId,
  mayRead,
  type OwnershipGraph,
  type OwnershipQuestion,
  ownedBy,
  ownershipGraph,
  owns,
  personId,
  questions,
  readableBy,
} from '../ownership-graph.ts'
import { openLoaded } from './load-graph.ts'
import { RecordedReads } from './recorded-reads.ts'

/** Repeated in turn: what they read stays in the processor's caches, as far as it fits. */
const WARM = 2_000
/** Spread over the whole graph: at a million nodes hardly any read finds its page in a cache. */
const SPREAD = 50_000
const SEARCHES = 5_000
const BATCH = 50
const WRITES = 1_000
const limits = { stepsMax: 20_000_000, timeMs: 1_000 }
const parameters = new Map()

const subjects = [
  'check',
  'check_on_open_snapshot',
  'check_cold',
  'check_uncached',
  'check_unknown',
  'check_unknown_spread',
  'raw_gets',
  'check_spread',
  'raw_gets_spread',
  'check_two_hops',
  'resources',
  'subjects',
] as const
type Subject = (typeof subjects)[number]

export const decision: Bench = {
  name: 'decision',
  question: 'a one-hop check in process: compared with its raw reads (ratio_to_raw_gets), and at 1 M nodes (flatness)',
  async run({ small, seed, report }) {
    const sizes = small ? [10_000, 50_000] : [10_000, 1_000_000]
    const plan: InterleavedRounds = { rounds: small ? 6 : 24, batchesPerRound: small ? 100 : 200, batch: BATCH }
    const tables: Sized[] = []
    try {
      for (const size of sizes) tables.push(await prepare(size, seed, report.note))
      for (const { size, answers } of tables) {
        report.line({ record: 'answers', nodes: size, count: answers.count, hash: answers.hex })
      }
      const calls = Object.fromEntries(
        tables.flatMap(({ size, calls }) => subjects.map((subject) => [`${subject}@${size}`, calls[subject]])),
      )
      const timings = interleaved(plan, calls)
      const at = (subject: Subject, size: number): Timing => timings[`${subject}@${size}`] as Timing
      for (const { size, readsPerCheck, checkAfterWrites, verify } of tables) {
        const afterWrite = await checkAfterWrites()
        verify()
        for (const subject of subjects) {
          const { calls, p50Us, p99Us } = at(subject, size)
          report.line({ record: subject, nodes: size, calls, p50_us: round(p50Us), p99_us: round(p99Us) })
        }
        const { calls, p50Us, p99Us } = afterWrite
        report.line({ record: 'check_after_write', nodes: size, calls, p50_us: round(p50Us), p99_us: round(p99Us) })
        report.line({
          record: 'result',
          nodes: size,
          reads_per_check: round(readsPerCheck, 2),
          ratio_to_raw_gets: round(at('check', size).p50Us / at('raw_gets', size).p50Us),
          ratio_spread: round(at('check_spread', size).p50Us / at('raw_gets_spread', size).p50Us),
          miss_to_hit: round(at('check_unknown', size).p50Us / at('check', size).p50Us),
          miss_to_hit_spread: round(at('check_unknown_spread', size).p50Us / at('check_spread', size).p50Us),
          ratio_on_open_snapshot: round(at('check_on_open_snapshot', size).p50Us / at('raw_gets', size).p50Us),
          cold_to_uncached: round(at('check_cold', size).p50Us / at('check_uncached', size).p50Us),
        })
      }
      const [least, greatest] = [sizes[0] as number, sizes.at(-1) as number]
      const flatness = (subject: Subject): number => round(at(subject, greatest).p50Us / at(subject, least).p50Us)
      report.line({
        record: 'result',
        flatness: flatness('check'),
        flatness_of_raw_gets: flatness('raw_gets'),
        flatness_spread: flatness('check_spread'),
        flatness_of_raw_gets_spread: flatness('raw_gets_spread'),
      })
    } finally {
      for (const { close } of tables) await close()
    }
  },
}

interface Sized {
  readonly size: number
  readonly readsPerCheck: number
  readonly answers: AnswerHash
  readonly calls: Record<Subject, TimedCall>
  /** A batch of checks directly after each of many acknowledged writes. */
  checkAfterWrites(): Promise<Timing>
  /** Throws if a timed call returned a wrong answer. */
  verify(): void
  close(): Promise<void>
}

async function prepare(size: number, seed: number, note: (text: string) => void): Promise<Sized> {
  const graph = ownershipGraph(size, seed)
  const { store, cold, uncached } = await openLoaded(graph, size, seed, note)
  const oneHop = conditionOf(owns)
  const twoHops = conditionOf(mayRead)
  const asked = questions(graph, SPREAD, seed + 1, ownedBy)
  const halfUnknown = withUnknown(asked)
  const askedTwoHops = questions(graph, SPREAD, seed + 2, readableBy)
  const asking = (snapshot: Snapshot) => ({ snapshot, parameters, limits })

  const answers = new AnswerHash()
  const opened = store.snapshot()
  const recorded = RecordedReads.of(store.databases.adjacency.raw, (next) => {
    for (const { subject, resource, granted } of asked) {
      // Every question must do all its reads.
      store.cache.clear()
      const found = oneHop.check(asking(opened), subject, resource)
      next()
      mustEqual(`may ${subject} open ${resource}`, found, granted)
      answers.add(String(found))
    }
  })
  opened.close()
  const snapshot = store.snapshot()
  for (const { subject, resource, granted } of askedTwoHops) {
    const found = twoHops.check(asking(snapshot), subject, resource)
    mustEqual(`may ${subject} read ${resource}`, found, granted)
    answers.add(String(found))
  }
  const owners = ownersOf(graph)
  for (let at = 0; at < SEARCHES; at++) {
    const person = searched(asked, at)
    const found = oneHop.resources(asking(snapshot), personId(person)).toSorted()
    const expected = Array.from(ownedBy(graph, person), documentId).toSorted()
    mustEqual(`what ${personId(person)} may open`, found.join(), expected.join())
    const document = Number((asked[at] as OwnershipQuestion).resource.slice('document-'.length))
    const people = oneHop.subjects(asking(snapshot), documentId(document)).toSorted()
    mustEqual(`who may open ${documentId(document)}`, people.join(), owners(document).map(personId).toSorted().join())
    answers.add(found.join())
  }
  snapshot.close()

  // Counted while the clock runs: half of the questions are granted, and no answer may change during timing.
  let checks = 0
  let wrong = 0
  let bytes = 0
  const check = (
    condition: typeof oneHop,
    questions: readonly OwnershipQuestion[],
    count: number,
    on = store,
  ): TimedCall => {
    return (index) => {
      const { subject, resource, granted } = questions[index % count] as OwnershipQuestion
      const snapshot = on.snapshot()
      try {
        if (condition.check({ snapshot, parameters, limits }, subject, resource) !== granted) wrong += 1
      } finally {
        snapshot.close()
      }
      checks += 1
    }
  }
  /** One snapshot for a batch of calls, as for a batch of decisions. */
  const onHeld = (call: (snapshot: Snapshot, index: number) => void): TimedCall => {
    let held: OpenSnapshot | null = null
    return (index) => {
      const snapshot = held ?? store.snapshot()
      call(snapshot, index)
      const last = (index + 1) % BATCH === 0
      if (last) snapshot.close()
      held = last ? null : snapshot
    }
  }
  const search = (find: (snapshot: Snapshot, question: OwnershipQuestion) => number): TimedCall => {
    return (index) => {
      const snapshot = store.snapshot()
      try {
        if (find(snapshot, asked[index % WARM] as OwnershipQuestion) === 0) wrong += 1
      } finally {
        snapshot.close()
      }
    }
  }

  const warmCheck = check(oneHop, asked, WARM)
  const coldCheck = check(oneHop, asked, WARM, cold)

  return {
    size,
    readsPerCheck: recorded.readsPerCall,
    answers,
    calls: {
      check: warmCheck,
      check_on_open_snapshot: onHeld((snapshot, index) => {
        const { subject, resource, granted } = asked[index % WARM] as OwnershipQuestion
        if (oneHop.check({ snapshot, parameters, limits }, subject, resource) !== granted) wrong += 1
      }),
      // As after a write of another process: the cache is empty, and every read fills it.
      check_cold: (index) => {
        cold.cache.clear()
        coldCheck(index)
      },
      check_uncached: check(oneHop, asked, WARM, uncached),
      check_unknown: check(oneHop, halfUnknown, WARM),
      check_unknown_spread: check(oneHop, halfUnknown, SPREAD),
      raw_gets: onHeld((_snapshot, index) => {
        bytes += recorded.replay(index % WARM)
      }),
      check_spread: check(oneHop, asked, SPREAD),
      raw_gets_spread: onHeld((_snapshot, index) => {
        bytes += recorded.replay(index % SPREAD)
      }),
      check_two_hops: check(twoHops, askedTwoHops, WARM),
      resources: search((snapshot, { subject }) => oneHop.resources({ snapshot, parameters, limits }, subject).length),
      // The document of a denied question may have no owner; that of a granted one has.
      subjects: search((snapshot, { resource, granted }) => {
        const found = oneHop.subjects({ snapshot, parameters, limits }, resource).length
        return granted ? found : 1
      }),
    },
    async checkAfterWrites() {
      const samples = new Float64Array(WRITES)
      for (let write = 0; write < WRITES; write++) {
        const person = write % graph.people
        const [document] = ownedBy(graph, person)
        if (document === undefined) continue
        // It exists already, so that no answer changes; its record and the header do.
        await store.write((batch) => {
          batch.upsertRelationship({
            source: { type: 'Person', externalId: personId(person) },
            type: 'OWNS',
            target: { type: 'Document', externalId: documentId(document) },
          })
        })
        const start = Bun.nanoseconds()
        for (let at = 0; at < BATCH; at++) warmCheck(write * BATCH + at)
        samples[write] = (Bun.nanoseconds() - start) / BATCH / 1000
      }
      const sorted = samples.toSorted()
      return { calls: WRITES * BATCH, p50Us: quantile(sorted, 0.5), p99Us: quantile(sorted, 0.99) }
    },
    verify() {
      mustEqual('timed calls with a wrong answer', wrong, 0)
      if (checks === 0 || bytes === 0) throw new Error('nothing was timed')
    },
    async close() {
      await store.close()
      await cold.close()
      await uncached.close()
    },
  }
}

function conditionOf(text: string) {
  const compiled = compileCondition({ text, dialect: '3.0-kbac', subjectType: 'Person', resourceType: 'Document' })
  if (!compiled.ok) throw new Error(`${text}: ${compiled.error.map(({ message }) => message).join(', ')}`)
  return compiled.value
}

/** Alternately the subject and the resource do not exist: their ids lie between those of the graph. */
function withUnknown(asked: readonly OwnershipQuestion[]): OwnershipQuestion[] {
  return asked.map(({ subject, resource }, at) => ({
    subject: at % 2 === 0 ? `${subject}-unknown` : subject,
    resource: at % 2 === 0 ? resource : `${resource}-unknown`,
    granted: false,
  }))
}

const searched = (asked: readonly OwnershipQuestion[], at: number): number =>
  Number((asked[at] as OwnershipQuestion).subject.slice('person-'.length))

function ownersOf(graph: OwnershipGraph): (document: number) => number[] {
  const owners = new Map<number, number[]>()
  for (let person = 0; person < graph.people; person++) {
    for (const document of ownedBy(graph, person)) {
      const known = owners.get(document)
      if (known === undefined) owners.set(document, [person])
      else known.push(person)
    }
  }
  return (document) => owners.get(document) ?? []
}
