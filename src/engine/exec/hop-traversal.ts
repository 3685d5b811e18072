// The traversal of a link of one hop. If the store can look up the relationships of two nodes, it may do so instead of
// reading the list of a super node.
import { createChunk, type NodeId } from '../store.ts'
import {
  addRetained,
  type ChainTraversal,
  type IntermediateNode,
  satisfiesPredicates,
  type TraversalLink,
} from './chain-link.ts'
import type { ExecutionContext } from './execution-context.ts'
import {
  type CompiledHop,
  type HopPredicate,
  NeighbourCursor,
  reverseHop,
  satisfiesHop,
  type TraversalSpec,
} from './neighbour-cursor.ts'
import { OrderedNodeSet } from './node-set.ts'

/** Estimated entries to read per node. */
const COST_OF_HOP = 8
const COST_OF_LOOKUP = 2

/** Looking up the relationships of two nodes costs about as much as reading this many entries of a long list. */
const ENTRIES_PER_LOOKUP = 128

/** The hop in one direction, and the nodes at its ends in that direction. */
class DirectedHop {
  readonly cursor: NeighbourCursor
  readonly predicate: HopPredicate | null
  readonly near: IntermediateNode | null
  readonly far: IntermediateNode | null
  readonly isForward: boolean
  /** The nodes to expand, and the index of the next. */
  starts: OrderedNodeSet | null = null
  position = 0

  constructor(
    { traversal, predicate }: CompiledHop,
    near: IntermediateNode | null,
    far: IntermediateNode | null,
    isForward: boolean,
  ) {
    this.cursor = new NeighbourCursor(traversal)
    this.predicate = predicate
    this.near = near
    this.far = far
    this.isForward = isForward
  }
}

/** The traversal of a link of one hop. */
export class HopTraversal implements ChainTraversal {
  private readonly forward: DirectedHop
  private readonly backward: DirectedHop
  private readonly traversal: TraversalSpec
  /** A hop that the store can look up by both its nodes. */
  private readonly isLookup: boolean
  private readonly reached = new OrderedNodeSet()
  private readonly chunk = createChunk()

  constructor(
    { traversal, hops }: TraversalLink,
    sourceNode: IntermediateNode | null,
    targetNode: IntermediateNode | null,
  ) {
    const hop = { traversal, predicate: hops.hopPredicate }
    this.forward = new DirectedHop(hop, sourceNode, targetNode, true)
    this.backward = new DirectedHop(reverseHop(hop), targetNode, sourceNode, false)
    this.traversal = traversal
    this.isLookup = hops.hopPredicate === null && traversal.direction !== 'both' && traversal.types !== null
  }

  cost(run: ExecutionContext, starts: OrderedNodeSet, forward: boolean): number {
    if (this.isLookup && starts.length === 1) return COST_OF_LOOKUP + this.fanOut(run, starts.ids[0]!, forward)
    return starts.length * COST_OF_HOP
  }

  /** The number of relationships of a node, for a hop that the store can look up by both its nodes (`isLookup`). */
  private fanOut(run: ExecutionContext, node: NodeId, forward: boolean): number {
    const { direction, types, graph } = this.traversal
    const out = (direction === 'out') === forward
    const snapshot = run.graphs[graph]!
    let fanOut = 0
    for (const type of types!) fanOut += snapshot.degree(node, out ? 'out' : 'in', type)
    return fanOut
  }

  begin(_run: ExecutionContext, starts: OrderedNodeSet, forward: boolean): OrderedNodeSet {
    const hop = forward ? this.forward : this.backward
    hop.starts = starts
    hop.position = 0
    this.reached.clear()
    return this.reached
  }

  expandMore(run: ExecutionContext, forward: boolean): boolean {
    const hop = forward ? this.forward : this.backward
    const { starts, cursor, predicate } = hop
    if (hop.position >= starts!.length) return false
    const node = starts!.ids[hop.position++]!
    if (!satisfiesPredicates(run, hop.near, node)) return true
    cursor.start(node)
    while (cursor.readChunk(run)) {
      const { ids, relationships, length } = cursor.chunk
      for (let i = 0; i < length; i++) {
        const next = ids[i]!
        if (predicate !== null && !satisfiesHop(run, predicate, node, relationships[i]!, next)) continue
        addRetained(run, this.reached, next)
      }
    }
    return true
  }

  areConnected(run: ExecutionContext, near: OrderedNodeSet, far: OrderedNodeSet): boolean {
    return near.length <= far.length
      ? this.anyConnected(run, near, far, this.forward)
      : this.anyConnected(run, far, near, this.backward)
  }

  /** Expands every node of `starts` and searches for its neighbours in `targets`. */
  private anyConnected(
    run: ExecutionContext,
    starts: OrderedNodeSet,
    targets: OrderedNodeSet,
    hop: DirectedHop,
  ): boolean {
    const isLookup = this.isLookup && targets.length === 1
    for (let i = 0; i < starts.length; i++) {
      const start = starts.ids[i]!
      if (!satisfiesPredicates(run, hop.near, start)) continue
      if (isLookup ? this.isLinkedToAny(run, start, targets, hop) : this.isNeighbour(run, start, targets, hop)) {
        return true
      }
    }
    return false
  }

  /** Whether a neighbour of a node is in `targets`. */
  private isNeighbour(run: ExecutionContext, start: NodeId, targets: OrderedNodeSet, hop: DirectedHop): boolean {
    const { cursor, predicate, isForward } = hop
    cursor.start(start)
    let isFirst = true
    while (cursor.readChunk(run)) {
      const { chunk } = cursor
      if (isFirst && this.isLookup && chunk.more) {
        const isLong = this.fanOut(run, start, isForward) > targets.length * ENTRIES_PER_LOOKUP
        if (isLong) return this.isLinkedToAny(run, start, targets, hop)
      }
      isFirst = false
      const { ids, relationships, length } = chunk
      for (let i = 0; i < length; i++) {
        const next = ids[i]!
        if (predicate !== null && !satisfiesHop(run, predicate, start, relationships[i]!, next)) continue
        if (targets.has(next) && satisfiesPredicates(run, hop.far, next)) return true
      }
    }
    return false
  }

  private isLinkedToAny(run: ExecutionContext, start: NodeId, targets: OrderedNodeSet, hop: DirectedHop): boolean {
    for (let i = 0; i < targets.length; i++) {
      const node = targets.ids[i]!
      if (this.areLinked(run, start, node, hop.isForward) && satisfiesPredicates(run, hop.far, node)) return true
    }
    return false
  }

  private areLinked(run: ExecutionContext, start: NodeId, end: NodeId, forward: boolean): boolean {
    const { direction, types, graph } = this.traversal
    const out = (direction === 'out') === forward
    const snapshot = run.graphs[graph]!
    for (let i = 0; i < types!.length; i++) {
      run.budget.chargeSteps(1)
      snapshot.relationshipsBetween(out ? start : end, types![i]!, out ? end : start, this.chunk)
      if (this.chunk.length > 0) return true
    }
    return false
  }
}
