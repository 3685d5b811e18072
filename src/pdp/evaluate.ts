// Evaluates a single request on one snapshot.
import type { PlanUses } from '../engine/conditions.ts'
import { graphNotFound, type ServiceError } from '../kernel/errors.ts'
import type { AgentCaller } from '../kernel/request/caller.ts'
import type { RequestOrigin } from '../kernel/request/request-origin.ts'
import { ok, type Result } from '../kernel/result.ts'
import type { GrantingPolicy, PolicyName } from '../policy/compile-policy.ts'
import { type Decision, decide, withDecisionId } from './decide.ts'
import type { DecisionDeps, EvaluationRequest } from './decision-deps.ts'
import { readInSession } from './read-session.ts'

/**
 * Evaluates one request and reports it to `deps.onDecided`.
 * Errors: `not-found` if the project has no graph, and the errors of `decide`. Throws LaneRequiredError if the budget
 * of the event loop is exceeded.
 */
export function evaluate(
  deps: DecisionDeps,
  caller: AgentCaller,
  origin: RequestOrigin,
  request: EvaluationRequest,
): Result<Decision, ServiceError> {
  if (deps.onDecided === null) return decisionOn(deps, caller, request).decided
  const startedMs = performance.now()
  const id = deps.decisionId === null ? null : deps.decisionId()
  const { decided, granting, forbidding, plans } = decisionOn(deps, caller, request)
  const namesGranting = id !== null || deps.namesGranting === true
  deps.onDecided({
    kind: 'evaluation',
    origin,
    caller,
    item: null,
    request,
    decision: decided.ok ? decided.value.decision : null,
    reason: decided.ok ? (decided.value.context?.reason ?? null) : null,
    found: null,
    error: decided.ok ? null : decided.error,
    durationMs: performance.now() - startedMs,
    startedMs,
    id,
    granting: namesGranting ? granting : null,
    forbidding,
    plans: namesGranting ? plans : null,
  })
  return id === null || !decided.ok ? decided : ok(withDecisionId(decided.value, id))
}

interface GrantOutcome {
  readonly decided: Result<Decision, ServiceError>
  readonly granting: GrantingPolicy | null
  readonly forbidding: PolicyName | null
  readonly plans: PlanUses | null
}

function decisionOn(deps: DecisionDeps, caller: AgentCaller, request: EvaluationRequest): GrantOutcome {
  const graphs = deps.graphsOf(caller.projectId)
  if (graphs === null) return { decided: graphNotFound, granting: null, forbidding: null, plans: null }
  return readInSession(graphs, deps, (session) => {
    session.budget.start(deps.limits)
    const decided = decide({ deps, caller, kind: 'evaluation' }, session, request)
    return { decided, granting: session.granting, forbidding: session.forbidding, plans: session.plans }
  })
}
