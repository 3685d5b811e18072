// The questions of one context use the same tables if these depend on the graph alone.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { compileCondition, type PolicyCondition } from '../../../../src/engine/conditions.ts'
import { compileModel } from '../../../../src/engine/definitions/model.ts'
import { ExecutionError } from '../../../../src/engine/errors.ts'
import { readGraph } from '../../../support/graph-notation.ts'
import { type StoredGraph, storeGraph } from '../../../support/store-engine.ts'

const MODEL = `
DEFINE (a:Doc)-[:next]->(b:Doc) AS { MATCH (a)-[:NEXT]->(b) }
DEFINE (a:Doc)-[:shown]->(b:Doc) AS { MATCH (a)-[:NEXT]->(b) WHERE $level > 2 UNION MATCH (a)-[:shown]->(x), (x)-[:shown]->(b) }
`

let stored: StoredGraph
let snapshot: ReturnType<StoredGraph['environment']['snapshot']>
beforeAll(async () => {
  const chain = Array.from({ length: 60 }, (_, at) => `(x${at}:Doc)-[:NEXT]->(x${at + 1}:Doc)`)
  stored = await storeGraph(readGraph(chain.join('\n')))
  snapshot = stored.environment.snapshot()
})
afterAll(async () => {
  snapshot.close()
  await stored.close()
})

function conditionOf(text: string): PolicyCondition {
  const model = compileModel(MODEL)
  if (!model.ok) throw new Error(model.error[0]!.message)
  const types = { subjectType: 'Doc', resourceType: 'Doc' }
  const compiled = compileCondition({ text, dialect: '3.0-kbac', definitions: model.value, ...types })
  if (!compiled.ok) throw new Error(compiled.error[0]!.message)
  return compiled.value
}

const contextOf = (stepsMax: number, level = 3) => ({
  snapshot,
  parameters: new Map([['level', level]]),
  limits: { stepsMax, timeMs: 60_000 },
})

test('a further question of the context needs few steps', () => {
  const walk = conditionOf('MATCH (subject:Doc)-[:next]->{2,60}(resource:Doc)')
  const few = { stepsMax: 60, timeMs: 60_000 }
  const context = contextOf(100_000)
  expect(walk.check(context, 'x0', 'x50')).toBe(true)
  context.limits = few
  expect(walk.check(context, 'x0', 'x50')).toBe(true)
  expect(() => walk.check(contextOf(few.stepsMax), 'x0', 'x50')).toThrow('the limit of 60 steps is reached')
})

test('tables that a limit has interrupted are not used again', () => {
  const walk = conditionOf('MATCH (subject:Doc)-[:next]->{2,60}(resource:Doc)')
  let interrupted = 0
  for (let stepsMax = 1; stepsMax < 1_000; stepsMax += 7) {
    const context = contextOf(stepsMax)
    try {
      expect(walk.check(context, 'x0', 'x50')).toBe(true)
    } catch (error) {
      if (!(error instanceof ExecutionError)) throw error
      interrupted += 1
    }
    context.limits = { stepsMax: 100_000, timeMs: 60_000 }
    expect(walk.check(context, 'x0', 'x50')).toBe(true)
    expect(walk.check(context, 'x0', 'x59')).toBe(true)
  }
  expect(interrupted).toBeGreaterThan(5)
})

test('a definition that reads a parameter is evaluated for each question', () => {
  const shown = conditionOf('MATCH (subject:Doc)-[:shown]->(resource:Doc)')
  const context = contextOf(100_000)
  expect(shown.check(context, 'x0', 'x3')).toBe(true)
  context.parameters = new Map([['level', 1]])
  expect(shown.check(context, 'x0', 'x3')).toBe(false)
})
