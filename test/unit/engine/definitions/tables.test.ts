// Definitions give the answers of a naive fixpoint for random models over random graphs, and small ones by hand.

import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Graph, openStore } from '../../../../src/index.ts'
import { testSeed } from '../../../generate/random.ts'
import { compareDefinitions } from '../../../oracle/compare-definitions.ts'

const MODEL = `
DEFINE (u:User)-[:in]->(g:Group) AS { MATCH (u)-[:MEMBER]->(g) UNION MATCH (u)-[:in]->(x)-[:MEMBER]->(g) }
DEFINE (u:User)-[:approves]->(d:Doc) AS {
  MATCH (u)-[:OWNER]->(d)
  UNION MATCH (d)-[:LEFT]->(x), (d)-[:RIGHT]->(y) WHERE (u)-[:approves]->(x) AND (u)-[:approves]->(y)
}
DEFINE (a:Doc)-[:odd]->(b:Doc) AS { MATCH (a)-[:NEXT]->(b) UNION MATCH (a)-[:even]->(x)-[:NEXT]->(b) }
DEFINE (a:Doc)-[:even]->(b:Doc) AS { MATCH (a)-[:odd]->(x)-[:NEXT]->(b) }
DEFINE (a:Doc)-[:baseless]->(b:Doc) AS { MATCH (a)-[:NEXT]->(x)-[:baseless]->(b) }
DEFINE (a:Doc)-[:next]->(b:Doc) AS { MATCH (a)-[:NEXT]->(b) }
DEFINE (a:Doc)-[:thrice]->(b:Doc) AS { MATCH (a)-[:next]->{3}(b) }
DEFINE (a:Doc)-[:around]->(b:Doc) AS { MATCH (a)-[:next]->(b) UNION MATCH (a)-[:around]->{2,3}(b) }
DEFINE (u:User)-[:leaps]->(d:Doc) AS { MATCH (u)-[:OWNER]->(d) UNION MATCH (u)-[:leaps]->(x)-[:NEXT]->()-[:NEXT]->(d) }
DEFINE (u:User)-[:stranger]->(g:Group) AS { MATCH (u) WHERE NOT (u)-[:in]->(g) }
`

