// SemiApply and AntiSemiApply: keep the rows for which the inner plan has a row, or has none.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { SemiApplyOperator } from '../../../../src/engine/exec/semi-apply.ts'
import { UnwindOperator } from '../../../../src/engine/exec/unwind.ts'
import type { Value } from '../../../../src/engine/value/value.ts'
import { column, type OperatorFixture, oneRow, operatorFixture } from '../../../support/operator-fixture.ts'

let fixture: OperatorFixture
beforeAll(async () => {
  fixture = await operatorFixture('(a:N)')
})
afterAll(() => fixture.close())

const LISTS = [['a', 'b'], [], ['c'], null]
const items = (): UnwindOperator => new UnwindOperator(oneRow(), (run) => run.frame[0] as Value, 1)
const kept = (negated: boolean): unknown[] =>
  fixture.drain(new SemiApplyOperator(column(0, LISTS), items(), negated), [0]).rows.map(([list]) => list)

describe('SemiApply', () => {
  it('keeps each row for which the inner plan has a row, once', () => {
    expect(kept(false)).toEqual([['a', 'b'], ['c']])
  })

  it('keeps the rows for which the inner plan has none, if negated', () => {
    expect(kept(true)).toEqual([[], null])
  })

  it('reads at most one inner row per input row', () => {
    const { run } = fixture.read(new SemiApplyOperator(column(0, [['a', 'b', 'c']]), items(), false), [0])
    expect(run.budget.stepsCharged).toBe(1)
  })

  it('reads no further input row than the consumer asks for', () => {
    const input = column(0, LISTS)
    fixture.read(new SemiApplyOperator(input, items(), false), [0], {}, 1)
    expect(input.nextCalls).toBe(1)
  })
})
