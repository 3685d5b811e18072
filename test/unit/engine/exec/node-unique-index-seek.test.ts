// NodeUniqueIndexSeek: nodes by label and external id.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NodeUniqueIndexSeekOperator } from '../../../../src/engine/exec/node-unique-index-seek.ts'
import type { Value } from '../../../../src/engine/value/value.ts'
import { column, type OperatorFixture, operatorFixture } from '../../../support/operator-fixture.ts'

const KEY = 0
const NODE = 1

let fixture: OperatorFixture
beforeAll(async () => {
  fixture = await operatorFixture('(ann:Person)\n(bob:Person)\n(x:Vip)')
})
afterAll(() => fixture.close())

const seek = (
  label: string,
  keys: readonly Value[],
): { operator: NodeUniqueIndexSeekOperator; input: ReturnType<typeof column> } => {
  const input = column(KEY, keys)
  const operator = new NodeUniqueIndexSeekOperator(
    input,
    NODE,
    fixture.label(label),
    (run) => run.frame[KEY] as Value,
    0,
  )
  return { operator, input }
}

describe('NodeUniqueIndexSeek', () => {
  it('returns the node with the type and external id, for each input row', () => {
    const { operator } = seek('Person', ['bob', 'nobody', 'ann', 'bob'])
    expect(fixture.drain(operator, [KEY, NODE]).rows).toEqual([
      ['bob', fixture.node('Person', 'bob')],
      ['ann', fixture.node('Person', 'ann')],
      ['bob', fixture.node('Person', 'bob')],
    ])
  })

  it('returns nothing for null, for a value that is not a string and for an unknown label', () => {
    expect(fixture.drain(seek('Person', [null, 7, ['ann']]).operator, [NODE]).rows).toEqual([])
    expect(fixture.drain(seek('Boat', ['ann']).operator, [NODE]).rows).toEqual([])
  })

  it('reads no further input row than the consumer asks for, and charges a step per seek', () => {
    const { operator, input } = seek('Person', ['ann', 'bob'])
    const { run } = fixture.read(operator, [NODE], {}, 1)
    expect(input.nextCalls).toBe(1)
    expect(run.budget.stepsCharged).toBe(1)
  })
})

describe('NodeUniqueIndexSeek over a label that nodes of another type carry', () => {
  let mixed: OperatorFixture
  beforeAll(async () => {
    mixed = await operatorFixture('(x:Vip)\n(y:Person:Vip)')
  })
  afterAll(() => mixed.close())

  it('finds these nodes too', () => {
    const found = (key: string): readonly (readonly unknown[])[] => {
      const operator = new NodeUniqueIndexSeekOperator(column(KEY, [key]), NODE, mixed.label('Vip'), () => key, 0)
      return mixed.drain(operator, [NODE]).rows
    }
    expect(found('x')).toEqual([[mixed.node('Vip', 'x')]])
    expect(found('y')).toEqual([[mixed.node('Person', 'y')]])
    expect(found('z')).toEqual([])
  })
})
