// MakePath: the value of a named path.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { MakePathOperator } from '../../../../src/engine/exec/make-path.ts'
import { NodeValue, PathValue, RelationshipValue } from '../../../../src/engine/value/value.ts'
import { FixedRows, type OperatorFixture, operatorFixture } from '../../../support/operator-fixture.ts'

const [A, AB, B, TRAIL, C, PATH] = [0, 1, 2, 3, 4, 5]
const slots = {
  path: PATH,
  nodes: [A, B, C],
  steps: [
    { slot: AB, variable: false },
    { slot: TRAIL, variable: true },
  ],
}

let fixture: OperatorFixture
let [a, b, c] = [0, 0, 0]
let [ab, cb] = [0, 0]
beforeAll(async () => {
  fixture = await operatorFixture('(a:N)-[:R]->(b:N)\n(c:N)-[:R]->(b)')
  a = fixture.node('N', 'a')
  b = fixture.node('N', 'b')
  c = fixture.node('N', 'c')
  ab = fixture.relationship(a, 'R', b)
  cb = fixture.relationship(c, 'R', b)
})
afterAll(() => fixture.close())

const rows = (...input: readonly (readonly unknown[])[]): FixedRows => new FixedRows([A, AB, B, TRAIL, C], input)
const path = (nodes: readonly number[], relationships: readonly number[]): PathValue =>
  new PathValue(
    nodes.map((id) => new NodeValue(0, id)),
    relationships.map((id) => new RelationshipValue(0, id)),
  )

describe('MakePath', () => {
  it('joins single relationships and lists in the order of the path, in either direction', () => {
    const operator = new MakePathOperator(rows([a, ab, b, [cb], c], [a, ab, b, [], b]), slots, 0)
    expect(fixture.drain(operator, [PATH]).rows).toEqual([[path([a, b, c], [ab, cb])], [path([a, b], [ab])]])
  })

  it('is null if an element of the path is null', () => {
    const operator = new MakePathOperator(rows([0, ab, b, [], b], [a, 0, b, [], b], [a, ab, b, null, c]), slots, 0)
    expect(fixture.drain(operator, [PATH]).rows).toEqual([[null], [null], [null]])
  })

  it('charges a step per relationship, for the rows that the consumer reads', () => {
    const input = rows([a, ab, b, [cb], c], [a, ab, b, [], b])
    const { run } = fixture.read(new MakePathOperator(input, slots, 0), [PATH], {}, 1)
    expect(input.nextCalls).toBe(1)
    expect(run.budget.stepsCharged).toBe(2)
  })
})
