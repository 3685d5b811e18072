// A limit that ends an explanation at any read of the clock leaves nothing behind that a later one could meet.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { Budget, compileCondition, type DecisionTrace, type PolicyCondition } from '../../../src/engine/conditions.ts'
import { ExecutionError } from '../../../src/engine/errors.ts'
import { LaneRequiredError } from '../../../src/kernel/request/lane-required.ts'
import { readGraph } from '../../support/graph-notation.ts'
import { type StoredGraph, storeGraph } from '../../support/store-engine.ts'

/** Its time ends at one read of the clock. */
class EndingBudget extends Budget {
  private readsLeft: number

  constructor(readsLeft: number) {
    super()
    this.readsLeft = readsLeft
  }

  protected override clock(): number {
    this.readsLeft -= 1
    return this.readsLeft < 0 ? Number.MAX_SAFE_INTEGER : 1
  }
}

/** Each subquery has a type of its own, whose count is read when the subquery is planned. */
const types = Array.from({ length: 24 }, (_, i) => `KNOWS_${i}`)

let stored: StoredGraph
beforeAll(async () => {
  const known = types.map((type) => `(ann)-[:${type}]->(bob)-[:${type}]->(cyd)`)
  stored = await storeGraph(
    readGraph(
      [
        '(ann:Person)-[:OWNS]->(c1:Car {wheels: 4})',
        '(bob:Person)-[:OWNS]->(c1)',
        '(cyd:Person)-[:OWNS]->(c1)',
        ...known,
      ].join('\n'),
    ),
  )
})
afterAll(() => stored.close())

/** Large enough that the clock is read several times while it is planned. */
const exists = types.map(
  (type, i) => `EXISTS { MATCH (subject)-[:${type}]->(a)-[:${type}]->(b)<-[:${type}]-(c) WHERE a.age > ${i} }`,
)
const text = `MATCH (subject:Person)-[:OWNS]->(resource:Car) WHERE ${exists.join(' OR ')} OR resource.wheels = 3`

function compiled(): PolicyCondition {
  const condition = compileCondition({ text, dialect: '3.0-kbac', subjectType: 'Person', resourceType: 'Car' })
  if (!condition.ok) throw new Error(JSON.stringify(condition.error))
  return condition.value
}

function traced(condition: PolicyCondition, budget: Budget, inlineMs: number | undefined): DecisionTrace {
  const limits = {
    stepsMax: 10_000_000,
    timeMs: inlineMs === undefined ? 60_000 : Number.POSITIVE_INFINITY,
    ...(inlineMs === undefined ? {} : { inlineMs }),
  }
  const snapshot = stored.environment.snapshot()
  try {
    budget.start(limits)
    return condition.trace({ snapshot, parameters: new Map(), limits, budget }, 'ann', 'c1')
  } finally {
    snapshot.close()
  }
}

describe.each([
  ['its time limit', undefined, ExecutionError],
  ['the limit of the event loop', 5, LaneRequiredError],
] as const)('an explanation that ended at %s', (_, inlineMs, ending) => {
  it('is given when it is repeated, whichever read of the clock ended it', () => {
    const whole = traced(compiled(), new Budget(), undefined)
    let interrupted = 0
    for (let reads = 1; ; reads++) {
      const condition = compiled()
      let outcome: unknown
      try {
        outcome = traced(condition, new EndingBudget(reads), inlineMs)
      } catch (error) {
        outcome = error
      }
      const again = traced(condition, new Budget(), undefined)
      expect([reads, again.nearestMiss]).toEqual([reads, whole.nearestMiss])
      if (!(outcome instanceof Error)) break
      expect(outcome).toBeInstanceOf(ending)
      interrupted += 1
    }
    expect(interrupted).toBeGreaterThan(5)
  })
})
