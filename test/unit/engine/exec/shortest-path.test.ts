// ShortestPath: one or all shortest paths between two known nodes.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { HopLimits, TraversalSpec } from '../../../../src/engine/exec/neighbour-cursor.ts'
import type { PathSearchSpec } from '../../../../src/engine/exec/path-search.ts'
import { ShortestPathOperator } from '../../../../src/engine/exec/shortest-path.ts'
import {
  FixedRows,
  hops,
  limitReached,
  type OperatorFixture,
  operatorFixture,
} from '../../../support/operator-fixture.ts'

const [FROM, TO, PATH, HOP] = [0, 1, 2, 3]

const searchSpec = (limits: HopLimits, all: boolean, traversal: TraversalSpec): PathSearchSpec => ({
  graph: 0,
  from: FROM,
  to: TO,
  into: true,
  backwards: false,
  repeatable: false,
  keep: all ? 'groups' : 'shortest',
  count: 1,
  relationship: PATH,
  path: null,
  nodes: [
    { slot: FROM, tests: [] },
    { slot: TO, tests: [] },
  ],
  steps: [
    {
      slot: PATH,
      isList: true,
      min: limits.min,
      max: limits.max,
      hops: [{ traversal, predicate: limits.hopPredicate }],
      repetition: null,
      groups: [],
    },
  ],
  predicates: [],
})

let fixture: OperatorFixture
let [a, b, c, d, e] = [0, 0, 0, 0, 0]
let [ab, ac, bd, cd, de, ea] = [0, 0, 0, 0, 0, 0]
beforeAll(async () => {
  fixture = await operatorFixture('(a:N)-[:R]->(b:N)-[:R]->(d:N)-[:R]->(e:N)-[:R]->(a)\n(a)-[:R]->(c:N)-[:R]->(d)')
  ;[a, b, c, d, e] = ['a', 'b', 'c', 'd', 'e'].map((name) => fixture.node('N', name)) as [
    number,
    number,
    number,
    number,
    number,
  ]
  ab = fixture.relationship(a, 'R', b)
  ac = fixture.relationship(a, 'R', c)
  bd = fixture.relationship(b, 'R', d)
  cd = fixture.relationship(c, 'R', d)
  de = fixture.relationship(d, 'R', e)
  ea = fixture.relationship(e, 'R', a)
})
afterAll(() => fixture.close())

const operatorOver = (
  pairs: readonly (readonly number[])[],
  limits: HopLimits,
  all: boolean,
  traversal: TraversalSpec = fixture.traversal('out', 'R'),
): ShortestPathOperator =>
  new ShortestPathOperator(new FixedRows([FROM, TO], pairs), searchSpec(limits, all, traversal))
const paths = (...args: Parameters<typeof operatorOver>): unknown[] =>
  fixture.drain(operatorOver(...args), [PATH]).rows.map(([path]) => path)

describe('ShortestPath', () => {
  it('returns all shortest paths, or one of them', () => {
    const both = [
      [ab, bd],
      [ac, cd],
    ]
    const all = paths([[a, d]], hops(1, null), true)
    expect(all).toHaveLength(2)
    expect(all).toEqual(expect.arrayContaining(both))
    const [one, ...others] = paths([[a, d]], hops(1, null), false)
    expect(both).toContainEqual(one)
    expect(others).toEqual([])
  })

  it('returns nothing beyond the upper limit, without a path and for null', () => {
    expect(paths([[a, e]], hops(1, 2), true)).toEqual([])
    expect(paths([[b, c]], hops(1, 2), true)).toEqual([])
    expect(
      paths(
        [
          [0, a],
          [a, 0],
        ],
        hops(0, null),
        true,
      ),
    ).toEqual([])
  })

  it('returns the cycle from a node to itself, or the empty path for a lower limit of 0', () => {
    expect(paths([[a, a]], hops(1, null), false)).toHaveLength(1)
    expect(paths([[a, a]], hops(1, null), false)[0]).toHaveLength(4)
    expect(paths([[a, a]], hops(0, null), true)).toEqual([[]])
    expect(paths([[d, a]], hops(1, null), true)).toEqual([[de, ea]])
  })

  it('uses no relationship twice on an undirected path from a node to itself', () => {
    const undirected = fixture.traversal('both', 'R')
    const cycles = paths([[a, a]], hops(1, null), true, undirected)
    // Along a-b-d-c and along a-b-d-e and a-c-d-e, each in both directions.
    expect(cycles).toHaveLength(6)
    expect(cycles).toContainEqual([ab, bd, cd, ac])
    expect(cycles).toContainEqual([ea, de, cd, ac])
  })

  it('skips relationships that fail the predicate', () => {
    const limits: HopLimits = hops(1, null, { slot: HOP, near: -1, far: -1, test: (run) => run.frame[HOP] !== ab })
    expect(paths([[a, d]], limits, true)).toEqual([[ac, cd]])
  })

  it('reads no further input row than the consumer asks for, and charges its work', () => {
    const input = new FixedRows(
      [FROM, TO],
      [
        [a, d],
        [a, b],
      ],
    )
    const operator = new ShortestPathOperator(input, searchSpec(hops(1, null), true, fixture.traversal('out', 'R')))
    const { run } = fixture.read(operator, [PATH], {}, 1)
    expect(input.nextCalls).toBe(1)
    expect(run.budget.stepsCharged).toBeGreaterThan(0)
    expect(limitReached(() => fixture.read(operator, [PATH], { limits: { rowsHeldMax: 2 } }))).toBe('rowsHeldMax')
  })
})
