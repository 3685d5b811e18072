// One link of a chain between two nodes, traversed frontier by frontier. A frontier is a set of distinct nodes: the
// consumers ask which nodes are connected, not in how many ways.
import { createChunk, type NodeId } from '../store.ts'
import {
  addRetained,
  type ChainTraversal,
  COST_OF_HOP_RANGE,
  copySatisfying,
  type IntermediateNode,
  intersects,
  satisfiesPredicates,
  type TraversalLink,
} from './chain-link.ts'
import type { ExecutionContext } from './execution-context.ts'
import { FilteredNeighbourCursor, reverseHop, type TraversalSpec } from './neighbour-cursor.ts'
import { OrderedNodeSet } from './node-set.ts'

/** Estimated entries to read per node. */
const COST_OF_SINGLE_HOP = 8
const COST_OF_LOOKUP = 2

/** Looking up the relationships of two nodes costs about as much as reading this many entries of a long list. */
const ENTRIES_PER_LOOKUP = 128

/** The traversal of a link that repeats one hop. */
export class LinkTraversal implements ChainTraversal {
  private readonly forwardCursor: FilteredNeighbourCursor
  private readonly backwardCursor: FilteredNeighbourCursor
  private readonly sourceNode: IntermediateNode | null
  private readonly targetNode: IntermediateNode | null
  private readonly min: number
  private readonly max: number
  private readonly traversal: TraversalSpec
  private readonly isSingleHop: boolean
  /** A single hop that the store can look up by both its nodes. */
  private readonly isLookup: boolean
  private readonly chunk = createChunk()

  constructor(
    { traversal, hops }: TraversalLink,
    sourceNode: IntermediateNode | null,
    targetNode: IntermediateNode | null,
  ) {
    const hop = { traversal, predicate: hops.hopPredicate }
    this.forwardCursor = new FilteredNeighbourCursor(hop)
    this.backwardCursor = new FilteredNeighbourCursor(reverseHop(hop))
    this.sourceNode = sourceNode
    this.targetNode = targetNode
    this.min = hops.min
    this.max = hops.max ?? Number.POSITIVE_INFINITY
    this.traversal = traversal
    this.isSingleHop = this.min === 1 && this.max === 1
    this.isLookup =
      this.isSingleHop && hops.hopPredicate === null && traversal.direction !== 'both' && traversal.types !== null
  }

  /** Estimates the entries to read when expanding these nodes; only for comparison with another estimate. */
  cost(run: ExecutionContext, starts: OrderedNodeSet, forward: boolean): number {
    if (!this.isSingleHop) return starts.length * COST_OF_HOP_RANGE
    if (this.isLookup && starts.length === 1) return COST_OF_LOOKUP + this.fanOut(run, starts.ids[0]!, forward)
    return starts.length * COST_OF_SINGLE_HOP
  }

  /** The number of relationships of a node, for a single hop that the store can look up by both its nodes (`isLookup`). */
  private fanOut(run: ExecutionContext, node: NodeId, forward: boolean): number {
    const { direction, types, graph } = this.traversal
    const out = (direction === 'out') === forward
    const snapshot = run.graphs[graph]!
    let fanOut = 0
    for (const type of types!) fanOut += snapshot.degree(node, out ? 'out' : 'in', type)
    return fanOut
  }

  /** Fills `reached` with the nodes at the other end of the link. A node is tested when it is expanded. */
  expand(run: ExecutionContext, starts: OrderedNodeSet, reached: OrderedNodeSet, forward: boolean): void {
    const cursor = forward ? this.forwardCursor : this.backwardCursor
    const intermediate = forward ? this.sourceNode : this.targetNode
    reached.clear()
    if (!this.isSingleHop && this.min === 0) {
      for (let i = 0; i < starts.length; i++) {
        const node = starts.ids[i]!
        if (satisfiesPredicates(run, intermediate, node)) addRetained(run, reached, node)
      }
      if (this.max > 0) expandLevels(run, cursor, reached, 0, this.max)
      return
    }
    for (let i = 0; i < starts.length; i++) {
      const node = starts.ids[i]!
      if (satisfiesPredicates(run, intermediate, node)) expandFrom(run, cursor, node, reached)
    }
    if (!this.isSingleHop) expandLevels(run, cursor, reached, 0, this.max - 1)
  }

  /** Whether a node of one set is connected to a node of the other. */
  areConnected(run: ExecutionContext, near: OrderedNodeSet, far: OrderedNodeSet): boolean {
    if (!this.isSingleHop) return this.areConnectedByHops(run, near, far)
    const forward = near.length <= far.length
    return forward
      ? this.anyConnected(run, near, far, this.forwardCursor, true)
      : this.anyConnected(run, far, near, this.backwardCursor, false)
  }

