// What every question of this folder needs and shares: its parts, the policies it may use, the parameters it binds and
// how a fault inside a policy is told.
import type { BudgetLimits } from '../engine/conditions.ts'
import { RunFault } from '../engine/errors.ts'
import type { ProjectGraphs } from '../engine/store.ts'
import { fromJson } from '../engine/value/convert.ts'
import type { Value } from '../engine/value/value.ts'
import type { AgentCaller } from '../identity/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { platformParameters } from '../policy/compile-policy.ts'
import type { CompiledPolicy } from '../policy/library.ts'
import type { RequestContextMembers } from './schema.ts'

/** A fault inside one policy: it does not grant (ruling D1), and its author wants to know why. */
export interface DecisionFault {
  readonly projectId: string
  readonly policyId: string
  readonly question: 'evaluation' | 'resource search' | 'subject search'
  readonly code: RunFault['code']
  readonly message: string
}

export interface DecisionParts {
  readonly policies: {
    find(projectId: string, subjectType: string, action: string, resourceType: string): readonly CompiledPolicy[]
  }
  /** Null while the project has no graph: not provisioned yet, or deleted. */
  graphsOf(projectId: string): ProjectGraphs | null
  readonly limits: BudgetLimits
  /** Characters of one string among the input parameters. */
  readonly inputStringMax: number
  onFault(fault: DecisionFault): void
}

export const noGraph: Result<never, ServiceError> = err({
  kind: 'not-found',
  message: 'knowledge graph not found for this project',
})

const noPolicies: readonly CompiledPolicy[] = []
const noParameters: ReadonlyMap<string, Value> = new Map()
const emptyMap: ReadonlyMap<string, Value> = new Map()

/** Names that only the platform fills: a caller who sends one would speak for a token, an application or another node. */
const reserved: ReadonlySet<string> = new Set([...platformParameters, 'token', 'svc_token', '_appId'])

interface Side {
  readonly type: string
  /** Null on the side that is sought. */
  readonly id: string | null
  readonly properties?: Readonly<Record<string, unknown>> | undefined
}

export interface Question {
  readonly subject: Side
  readonly resource: Side
  readonly action: { readonly name: string; readonly properties?: Readonly<Record<string, unknown>> | undefined }
  readonly context: RequestContextMembers
}

/** Policies of the project for the question; with `policy_tags` only those with at least one of them (ruling D6). */
export function policiesFor(parts: DecisionParts, caller: AgentCaller, question: Question): readonly CompiledPolicy[] {
  const found = parts.policies.find(
    caller.projectId,
    question.subject.type,
    question.action.name,
    question.resource.type,
  )
  const tags = question.context?.policy_tags
  if (tags === undefined) return found
  if (found.length === 0) return noPolicies
  return found.filter((policy) => policy.tags.some((tag) => tags.includes(tag)))
}

/**
 * Values for every parameter that can be bound: the caller's, then the platform's own, which win.
 * On the side that is sought there is no `$…_external_id`.
 */
export function bindParameters(
  parts: DecisionParts,
  question: Question,
  policies: readonly CompiledPolicy[],
): Result<ReadonlyMap<string, Value>, ServiceError> {
  const given = question.context?.input_params
  if (given !== undefined) {
    const refused = refusalOf(given, parts.inputStringMax)
    if (refused !== null) return refused
  }
  if (policies.every((policy) => policy.condition.parameters.length === 0)) return ok(noParameters)

  const bound = new Map<string, Value>()
  const issues: string[] = []
  const bind = (name: string, data: unknown, fault: string) => {
    try {
      bound.set(name, fromJson(data))
    } catch (refusal) {
      if (!(refusal instanceof RunFault)) throw refusal
      issues.push(fault)
    }
  }
  if (given !== undefined) for (const name of Object.keys(given)) bind(name, given[name], missingText(name))
  const { subject, resource, action } = question
  for (const [side, { properties }] of Object.entries({ subject, resource, action })) {
    if (properties === undefined) bound.set(`${side}_properties`, emptyMap)
    else bind(`${side}_properties`, properties, `${side}.properties: expected values that a graph can hold`)
  }
  bound.set('subject_type', subject.type)
  bound.set('resource_type', resource.type)
  bindOrRemove(bound, 'subject_external_id', subject.id)
  bindOrRemove(bound, 'resource_external_id', resource.id)
  // No user token takes part in a decision yet: its claims are an empty map, so that a comparison with one never holds.
  bound.set('token', emptyMap)
  return issues.length === 0 ? ok(bound) : err({ kind: 'invalid', issues })
}

function bindOrRemove(bound: Map<string, Value>, name: string, value: string | null): void {
  if (value === null) bound.delete(name)
  else bound.set(name, value)
}

function refusalOf(given: Readonly<Record<string, unknown>>, stringMax: number): Result<never, ServiceError> | null {
  const issues: string[] = []
  for (const name of Object.keys(given)) {
    if (reserved.has(name)) issues.push(`context.input_params.${name}: reserved, filled by the service`)
    const value = given[name]
    if (typeof value === 'string' && value.length > stringMax) {
      issues.push(`context.input_params.${name}: expected at most ${stringMax} characters, found ${value.length}`)
    }
  }
  return issues.length === 0 ? null : err({ kind: 'invalid', issues })
}

/** The first input parameter that a policy needs and nobody gave, or null. */
export function lacking(policy: CompiledPolicy, parameters: ReadonlyMap<string, Value>): string | null {
  for (const name of policy.inputParameters) if (!parameters.has(rootOf(name))) return rootOf(name)
  return null
}

const sharedLimits: readonly (string | null)[] = ['traversalStepsMax', 'decisionTimeMs', 'rowsHeldMax']

/** The budget that all policies of a question share is used up. A value that grew too large is its own policy's fault. */
export function isSpent(fault: RunFault): boolean {
  return fault.code === 'budget' && sharedLimits.includes(fault.subject)
}

/** A parameter may be written with a path into it: `claims.department`. */
export function rootOf(parameter: string): string {
  const dot = parameter.indexOf('.')
  return dot < 0 ? parameter : parameter.slice(0, dot)
}

export function missingParameters(names: Iterable<string>): Result<never, ServiceError> {
  return err({ kind: 'invalid', issues: [...new Set(names)].map(missingText) })
}

function missingText(name: string): string {
  return `missing or wrong input params, '${name}'`
}
