// Argument: one row, without input.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { ArgumentOperator } from '../../../../src/engine/exec/argument.ts'
import { type OperatorFixture, operatorFixture } from '../../../support/operator-fixture.ts'

let fixture: OperatorFixture
beforeAll(async () => {
  fixture = await operatorFixture('(ann:Person)')
})
afterAll(() => fixture.close())

describe('Argument', () => {
  it('returns exactly one row', () => {
    expect(fixture.drain(new ArgumentOperator(), []).rows).toEqual([[]])
  })

  it('fills no slot and charges nothing', () => {
    const { rows, run } = fixture.read(new ArgumentOperator(), [0, 1])
    expect(rows).toEqual([[null, null]])
    expect(run.budget.stepsCharged).toBe(0)
  })
})
