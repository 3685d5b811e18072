// PruningExpand: the distinct nodes at the end of a chain.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { IntermediateNode, TraversalLink } from '../../../../src/engine/exec/chain-link.ts'
import { PruningExpandOperator } from '../../../../src/engine/exec/pruning-expand.ts'
import { column, hops, limitReached, type OperatorFixture, operatorFixture } from '../../../support/operator-fixture.ts'

const [FROM, TO, MIDDLE] = [0, 1, 2]

let fixture: OperatorFixture
let [ann, bob, red, car, bus] = [0, 0, 0, 0, 0]
beforeAll(async () => {
  // Two teams own the same car.
  fixture = await operatorFixture(
    '(ann:Person)-[:MEMBER]->(red:Team)-[:OWNS]->(car:Car)\n(ann)-[:MEMBER]->(blue:Team)-[:OWNS]->(car)\n(blue)-[:OWNS]->(bus:Car)\n(bob:Person)',
  )
  ann = fixture.node('Person', 'ann')
  bob = fixture.node('Person', 'bob')
  red = fixture.node('Team', 'red')
  car = fixture.node('Car', 'car')
  bus = fixture.node('Car', 'bus')
})
afterAll(() => fixture.close())

const link = (type: string): TraversalLink => ({ traversal: fixture.traversal('out', type), hops: hops(1, 1) })
const anyTeam: IntermediateNode = { slot: MIDDLE, predicates: [] }
const expand = (nodes: readonly number[], team = anyTeam, input = column(FROM, nodes)): PruningExpandOperator =>
  new PruningExpandOperator(input, { from: FROM, to: TO }, [link('MEMBER'), link('OWNS')], [team])

describe('PruningExpand', () => {
  it('returns each end once per input row', () => {
    const rows = fixture.drain(expand([ann, bob, ann]), [FROM, TO]).rows
    expect(rows).toHaveLength(4)
    expect(rows.slice(0, 2).map(([, to]) => to)).toEqual(expect.arrayContaining([car, bus]))
    expect(rows.every(([from]) => from === ann)).toBe(true)
  })

  it('expands only intermediate nodes that satisfy their predicates', () => {
    const onlyRed: IntermediateNode = { slot: MIDDLE, predicates: [(run) => run.frame[MIDDLE] === red] }
    expect(fixture.drain(expand([ann], onlyRed), [TO]).rows).toEqual([[car]])
  })

  it('returns nothing for null and for a node without such a chain', () => {
    expect(fixture.drain(expand([0, bob, red]), [TO]).rows).toEqual([])
  })

  it('reads no further input row than the consumer asks for', () => {
    const input = column(FROM, [ann, ann])
    const { run } = fixture.read(expand([], anyTeam, input), [TO], {}, 2)
    expect(input.nextCalls).toBe(1)
    expect(run.budget.stepsCharged).toBeGreaterThan(0)
  })

  it('counts reached nodes against the limit of rows in memory', () => {
    expect(limitReached(() => fixture.read(expand([ann]), [TO], { limits: { rowsHeldMax: 2 } }))).toBe('rowsHeldMax')
  })
})
