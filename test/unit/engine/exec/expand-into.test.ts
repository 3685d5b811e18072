// ExpandInto: the relationships between two known nodes.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ExpandIntoOperator } from '../../../../src/engine/exec/expand-into.ts'
import type { TraversalSpec } from '../../../../src/engine/exec/neighbour-cursor.ts'
import { FixedRows, type OperatorFixture, operatorFixture } from '../../../support/operator-fixture.ts'

const [FROM, TO, RELATIONSHIP, USED] = [0, 1, 2, 3]
const slots = { from: FROM, to: TO, relationship: RELATIONSHIP, distinctFrom: [USED] }

let fixture: OperatorFixture
let [ann, bob, cid] = [0, 0, 0]
let [knows, likes, back, loop] = [0, 0, 0, 0]
beforeAll(async () => {
  fixture = await operatorFixture(
    '(ann:Person)-[:KNOWS]->(bob:Person)-[:KNOWS]->(ann)\n(ann)-[:LIKES]->(bob)\n(cid:Person)-[:KNOWS]->(cid)',
  )
  ann = fixture.node('Person', 'ann')
  bob = fixture.node('Person', 'bob')
  cid = fixture.node('Person', 'cid')
  knows = fixture.relationship(ann, 'KNOWS', bob)
  likes = fixture.relationship(ann, 'LIKES', bob)
  back = fixture.relationship(bob, 'KNOWS', ann)
  loop = fixture.relationship(cid, 'KNOWS', cid)
})
afterAll(() => fixture.close())

const between = (traversal: TraversalSpec, pairs: readonly (readonly number[])[], used: unknown = null): unknown[] => {
  const input = new FixedRows(
    [FROM, TO, USED],
    pairs.map((pair) => [...pair, used]),
  )
  return fixture.drain(new ExpandIntoOperator(input, slots, traversal), [RELATIONSHIP]).rows.map(([id]) => id)
}

describe('ExpandInto', () => {
  it('returns the relationships between the pair by type and direction', () => {
    expect(between(fixture.traversal('out', 'KNOWS'), [[ann, bob]])).toEqual([knows])
    expect(between(fixture.traversal('in', 'KNOWS'), [[ann, bob]])).toEqual([back])
    expect(between(fixture.traversal('both'), [[ann, bob]]).toSorted()).toEqual([knows, likes, back].toSorted())
  })

  it('returns a self-loop once, also in both directions', () => {
    expect(between(fixture.traversal('both', 'KNOWS'), [[cid, cid]])).toEqual([loop])
  })

  it('returns nothing for null, for pairs without a relationship and for an unknown type', () => {
    expect(
      between(fixture.traversal('both'), [
        [0, bob],
        [ann, 0],
        [ann, cid],
      ]),
    ).toEqual([])
    expect(between(fixture.traversal('both', 'HATES'), [[ann, bob]])).toEqual([])
  })

  it('skips relationships that the same MATCH uses', () => {
    expect(between(fixture.traversal('out'), [[ann, bob]], knows)).toEqual([likes])
    expect(between(fixture.traversal('out'), [[ann, bob]], [knows, likes])).toEqual([])
  })

  it('reads no further input row than the consumer asks for, and charges a step per look-up', () => {
    const input = new FixedRows(
      [FROM, TO, USED],
      [
        [ann, bob, null],
        [bob, ann, null],
      ],
    )
    const operator = new ExpandIntoOperator(input, slots, fixture.traversal('out', 'KNOWS'))
    const { run } = fixture.read(operator, [RELATIONSHIP], {}, 1)
    expect(input.nextCalls).toBe(1)
    expect(run.budget.stepsCharged).toBe(1)
  })
})
