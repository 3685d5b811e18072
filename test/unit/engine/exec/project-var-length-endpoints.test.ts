// ProjectVarLengthEndpoints: the nodes at the ends of a known list of relationships.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TraversalSpec } from '../../../../src/engine/exec/neighbour-cursor.ts'
import { ProjectVarLengthEndpointsOperator } from '../../../../src/engine/exec/project-var-length-endpoints.ts'
import { FixedRows, type OperatorFixture, operatorFixture } from '../../../support/operator-fixture.ts'

const [FROM, TO, TRAIL] = [0, 1, 2]

let fixture: OperatorFixture
let [a, b, c] = [0, 0, 0]
let [ab, bc] = [0, 0]
beforeAll(async () => {
  fixture = await operatorFixture('(a:N)-[:R]->(b:N)-[:R]->(c:N)')
  a = fixture.node('N', 'a')
  b = fixture.node('N', 'b')
  c = fixture.node('N', 'c')
  ab = fixture.relationship(a, 'R', b)
  bc = fixture.relationship(b, 'R', c)
})
afterAll(() => fixture.close())

interface KnownTrailEndpoints {
  readonly from?: number
  readonly to?: number
}

function endpoints(
  traversal: TraversalSpec,
  trail: readonly number[] | null,
  { from, to }: KnownTrailEndpoints = {},
  length: { min: number; max: number | null } = { min: 0, max: null },
): readonly (readonly unknown[])[] {
  const input = new FixedRows([FROM, TO, TRAIL], [[from ?? null, to ?? null, trail]])
  const slots = {
    relationship: TRAIL,
    from: { slot: FROM, known: from !== undefined },
    to: { slot: TO, known: to !== undefined },
    distinctFrom: [],
  }
  return fixture.drain(new ProjectVarLengthEndpointsOperator(input, slots, traversal, length), [FROM, TO]).rows
}

describe('ProjectVarLengthEndpoints', () => {
  it('fills the ends of a list that forms a trail in the direction of the step', () => {
    expect(endpoints(fixture.traversal('out', 'R'), [ab, bc])).toEqual([[a, c]])
    expect(endpoints(fixture.traversal('in', 'R'), [bc, ab])).toEqual([[c, a]])
    expect(endpoints(fixture.traversal('out'), [bc, ab])).toEqual([])
  })

  it('tries both ends of the first relationship of an undirected step', () => {
    const rows = endpoints(fixture.traversal('both'), [ab])
    expect(rows).toHaveLength(2)
    expect(rows).toEqual(
      expect.arrayContaining([
        [a, b],
        [b, a],
      ]),
    )
  })

  it('compares ends that are known', () => {
    expect(endpoints(fixture.traversal('both'), [ab], { from: b })).toEqual([[b, a]])
    expect(endpoints(fixture.traversal('out'), [ab, bc], { to: b })).toEqual([])
  })

  it('starts an empty list at the known end, or at every node', () => {
    expect(endpoints(fixture.traversal('out'), [], { to: b })).toEqual([[b, b]])
    expect(endpoints(fixture.traversal('out'), [])).toHaveLength(3)
  })

  it('returns nothing for null, for a repeated relationship, another type and another length', () => {
    expect(endpoints(fixture.traversal('out'), null)).toEqual([])
    expect(endpoints(fixture.traversal('both'), [ab, ab])).toEqual([])
    expect(endpoints(fixture.traversal('out', 'S'), [ab])).toEqual([])
    expect(endpoints(fixture.traversal('out'), [ab, bc], {}, { min: 1, max: 1 })).toEqual([])
    expect(endpoints(fixture.traversal('out'), [], {}, { min: 1, max: null })).toEqual([])
  })

  it('charges a step per relationship', () => {
    const input = new FixedRows([TRAIL], [[[ab, bc]]])
    const slots = {
      relationship: TRAIL,
      from: { slot: FROM, known: false },
      to: { slot: TO, known: false },
      distinctFrom: [],
    }
    const operator = new ProjectVarLengthEndpointsOperator(input, slots, fixture.traversal('out'), {
      min: 1,
      max: null,
    })
    const { run } = fixture.read(operator, [FROM], {}, 1)
    expect(input.nextCalls).toBe(1)
    expect(run.budget.stepsCharged).toBe(4)
  })
})