describe('definitions', () => {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-definitions-'))
  const store = openStore(folder)
  const graph = new Graph(store, undefined, { model: MODEL })

  beforeAll(async () => {
    const key = (text: string) => {
      const [type, externalId] = text.split(':') as [string, string]
      return { type, externalId }
    }
    await graph.write((batch) => {
      const nodes = 'User:ann User:bob Group:a Group:b Group:c Doc:1 Doc:2 Doc:3 Doc:4 Doc:5'
      for (const node of nodes.split(' ')) batch.upsertNode(key(node))
      const relationships = [
        'User:ann MEMBER Group:a',
        'Group:a MEMBER Group:b',
        'Group:b MEMBER Group:a',
        'User:ann OWNER Doc:1',
        'User:ann OWNER Doc:2',
        'User:bob OWNER Doc:1',
        'Doc:3 LEFT Doc:1',
        'Doc:3 RIGHT Doc:2',
        'Doc:4 LEFT Doc:3',
        'Doc:4 RIGHT Doc:3',
        'Doc:5 LEFT Doc:5',
        'Doc:5 RIGHT Doc:1',
        'Doc:1 NEXT Doc:2',
        'Doc:2 NEXT Doc:3',
        'Doc:3 NEXT Doc:1',
      ]
      for (const text of relationships) {
        const [source, type, target] = text.split(' ') as [string, string, string]
        batch.upsertRelationship({ source: key(source), type, target: key(target) })
      }
    })
  })

  afterAll(async () => {
    await store.close()
    rmSync(folder, { recursive: true })
  })

  const pairs = (type: string): string[] =>
    graph
      .query(`MATCH (a)-[:${type}]->(b) RETURN a.external_id + ' ' + b.external_id AS pair ORDER BY pair`)
      .rows.map(([pair]) => String(pair))

  test('a walk along a cycle ends', () => {
    expect(pairs('in')).toEqual(['ann a', 'ann b'])
  })

  test('a walk may take a relationship again at another place of its hop', () => {
    // Along the cycle of three in steps of two: the walk to 2 takes one relationship twice.
    expect(pairs('leaps')).toEqual(['ann 1', 'ann 2', 'ann 3', 'bob 1', 'bob 2', 'bob 3'])
  })

  test('two recursive steps of one alternative must both hold, and a pair does not stand on itself', () => {
    expect(pairs('approves')).toEqual(['ann 1', 'ann 2', 'ann 3', 'ann 4', 'bob 1'])
  })

  test('definitions may use each other', () => {
    const all = ['1 1', '1 2', '1 3', '2 1', '2 2', '2 3', '3 1', '3 2', '3 3']
    expect(pairs('odd')).toEqual(all)
    expect(pairs('even')).toEqual(all)
  })

  test('a definition that stands only on itself has no pairs', () => {
    expect(pairs('baseless')).toEqual([])
    const condition = graph.prepare('MATCH (subject:Doc)-[:baseless]->(resource:Doc)')
    expect(condition.exists({ subject: ['Doc', '1'], resource: ['Doc', '2'] })).toBe(false)
  })

  test('an exclusion reads the complete definition', () => {
    expect(pairs('stranger')).toEqual(['ann c', 'bob a', 'bob b', 'bob c'])
  })

  test('a pair occurs once, whatever derives it', () => {
    const { rows } = graph.query("MATCH (u:User {external_id: 'ann'})-[:approves]->(d) RETURN count(*) AS n")
    expect(rows).toEqual([[4]])
  })

  test('checks and searches in both directions', () => {
    const condition = graph.prepare('MATCH (subject:User)-[:approves]->(resource:Doc)')
    expect(condition.exists({ subject: ['User', 'ann'], resource: ['Doc', '4'] })).toBe(true)
    expect(condition.exists({ subject: ['User', 'bob'], resource: ['Doc', '5'] })).toBe(false)
    expect(condition.find('subject', { resource: ['Doc', '3'] })).toEqual([['User', 'ann']])
    expect(condition.find('resource', { subject: ['User', 'bob'] })).toEqual([['Doc', '1']])
  })

  const reached = (pattern: string): string[] =>
    graph
      .query(`MATCH ${pattern} RETURN a.external_id + ' ' + b.external_id AS pair ORDER BY pair`)
      .rows.map(([pair]) => String(pair))

  test.each([
    ['(a)-[:next]->+(b)', ['1 1', '1 2', '1 3', '2 1', '2 2', '2 3', '3 1', '3 2', '3 3']],
    ['(b)<-[:next]-+(a)', ['1 1', '1 2', '1 3', '2 1', '2 2', '2 3', '3 1', '3 2', '3 3']],
    ["(a {external_id: '1'})-[:next]->*(b)", ['1 1', '1 2', '1 3']],
    ["(a)-[:next]->{0,1}(b {external_id: '1'})", ['1 1', '3 1']],
    ['(a)-[:next]->{2}(b)', ['1 3', '2 1', '3 2']],
    ["(a)-[:next*2..3]->(b {external_id: '1'})", ['1 1', '2 1']],
    // The walk goes along the cycle again and again: a pair has no identity that could be used up.
    ["(a {external_id: '1'})-[:next]->{4}(b)", ['1 2']],
    ["(a {external_id: '1'})-[:next]->{3,}(b)", ['1 1', '1 2', '1 3']],
    ['(a:User)-[:in]->(x)<-[:in]-(b:User)((i)<-[:LEFT]-(j)-[:next]->(k)){0,2}(c)', ['ann ann', 'ann ann']],
    ["(a)((i)-[:next]->(j)-[:NEXT]->(k))+(b {external_id: '1'})", ['1 1', '2 1', '3 1']],
    ["(a)((i)-[:next]->(j) WHERE i.external_id <> '2')+(b {external_id: '1'})", ['3 1']],
    ['(a)((i)-[:thrice]->(i))+(b)', ['1 1', '2 2', '3 3']],
  ])('the walk %s', (pattern, pairs) => {
    expect(reached(pattern)).toEqual(pairs)
  })

  test('a repetition inside a definition that it depends on', () => {
    expect(pairs('around')).toEqual(['1 1', '1 2', '1 3', '2 1', '2 2', '2 3', '3 1', '3 2', '3 3'])
  })

  test('a limit of steps ends an evaluation with a table', () => {
    const limited = new Graph(store, { stepsMax: 5, timeMs: 10_000 }, { model: MODEL })
    expect(() => limited.query('MATCH (a:User)-[:approves]->(b) RETURN count(*) AS n')).toThrow(
      'the limit of 5 steps is reached',
    )
  })
})

test('random models agree with the reference interpreter', async () => {
  const seed = testSeed()
  console.log(`seed ${seed}`)
  const { failures, fruitful } = await compareDefinitions(seed, { answersMax: 4_000 })
  expect(failures).toEqual([])
  expect(fruitful).toBeGreaterThan(10)
}, 60_000)
