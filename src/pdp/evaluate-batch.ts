// A batch of evaluations: each item a question of its own, all asked of the same snapshots. What is wrong with an item stays
// in it (AuthZEN 7.2.1): `decision: false` with a reason, and the batch is answered.
import type { ExecutionError } from '../engine/errors.ts'
import type { AgentCaller } from '../kernel/caller.ts'
import { type ServiceError, ThrownServiceError } from '../kernel/errors.ts'
import { LaneRequiredError } from '../kernel/lane-required.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { type Decision, decide, type EvaluationContext } from './decide.ts'
import type { DecisionDeps, DecisionEvent } from './decision-deps.ts'
import { graphNotFound } from './evaluation-inputs.ts'
import { type BatchItemResult, type BatchRequest, readItems } from './read-batch.ts'
import { ReadSession } from './read-session.ts'

export function evaluateBatch(
  parts: DecisionDeps,
  caller: AgentCaller,
  requestId: string,
  request: BatchRequest,
): Result<readonly Decision[], ServiceError> {
  const given = request.evaluations.length
  if (given > parts.evaluationsMax) {
    const expected = `evaluations: expected at most ${parts.evaluationsMax} items, found ${given}`
    return err({ kind: 'malformed', issues: [expected] })
  }
  const graphs = parts.graphsOf(caller.projectId)
  if (graphs === null) return graphNotFound
  const { onDecided } = parts
  const stopsAt = stopOf(request.options?.evaluations_semantic)
  const asker: EvaluationContext = { deps: parts, caller, kind: 'evaluation' }
  const reading = new ReadSession(
    graphs,
    parts.limits,
    parts.inlineMs !== undefined || parts.limits.inlineMs !== undefined,
  )
  const decisions: Decision[] = []
  const beganMs = performance.now()
  const endsMs = beganMs + parts.batchTimeMs
  const laneMs = parts.inlineMs === undefined ? Number.POSITIVE_INFINITY : beganMs + parts.inlineMs
  try {
    for (const item of readItems(request)) {
      const startedMs = performance.now()
      // Nothing was told yet: a lane decides all of the batch.
      if (startedMs > laneMs) throw new LaneRequiredError('batch')
      const decided: Result<Decision, ServiceError> =
        startedMs > endsMs ? outOfTime : decideItem(asker, reading, item, endsMs - startedMs)
      const decision = decided.ok ? decided.value : { decision: false, context: { reason: reasonOf(decided.error) } }
      if (onDecided !== null) {
        const event: DecisionEvent = {
          kind: 'evaluation',
          requestId,
          caller,
          item: decisions.length,
          batch: request,
          request: item.ok ? item.value : null,
          decision: decided.ok ? decision.decision : null,
          found: null,
          error: decided.ok ? null : decided.error,
          durationMs: performance.now() - startedMs,
        }
        reading.report(() => onDecided(event))
      }
      decisions.push(decision)
      if (decision.decision === stopsAt) break
    }
    reading.flushReports()
  } catch (fault) {
    // What was decided before a failure is told all the same, unless it is decided again.
    if (!(fault instanceof LaneRequiredError)) reading.flushReports()
    throw fault
  } finally {
    reading.close()
  }
  return ok(decisions)
}

const outOfTime: Result<never, ServiceError> = err({
  kind: 'budget',
  limit: 'batchTimeMs',
  message: 'the time of the batch is used up',
})

/** The decision after which nothing more is asked; null: everything is. */
function stopOf(semantic: string | undefined): boolean | null {
  if (semantic === 'deny_on_first_deny') return false
  return semantic === 'permit_on_first_permit' ? true : null
}

/** `leftMs`: of the time of the batch. */
function decideItem(
  asker: EvaluationContext,
  reading: ReadSession,
  item: BatchItemResult,
  leftMs: number,
): Result<Decision, ServiceError> {
  if (!item.ok) return item
  // Each item has the budget of a call of its own, so that a batch says what single calls say.
  const { limits } = reading
  const isShort = leftMs < limits.timeMs
  reading.budget.start(isShort ? { ...limits, timeMs: leftMs } : limits)
  reading.exhausted = null
  try {
    const decided = decide(asker, reading, item.value)
    // Not the time of one question, after which it is denied: the batch as a whole has none left.
    return isShort && isOutOfTime(reading.exhausted) ? outOfTime : decided
  } catch (fault) {
    // One location that cannot be read must not take the answers of the others with it.
    if (!(fault instanceof ThrownServiceError)) throw fault
    if (fault.needsLogging) reading.report(() => asker.deps.onServiceFault(fault))
    return err(fault.error)
  }
}

function isOutOfTime(fault: ExecutionError | null): boolean {
  return fault?.subject === 'decisionTimeMs'
}

/** Facts 1.3.3: the text of the single call behind the kind of the failure. */
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
