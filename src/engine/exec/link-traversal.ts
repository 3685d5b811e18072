// A chain of links between two nodes, walked frontier by frontier: of each place only the distinct nodes are kept, because
// whoever uses a chain asks which nodes hang together and not in how many ways.
import { createChunk, type NodeId, type RelationshipId } from '../store.ts'
import type { ExecutionContext } from './execution-context.ts'
import { NeighbourCursor, oppositeDirection, type TraversalSpec } from './neighbour-cursor.ts'
import { OrderedNodeSet } from './node-set.ts'
import type { HopLimits } from './var-length-expand.ts'

/** One hop, or `min` (0 or 1) to `max` hops. */
export interface TraversalLink {
  readonly walkable: TraversalSpec
  readonly hops: HopLimits
}

/** A place between two links: its node is put into `slot` for the tests. */
export interface IntermediateNode {
  readonly slot: number
  readonly tests: readonly ((run: ExecutionContext) => boolean)[]
}

/** Walks over the relationships of a node that satisfy the link's predicate. */
export class FilteredNeighbourCursor {
  private readonly cursor: NeighbourCursor
  private readonly hopPredicate: HopLimits['hopPredicate']

  constructor(walkable: TraversalSpec, each: HopLimits['hopPredicate']) {
    this.cursor = new NeighbourCursor(walkable)
    this.hopPredicate = each
  }

  begin(node: NodeId): void {
    this.cursor.start(node)
  }

  /** The next neighbour, 0 at the end. */
  next(run: ExecutionContext): NodeId {
    const { cursor, hopPredicate } = this
    while (cursor.advance(run)) {
      if (hopPredicate && !this.satisfiesPredicate(run, hopPredicate, cursor.relationship)) continue
      return cursor.neighbour
    }
    return 0
  }

  /** More than one chunk of neighbours. */
  get hasMoreChunks(): boolean {
    return this.cursor.hasMoreChunks
  }

  private satisfiesPredicate(
    run: ExecutionContext,
    each: NonNullable<HopLimits['hopPredicate']>,
    relationship: RelationshipId,
  ): boolean {
    run.frame[each.slot] = relationship
    return each.test(run)
  }
}

/** Whether the node may stand at that place. The ends of a chain are tested by whoever gives them. */
function satisfiesPredicates(run: ExecutionContext, stop: IntermediateNode | null, node: NodeId): boolean {
  if (stop === null) return true
  const { tests } = stop
  run.frame[stop.slot] = node
  for (let i = 0; i < tests.length; i++) if (!tests[i]!(run)) return false
  return true
}

/** Several hops are best left to the last link, where they are met in the middle. */
const COST_OF_HOP_RANGE = 128
const COST_OF_SINGLE_HOP = 8
const COST_OF_LOOKUP = 2

/** Asking for two nodes costs about as much as reading through so many entries of a long list. */
const ENTRIES_PER_LOOKUP = 128

/** One link, between the places before and behind it. */
export class LinkTraversal {
  private readonly forwardCursor: FilteredNeighbourCursor
  private readonly backwardCursor: FilteredNeighbourCursor
  private readonly sourceNode: IntermediateNode | null
  private readonly targetNode: IntermediateNode | null
  private readonly min: number
  private readonly max: number
  private readonly traversal: TraversalSpec
  private readonly isSingleHop: boolean
  /** A hop that the store can be asked for by both its ends. */
  private readonly isLookup: boolean
  private readonly chunk = createChunk()

  constructor({ walkable, hops }: TraversalLink, before: IntermediateNode | null, behind: IntermediateNode | null) {
    this.forwardCursor = new FilteredNeighbourCursor(walkable, hops.hopPredicate)
    this.backwardCursor = new FilteredNeighbourCursor(
      { ...walkable, direction: oppositeDirection(walkable.direction) },
      hops.hopPredicate,
    )
    this.sourceNode = before
    this.targetNode = behind
    this.min = hops.min
    this.max = hops.max ?? Number.POSITIVE_INFINITY
    this.traversal = walkable
    this.isSingleHop = this.min === 1 && this.max === 1
    this.isLookup =
      this.isSingleHop && hops.hopPredicate === null && walkable.direction !== 'both' && walkable.types !== null
  }

  /** A guess at the work of walking on from these nodes, to be compared with another's: entries, more or less. */
  cost(run: ExecutionContext, starts: OrderedNodeSet, forward: boolean): number {
    if (!this.isSingleHop) return starts.length * COST_OF_HOP_RANGE
    if (this.isLookup && starts.length === 1) return COST_OF_LOOKUP + this.fanOut(run, starts.ids[0]!, forward)
    return starts.length * COST_OF_SINGLE_HOP
  }

  /** How many relationships a walk from the node begins with, for a plain hop. */
  private fanOut(run: ExecutionContext, node: NodeId, forward: boolean): number {
    const { direction, types, graph } = this.traversal
    const out = (direction === 'out') === forward
    const snapshot = run.graphs[graph]!
    let fanOut = 0
    for (const type of types!) fanOut += snapshot.degree(node, out ? 'out' : 'in', type)
    return fanOut
  }

