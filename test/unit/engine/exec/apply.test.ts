// Apply: the inner plan runs once per input row.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ApplyOperator } from '../../../../src/engine/exec/apply.ts'
import { UnwindOperator } from '../../../../src/engine/exec/unwind.ts'
import type { Value } from '../../../../src/engine/value/value.ts'
import { column, type OperatorFixture, oneRow, operatorFixture } from '../../../support/operator-fixture.ts'

let fixture: OperatorFixture
beforeAll(async () => {
  fixture = await operatorFixture('(a:N)')
})
afterAll(() => fixture.close())

/** The items of the list in slot 0, into slot 1. */
const items = (): UnwindOperator => new UnwindOperator(oneRow(), (run) => run.frame[0] as Value, 1)

describe('Apply', () => {
  it('returns the inner rows of each input row', () => {
    const operator = new ApplyOperator(column(0, [['a', 'b'], [], ['c']]), items())
    expect(fixture.drain(operator, [1]).rows).toEqual([['a'], ['b'], ['c']])
  })

  it('returns nothing without input or without inner rows', () => {
    expect(fixture.drain(new ApplyOperator(column(0, []), items()), [1]).rows).toEqual([])
    expect(fixture.drain(new ApplyOperator(column(0, [[], []]), items()), [1]).rows).toEqual([])
  })

  it('reads no further row of either input than the consumer asks for', () => {
    const input = column(0, [['a', 'b'], ['c']])
    const { run } = fixture.read(new ApplyOperator(input, items()), [1], {}, 2)
    expect(input.nextCalls).toBe(1)
    expect(run.budget.stepsCharged).toBe(2)
  })
})
