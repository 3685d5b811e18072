// Makes one decision: permit if a policy for (subject type, action, resource type) grants and none forbids, otherwise deny. Policies
// that forbid are evaluated only after a grant (forbid.ts).
// A policy without one of its parameters does not apply. If no policy grants and a parameter was missing, the result is
// a 422 error and not a denial, because the parameter might change it. All policies share one budget.
import { ExecutionError } from '../engine/errors.ts'
import type { ServiceError } from '../kernel/errors.ts'
import type { AgentCaller } from '../kernel/request/caller.ts'
import { ok, type Result } from '../kernel/result.ts'
import { type CompiledPolicy, compiledIn, isEmptySet, type PolicySet } from '../policy/compile-policy.ts'
import { type MissingParameters, missingParameters } from '../policy/input-parameters.ts'
import type { FilterAdvice, PolicyFilter } from '../policy/policy-filter.ts'
import type { BoundParameters } from '../policy/value-reference.ts'
import type { DecisionDeps, EvaluationRequest, PolicyError, RequestKind } from './decision-deps.ts'
import { faultReason, NO_POLICY_REASON } from './denial-reasons.ts'
import {
  bindParameters,
  firstMissingParameter,
  invalidLocation,
  isBudgetExhausted,
  isNamed,
  policiesFor,
  rejectsForeignSubject,
  subjectMismatch,
  tokenMatchesSubject,
} from './evaluation-inputs.ts'
import { prohibitionOf } from './forbid.ts'
import { modelRevisionError, withModelRevision } from './model-revision.ts'
import { draftError } from './policy-status.ts'
import type { ReadSession } from './read-session.ts'

/** The result of an evaluation. */
export interface Decision {
  readonly decision: boolean
  /**
   * Only with a denial, with the id, or for a request that asks for it: AuthZEN (section 5.5) allows a client to reject a permit whose context it does not
   * understand.
   */
  readonly context?: {
    /** The id in the decision log, while it is on. */
    readonly id?: string
    readonly reason?: string
    readonly advice?: readonly FilterAdvice[]
    /** The revision of the model, for a request with `context.model_revision`; 0: the project has none. */
    readonly model_revision?: number
  }
}

/** The permit. */
export const permit: Decision = { decision: true }
/** A denial without a reason. */
export const denial: Decision = { decision: false }
const granted = ok(permit)
const denied = ok(denial)
/** The denial of a request whose action and types no policy names. */
const unnamedDenial: Decision = { decision: false, context: { reason: NO_POLICY_REASON } }
const unnamed = ok(unnamedDenial)

/** A decision with its id in the decision log. */
export function withDecisionId(decision: Decision, id: string): Decision {
  return { decision: decision.decision, context: { id, ...decision.context } }
}

/** A decision, or the error that prevents it. */
export type DecisionResult = Result<Decision, ServiceError> | MissingParameters

/** For whom and with which collaborators requests are evaluated. */
export interface EvaluationContext {
  readonly deps: DecisionDeps
  readonly caller: AgentCaller
  /** For the log of policy errors. */
  readonly kind: RequestKind
}

/**
 * Decides a request with both ids. The caller has started the session's budget.
 * Errors: `invalid` (input parameters), `forbidden` (token of another subject), those of `draftError`, `unknown-location`; MissingParameters
 * if no policy grants and an input parameter is missing.
 */
export function decide(
  evaluation: EvaluationContext,
  session: ReadSession,
  request: EvaluationRequest,
): DecisionResult {
  const { deps, caller, kind } = evaluation
  const { projectId } = caller
  const refused = draftError(deps, caller, request) ?? modelRevisionError(deps, projectId, request.context)
  if (refused !== null) return refused
  const policies = policiesFor(deps, projectId, request)
  const history = deps.inlineHistory?.[kind]
  const decided =
    history === undefined
      ? decideWithPolicies(policies, evaluation, session, request)
      : history.run(projectId, policies, () => decideWithPolicies(policies, evaluation, session, request))
  // Most requests do not ask.
  if (request.context?.model_revision === undefined || 'missing' in decided) return decided
  return withModelRevision(deps, projectId, decided)
}

