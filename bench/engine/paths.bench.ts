// What do searches of paths cost, compared with searches that are hand-written for the same store in the same run? The
// hand-written ones read adjacency lists and labels through the snapshot, from both ends where both are known. And what do
// they cost in Neo4j over Bolt, if Java and Maven are installed?
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compileCondition } from '../../src/engine/conditions.ts'
import { compileText, nodeByKey, PreparedQuery } from '../../src/engine/prepared-query.ts'
import { allRows } from '../../src/engine/relation-query.ts'
import { compileRowsQuery } from '../../src/engine/rows-query.ts'
import { createChunk, type Direction, type NodeId, type Snapshot, type SymbolId } from '../../src/engine/store.ts'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { type LmdbEnvironment, openEnvironment } from '../../src/store/graph/environment.ts'
import { CounterpartMissing } from '../../test/support/counterparts/install.ts'
import { type Bench, interleaved, median, mustEqual, randomFrom, round, type TimedCall } from '../harness.ts'
import { Neo4jGraph, RecordedGraph } from './paths-neo4j.ts'

const LINKS_PER_THING = 10
const FOLDER_DEPTH = 20
const GROUP_DEPTH = 5
const ITEMS_PER_BATCH = 50_000
const QUESTIONS = 64
const PLANS = 50
/** Seconds in which each form of a question warms up in Neo4j, and then as many in which it is measured. */
const NEO4J_SECONDS = 5
const TWO_THINGS = 'MATCH (a:Thing {external_id: $a}), (b:Thing {external_id: $b})'
const TWO_FOLDERS = 'MATCH (a:Folder {external_id: $a}), (b:Folder {external_id: $b})'
const limits = { stepsMax: 50_000_000, timeMs: 60_000, rowsHeldMax: 5_000_000 }

export const paths: Bench = {
  name: 'paths',
  question: 'searches of paths on a graph of 1,000,000 relationships: how many times as long as hand-written ones?',
  async run({ small, seed, report }) {
    const things = small ? 10_000 : 100_000
    const folder = mkdtempSync(join(tmpdir(), 'verdigraph-bench-paths-'))
    const store = openEnvironment(join(folder, 'graph'), { clock: systemClock, sync: false })
    try {
      const graph = new RecordedGraph()
      await load(store, things, randomFrom(seed), graph)
      report.note(`loaded ${things * LINKS_PER_THING} relationships`)
      const neo4j = await neo4jWith(graph, report.note)
      try {
        await measure(store, things, seed, small, report.line, neo4j)
      } finally {
        await neo4j?.stop()
      }
    } finally {
      await store.close()
      rmSync(folder, { recursive: true, force: true })
    }
    report.line({ figure: 'plan_100_patterns', ...planHundredPatterns() })
  },
}

/** Null if Java or Maven is missing. */
async function neo4jWith(graph: RecordedGraph, note: (text: string) => void): Promise<Neo4jGraph | null> {
  try {
    const neo4j = await Neo4jGraph.load(graph)
    note('loaded them into Neo4j')
    return neo4j
  } catch (fault) {
    if (!(fault instanceof CounterpartMissing)) throw fault
    note(`without Neo4j: ${fault.message}`)
    return null
  }
}

