// AllNodesScan and NodeByLabelScan over several chunks of ids.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { NodeScanOperator } from '../../../../src/engine/exec/node-scan.ts'
import { column, type OperatorFixture, oneRow, operatorFixture } from '../../../support/operator-fixture.ts'

const PEOPLE = 40
const NODE = 1

let fixture: OperatorFixture
let people: number[]
beforeAll(async () => {
  const lines = Array.from({ length: PEOPLE }, (_, i) => `(p${i}:Person)`)
  fixture = await operatorFixture([...lines, '(car:Car)'].join('\n'), 8)
  people = Array.from({ length: PEOPLE }, (_, i) => fixture.node('Person', `p${i}`))
})
afterAll(() => fixture.close())

const scan = (label: string | null, input = oneRow(), isResumed = false): NodeScanOperator =>
  new NodeScanOperator(input, NODE, label === null ? null : fixture.label(label), 0, isResumed)

describe('NodeScan', () => {
  it('returns the nodes with a label in ascending order of ids', () => {
    expect(fixture.drain(scan('Person'), [NODE]).rows).toEqual(people.toSorted((a, b) => a - b).map((id) => [id]))
  })

  it('returns every node without a label', () => {
    expect(fixture.drain(scan(null), [NODE]).rows).toHaveLength(PEOPLE + 1)
  })

  it('repeats the scan for each input row', () => {
    const { rows } = fixture.drain(scan('Car', column(0, ['a', 'b'])), [0, NODE])
    const car = fixture.node('Car', 'car')
    expect(rows).toEqual([
      ['a', car],
      ['b', car],
    ])
  })

  it('returns no row for a label that no node has, or without input', () => {
    expect(fixture.drain(scan('Boat'), [NODE]).rows).toEqual([])
    expect(fixture.drain(scan('Person', column(0, [])), [NODE]).rows).toEqual([])
  })

  it('starts after the node at which the execution resumes', () => {
    const after = people[10]!
    const { rows, run } = fixture.drain(scan('Person', oneRow(), true), [NODE], { resumeAfter: after })
    expect(rows).toEqual(people.filter((id) => id > after).map((id) => [id]))
    expect(run.isIncremental).toBe(true)
  })

  it('charges a step per node, and only for chunks that are read', () => {
    const whole = fixture.read(scan('Person'), [NODE]).run.budget.stepsCharged
    const first = fixture.read(scan('Person'), [NODE], {}, 1).run.budget.stepsCharged
    expect(whole).toBeGreaterThanOrEqual(PEOPLE)
    expect(first).toBeLessThanOrEqual(whole)
    expect(first).toBeGreaterThan(0)
  })
})
