// A breadth-first search over pairs of a node and a place in a repetition of hops: each pair is visited once. One hop that
// repeats has one place. All operators that search for nodes, and not for all ways to them, share it.
import {
  type Chunk,
  createChunk,
  type Direction,
  type NodeId,
  type RelationshipId,
  type Snapshot,
  type SymbolId,
} from '../store.ts'
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

  /** Records how the nodes from the position `first` were reached: they are entries of the chunk, in the same order. */
  put({ ids, length }: OrderedNodeSet, first: number, predecessor: number, chunk: Chunk): void {
    if (length > this.predecessors.length) {
      this.predecessors = enlarged(this.predecessors, ids.length)
      this.relationships = enlarged(this.relationships, ids.length)
    }
    const { predecessors, relationships } = this
    for (let position = first, entry = 0; position < length; position++, entry++) {
      while (chunk.ids[entry] !== ids[position]) entry += 1
      predecessors[position] = predecessor
      relationships[position] = chunk.relationships[entry]!
    }
  }
}

function enlarged(from: Uint32Array, length: number): Uint32Array<ArrayBuffer> {
  const to = new Uint32Array(length)
  to.set(from)
  return to
}

/** The relationships of one type on one side of a node. */
interface EdgeList {
  readonly direction: Direction
  readonly type: SymbolId
}

function listsOf(
  directions: readonly Direction[],
  typesIn: (direction: Direction) => readonly SymbolId[],
): readonly EdgeList[] {
  return directions.flatMap((direction) => typesIn(direction).map((type) => ({ direction, type })))
}

function listsAt(snapshot: Snapshot, node: NodeId, directions: readonly Direction[]): readonly EdgeList[] {
  return listsOf(directions, (direction) => snapshot.relationshipTypesAt(node, direction))
}

/** One hop of the repetition, with the nodes that it has reached. */
class SearchHop {
  readonly graph: number
  readonly directions: readonly Direction[]
  /** Null if relationships of any type are followed. */
  readonly lists: readonly EdgeList[] | null
  readonly predicate: HopPredicate | null
  /** A predicate that reads only the node from which the hop is taken: one test for all its relationships. */
  readonly nearTest: HopPredicate | null
  /** Whether a hop is one list, and every node in it is reached. */
  readonly isPlain: boolean
  readonly chunk = createChunk()
  readonly reached: OrderedNodeSet
  /** Null if the search needs no paths. */
  readonly arrivals: Arrivals | null
  /** How many of the reached nodes are expanded, if they are inside the repetition. */
  expanded = 0

  constructor({ traversal, predicate }: CompiledHop, reached: OrderedNodeSet, keepsPaths: boolean) {
    this.graph = traversal.graph
    this.directions = directionsToRead(traversal.direction)
    this.lists = traversal.types && listsOf(this.directions, () => traversal.types!)
    const isNearTest = predicate?.isLabelTest === true && predicate.far < 0
    this.nearTest = isNearTest ? predicate : null
    this.predicate = isNearTest ? null : predicate
    this.reached = reached
    this.arrivals = keepsPaths ? new Arrivals() : null
    this.isPlain = this.lists?.length === 1 && this.predicate === null && !keepsPaths
  }

  clear(): void {
    this.reached.clear()
    this.expanded = 0
  }
}

/** Relationships that a loop over short lists reads between two charges. */
const STEPS_PER_CHARGE = 64

/**
 * Keeps the entries of the chunk of a hop that satisfy its predicate, up to the first in `wanted`: returns the index of this
 * one, -1 if none is. Leaves out nodes that are reached already if the test cannot fail.
 */
function keepSatisfying(
  run: ExecutionContext,
  { chunk, reached }: SearchHop,
  predicate: HopPredicate,
  node: NodeId,
  wanted: OrderedNodeSet | null,
): number {
  const { ids, relationships, length } = chunk
  let kept = 0
  for (let i = 0; i < length; i++) {
    const next = ids[i]!
    // Tested first: a node that this side has reached may be a start node of the other side.
    const isWanted = wanted?.has(next) === true
    if (predicate.isSafe && !isWanted && reached.has(next)) continue
    const relationship = relationships[i]!
    if (!satisfiesHop(run, predicate, node, relationship, next)) continue
    ids[kept] = next
    relationships[kept++] = relationship
    if (!isWanted) continue
    chunk.length = kept
    return kept - 1
  }
  chunk.length = kept
  return -1
}

function satisfiesNear(run: ExecutionContext, { near, test }: HopPredicate, node: NodeId): boolean {
  if (near >= 0) run.frame[near] = node
  return test(run)
}

/** The index of the first entry of a chunk whose node is in the set; -1 if none is. */
function firstOf(wanted: OrderedNodeSet, { ids, length }: Chunk): number {
  for (let i = 0; i < length; i++) if (wanted.has(ids[i]!)) return i
  return -1
}

/** One side of a search: the pairs that it has reached from its start nodes. */
export class SearchSide {
  /** The nodes at the ends of repetitions. They begin with the start nodes after `startAtEnds`. */
  readonly ends = new OrderedNodeSet()
  private readonly noNodes = new OrderedNodeSet()
  /** Start nodes that are not in `ends`. */
  private starts = this.noNodes
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

  /** Starts over. The start nodes are ends: fill the returned set with them. */
  startAtEnds(): OrderedNodeSet {
    this.startAfter(this.noNodes)
    this.levelsLeft = this.max
    return this.ends
  }

