// OrderedExpand: the distinct neighbours of nodes in ascending order, with collected and with merged lists.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { OrderedExpandOperator } from '../../../../src/engine/exec/ordered-expand.ts'
import { column, limitReached, type OperatorFixture, operatorFixture } from '../../../support/operator-fixture.ts'

const [FROM, TO] = [0, 1]
const CARS = 60

let fixture: OperatorFixture
let [ann, bob, cid] = [0, 0, 0]
let cars: number[]
beforeAll(async () => {
  const lines = Array.from({ length: CARS }, (_, i) => `(c${i}:Car)`)
  // ann owns the even cars and bob every third one, written in descending order.
  for (let i = CARS - 1; i >= 0; i--) {
    if (i % 2 === 0) lines.push(`(ann:Person)-[:OWNS]->(c${i})`)
    if (i % 3 === 0) lines.push(`(bob:Person)-[:OWNS]->(c${i})`)
  }
  fixture = await operatorFixture([...lines, '(cid:Person)'].join('\n'), 8)
  ann = fixture.node('Person', 'ann')
  bob = fixture.node('Person', 'bob')
  cid = fixture.node('Person', 'cid')
  cars = Array.from({ length: CARS }, (_, i) => i)
    .filter((i) => i % 2 === 0 || i % 3 === 0)
    .map((i) => fixture.node('Car', `c${i}`))
    .toSorted((a, b) => a - b)
})
afterAll(() => fixture.close())

for (const [name, collectedMax] of [
  ['collected', 1_000_000],
  ['merged', 0],
] as const) {
  const expand = (nodes: readonly number[], ...types: readonly string[]): OrderedExpandOperator =>
    new OrderedExpandOperator(
      column(FROM, nodes),
      { from: FROM, to: TO },
      fixture.traversal('out', ...types),
      collectedMax,
    )

  describe(`OrderedExpand over ${name} lists`, () => {
    it('returns the neighbours of all input rows in ascending order, each once', () => {
      expect(fixture.drain(expand([bob, ann, bob], 'OWNS'), [TO]).rows).toEqual(cars.map((id) => [id]))
      expect(fixture.drain(expand([ann, bob]), [TO]).rows).toEqual(cars.map((id) => [id]))
    })

    it('starts after the node at which the execution resumes', () => {
      const after = cars[7]!
      const { rows } = fixture.drain(expand([ann, bob], 'OWNS'), [TO], { resumeAfter: after })
      expect(rows).toEqual(cars.slice(8).map((id) => [id]))
    })

    it('returns nothing without input, for null and for nodes without neighbours', () => {
      expect(fixture.drain(expand([], 'OWNS'), [TO]).rows).toEqual([])
      expect(fixture.drain(expand([0, cid], 'OWNS'), [TO]).rows).toEqual([])
      expect(fixture.drain(expand([ann], 'SELLS'), [TO]).rows).toEqual([])
    })

    it('counts start nodes against the limit of rows in memory', () => {
      const limits = { rowsHeldMax: 1 }
      expect(limitReached(() => fixture.read(expand([ann, bob], 'OWNS'), [TO], { limits }))).toBe('rowsHeldMax')
    })
  })
}

describe('OrderedExpand over merged lists', () => {
  it('reads only the chunks that the consumer needs', () => {
    const operator = new OrderedExpandOperator(
      column(FROM, [ann, bob]),
      { from: FROM, to: TO },
      fixture.traversal('out', 'OWNS'),
      0,
    )
    const first = fixture.read(operator, [TO], {}, 1).run
    const all = fixture.read(operator, [TO]).run
    expect(first.isIncremental).toBe(true)
    expect(first.budget.stepsCharged).toBeLessThan(all.budget.stepsCharged)
  })
})
