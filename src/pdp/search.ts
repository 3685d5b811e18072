// Resource and subject search: exactly the entities for which an evaluation is true. As in an evaluation, a policy
// without one of its parameters does not apply, and an empty result with a missing parameter is a 422 error. An
// exhausted budget is an error and never a shorter answer. All policies share one budget. A candidate that a policy grants is asked
// about with the policies that forbid, as an evaluation asks, and takes no place on a page if one does.

import { PlanUses } from '../engine/conditions.ts'
import { ExecutionError } from '../engine/errors.ts'
import { graphNotFound, type ServiceError } from '../kernel/errors.ts'
import type { AgentCaller } from '../kernel/request/caller.ts'
import type { RequestOrigin } from '../kernel/request/request-origin.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { compiledIn, isEmptySet, type PolicySet } from '../policy/compile-policy.ts'
import { missingParameters } from '../policy/input-parameters.ts'
import { type EvaluationContext, reportPolicyError } from './decide.ts'
import type { DecisionDeps, EvaluationRequest, RequestKind } from './decision-deps.ts'
import { faultReason, NO_POLICY_REASON } from './denial-reasons.ts'
import {
  bindParameters,
  firstMissingParameter,
  invalidLocation,
  isNamed,
  policiesFor,
  rejectsForeignSubject,
  subjectMismatch,
  tokenMatchesSubject,
} from './evaluation-inputs.ts'
import { SearchedProhibitions } from './forbid.ts'
import { KeysetSearch } from './keyset-search.ts'
import { modelRevision, modelRevisionError } from './model-revision.ts'
import { MultiGraphSearch } from './multi-graph-search.ts'
import { draftError } from './policy-status.ts'
import { type ReadSession, readInSession } from './read-session.ts'
import type { PageMembers, PageRequest, ResourceSearchRequest, SearchAnswer, SubjectSearchRequest } from './schema.ts'
import { emptyPage, type PageWindow, pageWindowFor, type SearchPage } from './search-page.ts'
import type { SearchTask } from './search-task.ts'

/** Returns the resources that the subject may act on. Errors: as for `runSearch`. */
export function searchResources(
  deps: DecisionDeps,
  caller: AgentCaller,
  origin: RequestOrigin,
  body: ResourceSearchRequest,
): Result<SearchAnswer, ServiceError> {
  const { subject, action, context } = body
  const { type, properties } = body.resource
  const request: EvaluationRequest = { subject, action, resource: { type, id: null, properties }, context }
  return searchEntities(deps, caller, origin, 'resource search', request, body.page, type)
}

/**
 * Returns the subjects that may act on the resource. A user token has no effect here: results are those without a
 * token. Errors: as for `runSearch`.
 */
export function searchSubjects(
  deps: DecisionDeps,
  caller: AgentCaller,
  origin: RequestOrigin,
  body: SubjectSearchRequest,
): Result<SearchAnswer, ServiceError> {
  const { resource, action, context } = body
  const { type, properties } = body.subject
  const request: EvaluationRequest = { subject: { type, id: null, properties }, action, resource, context }
  const withoutUser = caller.user === null ? caller : { ...caller, user: null }
  return searchEntities(deps, withoutUser, origin, 'subject search', request, body.page, type)
}

function searchEntities(
  deps: DecisionDeps,
  caller: AgentCaller,
  origin: RequestOrigin,
  kind: RequestKind,
  request: EvaluationRequest,
  page: PageRequest | undefined,
  type: string,
): Result<SearchAnswer, ServiceError> {
  const found = runSearch(deps, caller, origin, kind, request, page, (evaluation, session, window) =>
    search(evaluation, session, request, window),
  )
  if (!found.ok) return found
  const results = found.value.ids.map((id) => ({ type, id }))
  return ok(searchAnswerOf(found.value, results))
}

