// ExpandAll: one hop from a known node.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ExpandAllOperator } from '../../../../src/engine/exec/expand-all.ts'
import type { TraversalSpec } from '../../../../src/engine/exec/neighbour-cursor.ts'
import { column, FixedRows, type OperatorFixture, operatorFixture } from '../../../support/operator-fixture.ts'

const [FROM, TO, RELATIONSHIP, USED] = [0, 1, 2, 3]
const slots = { from: FROM, to: TO, relationship: RELATIONSHIP, distinctFrom: [] }

let fixture: OperatorFixture
let [ann, bob, cid, dan] = [0, 0, 0, 0]
beforeAll(async () => {
  fixture = await operatorFixture(
    '(ann:Person)-[:KNOWS]->(bob:Person)-[:KNOWS]->(cid:Person)\n(ann)-[:LIKES]->(bob)\n(ann)-[:KNOWS]->(ann)\n(dan:Person)',
  )
  ;[ann, bob, cid, dan] = ['ann', 'bob', 'cid', 'dan'].map((name) => fixture.node('Person', name)) as [
    number,
    number,
    number,
    number,
  ]
})
afterAll(() => fixture.close())

const expand = (traversal: TraversalSpec, nodes: readonly number[]): ExpandAllOperator =>
  new ExpandAllOperator(column(FROM, nodes), slots, traversal)
const neighbours = (traversal: TraversalSpec, nodes: readonly number[]): unknown[] =>
  fixture.drain(expand(traversal, nodes), [TO]).rows.map(([to]) => to)

describe('ExpandAll', () => {
  it('returns the neighbours by type and direction, with the relationship', () => {
    expect(fixture.drain(expand(fixture.traversal('out', 'LIKES'), [ann]), [FROM, TO, RELATIONSHIP]).rows).toEqual([
      [ann, bob, fixture.relationship(ann, 'LIKES', bob)],
    ])
    expect(neighbours(fixture.traversal('in', 'KNOWS'), [cid, bob])).toEqual([bob, ann])
  })

  it('returns a self-loop once, also in both directions', () => {
    expect(neighbours(fixture.traversal('both', 'KNOWS'), [ann]).toSorted()).toEqual([ann, bob].toSorted())
  })

  it('reads every type if none is given, and none if the type is unknown', () => {
    expect(neighbours(fixture.traversal('out'), [ann]).toSorted()).toEqual([ann, bob, bob].toSorted())
    expect(neighbours(fixture.traversal('out', 'HATES'), [ann])).toEqual([])
  })

  it('returns nothing for null and for a node without relationships', () => {
    expect(neighbours(fixture.traversal('out'), [0, dan])).toEqual([])
  })

  it('skips relationships that the same MATCH uses, as an id or in a list', () => {
    const knows = fixture.relationship(ann, 'KNOWS', bob)
    const distinct = { ...slots, distinctFrom: [USED] }
    for (const used of [knows, [knows]]) {
      const input = new FixedRows([FROM, USED], [[ann, used]])
      const operator = new ExpandAllOperator(input, distinct, fixture.traversal('out', 'KNOWS'))
      expect(fixture.drain(operator, [TO]).rows).toEqual([[ann]])
    }
  })

  it('reads no further input row than the consumer asks for', () => {
    const input = column(FROM, [bob, ann])
    const { run } = fixture.read(new ExpandAllOperator(input, slots, fixture.traversal('out')), [TO], {}, 1)
    expect(input.nextCalls).toBe(1)
    expect(run.budget.stepsCharged).toBe(2)
  })
})
