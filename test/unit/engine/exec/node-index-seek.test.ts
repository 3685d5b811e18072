// NodeIndexSeek: candidates of an equality from the property index.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NodeIndexSeekOperator } from '../../../../src/engine/exec/node-index-seek.ts'
import type { Value } from '../../../../src/engine/value/value.ts'
import { column, type OperatorFixture, oneRow, operatorFixture } from '../../../support/operator-fixture.ts'

const NODE = 1

let fixture: OperatorFixture
beforeAll(async () => {
  fixture = await operatorFixture(
    '(ann:Person {age: 30})\n(bob:Person {age: 40})\n(cid:Person {age: 30})\n(dog:Pet {age: 30})',
  )
})
afterAll(() => fixture.close())

const seek = (value: Value, input = oneRow(), isResumed = false): NodeIndexSeekOperator =>
  new NodeIndexSeekOperator(input, NODE, fixture.label('Person'), fixture.property('age'), () => value, 0, isResumed)
const person = (name: string): number => fixture.node('Person', name)

describe('NodeIndexSeek', () => {
  it('returns the nodes with the label and the value, in ascending order', () => {
    expect(fixture.drain(seek(30), [NODE]).rows).toEqual([[person('ann')], [person('cid')]])
    expect(fixture.drain(seek(41), [NODE]).rows).toEqual([])
  })

  it('returns nothing for null, and all nodes with the label for a value that the index cannot hold', () => {
    expect(fixture.drain(seek(null), [NODE]).rows).toEqual([])
    expect(fixture.drain(seek([30]), [NODE]).rows).toHaveLength(3)
  })

  it('evaluates the value once per input row', () => {
    let value = 20
    const input = column(0, ['a', 'b', 'c'])
    const next = (): Value => (value += 10)
    const operator = new NodeIndexSeekOperator(input, NODE, fixture.label('Person'), fixture.property('age'), next, 0)
    expect(fixture.read(operator, [0, NODE]).rows).toEqual([
      ['a', person('ann')],
      ['a', person('cid')],
      ['b', person('bob')],
    ])
  })

  it('starts after the node at which the execution resumes', () => {
    const options = { resumeAfter: person('ann') }
    expect(fixture.drain(seek(30, oneRow(), true), [NODE], options).rows).toEqual([[person('cid')]])
  })

  it('charges a step per candidate', () => {
    expect(fixture.read(seek(30), [NODE]).run.budget.stepsCharged).toBeGreaterThanOrEqual(2)
  })
})
