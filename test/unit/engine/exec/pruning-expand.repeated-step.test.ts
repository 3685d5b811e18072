// PruningExpand over one repeated step: its distinct ends.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { CountRowsOperator } from '../../../../src/engine/exec/count-rows.ts'
import type { HopLimits } from '../../../../src/engine/exec/neighbour-cursor.ts'
import { PruningExpandOperator } from '../../../../src/engine/exec/pruning-expand.ts'
import { column, hops, limitReached, type OperatorFixture, operatorFixture } from '../../../support/operator-fixture.ts'

const [FROM, TO, HOP] = [0, 1, 2]
const slots = { from: FROM, to: TO }

let fixture: OperatorFixture
let [a, b, c, d, e] = [0, 0, 0, 0, 0]
beforeAll(async () => {
  fixture = await operatorFixture('(a:N)-[:R]->(b:N)-[:R]->(d:N)-[:R]->(e:N)-[:R]->(a)\n(a)-[:R]->(c:N)-[:R]->(d)')
  ;[a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map((name) => fixture.node('N', name)) as [
    number,
    number,
    number,
    number,
    number,
  ]
})
afterAll(() => fixture.close())

const expand = (nodes: readonly number[], limits: HopLimits): PruningExpandOperator =>
  new PruningExpandOperator(
    column(FROM, nodes),
    slots,
    [{ traversal: fixture.traversal('out', 'R'), hops: limits }],
    [],
  )

const ends = (limits: HopLimits, nodes: readonly number[]): unknown[] => {
  const operator = expand(nodes, limits)
  return fixture.drain(operator, [TO]).rows.map(([to]) => to)
}

describe('PruningExpand over one repeated step', () => {
  it('returns every end once, nearest first', () => {
    expect(ends(hops(1, 2), [a])).toEqual([b, c, d])
    expect(ends(hops(1, null), [a])).toEqual([b, c, d, e, a])
  })

  it('returns the start of a lower limit of 0 first and once', () => {
    expect(ends(hops(0, null), [a])).toEqual([a, b, c, d, e])
    expect(ends(hops(0, 0), [a])).toEqual([a])
  })

  it('starts over for each input row, and returns nothing for null', () => {
    expect(ends(hops(1, 1), [d, 0, e, d])).toEqual([e, a, e])
  })

  it('skips relationships that fail the predicate', () => {
    const de = fixture.relationship(d, 'R', e)
    const limits: HopLimits = hops(1, null, { slot: HOP, near: -1, far: -1, test: (run) => run.frame[HOP] !== de })
    expect(ends(limits, [a])).toEqual([b, c, d])
  })

  it('expands no level further than the consumer asks for', () => {
    const operator = expand([a], hops(1, null))
    const first = fixture.read(operator, [TO], {}, 1).run.budget.stepsCharged
    expect(first).toBeGreaterThan(0)
    expect(first).toBeLessThan(fixture.read(operator, [TO]).run.budget.stepsCharged)
  })

  it.each([
    ['one type', 'R'],
    ['any type', null],
  ] as const)('counts the ends that it returns, over %s', (_, type) => {
    const steps = (limits: HopLimits) => [
      { traversal: fixture.traversal('out', 'R'), hops: hops(1, 1) },
      { traversal: { ...fixture.traversal('out', 'R'), ...(type === null && { types: null }) }, hops: limits },
    ]
    for (const min of [0, 1]) {
      for (const max of [min, 1, 2, 3, 4, null]) {
        // One start node, and the several ones that the first step has reached.
        for (const links of [steps(hops(min, max)).slice(1), steps(hops(min, max))]) {
          const intermediates = links.slice(1).map(() => ({ slot: HOP, predicates: [] }))
          const search = () => new PruningExpandOperator(column(FROM, [a, d, 0]), slots, links, intermediates)
          const returned = fixture.drain(search(), [TO]).rows.length
          expect(fixture.drain(new CountRowsOperator(search(), [TO]), [TO]).rows).toEqual([[returned]])
          expect(returned).toBeGreaterThan(0)
        }
      }
    }
  })

  it('counts visited nodes against the limit of rows in memory', () => {
    const operator = expand([a], hops(1, null))
    expect(limitReached(() => fixture.read(operator, [TO], { limits: { rowsHeldMax: 3 } }))).toBe('rowsHeldMax')
    expect(limitReached(() => fixture.read(operator, [TO], { limits: { rowsHeldMax: 5 } }))).toBeNull()
  })
})
