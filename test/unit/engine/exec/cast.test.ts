// Cast: values that a pattern uses as elements become ids.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { Slot, SlotKind } from '../../../../src/engine/bind/bound.ts'
import { ExecutionError } from '../../../../src/engine/errors.ts'
import { CastOperator } from '../../../../src/engine/exec/cast.ts'
import { NodeValue, RelationshipValue, type Value } from '../../../../src/engine/value/value.ts'
import { column, type OperatorFixture, operatorFixture } from '../../../support/operator-fixture.ts'

let fixture: OperatorFixture
beforeAll(async () => {
  fixture = await operatorFixture('(a:N)')
})
afterAll(() => fixture.close())

const slot = (index: number, kind: SlotKind): Slot => ({ index, name: 'x', kind, graph: 0 })
const cast = (kind: SlotKind, values: readonly Value[]): unknown[] => {
  const operator = new CastOperator(column(0, values), [{ from: slot(0, 'value'), to: slot(1, kind) }])
  return fixture.drain(operator, [1]).rows.map(([id]) => id)
}

describe('Cast', () => {
  it('fills the id of an element, or a list of ids', () => {
    expect(cast('node', [new NodeValue(0, 5), new NodeValue(0, 6)])).toEqual([5, 6])
    expect(cast('relationship', [new RelationshipValue(0, 7)])).toEqual([7])
    expect(cast('relationships', [[new RelationshipValue(0, 7), new RelationshipValue(0, 8)], []])).toEqual([
      [7, 8],
      [],
    ])
  })

  it('represents null as 0, or as null for a list', () => {
    expect(cast('node', [null])).toEqual([0])
    expect(cast('relationships', [null])).toEqual([null])
  })

  it('throws for values of another kind or of another graph', () => {
    for (const [kind, value] of [
      ['node', 'a'],
      ['node', new RelationshipValue(0, 7)],
      ['relationship', new NodeValue(0, 5)],
      ['relationships', new RelationshipValue(0, 7)],
      ['relationships', [new NodeValue(0, 5)]],
      ['node', new NodeValue(1, 5)],
    ] as const) {
      expect(() => cast(kind, [value])).toThrow(ExecutionError)
    }
  })

  it('reads no further input row than the consumer asks for', () => {
    const input = column(0, [new NodeValue(0, 5), 'not a node'])
    const operator = new CastOperator(input, [{ from: slot(0, 'value'), to: slot(1, 'node') }])
    expect(fixture.read(operator, [1], {}, 1).rows).toEqual([[5]])
    expect(input.nextCalls).toBe(1)
  })
})
