// Hostile conditions end with a typed error that names the limit, and the next evaluation is unaffected.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { Budget, type BudgetLimits, compileCondition } from '../../../src/engine/conditions.ts'
import { ExecutionError } from '../../../src/engine/errors.ts'
import { compileRowsQuery, type ResultValue } from '../../../src/engine/rows-query.ts'
import { readGraph } from '../../support/graph-notation.ts'
import { type StoredGraph, storeGraph } from '../../support/store-engine.ts'

const PEOPLE = 24

let stored: StoredGraph
beforeAll(async () => {
  // A complete graph: its number of paths is astronomical.
  const names = Array.from({ length: PEOPLE }, (_, i) => `p${i}`)
  const lines = names.map((name) => `(${name}:Person)`)
  for (const a of names) for (const b of names) if (a < b) lines.push(`(${a})-[:KNOWS]->(${b})`)
  stored = await storeGraph(readGraph([...lines, '(car:Car)'].join('\n')))
})
afterAll(() => stored.close())

const limits: BudgetLimits = { stepsMax: 200_000, timeMs: 60_000 }

function check(text: string, given: BudgetLimits = limits, budget?: Budget): boolean {
  const compiled = compileCondition({ text, dialect: '3.0-kbac', subjectType: 'Person', resourceType: 'Car' })
  if (!compiled.ok) throw new Error(compiled.error[0]!.message)
  const snapshot = stored.environment.snapshot()
  try {
    const shared = budget === undefined ? {} : { budget }
    return compiled.value.check({ snapshot, parameters: new Map(), limits: given, ...shared }, 'p0', 'car')
  } finally {
    snapshot.close()
  }
}

function faultOf(act: () => unknown): ExecutionError {
  try {
    act()
  } catch (fault) {
    if (fault instanceof ExecutionError) return fault
    throw fault
  }
  throw new Error('it ended without a fault')
}

describe('a hostile condition', () => {
  const hostile = [
    'MATCH (subject)-[r*]-(x)-[s*]-(y), (resource) WHERE size(r) + size(s) > 1000',
    'MATCH (subject)-[r:KNOWS*10..]-(x), (resource) WHERE x.external_id IS NULL',
    'MATCH (a), (b), (c), (d), (e), (f), (subject), (resource) WHERE a.external_id + b.external_id + c.external_id + d.external_id + e.external_id + f.external_id = ""',
    'MATCH (subject), (resource) UNWIND range(1, 1000000) AS i UNWIND range(1, 1000000) AS j WITH subject, resource, i, j WHERE i + j < 0',
    'MATCH (subject), (resource) WHERE any(x IN range(1, 1000000) WHERE all(y IN range(1, 1000000) WHERE x + y > 0))',
    'MATCH (subject), (resource) WHERE COUNT { (subject)-[*]-(x) } < 0',
    'MATCH (subject), (resource) WHERE size(reduce(a = [], x IN range(1, 100000) | a + x)) > 5',
    'MATCH (subject), (resource) WITH subject, resource, range(1, 100000) AS l WHERE size([x IN range(1, 5000) WHERE l[1..] = []]) > 0',
    'MATCH (subject), (resource) WITH subject, resource, range(1, 100000) AS l, range(1, 100000) AS m WHERE all(x IN range(1, 5000) WHERE l = m)',
    "MATCH (subject), (resource) WITH subject, resource, reduce(s = 'a', i IN range(1, 19) | s + s) AS s WHERE all(x IN range(1, 5000) WHERE toUpper(s) <> 'a')",
    "MATCH (subject), (resource) WITH subject, resource, reduce(s = 'a', i IN range(1, 19) | s + s) AS s WHERE all(x IN range(1, 5000) WHERE NOT s CONTAINS left(s, 250000) + 'b')",
    "MATCH (subject), (resource) WITH subject, resource, reduce(s = 'a', i IN range(1, 19) | s + s) AS s WHERE all(x IN range(1, 5000) WHERE s < left(s, 500000) + 'b')",
  ]
  for (const text of hostile) {
    test(`ends at the step limit: ${text}`, () => {
      const fault = faultOf(() => check(text))
      expect(fault.code).toBe('budget')
      expect(fault.subject).toBe('traversalStepsMax')
      expect(check('MATCH (subject)-[:KNOWS*1..3]-(x:Person), (resource)')).toBe(true)
    })
  }

  test('ends at the time limit', () => {
    const fault = faultOf(() => check(hostile[1]!, { stepsMax: Number.MAX_SAFE_INTEGER, timeMs: 20 }))
    expect(fault.subject).toBe('decisionTimeMs')
  })

  const keeping = {
    DISTINCT: 'MATCH (p:Person)-[:KNOWS*3]-(q) RETURN DISTINCT [p, q, rand()] AS x',
    grouping: 'MATCH (p:Person)-[r:KNOWS*3]-(q) RETURN r, count(*) AS n',
    'ORDER BY': 'MATCH (p:Person)-[r:KNOWS*3]-(q) RETURN p, q ORDER BY rand()',
    'COLLECT { }': 'MATCH (p:Person) RETURN COLLECT { MATCH (p)-[:KNOWS*3]-(q) RETURN q } AS qs',
  }
  for (const [what, text] of Object.entries(keeping)) {
    test(`${what} ends at the limit of rows in memory`, () => {
      const few = { ...limits, stepsMax: 10_000_000, rowsHeldMax: 1000 }
      expect(faultOf(() => rows(text, few)).subject).toBe('rowsHeldMax')
    })
  }

  test('ORDER BY with a LIMIT keeps few rows', () => {
    const text = 'MATCH (p:Person)-[r:KNOWS*2]-(q) RETURN p.external_id AS p ORDER BY p LIMIT 1'
    expect(rows(text, { ...limits, stepsMax: 10_000_000, rowsHeldMax: 3000 })).toEqual([['p0']])
  })
})

