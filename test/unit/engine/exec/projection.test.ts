// Projection: computes columns.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ProjectionOperator } from '../../../../src/engine/exec/projection.ts'
import { column, type OperatorFixture, operatorFixture } from '../../../support/operator-fixture.ts'

let fixture: OperatorFixture
beforeAll(async () => {
  fixture = await operatorFixture('(a:N)')
})
afterAll(() => fixture.close())

const columns = [
  { slot: 1, evaluate: (run: { frame: unknown[] }) => (run.frame[0] as number) + 1 },
  { slot: 2, evaluate: (run: { frame: unknown[] }) => (run.frame[1] as number) * 10 },
]

describe('Projection', () => {
  it('fills the columns of each row, in their order', () => {
    expect(fixture.drain(new ProjectionOperator(column(0, [1, 2]), columns), [0, 1, 2]).rows).toEqual([
      [1, 2, 20],
      [2, 3, 30],
    ])
  })

  it('returns no row without input, and passes rows without columns', () => {
    expect(fixture.drain(new ProjectionOperator(column(0, []), columns), [1]).rows).toEqual([])
    expect(fixture.drain(new ProjectionOperator(column(0, [7]), []), [0]).rows).toEqual([[7]])
  })

  it('evaluates nothing that the consumer does not read', () => {
    const input = column(0, [1, 2, 3])
    fixture.read(new ProjectionOperator(input, columns), [1], {}, 1)
    expect(input.nextCalls).toBe(1)
  })
})
