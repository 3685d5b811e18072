// VarLengthExpand: every trail of a variable-length step.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { HopLimits } from '../../../../src/engine/exec/neighbour-cursor.ts'
import { VarLengthExpandOperator } from '../../../../src/engine/exec/var-length-expand.ts'
import { column, FixedRows, hops, type OperatorFixture, operatorFixture } from '../../../support/operator-fixture.ts'

const [FROM, TO, RELATIONSHIPS, HOP, USED] = [0, 1, 2, 3, 4]
const slots = { from: FROM, to: TO, relationship: RELATIONSHIPS, distinctFrom: [] }
const forwards = { into: false, backwards: false }

let fixture: OperatorFixture
let [a, b, c, d] = [0, 0, 0, 0]
let [ab, bc, ca, cd] = [0, 0, 0, 0]
beforeAll(async () => {
  // A cycle with a tail.
  fixture = await operatorFixture('(a:N)-[:R]->(b:N)-[:R]->(c:N)-[:R]->(a)\n(c)-[:R]->(d:N)')
  a = fixture.node('N', 'a')
  b = fixture.node('N', 'b')
  c = fixture.node('N', 'c')
  d = fixture.node('N', 'd')
  ab = fixture.relationship(a, 'R', b)
  bc = fixture.relationship(b, 'R', c)
  ca = fixture.relationship(c, 'R', a)
  cd = fixture.relationship(c, 'R', d)
})
afterAll(() => fixture.close())

const trails = (limits: HopLimits, nodes: readonly number[], options = forwards): readonly (readonly unknown[])[] => {
  const operator = new VarLengthExpandOperator(
    column(FROM, nodes),
    slots,
    fixture.traversal('out', 'R'),
    limits,
    options,
  )
  return fixture.drain(operator, [TO, RELATIONSHIPS]).rows
}

describe('VarLengthExpand', () => {
  it('returns every trail within the limits, with its relationships and its end', () => {
    expect(trails(hops(1, 2), [a])).toEqual([
      [b, [ab]],
      [c, [ab, bc]],
    ])
    expect(trails(hops(3, 3), [a])).toEqual([
      [a, [ab, bc, ca]],
      [d, [ab, bc, cd]],
    ])
  })

  it('uses no relationship twice, so that it ends without an upper limit', () => {
    expect(trails(hops(1, null), [a]).map(([, trail]) => trail)).toEqual([[ab], [ab, bc], [ab, bc, ca], [ab, bc, cd]])
  })

  it('returns the start itself for a lower limit of 0', () => {
    expect(trails(hops(0, 1), [b, d])).toEqual([
      [b, []],
      [c, [bc]],
      [d, []],
    ])
  })

  it('returns nothing for null', () => {
    expect(trails(hops(0, null), [0])).toEqual([])
  })

  it('compares a known end, and reverses the list of a step that is traversed backwards', () => {
    const input = new FixedRows(
      [FROM, TO],
      [
        [a, d],
        [a, b],
        [a, 0],
      ],
    )
    const into = { into: true, backwards: true }
    const operator = new VarLengthExpandOperator(input, slots, fixture.traversal('out', 'R'), hops(1, null), into)
    expect(fixture.drain(operator, [TO, RELATIONSHIPS]).rows).toEqual([
      [d, [cd, bc, ab]],
      [b, [ab]],
    ])
  })

  it('skips relationships that fail the predicate or that the same MATCH uses', () => {
    const limits: HopLimits = hops(1, null, { slot: HOP, near: -1, far: -1, test: (run) => run.frame[HOP] !== ca })
    expect(trails(limits, [a]).map(([end]) => end)).toEqual([b, c, d])
    const input = new FixedRows([FROM, USED], [[a, [bc]]])
    const distinct = { ...slots, distinctFrom: [USED] }
    const operator = new VarLengthExpandOperator(input, distinct, fixture.traversal('out'), hops(1, null), forwards)
    expect(fixture.drain(operator, [TO]).rows).toEqual([[b]])
  })

  it('extends no trail further than the consumer asks for', () => {
    const operator = (): VarLengthExpandOperator =>
      new VarLengthExpandOperator(column(FROM, [a]), slots, fixture.traversal('out', 'R'), hops(1, null), forwards)
    const first = fixture.read(operator(), [TO], {}, 1).run.budget.stepsCharged
    const all = fixture.read(operator(), [TO]).run.budget.stepsCharged
    expect(first).toBeGreaterThan(0)
    expect(first).toBeLessThan(all)
  })
})
