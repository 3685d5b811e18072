// The executions of one context derive a pair once, whatever condition asks for it, if it depends on the same graph and the same values.
import { afterAll, beforeAll, expect, test } from 'vitest'
import {
  Budget,
  compileCondition,
  KnownGoals,
  type PolicyCondition,
  type QueryContext,
} from '../../../../src/engine/conditions.ts'
import { compileModel } from '../../../../src/engine/definitions/model.ts'
import { ExecutionError } from '../../../../src/engine/errors.ts'
import type { Value } from '../../../../src/engine/value/value.ts'
import { Float } from '../../../../src/kernel/float.ts'
import { LaneRequiredError } from '../../../../src/kernel/request/lane-required.ts'
import { readGraph } from '../../../support/graph-notation.ts'
import { type StoredGraph, storeGraph } from '../../../support/store-engine.ts'

const MODEL = `
DEFINE (a:Doc)-[:next]->(b:Doc) AS { MATCH (a)-[:NEXT]->(b) }
DEFINE (a:Doc)-[:reaches]->(b:Doc) AS { MATCH (a)-[:NEXT]->(b) UNION MATCH (a)-[:reaches]->(x), (x)-[:reaches]->(b) }
DEFINE (a:Doc)-[:shown]->(b:Doc) AS { MATCH (a)-[:NEXT]->(b) WHERE $level > 2 UNION MATCH (a)-[:shown]->(x), (x)-[:shown]->(b) }
DEFINE (a:Doc)-[:listed]->(b:Doc) AS { MATCH (a)-[:shown]->(b), (a)-[:reaches]->(b) UNION MATCH (a)-[:listed]->(x), (x)-[:listed]->(b) }
DEFINE (a:Doc)-[:apart]->(b:Doc) AS { MATCH (a), (b) WHERE NOT (a)-[:reaches]->(b) }
`
const model = compileModel(MODEL)
if (!model.ok) throw new Error(model.error[0]!.message)
const definitions = model.value

let stored: StoredGraph
let snapshot: ReturnType<StoredGraph['environment']['snapshot']>
beforeAll(async () => {
  const chain = Array.from({ length: 40 }, (_, at) => `(x${at}:Doc)-[:NEXT]->(x${at + 1}:Doc)`)
  stored = await storeGraph(readGraph([...chain, '(x0:Doc)-[:NEXT]->(y:Doc)'].join('\n')))
  snapshot = stored.environment.snapshot()
})
afterAll(async () => {
  snapshot.close()
  await stored.close()
})

function conditionOf(text: string): PolicyCondition {
  const types = { subjectType: 'Doc', resourceType: 'Doc' }
  const compiled = compileCondition({ text, dialect: '3.0-kbac', definitions, ...types })
  if (!compiled.ok) throw new Error(compiled.error[0]!.message)
  return compiled.value
}

const wide = { stepsMax: 10_000_000, timeMs: 60_000 }

/** The context of one request: the budget starts again with each question, as in a batch. */
class OneRequest {
  private readonly knownGoals = new KnownGoals()
  private readonly budget = new Budget()

  context(parameters: Readonly<Record<string, Value>> = {}, limits: QueryContext['limits'] = wide): QueryContext {
    const { budget, knownGoals } = this
    budget.start(limits)
    return { snapshot, parameters: new Map(Object.entries(parameters)), limits, budget, knownGoals }
  }

  /** Steps of a check, which must have this answer. */
  steps(
    condition: PolicyCondition,
    [from, to]: readonly [string, string],
    expected: boolean,
    level: Value = 3,
  ): number {
    const context = this.context({ level })
    expect(condition.check(context, from, to)).toBe(expected)
    return context.budget!.stepsCharged
  }
}

const inOrder: readonly [string, string] = ['x0', 'x30']
const backwards: readonly [string, string] = ['x30', 'x0']

test('three conditions that use one definition derive its pairs once', () => {
  const conditions = [
    'MATCH (subject:Doc)-[:reaches]->(resource:Doc)',
    'MATCH (subject:Doc)-[:reaches]->(resource:Doc) WHERE resource.level IS NULL',
    'MATCH (subject:Doc), (resource:Doc) WHERE EXISTS { (subject)-[:reaches]->(resource) }',
  ].map(conditionOf)
  for (const [pair, answer] of [
    [inOrder, true],
    [backwards, false],
  ] as const) {
    const request = new OneRequest()
    const [first, ...further] = conditions.map((condition) => request.steps(condition, pair, answer))
    expect(first).toBeGreaterThan(100)
    for (const steps of further) expect(steps).toBeLessThan(10)
    for (const condition of conditions) expect(new OneRequest().steps(condition, pair, answer)).toBeGreaterThan(100)
  }
})

test('another definition uses what the conditions before have derived', () => {
  const [reaches, apart] = ['reaches', 'apart'].map((type) =>
    conditionOf(`MATCH (subject:Doc)-[:${type}]->(resource:Doc)`),
  )
  const request = new OneRequest()
  request.steps(reaches!, backwards, false)
  expect(request.steps(apart!, backwards, true)).toBeLessThan(10)
})

