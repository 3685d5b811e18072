// Limit: passes the first rows.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ExecutionError } from '../../../../src/engine/errors.ts'
import { LimitOperator } from '../../../../src/engine/exec/limit.ts'
import type { Value } from '../../../../src/engine/value/value.ts'
import { column, type OperatorFixture, operatorFixture } from '../../../support/operator-fixture.ts'

let fixture: OperatorFixture
beforeAll(async () => {
  fixture = await operatorFixture('(a:N)')
})
afterAll(() => fixture.close())

const limit = (count: Value, input = column(0, [1, 2, 3])): LimitOperator => new LimitOperator(input, () => count)

describe('Limit', () => {
  it('returns the first rows', () => {
    expect(fixture.drain(limit(2), [0]).rows).toEqual([[1], [2]])
    expect(fixture.drain(limit(5), [0]).rows).toEqual([[1], [2], [3]])
    expect(fixture.drain(limit(2n ** 60n), [0]).rows).toHaveLength(3)
  })

  it('reads no input row for a limit of 0, and none after the last row it returns', () => {
    const input = column(0, [1, 2, 3])
    fixture.read(limit(0, input), [0])
    expect(input.nextCalls).toBe(0)
    fixture.read(limit(2, input), [0])
    expect(input.nextCalls).toBe(2)
  })

  it('throws on open for a count that is not an integer of 0 or more', () => {
    for (const count of [-1, null, 'a', [1]]) expect(() => fixture.read(limit(count), [0])).toThrow(ExecutionError)
  })
})
