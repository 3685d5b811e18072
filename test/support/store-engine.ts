// The real engine over the real store in a temporary folder, with optimiser rules on or off.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { positionOf } from '../../grammar/diagnostic.ts'
import {
  compileCondition,
  type DialectName,
  type EngineOptions,
  type PolicyCondition,
  type QueryContext,
} from '../../src/engine/conditions.ts'
import { ExecutionError } from '../../src/engine/errors.ts'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { type LmdbEnvironment, openEnvironment } from '../../src/store/graph/environment.ts'
import type { ReferenceGraph } from '../oracle/cypher/values.ts'
import { policiesFor, type ScenarioEngine, type ScenarioQuestion } from '../scenarios/engines.ts'
import type { Scenario, ScenarioPolicy } from '../scenarios/read-scenario.ts'
import { engineParameters, writeGraph } from './convert-graph.ts'

export type Rules = 'on' | 'off'

export interface StoredGraph {
  readonly environment: LmdbEnvironment
  close(): Promise<void>
}

/** Writes the graph as a capture would, into its own environment; small chunks turn short lists into long ones. */
export async function storeGraph(graph: ReferenceGraph, chunks?: { entriesPerChunk: number }): Promise<StoredGraph> {
  const folder = await mkdtemp(join(tmpdir(), 'verdigraph-world-'))
  const environment = openEnvironment(folder, { clock: systemClock, sync: false, ...chunks })
  const stored = {
    environment,
    close: async () => {
      await environment.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
  try {
    await environment.write((batch) => writeGraph(graph, batch))
  } catch (fault) {
    await stored.close()
    throw fault
  }
  return stored
}

/**
 * Evaluates within one snapshot. As in a decision, a condition with a missing parameter is not evaluated, and a policy
 * that fails grants nothing.
 */
export function ask<T>(
  environment: LmdbEnvironment,
  condition: PolicyCondition,
  parameters: ScenarioQuestion['parameters'],
  question: (asking: QueryContext) => T,
  faulted: T,
): T {
  if (condition.parameters.some((name) => !parameters.has(name.split('.')[0] as string))) return faulted
  const snapshot = environment.snapshot()
  try {
    return question({
      snapshot,
      parameters: engineParameters(parameters),
      limits: { stepsMax: 5_000_000, timeMs: 30_000 },
    })
  } catch (fault) {
    if (fault instanceof ExecutionError && fault.code !== 'budget') return faulted
    throw fault
  } finally {
    snapshot.close()
  }
}

/** One line per diagnostic: position and message. */
export function compiled(
  policy: { cypher: string; subject: string; resource: string; version: string; keepsUnknown?: boolean },
  rules: Rules,
  options: Omit<EngineOptions, 'rules'> = {},
): PolicyCondition | string {
  const result = compileCondition(
    {
      text: policy.cypher,
      // The policy dialects refuse claims without a token; the engine supports them nevertheless.
      dialect: policy.cypher.includes('$token') ? 'open' : (policy.version as DialectName),
      subjectType: policy.subject,
      resourceType: policy.resource,
      keepsUnknown: policy.keepsUnknown === true,
    },
    { rules, ...options },
  )
  if (result.ok) return result.value
  return result.error
    .map((issue) => {
      const { line, column } = positionOf(policy.cypher, issue.span.start)
      return `${line}:${column} ${issue.code}: ${issue.message} (found ${issue.found ?? '-'}, expected ${issue.expected ?? '-'})`
    })
    .join('\n')
}

/** Every check is also explained, and the explanation must have the same decision. */
function checkAndWhy(condition: PolicyCondition, asking: QueryContext, subjectId: string, resourceId: string): boolean {
  const granted = condition.check(asking, subjectId, resourceId)
  const why = condition.trace(asking, subjectId, resourceId)
  if (why.decision !== granted) throw new Error(`check says ${granted}, why says ${why.decision}`)
  return granted
}

export const storeEngine = (rules: Rules): ScenarioEngine => ({
  name: `the engine with rules ${rules}`,
  refuses: true,
  open: async (scenario: Scenario) => {
    const conditions = new Map(
      scenario.policies.map((policy) => {
        const condition = compiled({ ...policy, keepsUnknown: policy.effect === 'forbid' }, rules)
        if (typeof condition === 'string') throw new Error(`${scenario.name}, ${policy.cypher}: ${condition}`)
        return [policy, condition]
      }),
    )
    const { environment, close } = await storeGraph(scenario.graph)
    const asked = <T>(
      policy: ScenarioPolicy,
      question: ScenarioQuestion,
      each: (condition: PolicyCondition, asking: QueryContext) => T,
      faulted: T,
    ): T => {
      const condition = conditions.get(policy) as PolicyCondition
      return ask(environment, condition, question.parameters, (asking) => each(condition, asking), faulted)
    }
    const ofEffect = (question: ScenarioQuestion, effect: string): ScenarioPolicy[] =>
      policiesFor(scenario, question).filter((policy) => policy.effect === effect)
    const isForbidden = (question: ScenarioQuestion, subjectId: string, resourceId: string): boolean =>
      ofEffect(question, 'forbid').some((policy) =>
        asked(policy, question, (condition, asking) => checkAndWhy(condition, asking, subjectId, resourceId), true),
      )
    const union = (
      question: ScenarioQuestion,
      each: (condition: PolicyCondition, asking: QueryContext) => string[],
    ): string[] => {
      const found = ofEffect(question, 'permit').flatMap((policy) => asked(policy, question, each, []))
      return [...new Set(found)]
    }
    return {
      carries: () => true,
      evaluate: async (question, subjectId, resourceId) =>
        ofEffect(question, 'permit').some((policy) =>
          asked(policy, question, (condition, asking) => checkAndWhy(condition, asking, subjectId, resourceId), false),
        ) && !isForbidden(question, subjectId, resourceId),
      resources: async (question, subjectId) =>
        union(question, (condition, asking) => condition.resources(asking, subjectId)).filter(
          (id) => !isForbidden(question, subjectId, id),
        ),
      subjects: async (question, resourceId) =>
        union(question, (condition, asking) => condition.subjects(asking, resourceId)).filter(
          (id) => !isForbidden(question, id, resourceId),
        ),
      refusal: async (policy) => {
        const condition = compiled(policy, rules)
        return typeof condition === 'string' ? condition : null
      },
      close,
    }
  },
})
