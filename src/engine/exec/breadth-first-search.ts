// A breadth-first search over pairs of a node and a place in a repetition of hops: each pair is visited once. One hop that
// repeats has one place. All operators that search for nodes, and not for all ways to them, share it.
import { createChunk, type Direction, type NodeId, type RelationshipId, type SymbolId } from '../store.ts'
import {
  type ChainTraversal,
  COST_OF_HOP_RANGE,
  copySatisfying,
  type IntermediateNode,
  intersects,
  type TraversalLink,
} from './chain-link.ts'
import type { ExecutionContext } from './execution-context.ts'
import { type CompiledHop, directionsToRead, type HopPredicate, reverseHop, satisfiesHop } from './neighbour-cursor.ts'
import { OrderedNodeSet } from './node-set.ts'

/** How the nodes of a set were reached, by their position in the set. */
class Arrivals {
  /** The position of the node before, in the set of the place before. */
  predecessors = new Uint32Array(16)
  relationships = new Uint32Array(16)

  put(position: number, predecessor: number, relationship: RelationshipId): void {
    if (position >= this.predecessors.length) {
      this.predecessors = enlarged(this.predecessors)
      this.relationships = enlarged(this.relationships)
    }
    this.predecessors[position] = predecessor
    this.relationships[position] = relationship
  }
}

function enlarged(from: Uint32Array): Uint32Array<ArrayBuffer> {
  const to = new Uint32Array(from.length * 4)
  to.set(from)
  return to
}

/** One hop of the repetition, with the nodes that it has reached. */
class SearchHop {
  readonly graph: number
  readonly directions: readonly Direction[]
  readonly types: readonly SymbolId[] | null
  readonly predicate: HopPredicate | null
  readonly chunk = createChunk()
  readonly reached: OrderedNodeSet
  /** Null if the search needs no paths. */
  readonly arrivals: Arrivals | null
  /** How many of the reached nodes are expanded, if they are inside the repetition. */
  expanded = 0

  constructor({ traversal, predicate }: CompiledHop, reached: OrderedNodeSet, keepsPaths: boolean) {
    this.graph = traversal.graph
    this.directions = directionsToRead(traversal.direction)
    this.types = traversal.types
    this.predicate = predicate
    this.reached = reached
    this.arrivals = keepsPaths ? new Arrivals() : null
  }

  clear(): void {
    this.reached.clear()
    this.expanded = 0
  }
}

/** One side of a search: the pairs that it has reached from its start nodes. */
export class SearchSide {
  /** The nodes at the ends of repetitions. They begin with the start nodes if `start` has included these. */
  readonly ends = new OrderedNodeSet()
  /** Start nodes that are not in `ends`. */
  private readonly starts = new OrderedNodeSet()
  private readonly hops: readonly SearchHop[]
  private readonly max: number
  private expandedStarts = 0
  private expandedEnds = 0
  /** Repetitions that may follow those of the current level, which ends at the position `levelEnd` of `ends`. */
  private levelsLeft = 0
  private levelEnd = 0
  /** The node at which `expandLevel` has met the other side, and the position and the relationship before it. */
  met: NodeId = 0
  private metPosition = 0
  private metOver: RelationshipId = 0

  /** `hops`: one repetition, of which at most `max` follow each other. */
  constructor(hops: readonly CompiledHop[], max: number, keepsPaths = false) {
    const last = hops.length - 1
    this.hops = hops.map((hop, i) => new SearchHop(hop, i === last ? this.ends : new OrderedNodeSet(), keepsPaths))
    this.max = max
  }

  /** Starts over. Without `includesStarts` a start node is an end only if it is reached. Fill the returned set with the start nodes. */
  start(includesStarts: boolean): OrderedNodeSet {
    this.starts.clear()
    for (let i = 0; i < this.hops.length; i++) this.hops[i]!.clear()
    this.expandedStarts = 0
    this.expandedEnds = 0
    this.levelEnd = 0
    this.levelsLeft = includesStarts ? this.max : this.max - 1
    return includesStarts ? this.ends : this.starts
  }