  /** Fills `reached` with what lies at the other end of the link. Nodes are tested when they are walked from. */
  expand(run: ExecutionContext, starts: OrderedNodeSet, reached: OrderedNodeSet, forward: boolean): void {
    const steps = forward ? this.forwardCursor : this.backwardCursor
    const stop = forward ? this.sourceNode : this.targetNode
    reached.clear()
    if (!this.isSingleHop && this.min === 0) {
      for (let i = 0; i < starts.length; i++) {
        const node = starts.ids[i]!
        if (satisfiesPredicates(run, stop, node)) addRetained(run, reached, node)
      }
      if (this.max > 0) expandLevels(run, steps, reached, 0, this.max)
      return
    }
    for (let i = 0; i < starts.length; i++) {
      const node = starts.ids[i]!
      if (satisfiesPredicates(run, stop, node)) expandFrom(run, steps, node, reached)
    }
    if (!this.isSingleHop) expandLevels(run, steps, reached, 0, this.max - 1)
  }

  /** Whether a node of one set is linked to a node of the other. */
  areConnected(run: ExecutionContext, near: OrderedNodeSet, far: OrderedNodeSet): boolean {
    if (!this.isSingleHop) return this.areConnectedByHops(run, near, far)
    const forward = near.length <= far.length
    return forward
      ? this.anyConnected(run, near, far, this.forwardCursor, true)
      : this.anyConnected(run, far, near, this.backwardCursor, false)
  }

  /** Walks from every node of `starts` and looks for what it finds among `wanted`. */
  private anyConnected(
    run: ExecutionContext,
    starts: OrderedNodeSet,
    wanted: OrderedNodeSet,
    steps: FilteredNeighbourCursor,
    forward: boolean,
  ): boolean {
    const startStop = forward ? this.sourceNode : this.targetNode
    const wantedStop = forward ? this.targetNode : this.sourceNode
    for (let i = 0; i < starts.length; i++) {
      const start = starts.ids[i]!
      if (!satisfiesPredicates(run, startStop, start)) continue
      if (this.isLookup && wanted.length === 1) {
        if (this.isLinkedToAny(run, start, wanted, wantedStop, forward)) return true
        continue
      }
      steps.begin(start)
      let next = steps.next(run)
      if (
        this.isLookup &&
        steps.hasMoreChunks &&
        this.fanOut(run, start, forward) > wanted.length * ENTRIES_PER_LOOKUP
      ) {
        if (this.isLinkedToAny(run, start, wanted, wantedStop, forward)) return true
        continue
      }
      for (; next !== 0; next = steps.next(run))
        if (wanted.has(next) && satisfiesPredicates(run, wantedStop, next)) return true
    }
    return false
  }

  private isLinkedToAny(
    run: ExecutionContext,
    start: NodeId,
    wanted: OrderedNodeSet,
    stop: IntermediateNode | null,
    forward: boolean,
  ): boolean {
    for (let i = 0; i < wanted.length; i++) {
      const node = wanted.ids[i]!
      if (this.areLinked(run, start, node, forward) && satisfiesPredicates(run, stop, node)) return true
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

  // -- several hops

  private readonly sourceReached = new OrderedNodeSet()
  private readonly targetReached = new OrderedNodeSet()

  /** Level by level from both sides, the smaller frontier first. A shortest way touches the sets at its ends only. */
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
      // Beyond an empty frontier there is nothing: all that can be reached has been.
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

function addRetained(run: ExecutionContext, list: OrderedNodeSet, node: NodeId): void {
  if (list.add(node, run.budget)) run.budget.retainRow()
}

function expandFrom(
  run: ExecutionContext,
  steps: FilteredNeighbourCursor,
  node: NodeId,
  reached: OrderedNodeSet,
): void {
  steps.begin(node)
  for (let next = steps.next(run); next !== 0; next = steps.next(run)) addRetained(run, reached, next)
}

/** Up to `hops` levels further, from the node at `start` on. */
function expandLevels(
  run: ExecutionContext,
  steps: FilteredNeighbourCursor,
  reached: OrderedNodeSet,
  start: number,
  hops: number,
): void {
  let done = start
  for (let hop = 0; hop < hops && done < reached.length; hop++) {
    const level = reached.length
    for (; done < level; done++) expandFrom(run, steps, reached.ids[done]!, reached)
  }
}

/** One level further from the nodes behind `start`; true as soon as the other side is met. */
function expandLevelUntilMet(
  run: ExecutionContext,
  steps: FilteredNeighbourCursor,
  reached: OrderedNodeSet,
  start: number,
  other: OrderedNodeSet,
): boolean {
  const level = reached.length
  for (let i = start; i < level; i++) {
    steps.begin(reached.ids[i]!)
    for (let next = steps.next(run); next !== 0; next = steps.next(run)) {
      // Known on this side, it may be one of the other side's first nodes all the same.
      if (other.has(next)) return true
      addRetained(run, reached, next)
    }
  }
  return false
}

function copySatisfying(
  run: ExecutionContext,
  from: OrderedNodeSet,
  stop: IntermediateNode | null,
  into: OrderedNodeSet,
): void {
  into.clear()
  for (let i = 0; i < from.length; i++)
    if (satisfiesPredicates(run, stop, from.ids[i]!)) into.add(from.ids[i]!, run.budget)
}

function intersects(one: OrderedNodeSet, other: OrderedNodeSet): boolean {
  const [few, many] = one.length <= other.length ? [one, other] : [other, one]
  for (let i = 0; i < few.length; i++) if (many.has(few.ids[i]!)) return true
  return false
}
