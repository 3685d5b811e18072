// All resources for a subject, or all subjects for a resource: exactly those x for which evaluate(x) is true.
// As there, a policy that lacks a parameter does not apply, and when nothing is found but a parameter was missing, the
// caller is told (422). A limit reached is an error, never a short answer (ruling D4). All policies share one budget.
import { RunFault } from '../engine/errors.ts'
import type { AgentCaller } from '../identity/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { CompiledPolicy } from '../policy/library.ts'
import type { Ask } from './candidates.ts'
import { type Asker, tellFault } from './decide.ts'
import { FindNames } from './find-names.ts'
import { FindNodes } from './find-nodes.ts'
import { type Cut, cutFor, noPage, type Page } from './page.ts'
import type { DecisionParts, Question, QuestionKind } from './parts.ts'
import {
  bindParameters,
  complainsOfSubject,
  lacking,
  maySpeakFor,
  missingParameters,
  noGraph,
  policiesFor,
  refusedLocation,
  subjectDiffers,
} from './question.ts'
import { Reading } from './reading.ts'
import type { PageRequest, ResourceSearchRequest, SearchAnswer, SubjectSearchRequest } from './schema.ts'

export function searchResources(
  parts: DecisionParts,
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
  parts: DecisionParts,
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
  parts: DecisionParts,
  caller: AgentCaller,
  requestId: string,
  kind: QuestionKind,
  question: Question,
  page: PageRequest | undefined,
  type: string,
): Result<SearchAnswer, ServiceError> {
  const found = paged(parts, caller, requestId, kind, question, page, (asker, reading, cut) =>
    search(asker, reading, question, cut),
  )
  if (!found.ok) return found
  const results = found.value.ids.map((id) => ({ type, id }))
  return ok(found.value.page === null ? { results } : { page: found.value.page, results })
}

/** Answers one page out of one reading. */
type Find = (asker: Asker, reading: Reading, cut: Cut) => Result<Page, ServiceError>

/** What all searches have in common: the page that is asked for, one reading, and the event. */
export function paged(
  parts: DecisionParts,
  caller: AgentCaller,
  requestId: string,
  kind: QuestionKind,
  question: Question,
  page: PageRequest | undefined,
  find: Find,
): Result<Page, ServiceError> {
  const { onDecided } = parts
  const startedMs = onDecided === null ? 0 : performance.now()
  const answered = cutAndFind(parts, caller, kind, cutFor(parts, caller, kind, question, page), find)
  onDecided?.({
    kind,
    requestId,
    caller,
    item: null,
    question,
    decision: null,
    found: answered.ok ? answered.value.ids.length : null,
    error: answered.ok ? null : answered.error,
    durationMs: performance.now() - startedMs,
  })
  return answered
}

function cutAndFind(
  parts: DecisionParts,
  caller: AgentCaller,
  kind: QuestionKind,
  cut: Result<Cut, ServiceError>,
  find: Find,
): Result<Page, ServiceError> {
  if (!cut.ok) return cut
  const graphs = parts.graphsOf(caller.projectId)
  if (graphs === null) return noGraph
  const reading = new Reading(graphs, parts.limits)
  try {
    reading.budget.start(parts.limits)
    const found = find({ parts, caller, kind }, reading, cut.value)
    reading.answered()
    return found
  } finally {
    reading.close()
  }
}

function search(asker: Asker, reading: Reading, question: Question, cut: Cut): Result<Page, ServiceError> {
  const { parts, caller, kind } = asker
  const policies = policiesFor(parts, caller.projectId, question)
  const history = parts.inlineHistory?.[kind]
  if (history === undefined) return searchBy(policies, asker, reading, question, cut)
  return history.run(caller.projectId, policies, () => searchBy(policies, asker, reading, question, cut))
}

function searchBy(
  policies: readonly CompiledPolicy[],
  asker: Asker,
  reading: Reading,
  question: Question,
  cut: Cut,
): Result<Page, ServiceError> {
  const { parts, caller } = asker
  const bound = bindParameters(parts, caller, question, policies)
  if (!bound.ok) return bound
  if (policies.length === 0) return ok(noPage(cut))
  const sought = question.resource.id === null ? 'resource' : 'subject'
  if (sought === 'resource' && !maySpeakFor(caller.user, question.subject)) {
    return policies.some(complainsOfSubject) ? subjectDiffers : ok(noPage(cut))
  }
  const parameters = bound.value
  const misplaced = refusedLocation(policies, parameters, reading.graphs)
  if (misplaced !== null) return misplaced

  const missing = new Set<string>()
  const asks: Ask[] = []
  for (const policy of policies) {
    const name = lacking(policy, parameters)
    if (name === null) asks.push({ asker, policy, reading, parameters, question, sought, admitted: null, missing })
    else missing.add(name)
  }
  const graph = graphOfAll(asks)
  const found =
    graph === null
      ? new FindNames(cut)
      : new FindNodes(parts, cut, () => (graph === '' ? reading.snapshot : reading.locate(graph)), asks.length === 1)
  for (const ask of asks) {
    const { policy } = ask
    reading.parameters = parameters
    try {
      if (policy.readsIdOf[sought]) found.findEach(ask)
      else found.find(ask)
    } catch (fault) {
      if (!(fault instanceof RunFault)) throw fault
      if (fault.code === 'missing-parameter' && fault.subject !== null) {
        missing.add(fault.subject)
        continue
      }
      tellFault(asker, reading, policy, fault)
      if (fault.code === 'budget') return overBudget(fault)
      // One candidate's fault must not hide the others: asked one by one, only those that fault are left out.
      try {
        found.findEach(ask)
      } catch (again) {
        if (!(again instanceof RunFault)) throw again
        if (again.code === 'budget') return overBudget(again)
        // No candidate's fault but the policy's own, told above: it names a location that has gone.
      }
    }
  }
  const isNothing = found.isEmpty && cut.place.given === 0
  return isNothing && missing.size > 0 ? missingParameters(missing) : found.page(parts)
}

/** The location of the one graph in which all that is sought lies, '' for the default one; null: there are several. */
function graphOfAll(asks: readonly Ask[]): string | null {
  const locations = asks.map(({ policy, parameters, sought }) => {
    const graph = policy.condition.soughtIn(sought)
    if (graph === null || graph.kind === 'default') return graph === null ? null : ''
    const location = graph.kind === 'parameter' ? parameters.get(graph.name) : graph.name
    return typeof location === 'string' ? location : null
  })
  const [first = ''] = locations
  return locations.every((location) => location === first) ? first : null
}

export function overBudget(fault: RunFault): Result<never, ServiceError> {
  return err({ kind: 'budget', limit: fault.subject ?? 'traversalStepsMax', message: fault.message })
}
