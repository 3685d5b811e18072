// BidirectionalExpandInto: whether two known nodes are connected by a chain.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { BidirectionalExpandIntoOperator } from '../../../../src/engine/exec/bidirectional-expand-into.ts'
import type { IntermediateNode, TraversalLink } from '../../../../src/engine/exec/chain-link.ts'
import {
  FixedRows,
  hops,
  limitReached,
  type OperatorFixture,
  operatorFixture,
} from '../../../support/operator-fixture.ts'

const [FROM, TO, MIDDLE] = [0, 1, 2]

let fixture: OperatorFixture
let [ann, bob, red, blue, car] = [0, 0, 0, 0, 0]
beforeAll(async () => {
  fixture = await operatorFixture(
    '(ann:Person)-[:MEMBER]->(red:Team)-[:OWNS]->(car:Car)\n(bob:Person)-[:MEMBER]->(blue:Team)-[:PARENT]->(red)',
  )
  ann = fixture.node('Person', 'ann')
  bob = fixture.node('Person', 'bob')
  red = fixture.node('Team', 'red')
  blue = fixture.node('Team', 'blue')
  car = fixture.node('Car', 'car')
})
afterAll(() => fixture.close())

const link = (type: string, limits = hops(1, 1)): TraversalLink => ({
  traversal: fixture.traversal('out', type),
  hops: limits,
})
const anyNode: IntermediateNode = { slot: MIDDLE, predicates: [] }

function connected(
  links: readonly TraversalLink[],
  intermediates: readonly IntermediateNode[],
  pairs: readonly (readonly number[])[],
): readonly (readonly unknown[])[] {
  const operator = new BidirectionalExpandIntoOperator(
    new FixedRows([FROM, TO], pairs),
    { from: FROM, to: TO },
    links,
    intermediates,
  )
  return fixture.drain(operator, [FROM, TO]).rows
}

describe('BidirectionalExpandInto', () => {
  it('keeps the pairs that one link connects', () => {
    expect(
      connected(
        [link('MEMBER')],
        [],
        [
          [ann, red],
          [ann, blue],
          [bob, blue],
        ],
      ),
    ).toEqual([
      [ann, red],
      [bob, blue],
    ])
  })

  it('keeps the pairs that a chain connects', () => {
    const links = [link('MEMBER'), link('OWNS')]
    expect(
      connected(
        links,
        [anyNode],
        [
          [ann, car],
          [bob, car],
        ],
      ),
    ).toEqual([[ann, car]])
  })

  it('follows links of several hops', () => {
    const links = [link('MEMBER'), link('PARENT', hops(0, null)), link('OWNS')]
    expect(
      connected(
        links,
        [anyNode, anyNode],
        [
          [ann, car],
          [bob, car],
          [red, car],
        ],
      ),
    ).toEqual([
      [ann, car],
      [bob, car],
    ])
    expect(
      connected(
        [link('PARENT', hops(0, 3))],
        [],
        [
          [red, red],
          [blue, red],
          [red, blue],
        ],
      ),
    ).toEqual([
      [red, red],
      [blue, red],
    ])
  })

  it('tests the nodes between two links', () => {
    const notRed: IntermediateNode = { slot: MIDDLE, predicates: [(run) => run.frame[MIDDLE] !== red] }
    expect(connected([link('MEMBER'), link('OWNS')], [notRed], [[ann, car]])).toEqual([])
  })

  it('drops pairs with null', () => {
    expect(
      connected(
        [link('MEMBER')],
        [],
        [
          [0, red],
          [ann, 0],
        ],
      ),
    ).toEqual([])
  })

  it('reads no further input row than the consumer asks for, and charges its work', () => {
    const input = new FixedRows(
      [FROM, TO],
      [
        [ann, car],
        [bob, car],
      ],
    )
    const operator = new BidirectionalExpandIntoOperator(
      input,
      { from: FROM, to: TO },
      [link('MEMBER'), link('OWNS')],
      [anyNode],
    )
    const { run } = fixture.read(operator, [FROM], {}, 1)
    expect(input.nextCalls).toBe(1)
    expect(run.budget.stepsCharged).toBeGreaterThan(0)
    expect(limitReached(() => fixture.read(operator, [FROM], { limits: { rowsHeldMax: 0 } }))).toBe('rowsHeldMax')
  })
})
