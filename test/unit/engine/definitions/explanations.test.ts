// An explanation shows on what a derived relationship stands, down to stored ones, and for a denial how far each alternative came.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { compileCondition, type DecisionTrace, type QueryContext } from '../../../../src/engine/conditions.ts'
import type { ExplainedDerivation } from '../../../../src/engine/decision-trace.ts'
import { compileModel } from '../../../../src/engine/definitions/model.ts'
import { readGraph } from '../../../support/graph-notation.ts'
import { type StoredGraph, storeGraph } from '../../../support/store-engine.ts'

const MODEL = `
DEFINE (u:User)-[:in]->(g:Group) AS { MATCH (u)-[:MEMBER]->(g) }
DEFINE (u:User)-[:reads]->(d:Doc) AS { MATCH (u)-[:in]->(g)-[:VIEWER]->(d) }
DEFINE (u:User)-[:can_view]->(d:Doc|Folder) AS {
  MATCH (u)-[:OWNER]->(d)
  UNION MATCH (u)-[:in]->(:Group)-[:VIEWER]->(d) WHERE d.level > 3
  UNION MATCH (d)-[:PARENT]->(f:Folder) WHERE (u)-[:can_view]->(f)
}
DEFINE (u:User)-[:approves]->(d:Doc) AS {
  MATCH (u)-[:OWNER]->(d)
  UNION MATCH (d)-[:LEFT]->(x), (d)-[:RIGHT]->(y) WHERE (u)-[:approves]->(x) AND (u)-[:approves]->(y)
}
DEFINE (a:Doc)-[:next]->(b:Doc) AS { MATCH (a)-[:NEXT]->(b) }
`

let stored: StoredGraph
beforeAll(async () => {
  const chain = Array.from({ length: 150 }, (_, at) => `(x${at}:Doc)-[:NEXT]->(x${at + 1}:Doc)`)
  stored = await storeGraph(
    readGraph(`
      (ann:User)-[:OWNER]->(product:Folder)<-[:PARENT]-(plans:Folder)<-[:PARENT]-(roadmap:Doc {level: 1})
      (bob:User)-[:MEMBER]->(red:Group)-[:VIEWER]->(roadmap)
      (ann)-[:OWNER]->(d1:Doc)<-[:LEFT]-(d2:Doc)-[:RIGHT]->(d3:Doc)<-[:OWNER]-(ann)
      (d3)-[:LEFT]->(d2)-[:LEFT]->(d3)-[:RIGHT]->(d1)
      ${chain.join('\n')}
    `),
  )
})
afterAll(() => stored.close())

const model = compileModel(MODEL)

function why(text: string, subject: string, resource: string, stepsMax = 100_000): DecisionTrace {
  if (!model.ok) throw new Error(model.error[0]!.message)
  const input = { text, dialect: '3.0-kbac', subjectType: subjectTypeOf(text), resourceType: 'Doc' } as const
  const compiled = compileCondition({ ...input, definitions: model.value })
  if (!compiled.ok) throw new Error(compiled.error[0]!.message)
  const snapshot = stored.environment.snapshot()
  try {
    const asking = { snapshot, parameters: new Map(), limits: { stepsMax, timeMs: 60_000 } }
    const answer = compiled.value.trace(asking, subject, resource)
    expect(answer.decision).toBe(compiled.value.check(asking, subject, resource))
    expect(compiled.value.trace(asking, subject, resource).matched).toEqual(answer.matched)
    return answer
  } finally {
    snapshot.close()
  }
}

