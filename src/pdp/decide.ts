// One decision: the OR of all policies for (subject type, action, resource type); default deny (ruling D1).
// A policy that lacks a parameter does not apply. A grant by another is a grant; without one, the caller is told what
// was missing (422) instead of a denial that a parameter might turn round. All policies share one budget.
import { ExecutionError } from '../engine/errors.ts'
import type { Value } from '../engine/value/value.ts'
import type { AgentCaller } from '../kernel/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { ok, type Result } from '../kernel/result.ts'
import type { FilterAdvice, PolicyFilter } from '../policy/policy-filter.ts'
import type { CompiledPolicy } from '../policy/policy-index.ts'
import type { DecisionDeps, PolicyFault, Question, RequestKind } from './decision-deps.ts'
import {
  bindParameters,
  firstMissingParameter,
  invalidLocation,
  isBudgetExhausted,
  type MissingParameters,
  missingParameters,
  policiesFor,
  rejectsForeignSubject,
  subjectMismatch,
  tokenMatchesSubject,
} from './evaluation-inputs.ts'
import type { ReadSession } from './read-session.ts'

export interface Decision {
  readonly decision: boolean
  /** Never with a permit: who does not understand it may refuse it (AuthZEN 5.5). */
  readonly context?: { readonly reason: string; readonly advice?: readonly FilterAdvice[] }
}

export const permit: Decision = { decision: true }
export const denial: Decision = { decision: false }
const granted = ok(permit)
const denied = ok(denial)

export type DecisionResult = Result<Decision, ServiceError> | MissingParameters

export interface EvaluationContext {
  readonly deps: DecisionDeps
  readonly caller: AgentCaller
  /** For the log of faults. */
  readonly kind: RequestKind
}

/** A question whose both ends are given. The reading's budget is started by whoever opened it. */
export function decide(asker: EvaluationContext, reading: ReadSession, question: Question): DecisionResult {
  const { deps, caller, kind } = asker
  const policies = policiesFor(deps, caller.projectId, question)
  const history = deps.inlineHistory?.[kind]
  if (history === undefined) return decideBy(policies, asker, reading, question)
  return history.run(caller.projectId, policies, () => decideBy(policies, asker, reading, question))
}

function decideBy(
  policies: readonly CompiledPolicy[],
  asker: EvaluationContext,
  reading: ReadSession,
  question: Question,
): DecisionResult {
  const { deps, caller } = asker
  const bound = bindParameters(deps, caller, question, policies)
  if (!bound.ok) return bound
  if (policies.length === 0) return denied
  if (!tokenMatchesSubject(caller.user, question.subject))
    return policies.some(rejectsForeignSubject) ? subjectMismatch : denied
  const parameters = bound.value
  const misplaced = invalidLocation(policies, parameters, reading.graphs)
  if (misplaced !== null) return misplaced

  reading.parameters = parameters
  const { subject, resource } = question
  let missing: string[] | null = null
  let refusing: PolicyFilter[] | null = null
  for (const policy of policies) {
    reading.budget.chargeSteps(1)
    const name = firstMissingParameter(policy, parameters)
    if (name !== null) {
      missing ??= []
      missing.push(name)
      continue
    }
    try {
      if (policy.filter !== null && !policy.filter.admits(parameters)) {
        refusing ??= []
        refusing.push(policy.filter)
      } else if (policy.condition.check(reading, subject.id ?? '', resource.id ?? '')) return granted
    } catch (fault) {
      if (!(fault instanceof ExecutionError)) throw fault
      if (fault.code === 'missing-parameter' && fault.subject !== null) {
        missing ??= []
        missing.push(fault.subject)
      } else {
        reportFault(asker, reading, policy, fault)
        // Nothing is left for the others, and they are not asked: what is not known to be granted is denied.
        if (isBudgetExhausted(fault)) {
          reading.exhausted = fault
          break
        }
      }
    }
  }
  if (missing !== null) return missingParameters(missing)
  return refusing === null ? denied : ok(refusedBy(refusing, parameters))
}

export function reportFault(
  { deps, caller, kind }: EvaluationContext,
  reading: ReadSession,
  policy: CompiledPolicy,
  fault: ExecutionError,
): void {
  const told: PolicyFault = {
    projectId: caller.projectId,
    policyId: policy.id,
    revision: policy.revision,
    requestKind: kind,
    code: fault.code,
    // Parameters are masked in logs, and what nodes hold is nobody's business there.
    message: fault.redactedMessage,
  }
  reading.report(() => deps.onPolicyFault(told))
}

/** What the caller can do about it stands in the advice. */
function refusedBy(filters: readonly PolicyFilter[], parameters: ReadonlyMap<string, Value>): Decision {
  const advice = filters.flatMap((filter) => filter.explainRejection(parameters).advice)
  const reason = 'a policy that might grant this does not admit the token or the parameters'
  return { decision: false, context: advice.length === 0 ? { reason } : { reason, advice } }
}
