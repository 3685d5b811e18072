// A search puts a policy's question once for all nodes, or node by node; here is what both ways share, and the second.
// A fault does not grant, so asked node by node only those nodes that fault are left out.
import { ExecutionError } from '../engine/errors.ts'
import { createChunk, type NodeId, type Snapshot } from '../engine/store.ts'
import type { Value } from '../engine/value/value.ts'
import type { PolicyFilter } from '../policy/policy-filter.ts'
import type { CompiledPolicy } from '../policy/policy-index.ts'
import type { EvaluationContext } from './decide.ts'
import type { Question } from './decision-deps.ts'
import { isBudgetExhausted } from './evaluation-inputs.ts'
import type { ReadSession } from './read-session.ts'

const STEPS_OF_CHECK = 2

export type SearchTarget = 'subject' | 'resource'

/** One policy, asked for all of one side. */
export interface SearchTask {
  readonly evaluation: EvaluationContext
  readonly policy: CompiledPolicy
  readonly session: ReadSession
  readonly parameters: ReadonlyMap<string, Value>
  readonly request: Question
  readonly target: SearchTarget
  /** Whether the filter admits the question, or why it cannot tell; null until it is asked. */
  filterResult: boolean | ExecutionError | null
  /** Input parameters that turned out not to be what their place takes. */
  readonly missing: Set<string>
}

/** The id of the side that is given. */
export function fixedEntityId({ request, target }: SearchTask): string {
  return request[target === 'resource' ? 'subject' : 'resource'].id ?? ''
}

/** A filter that does not read the id of the candidate is evaluated once in a search. Throws RunFault. */
export function filterAdmits(ask: SearchTask): boolean {
  const { filter } = ask.policy
  if (filter === null) return true
  if (readsCandidate(ask)) return filter.admits(ask.session.parameters)
  ask.filterResult ??= admittedBy(filter, ask.parameters)
  if (ask.filterResult instanceof ExecutionError) throw ask.filterResult
  return ask.filterResult
}

/** A limit is thrown on: nothing is left for what comes after it. */
function admittedBy(filter: PolicyFilter, parameters: ReadonlyMap<string, Value>): boolean | ExecutionError {
  try {
    return filter.admits(parameters)
  } catch (fault) {
    if (!(fault instanceof ExecutionError) || isBudgetExhausted(fault)) throw fault
    return fault
  }
}

function readsCandidate({ policy, target }: SearchTask): boolean {
  return policy.filter?.parameters.includes(`${target}_external_id`) === true
}

/** As in an evaluation of this pair: a fault does not grant, and a limit is thrown on. */
export function isGranted(ask: SearchTask, id: string): boolean {
  const { policy, session, request, target, missing } = ask
  const subjectId = target === 'subject' ? id : request.subject.id
  const resourceId = target === 'resource' ? id : request.resource.id
  if (subjectId === null || resourceId === null) return false
  try {
    // A check may end before it touches anything.
    session.budget.chargeSteps(STEPS_OF_CHECK)
    if (!filterAdmits(ask)) return false
    return policy.condition.check(session, subjectId, resourceId)
  } catch (fault) {
    if (!(fault instanceof ExecutionError) || isBudgetExhausted(fault)) throw fault
    if (fault.code === 'missing-parameter' && fault.subject !== null) missing.add(fault.subject)
    return false
  }
}

/** Where the policy looks. */
export function searchedGraphs({ policy, session, parameters }: SearchTask): ReadonlySet<Snapshot> {
  const { locations } = policy.condition
  const named = locations.map(({ kind, name }) => (kind === 'parameter' ? parameters.get(name) : name))
  return new Set([session.snapshot, ...named.map((location) => session.locate(String(location)))])
}

/** The search and the check walk different ways and need not meet the same faults: the check has the last word then. */
export function needsConfirmation(ask: SearchTask): boolean {
  return ask.policy.condition.mayFail(searchedGraphs(ask))
}

/**
 * Tells of the nodes of the sought type in a graph for which the check is true, ascending, from behind `after` on, until
 * `visit` has enough. Slow, and right where one plan for all cannot be: where a policy reads the external id of the sought
 * side as a parameter, or faults on some of the candidates.
 */
export function forEachGranted(
  ask: SearchTask,
  snapshot: Snapshot,
  after: NodeId,
  visit: (node: NodeId, id: string) => boolean,
): void {
  const { session, request, target } = ask
  const { type } = request[target]
  const label = snapshot.symbol('label', type)
  if (label === 0) return
  const bound = new Map(ask.parameters)
  session.parameters = bound
  const chunk = createChunk()
  for (let from = after === 0 ? 0 : after + 1; ; from = chunk.next) {
    snapshot.nodesWithLabel(label, from, chunk)
    for (let i = 0; i < chunk.length; i++) {
      // A check that ends at its first step touches little, and there may be a million of them.
      session.budget.chargeSteps(1)
      const node = chunk.ids[i] ?? 0
      const id = snapshot.nodeField(node, 'external_id')
      // The label list also holds nodes of another type that carry this label beside it.
      if (typeof id !== 'string' || snapshot.nodeField(node, 'type') !== type) continue
      bound.set(`${target}_external_id`, id)
      if (isGranted(ask, id) && !visit(node, id)) return
      // No candidate is granted by a policy that does not take part.
      if (ask.filterResult === false) return
    }
    if (!chunk.more) return
  }
}
