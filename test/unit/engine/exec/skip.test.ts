// Skip: drops the first rows.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ExecutionError } from '../../../../src/engine/errors.ts'
import { SkipOperator } from '../../../../src/engine/exec/skip.ts'
import type { Value } from '../../../../src/engine/value/value.ts'
import { column, type OperatorFixture, operatorFixture } from '../../../support/operator-fixture.ts'

let fixture: OperatorFixture
beforeAll(async () => {
  fixture = await operatorFixture('(a:N)')
})
afterAll(() => fixture.close())

const skip = (count: Value, input = column(0, [1, 2, 3])): SkipOperator => new SkipOperator(input, () => count)

describe('Skip', () => {
  it('returns the rows after the first', () => {
    expect(fixture.drain(skip(2), [0]).rows).toEqual([[3]])
    expect(fixture.drain(skip(0), [0]).rows).toEqual([[1], [2], [3]])
    expect(fixture.drain(skip(2n ** 60n), [0]).rows).toEqual([])
  })

  it('throws on open for a count that is not an integer of 0 or more', () => {
    for (const count of [-1, null, 'a', [1]]) expect(() => fixture.read(skip(count), [0])).toThrow(ExecutionError)
  })

  it('reads no further input row than the consumer asks for, and charges a step per dropped row', () => {
    const input = column(0, [1, 2, 3, 4])
    const { run } = fixture.read(skip(2, input), [0], {}, 1)
    expect(input.nextCalls).toBe(3)
    expect(run.budget.stepsCharged).toBe(2)
  })
})
