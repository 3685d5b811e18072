// All resources for a subject, or all subjects for a resource: exactly those x for which evaluate(x) is true.
// As there, a policy that lacks a parameter does not apply, and when nothing is found but a parameter was missing, the
// caller is told (422). A limit reached is an error, never a short answer (ruling D4). All policies share one budget.
import { RunFault } from '../engine/errors.ts'
import { emptyChunk, type Snapshot } from '../engine/store.ts'
import type { Value } from '../engine/value/value.ts'
import type { AgentCaller } from '../identity/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { CompiledPolicy } from '../policy/library.ts'
import { type Asker, tellFault } from './decide.ts'
import { type Cut, cutFor, type Page, pageOf } from './page.ts'
import type { DecisionParts, Question, QuestionKind } from './parts.ts'
import {
  bindParameters,
  complainsOfSubject,
  isSpent,
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
  const found = paged(parts, caller, requestId, kind, question, page, (asker, reading) =>
    search(asker, reading, question),
  )
  if (!found.ok) return found
  const results = found.value.ids.map((id) => ({ type, id }))
  return ok(found.value.page === null ? { results } : { page: found.value.page, results })
}

/** What all searches have in common: the page that is asked for, one reading, and the event. */
export function paged(
  parts: DecisionParts,
  caller: AgentCaller,
  requestId: string,
  kind: QuestionKind,
  question: Question,
  page: PageRequest | undefined,
  find: (asker: Asker, reading: Reading) => Result<ReadonlySet<string>, ServiceError>,
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
  find: (asker: Asker, reading: Reading) => Result<ReadonlySet<string>, ServiceError>,
): Result<Page, ServiceError> {
  if (!cut.ok) return cut
  const graphs = parts.graphsOf(caller.projectId)
  if (graphs === null) return noGraph
  const reading = new Reading(graphs, parts.limits)
  try {
    reading.budget.start(parts.limits)
    const found = find({ parts, caller, kind }, reading)
    return found.ok ? ok(pageOf(parts, cut.value, found.value)) : found
  } finally {
    reading.close()
  }
}

function search(asker: Asker, reading: Reading, question: Question): Result<ReadonlySet<string>, ServiceError> {
  const { parts, caller } = asker
  const policies = policiesFor(parts, caller.projectId, question)
  const bound = bindParameters(parts, caller, question, policies)
  if (!bound.ok) return bound
  const found = new Set<string>()
  if (policies.length === 0) return ok(found)
  const sought = question.resource.id === null ? 'resource' : 'subject'
  if (sought === 'resource' && !maySpeakFor(caller.user, question.subject)) {
    return policies.some(complainsOfSubject) ? subjectDiffers : ok(found)
  }
  const misplaced = refusedLocation(policies, bound.value, reading.graphs)
  if (misplaced !== null) return misplaced

  const missing: string[] = []
  for (const policy of policies) {
    const name = lacking(policy, bound.value)
    if (name !== null) {
      missing.push(name)
      continue
    }
    reading.parameters = bound.value
    const ask: Ask = { asker, policy, reading, parameters: bound.value, question, sought }
    try {
      if (policy.readsIdOf[sought]) askEach(ask, found)
      else if (policy.filter === null || policy.filter.admits(bound.value)) {
        for (const id of confirmed(ask, askOnce(ask))) found.add(id)
      }
    } catch (fault) {
      if (!(fault instanceof RunFault)) throw fault
      if (fault.code === 'missing-parameter' && fault.subject !== null) {
        missing.push(fault.subject)
        continue
      }
      tellFault(asker, policy, fault)
      if (fault.code === 'budget') return overBudget(fault)
      // One candidate's fault must not hide the others: asked one by one, only those that fault are left out.
      try {
        askEach(ask, found)
      } catch (again) {
        if (!(again instanceof RunFault)) throw again
        if (again.code === 'budget') return overBudget(again)
        // No candidate's fault but the policy's own, told above: it names a location that has gone.
      }
    }
  }
  return found.size === 0 && missing.length > 0 ? missingParameters(missing) : ok(found)
}

