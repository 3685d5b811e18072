// A single evaluation: one question, one decision, one snapshot.
import type { AgentCaller } from '../kernel/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import type { Result } from '../kernel/result.ts'
import { type Decision, decide } from './decide.ts'
import type { DecisionDeps, Question } from './decision-deps.ts'
import { graphNotFound } from './evaluation-inputs.ts'
import { ReadSession } from './read-session.ts'
import type { EvaluationRequest } from './schema.ts'

export function evaluate(
  parts: DecisionDeps,
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
    request: question,
    decision: decided.ok ? decided.value.decision : null,
    found: null,
    error: decided.ok ? null : decided.error,
    durationMs: performance.now() - startedMs,
  })
  return decided
}

function decisionOn(parts: DecisionDeps, caller: AgentCaller, question: Question): Result<Decision, ServiceError> {
  const graphs = parts.graphsOf(caller.projectId)
  if (graphs === null) return graphNotFound
  const reading = new ReadSession(graphs, parts.limits)
  try {
    reading.budget.start(parts.limits)
    const decided = decide({ deps: parts, caller, kind: 'evaluation' }, reading, question)
    reading.flushReports()
    return decided
  } finally {
    reading.close()
  }
}
