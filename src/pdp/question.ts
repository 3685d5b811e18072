// What every question of this folder shares: the policies it may use, the parameters it binds, and what of its parameters
// is refused before any graph is read.
import { RunFault } from '../engine/errors.ts'
import type { ProjectGraphs } from '../engine/store.ts'
import { fromJson } from '../engine/value/convert.ts'
import type { Value } from '../engine/value/value.ts'
import type { AgentCaller, Claims, UserToken } from '../identity/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { platformParameters } from '../policy/compile-policy.ts'
import type { CompiledPolicy } from '../policy/library.ts'
import type { DecisionParts, Question, Side } from './parts.ts'

export const noGraph: Result<never, ServiceError> = err({
  kind: 'not-found',
  message: 'knowledge graph not found for this project',
})

/** Interface, decisions rule 7. */
export const subjectDiffers: Result<never, ServiceError> = err({
  kind: 'forbidden',
  message: 'bearer token subject differs from requested subject',
})

const noPolicies: readonly CompiledPolicy[] = []
const noParameters: Result<ReadonlyMap<string, Value>, ServiceError> = ok(new Map())
const emptyMap: ReadonlyMap<string, Value> = new Map()

/** Characters of a string that names a location (facts 1.12). */
const LOCATION_MAX = 256

/** Policies of the project for the question; with `policy_tags` only those with at least one of them (ruling D6). */
export function policiesFor(parts: DecisionParts, projectId: string, question: Question): readonly CompiledPolicy[] {
  const { subject, action, resource } = question
  const found = parts.policies.find(projectId, subject.type, action.name, resource.type)
  const tags = question.context?.policy_tags
  if (tags === undefined) return found
  return found.length === 0 ? noPolicies : found.filter((policy) => hasOneOf(policy, tags))
}

export function hasOneOf(policy: CompiledPolicy, tags: readonly string[]): boolean {
  return policy.tags.some((tag) => tags.includes(tag))
}

/** The token speaks for the subject, or there is none. */
export function maySpeakFor(user: UserToken | null, subject: Side): boolean {
  return user === null || (user.nodeType === subject.type && user.subjectId === subject.id)
}

/** Of a token that speaks for somebody else, a 3.0 policy complains; a 2.0 policy does not grant (ruling D9). */
export function complainsOfSubject(policy: CompiledPolicy): boolean {
  return policy.version === '3.0-kbac'
}

/**
 * Values for every parameter that can be bound: the caller's, then the platform's own, which win.
 * On the side that is sought there is no `$…_external_id`.
 */
export function bindParameters(
  parts: DecisionParts,
  caller: AgentCaller,
  question: Question,
  policies: readonly CompiledPolicy[],
): Result<ReadonlyMap<string, Value>, ServiceError> {
  const given = question.context?.input_params
  if (given !== undefined) {
    const refused = refusalOf(given, parts.inputStringMax)
    if (refused !== null) return refused
  }
  if (!policies.some(takesParameters)) return noParameters

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
  const { user } = caller
  // A claim that is not there is null, so that no comparison with it holds.
  bound.set('token', user === null ? emptyMap : claimsAsMap(user.claims))
  bound.set('svc_token', user?.delegation == null ? emptyMap : claimsAsMap(user.delegation))
  if (user !== null) bound.set('subject_id', user.subjectId)
  bound.set('_appId', subject.type === '_Application' ? caller.applicationId : null)
  return issues.length === 0 ? ok(bound) : err({ kind: 'invalid', issues })
}

function takesParameters(policy: CompiledPolicy): boolean {
  return policy.takesParameters
}

function bindOrRemove(bound: Map<string, Value>, name: string, value: string | null): void {
  if (value === null) bound.delete(name)
  else bound.set(name, value)
}

/** One token asks many questions. */
const claimMaps = new WeakMap<Claims, ReadonlyMap<string, Value>>()

/** A claim that no value can hold (an integer beyond 64 bits) is as good as absent. */
function claimsAsMap(claims: Claims): ReadonlyMap<string, Value> {
  const known = claimMaps.get(claims)
  if (known !== undefined) return known
  const map = new Map<string, Value>()
  for (const [name, claim] of Object.entries(claims)) {
    try {
      map.set(name, fromJson(claim))
    } catch (refusal) {
      if (!(refusal instanceof RunFault)) throw refusal
    }
  }
  claimMaps.set(claims, map)
  return map
}

function refusalOf(given: Readonly<Record<string, unknown>>, stringMax: number): Result<never, ServiceError> | null {
  const issues: string[] = []
  for (const name of Object.keys(given)) {
    // Names that only the platform fills: whoever sends one would speak for a token, an application or another node.
    if (platformParameters.has(name)) issues.push(`context.input_params.${name}: reserved, filled by the service`)
    const value = given[name]
    if (typeof value === 'string' && value.length > stringMax) {
      issues.push(`context.input_params.${name}: expected at most ${stringMax} characters, found ${value.length}`)
    }
  }
  return issues.length === 0 ? null : err({ kind: 'invalid', issues })
}

/** What is wrong with a location that the caller named (interface, decisions rule 4). One that is missing is told as others are. */
export function refusedLocation(
  policies: readonly CompiledPolicy[],
  parameters: ReadonlyMap<string, Value>,
  graphs: ProjectGraphs,
): Result<never, ServiceError> | null {
  for (const policy of policies) {
    for (const { kind, name } of policy.condition.locations) {
      const location = kind === 'parameter' ? parameters.get(name) : undefined
      if (location === undefined) continue
      if (typeof location !== 'string' || location === '' || location.length > LOCATION_MAX) {
        const expected = `location parameter $${name} takes a string of 1 to ${LOCATION_MAX} characters`
        return err({ kind: 'invalid', issues: [`${missingText(name)}: ${expected}`] })
      }
      if (graphs.at(location) === null) return err({ kind: 'unknown-location', location, parameter: name })
    }
  }
  return null
}

/** The first input parameter that a policy needs and nobody gave, or null. */
export function lacking(policy: CompiledPolicy, parameters: ReadonlyMap<string, Value>): string | null {
  for (const name of policy.inputParameters) if (!parameters.has(name)) return name
  return null
}

const sharedLimits: readonly (string | null)[] = ['traversalStepsMax', 'decisionTimeMs', 'rowsHeldMax']

/** The budget that all policies of a question share is used up. A value that grew too large is its own policy's fault. */
export function isSpent(fault: RunFault): boolean {
  return fault.code === 'budget' && sharedLimits.includes(fault.subject)
}

/** A refusal that another policy's grant, or another action, would have made good. */
export interface Lacking {
  readonly ok: false
  readonly error: { readonly kind: 'invalid'; readonly issues: readonly string[] }
  readonly missing: readonly string[]
}

export function missingParameters(names: Iterable<string>): Lacking {
  const missing = [...new Set(names)]
  return { ok: false, error: { kind: 'invalid', issues: missing.map(missingText) }, missing }
}

function missingText(name: string): string {
  return `missing or wrong input params, '${name}'`
}
