// One decision: the OR of all policies for (subject type, action, resource type); default deny (ruling D1).
// A policy that lacks a parameter does not apply. A grant by another is a grant; without one, the caller is told what
// was missing (422) instead of a denial that a parameter might turn round. All policies share one budget.
import { Budget } from '../engine/conditions.ts'
import { RunFault } from '../engine/errors.ts'
import type { AgentCaller } from '../identity/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { ok, type Result } from '../kernel/result.ts'
import {
  bindParameters,
  type DecisionParts,
  isSpent,
  lacking,
  missingParameters,
  noGraph,
  policiesFor,
} from './question.ts'
import type { EvaluationRequest } from './schema.ts'

const granted = ok(true)
const denied = ok(false)

export function evaluate(
  parts: DecisionParts,
  caller: AgentCaller,
  request: EvaluationRequest,
): Result<boolean, ServiceError> {
  const graphs = parts.graphsOf(caller.projectId)
  if (graphs === null) return noGraph
  const { subject, resource, action } = request
  const question = { subject, resource, action, context: request.context }
  const policies = policiesFor(parts, caller, question)
  const parameters = bindParameters(parts, question, policies)
  if (!parameters.ok) return parameters
  if (policies.length === 0) return denied

  const missing: string[] = []
  const snapshot = graphs.default.snapshot()
  try {
    const budget = new Budget()
    budget.start(parts.limits)
    const asking = { snapshot, parameters: parameters.value, limits: parts.limits, budget }
    for (const policy of policies) {
      const name = lacking(policy, parameters.value)
      if (name !== null) {
        missing.push(name)
        continue
      }
      try {
        if (policy.condition.check(asking, subject.id, resource.id)) return granted
      } catch (fault) {
        if (!(fault instanceof RunFault)) throw fault
        if (fault.code === 'missing-parameter' && fault.subject !== null) missing.push(fault.subject)
        else {
          parts.onFault({
            projectId: caller.projectId,
            policyId: policy.id,
            question: 'evaluation',
            code: fault.code,
            message: fault.message,
          })
          // Nothing is left for the others, and they are not asked: what is not known to be granted is denied.
          if (isSpent(fault)) break
        }
      }
    }
  } finally {
    snapshot.close()
  }
  return missing.length === 0 ? denied : missingParameters(missing)
}