interface Ask {
  readonly asker: Asker
  readonly policy: CompiledPolicy
  readonly reading: Reading
  readonly parameters: ReadonlyMap<string, Value>
  readonly question: Question
  readonly sought: 'subject' | 'resource'
}

function askOnce({ policy, reading, question, sought }: Ask): string[] {
  return sought === 'resource'
    ? policy.condition.resources(reading, question.subject.id ?? '')
    : policy.condition.subjects(reading, question.resource.id ?? '')
}

/**
 * The search and the check walk different ways and need not meet the same faults; where there may be any, the check has
 * the last word, so that a search finds exactly what an evaluation permits.
 */
function confirmed(ask: Ask, found: readonly string[]): readonly string[] {
  const { policy, reading, parameters } = ask
  if (found.length === 0 || !policy.condition.mayFault(graphsOf(policy, reading, parameters))) return found
  return found.filter((id) => grants(ask, id))
}

/** As in an evaluation of this pair: a fault does not grant, and a limit is thrown on. */
function grants({ policy, reading, question, sought }: Ask, id: string): boolean {
  const subjectId = sought === 'subject' ? id : question.subject.id
  const resourceId = sought === 'resource' ? id : question.resource.id
  if (subjectId === null || resourceId === null) return false
  try {
    if (policy.filter !== null && !policy.filter.admits(reading.parameters)) return false
    return policy.condition.check(reading, subjectId, resourceId)
  } catch (fault) {
    if (!(fault instanceof RunFault) || isSpent(fault)) throw fault
    return false
  }
}

/**
 * Asks the check for every node of the sought type: slow, and right where one plan for all cannot be (a policy that
 * reads the external id of the sought side as a parameter, or faults on some of the candidates).
 */
function askEach(ask: Ask, found: Set<string>): void {
  const { reading, policy, parameters } = ask
  const bound = new Map(parameters)
  reading.parameters = bound
  const asked = new Set<string>()
  for (const snapshot of graphsOf(policy, reading, parameters)) askEachOf(ask, snapshot, bound, asked, found)
}

/** Candidates lie in the default graph, and wherever the policy looks. */
function graphsOf(
  { condition }: CompiledPolicy,
  reading: Reading,
  parameters: ReadonlyMap<string, Value>,
): Iterable<Snapshot> {
  const named = condition.locations.map(({ kind, name }) => (kind === 'parameter' ? parameters.get(name) : name))
  return new Set([reading.snapshot, ...named.map((location) => reading.locate(String(location)))])
}

function askEachOf(
  ask: Ask,
  snapshot: Snapshot,
  bound: Map<string, Value>,
  asked: Set<string>,
  found: Set<string>,
): void {
  const { reading, question, sought } = ask
  const { type } = question[sought]
  const label = snapshot.symbol('label', type)
  if (label === 0) return
  const chunk = emptyChunk()
  for (let from = 0; ; from = chunk.next) {
    snapshot.nodesWithLabel(label, from, chunk)
    for (let i = 0; i < chunk.length; i++) {
      // A check that ends at its first step touches little, and there may be a million of them.
      reading.budget.touch(1)
      const node = chunk.ids[i] ?? 0
      const id = snapshot.nodeOwn(node, 'external_id')
      // The label list also holds nodes of another type that carry this label beside it.
      if (typeof id !== 'string' || snapshot.nodeOwn(node, 'type') !== type || asked.has(id)) continue
      asked.add(id)
      bound.set(`${sought}_external_id`, id)
      if (grants(ask, id)) found.add(id)
    }
    if (!chunk.more) return
  }
}

export function overBudget(fault: RunFault): Result<never, ServiceError> {
  return err({ kind: 'budget', limit: fault.subject ?? 'traversalStepsMax', message: fault.message })
}