  /** Expands every node of `starts` and searches for its neighbours in `targets`. */
  private anyConnected(
    run: ExecutionContext,
    starts: OrderedNodeSet,
    targets: OrderedNodeSet,
    cursor: FilteredNeighbourCursor,
    forward: boolean,
  ): boolean {
    const startNode = forward ? this.sourceNode : this.targetNode
    const endNode = forward ? this.targetNode : this.sourceNode
    for (let i = 0; i < starts.length; i++) {
      const start = starts.ids[i]!
      if (!satisfiesPredicates(run, startNode, start)) continue
      if (this.isLookup && targets.length === 1) {
        if (this.isLinkedToAny(run, start, targets, endNode, forward)) return true
        continue
      }
      cursor.start(start)
      let next = cursor.next(run)
      if (
        this.isLookup &&
        cursor.hasMoreChunks &&
        this.fanOut(run, start, forward) > targets.length * ENTRIES_PER_LOOKUP
      ) {
        if (this.isLinkedToAny(run, start, targets, endNode, forward)) return true
        continue
      }
      for (; next !== 0; next = cursor.next(run))
        if (targets.has(next) && satisfiesPredicates(run, endNode, next)) return true
    }
    return false
  }

  private isLinkedToAny(
    run: ExecutionContext,
    start: NodeId,
    targets: OrderedNodeSet,
    intermediate: IntermediateNode | null,
    forward: boolean,
  ): boolean {
    for (let i = 0; i < targets.length; i++) {
      const node = targets.ids[i]!
      if (this.areLinked(run, start, node, forward) && satisfiesPredicates(run, intermediate, node)) return true
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

  private readonly sourceReached = new OrderedNodeSet()
  private readonly targetReached = new OrderedNodeSet()

  /**
   * Expands level by level from both ends, the smaller frontier first. A shortest path meets the two start sets at its ends
   * only.
   */
  private areConnectedByHops(run: ExecutionContext, near: OrderedNodeSet, far: OrderedNodeSet): boolean {
    const { sourceReached, targetReached } = this
    copySatisfying(run, near, this.sourceNode, sourceReached)
    copySatisfying(run, far, this.targetNode, targetReached)
    if (this.min === 0 && intersects(sourceReached, targetReached)) return true
    let nearDone = 0
    let farDone = 0
    for (let hop = 0; hop < this.max; hop++) {
      const nearOpen = sourceReached.length - nearDone
      const farOpen = targetReached.length - farDone
      // If a frontier is empty, all reachable nodes have been visited.
      if (nearOpen === 0 || farOpen === 0) return false
      if (nearOpen <= farOpen) {
        const level = sourceReached.length
        if (expandLevelUntilMet(run, this.forwardCursor, sourceReached, nearDone, targetReached)) return true
        nearDone = level
      } else {
        const level = targetReached.length
        if (expandLevelUntilMet(run, this.backwardCursor, targetReached, farDone, sourceReached)) return true
        farDone = level
      }
    }
    return false
  }
}

function expandFrom(
  run: ExecutionContext,
  cursor: FilteredNeighbourCursor,
  node: NodeId,
  reached: OrderedNodeSet,
): void {
  cursor.start(node)
  for (let next = cursor.next(run); next !== 0; next = cursor.next(run)) addRetained(run, reached, next)
}

/** Expands up to `hops` levels, from the node at position `start` on. */
function expandLevels(
  run: ExecutionContext,
  cursor: FilteredNeighbourCursor,
  reached: OrderedNodeSet,
  start: number,
  hops: number,
): void {
  let done = start
  for (let hop = 0; hop < hops && done < reached.length; hop++) {
    const level = reached.length
    for (; done < level; done++) expandFrom(run, cursor, reached.ids[done]!, reached)
  }
}

/** Expands one level, from position `start` on. Returns true as soon as a node of the other side is reached. */
function expandLevelUntilMet(
  run: ExecutionContext,
  cursor: FilteredNeighbourCursor,
  reached: OrderedNodeSet,
  start: number,
  other: OrderedNodeSet,
): boolean {
  const level = reached.length
  for (let i = start; i < level; i++) {
    cursor.start(reached.ids[i]!)
    for (let next = cursor.next(run); next !== 0; next = cursor.next(run)) {
      // Tested first: a node that this side has reached may be a start node of the other side.
      if (other.has(next)) return true
      addRetained(run, reached, next)
    }
  }
  return false
}
