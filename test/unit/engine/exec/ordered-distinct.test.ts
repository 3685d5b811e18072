// OrderedDistinct: DISTINCT over ids that ascend.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OrderedDistinctOperator } from '../../../../src/engine/exec/ordered-distinct.ts'
import { column, type OperatorFixture, operatorFixture } from '../../../support/operator-fixture.ts'

let fixture: OperatorFixture
beforeAll(async () => {
  fixture = await operatorFixture('(a:N)')
})
afterAll(() => fixture.close())

describe('OrderedDistinct', () => {
  it('returns the first row of each id', () => {
    expect(fixture.drain(new OrderedDistinctOperator(column(0, [1, 1, 4, 7, 7, 7]), 0), [0]).rows).toEqual([
      [1],
      [4],
      [7],
    ])
  })

  it('returns nothing without input', () => {
    expect(fixture.drain(new OrderedDistinctOperator(column(0, []), 0), [0]).rows).toEqual([])
  })

  it('reads no further input row than the consumer asks for, keeps no rows and charges a step per row', () => {
    const input = column(0, [1, 1, 4, 7])
    const { run } = fixture.read(new OrderedDistinctOperator(input, 0), [0], { limits: { rowsHeldMax: 0 } }, 2)
    expect(input.nextCalls).toBe(3)
    expect(run.budget.stepsCharged).toBe(2)
  })
})
