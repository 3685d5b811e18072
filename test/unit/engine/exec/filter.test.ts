// Filter: keeps the rows for which every test is true.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { FilterOperator } from '../../../../src/engine/exec/filter.ts'
import { column, type OperatorFixture, operatorFixture } from '../../../support/operator-fixture.ts'

let fixture: OperatorFixture
beforeAll(async () => {
  fixture = await operatorFixture('(a:N)')
})
afterAll(() => fixture.close())

describe('Filter', () => {
  it('keeps the rows for which every test is true, in order', () => {
    const operator = new FilterOperator(column(0, [5, 2, 8, 3, 6]), [
      (run) => (run.frame[0] as number) > 2,
      (run) => (run.frame[0] as number) % 2 === 0,
    ])
    expect(fixture.drain(operator, [0]).rows).toEqual([[8], [6]])
  })

  it('keeps every row without tests, and none without input', () => {
    expect(fixture.drain(new FilterOperator(column(0, [1, 2]), []), [0]).rows).toEqual([[1], [2]])
    expect(fixture.drain(new FilterOperator(column(0, []), [() => true]), [0]).rows).toEqual([])
  })

  it('evaluates no test after the first that is not true', () => {
    let calls = 0
    const second = (): boolean => {
      calls += 1
      return true
    }
    fixture.read(new FilterOperator(column(0, [1, 2, 3]), [(run) => run.frame[0] === 2, second]), [0])
    expect(calls).toBe(1)
  })

  it('reads no further input row than the consumer asks for', () => {
    const input = column(0, [1, 2, 3, 4])
    fixture.read(new FilterOperator(input, [(run) => (run.frame[0] as number) > 1]), [0], {}, 1)
    expect(input.nextCalls).toBe(2)
  })
})
