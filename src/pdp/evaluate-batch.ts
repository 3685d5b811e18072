// Evaluates a batch: each item is a request of its own, and all items read the same snapshots. An error in an item
// stays in the item (AuthZEN 7.2.1): `decision: false` with a reason.
import type { ExecutionError } from '../engine/errors.ts'
import { graphNotFound, type ServiceError, ThrownServiceError } from '../kernel/errors.ts'
import type { AgentCaller } from '../kernel/request/caller.ts'
import { LaneRequiredError } from '../kernel/request/lane-required.ts'
import { nextExecutionMs, requestStartMs } from '../kernel/request/remote-reads.ts'
import type { RequestOrigin } from '../kernel/request/request-origin.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { type Decision, decide, type EvaluationContext, withDecisionId } from './decide.ts'
import type { DecisionDeps, DecisionEvent } from './decision-deps.ts'
import { type BatchItemResult, type BatchRequest, readItems } from './read-batch.ts'
import { type ReadSession, readInSession } from './read-session.ts'

/**
 * Evaluates the items in order until `evaluations_semantic` ends the batch. Returns one decision per evaluated item.
 * Errors: `malformed` if there are too many items, `not-found` if the project has no graph. Throws LaneRequiredError if
 * it takes longer than `deps.inlineMs` on the event loop.
 */
export function evaluateBatch(
  deps: DecisionDeps,
  caller: AgentCaller,
  origin: RequestOrigin,
  request: BatchRequest,
): Result<readonly Decision[], ServiceError> {
  const count = request.evaluations.length
  if (count > deps.evaluationsMax) {
    const expected = `evaluations: expected at most ${deps.evaluationsMax} items, found ${count}`
    return err({ kind: 'malformed', issues: [expected] })
  }
  const graphs = deps.graphsOf(caller.projectId)
  if (graphs === null) return graphNotFound
  const { onDecided } = deps
  const endsAt = endingDecision(request.options?.evaluations_semantic)
  const evaluation: EvaluationContext = { deps, caller, kind: 'evaluation' }
  const endsMs = requestStartMs() + deps.batchTimeMs
  const laneMs = deps.inlineMs === undefined ? Number.POSITIVE_INFINITY : performance.now() + deps.inlineMs
  return readInSession(graphs, deps, (session) => {
    const decisions: Decision[] = []
    for (const item of readItems(request)) {
      const startedMs = performance.now()
      // Nothing is reported yet, so a lane can decide the whole batch again.
      if (startedMs > laneMs) throw new LaneRequiredError('batch')
      const leftMs = endsMs - nextExecutionMs()
      const decided: Result<Decision, ServiceError> =
        leftMs < 0 ? outOfTime : decideItem(evaluation, session, item, leftMs)
      const decision = decided.ok ? decided.value : { decision: false, context: { reason: reasonOf(decided.error) } }
      const id = onDecided === null || deps.decisionId === null ? null : deps.decisionId()
      if (onDecided !== null) {
        const event: DecisionEvent = {
          kind: 'evaluation',
          origin,
          caller,
          item: decisions.length,
          batch: request,
          request: item.ok ? item.value : null,
          decision: decided.ok ? decision.decision : null,
          reason: decided.ok ? (decided.value.context?.reason ?? null) : null,
          found: null,
          error: decided.ok ? null : decided.error,
          durationMs: performance.now() - startedMs,
          startedMs,
          id,
          granting: session.granting,
          forbidding: session.forbidding,
          plans: session.takePlans(),
        }
        session.report(() => onDecided(event))
      }
      decisions.push(id === null ? decision : withDecisionId(decision, id))
      if (decision.decision === endsAt) break
    }
    return ok(decisions)
  })
}

const outOfTime: Result<never, ServiceError> = err({
  kind: 'budget',
  limit: 'batchTimeMs',
  message: 'the time limit of the batch is reached',
})

/** Returns the decision that ends the batch; null if all items are evaluated. */
function endingDecision(semantic: string | undefined): boolean | null {
  if (semantic === 'deny_on_first_deny') return false
  return semantic === 'permit_on_first_permit' ? true : null
}

/** `leftMs`: time that the batch has left. */
function decideItem(
  evaluation: EvaluationContext,
  session: ReadSession,
  item: BatchItemResult,
  leftMs: number,
): Result<Decision, ServiceError> {
  session.granting = null
  session.forbidding = null
  if (!item.ok) return item
  // Each item has the budget of a single call, so that a batch and single calls give the same decisions.
  const { limits } = session
  const isShort = leftMs < limits.timeMs
  session.budget.start(isShort ? { ...limits, timeMs: leftMs } : limits)
  session.exhausted = null
  try {
    const decided = decide(evaluation, session, item.value)
    // The time of the batch ended, not the time of one evaluation, after which the result would be a denial.
    return isShort && isOutOfTime(session.exhausted) ? outOfTime : decided
  } catch (error) {
    // An unreadable location must fail only the items that need it.
    if (!(error instanceof ThrownServiceError)) throw error
    if (error.needsLogging) session.report(() => evaluation.deps.onServiceError(error))
    return err(error.error)
  }
}

function isOutOfTime(error: ExecutionError | null): boolean {
  return error?.subject === 'decisionTimeMs'
}

/**
 * Returns the message of the single call, with the kind of the error in front
 * (docs/decisions/0006-authzen-status-codes-and-batches.md).
 */
function reasonOf(error: ServiceError): string {
  switch (error.kind) {
    case 'malformed':
    case 'invalid':
      return `invalid_argument: ${error.issues.join('; ')}`
    case 'unknown-location':
      return `invalid_argument: unknown location ${error.location} for parameter $${error.parameter}`
    case 'forbidden':
      return `permission_denied: ${error.message}`
    case 'budget':
      return `resource_exhausted: ${error.message}`
    case 'unavailable':
      return `unavailable: ${error.message}`
    default:
      return `internal: ${error.kind}`
  }
}