async function load(
  store: LmdbEnvironment,
  things: number,
  random: (below: number) => number,
  graph: RecordedGraph,
): Promise<void> {
  const node = async (type: string, count: number, labels: (at: number) => readonly string[]): Promise<Uint32Array> => {
    const ids = new Uint32Array(count)
    for (let from = 0; from < count; from += ITEMS_PER_BATCH) {
      await store.write((batch) => {
        for (let at = from; at < Math.min(count, from + ITEMS_PER_BATCH); at++) {
          const isIdentity = type === 'User'
          const externalId = `${type}${at}`
          const id = batch.upsertNode({ type, externalId, isIdentity, labels: labels(at) }).id
          ids[at] = id
          graph.nodes.push({ id, type, externalId, labels: labels(at) })
        }
      })
    }
    return ids
  }
  const relate = async (
    count: number,
    relationship: (at: number) => readonly [number, string, number],
  ): Promise<void> => {
    for (let from = 0; from < count; from += ITEMS_PER_BATCH) {
      await store.write((batch) => {
        for (let at = from; at < Math.min(count, from + ITEMS_PER_BATCH); at++) {
          const [source, type, target] = relationship(at)
          batch.createRelationship(source, type, target, [])
          graph.addRelationship(source, type, target)
        }
      })
    }
  }
  const thing = await node('Thing', things, (at) => (at % 4 === 0 ? [] : ['Open']))
  await relate(things * LINKS_PER_THING, (at) => [
    thing[Math.floor(at / LINKS_PER_THING)]!,
    'LINK',
    thing[random(things)]!,
  ])
  const trees = Math.max(10, Math.floor(things / 100))
  const folders = await node('Folder', trees * FOLDER_DEPTH, () => [])
  await relate(trees * (FOLDER_DEPTH - 1), (at) => {
    const tree = Math.floor(at / (FOLDER_DEPTH - 1))
    const child = tree * FOLDER_DEPTH + (at % (FOLDER_DEPTH - 1)) + 1
    return [folders[child]!, 'IN', folders[child - 1]!]
  })
  const users = await node('User', trees, () => [])
  const groups = await node('Group', trees * GROUP_DEPTH, () => [])
  await relate(trees * 3, (at) => [users[Math.floor(at / 3)]!, 'MEMBER_OF', groups[random(trees) * GROUP_DEPTH]!])
  await relate(trees * (GROUP_DEPTH - 1), (at) => {
    const child = Math.floor(at / (GROUP_DEPTH - 1)) * GROUP_DEPTH + (at % (GROUP_DEPTH - 1))
    return [groups[child]!, 'MEMBER_OF', groups[child + 1]!]
  })
  await relate(trees * GROUP_DEPTH * 2, (at) => [
    groups[Math.floor(at / 2)]!,
    'CAN_VIEW',
    folders[random(trees * FOLDER_DEPTH)]!,
  ])
}

/** Two nodes, also as the parameters of a query. */
interface PathQuestion {
  readonly a: string
  readonly b: string
  readonly parameters: ReadonlyMap<string, string>
}

type TimedSearch = (question: PathQuestion) => number

