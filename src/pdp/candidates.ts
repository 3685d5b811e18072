// A search puts a policy's question once for all nodes, or node by node; here is what both ways share, and the second.
// A fault does not grant, so asked node by node only those nodes that fault are left out.
import { RunFault } from '../engine/errors.ts'
import { emptyChunk, type NodeId, type Snapshot } from '../engine/store.ts'
import type { Value } from '../engine/value/value.ts'
import type { Filter } from '../policy/filter.ts'
import type { CompiledPolicy } from '../policy/library.ts'
import type { Asker } from './decide.ts'
import type { Question } from './parts.ts'
import { isSpent } from './question.ts'
import type { Reading } from './reading.ts'

const STEPS_OF_CHECK = 2

export type Sought = 'subject' | 'resource'

/** One policy, asked for all of one side. */
export interface Ask {
  readonly asker: Asker
  readonly policy: CompiledPolicy
  readonly reading: Reading
  readonly parameters: ReadonlyMap<string, Value>
  readonly question: Question
  readonly sought: Sought
  /** Whether the filter admits the question, or why it cannot tell; null until it is asked. */
  admitted: boolean | RunFault | null
  /** Input parameters that turned out not to be what their place takes. */
  readonly missing: Set<string>
}

/** The id of the side that is given. */
export function givenId({ question, sought }: Ask): string {
  return question[sought === 'resource' ? 'subject' : 'resource'].id ?? ''
}

/** A filter that does not read the id of the candidate is evaluated once in a search. Throws RunFault. */
export function isAdmitted(ask: Ask): boolean {
  const { filter } = ask.policy
  if (filter === null) return true
  if (readsCandidate(ask)) return filter.admits(ask.reading.parameters)
  ask.admitted ??= admittedBy(filter, ask.parameters)
  if (ask.admitted instanceof RunFault) throw ask.admitted
  return ask.admitted
}

/** A limit is thrown on: nothing is left for what comes after it. */
function admittedBy(filter: Filter, parameters: ReadonlyMap<string, Value>): boolean | RunFault {
  try {
    return filter.admits(parameters)
  } catch (fault) {
    if (!(fault instanceof RunFault) || isSpent(fault)) throw fault
    return fault
  }
}

function readsCandidate({ policy, sought }: Ask): boolean {
  return policy.filter?.parameters.includes(`${sought}_external_id`) === true
}

/** As in an evaluation of this pair: a fault does not grant, and a limit is thrown on. */
export function grants(ask: Ask, id: string): boolean {
  const { policy, reading, question, sought, missing } = ask
  const subjectId = sought === 'subject' ? id : question.subject.id
  const resourceId = sought === 'resource' ? id : question.resource.id
  if (subjectId === null || resourceId === null) return false
  try {
    // A check may end before it touches anything.
    reading.budget.touch(STEPS_OF_CHECK)
    if (!isAdmitted(ask)) return false
    return policy.condition.check(reading, subjectId, resourceId)
  } catch (fault) {
    if (!(fault instanceof RunFault) || isSpent(fault)) throw fault
    if (fault.code === 'missing-parameter' && fault.subject !== null) missing.add(fault.subject)
    return false
  }
}

/** Where the policy looks. */
export function graphsOf({ policy, reading, parameters }: Ask): ReadonlySet<Snapshot> {
  const { locations } = policy.condition
  const named = locations.map(({ kind, name }) => (kind === 'parameter' ? parameters.get(name) : name))
  return new Set([reading.snapshot, ...named.map((location) => reading.locate(String(location)))])
}

/** The search and the check walk different ways and need not meet the same faults: the check has the last word then. */
export function mustConfirm(ask: Ask): boolean {
  return ask.policy.condition.mayFault(graphsOf(ask))
}

/**
 * Tells of the nodes of the sought type in a graph for which the check is true, ascending, from behind `after` on, until
 * `visit` has enough. Slow, and right where one plan for all cannot be: where a policy reads the external id of the sought
 * side as a parameter, or faults on some of the candidates.
 */
export function eachGranted(
  ask: Ask,
  snapshot: Snapshot,
  after: NodeId,
  visit: (node: NodeId, id: string) => boolean,
): void {
  const { reading, question, sought } = ask
  const { type } = question[sought]
  const label = snapshot.symbol('label', type)
  if (label === 0) return
  const bound = new Map(ask.parameters)
  reading.parameters = bound
  const chunk = emptyChunk()
  for (let from = after === 0 ? 0 : after + 1; ; from = chunk.next) {
    snapshot.nodesWithLabel(label, from, chunk)
    for (let i = 0; i < chunk.length; i++) {
      // A check that ends at its first step touches little, and there may be a million of them.
      reading.budget.touch(1)
      const node = chunk.ids[i] ?? 0
      const id = snapshot.nodeOwn(node, 'external_id')
      // The label list also holds nodes of another type that carry this label beside it.
      if (typeof id !== 'string' || snapshot.nodeOwn(node, 'type') !== type) continue
      bound.set(`${sought}_external_id`, id)
      if (grants(ask, id) && !visit(node, id)) return
      // No candidate is granted by a policy that does not take part.
      if (ask.admitted === false) return
    }
    if (!chunk.more) return
  }
}
