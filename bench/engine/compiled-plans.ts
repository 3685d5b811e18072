// Our engine in the bench: conditions and a query, compiled once, each question with its own snapshot.
import { compileCondition } from '../../src/engine/conditions.ts'
import { compileRowsQuery, type ResultValue } from '../../src/engine/rows-query.ts'
import type { GraphStore, Snapshot } from '../../src/engine/store.ts'
import type { Value } from '../../src/engine/value/value.ts'
import { type BenchQuestion, KNOWS_MAX, PARENTS_MAX, type QuestionName, type Type } from './authorization-graph.ts'
import type { BenchAnswer, BenchAnswers, BenchmarkedEngine } from './benchmarked-engine.ts'

export const limits = { stepsMax: 20_000_000, timeMs: 10_000 }
const none: ReadonlyMap<string, Value> = new Map()

const view = '-[:CAN_VIEW]->(:Folder)<-[:IN]-(resource:Document)'

interface CompiledCheck {
  readonly text: string
  readonly subjectType: Type
  readonly resourceType: Type
}

/** Also used for the `plan` records. */
export const conditions = {
  owns: {
    text: 'MATCH (subject:User)-[:OWNS]->(resource:Document)',
    subjectType: 'User',
    resourceType: 'Document',
  },
  can_view: {
    text: `MATCH (subject:User)-[:MEMBER_OF]->(:Group)${view}`,
    subjectType: 'User',
    resourceType: 'Document',
  },
  can_view_with_parents: {
    text: `MATCH (subject:User)-[:MEMBER_OF]->(:Group)-[:CHILD_OF*0..${PARENTS_MAX}]->(:Group)${view}`,
    subjectType: 'User',
    resourceType: 'Document',
  },
  knows_1_to_8: {
    text: `MATCH (subject:Account)-[:KNOWS*1..${KNOWS_MAX}]->(resource:Account)`,
    subjectType: 'Account',
    resourceType: 'Account',
  },
  folders_of_user: {
    text: 'MATCH (subject:User)-[:MEMBER_OF]->(:Group)-[:CAN_VIEW]->(resource:Folder)',
    subjectType: 'User',
    resourceType: 'Folder',
  },
} satisfies Partial<Record<QuestionName, CompiledCheck>>

const nodeById = 'MATCH (n:User {external_id: $id}) RETURN n.level'
const byKind =
  'MATCH (u:User {external_id: $id})-[:MEMBER_OF]->(:Group)-[:CAN_VIEW]->(:Folder)<-[:IN]-(d:Document) ' +
  'RETURN d.kind, count(*), sum(d.size)'

export function compiledPlans(store: GraphStore): BenchmarkedEngine {
  const ask = (question: (snapshot: Snapshot, asked: BenchQuestion) => BenchAnswer) => {
    return (asked: BenchQuestion): BenchAnswer => {
      const snapshot = store.snapshot()
      try {
        return question(snapshot, asked)
      } finally {
        snapshot.close()
      }
    }
  }
  const check = (of: CompiledCheck) => {
    const condition = compiled(of)
    return ask((snapshot, { first, second }) => condition.check({ snapshot, parameters: none, limits }, first, second))
  }
  const search = (of: CompiledCheck) => {
    const condition = compiled(of)
    return ask((snapshot, { first }) => condition.resources({ snapshot, parameters: none, limits }, first))
  }
  const rows = (text: string) => {
    const query = compileRowsQuery(text)
    if (!query.ok) throw new Error(`${text}: ${query.error[0]?.message}`)
    return (snapshot: Snapshot, { first }: BenchQuestion): readonly (readonly ResultValue[])[] =>
      query.value.run({ snapshot, parameters: new Map([['id', first]]), limits }).rows
  }
  const findNode = rows(nodeById)
  const answers: BenchAnswers = {
    node_by_id: ask((snapshot, asked) => findNode(snapshot, asked)[0]![0] as number),
    owns: check(conditions.owns),
    can_view: check(conditions.can_view),
    can_view_with_parents: check(conditions.can_view_with_parents),
    folders_of_user: search(conditions.folders_of_user),
    knows_1_to_8: check(conditions.knows_1_to_8),
    search_10000: search(conditions.can_view),
    aggregate_10000: ask(rows(byKind)),
  }
  return { name: 'engine', answers, close: () => {} }
}

export function compiled(of: CompiledCheck) {
  const condition = compileCondition({ ...of, dialect: '3.0-kbac' })
  if (!condition.ok) throw new Error(`${of.text}: ${condition.error[0]?.message}`)
  return condition.value
}
