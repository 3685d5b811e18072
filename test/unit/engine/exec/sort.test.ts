// Sort and Top: ORDER BY with SKIP and LIMIT.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type SortKey, SortOperator } from '../../../../src/engine/exec/sort.ts'
import type { Value } from '../../../../src/engine/value/value.ts'
import { LaneRequiredError } from '../../../../src/kernel/request/lane-required.ts'
import {
  column,
  FixedRows,
  limitReached,
  type OperatorFixture,
  operatorFixture,
} from '../../../support/operator-fixture.ts'

let fixture: OperatorFixture
beforeAll(async () => {
  fixture = await operatorFixture('(a:N)')
})
afterAll(() => fixture.close())

const by = (slot: number, descending = false): SortKey => ({ evaluate: (run) => run.frame[slot] as Value, descending })
const sorted = (values: readonly Value[], skip: number | null = null, limit: number | null = null): unknown[] => {
  const count = (value: number | null): (() => Value) | null => (value === null ? null : () => value)
  const operator = new SortOperator(column(0, values), [by(0)], [0], count(skip), count(limit))
  return fixture.drain(operator, [0]).rows.map(([value]) => value)
}

describe('Sort', () => {
  it('returns the rows in the order of Cypher, null last', () => {
    expect(sorted([3, null, 1, 2])).toEqual([1, 2, 3, null])
    expect(sorted([])).toEqual([])
  })

  it('sorts by several keys, descending too, and keeps the order of equal rows', () => {
    const rows = [
      ['b', 1, 'x'],
      ['a', 1, 'y'],
      ['b', 2, 'z'],
      ['a', 1, 'w'],
    ]
    const operator = new SortOperator(new FixedRows([0, 1, 2], rows), [by(0), by(1, true)], [0, 1, 2], null, null)
    expect(fixture.drain(operator, [0, 1, 2]).rows).toEqual([
      ['a', 1, 'y'],
      ['a', 1, 'w'],
      ['b', 2, 'z'],
      ['b', 1, 'x'],
    ])
  })

  it('applies SKIP and LIMIT', () => {
    expect(sorted([5, 3, 1, 4, 2], 1, 2)).toEqual([2, 3])
    expect(sorted([5, 3, 1], 5, null)).toEqual([])
    expect(sorted([5, 3, 1], null, 0)).toEqual([])
  })

  it('agrees with a sort of all rows when it drops rows above the limit', () => {
    const values = Array.from({ length: 10_000 }, (_, i) => (i * 7919) % 10_007)
    const expected = values.toSorted((a, b) => a - b)
    expect(sorted(values, 3, 5)).toEqual(expected.slice(3, 8))
    expect(sorted(values)).toEqual(expected)
  })

  it('keeps few rows in memory with a limit', () => {
    const values = Array.from({ length: 20_000 }, (_, i) => -i)
    const top = (): SortOperator => new SortOperator(column(0, values), [by(0)], [0], null, () => 1)
    const all = (): SortOperator => new SortOperator(column(0, values), [by(0)], [0], null, null)
    const limits = { rowsHeldMax: 2000 }
    expect(limitReached(() => fixture.read(top(), [0], { limits }))).toBeNull()
    expect(limitReached(() => fixture.read(all(), [0], { limits }))).toBe('rowsHeldMax')
  })

  it('passes the sort of many rows to a lane', () => {
    const operator = new SortOperator(
      column(
        0,
        Array.from({ length: 3000 }, (_, i) => i),
      ),
      [by(0)],
      [0],
      null,
      null,
    )
    expect(() => fixture.read(operator, [0], { limits: { inlineMs: 60_000 } })).toThrow(LaneRequiredError)
  })
})
