// Rows of a condition with a filter: the filter determines where the traversal starts, and rows are produced on demand.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type ConditionRows,
  compileConditionRows,
  type Expression,
  type FilterableCondition,
} from '../../../src/engine/condition-rows.ts'
import type { Value } from '../../../src/engine/value/value.ts'
import { readGraph } from '../../support/graph-notation.ts'
import { type StoredGraph, storeGraph } from '../../support/store-engine.ts'

let stored: StoredGraph
beforeAll(async () => {
  stored = await storeGraph(
    readGraph(`
      (ann:Person {age: 17})-[:OWNS {since: 1999}]->(c1:Car {wheels: 4})
      (ann)-[:OWNS]->(c2:Car {wheels: 3})
      (bob:Person {age: 40})-[:OWNS]->(c3:Car {wheels: 4})-[:PARKED]->(p1:Place)
      (eve:Robot)-[:OWNS]->(c1)
    `),
  )
})
afterAll(() => stored.close())

const span = { start: 0, end: 0 }
const variable = (name: string): Expression => ({ kind: 'variable', name, span })
const member = (target: Expression, key: string): Expression => ({
  kind: 'property',
  target,
  key: { text: key, span },
  span,
})
const equal = (first: Expression, operand: Expression): Expression => ({
  kind: 'comparison',
  first,
  rest: [{ operator: '=', operand }],
  span,
})

function source(text: string): FilterableCondition {
  const compiled = compileConditionRows({ text, dialect: '1.0-ciq', subjectType: 'Person' })
  if (!compiled.ok) throw new Error(compiled.error[0]!.message)
  return compiled.value
}

function filtered(text: string, filter: Expression | null): ConditionRows {
  const reading = source(text).withFilter(filter)
  if (!reading.ok) throw new Error(reading.error[0]!.message)
  return reading.value
}

const refusal = (text: string): string => {
  const compiled = compileConditionRows({ text, dialect: '1.0-ciq', subjectType: 'Person' })
  return compiled.ok ? '' : compiled.error[0]!.message
}

interface ExpectedBounds {
  readonly rowsMax: number
  readonly stepsMax: number
}

/** External ids of nodes; computed values unchanged. */
function read(
  reading: ConditionRows,
  columns: string[],
  parameters: Record<string, Value> = {},
  { rowsMax, stepsMax }: ExpectedBounds = { rowsMax: 100, stepsMax: 100_000 },
): (string | null)[][] {
  const snapshot = stored.environment.snapshot()
  const limits = { stepsMax, timeMs: 60_000 }
  try {
    const cursor = reading.open({ snapshot, parameters: new Map(Object.entries(parameters)), limits })
    const rows: (string | null)[][] = []
    while (rows.length < rowsMax && cursor.next()) {
      rows.push(
        columns.map((name) => {
          if (reading.variables.get(name) !== 'node') return JSON.stringify(cursor.value(name))
          const node = cursor.node(name)
          return node === 0 ? null : (snapshot.nodeField(node, 'external_id') as string)
        }),
      )
    }
    return rows
  } finally {
    snapshot.close()
  }
}

const owns = 'MATCH (subject)-[r:OWNS]->(car:Car)'

