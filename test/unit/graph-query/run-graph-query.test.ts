// Queries that read the graph of a project: rows of values and elements, plans, limits, and what is refused.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readGraphNames } from '../../../src/graph-query/graph-names.ts'
import { graphQueryLimits, runGraphQuery } from '../../../src/graph-query/run-graph-query.ts'
import { type GraphQuery, graphQuery, graphQueryAnswer } from '../../../src/graph-query/schema.ts'
import { writeJson } from '../../../src/kernel/json/json.ts'
import { defaultSettings } from '../../../src/settings.ts'
import { IN_MEMORY, type OpenStore, openStore } from '../../../src/store/graph/open-store.ts'

const limits = graphQueryLimits(defaultSettings)
let store: OpenStore

beforeAll(async () => {
  store = openStore(IN_MEMORY)
  const [ann, car] = [
    { type: 'Person', externalId: 'ann' },
    { type: 'Car', externalId: 'c:1' },
  ]
  await store.write((batch) => {
    batch.upsertNode({
      ...ann,
      isIdentity: true,
      labels: ['Driver'],
      properties: [
        { name: 'age', value: 40 },
        { name: '__proto__', value: 'x' },
        { name: 'score', externalValue: 'scores' },
      ],
    })
    batch.upsertNode({ ...car, properties: [{ name: 'wheels', value: 4 }] })
    batch.upsertRelationship({ source: ann, type: 'OWNS', target: car, properties: [{ name: 'since', value: 2020 }] })
    for (let i = 0; i < 50; i++) batch.upsertNode({ type: 'Part', externalId: `p${i}` })
  })
})
afterAll(() => store.close())

function run(query: string, more: Partial<GraphQuery> = {}, given = limits) {
  return runGraphQuery({ default: store, global: null, at: () => null }, { query, ...more }, given)
}

function answerOf(query: string, more: Partial<GraphQuery> = {}, given = limits) {
  const found = run(query, more, given)
  if (!found.ok) throw new Error(JSON.stringify(found.error))
  // The answer has the schema of the interface.
  graphQueryAnswer.parse(JSON.parse(writeJson(found.value)))
  return found.value
}

function issuesOf(query: string, more: Partial<GraphQuery> = {}): readonly string[] {
  const found = run(query, more)
  if (found.ok || found.error.kind !== 'invalid') throw new Error('expected an invalid query')
  return found.error.issues
}

