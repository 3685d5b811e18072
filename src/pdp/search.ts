// All resources for a subject, or all subjects for a resource: exactly those x for which evaluate(x) is true.
// As there, a policy that lacks a parameter does not apply, and when nothing is found but a parameter was missing, the
// caller is told (422). A limit reached is an error, never a short answer (ruling D4). All policies share one budget.
import { ExecutionError } from '../engine/errors.ts'
import type { AgentCaller } from '../kernel/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { CompiledPolicy } from '../policy/policy-index.ts'
import { type EvaluationContext, reportFault } from './decide.ts'
import type { DecisionDeps, Question, RequestKind } from './decision-deps.ts'
import {
  bindParameters,
  firstMissingParameter,
  graphNotFound,
  invalidLocation,
  missingParameters,
  policiesFor,
  rejectsForeignSubject,
  subjectMismatch,
  tokenMatchesSubject,
} from './evaluation-inputs.ts'
import { KeysetSearch } from './keyset-search.ts'
import { MultiGraphSearch } from './multi-graph-search.ts'
import { ReadSession } from './read-session.ts'
import type { PageRequest, ResourceSearchRequest, SearchAnswer, SubjectSearchRequest } from './schema.ts'
import { emptyPage, type PageWindow, pageWindowFor, type SearchPage } from './search-page.ts'
import type { SearchTask } from './search-task.ts'

export function searchResources(
  parts: DecisionDeps,
  caller: AgentCaller,
  requestId: string,
  request: ResourceSearchRequest,
): Result<SearchAnswer, ServiceError> {
  const { subject, action, context } = request
  const { type, properties } = request.resource
  const question: Question = { subject, action, resource: { type, id: null, properties }, context }
  return answer(parts, caller, requestId, 'resource search', question, request.page, type)
}

/** A user's token has no effect here (facts 1.3.4): whoever is found is found as if asked for without one. */
export function searchSubjects(
  parts: DecisionDeps,
  caller: AgentCaller,
  requestId: string,
  request: SubjectSearchRequest,
): Result<SearchAnswer, ServiceError> {
  const { resource, action, context } = request
  const { type, properties } = request.subject
  const question: Question = { subject: { type, id: null, properties }, action, resource, context }
  const alone = caller.user === null ? caller : { ...caller, user: null }
  return answer(parts, alone, requestId, 'subject search', question, request.page, type)
}

function answer(
  parts: DecisionDeps,
  caller: AgentCaller,
  requestId: string,
  kind: RequestKind,
  question: Question,
  page: PageRequest | undefined,
  type: string,
): Result<SearchAnswer, ServiceError> {
  const found = runSearch(parts, caller, requestId, kind, question, page, (asker, reading, cut) =>
    search(asker, reading, question, cut),
  )
  if (!found.ok) return found
  const results = found.value.ids.map((id) => ({ type, id }))
  return ok(found.value.page === null ? { results } : { page: found.value.page, results })
}

/** Answers one page out of one reading. */
type PageFinder = (asker: EvaluationContext, reading: ReadSession, cut: PageWindow) => Result<SearchPage, ServiceError>

/** What all searches have in common: the page that is asked for, one reading, and the event. */
export function runSearch(
  parts: DecisionDeps,
  caller: AgentCaller,
  requestId: string,
  kind: RequestKind,
  question: Question,
  page: PageRequest | undefined,
  find: PageFinder,
): Result<SearchPage, ServiceError> {
  const { onDecided } = parts
  const startedMs = onDecided === null ? 0 : performance.now()
  const answered = cutAndFind(parts, caller, kind, pageWindowFor(parts, caller, kind, question, page), find)
  onDecided?.({
    kind,
    requestId,
    caller,
    item: null,
    request: question,
    decision: null,
    found: answered.ok ? answered.value.ids.length : null,
    error: answered.ok ? null : answered.error,
    durationMs: performance.now() - startedMs,
  })
  return answered
}

