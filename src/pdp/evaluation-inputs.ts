// What every question of this folder shares: the policies it may use, the parameters it binds, and what of its parameters
// is refused before any graph is read.

import { platformParameters } from '../engine/conditions.ts'
import type { ExecutionError } from '../engine/errors.ts'
import type { Value } from '../engine/value/value.ts'
import type { AgentCaller, UserToken } from '../kernel/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import {
  claimsToMap,
  type InputParams,
  inputIssues,
  missingParameterText,
  toValue,
} from '../policy/input-parameters.ts'
import type { CompiledPolicy } from '../policy/policy-index.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import type { DecisionDeps, Entity, Question } from './decision-deps.ts'

export const graphNotFound: Result<never, ServiceError> = err({
  kind: 'not-found',
  message: 'knowledge graph not found for this project',
})

/** Interface, decisions rule 7. */
export const subjectMismatch: Result<never, ServiceError> = err({
  kind: 'forbidden',
  message: 'bearer token subject differs from requested subject',
})

const noPolicies: readonly CompiledPolicy[] = []
const noParameters: Result<ReadonlyMap<string, Value>, ServiceError> = ok(new Map())
const emptyMap: ReadonlyMap<string, Value> = new Map()

/** Characters of a string that names a location (facts 1.12). */
const LOCATION_MAX = 256

/** Policies of the project for the question; with `policy_tags` only those with at least one of them (ruling D6). */
export function policiesFor(parts: DecisionDeps, projectId: string, question: Question): readonly CompiledPolicy[] {
  const { subject, action, resource } = question
  const found = parts.policies.find(projectId, subject.type, action.name, resource.type)
  const tags = question.context?.policy_tags
  if (tags === undefined) return found
  return found.length === 0 ? noPolicies : found.filter((policy) => hasAnyTag(policy, tags))
}

export function hasAnyTag(policy: CompiledPolicy, tags: readonly string[]): boolean {
  return policy.tags.some((tag) => tags.includes(tag))
}

/** The token speaks for the subject, or there is none. */
export function tokenMatchesSubject(user: UserToken | null, subject: Entity): boolean {
  return user === null || (user.nodeType === subject.type && user.subjectId === subject.id)
}

/** Of a token that speaks for somebody else, a 3.0 policy complains; a 2.0 policy does not grant (ruling D9). */
export function rejectsForeignSubject(policy: CompiledPolicy): boolean {
  return policy.version === '3.0-kbac'
}

/**
 * Values for the parameters that the policies read: the service's own (`platformParameters`), and those of the caller.
 * What no policy reads is not converted. On the side that is sought there is no `$…_external_id`.
 * Errors: `invalid` for input parameters that are refused whoever reads them, and for a read value that no graph can hold.
 */
export function bindParameters(
  parts: DecisionDeps,
  caller: AgentCaller,
  question: Question,
  policies: readonly CompiledPolicy[],
): Result<ReadonlyMap<string, Value>, ServiceError> {
  const given = question.context?.input_params
  const input = given === undefined ? null : inputOf(given, parts.inputStringMax)
  if (input !== null && input.refused.length > 0) return err({ kind: 'invalid', issues: input.refused })
  if (!policies.some(takesParameters)) return noParameters

  const bound = new Map<string, Value>()
  const issues = new Set<string>()
  for (const { parameters } of policies) {
    for (const name of parameters) {
      if (bound.has(name)) continue
      const value = valueFor(name, caller, question, input)
      if (value === unholdable) issues.add(unholdableText(name))
      else if (value !== undefined) bound.set(name, value)
    }
  }
  return issues.size === 0 ? ok(bound) : err({ kind: 'invalid', issues: [...issues] })
}

/** Stands for data that no graph can hold, such as an integer beyond 64 bits. */
const unholdable = Symbol('unholdable')

