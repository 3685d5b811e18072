// Common steps of decisions and searches before they read a graph: selecting the policies, binding the parameters, and
// checking token subject and locations.

import { platformParameters } from '../engine/conditions.ts'
import type { ExecutionError } from '../engine/errors.ts'
import type { Value } from '../engine/value/value.ts'
import type { ServiceError } from '../kernel/errors.ts'
import type { AgentCaller, UserToken } from '../kernel/request/caller.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { type CompiledPolicy, type GrantingPolicy, isEmptySet, type PolicySet } from '../policy/compile-policy.ts'
import {
  claimsToMap,
  type InputParams,
  inputIssues,
  missingParameterText,
  toValue,
} from '../policy/input-parameters.ts'
import type { BoundParameters } from '../policy/value-reference.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import type { DecisionDeps, Entity, EvaluationRequest } from './decision-deps.ts'
import { policiesOfStatus } from './policy-status.ts'

/**
 * The error if the user token belongs to another subject (docs/decisions/0009-user-tokens.md). The interface fixes the
 * text.
 */
export const subjectMismatch: Result<never, ServiceError> = err({
  kind: 'forbidden',
  message: 'bearer token subject differs from requested subject',
})

const noParameters: Result<BoundParameters, ServiceError> = ok(new Map())
const emptyMap: ReadonlyMap<string, Value> = new Map()

/** Maximum characters of a location name. */
const LOCATION_MAX = 256

/**
 * Returns the policies for a request; with `policy_tags`, only those grants that have at least one of the tags. The caller chooses
 * the tags, so they do not switch off a policy that forbids.
 */
export function policiesFor(deps: DecisionDeps, projectId: string, request: EvaluationRequest): PolicySet {
  const { subject, action, resource } = request
  const { context } = request
  const policies = policiesOfStatus(deps, context)
  const found = policies.find(projectId, subject.type, action.name, resource.type)
  const tags = context?.policy_tags
  if (tags === undefined || found.grants.length === 0) return found
  return { ...found, grants: found.grants.filter((policy) => hasAnyTag(policy, tags)) }
}

/** Returns whether any policy, whatever its tags, names the action for the types of the request. */
export function isNamed(deps: DecisionDeps, { projectId }: AgentCaller, request: EvaluationRequest): boolean {
  const { subject, action, resource, context } = request
  return !isEmptySet(policiesOfStatus(deps, context).find(projectId, subject.type, action.name, resource.type))
}

/** Returns whether the policy has at least one of the tags. */
export function hasAnyTag(policy: Pick<CompiledPolicy, 'tags'>, tags: readonly string[]): boolean {
  return policy.tags.some((tag) => tags.includes(tag))
}

/** Returns whether the user token belongs to the subject; true if there is no token. */
export function tokenMatchesSubject(user: UserToken | null, subject: Entity): boolean {
  return user === null || (user.nodeType === subject.type && user.subjectId === subject.id)
}

/**
 * Returns whether the policy turns a token of another subject into an error: 3.0 policies do, 2.0 policies do not grant
 * (docs/decisions/0009-user-tokens.md).
 */
export function rejectsForeignSubject(policy: GrantingPolicy): boolean {
  return policy.version === '3.0-kbac'
}

/**
 * Binds the parameters that the policies read: platform parameters (`platformParameters`) and the caller's input
 * parameters. Parameters that no policy reads are not converted. `$…_external_id` of a search target is unbound.
 * Errors: `invalid` for input parameters that are not allowed, and for a read value that the engine cannot represent.
 */
export function bindParameters(
  deps: DecisionDeps,
  caller: AgentCaller,
  request: EvaluationRequest,
  policies: readonly CompiledPolicy[],
): Result<BoundParameters, ServiceError> {
  const params = request.context?.input_params
  const input = params === undefined ? null : inputOf(params, deps.inputStringMax)
  if (input !== null && input.issues.length > 0) return err({ kind: 'invalid', issues: input.issues })
  if (!policies.some(readsParameters)) return noParameters

  const bound = new Map<string, Value>()
  const issues = new Set<string>()
  for (const { parameters } of policies) {
    for (const name of parameters) {
      if (bound.has(name)) continue
      const value = valueFor(name, caller, request, input)
      if (value === unrepresentable) issues.add(unrepresentableText(name))
      else if (value !== undefined) bound.set(name, value)
    }
  }
  return issues.size === 0 ? ok(bound) : err({ kind: 'invalid', issues: [...issues] })
}