function cutAndFind(
  parts: DecisionDeps,
  caller: AgentCaller,
  kind: RequestKind,
  cut: Result<PageWindow, ServiceError>,
  find: PageFinder,
): Result<SearchPage, ServiceError> {
  if (!cut.ok) return cut
  const graphs = parts.graphsOf(caller.projectId)
  if (graphs === null) return graphNotFound
  const reading = new ReadSession(graphs, parts.limits)
  try {
    reading.budget.start(parts.limits)
    const found = find({ deps: parts, caller, kind }, reading, cut.value)
    reading.flushReports()
    return found
  } finally {
    reading.close()
  }
}

function search(
  asker: EvaluationContext,
  reading: ReadSession,
  question: Question,
  cut: PageWindow,
): Result<SearchPage, ServiceError> {
  const { deps, caller, kind } = asker
  const policies = policiesFor(deps, caller.projectId, question)
  const history = deps.inlineHistory?.[kind]
  if (history === undefined) return searchBy(policies, asker, reading, question, cut)
  return history.run(caller.projectId, policies, () => searchBy(policies, asker, reading, question, cut))
}

function searchBy(
  policies: readonly CompiledPolicy[],
  asker: EvaluationContext,
  reading: ReadSession,
  question: Question,
  cut: PageWindow,
): Result<SearchPage, ServiceError> {
  const { deps, caller } = asker
  const bound = bindParameters(deps, caller, question, policies)
  if (!bound.ok) return bound
  if (policies.length === 0) return ok(emptyPage(cut))
  const sought = question.resource.id === null ? 'resource' : 'subject'
  if (sought === 'resource' && !tokenMatchesSubject(caller.user, question.subject)) {
    return policies.some(rejectsForeignSubject) ? subjectMismatch : ok(emptyPage(cut))
  }
  const parameters = bound.value
  const misplaced = invalidLocation(policies, parameters, reading.graphs)
  if (misplaced !== null) return misplaced

  const missing = new Set<string>()
  const asks: SearchTask[] = []
  for (const policy of policies) {
    const name = firstMissingParameter(policy, parameters)
    if (name === null)
      asks.push({
        evaluation: asker,
        policy,
        session: reading,
        parameters,
        request: question,
        target: sought,
        filterResult: null,
        missing,
      })
    else missing.add(name)
  }
  const graph = graphOfAll(asks)
  const found =
    graph === null
      ? new MultiGraphSearch(cut)
      : new KeysetSearch(deps, cut, () => (graph === '' ? reading.snapshot : reading.locate(graph)), asks.length === 1)
  for (const ask of asks) {
    const { policy } = ask
    reading.parameters = parameters
    try {
      if (policy.readsIdOf[sought]) found.searchEach(ask)
      else found.search(ask)
    } catch (fault) {
      if (!(fault instanceof ExecutionError)) throw fault
      if (fault.code === 'missing-parameter' && fault.subject !== null) {
        missing.add(fault.subject)
        continue
      }
      reportFault(asker, reading, policy, fault)
      if (fault.code === 'budget') return budgetError(fault)
      // One candidate's fault must not hide the others: asked one by one, only those that fault are left out.
      try {
        found.searchEach(ask)
      } catch (again) {
        if (!(again instanceof ExecutionError)) throw again
        if (again.code === 'budget') return budgetError(again)
        // No candidate's fault but the policy's own, told above: it names a location that has gone.
      }
    }
  }
  const isNothing = found.isEmpty && cut.position.returned === 0
  return isNothing && missing.size > 0 ? missingParameters(missing) : found.page(deps)
}

/** The location of the one graph in which all that is sought lies, '' for the default one; null: there are several. */
function graphOfAll(asks: readonly SearchTask[]): string | null {
  const locations = asks.map(({ policy, parameters, target }) => {
    const graph = policy.condition.targetGraph(target)
    if (graph === null || graph.kind === 'default') return graph === null ? null : ''
    const location = graph.kind === 'parameter' ? parameters.get(graph.name) : graph.name
    return typeof location === 'string' ? location : null
  })
  const [first = ''] = locations
  return locations.every((location) => location === first) ? first : null
}

export function budgetError(fault: ExecutionError): Result<never, ServiceError> {
  return err({ kind: 'budget', limit: fault.subject ?? 'traversalStepsMax', message: fault.message })
}
