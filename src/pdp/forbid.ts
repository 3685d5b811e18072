// Policies that forbid: a pair that another policy grants is denied unless the filter or the condition is definitely
// false. A missing parameter, an unknown value, an error and a limit deny. See docs/decisions/0071-forbid-policies.md.
import { ExecutionError } from '../engine/errors.ts'
import type { Value } from '../engine/value/value.ts'
import type { ForbiddingPolicy, PolicyName, PolicySet } from '../policy/compile-policy.ts'
import type { BoundParameters } from '../policy/value-reference.ts'
import type { EvaluationRequest } from './decision-deps.ts'
import { FORBIDDEN_REASON, faultReason, isFaultReason } from './denial-reasons.ts'
import { firstMissingParameter, isBudgetExhausted } from './evaluation-inputs.ts'
import type { ReadSession } from './read-session.ts'

/** Why a pair is denied although a policy grants it. */
interface Prohibition {
  readonly policy: PolicyName
  /** For the caller: it names no policy. */
  readonly reason: string
}

/** Called with an error inside a policy. */
type OnFault = (policy: ForbiddingPolicy, error: ExecutionError) => void

/**
 * Returns the first policy of the set that forbids the pair; null: none does. The session has the parameters. If the budget is
 * exhausted, the pair is forbidden, and `session.exhausted` is set.
 */
export function prohibitionOf(
  { forbids, broken }: PolicySet,
  session: ReadSession,
  subjectId: string,
  resourceId: string,
  onFault: OnFault,
): Prohibition | null {
  const [unknown] = broken
  if (unknown !== undefined) return { policy: unknown, reason: faultReason('plan') }
  const { parameters, budget } = session
  for (const policy of forbids) {
    if (firstMissingParameter(policy, parameters) !== null) return { policy, reason: faultReason('missing-parameter') }
    try {
      budget.chargeSteps(1)
      if (policy.filter?.excludes(budget, parameters) === true) continue
      if (policy.condition.check(session, subjectId, resourceId)) return { policy, reason: FORBIDDEN_REASON }
    } catch (error) {
      if (!(error instanceof ExecutionError)) throw error
      onFault(policy, error)
      if (isBudgetExhausted(error)) session.exhausted = error
      return { policy, reason: faultReason(error.code) }
    }
  }
  return null
}

/** The policies that forbid, in a search. Each candidate that a policy grants is checked once. */
export class SearchedProhibitions {
  private readonly policies: PolicySet
  private readonly session: ReadSession
  private readonly request: EvaluationRequest
  private readonly target: 'subject' | 'resource'
  private readonly parameters: BoundParameters
  private readonly readsTarget: boolean
  private readonly onFault: OnFault
  private readonly known = new Map<string, boolean>()

  /** `target`: the end that the search looks for. */
  constructor(
    policies: PolicySet,
    session: ReadSession,
    request: EvaluationRequest,
    target: 'subject' | 'resource',
    parameters: BoundParameters,
    onFault: OnFault,
  ) {
    this.policies = policies
    this.session = session
    this.request = request
    this.target = target
    this.parameters = parameters
    this.readsTarget = policies.forbids.some(({ readsIdOf }) => readsIdOf[target])
    this.onFault = onFault
  }

  /** Whether there is no such policy. */
  get isEmpty(): boolean {
    const { forbids, broken } = this.policies
    return forbids.length + broken.length === 0
  }

  /** Whether the candidate is forbidden, as an evaluation decides. Throws ExecutionError if the budget is exhausted. */
  forbids(id: string): boolean {
    if (this.isEmpty) return false
    const known = this.known.get(id)
    if (known !== undefined) return known
    const { session, request, target, parameters } = this
    const before = session.parameters
    session.parameters = this.readsTarget
      ? new Map<string, Value>(parameters).set(`${target}_external_id`, id)
      : parameters
    const [subjectId, resourceId] = target === 'subject' ? [id, request.resource.id] : [request.subject.id, id]
    const found = prohibitionOf(this.policies, session, subjectId ?? '', resourceId ?? '', this.onFault)
    session.parameters = before
    if (session.exhausted !== null) throw session.exhausted
    // A candidate that is forbidden is denied; one about which a policy cannot decide is left out for a reason.
    if (found !== null && isFaultReason(found.reason)) session.searchReason ??= found.reason
    this.known.set(id, found !== null)
    return found !== null
  }
}
