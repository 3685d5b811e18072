// Unwind: one row per item of a list.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ExecutionError } from '../../../../src/engine/errors.ts'
import { UnwindOperator } from '../../../../src/engine/exec/unwind.ts'
import type { Value } from '../../../../src/engine/value/value.ts'
import { column, limitReached, type OperatorFixture, operatorFixture } from '../../../support/operator-fixture.ts'

let fixture: OperatorFixture
beforeAll(async () => {
  fixture = await operatorFixture('(a:N)')
})
afterAll(() => fixture.close())

const unwind = (input: ReturnType<typeof column>): UnwindOperator =>
  new UnwindOperator(input, (run) => run.frame[0] as Value, 1)

describe('Unwind', () => {
  it('returns a row per item, nulls and nested lists included', () => {
    const { rows } = fixture.drain(unwind(column(0, [[1, null], [[2, 3]]])), [1])
    expect(rows).toEqual([[1], [null], [[2, 3]]])
  })

  it('returns nothing for null, for the empty list and without input', () => {
    expect(fixture.drain(unwind(column(0, [null, []])), [1]).rows).toEqual([])
    expect(fixture.drain(unwind(column(0, [])), [1]).rows).toEqual([])
  })

  it('throws for a value that is not a list', () => {
    expect(() => fixture.read(unwind(column(0, ['a'])), [1])).toThrow(ExecutionError)
  })

  it('charges a step per row that the consumer reads', () => {
    const input = column(0, [[1, 2, 3], [4]])
    expect(fixture.read(unwind(input), [1], {}, 2).run.budget.stepsCharged).toBe(2)
    expect(input.nextCalls).toBe(1)
    const long = column(0, [Array.from({ length: 1000 }, (_, i) => i)])
    expect(limitReached(() => fixture.read(unwind(long), [1], { limits: { stepsMax: 500 } }))).toBe('traversalStepsMax')
  })
})
