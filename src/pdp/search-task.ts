// One policy evaluated in a search: what the two search algorithms share, and the evaluation node by node. An error in
// one policy does not grant, so node by node only the candidates with an error are left out.
import type { Budget } from '../engine/conditions.ts'
import { ExecutionError } from '../engine/errors.ts'
import { createChunk, type NodeId, type Snapshot } from '../engine/store.ts'
import type { GrantingPolicy } from '../policy/compile-policy.ts'
import type { PolicyFilter } from '../policy/policy-filter.ts'
import type { BoundParameters } from '../policy/value-reference.ts'
import type { EvaluationContext } from './decide.ts'
import type { EvaluationRequest } from './decision-deps.ts'
import { faultReason } from './denial-reasons.ts'
import { isBudgetExhausted } from './evaluation-inputs.ts'
import type { SearchedProhibitions } from './forbid.ts'
import type { ReadSession } from './read-session.ts'

const STEPS_OF_CHECK = 2

/** The entity that a search looks for. */
export type SearchTarget = 'subject' | 'resource'

/** One policy of a search. */
export interface SearchTask {
  readonly evaluation: EvaluationContext
  readonly policy: GrantingPolicy
  readonly session: ReadSession
  readonly parameters: BoundParameters
  readonly request: EvaluationRequest
  readonly target: SearchTarget
  /** Of the whole search: the policies that forbid. */
  readonly prohibitions: SearchedProhibitions
  /** Result of the filter, or its error; null until it is evaluated. */
  filterResult: boolean | ExecutionError | null
  /** Collects input parameters that have the wrong type for their place. */
  readonly missing: Set<string>
}

/** Returns the id of the entity that the request names. */
export function fixedEntityId({ request, target }: SearchTask): string {
  return request[target === 'resource' ? 'subject' : 'resource'].id ?? ''
}

/**
 * Returns whether the policy's filter is true. A filter that does not read the candidate's id is evaluated once per
 * search. Throws ExecutionError.
 */
export function filterAdmits(task: SearchTask): boolean {
  const { filter } = task.policy
  if (filter === null) return true
  if (readsCandidate(task)) return filter.admits(task.session.budget, task.session.parameters)
  task.filterResult ??= admittedBy(task.session.budget, filter, task.parameters)
  if (task.filterResult instanceof ExecutionError) throw task.filterResult
  return task.filterResult
}

/** An exhausted budget is thrown: nothing is left for the policies that follow. */
function admittedBy(budget: Budget, filter: PolicyFilter, parameters: BoundParameters): boolean | ExecutionError {
  try {
    return filter.admits(budget, parameters)
  } catch (error) {
    if (!(error instanceof ExecutionError) || isBudgetExhausted(error)) throw error
    return error
  }
}

function readsCandidate({ policy, target }: SearchTask): boolean {
  return policy.filter?.parameters.includes(`${target}_external_id`) === true
}

/**
 * Returns whether the candidate `id` is permitted: the policy grants it and none forbids it, exactly as in an evaluation. An error
 * in the policy does not grant; an exhausted budget is thrown.
 */
export function isPermitted(task: SearchTask, id: string): boolean {
  return isGranted(task, id) && !task.prohibitions.forbids(id)
}

/**
 * Returns the check that each result of a query needs: null if all results are permitted. `isCurrent`: the query has read these
 * graphs.
 */
export function confirmation(task: SearchTask, isCurrent: boolean): ((id: string) => boolean) | null {
  if (!isCurrent || needsConfirmation(task)) return (id) => isPermitted(task, id)
  return task.prohibitions.isEmpty ? null : (id) => !task.prohibitions.forbids(id)
}

function isGranted(task: SearchTask, id: string): boolean {
  const { policy, session, request, target, missing } = task
  const subjectId = target === 'subject' ? id : request.subject.id
  const resourceId = target === 'resource' ? id : request.resource.id
  if (subjectId === null || resourceId === null) return false
  try {
    // A check may end before it reads anything.
    session.budget.chargeSteps(STEPS_OF_CHECK)
    if (!filterAdmits(task)) return false
    return policy.condition.check(session, subjectId, resourceId)
  } catch (error) {
    if (!(error instanceof ExecutionError) || isBudgetExhausted(error)) throw error
    if (error.code === 'missing-parameter' && error.subject !== null) missing.add(error.subject)
    else session.searchReason ??= faultReason(error.code)
    return false
  }
}

/** Returns the graphs that the policy reads. */
export function searchedGraphs({ policy, session, parameters }: SearchTask): ReadonlySet<Snapshot> {
  const { locations } = policy.condition
  const named = locations.map(({ kind, name }) => (kind === 'parameter' ? parameters.get(name) : name))
  return new Set([session.snapshot, ...named.map((location) => session.locate(String(location)))])
}

/**
 * Returns whether each result must be confirmed by a check. Search and check use different plans and may meet different
 * errors; the check decides.
 */
function needsConfirmation(task: SearchTask): boolean {
  return task.policy.condition.mayFail(searchedGraphs(task))
}

/**
 * Calls `visit` for the granted nodes of the target type in a graph, ascending, after node `after`, until `visit`
 * returns false. Checks each candidate: slow, and needed if the policy reads the external id of the target as a
 * parameter or fails for some candidates.
 */
export function forEachGranted(
  task: SearchTask,
  snapshot: Snapshot,
  after: NodeId,
  visit: (node: NodeId, id: string) => boolean,
): void {
  const { session, request, target } = task
  const { type } = request[target]
  const label = snapshot.symbol('label', type)
  if (label === 0) return
  const bound = new Map(task.parameters)
  session.parameters = bound
  const chunk = createChunk()
  for (let from = after === 0 ? 0 : after + 1; ; from = chunk.next) {
    snapshot.nodesWithLabel(label, from, chunk)
    for (let i = 0; i < chunk.length; i++) {
      // A check that ends at its first step costs little, but there may be a million of them.
      session.budget.chargeSteps(1)
      const node = chunk.ids[i] ?? 0
      const id = snapshot.nodeField(node, 'external_id')
      // The label index also holds nodes of other types that carry this label.
      if (typeof id !== 'string' || snapshot.nodeField(node, 'type') !== type) continue
      bound.set(`${target}_external_id`, id)
      if (isPermitted(task, id) && !visit(node, id)) return
      // A policy whose filter is false grants no candidate.
      if (task.filterResult === false) return
    }
    if (!chunk.more) return
  }
}
