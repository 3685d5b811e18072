// Optional: the inner rows of each input row, or one row with nulls.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OptionalOperator } from '../../../../src/engine/exec/optional.ts'
import { UnwindOperator } from '../../../../src/engine/exec/unwind.ts'
import type { Value } from '../../../../src/engine/value/value.ts'
import { column, type OperatorFixture, oneRow, operatorFixture } from '../../../support/operator-fixture.ts'

const [LIST, ITEM, NODE] = [0, 1, 2]

let fixture: OperatorFixture
beforeAll(async () => {
  fixture = await operatorFixture('(a:N)')
})
afterAll(() => fixture.close())

const optional = (input: ReturnType<typeof column>): OptionalOperator => {
  const inner = new UnwindOperator(oneRow(), (run) => run.frame[LIST] as Value, ITEM)
  return new OptionalOperator(input, inner, [
    { slot: ITEM, nullValue: null },
    { slot: NODE, nullValue: 0 },
  ])
}

describe('Optional', () => {
  it('returns the inner rows of each input row, or one row with nulls', () => {
    const rows = fixture.drain(optional(column(LIST, [['a', 'b'], [], ['c'], []])), [ITEM]).rows
    expect(rows).toEqual([['a'], ['b'], [null], ['c'], [null]])
  })

  it('fills ids with 0 and values with null', () => {
    expect(fixture.drain(optional(column(LIST, [[]])), [ITEM, NODE]).rows).toEqual([[null, 0]])
  })

  it('returns nothing without input', () => {
    expect(fixture.drain(optional(column(LIST, [])), [ITEM]).rows).toEqual([])
  })

  it('reads no further row of either input than the consumer asks for', () => {
    const input = column(LIST, [['a', 'b'], ['c']])
    const { run } = fixture.read(optional(input), [ITEM], {}, 1)
    expect(input.nextCalls).toBe(1)
    expect(run.budget.stepsCharged).toBe(1)
  })
})