/** Builds the answer of a search. */
export function searchAnswerOf<T>(
  { page, decisionId, reason, modelRevision: revision }: FoundPage,
  results: T[],
): { page?: PageMembers; context?: NonNullable<SearchAnswer['context']>; results: T[] } {
  const context = {
    ...(decisionId !== null && { id: decisionId }),
    ...(reason !== null && { reason }),
    ...(revision !== null && { model_revision: revision }),
  }
  return { ...(page !== null && { page }), ...(Object.keys(context).length > 0 && { context }), results }
}

/** A page, and the context of its answer. */
interface FoundPage extends SearchPage {
  /** The id in the decision log; null while it is off. */
  readonly decisionId: string | null
  /** Why results may be absent, as for a denial; null: no candidate is left out for another reason than that it is denied. */
  readonly reason: string | null
  /** Null: the request does not ask for it. */
  readonly modelRevision: number | null
}

/** Computes one page in a session. */
type PageFinder = (
  evaluation: EvaluationContext,
  session: ReadSession,
  window: PageWindow,
) => Result<SearchPage, ServiceError>

/**
 * Runs a search: determines the page, opens a session and reports the event.
 * Errors: `not-found` (no graph), `malformed` (page), `invalid` (parameters), `forbidden` (token of another subject),
 * `unknown-location`, `budget`. Throws LaneRequiredError if the budget of the event loop is exceeded.
 */
export function runSearch(
  deps: DecisionDeps,
  caller: AgentCaller,
  origin: RequestOrigin,
  kind: RequestKind,
  request: EvaluationRequest,
  page: PageRequest | undefined,
  find: PageFinder,
): Result<FoundPage, ServiceError> {
  const { onDecided } = deps
  const id = onDecided === null || deps.decisionId === null ? null : deps.decisionId()
  const startedMs = onDecided === null ? 0 : performance.now()
  const plans = deps.observesPlans === true ? new PlanUses() : null
  const result =
    draftError(deps, caller, request) ??
    modelRevisionError(deps, caller.projectId, request.context) ??
    searchPage(deps, caller, kind, plans, pageWindowFor(deps, caller, kind, request, page), find)
  onDecided?.({
    kind,
    origin,
    caller,
    item: null,
    request,
    decision: null,
    reason: result.ok ? result.value.reason : null,
    found: result.ok ? result.value.ids.length : null,
    error: result.ok ? null : result.error,
    durationMs: performance.now() - startedMs,
    startedMs,
    id,
    granting: null,
    forbidding: null,
    plans,
  })
  if (!result.ok) return result
  const isAsked = request.context?.model_revision !== undefined
  return ok({ ...result.value, decisionId: id, modelRevision: isAsked ? modelRevision(deps, caller.projectId) : null })
}

function searchPage(
  deps: DecisionDeps,
  caller: AgentCaller,
  kind: RequestKind,
  plans: PlanUses | null,
  window: Result<PageWindow, ServiceError>,
  find: PageFinder,
): Result<Omit<FoundPage, 'decisionId' | 'modelRevision'>, ServiceError> {
  if (!window.ok) return window
  const graphs = deps.graphsOf(caller.projectId)
  if (graphs === null) return graphNotFound
  try {
    return readInSession(graphs, deps, (session) => {
      session.plans = plans
      session.budget.start(deps.limits)
      const found = find({ deps, caller, kind }, session, window.value)
      return found.ok ? ok({ ...found.value, reason: session.searchReason }) : found
    })
  } catch (error) {
    // The page itself is charged too: sorting, merging and reading names.
    if (!(error instanceof ExecutionError)) throw error
    return executionError(error)
  }
}

function search(
  evaluation: EvaluationContext,
  session: ReadSession,
  request: EvaluationRequest,
  window: PageWindow,
): Result<SearchPage, ServiceError> {
  const { deps, caller, kind } = evaluation
  const policies = policiesFor(deps, caller.projectId, request)
  const history = deps.inlineHistory?.[kind]
  if (history === undefined) return searchWithPolicies(policies, evaluation, session, request, window)
  return history.run(caller.projectId, policies, () =>
    searchWithPolicies(policies, evaluation, session, request, window),
  )
}