const subjectTypeOf = (text: string): string => /\(subject:(\w+)/.exec(text)![1]!

type Relationship = Pick<ExplainedDerivation, 'type' | 'source' | 'target'>
const shown = ({ type, source, target }: Relationship): string => `${source.externalId} ${type} ${target.externalId}`
const standing = ({ matched }: DecisionTrace): readonly string[] =>
  matched!.derived.map(
    (one) => `${shown(one)} by ${one.alternative}: ${[...one.relationships, ...one.derived].map(shown).join(', ')}`,
  )

describe('a permit', () => {
  test('shows each derived relationship of a walk with what it stands on', () => {
    expect(standing(why('MATCH (subject:User)-[:can_view]->(resource:Doc)', 'ann', 'roadmap'))).toEqual([
      'ann can_view roadmap by 3: roadmap PARENT plans, ann can_view plans',
      'ann can_view plans by 3: plans PARENT product, ann can_view product',
      'ann can_view product by 1: ann OWNER product',
    ])
  })

  test('shows definitions that are planned in place', () => {
    expect(standing(why('MATCH (subject:User)-[:reads]->(resource:Doc)', 'bob', 'roadmap'))).toEqual([
      'bob reads roadmap by 1: red VIEWER roadmap, bob in red',
      'bob in red by 1: bob MEMBER red',
    ])
  })

  test('shows a definition with a table once for each pair, and none that stands on itself', () => {
    expect(standing(why('MATCH (subject:User)-[:approves]->(resource:Doc)', 'ann', 'd2'))).toEqual([
      'ann approves d2 by 2: d2 LEFT d3, d2 RIGHT d3, ann approves d3',
      'ann approves d3 by 1: ann OWNER d3',
    ])
  })

  test('shows the pairs of a repetition, at most 100', () => {
    const { matched } = why('MATCH (subject:Doc)-[:next]->+(resource:Doc)', 'x0', 'x120')
    expect(matched!.derived).toHaveLength(100)
    expect(shown(matched!.derived[0]!)).toBe('x0 next+ x120')
  })

  test('has no derived relationships without a definition', () => {
    expect(why('MATCH (subject:User)-[:OWNER]->(resource:Doc)', 'ann', 'd1').matched!.derived).toEqual([])
  })
})

test('a denial shows for each alternative how far it came', () => {
  const { nearestMiss } = why('MATCH (subject:User)-[:can_view]->(resource:Doc)', 'bob', 'roadmap')
  expect(nearestMiss!.stopped.says).toBe('no relationship matches (subject)-[:can_view]->(resource)')
  const came = nearestMiss!.stopped.alternatives.map(({ alternative, reached, stopped }) => {
    return [alternative, reached?.sample.nodes.map(({ externalId }) => externalId), stopped.says, stopped.comparisons]
  })
  const level = { text: 'd.level > 3', values: [{ names: ['level'], text: 'd.level', value: 1 }] }
  expect(came).toEqual([
    [1, ['bob', 'roadmap'], 'no relationship matches (u)-[:OWNER]->(d)', []],
    [2, ['bob', 'roadmap'], 'the predicate is not true: u:User AND d:(Doc|Folder) AND d.level > 3', [level]],
    [3, ['bob', 'roadmap', 'plans'], 'no relationship matches (u)-[:can_view]->(f)', []],
  ])
})

test('a context that opens its snapshot on first use serves tables too', () => {
  if (!model.ok) throw new Error(model.error[0]!.message)
  const text = 'MATCH (subject:User)-[:approves]->(resource:Doc)'
  const input = { text, dialect: '3.0-kbac', subjectType: 'User', resourceType: 'Doc' } as const
  const compiled = compileCondition({ ...input, definitions: model.value })
  if (!compiled.ok) throw new Error(compiled.error[0]!.message)
  const snapshot = stored.environment.snapshot()
  class Session implements QueryContext {
    readonly parameters = new Map()
    readonly limits = { stepsMax: 100_000, timeMs: 60_000 }
    get snapshot() {
      return snapshot
    }
  }
  try {
    expect(compiled.value.check(new Session(), 'ann', 'd2')).toBe(true)
    expect(compiled.value.trace(new Session(), 'ann', 'd2').decision).toBe(true)
    expect(compiled.value.resources(new Session(), 'ann')).toEqual(['d1', 'd2', 'd3'])
  } finally {
    snapshot.close()
  }
})

test('a limit ends the explanation', () => {
  expect(() => why('MATCH (subject:User)-[:can_view]->(resource:Doc)', 'ann', 'roadmap', 20)).toThrow(
    'the limit of 20 steps is reached',
  )
})