describe('a query over the graph', () => {
  it('returns elements with keys, labels and properties, and values as JSON', () => {
    const { columns, rows, truncated, warnings } = answerOf(
      "MATCH p=(a:Person)-[r]->(b) RETURN p, r, {n: a, l: [1, 2.0]} AS m, date('2026-01-02') AS d, null AS nothing",
    )
    const ann = {
      kind: 'node',
      type: 'Person',
      external_id: 'ann',
      labels: ['Person', 'Driver'],
      is_identity: true,
      properties: { age: 40, ['__proto__']: 'x' },
      external: { score: 'scores' },
    }
    const [row = []] = JSON.parse(writeJson(rows)) as unknown[][]
    expect({ columns, truncated, warnings }).toEqual({
      columns: ['p', 'r', 'm', 'd', 'nothing'],
      truncated: false,
      warnings: undefined,
    })
    expect(row[0]).toMatchObject({
      kind: 'path',
      nodes: [ann, { external_id: 'c:1' }],
      relationships: [{ type: 'OWNS' }],
    })
    expect(row[1]).toMatchObject({
      kind: 'relationship',
      type: 'OWNS',
      source: { type: 'Person', external_id: 'ann' },
      target: { type: 'Car', external_id: 'c:1' },
      properties: { since: 2020 },
    })
    expect(row.slice(3)).toEqual(['2026-01-02', null])
    expect(row[2]).toMatchObject({ n: ann, l: [1, 2] })
    expect(writeJson(rows)).toContain('[1,2.0]')
  })

  it('binds parameters, and names each that has no value', () => {
    expect(answerOf('MATCH (c:Car) WHERE c.wheels >= $min RETURN c.wheels', { parameters: { min: 4 } }).rows).toEqual([
      [4],
    ])
    expect(issuesOf('RETURN $min + $max AS x', { parameters: { min: 1 } })).toEqual([
      'parameters.max: the query reads $max, and no value is given',
    ])
    expect(issuesOf('RETURN $n AS x', { parameters: { n: 2n ** 70n } })[0]).toContain('parameters.n: the integer')
  })

  it('cuts the answer at the limit of rows, and of characters, and names the limit', () => {
    expect(answerOf('MATCH (p:Part) RETURN p.external_id', { limit: 50 })).toMatchObject({ truncated: false })
    const cut = answerOf('MATCH (p:Part) RETURN p.external_id', { limit: 49 })
    expect([cut.rows.length, cut.truncated, cut.truncated_by]).toEqual([49, true, 'limit'])
    const small = answerOf('MATCH (p:Part) RETURN p', {}, { ...limits, answerMax: 600 })
    expect([small.truncated, small.truncated_by]).toEqual([true, 'size'])
    expect(small.rows.length).toBeGreaterThan(0)
    expect(small.rows.length).toBeLessThan(50)
  })

  it('charges the items of lists and maps before it copies them', () => {
    // To convert and measure a whole row would take more steps than this.
    const few = { ...limits, answerMax: 5000, stepsMax: 30_000 }
    const cut = (query: string) => {
      const { rows, truncated_by } = answerOf(query, {}, few)
      return [rows.length, truncated_by]
    }
    const same = Array(20).fill('a').join(', ')
    const columns = Array.from({ length: 20 }, (_, i) => `a AS b${i}`).join(', ')
    expect(cut(`WITH range(1, 20000) AS a RETURN ${columns}`)).toEqual([0, 'size'])
    expect(cut(`WITH range(1, 1000) AS a RETURN [[a], {b: [a]}] AS x`)).toEqual([0, 'size'])
    expect(cut(`MATCH (p:Part) WITH collect(p) AS a RETURN [${same}] AS x`)).toEqual([0, 'size'])
    expect(run(`WITH range(1, 20000) AS a RETURN ${columns}`, {}, { ...few, answerMax: 10_000_000 })).toMatchObject({
      ok: false,
      error: { kind: 'budget', limit: 'traversalStepsMax' },
    })
    expect(answerOf(`WITH range(1, 100) AS a RETURN a, {b: a} AS c`).rows).toMatchObject([[{ length: 100 }, {}]])
  })

  it('ends at the limits of steps and memory', () => {
    const steps = run('MATCH (a:Part), (b:Part), (c:Part) RETURN count(*) AS n', {}, { ...limits, stepsMax: 1000 })
    expect(steps).toMatchObject({ ok: false, error: { kind: 'budget' } })
    const rows = run('MATCH (a:Part), (b:Part) RETURN a ORDER BY b', {}, { ...limits, rowsHeldMax: 100 })
    expect(rows).toMatchObject({ ok: false, error: { kind: 'budget', limit: 'rowsHeldMax' } })
  })

  it.each([
    ['CREATE (n:Part) RETURN n', 'query: line 1, column 1: writing clause `CREATE` is not allowed'],
    ['MATCH (n)\nDETACH DELETE n', 'query: line 2, column 1: writing clause `DETACH DELETE` is not allowed'],
    ['MATCH (n) SET n.a = 1 RETURN n', 'query: line 1, column 11: writing clause `SET` is not allowed'],
    ['MATCH (n:Part)', 'query: line 1, column 15: a query must end with RETURN'],
  ])('refuses %j with its place', (text, issue) => {
    expect(issuesOf(text)).toEqual([issue])
  })

  it('warns about names that the graph has never seen', () => {
    const { rows, warnings } = answerOf('MATCH (p:Persn)-[:OWN]->(c) RETURN c.weels')
    expect(rows).toEqual([])
    expect(warnings?.map(({ line, column, message }) => [line, column, message])).toEqual([
      [1, 10, 'no node with the label `Persn` was ever captured; did you mean `(:Person)`?'],
      [1, 19, 'no relationship of type `OWN` was ever captured; did you mean `[:OWNS]`?'],
      [1, 38, 'no property `weels` was ever captured; did you mean `wheels`?'],
    ])
  })

  it('plans without reading rows or parameters, and profiles with measures', () => {
    const text = 'MATCH (a:Person)-[:OWNS]->(c:Car) WHERE c.wheels > $min RETURN c.external_id'
    const plan = answerOf(text, { mode: 'plan' })
    expect(plan.rows).toEqual([])
    expect(plan.plan?.rows).toBeUndefined()
    const profile = answerOf(text, { mode: 'profile', parameters: { min: 1 } })
    expect(profile.rows).toEqual([['c:1']])
    expect(profile.plan?.rows).toBe(1)
    const operators = (step = profile.plan): string[] =>
      step === undefined ? [] : [step.operator, ...step.children.flatMap((child) => operators(child))]
    expect(operators(plan.plan)).toEqual(operators(profile.plan))
  })

  it('reads trust scores in the spelling of policies', () => {
    expect(answerOf('MATCH (p:Person) RETURN p.trust_score.validity AS score').rows).toEqual([[null]])
  })

  it('has a maximum of rows and characters in its schema', () => {
    expect(graphQuery.parse({ query: 'RETURN 1 AS x' }).limit).toBeUndefined()
    expect(graphQuery.safeParse({ query: 'RETURN 1 AS x', limit: 10_001 }).success).toBe(false)
    expect(graphQuery.safeParse({ query: 'RETURN 1 AS x', limits: 1 }).success).toBe(false)
    expect(graphQuery.safeParse({ query: `RETURN '${'x'.repeat(65_536)}' AS x` }).success).toBe(false)
  })
})

describe('the names of a graph', () => {
  it('are those that it has seen, sorted', () => {
    expect(readGraphNames(store)).toEqual({
      labels: ['Car', 'Driver', 'Part', 'Person'],
      relationship_types: ['OWNS'],
      properties: ['__proto__', 'age', 'score', 'since', 'wheels'],
      truncated: false,
    })
  })
})
