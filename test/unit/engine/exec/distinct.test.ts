// Distinct over values and over ids.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Slot } from '../../../../src/engine/bind/bound.ts'
import { DistinctElementsOperator, DistinctOperator } from '../../../../src/engine/exec/distinct.ts'
import { rowKey } from '../../../../src/engine/exec/row-key.ts'
import { Float } from '../../../../src/kernel/float.ts'
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

const slot = (index: number): Slot => ({ index, name: `s${index}`, kind: 'value', graph: 0 })

describe('Distinct', () => {
  it('returns the first row of each value; null, NaN and numbers of equal value are duplicates', () => {
    const values = [
      1,
      null,
      new Float(1),
      'a',
      null,
      new Float(Number.NaN),
      new Float(Number.NaN),
      [1],
      [new Float(1)],
      '1',
    ]
    const { rows } = fixture.drain(new DistinctOperator(column(0, values), rowKey([slot(0)])), [0])
    expect(rows.map(([value]) => value)).toEqual([1, null, 'a', new Float(Number.NaN), [1], '1'])
  })

  it('compares all slots of a row', () => {
    const input = new FixedRows(
      [0, 1],
      [
        ['ab', 'c'],
        ['a', 'bc'],
        ['ab', 'c'],
      ],
    )
    expect(fixture.drain(new DistinctOperator(input, rowKey([slot(0), slot(1)])), [0, 1]).rows).toEqual([
      ['ab', 'c'],
      ['a', 'bc'],
    ])
  })

  it('reads no further input row than the consumer asks for', () => {
    const input = column(0, [1, 1, 2, 3])
    const { run } = fixture.read(new DistinctOperator(input, rowKey([slot(0)])), [0], {}, 2)
    expect(input.nextCalls).toBe(3)
    expect(run.budget.stepsCharged).toBe(3)
  })

  it('counts rows and bytes against the limits of memory', () => {
    const operator = new DistinctOperator(column(0, [1, 2, 3]), rowKey([slot(0)]))
    expect(limitReached(() => fixture.read(operator, [0], { limits: { rowsHeldMax: 2 } }))).toBe('rowsHeldMax')
    expect(limitReached(() => fixture.read(operator, [0], { limits: { bytesHeldMax: 100 } }))).toBe('bytesHeldMax')
  })
})

describe('Distinct over one element', () => {
  it('returns the first row of each id, and of null', () => {
    const input = column(0, [3, 0, 5, 3, 0, 4, 5])
    expect(fixture.drain(new DistinctElementsOperator(input, 0), [0]).rows).toEqual([[3], [0], [5], [4]])
  })

  it('keeps many ids apart', () => {
    const ids = Array.from({ length: 5000 }, (_, i) => 1 + ((i * 7919) % 2500))
    expect(fixture.drain(new DistinctElementsOperator(column(0, ids), 0), [0]).rows).toHaveLength(2500)
  })

  it('counts rows against the limit of memory', () => {
    const operator = new DistinctElementsOperator(column(0, [1, 2, 3]), 0)
    expect(limitReached(() => fixture.read(operator, [0], { limits: { rowsHeldMax: 2 } }))).toBe('rowsHeldMax')
  })
})
