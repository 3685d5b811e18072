// What does a definition of a model cost, compared with the same pattern written by hand? And what does recursion cost that no pattern
// can express?
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { compileCondition, type PolicyCondition } from '../../src/engine/conditions.ts'
import { compileModel } from '../../src/engine/definitions/model.ts'
import type { GraphStore } from '../../src/engine/store.ts'
import type { Value } from '../../src/engine/value/value.ts'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { openEnvironment } from '../../src/store/graph/environment.ts'
import {
  AnswerHash,
  type Bench,
  type BenchReport,
  type InterleavedRounds,
  interleaved,
  mustEqual,
  randomFrom,
  round,
  type TimedCall,
} from '../harness.ts'
import {
  type AuthorizationGraph,
  authorizationGraph,
  idOf,
  index,
  sizes,
  sortedText,
  through,
} from './authorization-graph.ts'
import { limits } from './compiled-plans.ts'
import { openAuthorizationGraph } from './load-authorization-graph.ts'

const MODEL = `
DEFINE (u:User)-[:sees]->(d:Document) AS { MATCH (u)-[:MEMBER_OF]->(:Group)-[:CAN_VIEW]->(:Folder)<-[:IN]-(d) }
DEFINE (u:User)-[:belongs]->(g:Group) AS { MATCH (u)-[:MEMBER_OF]->(g) UNION MATCH (u)-[:belongs]->(:Group)-[:CHILD_OF]->(g) }
DEFINE (u:User)-[:reads]->(d:Document) AS { MATCH (u)-[:belongs]->(:Group)-[:CAN_VIEW]->(:Folder)<-[:IN]-(d) }
DEFINE (u:User)-[:approved]->(d:Document) AS {
  MATCH (u)-[:OWNS]->(d)
  UNION MATCH (d)-[:FIRST]->(x), (d)-[:SECOND]->(y) WHERE (u)-[:approved]->(x) AND (u)-[:approved]->(y)
}`

const view = '-[:CAN_VIEW]->(:Folder)<-[:IN]-(resource:Document)'
const texts = {
  plain: {
    definition: 'MATCH (subject:User)-[:sees]->(resource:Document)',
    hand: `MATCH (subject:User)-[:MEMBER_OF]->(:Group)${view}`,
  },
  linear: {
    definition: 'MATCH (subject:User)-[:reads]->(resource:Document)',
    hand: `MATCH (subject:User)-[:MEMBER_OF]->(:Group)-[:CHILD_OF]->*(:Group)${view}`,
  },
} as const
const branches = 'MATCH (subject:User)-[:approved]->(resource:Document)'

/** Levels below the first one, and nodes of the acyclic graph. */
const LEVELS = 12
const DAG_NODES = 2_000

interface AskedCheck {
  readonly user: string
  readonly document: string
  readonly answer: boolean
}

export const definitions: Bench = {
  name: 'definitions',
  question:
    'what checks and a search cost through definitions of a model, compared with the same patterns written by hand',
  async run({ small, seed, report }) {
    const of = sizes(small)
    const graph = authorizationGraph(of, seed)
    const store = await openAuthorizationGraph(graph, seed, report.note)
    const hash = new AnswerHash()
    const plan = { rounds: small ? 4 : 24, batchesPerRound: small ? 10 : 40, batch: 25 }
    for (const [form, { hand, definition }] of Object.entries(texts)) {
      const asked = checksOf(graph, of.users, of.documents, form === 'linear', small ? 400 : 2_000, seed)
      for (const { answer } of asked) hash.add(String(answer))
      const runners = { hand: checkOf(store, hand), definition: checkOf(store, definition) }
      compareForms(report, `check_${form}`, plan, {
        hand: asking(runners.hand, asked),
        definition: asking(runners.definition, asked),
      })
    }
    compareForms(
      report,
      'search_linear',
      { rounds: small ? 4 : 16, batchesPerRound: 4, batch: 1 },
      searchesOf(store, graph, hash),
    )
    await store.close()
    await checkBranches(report, seed, small, hash)
    report.line({ record: 'answers', count: hash.count, hash: hash.hex })
  },
}

