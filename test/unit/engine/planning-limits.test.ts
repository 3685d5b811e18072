// The planning of a query is limited as its run is: by the time limit, and on the event loop by its size.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { BudgetLimits } from '../../../src/engine/budget.ts'
import { compileCondition, type PolicyCondition } from '../../../src/engine/conditions.ts'
import { LaneRequiredError } from '../../../src/kernel/request/lane-required.ts'
import { readGraph } from '../../support/graph-notation.ts'
import { type StoredGraph, storeGraph } from '../../support/store-engine.ts'

let stored: StoredGraph
beforeAll(async () => {
  stored = await storeGraph(readGraph('(ann:Person)-[:R0]->(car:Car)'))
})
afterAll(() => stored.close())

/** A condition with `2 ** depth` branches, of which the first is taken. */
function branches(depth: number): PolicyCondition {
  let leaves = 0
  const nested = (left: number): string =>
    left === 0
      ? `MATCH (subject)-[:R${leaves++}]->(resource) RETURN subject, resource`
      : `WHEN true THEN { ${nested(left - 1)} } ELSE { ${nested(left - 1)} }`
  const compiled = compileCondition({
    text: nested(depth),
    dialect: '3.0-kbac',
    subjectType: 'Person',
    resourceType: 'Car',
  })
  if (!compiled.ok) throw new Error(compiled.error[0]!.message)
  return compiled.value
}

function check(condition: PolicyCondition, limits: BudgetLimits): boolean {
  const snapshot = stored.environment.snapshot()
  try {
    return condition.check({ snapshot, parameters: new Map(), limits }, 'ann', 'car')
  } finally {
    snapshot.close()
  }
}

const ample: BudgetLimits = { stepsMax: 1_000_000, timeMs: 600_000 }

describe('planning', () => {
  test('a large query is planned in a lane, and a small one on the event loop', () => {
    const inline = { ...ample, inlineMs: 600_000 }
    const large = branches(8)
    expect(() => check(large, inline)).toThrow(LaneRequiredError)
    expect(() => check(large, inline)).toThrow('planning')
    expect(check(large, ample)).toBe(true)
    // With a plan, the run decides whether it needs a lane.
    expect(check(large, inline)).toBe(true)
    expect(check(branches(2), inline)).toBe(true)
  })

  test('planning ends at the time limit, and later begins again', () => {
    const condition = branches(8)
    expect(() => check(condition, { ...ample, timeMs: 0 })).toThrow('the time limit of 0 ms is reached')
    expect(check(condition, ample)).toBe(true)
  })
})