async function measure(
  store: LmdbEnvironment,
  things: number,
  seed: number,
  small: boolean,
  line: (record: Readonly<Record<string, string | number>>) => void,
  neo4j: Neo4jGraph | null,
): Promise<void> {
  const snapshot = store.snapshot()
  const random = randomFrom(seed + 1)
  const hand = new HandWrittenSearches(snapshot)
  const trees = Math.max(10, Math.floor(things / 100))
  const pick = (type: string, count: number): string => `${type}${random(count)}`
  const question = (a: string, b: string): PathQuestion => ({
    a,
    b,
    parameters: new Map([
      ['a', a],
      ['b', b],
    ]),
  })
  const questions = (from: () => string, to: () => string): readonly PathQuestion[] =>
    Array.from({ length: QUESTIONS }, () => question(from(), to()))
  const thing = (): string => pick('Thing', things)
  // The older function of Neo4j refuses a path from a node to itself.
  const differentThings = (): readonly PathQuestion[] => questions(thing, thing).filter(({ a, b }) => a !== b)
  const check = (text: string, subjectType: string, resourceType: string): TimedSearch => {
    const compiled = compileCondition({ text, dialect: '3.0-kbac', subjectType, resourceType })
    if (!compiled.ok) throw new Error(compiled.error[0]!.message)
    const context = { snapshot, parameters: new Map(), limits }
    return ({ a, b }) => (compiled.value.check(context, a, b) ? 1 : 0)
  }
  const rows = (text: string): TimedSearch => {
    const compiled = compileRowsQuery(text)
    if (!compiled.ok) throw new Error(compiled.error[0]!.message)
    return ({ parameters }) => Number(compiled.value.run({ snapshot, parameters, limits }).rows[0]?.[0] ?? -1)
  }
  const node = (type: string, id: string): NodeId => nodeByKey(snapshot, type, id)
  const [link, inFolder] = [snapshot.symbol('type', 'LINK'), snapshot.symbol('type', 'IN')]
  const [memberOf, canView] = [snapshot.symbol('type', 'MEMBER_OF'), snapshot.symbol('type', 'CAN_VIEW')]
  const open = snapshot.symbol('label', 'Open')
  const searches: Readonly<
    Record<
      string,
      {
        readonly ours: TimedSearch
        readonly hand: TimedSearch
        /** Forms of the question for Neo4j, which return the same number: the fastest one counts. */
        readonly neo4j: readonly string[]
        readonly questions: readonly PathQuestion[]
        readonly batch: number
      }
    >
  > = {
    reachability: {
      ours: check('MATCH (subject)-[:LINK]->{1,}(resource)', 'Thing', 'Thing'),
      hand: ({ a, b }) =>
        hand.distance(node('Thing', a), node('Thing', b), link, Number.POSITIVE_INFINITY, 0) >= 0 ? 1 : 0,
      neo4j: [
        `${TWO_THINGS} OPTIONAL MATCH p = SHORTEST 1 (a)-[:LINK]->+(b) RETURN count(p) AS n`,
        `${TWO_THINGS} OPTIONAL MATCH p = shortestPath((a)-[:LINK*]->(b)) RETURN count(p) AS n`,
      ],
      questions: differentThings(),
      batch: 1,
    },
    shortest_path: {
      ours: rows(
        'MATCH p = SHORTEST 1 (a:Thing {external_id: $a})-[:LINK]->+(b:Thing {external_id: $b}) RETURN length(p) AS n',
      ),
      hand: ({ a, b }) => hand.distance(node('Thing', a), node('Thing', b), link, Number.POSITIVE_INFINITY, 0),
      neo4j: [
        `${TWO_THINGS} MATCH p = SHORTEST 1 (a)-[:LINK]->+(b) RETURN length(p) AS n`,
        `${TWO_THINGS} MATCH p = shortestPath((a)-[:LINK*]->(b)) RETURN length(p) AS n`,
      ],
      questions: differentThings(),
      batch: 1,
    },
    six_hops_with_a_filter: {
      ours: check('MATCH (subject) ((x)-[:LINK]->(y:Open)){1,6} (resource)', 'Thing', 'Thing'),
      hand: ({ a, b }) => (hand.distance(node('Thing', a), node('Thing', b), link, 6, open) >= 0 ? 1 : 0),
      neo4j: [`${TWO_THINGS} OPTIONAL MATCH p = SHORTEST 1 (a) ((x)-[:LINK]->(y:Open)){1,6} (b) RETURN count(p) AS n`],
      questions: differentThings(),
      batch: 1,
    },
    ancestor: {
      ours: check('MATCH (subject)-[:IN]->+(resource)', 'Folder', 'Folder'),
      hand: ({ a, b }) =>
        hand.distance(node('Folder', a), node('Folder', b), inFolder, Number.POSITIVE_INFINITY, 0) >= 0 ? 1 : 0,
      neo4j: [
        `${TWO_FOLDERS} OPTIONAL MATCH p = SHORTEST 1 (a)-[:IN]->+(b) RETURN count(p) AS n`,
        `${TWO_FOLDERS} OPTIONAL MATCH p = shortestPath((a)-[:IN*]->(b)) RETURN count(p) AS n`,
        `${TWO_FOLDERS} RETURN CASE WHEN EXISTS { (a)-[:IN]->+(b) } THEN 1 ELSE 0 END AS n`,
      ],
      questions: Array.from({ length: QUESTIONS }, () => {
        const root = random(trees) * FOLDER_DEPTH
        return question(`Folder${root + FOLDER_DEPTH - 1}`, `Folder${root}`)
      }),
      batch: 20,
    },
    ancestors: {
      ours: rows('MATCH (a:Folder {external_id: $a})-[:IN]->+(f) WITH DISTINCT f RETURN count(*) AS n'),
      hand: ({ a }) => hand.countReached(node('Folder', a), inFolder),
      neo4j: ['MATCH (a:Folder {external_id: $a})-[:IN]->+(f) WITH DISTINCT f RETURN count(*) AS n'],
      questions: questions(
        () => `Folder${random(trees) * FOLDER_DEPTH + FOLDER_DEPTH - 1}`,
        () => '',
      ),
      batch: 20,
    },
    member_of_and_can_view: {
      ours: check('MATCH (subject)-[:MEMBER_OF]->+(g)-[:CAN_VIEW]->(resource)', 'User', 'Folder'),
      hand: ({ a, b }) => (hand.mayView(node('User', a), node('Folder', b), memberOf, canView) ? 1 : 0),
      neo4j: [
        'MATCH (a:User {external_id: $a}), (b:Folder {external_id: $b}) RETURN CASE WHEN EXISTS { (a)-[:MEMBER_OF]->+(g)-[:CAN_VIEW]->(b) } THEN 1 ELSE 0 END AS n',
        'MATCH (a:User {external_id: $a}), (b:Folder {external_id: $b}) OPTIONAL MATCH p = SHORTEST 1 (a)-[:MEMBER_OF]->+(g)-[:CAN_VIEW]->(b) RETURN count(p) AS n',
      ],
      questions: questions(
        () => pick('User', trees),
        () => pick('Folder', trees * FOLDER_DEPTH),
      ),
      batch: 20,
    },
  }
  for (const [figure, search] of Object.entries(searches)) {
    for (const question of search.questions)
      mustEqual(`${figure} of ${question.a} and ${question.b}`, search.ours(question), search.hand(question))
    const call =
      (ask: TimedSearch): TimedCall =>
      (index) =>
        void ask(search.questions[index % search.questions.length]!)
    // Shorter runs would measure how soon the functions are compiled.
    const plan = { rounds: small ? 3 : 60, batchesPerRound: QUESTIONS, batch: search.batch }
    const { ours, hand } = interleaved(plan, { ours: call(search.ours), hand: call(search.hand) })
    const inNeo4j = await neo4j?.ask(search.neo4j, search.questions, small ? 1 : NEO4J_SECONDS)
    inNeo4j?.answers.forEach((answer, i) => {
      const asked = search.questions[i]!
      mustEqual(`${figure} of ${asked.a} and ${asked.b} in Neo4j`, answer, search.hand(asked))
    })
    line({
      figure,
      ours_p50_us: round(ours.p50Us),
      hand_written_p50_us: round(hand.p50Us),
      ratio: round(ours.p50Us / hand.p50Us, 2),
      ...(inNeo4j && {
        neo4j_p50_us: round(inNeo4j.p50Us, 0),
        neo4j_to_ours: round(inNeo4j.p50Us / ours.p50Us, 0),
      }),
    })
  }
  snapshot.close()
}

