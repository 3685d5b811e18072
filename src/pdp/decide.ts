// One decision: the OR of all policies for (subject type, action, resource type); default deny (ruling D1).
// A policy that lacks a parameter does not apply. A grant by another is a grant; without one, the caller is told what
// was missing (422) instead of a denial that a parameter might turn round. All policies share one budget.
import { RunFault } from '../engine/errors.ts'
import type { Value } from '../engine/value/value.ts'
import type { AgentCaller } from '../identity/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { ok, type Result } from '../kernel/result.ts'
import type { Advice, Filter } from '../policy/filter.ts'
import type { CompiledPolicy } from '../policy/library.ts'
import type { DecisionFault, DecisionParts, Question, QuestionKind } from './parts.ts'
import {
  bindParameters,
  complainsOfSubject,
  isSpent,
  type Lacking,
  lacking,
  maySpeakFor,
  missingParameters,
  policiesFor,
  refusedLocation,
  subjectDiffers,
} from './question.ts'
import type { Reading } from './reading.ts'

export interface Decision {
  readonly decision: boolean
  /** Never with a permit: who does not understand it may refuse it (AuthZEN 5.5). */
  readonly context?: { readonly reason: string; readonly advice?: readonly Advice[] }
}

export const permit: Decision = { decision: true }
export const denial: Decision = { decision: false }
const granted = ok(permit)
const denied = ok(denial)

export type Verdict = Result<Decision, ServiceError> | Lacking

export interface Asker {
  readonly parts: DecisionParts
  readonly caller: AgentCaller
  /** For the log of faults. */
  readonly kind: QuestionKind
}

/** A question whose both ends are given. The reading's budget is started by whoever opened it. */
export function decide(asker: Asker, reading: Reading, question: Question): Verdict {
  const { parts, caller, kind } = asker
  const policies = policiesFor(parts, caller.projectId, question)
  const history = parts.inlineHistory?.[kind]
  if (history === undefined) return decideBy(policies, asker, reading, question)
  return history.run(caller.projectId, policies, () => decideBy(policies, asker, reading, question))
}

function decideBy(policies: readonly CompiledPolicy[], asker: Asker, reading: Reading, question: Question): Verdict {
  const { parts, caller } = asker
  const bound = bindParameters(parts, caller, question, policies)
  if (!bound.ok) return bound
  if (policies.length === 0) return denied
  if (!maySpeakFor(caller.user, question.subject)) return policies.some(complainsOfSubject) ? subjectDiffers : denied
  const parameters = bound.value
  const misplaced = refusedLocation(policies, parameters, reading.graphs)
  if (misplaced !== null) return misplaced

  reading.parameters = parameters
  const { subject, resource } = question
  let missing: string[] | null = null
  let refusing: Filter[] | null = null
  for (const policy of policies) {
    reading.budget.touch(1)
    const name = lacking(policy, parameters)
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
      if (!(fault instanceof RunFault)) throw fault
      if (fault.code === 'missing-parameter' && fault.subject !== null) {
        missing ??= []
        missing.push(fault.subject)
      } else {
        tellFault(asker, reading, policy, fault)
        // Nothing is left for the others, and they are not asked: what is not known to be granted is denied.
        if (isSpent(fault)) {
          reading.spent = fault
          break
        }
      }
    }
  }
  if (missing !== null) return missingParameters(missing)
  return refusing === null ? denied : ok(refusedBy(refusing, parameters))
}

export function tellFault(
  { parts, caller, kind }: Asker,
  reading: Reading,
  policy: CompiledPolicy,
  fault: RunFault,
): void {
  const told: DecisionFault = {
    projectId: caller.projectId,
    policyId: policy.id,
    revision: policy.revision,
    question: kind,
    code: fault.code,
    // Parameters are masked in logs, and what nodes hold is nobody's business there.
    message: fault.withoutValues,
  }
  reading.tell(() => parts.onFault(told))
}

/** What the caller can do about it stands in the advice. */
function refusedBy(filters: readonly Filter[], parameters: ReadonlyMap<string, Value>): Decision {
  const advice = filters.flatMap((filter) => filter.refusal(parameters).advice)
  const reason = 'a policy that might grant this does not admit the token or the parameters'
  return { decision: false, context: advice.length === 0 ? { reason } : { reason, advice } }
}