  /** The number of nodes that are not expanded yet. */
  get open(): number {
    return this.starts.length - this.expandedStarts + this.ends.length - this.expandedEnds
  }

  /**
   * Expands open nodes by one repetition, nearest first. If not `all` nodes are needed: as many as are expanded already, so
   * that a consumer that stops early causes at most twice the work. Returns false if no node is open within the maximum.
   */
  expandMore(run: ExecutionContext, all: boolean): boolean {
    const { starts, ends, hops } = this
    if (this.expandedStarts < starts.length) {
      this.follow(run, hops[0]!, starts, this.expandedStarts, this.expandedStarts + 1, null)
      this.expandedStarts += 1
    } else {
      if (this.expandedEnds === ends.length) return false
      if (this.expandedEnds === this.levelEnd) {
        if (this.levelsLeft === 0) return false
        this.levelsLeft -= 1
        this.levelEnd = this.levelsLeft === Number.POSITIVE_INFINITY ? this.levelsLeft : ends.length
      }
      const until = all ? this.levelEnd : Math.min(this.levelEnd, Math.max(1, this.expandedEnds * 2))
      this.expandedEnds = this.follow(run, hops[0]!, ends, this.expandedEnds, until, null)
    }
    for (let place = 1; place < hops.length; place++) this.followInside(run, place, null)
    return true
  }

  /** Expands all open nodes by one repetition. Returns true as soon as an end is in `wanted`. Only if `ends` includes the starts. */
  expandLevel(run: ExecutionContext, wanted: OrderedNodeSet): boolean {
    const { ends, hops } = this
    const last = hops.length - 1
    const expanded = this.follow(run, hops[0]!, ends, this.expandedEnds, ends.length, last === 0 ? wanted : null)
    if (expanded < 0) return true
    this.expandedEnds = expanded
    for (let place = 1; place < last; place++) this.followInside(run, place, null)
    return last > 0 && !this.followInside(run, last, wanted)
  }

  /** Takes hop `place` from the nodes inside a repetition that are new. Returns false as soon as it leads to a node of `wanted`. */
  private followInside(run: ExecutionContext, place: number, wanted: OrderedNodeSet | null): boolean {
    const before = this.hops[place - 1]!
    const until = before.reached.length
    before.expanded = this.follow(run, this.hops[place]!, before.reached, before.expanded, until, wanted)
    return before.expanded >= 0
  }

  /**
   * Takes a hop from the nodes of a set at the positions `first` to `until - 1`, also from those that it adds to the set.
   * Returns the next position, or -1 as soon as the hop leads to a node of `wanted`. One loop without further calls: a node
   * costs few nanoseconds more than the read of its list.
   */
  private follow(
    run: ExecutionContext,
    hop: SearchHop,
    nodes: OrderedNodeSet,
    first: number,
    until: number,
    wanted: OrderedNodeSet | null,
  ): number {
    const { budget } = run
    const { directions, predicate, reached, arrivals, chunk } = hop
    const snapshot = run.graphs[hop.graph]!
    // Start nodes that are no ends have been expanded before the ends. Mostly there is one.
    const { starts } = this
    const isAfterStarts = nodes === this.ends && starts.length > 0
    const start = isAfterStarts ? starts.ids[0]! : 0
    const skipped = isAfterStarts && starts.length > 1 ? starts : null
    let position = first
    for (; position < until && position < nodes.length; position++) {
      const node = nodes.ids[position]!
      if (node === start || (skipped === null ? false : skipped.has(node))) continue
      for (let i = 0; i < directions.length; i++) {
        const direction = directions[i]!
        const types = hop.types ?? snapshot.relationshipTypesAt(node, direction)
        for (let j = 0; j < types.length; j++) {
          let from = 0
          do {
            snapshot.neighbours(node, direction, types[j]!, from, chunk)
            const { ids, length } = chunk
            budget.chargeSteps(length + 1)
            for (let k = 0; k < length; k++) {
              const next = ids[k]!
              // Tested first: a node that this side has reached may be a start node of the other side.
              const isWanted = wanted === null ? false : wanted.has(next)
              if (predicate !== null) {
                if (predicate.isSafe && !isWanted && reached.has(next)) continue
                if (!satisfiesHop(run, predicate, node, chunk.relationships[k]!, next)) continue
              }
              if (isWanted) {
                this.met = next
                this.metPosition = position
                this.metOver = chunk.relationships[k]!
                return -1
              }
              if (!reached.add(next, budget)) continue
              budget.retainRow()
              if (arrivals !== null) arrivals.put(reached.length - 1, position, chunk.relationships[k]!)
            }
            from = chunk.next
          } while (chunk.more)
        }
      }
    }
    return position
  }