/** The reached nodes of one side of a search. */
class HandWrittenSide {
  nodes: NodeId[] = []
  /** By node: the number of the search that has reached it, so that a new search clears nothing. */
  private stamps = new Uint32Array(1 << 21)
  private stamp = 0

  start(node: NodeId): void {
    this.nodes = []
    this.stamp += 1
    this.add(node)
  }

  has(node: NodeId): boolean {
    return this.stamps[node] === this.stamp
  }

  add(node: NodeId): void {
    if (this.stamps[node] === this.stamp) return
    this.stamps[node] = this.stamp
    this.nodes.push(node)
  }
}

class HandWrittenSearches {
  private readonly snapshot: Snapshot
  private readonly chunk = createChunk()
  private readonly source = new HandWrittenSide()
  private readonly target = new HandWrittenSide()

  constructor(snapshot: Snapshot) {
    this.snapshot = snapshot
  }

  /** The number of hops of a shortest path of at least one; -1 if none has at most `max`. `label`: of each reached node, or 0. */
  distance(from: NodeId, to: NodeId, type: SymbolId, max: number, label: SymbolId): number {
    const { source, target, snapshot } = this
    if (label !== 0 && !snapshot.hasLabel(to, label)) return -1
    source.start(from)
    target.start(to)
    let sourceDone = 0
    let targetDone = 0
    for (let hops = 1; hops <= max; hops++) {
      const isSource = source.nodes.length - sourceDone <= target.nodes.length - targetDone
      const [side, other] = isSource ? [source, target] : [target, source]
      const begin = isSource ? sourceDone : targetDone
      const end = side.nodes.length
      if (begin === end) return -1
      for (let i = begin; i < end; i++) {
        if (this.expand(side, other, side.nodes[i]!, isSource ? 'out' : 'in', type, label, from)) return hops
      }
      if (isSource) sourceDone = end
      else targetDone = end
    }
    return -1
  }

