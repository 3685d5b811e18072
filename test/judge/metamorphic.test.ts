// A small part of `test/stress/metamorphic.ts`: rewrites of random queries do not change their answers.
import { describe, expect, test } from 'vitest'
import { testSeed } from '../generate/random.ts'
import { Rewriter } from '../generate/rewrites.ts'
import { openEngineSide } from './engine-side.ts'
import { emptyJudgedGraph } from './judge-graph.ts'
import { differenceOf, type JudgedQuery } from './judged-outcome.ts'
import { runMetamorphic } from './metamorphic.ts'

test('rewrites of random queries do not change their answers', async () => {
  const seed = testSeed()
  const counts = await runMetamorphic({ seed, queries: 25, differencesMax: 1 })
  console.log(`seed ${seed}`)
  expect(counts.differences).toEqual([])
  const equal = [...counts.equal.values()].reduce((sum, count) => sum + count, 0)
  expect(equal).toBeGreaterThan(counts.queries)
  expect(counts.refused).toBeLessThan(equal / 5)
})

describe('the rewrites of a query', () => {
  const rewritten = (text: string): string[] => new Rewriter(text).all().map(({ rule, text: to }) => `${rule}: ${to}`)

  test('reverse patterns, move predicates and use equivalences', () => {
    const found = rewritten('MATCH (a:A {x: 1})-[:R]->(b), (c) WHERE a.y < 2 AND b.z IN [1, 2] RETURN a.x AS x')
    for (const line of [
      'pattern reversed: MATCH (b)<-[:R]-(a:A {x: 1}), (c) WHERE a.y < 2 AND b.z IN [1, 2] RETURN a.x AS x',
      'patterns exchanged: MATCH (c), (a:A {x: 1})-[:R]->(b) WHERE a.y < 2 AND b.z IN [1, 2] RETURN a.x AS x',
      'labels moved to WHERE: MATCH (a {x: 1})-[:R]->(b), (c) WHERE a.y < 2 AND b.z IN [1, 2] AND a:A RETURN a.x AS x',
      'properties moved to WHERE: MATCH (a:A)-[:R]->(b), (c) WHERE a.y < 2 AND b.z IN [1, 2] AND a.x = 1 RETURN a.x AS x',
      'De Morgan: MATCH (a:A {x: 1})-[:R]->(b), (c) WHERE NOT (NOT a.y < 2 OR NOT b.z IN [1, 2]) RETURN a.x AS x',
      'IN as OR: MATCH (a:A {x: 1})-[:R]->(b), (c) WHERE a.y < 2 AND (b.z = 1 OR b.z = 2) RETURN a.x AS x',
      'MATCH split: MATCH (a:A {x: 1})-[:R]->(b) MATCH (c) WHERE a.y < 2 AND b.z IN [1, 2] RETURN a.x AS x',
      'WHERE after WITH *: MATCH (a:A {x: 1})-[:R]->(b), (c) WITH * WHERE a.y < 2 AND b.z IN [1, 2] RETURN a.x AS x',
    ])
      expect(found).toContain(line)
  })

  test('keep what depends on the order of the text', () => {
    const found = rewritten('MATCH p = (a)-[:R*]->(b), (b)-[s:R*]->(c) RETURN p AS p, s AS s')
    expect(found.filter((line) => line.startsWith('pattern reversed'))).toEqual([])
  })

  test('do not split a MATCH whose relationships must differ', () => {
    const found = rewritten('MATCH (a)-->(b), (b)-->(c) RETURN a AS a')
    expect(found.filter((line) => line.startsWith('MATCH split'))).toEqual([])
  })
})

test('an answer that differs is noticed', async () => {
  const side = await openEngineSide(emptyJudgedGraph)
  const query = (text: string): JudgedQuery => ({ text, parameters: new Map(), orderedBy: ['x'], bags: [] })
  const [one, two] = ['UNWIND [1, 2] AS x RETURN x', 'UNWIND [2, 1] AS x RETURN x'].map((text) =>
    side.answer(query(text)),
  )
  const [float, error] = ['UNWIND [1.0, 2] AS x RETURN x', 'RETURN y AS x'].map((text) => side.answer(query(text)))
  await side.close()
  const compared = (a = one!, b = one!): string | null => differenceOf(query('RETURN x'), a, b)
  expect(compared()).toBeNull()
  expect(compared(one, two)).toMatch(/^in another order/)
  expect(differenceOf({ ...query('RETURN x'), orderedBy: [] }, one!, two!)).toBeNull()
  expect(compared(one, float)).toContain('Neo4j: 2 rows [x] (1.0) (2)')
  expect(compared(one, error)).toContain('Neo4j: error at compile (syntax)')
})