/** One line: the times of both forms, and their ratio. */
function compareForms(
  report: BenchReport,
  figure: string,
  plan: InterleavedRounds,
  forms: Readonly<Record<'hand' | 'definition', TimedCall>>,
): void {
  const { hand, definition } = interleaved(plan, forms)
  report.line({
    record: figure,
    calls: definition.calls,
    hand_p50_us: round(hand.p50Us, 2),
    definition_p50_us: round(definition.p50Us, 2),
    definition_to_hand: round(definition.p50Us / hand.p50Us),
  })
}

function conditionOf(text: string): PolicyCondition {
  const model = compileModel(MODEL)
  if (!model.ok) throw new Error(model.error[0]!.message)
  const types = { subjectType: 'User', resourceType: 'Document' }
  const compiled = compileCondition({ text, dialect: '3.0-kbac', definitions: model.value, ...types })
  if (!compiled.ok) throw new Error(compiled.error[0]!.message)
  return compiled.value
}

const none: ReadonlyMap<string, Value> = new Map()

/** Each question has its own snapshot, as a decision has. */
function checkOf(store: GraphStore, text: string): (question: AskedCheck) => boolean {
  const condition = conditionOf(text)
  return ({ user, document }) => {
    const snapshot = store.snapshot()
    try {
      return condition.check({ snapshot, parameters: none, limits }, user, document)
    } finally {
      snapshot.close()
    }
  }
}

/** Compares all answers first, and each one again while it is timed. */
function asking(check: (question: AskedCheck) => boolean, asked: readonly AskedCheck[]): TimedCall {
  const call: TimedCall = (index) => {
    const question = asked[index % asked.length]!
    const { user, document, answer } = question
    mustEqual(`the check of ${user} and ${document}`, check(question), answer)
  }
  for (const index of asked.keys()) call(index)
  return call
}

/** Half of the checks are granted. `inherits`: members of a group also belong to all groups above it. */
function checksOf(
  graph: AuthorizationGraph,
  users: number,
  documents: number,
  inherits: boolean,
  count: number,
  seed: number,
): readonly AskedCheck[] {
  const random = randomFrom(seed + 2)
  const { seenBy } = reachOf(graph)
  const made: AskedCheck[] = []
  while (made.length < count) {
    const user = random(users)
    const seen = seenBy(user, inherits)
    const answer = made.length % 2 === 0
    if (answer && seen.length === 0) continue
    const document = answer ? seen[random(seen.length)]! : random(documents)
    if (!answer && seen.includes(document)) continue
    made.push({ user: idOf('User', user), document: idOf('Document', document), answer })
  }
  return shuffled(made, random)
}

function reachOf({ counts, relationships }: AuthorizationGraph) {
  const groupsOf = index(relationships.MEMBER_OF, counts.User)
  const parentsOf = index(relationships.CHILD_OF, counts.Group)
  const foldersOf = index(relationships.CAN_VIEW, counts.Group)
  const documentsIn = index(
    relationships.IN.map(([document, folder]) => [folder, document] as const),
    counts.Folder,
  )
  const seenBy = (user: number, inherits: boolean): readonly number[] => {
    const groups = new Set(groupsOf[user])
    // A set can grow while it is read.
    if (inherits) for (const group of groups) for (const parent of parentsOf[group]!) groups.add(parent)
    return [...new Set(through(through([...groups], foldersOf), documentsIn))]
  }
  return { seenBy }
}