test('a search and a check of one request share what they derive from the same ends', () => {
  const reaches = conditionOf('MATCH (subject:Doc)-[:reaches]->(resource:Doc)')
  const request = new OneRequest()
  const first = request.context()
  expect(reaches.resources(first, 'x30')).toHaveLength(10)
  const steps = first.budget!.stepsCharged
  const second = request.context()
  expect(reaches.resources(second, 'x30')).toHaveLength(10)
  expect(second.budget!.stepsCharged).toBeLessThan(steps / 5)
})

test.each<[Value, Value, boolean]>([
  [3, 3, true],
  [3, 4, false],
  [3, new Float(3), false],
  [new Float(3), new Float(3), true],
  ['3', '3', true],
])('a definition that reads a parameter: %s, then %s', (before, after, isShared) => {
  const shown = conditionOf('MATCH (subject:Doc)-[:shown]->(resource:Doc)')
  const request = new OneRequest()
  const answer = before !== '3'
  expect(request.steps(shown, inOrder, answer, before)).toBeGreaterThan(isShared && !answer ? 1 : 100)
  const steps = request.steps(shown, inOrder, answer, after)
  if (isShared) expect(steps).toBeLessThan(10)
  else expect(steps).toBeGreaterThan(100)
})

test('a parameter that another definition reads does not matter, and one that a used definition reads does', () => {
  const [reaches, listed] = ['reaches', 'listed'].map((type) =>
    conditionOf(`MATCH (subject:Doc)-[:${type}]->(resource:Doc) WHERE $level > 0`),
  )
  const request = new OneRequest()
  request.steps(reaches!, inOrder, true, 3)
  expect(request.steps(reaches!, inOrder, true, 4)).toBeLessThan(10)
  request.steps(listed!, inOrder, true, 3)
  expect(request.steps(listed!, inOrder, false, 1)).toBeGreaterThan(2)
  expect(request.steps(reaches!, inOrder, true, 1)).toBeLessThan(10)
})

test('a question does not pay for what the question before has left', () => {
  const reaches = conditionOf('MATCH (subject:Doc)-[:reaches]->(resource:Doc)')
  // Once the pair is proved, what else is reached from its source is not searched.
  const near: readonly [string, string] = ['x0', 'x5']
  const alone = new OneRequest().steps(reaches, ['x38', 'y'], false)
  const request = new OneRequest()
  request.steps(reaches, near, true)
  expect(request.steps(reaches, ['x38', 'y'], false)).toBe(alone)
})

test('no answer is wrong after limits have ended questions at any step', () => {
  const texts = ['reaches', 'apart', 'shown', 'listed']
  const conditions = texts.map((type) => conditionOf(`MATCH (subject:Doc)-[:${type}]->(resource:Doc)`))
  const questions: readonly (readonly [string, string])[] = [inOrder, backwards, ['x5', 'y'], ['x0', 'y']]
  const expected = conditions.map((one) =>
    questions.map(([a, b]) => one.check(new OneRequest().context({ level: 3 }), a, b)),
  )
  const endings: readonly ((steps: number) => QueryContext['limits'])[] = [
    (stepsMax) => ({ ...wide, stepsMax }),
    (rowsHeldMax) => ({ ...wide, rowsHeldMax }),
    (rows) => ({ ...wide, bytesHeldMax: rows * 100 }),
  ]
  let ended = 0
  for (const limitsOf of endings) {
    for (let at = 1; at < 900; at = Math.ceil(at * 1.7)) {
      const request = new OneRequest()
      for (const [n, condition] of conditions.entries()) {
        for (const [q, [from, to]] of questions.entries()) {
          try {
            expect(condition.check(request.context({ level: 3 }, limitsOf(at)), from, to)).toBe(expected[n]![q])
          } catch (error) {
            if (!(error instanceof ExecutionError) || error.code !== 'budget') throw error
            ended += 1
          }
        }
      }
      for (const [n, condition] of conditions.entries()) {
        const found = questions.map(([from, to]) => condition.check(request.context({ level: 3 }), from, to))
        expect(found, texts[n]).toEqual(expected[n])
      }
    }
  }
  expect(ended).toBeGreaterThan(50)
})

test('a question that moves to a lane in the middle of a fixpoint leaves no partial answer', () => {
  // The clock of the budget advances with each read, so the time on the event loop ends after so many reads.
  class Clock extends Budget {
    reads = 0
    protected override clock(): number {
      return this.reads++
    }
  }
  const reaches = conditionOf('MATCH (subject:Doc)-[:reaches]->(resource:Doc)')
  let moved = 0
  for (let inlineMs = 1; inlineMs < 40; inlineMs += 3) {
    const knownGoals = new KnownGoals()
    const budget = new Clock()
    const context = { snapshot, parameters: new Map(), limits: wide, budget, knownGoals }
    budget.start({ ...wide, inlineMs })
    try {
      reaches.check(context, 'x1', 'y')
    } catch (error) {
      if (!(error instanceof LaneRequiredError)) throw error
      moved += 1
    }
    budget.start({ ...wide, timeMs: 1_000_000 })
    expect(reaches.check(context, ...inOrder)).toBe(true)
    expect(reaches.check(context, 'x1', 'y')).toBe(false)
  }
  expect(moved).toBeGreaterThan(2)
})
