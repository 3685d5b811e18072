// Reads a scenario file with the loader of the product, and gives it the values of the reference interpreter.
import { Float } from '../../src/kernel/float.ts'
import { parseJson } from '../../src/kernel/json/json.ts'
import { readScenarioText } from '../../src/scenarios/load-scenario.ts'
import type { ScenarioCall } from '../../src/scenarios/scenario.ts'
import type { ReferenceGraph, ReferenceValue } from '../oracle/cypher/values.ts'
import { referenceGraph } from '../support/graph-notation.ts'

export type ScenarioParameters = ReadonlyMap<string, ReferenceValue>

export interface EntityRef {
  readonly type: string
  readonly id: string
}

export interface ScenarioPolicy {
  readonly name: string
  readonly version: string
  readonly effect: 'permit' | 'forbid'
  readonly subject: string
  readonly actions: readonly string[]
  readonly resource: string
  readonly cypher: string
}

export interface ExpectedDecision {
  readonly subject: EntityRef
  readonly action: string
  readonly resource: EntityRef
  readonly parameters: ScenarioParameters
  readonly granted: boolean
}

/** One end is given; the ids of the other end are expected. */
export interface ExpectedSearch {
  readonly given: EntityRef
  readonly action: string
  readonly soughtType: string
  readonly parameters: ScenarioParameters
  /** Sorted. */
  readonly ids: readonly string[]
}

export interface RefusedPolicy {
  readonly cypher: string
  readonly version: string
  readonly subject: string
  readonly resource: string
  readonly messageContains: string
}

export interface Scenario {
  readonly name: string
  readonly graph: ReferenceGraph
  readonly policies: readonly ScenarioPolicy[]
  readonly decisions: readonly ExpectedDecision[]
  readonly resources: readonly ExpectedSearch[]
  readonly subjects: readonly ExpectedSearch[]
  readonly refused: readonly RefusedPolicy[]
}

export function readScenario(name: string, text: string): Scenario {
  const { notation, ownDocuments, decisions, resources, subjects, refused } = readScenarioText(name, text, null)
  return {
    name,
    graph: referenceGraph(notation ?? { nodes: [], relationships: [] }),
    policies: ownDocuments.map((document) => policyOf(document.name, document.body.policy as string)),
    decisions: decisions.map(({ expect, subject, action, resource, ...call }) => ({
      subject,
      action,
      resource,
      parameters: parametersOf(call),
      granted: expect === 'yes',
    })),
    resources: resources.map(({ subject, action, type, ids, ...call }) => ({
      given: subject,
      action,
      soughtType: type,
      parameters: parametersOf(call),
      ids,
    })),
    subjects: subjects.map(({ resource, action, type, ids, ...call }) => ({
      given: resource,
      action,
      soughtType: type,
      parameters: parametersOf(call),
      ids,
    })),
    refused,
  }
}

function policyOf(name: string, text: string): ScenarioPolicy {
  const json = parseJson(text)
  if (!json.ok) throw new Error(json.error.message)
  const {
    meta,
    effect = 'permit',
    subject,
    actions,
    resource,
    condition,
  } = json.value as {
    meta: { policy_version: string }
    effect?: 'permit' | 'forbid'
    subject: { type: string }
    actions: readonly string[]
    resource: { type: string }
    condition: { cypher: string }
  }
  return {
    name,
    version: meta.policy_version,
    effect,
    subject: subject.type,
    actions,
    resource: resource.type,
    cypher: condition.cypher,
  }
}

/** The claims of a token are the parameter `token`. */
function parametersOf({ params, token }: ScenarioCall): ScenarioParameters {
  const claims = token == null ? {} : { token: token.claims ?? {} }
  return new Map(Object.entries({ ...params, ...claims }).map(([name, value]) => [name, referenceValue(value)]))
}

function referenceValue(value: unknown): ReferenceValue {
  if (value instanceof Float) return value.value
  if (typeof value === 'number') return BigInt(value)
  if (Array.isArray(value)) return value.map(referenceValue)
  if (value === null || typeof value !== 'object') return value as ReferenceValue
  return new Map(Object.entries(value).map(([name, member]) => [name, referenceValue(member)]))
}
