// A single evaluation: one question, one decision, one snapshot.
import type { AgentCaller } from '../identity/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import type { Result } from '../kernel/result.ts'
import { type Decision, decide } from './decide.ts'
import type { DecisionParts, Question } from './parts.ts'
import { noGraph } from './question.ts'
import { Reading } from './reading.ts'
import type { EvaluationRequest } from './schema.ts'

export function evaluate(
  parts: DecisionParts,
  caller: AgentCaller,
  requestId: string,
  request: EvaluationRequest,
): Result<Decision, ServiceError> {
  const question: Question = {
    subject: request.subject,
    resource: request.resource,
    action: request.action,
    context: request.context,
  }
  if (parts.onDecided === null) return decisionOn(parts, caller, question)
  const startedMs = performance.now()
  const decided = decisionOn(parts, caller, question)
  parts.onDecided({
    kind: 'evaluation',
    requestId,
    caller,
    item: null,
    question,
    decision: decided.ok ? decided.value.decision : null,
    found: null,
    error: decided.ok ? null : decided.error,
    durationMs: performance.now() - startedMs,
  })
  return decided
}

function decisionOn(parts: DecisionParts, caller: AgentCaller, question: Question): Result<Decision, ServiceError> {
  const graphs = parts.graphsOf(caller.projectId)
  if (graphs === null) return noGraph
  const reading = new Reading(graphs, parts.limits)
  try {
    reading.budget.start(parts.limits)
    const decided = decide({ parts, caller, kind: 'evaluation' }, reading, question)
    reading.answered()
    return decided
  } finally {
    reading.close()
  }
}