  private expand(
    side: HandWrittenSide,
    other: HandWrittenSide,
    node: NodeId,
    direction: Direction,
    type: SymbolId,
    label: SymbolId,
    from: NodeId,
  ): boolean {
    const { snapshot, chunk } = this
    let at = 0
    do {
      snapshot.neighbours(node, direction, type, at, chunk)
      for (let i = 0; i < chunk.length; i++) {
        const next = chunk.ids[i]!
        const isTested = label !== 0 && !(direction === 'in' && next === from)
        if (isTested && !snapshot.hasLabel(next, label)) continue
        if (other.has(next)) return true
        side.add(next)
      }
      at = chunk.next
    } while (chunk.more)
    return false
  }

  countReached(from: NodeId, type: SymbolId): number {
    const { source, snapshot, chunk } = this
    source.start(from)
    for (let i = 0; i < source.nodes.length; i++) {
      snapshot.neighbours(source.nodes[i]!, 'out', type, 0, chunk)
      for (let at = 0; at < chunk.length; at++) source.add(chunk.ids[at]!)
    }
    return source.nodes.length - 1
  }

  mayView(user: NodeId, folder: NodeId, memberOf: SymbolId, canView: SymbolId): boolean {
    const { source, target, snapshot, chunk } = this
    target.start(folder)
    snapshot.neighbours(folder, 'in', canView, 0, chunk)
    for (let at = 0; at < chunk.length; at++) target.add(chunk.ids[at]!)
    source.start(user)
    for (let i = 0; i < source.nodes.length; i++) {
      snapshot.neighbours(source.nodes[i]!, 'out', memberOf, 0, chunk)
      for (let at = 0; at < chunk.length; at++) {
        const group = chunk.ids[at]!
        if (target.has(group)) return true
        source.add(group)
      }
    }
    return false
  }
}

/**
 * Milliseconds to plan one MATCH of 100 patterns: the median of 50, and the processor time of one, which other programs of the
 * machine do not lengthen as much. It includes the threads that compile and collect garbage.
 */
function planHundredPatterns(): { readonly ms: number; readonly cpu_ms: number } {
  const patterns = Array.from(
    { length: 100 },
    (_, i) => `(a${i}) ((x${i})-[:R]->(y${i}) WHERE x${i}.n < 3)+ (a${i + 1})`,
  )
  const compiled = compileText(`MATCH ${patterns.join(', ')} RETURN count(*) AS n`, 'open', 'rows')
  if (!compiled.ok) throw new Error(compiled.error[0]!.message)
  const plan = (): number => {
    const start = performance.now()
    new PreparedQuery(compiled.value.bound, allRows, { rules: 'on' }).describe()
    return performance.now() - start
  }
  for (let i = 0; i < PLANS; i++) plan()
  const before = process.cpuUsage()
  const times = Array.from({ length: PLANS }, plan)
  const { user, system } = process.cpuUsage(before)
  return { ms: round(median(times), 2), cpu_ms: round((user + system) / 1000 / PLANS, 2) }
}
