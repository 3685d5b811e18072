// Union: one branch after the other.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { UnionOperator } from '../../../../src/engine/exec/union.ts'
import { column, type OperatorFixture, operatorFixture } from '../../../support/operator-fixture.ts'

let fixture: OperatorFixture
beforeAll(async () => {
  fixture = await operatorFixture('(a:N)')
})
afterAll(() => fixture.close())

describe('Union', () => {
  it('returns the rows of each branch in order, duplicates included', () => {
    const operator = new UnionOperator([column(0, [1, 2]), column(0, []), column(0, [2, 3])])
    expect(fixture.drain(operator, [0]).rows).toEqual([[1], [2], [2], [3]])
  })

  it('returns nothing if all branches are empty', () => {
    expect(fixture.drain(new UnionOperator([column(0, []), column(0, [])]), [0]).rows).toEqual([])
  })

  it('reads no later branch than the consumer needs, also after an earlier execution that stopped', () => {
    const second = column(0, [9])
    const operator = new UnionOperator([column(0, [1, 2]), second])
    fixture.read(operator, [0], {}, 2)
    expect(second.nextCalls).toBe(0)
    expect(fixture.read(operator, [0]).rows).toEqual([[1], [2], [9]])
  })
})
