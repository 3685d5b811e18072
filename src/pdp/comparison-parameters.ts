// The parameters of a comparison: those of the request are the same for all pairs, and those that name the subject or the resource
// are set for each pair. A parameter that the request does not give has the value that it has in a decision without it.
import type { Value } from '../engine/value/value.ts'
import type { ServiceError } from '../kernel/errors.ts'
import type { AgentCaller, Claims } from '../kernel/request/caller.ts'
import { ok, type Result } from '../kernel/result.ts'
import { claimsToMap, type InputParams } from '../policy/input-parameters.ts'
import type { CompiledPolicy } from '../policy/policy-index.ts'
import type { DecisionDeps } from './decision-deps.ts'
import { bindParameters } from './evaluation-inputs.ts'

type Properties = Readonly<Record<string, unknown>> | undefined

/** Which pairs are compared, and the parameters of their decisions. */
export interface ComparisonScope {
  readonly subject: {
    readonly type?: string | undefined
    readonly id?: string | undefined
    readonly properties?: Properties
  }
  readonly action: { readonly name?: string | undefined; readonly properties?: Properties }
  readonly resource: {
    readonly type?: string | undefined
    readonly id?: string | undefined
    readonly properties?: Properties
  }
  readonly inputParams: InputParams | undefined
  readonly policyTags: readonly string[] | undefined
  /** Null: decisions without a user token. */
  readonly token: { readonly claims: Claims; readonly delegation: Claims | null } | null
}

/** Returns the parameters of the policy that the scope does not give, in the order of the policy. */
export function parametersNotGiven(
  policy: CompiledPolicy,
  { subject, action, resource, inputParams, token }: ComparisonScope,
  caller: AgentCaller,
): readonly string[] {
  const isGiven = (name: string): boolean => {
    switch (name) {
      case 'subject_external_id':
      case 'subject_type':
      case 'resource_external_id':
      case 'resource_type':
        return true
      case 'subject_properties':
        return subject.properties !== undefined
      case 'resource_properties':
        return resource.properties !== undefined
      case 'action_properties':
        return action.properties !== undefined
      case 'token':
        return token !== null
      case 'svc_token':
        return token !== null && token.delegation !== null
      case '_appId':
        return policy.subjectType !== '_Application' || caller.applicationId !== ''
      case 'subject_id':
        return token !== null || isInput(name)
      default:
        return isInput(name)
    }
  }
  const isInput = (name: string): boolean => inputParams !== undefined && Object.hasOwn(inputParams, name)
  return policy.parameters.filter((name) => !isGiven(name))
}

/** Which nodes of a pair the parameters of a policy depend on. */
export function parametersOfPair(
  { parameters, readsIdOf }: CompiledPolicy,
  { token }: ComparisonScope,
): Readonly<Record<'subject' | 'resource', boolean>> {
  // A token names its subject.
  const readsToken = token !== null && parameters.some((name) => tokenParameters.has(name))
  return { subject: readsIdOf.subject || readsToken, resource: readsIdOf.resource }
}

const tokenParameters = new Set(['token', 'svc_token', 'subject_id'])

/** The parameters of policies of the same two types. */
export class PairParameters {
  /** The values for the pair that was set last. */
  readonly values: Map<string, Value>
  private readonly claims: ReadonlyMap<string, Value> | null
  private readonly delegation: ReadonlyMap<string, Value> | null
  private readonly reads: ReadonlySet<string>
  private subjectId = ''

  private constructor(values: Map<string, Value>, reads: ReadonlySet<string>, token: ComparisonScope['token']) {
    this.values = values
    this.reads = reads
    this.claims = token && claimsToMap(token.claims)
    this.delegation = token && claimsToMap(token.delegation)
  }

  /** Binds the parameters that the policies read. Errors: those of `bindParameters`. */
  static bind(
    deps: DecisionDeps,
    caller: AgentCaller,
    { subject, action, resource, inputParams, token }: ComparisonScope,
    types: { readonly subject: string; readonly resource: string },
    policies: readonly CompiledPolicy[],
  ): Result<PairParameters, ServiceError> {
    const bound = bindParameters(
      deps,
      { ...caller, user: null },
      {
        subject: { type: types.subject, id: null, properties: subject.properties },
        resource: { type: types.resource, id: null, properties: resource.properties },
        action: { name: action.name ?? '', properties: action.properties },
        context: { input_params: inputParams },
      },
      policies,
    )
    if (!bound.ok) return bound
    const reads = new Set(policies.flatMap(({ parameters }) => parameters))
    return ok(new PairParameters(new Map(bound.value), reads, token))
  }

  /** Sets the subject of the pair. */
  setSubject(id: string): void {
    if (id === this.subjectId) return
    this.subjectId = id
    const { values, reads, claims, delegation } = this
    if (reads.has('subject_external_id')) values.set('subject_external_id', id)
    if (claims === null || delegation === null) return
    if (reads.has('subject_id')) values.set('subject_id', id)
    if (reads.has('token')) values.set('token', new Map<string, Value>(claims).set('sub', id))
    // Without delegation token it has no member.
    if (reads.has('svc_token') && delegation.size > 0)
      values.set('svc_token', new Map<string, Value>(delegation).set('sub', id))
  }

  /** Sets the resource of the pair. */
  setResource(id: string): void {
    if (this.reads.has('resource_external_id')) this.values.set('resource_external_id', id)
  }
}
