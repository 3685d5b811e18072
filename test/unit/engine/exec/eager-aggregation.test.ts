// EagerAggregation: one row per group.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Slot, SlotKind } from '../../../../src/engine/bind/bound.ts'
import {
  type AggregateColumn,
  EagerAggregationOperator,
  type GroupingColumn,
} from '../../../../src/engine/exec/eager-aggregation.ts'
import type { Value } from '../../../../src/engine/value/value.ts'
import { FixedRows, limitReached, type OperatorFixture, operatorFixture } from '../../../support/operator-fixture.ts'

const [CITY, AGE, NAME, KEY, RESULT] = [0, 1, 2, 3, 4]
const PEOPLE = [
  ['Malmö', 30, 'ann'],
  ['Lund', 40, 'bob'],
  ['Malmö', 50, 'cid'],
  [null, 60, 'dan'],
  ['Malmö', null, 'eve'],
]

let fixture: OperatorFixture
beforeAll(async () => {
  fixture = await operatorFixture('(a:N)')
})
afterAll(() => fixture.close())

const slot = (index: number, kind: SlotKind = 'value'): Slot => ({ index, name: `s${index}`, kind, graph: 0 })
const byCity: GroupingColumn = { slot: slot(CITY), evaluate: null }
const aggregate = (name: string, argument: number | null, distinct = false): AggregateColumn => ({
  slot: slot(RESULT),
  name,
  distinct,
  argument: argument === null ? null : (run) => run.frame[argument] as Value,
  parameter: null,
})
const group = (
  grouping: readonly GroupingColumn[],
  column: AggregateColumn,
  rows: readonly (readonly unknown[])[] = PEOPLE,
): EagerAggregationOperator => new EagerAggregationOperator(new FixedRows([CITY, AGE, NAME], rows), grouping, [column])

describe('EagerAggregation', () => {
  it('returns a row per group in the order of first occurrence; null is a group', () => {
    expect(fixture.drain(group([byCity], aggregate('count', null)), [CITY, RESULT]).rows).toEqual([
      ['Malmö', 3],
      ['Lund', 1],
      [null, 1],
    ])
  })

  it('ignores nulls of the argument', () => {
    expect(fixture.drain(group([byCity], aggregate('sum', AGE)), [RESULT]).rows).toEqual([[80], [40], [60]])
    expect(fixture.drain(group([byCity], aggregate('collect', AGE)), [RESULT]).rows[0]).toEqual([[30, 50]])
  })

  it('groups by computed keys and by several keys', () => {
    const isOld: GroupingColumn = { slot: slot(KEY), evaluate: (run) => (run.frame[AGE] as number) > 35 }
    const rows = fixture.drain(group([byCity, isOld], aggregate('count', null)), [CITY, KEY, RESULT]).rows
    expect(rows).toEqual([
      ['Malmö', false, 2],
      ['Lund', true, 1],
      ['Malmö', true, 1],
      [null, true, 1],
    ])
  })

  it('counts distinct values once', () => {
    expect(fixture.drain(group([], aggregate('count', CITY, true)), [RESULT]).rows).toEqual([[2]])
  })

  it('returns one row without grouping keys and without input, and none with keys', () => {
    expect(fixture.drain(group([], aggregate('count', null), []), [RESULT]).rows).toEqual([[0]])
    expect(fixture.drain(group([byCity], aggregate('count', null), []), [RESULT]).rows).toEqual([])
  })

  it('charges a step per input row, and counts groups against the limit of rows in memory', () => {
    const operator = group([byCity], aggregate('count', null))
    expect(fixture.read(operator, [RESULT]).run.budget.stepsCharged).toBeGreaterThanOrEqual(PEOPLE.length)
    expect(limitReached(() => fixture.read(operator, [RESULT], { limits: { rowsHeldMax: 2 } }))).toBe('rowsHeldMax')
    expect(limitReached(() => fixture.read(operator, [RESULT], { limits: { bytesHeldMax: 50 } }))).toBe('bytesHeldMax')
  })
})