function rows(text: string, given: BudgetLimits): readonly (readonly ResultValue[])[] {
  const query = compileRowsQuery(text)
  if (!query.ok) throw new Error(query.error[0]!.message)
  const snapshot = stored.environment.snapshot()
  try {
    return query.value.run({ snapshot, parameters: new Map(), limits: given }).rows
  } finally {
    snapshot.close()
  }
}

test('the same plan is correct after a failure in the middle of a run', () => {
  const text = 'MATCH (p:Person)-[r:KNOWS*1..3]-(q) RETURN count(*) AS n'
  const query = compileRowsQuery(text)
  if (!query.ok) throw new Error(query.error[0]!.message)
  const ask = (stepsMax: number): unknown => {
    const snapshot = stored.environment.snapshot()
    try {
      return query.value.run({ snapshot, parameters: new Map(), limits: { stepsMax, timeMs: 60_000 } }).rows
    } finally {
      snapshot.close()
    }
  }
  const whole = ask(100_000_000)
  expect(faultOf(() => ask(5000)).code).toBe('budget')
  expect(ask(100_000_000)).toEqual(whole)
})

describe('several executions', () => {
  // Reads each of the 276 relationships from both sides.
  const text = 'MATCH (subject), (resource), (x:Person)-[:KNOWS]-(y:Person) WHERE x.external_id = y.external_id'

  test('each have their own limits without a shared budget', () => {
    for (let i = 0; i < 20; i++) expect(check(text, { stepsMax: 5000, timeMs: 60_000 })).toBe(false)
  })

  test('end together at the limits of a shared budget', () => {
    const budget = new Budget()
    budget.start({ stepsMax: 5000, timeMs: 60_000 })
    const fault = faultOf(() => {
      for (let i = 0; i < 20; i++) check(text, limits, budget)
    })
    expect(fault.subject).toBe('traversalStepsMax')
    expect(budget.stepsCharged).toBeGreaterThan(5000)
    expect(check(text)).toBe(false)
  })
})

describe('a pattern', () => {
  const issueOf = (text: string) => {
    const compiled = compileCondition({ text, dialect: '3.0-kbac', subjectType: 'Person', resourceType: 'Car' })
    return compiled.ok ? null : compiled.error.map(({ code, message, span }) => [code, message, span.start])
  }
  const chain = (hops: number) => `MATCH (subject)${'-[:A]->()'.repeat(hops - 1)}-[:A]->(resource:Car)`

  test('has at most a hundred relationships, and the error points at the first one beyond', () => {
    expect(issueOf(chain(100))).toBeNull()
    const start = chain(100).indexOf('-[:A]->(resource') + '-[:A]->()'.length
    expect(issueOf(chain(101))).toEqual([['PatternTooLong', 'more than 100 relationships in one MATCH', start]])
    const inside = `MATCH (subject), (resource) WHERE EXISTS { ${chain(101)} }`
    expect(issueOf(inside)?.map(([code]) => code)).toEqual(['PatternTooLong'])
  })

  test('has at most a hundred parts, and later errors about their names are suppressed', () => {
    const parts = (count: number) =>
      `MATCH (subject), (resource)${', (x)-[r:A]->()'.repeat(count - 2)} WITH subject, resource, x`
    expect(issueOf(parts(101))).toEqual([
      ['PatternTooLong', 'more than 100 patterns in one MATCH', parts(100).indexOf(' WITH') + 2],
    ])
    const plain = (count: number) => `MATCH (subject), (resource)${', ()'.repeat(count - 2)}`
    expect(issueOf(plain(100))).toBeNull()
  })
})

test('nesting that would overflow the stack is refused as text', () => {
  const deep = `MATCH (subject), (resource) WHERE ${'('.repeat(5000)}1${')'.repeat(5000)} = 1`
  const lists = `MATCH (subject), (resource) WHERE ${'['.repeat(40)}${']'.repeat(40)} IS NOT NULL`
  const compile = (text: string) =>
    compileCondition({ text, dialect: '2.0-kbac', subjectType: 'Person', resourceType: 'Car' })
  const refused = compile(deep)
  expect(refused.ok).toBe(false)
  if (!refused.ok) expect(refused.error[0]!.code).toBe('NestingTooDeep')
  expect(check(lists)).toBe(true)
})
