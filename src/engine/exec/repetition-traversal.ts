// A link that repeats several hops, traversed breadth-first over (node, place in the repetition): each pair is visited once.
import {
  addRetained,
  type ChainTraversal,
  COST_OF_HOP_RANGE,
  copySatisfying,
  type IntermediateNode,
  intersects,
  type TraversalLink,
} from './chain-link.ts'
import type { ExecutionContext } from './execution-context.ts'
import { type CompiledHop, FilteredNeighbourCursor, reverseHop } from './neighbour-cursor.ts'
import { OrderedNodeSet } from './node-set.ts'

/** The nodes that one side of a search has reached: at each place of the repetition a set, and how many are expanded. */
class ReachedPlaces {
  readonly sets: readonly OrderedNodeSet[]
  private readonly cursors: readonly FilteredNeighbourCursor[]
  private readonly expanded: number[]

  constructor(hops: readonly CompiledHop[]) {
    this.sets = hops.map(() => new OrderedNodeSet())
    this.cursors = hops.map((hop) => new FilteredNeighbourCursor(hop))
    this.expanded = hops.map(() => 0)
  }

  /** Starts over with the nodes from which the first repetition begins. */
  start(run: ExecutionContext, starts: OrderedNodeSet, tested: IntermediateNode | null): void {
    for (const set of this.sets) set.clear()
    this.expanded.fill(0)
    copySatisfying(run, starts, tested, this.ends)
  }

  /** The start nodes and the nodes at the ends of repetitions. */
  get ends(): OrderedNodeSet {
    return this.sets[0]!
  }

  /** The number of nodes at the start of a repetition that are not expanded yet. */
  get open(): number {
    return this.ends.length - this.expanded[0]!
  }

  /** Expands all open nodes by one repetition. Adds its ends to `reached`; returns true as soon as one is in `wanted`. */
  expand(run: ExecutionContext, reached: OrderedNodeSet | null, wanted: OrderedNodeSet | null): boolean {
    const { sets, cursors, expanded } = this
    const starts = this.ends.length
    for (let place = 0; place < sets.length; place++) {
      const isLast = place === sets.length - 1
      const from = sets[place]!
      const to = isLast ? this.ends : sets[place + 1]!
      const end = place === 0 ? starts : from.length
      const cursor = cursors[place]!
      for (let i = expanded[place]!; i < end; i++) {
        cursor.start(from.ids[i]!)
        for (let next = cursor.next(run); next !== 0; next = cursor.next(run)) {
          if (isLast) {
            // Tested first: a node that this side has reached may be a start node of the other side.
            if (wanted?.has(next)) return true
            reached?.add(next, run.budget)
          }
          addRetained(run, to, next)
        }
      }
      expanded[place] = end
    }
    return false
  }
}

/** The traversal of a link that repeats several hops. */
export class RepetitionTraversal implements ChainTraversal {
  private readonly forward: ReachedPlaces
  private readonly backward: ReachedPlaces
  private readonly sourceNode: IntermediateNode | null
  private readonly targetNode: IntermediateNode | null
  private readonly min: number
  private readonly max: number

  constructor(
    { traversal, hops }: TraversalLink,
    sourceNode: IntermediateNode | null,
    targetNode: IntermediateNode | null,
  ) {
    const cycle: readonly CompiledHop[] = [{ traversal, predicate: hops.hopPredicate }, ...hops.further]
    this.forward = new ReachedPlaces(cycle)
    this.backward = new ReachedPlaces(cycle.map(reverseHop).reverse())
    this.sourceNode = sourceNode
    this.targetNode = targetNode
    this.min = hops.min
    this.max = hops.max ?? Number.POSITIVE_INFINITY
  }

  cost(_run: ExecutionContext, starts: OrderedNodeSet): number {
    return starts.length * COST_OF_HOP_RANGE
  }

  expand(run: ExecutionContext, starts: OrderedNodeSet, reached: OrderedNodeSet, forward: boolean): void {
    const places = forward ? this.forward : this.backward
    places.start(run, starts, forward ? this.sourceNode : this.targetNode)
    reached.clear()
    if (this.min === 0) for (let i = 0; i < places.ends.length; i++) reached.add(places.ends.ids[i]!, run.budget)
    for (let i = 0; i < this.max && places.open > 0; i++) places.expand(run, reached, null)
  }

  areConnected(run: ExecutionContext, near: OrderedNodeSet, far: OrderedNodeSet): boolean {
    const { forward, backward } = this
    forward.start(run, near, this.sourceNode)
    backward.start(run, far, this.targetNode)
    if (this.min === 0 && intersects(forward.ends, backward.ends)) return true
    for (let i = 0; i < this.max && forward.open > 0 && backward.open > 0; i++) {
      const [side, other] = forward.open <= backward.open ? [forward, backward] : [backward, forward]
      if (side.expand(run, null, other.ends)) return true
    }
    return false
  }
}