function decideWithPolicies(
  policies: PolicySet,
  evaluation: EvaluationContext,
  session: ReadSession,
  request: EvaluationRequest,
): DecisionResult {
  const { deps, caller } = evaluation
  const { grants } = policies
  const all = compiledIn(policies)
  const bound = bindParameters(deps, caller, request, all)
  if (!bound.ok) return bound
  if (grants.length === 0) return isEmptySet(policies) && !isNamed(deps, caller, request) ? unnamed : denied
  if (!tokenMatchesSubject(caller.user, request.subject))
    return grants.some(rejectsForeignSubject) ? subjectMismatch : denied
  const parameters = bound.value
  const locationError = invalidLocation(all, parameters, session.graphs)
  if (locationError !== null) return locationError

  session.parameters = parameters
  const { subject, resource } = request
  let missing: string[] | null = null
  let denyingFilters: PolicyFilter[] | null = null
  let fault: ExecutionError | null = null
  for (const policy of grants) {
    const name = firstMissingParameter(policy, parameters)
    if (name !== null) {
      missing ??= []
      missing.push(name)
      continue
    }
    try {
      session.budget.chargeSteps(1)
      if (policy.filter !== null && !policy.filter.admits(session.budget, parameters)) {
        denyingFilters ??= []
        denyingFilters.push(policy.filter)
      } else if (policy.condition.check(session, subject.id ?? '', resource.id ?? '')) {
        session.granting = policy
        return unlessForbidden(policies, evaluation, session, request)
      }
    } catch (error) {
      if (!(error instanceof ExecutionError)) throw error
      if (error.code === 'missing-parameter' && error.subject !== null) {
        missing ??= []
        missing.push(error.subject)
      } else {
        reportPolicyError(evaluation, session, policy, error)
        fault ??= error
        // The budget is exhausted, so the remaining policies are not evaluated: what is not proved granted is denied.
        if (isBudgetExhausted(error)) {
          session.exhausted = error
          fault = error
          break
        }
      }
    }
  }
  if (missing !== null) return missingParameters(missing)
  if (denyingFilters === null) return fault === null ? denied : ok(faultDenial(fault))
  const advice = adviceOf(session, denyingFilters, parameters)
  const reason = fault === null ? FILTER_REASON : faultReason(fault.code)
  return ok({ decision: false, context: advice.length === 0 ? { reason } : { reason, advice } })
}

/** The decision about a pair that `session.granting` grants. */
function unlessForbidden(
  policies: PolicySet,
  evaluation: EvaluationContext,
  session: ReadSession,
  { subject, resource }: EvaluationRequest,
): DecisionResult {
  const found = prohibitionOf(policies, session, subject.id ?? '', resource.id ?? '', (policy, error) =>
    reportPolicyError(evaluation, session, policy, error),
  )
  if (found === null) return granted
  session.granting = null
  session.forbidding = found.policy
  return ok({ decision: false, context: { reason: found.reason } })
}

/** Reports an error inside one policy to the log. */
export function reportPolicyError(
  { deps, caller, kind }: EvaluationContext,
  session: ReadSession,
  policy: CompiledPolicy,
  error: ExecutionError,
): void {
  const policyFault: PolicyError = {
    projectId: caller.projectId,
    policyId: policy.id,
    revision: policy.revision,
    requestKind: kind,
    code: error.code,
    // Without values: parameters and node properties must not appear in logs.
    message: error.redactedMessage,
  }
  session.report(() => deps.onPolicyError(policyFault))
}

const FILTER_REASON = 'the filter of a matching policy does not admit the token or the parameters'

/** The denial after an error in a policy, which names no policy and no value. */
function faultDenial({ code }: ExecutionError): Decision {
  return { decision: false, context: { reason: faultReason(code) } }
}

/** Advice describes how the caller can satisfy the filter. It is left out if the budget does not suffice to collect it. */
function adviceOf(
  session: ReadSession,
  filters: readonly PolicyFilter[],
  parameters: BoundParameters,
): readonly FilterAdvice[] {
  try {
    return filters.flatMap((filter) => filter.explainRejection(session.budget, parameters).advice)
  } catch (error) {
    if (!(error instanceof ExecutionError)) throw error
    return []
  }
}
