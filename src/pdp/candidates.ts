// A search puts a policy's question once for all nodes, or node by node; here is what both ways share, and the second.
// A fault does not grant, so asked node by node only those nodes that fault are left out.
import { RunFault } from '../engine/errors.ts'
import { emptyChunk, type NodeId, type Snapshot } from '../engine/store.ts'
import type { Value } from '../engine/value/value.ts'
import type { CompiledPolicy } from '../policy/library.ts'
import type { Asker } from './decide.ts'
import type { Question } from './parts.ts'
import { isSpent } from './question.ts'
import type { Reading } from './reading.ts'

export type Sought = 'subject' | 'resource'

/** One policy, asked for all of one side. */
export interface Ask {
  readonly asker: Asker
  readonly policy: CompiledPolicy
  readonly reading: Reading
  readonly parameters: ReadonlyMap<string, Value>
  readonly question: Question
  readonly sought: Sought
  /** Input parameters that turned out not to be what their place takes. */
  readonly missing: Set<string>
}

/** The id of the side that is given. */
export function givenId({ question, sought }: Ask): string {
  return question[sought === 'resource' ? 'subject' : 'resource'].id ?? ''
}

export function isAdmitted({ policy, parameters }: Ask): boolean {
  return policy.filter === null || policy.filter.admits(parameters)
}

/** As in an evaluation of this pair: a fault does not grant, and a limit is thrown on. */
export function grants({ policy, reading, question, sought, missing }: Ask, id: string): boolean {
  const subjectId = sought === 'subject' ? id : question.subject.id
  const resourceId = sought === 'resource' ? id : question.resource.id
  if (subjectId === null || resourceId === null) return false
  try {
    if (policy.filter !== null && !policy.filter.admits(reading.parameters)) return false
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
    }
    if (!chunk.more) return
  }
}