function searchWithPolicies(
  policies: PolicySet,
  evaluation: EvaluationContext,
  session: ReadSession,
  request: EvaluationRequest,
  window: PageWindow,
): Result<SearchPage, ServiceError> {
  const { deps, caller } = evaluation
  const { grants } = policies
  const all = compiledIn(policies)
  const bound = bindParameters(deps, caller, request, all)
  if (!bound.ok) return bound
  if (grants.length === 0) {
    if (isEmptySet(policies) && !isNamed(deps, caller, request)) session.searchReason = NO_POLICY_REASON
    return ok(emptyPage(window))
  }
  const target = request.resource.id === null ? 'resource' : 'subject'
  if (target === 'resource' && !tokenMatchesSubject(caller.user, request.subject)) {
    return grants.some(rejectsForeignSubject) ? subjectMismatch : ok(emptyPage(window))
  }
  const parameters = bound.value
  const locationError = invalidLocation(all, parameters, session.graphs)
  if (locationError !== null) return locationError

  const missing = new Set<string>()
  const tasks: SearchTask[] = []
  const prohibitions = new SearchedProhibitions(policies, session, request, target, parameters, (policy, error) =>
    reportPolicyError(evaluation, session, policy, error),
  )
  for (const policy of grants) {
    const name = firstMissingParameter(policy, parameters)
    if (name === null)
      tasks.push({
        evaluation,
        policy,
        session,
        parameters,
        request,
        target,
        prohibitions,
        filterResult: null,
        missing,
      })
    else missing.add(name)
  }
  const graph = commonGraph(tasks)
  const found =
    graph === null
      ? new MultiGraphSearch(window, session.budget)
      : new KeysetSearch(
          deps,
          window,
          () => (graph === '' ? session.snapshot : session.locate(graph)),
          tasks.length === 1,
          session.budget,
        )
  for (const task of tasks) {
    const { policy } = task
    session.parameters = parameters
    try {
      if (policy.readsIdOf[target]) found.searchEach(task)
      else found.search(task)
    } catch (error) {
      if (!(error instanceof ExecutionError)) throw error
      if (error.code === 'missing-parameter' && error.subject !== null) {
        missing.add(error.subject)
        continue
      }
      reportPolicyError(evaluation, session, policy, error)
      if (error.code === 'budget') return budgetError(error)
      // An error for one candidate must not hide the others: candidate by candidate, only those with an error are left
      // out.
      try {
        found.searchEach(task)
      } catch (retryError) {
        if (!(retryError instanceof ExecutionError)) throw retryError
        if (retryError.code === 'budget') return budgetError(retryError)
        // An error of the policy and not of a candidate, reported above: it names a location that no longer exists.
        session.searchReason ??= faultReason(retryError.code)
      }
    }
  }
  const isNothing = found.isEmpty && window.position.returned === 0
  return isNothing && missing.size > 0 ? missingParameters(missing) : found.page(deps)
}

/** Returns the location of the only graph to search, '' for the default graph; null if there are several. */
function commonGraph(tasks: readonly SearchTask[]): string | null {
  const locations = tasks.map(({ policy, parameters, target }) => {
    const graph = policy.condition.targetGraph(target)
    if (graph === null || graph.kind === 'default') return graph === null ? null : ''
    const location = graph.kind === 'parameter' ? parameters.get(graph.name) : graph.name
    return typeof location === 'string' ? location : null
  })
  const [first = ''] = locations
  return locations.every((location) => location === first) ? first : null
}

/** Makes the error of a search that cannot be completed. The text contains no value. */
function executionError(error: ExecutionError): Result<never, ServiceError> {
  return error.code === 'budget' ? budgetError(error) : err({ kind: 'invalid', issues: [faultReason(error.code)] })
}

/** Makes the error for an exhausted budget. */
export function budgetError(error: ExecutionError): Result<never, ServiceError> {
  return err({ kind: 'budget', limit: error.subject ?? 'traversalStepsMax', message: error.message })
}