/** Undefined: there is none, and a policy that needs it does not apply. */
function valueFor(
  name: string,
  caller: AgentCaller,
  { subject, resource, action }: Question,
  input: CheckedInput | null,
): Value | undefined | typeof unholdable {
  const { user } = caller
  switch (name) {
    case 'subject_properties':
      return propertiesOf(subject)
    case 'resource_properties':
      return propertiesOf(resource)
    case 'action_properties':
      return propertiesOf(action)
    case 'subject_type':
      return subject.type
    case 'resource_type':
      return resource.type
    case 'subject_external_id':
      return subject.id ?? undefined
    case 'resource_external_id':
      return resource.id ?? undefined
    // A claim that is not there is null, so that no comparison with it holds.
    case 'token':
      return claimsToMap(user?.claims)
    case 'svc_token':
      return claimsToMap(user?.delegation)
    case '_appId':
      return subject.type === '_Application' ? caller.applicationId : null
    case 'subject_id':
      return user === null ? inputValue(name, input) : user.subjectId
    default:
      return inputValue(name, input)
  }
}

function propertiesOf({ properties }: Pick<Entity, 'properties'>): Value | typeof unholdable {
  return properties === undefined ? emptyMap : (toValue(properties) ?? unholdable)
}

function inputValue(name: string, input: CheckedInput | null): Value | undefined | typeof unholdable {
  if (input === null || !Object.hasOwn(input.given, name)) return undefined
  let value = input.values.get(name)
  if (value === undefined) {
    const converted = toValue(input.given[name])
    value = converted === undefined ? unholdable : converted
    input.values.set(name, value)
  }
  return value
}

function unholdableText(name: string): string {
  const side = /^(subject|resource|action)_properties$/.exec(name)?.[1]
  return side === undefined ? missingParameterText(name) : `${side}.properties: expected values that a graph can hold`
}

interface CheckedInput {
  readonly given: InputParams
  /** What is refused whether a policy reads it or not. */
  readonly refused: readonly string[]
  /** Converted when a policy reads them. */
  readonly values: Map<string, Value | typeof unholdable>
}

/** The items of a batch share the parameters of its default context, which may be as long as a body. */
const inputs = new WeakMap<object, CheckedInput>()

function inputOf(given: InputParams, stringMax: number): CheckedInput {
  let input = inputs.get(given)
  if (input === undefined) {
    const refused = inputIssues(given, { at: 'context.input_params', reserved: platformParameters, stringMax })
    input = { given, refused, values: new Map() }
    inputs.set(given, input)
  }
  return input
}

function takesParameters({ parameters }: CompiledPolicy): boolean {
  return parameters.length > 0
}

/** What is wrong with a location that the caller named (interface, decisions rule 4). One that is missing is told as others are. */
export function invalidLocation(
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
        return err({ kind: 'invalid', issues: [`${missingParameterText(name)}: ${expected}`] })
      }
      if (graphs.at(location) === null) return err({ kind: 'unknown-location', location, parameter: name })
    }
  }
  return null
}

/** The first input parameter that a policy needs and nobody gave, or null. */
export function firstMissingParameter(policy: CompiledPolicy, parameters: ReadonlyMap<string, Value>): string | null {
  for (const name of policy.inputParameters) if (!parameters.has(name)) return name
  return null
}

const sharedLimits: readonly (string | null)[] = ['traversalStepsMax', 'decisionTimeMs', 'rowsHeldMax', 'bytesHeldMax']

/** The budget that all policies of a question share is used up. A value that grew too large is its own policy's fault. */
export function isBudgetExhausted(fault: ExecutionError): boolean {
  return fault.code === 'budget' && sharedLimits.includes(fault.subject)
}

/** A refusal that another policy's grant, or another action, would have made good. */
export interface MissingParameters {
  readonly ok: false
  readonly error: { readonly kind: 'invalid'; readonly issues: readonly string[] }
  readonly missing: readonly string[]
}

export function missingParameters(names: Iterable<string>): MissingParameters {
  const missing = [...new Set(names)]
  return { ok: false, error: { kind: 'invalid', issues: missing.map(missingParameterText) }, missing }
}