  /** The relationships from the start node to the node at which the other side was met. Only if the search keeps paths. */
  pathToMet(): RelationshipId[] {
    const path = this.pathTo(this.hops.length - 1, this.metPosition)
    path.push(this.metOver)
    return path
  }

  /** The relationships from the start node to an end. Only if the search keeps paths. */
  pathToEnd(end: NodeId): RelationshipId[] {
    return this.pathTo(this.hops.length, this.ends.ids.indexOf(end))
  }

  /** The path to the node at a position, after `taken` hops of a repetition. The one start node is the first end. */
  private pathTo(taken: number, position: number): RelationshipId[] {
    const path: RelationshipId[] = []
    let hop = taken
    let at = position
    while ((hop > 0 && hop < this.hops.length) || at > 0) {
      if (hop === 0) hop = this.hops.length
      const { predecessors, relationships } = this.hops[hop - 1]!.arrivals!
      path.push(relationships[at]!)
      at = predecessors[at]!
      hop -= 1
    }
    return path.reverse()
  }
}

/**
 * Expands level by level from both ends, the smaller frontier first. A shortest walk meets the two start sets at its ends
 * only. Returns the side that met the other, or null.
 */
export function meet(run: ExecutionContext, left: SearchSide, right: SearchSide, max: number): SearchSide | null {
  // If a frontier is empty, all reachable nodes have been visited.
  for (let i = 0; i < max && left.open > 0 && right.open > 0; i++) {
    if (left.open <= right.open) {
      if (left.expandLevel(run, right.ends)) return left
    } else if (right.expandLevel(run, left.ends)) return right
  }
  return null
}

/** The traversal of a link that repeats one hop or several. */
export class RepetitionTraversal implements ChainTraversal {
  private readonly forward: SearchSide
  private readonly backward: SearchSide
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
    this.min = hops.min
    this.max = hops.max ?? Number.POSITIVE_INFINITY
    this.forward = new SearchSide(cycle, this.max)
    this.backward = new SearchSide(cycle.map(reverseHop).reverse(), this.max)
    this.sourceNode = sourceNode
    this.targetNode = targetNode
  }

  cost(_run: ExecutionContext, starts: OrderedNodeSet): number {
    return starts.length * COST_OF_HOP_RANGE
  }

  begin(run: ExecutionContext, starts: OrderedNodeSet, forward: boolean): OrderedNodeSet {
    const side = forward ? this.forward : this.backward
    copySatisfying(run, starts, forward ? this.sourceNode : this.targetNode, side.start(this.min === 0))
    return side.ends
  }

  expandMore(run: ExecutionContext, forward: boolean, all: boolean): boolean {
    return (forward ? this.forward : this.backward).expandMore(run, all)
  }

  areConnected(run: ExecutionContext, near: OrderedNodeSet, far: OrderedNodeSet): boolean {
    const { forward, backward } = this
    copySatisfying(run, near, this.sourceNode, forward.start(true))
    copySatisfying(run, far, this.targetNode, backward.start(true))
    if (this.min === 0 && intersects(forward.ends, backward.ends)) return true
    return meet(run, forward, backward, this.max) !== null
  }
}