describe('condition rows', () => {
  test('contain only subjects of the type, with the variables in scope', () => {
    const reading = filtered(owns, null)
    expect(Object.fromEntries(reading.variables)).toEqual({ subject: 'node', r: 'relationship', car: 'node' })
    expect(read(reading, ['subject', 'car']).sort()).toEqual([
      ['ann', 'c1'],
      ['ann', 'c2'],
      ['bob', 'c3'],
    ])
  })

  test('are those for which the filter is true, and the traversal starts at the filtered node', () => {
    const filter = equal(member(variable('subject'), 'external_id'), { kind: 'parameter', name: 'who', span })
    const reading = filtered(`${owns} OPTIONAL MATCH (car)-[:PARKED]->(place)`, filter)
    expect(reading.parameters).toEqual(['who'])
    expect(reading.explain()).toContain('NodeUniqueIndexSeek')
    expect(read(reading, ['car', 'place'], { who: 'bob' })).toEqual([['c3', 'p1']])
    expect(read(reading, ['car', 'place'], { who: 'ann' })).toEqual([
      ['c1', null],
      ['c2', null],
    ])
    expect(() => read(reading, ['car'])).toThrow('$who')
  })

  test('are filtered by claims of a token and by computed values', () => {
    const claim = member({ kind: 'parameter', name: 'token', span }, 'sub')
    const mine = filtered(owns, equal(member(variable('subject'), 'external_id'), claim))
    expect(mine.explain()).toContain('NodeUniqueIndexSeek')
    expect(read(mine, ['car'], { token: new Map([['sub', 'bob']]) })).toEqual([['c3']])
    expect(read(mine, ['car'], { token: new Map() })).toEqual([])
    const two: Expression = equal(variable('n'), { kind: 'integer', value: 2, span })
    const counted = filtered(`${owns} WITH subject, count(car) AS n`, two)
    expect(counted.variables.get('n')).toBe('value')
    expect(read(counted, ['subject', 'n'])).toEqual([['ann', '2']])
  })

  test('start at the filtered node, also after aggregates, barriers and optional matches', () => {
    const who = equal(member(variable('subject'), 'external_id'), { kind: 'parameter', name: 'who', span })
    const texts = [
      'MATCH (subject)-[:OWNS]->(car:Car)-[:PARKED]->(place:Place) OPTIONAL MATCH (place)-[:IN]->(city)',
      'MATCH (subject)-[:OWNS]->(car:Car)-[:PARKED]->(place:Place) WITH subject, count(place) AS places',
      'MATCH (subject)-[:OWNS]->(car:Car) WITH DISTINCT subject, car MATCH (car)-[:PARKED]->(place)',
    ]
    for (const text of texts) {
      const plan = filtered(text, who).explain().trimEnd().split('\n')
      expect(plan.at(-2), text).toContain('NodeUniqueIndexSeek (subject:Person {external_id: $who})')
    }
    // If they were selected before the limit, other rows would remain.
    const cut = filtered('MATCH (subject)-[:OWNS]->(car:Car) WITH subject, car ORDER BY car.wheels LIMIT 1', who)
    expect(cut.explain().split('\n')[0]).toContain('Filter')
    expect(read(cut, ['subject'], { who: 'bob' })).toEqual([])
    const none = equal(member(variable('city'), 'external_id'), { kind: 'string', value: 'x', span })
    const optional = filtered(texts[0] as string, { kind: 'unary', operator: 'NOT', operand: none, span })
    expect(read(optional, ['subject', 'city'])).toEqual([])
  })

  test.each([
    // The WHERE belongs to the WITH before it: it sees what that WITH has limited, aggregated or computed.
    ['WITH subject, c ORDER BY c.wheels LIMIT 1 WHERE c.wheels = 4', []],
    ['WITH subject, c ORDER BY c.wheels SKIP 1 LIMIT 1 WHERE c.wheels = 4', [['c1']]],
    ['WITH subject, c ORDER BY c.wheels SKIP 2 WHERE c.wheels = 3', []],
    ['WITH subject, c, collect(c.wheels) AS all WHERE c.wheels = 3 OR all = [4]', [['c1'], ['c2'], ['c3']]],
    ['WITH subject, c, count(*) AS n WHERE c.wheels > n + 2', [['c1'], ['c3']]],
    ['WITH subject, c, c.wheels AS w WHERE c.wheels = w', [['c1'], ['c2'], ['c3']]],
    ['WITH subject, c AS d, c WHERE d.wheels = 4 AND c.wheels = 4', [['c1'], ['c3']]],
  ])('of a text that ends with %s', (end, expected) => {
    const rows = read(filtered(`MATCH (subject:Person)-[:OWNS]->(c:Car) ${end}`, null), ['c'])
    expect(rows.toSorted()).toEqual(expected)
  })

  test('are computed only as far as they are read', () => {
    const all = filtered('MATCH (subject), (a), (b), (c), (d)', null)
    const whole = read(all, ['subject'], {}, { rowsMax: 10_000, stepsMax: 100_000 })
    expect(whole).toHaveLength(2 * 7 ** 4)
    expect(read(all, ['subject'], {}, { rowsMax: 3, stepsMax: 2000 })).toEqual(whole.slice(0, 3))
    expect(() => read(all, ['subject'], {}, { rowsMax: 10_000, stepsMax: 2000 })).toThrow('the limit of 2000 steps')
  })

  test('refuse a text that drops the subject, writes, returns or leaves the project', () => {
    expect(refusal('MATCH (car:Car)')).toContain('must bind `subject`')
    expect(refusal(`${owns} WITH car`)).toContain('missing required variables in WITH statement')
    expect(refusal(`${owns} WITH car AS subject`)).toContain('missing required variables in WITH statement')
    expect(refusal('OPTIONAL MATCH (subject)')).toContain('not by OPTIONAL MATCH')
    expect(refusal(`${owns} RETURN car`)).toContain('RETURN')
    expect(refusal(`USE graph.byName('eu') ${owns}`)).toContain('USE')
    expect(refusal(`${owns} SET car.wheels = 5`)).not.toBe('')
    expect(refusal(`${owns} UNION ${owns}`)).not.toBe('')
  })

  test('refuses a filter over what is not there', () => {
    const reading = source(`${owns} WITH subject, count(car) AS n`).withFilter(variable('car'))
    expect(reading.ok).toBe(false)
  })
})
