// First: at most one row.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FirstOperator } from '../../../../src/engine/exec/first.ts'
import { column, type OperatorFixture, operatorFixture } from '../../../support/operator-fixture.ts'

let fixture: OperatorFixture
beforeAll(async () => {
  fixture = await operatorFixture('(a:N)')
})
afterAll(() => fixture.close())

describe('First', () => {
  it('returns the first row and reads no second one', () => {
    const input = column(0, ['a', 'b'])
    expect(fixture.drain(new FirstOperator(input), [0]).rows).toEqual([['a']])
    expect(input.nextCalls).toBe(1)
  })

  it('returns no row without input', () => {
    const input = column(0, [])
    expect(fixture.drain(new FirstOperator(input), [0]).rows).toEqual([])
    expect(input.nextCalls).toBe(1)
  })
})