/** Searches of people who can see 10,000 documents. */
function searchesOf(
  store: GraphStore,
  graph: AuthorizationGraph,
  hash: AnswerHash,
): Readonly<Record<'hand' | 'definition', TimedCall>> {
  const { seenBy } = reachOf(graph)
  const users = Array.from({ length: graph.counts.User - graph.firstWideUser }, (_, at) => graph.firstWideUser + at)
  const asked = users.map((user) => {
    const ids = seenBy(user, true).map((document) => idOf('Document', document))
    return { user: idOf('User', user), found: ids.length, answer: sortedText(ids) }
  })
  for (const { answer } of asked) hash.add(answer)
  const searching = (text: string): TimedCall => {
    const condition = conditionOf(text)
    const search = (user: string): readonly string[] => {
      const snapshot = store.snapshot()
      try {
        return condition.resources({ snapshot, parameters: none, limits }, user)
      } finally {
        snapshot.close()
      }
    }
    for (const { user, answer } of asked) mustEqual(`the search of ${user}`, sortedText([...search(user)]), answer)
    return (index) => {
      const { user, found } = asked[index % asked.length]!
      mustEqual(`the results of ${user}`, search(user).length, found)
    }
  }
  return { hand: searching(texts.linear.hand), definition: searching(texts.linear.definition) }
}

/**
 * Checks that hold if both documents below hold, along 12 levels: one person owns all documents of the last level, and each other person
 * all but one.
 */
async function checkBranches(report: BenchReport, seed: number, small: boolean, hash: AnswerHash): Promise<void> {
  const random = randomFrom(seed + 3)
  const width = Math.floor(DAG_NODES / (LEVELS + 1))
  const below = Array.from({ length: width * LEVELS }, (_, at) => {
    const next = (Math.floor(at / width) + 1) * width
    return [next + random(width), next + random(width)] as const
  })
  const last = Array.from({ length: width }, (_, at) => width * LEVELS + at)
  const missing = [null, ...Array.from({ length: 20 }, () => last[random(width)]!)]
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-bench-definitions-'))
  const store = openEnvironment(folder, { clock: systemClock, sync: false })
  try {
    const document = (at: number) => ({ type: 'Document', externalId: idOf('Document', at) })
    const user = (at: number) => ({ type: 'User', externalId: idOf('User', at) })
    await store.write((batch) => {
      for (let at = 0; at < width * (LEVELS + 1); at++) batch.upsertNode(document(at))
      below.forEach(([first, second], at) => {
        batch.upsertRelationship({ source: document(at), type: 'FIRST', target: document(first) })
        batch.upsertRelationship({ source: document(at), type: 'SECOND', target: document(second) })
      })
      missing.forEach((without, at) => {
        batch.upsertNode(user(at))
        for (const target of last) {
          if (target !== without) batch.upsertRelationship({ source: user(at), type: 'OWNS', target: document(target) })
        }
      })
    })
    const holds = (without: number | null, from: number): boolean => {
      const reached = new Set([from])
      for (const at of reached) for (const next of below[at] ?? []) reached.add(next)
      return without === null || !reached.has(without)
    }
    const made = missing.flatMap((without, at) =>
      Array.from({ length: at === 0 ? 200 : 10 }, (): AskedCheck => {
        const from = random(width)
        return { user: idOf('User', at), document: idOf('Document', from), answer: holds(without, from) }
      }),
    )
    const asked = shuffled(made, random)
    for (const { answer } of asked) hash.add(String(answer))
    const [granted, denied] = [true, false].map((answer) => asked.filter((one) => one.answer === answer))
    const check = checkOf(store, branches)
    const plan = { rounds: small ? 3 : 12, batchesPerRound: small ? 10 : 100, batch: 1 }
    const { all, ...apart } = interleaved(plan, {
      all: asking(check, asked),
      granted: asking(check, granted!),
      denied: asking(check, denied!),
    })
    report.line({
      record: 'check_two_branches',
      nodes: width * (LEVELS + 1),
      levels: LEVELS,
      calls: all.calls,
      p50_us: round(all.p50Us, 1),
      granted_p50_us: round(apart.granted.p50Us, 1),
      denied_p50_us: round(apart.denied.p50Us, 1),
    })
  } finally {
    await store.close()
    rmSync(folder, { recursive: true })
  }
}

function shuffled<T>(items: readonly T[], random: (below: number) => number): readonly T[] {
  const list = [...items]
  for (let at = list.length - 1; at > 0; at--) {
    const other = random(at + 1)
    ;[list[at], list[other]] = [list[other]!, list[at]!]
  }
  return list
}
