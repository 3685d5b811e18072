// ProjectEndpoints: the nodes at the ends of a known relationship.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TraversalSpec } from '../../../../src/engine/exec/neighbour-cursor.ts'
import { ProjectEndpointsOperator } from '../../../../src/engine/exec/project-endpoints.ts'
import { FixedRows, type OperatorFixture, operatorFixture } from '../../../support/operator-fixture.ts'

const [FROM, TO, RELATIONSHIP, USED] = [0, 1, 2, 3]

let fixture: OperatorFixture
let [a, b] = [0, 0]
let [knows, loop] = [0, 0]
beforeAll(async () => {
  fixture = await operatorFixture('(a:N)-[:KNOWS]->(b:N)\n(b)-[:KNOWS]->(b)')
  a = fixture.node('N', 'a')
  b = fixture.node('N', 'b')
  knows = fixture.relationship(a, 'KNOWS', b)
  loop = fixture.relationship(b, 'KNOWS', b)
})
afterAll(() => fixture.close())

interface KnownEndpoints {
  readonly from?: number
  readonly to?: number
}

function endpoints(
  traversal: TraversalSpec,
  relationship: number,
  { from, to }: KnownEndpoints = {},
  used: unknown = null,
): readonly (readonly unknown[])[] {
  const input = new FixedRows([FROM, TO, RELATIONSHIP, USED], [[from ?? null, to ?? null, relationship, used]])
  const slots = {
    relationship: RELATIONSHIP,
    from: { slot: FROM, known: from !== undefined },
    to: { slot: TO, known: to !== undefined },
    distinctFrom: [USED],
  }
  return fixture.drain(new ProjectEndpointsOperator(input, slots, traversal), [FROM, TO]).rows
}

describe('ProjectEndpoints', () => {
  it('fills both ends in each direction of the step', () => {
    expect(endpoints(fixture.traversal('out', 'KNOWS'), knows)).toEqual([[a, b]])
    expect(endpoints(fixture.traversal('in'), knows)).toEqual([[b, a]])
    expect(endpoints(fixture.traversal('both'), knows)).toEqual([
      [a, b],
      [b, a],
    ])
  })

  it('returns a self-loop once', () => {
    expect(endpoints(fixture.traversal('both'), loop)).toEqual([[b, b]])
  })

  it('compares ends that are known', () => {
    expect(endpoints(fixture.traversal('both'), knows, { from: b })).toEqual([[b, a]])
    expect(endpoints(fixture.traversal('out'), knows, { to: a })).toEqual([])
    expect(endpoints(fixture.traversal('out'), knows, { from: a, to: b })).toEqual([[a, b]])
  })

  it('returns nothing for null, for another type and for a relationship that the same MATCH uses', () => {
    expect(endpoints(fixture.traversal('out'), 0)).toEqual([])
    expect(endpoints(fixture.traversal('out', 'HATES'), knows)).toEqual([])
    expect(endpoints(fixture.traversal('out'), knows, {}, [knows])).toEqual([])
  })

  it('reads no further input row than the consumer asks for, and charges a step per row', () => {
    const input = new FixedRows([RELATIONSHIP], [[knows], [loop]])
    const slots = {
      relationship: RELATIONSHIP,
      from: { slot: FROM, known: false },
      to: { slot: TO, known: false },
      distinctFrom: [],
    }
    const { run } = fixture.read(new ProjectEndpointsOperator(input, slots, fixture.traversal('out')), [FROM], {}, 1)
    expect(input.nextCalls).toBe(1)
    expect(run.budget.stepsCharged).toBe(1)
  })
})
