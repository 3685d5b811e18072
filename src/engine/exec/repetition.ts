// The predicates on a whole repetition of a quantified path pattern: they read more than one of its hops.
import type { NodeId, RelationshipId } from '../store.ts'
import type { CompiledTest } from './boolean-logic.ts'
import type { ExecutionContext } from './execution-context.ts'

/** The slots and tests of one repetition. A node that the text names twice has one slot, and must be the same node. */
export interface CompiledRepetition {
  readonly nodes: readonly number[]
  readonly relationships: readonly number[]
  readonly tests: readonly CompiledTest[]
}

/** Whether the repetition that begins at position `start` of a trail satisfies its predicates. */
export function holdsRepetition(
  run: ExecutionContext,
  { nodes, relationships, tests }: CompiledRepetition,
  trailNodes: readonly NodeId[],
  trail: readonly RelationshipId[],
  start: number,
): boolean {
  const { frame } = run
  for (let i = 0; i < nodes.length; i++) {
    const node = trailNodes[start + i]!
    if (nodes.indexOf(nodes[i]!) < i && frame[nodes[i]!] !== node) return false
    frame[nodes[i]!] = node
  }
  for (let i = 0; i < relationships.length; i++) frame[relationships[i]!] = trail[start + i]
  for (let i = 0; i < tests.length; i++) if (!tests[i]!(run)) return false
  return true
}