  /** Starts over from nodes that are ends only if they are reached. The set must not change until the search ends. */
  startAfter(starts: OrderedNodeSet): void {
    this.starts = starts
    for (let i = 0; i < this.hops.length; i++) this.hops[i]!.clear()
    this.expandedStarts = 0
    this.expandedEnds = 0
    this.levelEnd = 0
    this.levelsLeft = this.max - 1
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
    const hasOpenStart = this.expandedStarts < starts.length
    if (hasOpenStart) {
      const until = all ? starts.length : this.expandedStarts + 1
      this.expandedStarts = this.follow(run, hops[0]!, starts, this.expandedStarts, until, null)
    }
    // The ends of one hop are complete with this call; those of several hops are reached below.
    if (!hasOpenStart || (all && hops.length === 1)) {
      if (this.expandedEnds === ends.length) return hasOpenStart
      if (this.expandedEnds === this.levelEnd) {
        if (this.levelsLeft === 0) return hasOpenStart
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
   * Returns the next position, or -1 as soon as the hop leads to a node of `wanted`.
   */
  private follow(
    run: ExecutionContext,
    hop: SearchHop,
    nodes: OrderedNodeSet,
    first: number,
    until: number,
    wanted: OrderedNodeSet | null,
  ): number {
    // Start nodes that are no ends have been expanded before the ends. Mostly there is one.
    const { starts } = this
    const isAfterStarts = nodes === this.ends && starts.length > 0
    const start = isAfterStarts ? starts.ids[0]! : 0
    const skipped = isAfterStarts && starts.length > 1 ? starts : null
    if (hop.isPlain && wanted === null && skipped === null)
      return this.followPlain(run, hop, nodes, first, until, start)
    const { budget } = run
    const { predicate, nearTest, reached, arrivals, chunk } = hop
    const snapshot = run.graphs[hop.graph]!
    let position = first
    for (; position < until && position < nodes.length; position++) {
      const node = nodes.ids[position]!
      if (node === start || skipped?.has(node) === true) continue
      if (nearTest !== null) {
        budget.chargeSteps(1)
        if (!satisfiesNear(run, nearTest, node)) continue
      }
      const lists = hop.lists ?? listsAt(snapshot, node, hop.directions)
      for (let i = 0; i < lists.length; i++) {
        const { direction, type } = lists[i]!
        let from = 0
        do {
          snapshot.neighbours(node, direction, type, from, chunk)
          budget.chargeSteps(chunk.length + 1)
          let met = -1
          if (predicate !== null) met = keepSatisfying(run, hop, predicate, node, wanted)
          else if (wanted !== null) met = firstOf(wanted, chunk)
          if (met >= 0) {
            this.met = chunk.ids[met]!
            this.metPosition = position
            this.metOver = chunk.relationships[met]!
            return -1
          }
          const known = reached.length
          reached.addAll(chunk.ids, chunk.length, budget)
          budget.retainRows(reached.length - known)
          if (arrivals !== null) arrivals.put(reached, known, position, chunk)
          from = chunk.next
        } while (chunk.more)
      }
    }
    return position
  }

  /**
   * As `follow`, over one list of each node, to all its nodes and without paths. Only the read of the list is left in the
   * loop, so that a node of a long chain costs few nanoseconds more than that.
   */
  private followPlain(
    run: ExecutionContext,
    hop: SearchHop,
    nodes: OrderedNodeSet,
    first: number,
    until: number,
    skipped: NodeId,
  ): number {
    const { budget } = run
    const { reached, chunk, nearTest } = hop
    const { direction, type } = hop.lists![0]!
    const snapshot = run.graphs[hop.graph]!
    let position = first
    let steps = 0
    let known = reached.length
    for (; position < until && position < nodes.length; position++) {
      const node = nodes.ids[position]!
      if (node === skipped) continue
      if (nearTest !== null && !satisfiesNear(run, nearTest, node)) {
        steps += 1
        continue
      }
      let from = 0
      do {
        snapshot.neighbours(node, direction, type, from, chunk)
        reached.addAll(chunk.ids, chunk.length, budget)
        steps += chunk.length + 1
        if (steps >= STEPS_PER_CHARGE) {
          budget.chargeSteps(steps)
          budget.retainRows(reached.length - known)
          steps = 0
          known = reached.length
        }
        from = chunk.next
      } while (chunk.more)
    }
    budget.chargeSteps(steps)
    budget.retainRows(reached.length - known)
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
  /** The start nodes that satisfy the predicates of their position. */
  private readonly starts = new OrderedNodeSet()
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
    const node = forward ? this.sourceNode : this.targetNode
    if (this.min === 0) copySatisfying(run, starts, node, side.startAtEnds())
    else side.startAfter(node === null ? starts : this.satisfying(run, starts, node))
    return side.ends
  }

  expandMore(run: ExecutionContext, forward: boolean, all: boolean): boolean {
    return (forward ? this.forward : this.backward).expandMore(run, all)
  }

  private satisfying(run: ExecutionContext, starts: OrderedNodeSet, node: IntermediateNode): OrderedNodeSet {
    this.starts.clear()
    copySatisfying(run, starts, node, this.starts)
    return this.starts
  }

  areConnected(run: ExecutionContext, near: OrderedNodeSet, far: OrderedNodeSet): boolean {
    const { forward, backward } = this
    copySatisfying(run, near, this.sourceNode, forward.startAtEnds())
    copySatisfying(run, far, this.targetNode, backward.startAtEnds())
    if (this.min === 0 && intersects(forward.ends, backward.ends)) return true
    return meet(run, forward, backward, this.max) !== null
  }
}
