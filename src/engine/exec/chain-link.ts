// The links of a chain between two nodes, and what their traversals share. A frontier is a set of distinct nodes: the
// consumers ask which nodes are connected, not in how many ways.
import type { NodeId } from '../store.ts'
import type { CompiledTest } from './boolean-logic.ts'
import type { ExecutionContext } from './execution-context.ts'
import type { HopLimits, TraversalSpec } from './neighbour-cursor.ts'
import type { OrderedNodeSet } from './node-set.ts'

/** Estimated entries to read per node of a step that repeats: it is best left to the end, to be searched from both sides. */
export const COST_OF_HOP_RANGE = 128

/** One hop, or `min` (0 or 1) to `max` hops. */
export interface TraversalLink {
  readonly traversal: TraversalSpec
  readonly hops: HopLimits
}

/** A node between two links. The predicates read its id in `slot`. */
export interface IntermediateNode {
  readonly slot: number
  readonly predicates: readonly CompiledTest[]
}

/**
 * Whether the node satisfies the predicates of its position; always true for null. The caller has tested the ends of the
 * chain.
 */
export function satisfiesPredicates(
  run: ExecutionContext,
  intermediate: IntermediateNode | null,
  node: NodeId,
): boolean {
  if (intermediate === null) return true
  const { predicates } = intermediate
  run.frame[intermediate.slot] = node
  for (let i = 0; i < predicates.length; i++) if (!predicates[i]!(run)) return false
  return true
}

/** The traversal of one link, with the nodes at its two ends. */
export interface ChainTraversal {
  /** Estimates the entries to read when expanding these nodes; only for comparison with another estimate. */
  cost(run: ExecutionContext, starts: OrderedNodeSet, forward: boolean): number
  /**
   * Begins to expand these nodes. Returns the set of the nodes at the other end of the link, which `expandMore` fills: it is
   * valid until the link is used again. A node is tested when it is expanded.
   */
  begin(run: ExecutionContext, starts: OrderedNodeSet, forward: boolean): OrderedNodeSet
  /** Expands at least one more node; `all`: all of them will be needed. Returns false if none is left. */
  expandMore(run: ExecutionContext, forward: boolean, all: boolean): boolean
  /** Whether a node of one set is connected to a node of the other. */
  areConnected(run: ExecutionContext, near: OrderedNodeSet, far: OrderedNodeSet): boolean
}

/** Adds a node that is kept until the end of the search. */
export function addRetained(run: ExecutionContext, list: OrderedNodeSet, node: NodeId): void {
  if (list.add(node, run.budget)) run.budget.retainRow()
}

/** Expands all nodes of a set. Returns the nodes at the other end of the link. */
export function expandAll(
  run: ExecutionContext,
  link: ChainTraversal,
  starts: OrderedNodeSet,
  forward: boolean,
): OrderedNodeSet {
  const reached = link.begin(run, starts, forward)
  while (link.expandMore(run, forward, true));
  return reached
}

/** Adds the nodes that satisfy the predicates of their position. */
export function copySatisfying(
  run: ExecutionContext,
  from: OrderedNodeSet,
  intermediate: IntermediateNode | null,
  into: OrderedNodeSet,
): void {
  for (let i = 0; i < from.length; i++)
    if (satisfiesPredicates(run, intermediate, from.ids[i]!)) into.add(from.ids[i]!, run.budget)
}

/** Whether a node is in both sets. */
export function intersects(one: OrderedNodeSet, other: OrderedNodeSet): boolean {
  const [few, many] = one.length <= other.length ? [one, other] : [other, one]
  for (let i = 0; i < few.length; i++) if (many.has(few.ids[i]!)) return true
  return false
}