/** Marks data that the engine cannot represent, such as an integer beyond 64 bits. */
const unrepresentable = Symbol('unrepresentable')

/** Returns the value of one parameter; undefined if it is unbound, so that a policy that needs it does not apply. */
function valueFor(
  name: string,
  caller: AgentCaller,
  { subject, resource, action }: EvaluationRequest,
  input: CheckedInput | null,
): Value | undefined | typeof unrepresentable {
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
    // An absent claim is null, so that no comparison with it is true.
    case 'token':
      return claimsToMap(user?.claims)
    case 'svc_token':
      return claimsToMap(user?.delegation)
    case '_appId':
      return subject.type === '_Application' && caller.account === undefined ? caller.applicationId : null
    case 'subject_id':
      return user === null ? inputValue(name, input) : user.subjectId
    default:
      return inputValue(name, input)
  }
}

function propertiesOf({ properties }: Pick<Entity, 'properties'>): Value | typeof unrepresentable {
  return properties === undefined ? emptyMap : (toValue(properties) ?? unrepresentable)
}

function inputValue(name: string, input: CheckedInput | null): Value | undefined | typeof unrepresentable {
  if (input === null || !Object.hasOwn(input.params, name)) return undefined
  let value = input.values.get(name)
  if (value === undefined) {
    const converted = toValue(input.params[name])
    value = converted === undefined ? unrepresentable : converted
    input.values.set(name, value)
  }
  return value
}

function unrepresentableText(name: string): string {
  const side = /^(subject|resource|action)_properties$/.exec(name)?.[1]
  return side === undefined ? missingParameterText(name) : `${side}.properties: expected values that a graph can store`
}

interface CheckedInput {
  readonly params: InputParams
  /** Issues of the parameters, whether or not a policy reads them. */
  readonly issues: readonly string[]
  /** Converted values; a value is converted when a policy first reads it. */
  readonly values: Map<string, Value | typeof unrepresentable>
}

/**
 * Cached by object: the items of a batch share the parameters of the default context, which may be as long as the body.
 */
const checkedInputs = new WeakMap<object, CheckedInput>()

function inputOf(params: InputParams, stringMax: number): CheckedInput {
  let input = checkedInputs.get(params)
  if (input === undefined) {
    const issues = inputIssues(params, { at: 'context.input_params', reserved: platformParameters, stringMax })
    input = { params, issues, values: new Map() }
    checkedInputs.set(params, input)
  }
  return input
}

function readsParameters({ parameters }: CompiledPolicy): boolean {
  return parameters.length > 0
}

/**
 * Returns the error for a location that the caller named, or null: 422 if it is not a valid name, `unknown-location` if
 * the project does not have it. A missing location parameter is reported like other missing parameters.
 */
export function invalidLocation(
  policies: readonly CompiledPolicy[],
  parameters: BoundParameters,
  graphs: ProjectGraphs,
): Result<never, ServiceError> | null {
  for (const policy of policies) {
    for (const { kind, name } of policy.condition.locations) {
      const location = kind === 'parameter' ? parameters.get(name) : undefined
      if (location === undefined) continue
      if (typeof location !== 'string' || location === '' || location.length > LOCATION_MAX) {
        const expected = `location parameter $${name} must be a string of 1 to ${LOCATION_MAX} characters`
        return err({ kind: 'invalid', issues: [`${missingParameterText(name)}: ${expected}`] })
      }
      if (graphs.at(location) === null) return err({ kind: 'unknown-location', location, parameter: name })
    }
  }
  return null
}

/** Returns the first input parameter that the policy needs and the caller did not send, or null. */
export function firstMissingParameter(policy: CompiledPolicy, parameters: BoundParameters): string | null {
  for (const name of policy.inputParameters) if (!parameters.has(name)) return name
  return null
}

const sharedLimits: readonly (string | null)[] = ['traversalStepsMax', 'decisionTimeMs', 'rowsHeldMax', 'bytesHeldMax']

/**
 * Returns whether the budget that all policies of a request share is exhausted. A single value that grew too large is
 * an error of its own policy only.
 */
export function isBudgetExhausted(error: ExecutionError): boolean {
  return error.code === 'budget' && sharedLimits.includes(error.subject)
}
