// ShortestPath: breadth-first from one of two known nodes. For each reached node it records the relationships of the
// first arrivals. The paths are then enumerated backwards from the other node.
import { ExecutionError } from '../errors.ts'
import type { NodeId, RelationshipId } from '../store.ts'
import type { ExecutionContext } from './execution-context.ts'
import type { ExpandSlots } from './expand-slots.ts'
import { type HopLimits, NeighbourCursor, type TraversalSpec } from './neighbour-cursor.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** A first arrival at a node: the previous node and the relationship between them. */
interface Predecessor {
  readonly from: NodeId
  readonly relationship: RelationshipId
}

/** Which shortest paths to return. */
export interface ShortestPathOptions {
  /** All shortest paths, or any one of them. */
  readonly all: boolean
}

/** The shortest paths between the nodes in `from` and `to`, for each input row, as lists of relationships. */
export class ShortestPathOperator extends UnaryOperator {
  private readonly slots: ExpandSlots
  private readonly hops: HopLimits
  private readonly max: number
  private readonly options: ShortestPathOptions
  private readonly cursor: NeighbourCursor
  private readonly isUndirected: boolean
  /** Remaining paths of the current row. */
  private paths: Iterator<RelationshipId[]> | null = null

  constructor(
    input: PhysicalOperator,
    slots: ExpandSlots,
    traversal: TraversalSpec,
    hops: HopLimits,
    options: ShortestPathOptions,
  ) {
    super(input)
    this.slots = slots
    this.hops = hops
    this.max = hops.max ?? Number.POSITIVE_INFINITY
    this.options = options
    this.cursor = new NeighbourCursor(traversal)
    this.isUndirected = traversal.direction === 'both'
  }

  override open(run: ExecutionContext): void {
    this.input.open(run)
    this.paths = null
  }

  next(run: ExecutionContext): boolean {
    for (;;) {
      const path = this.paths?.next()
      if (path && !path.done) {
        run.budget.chargeSteps(path.value.length)
        run.frame[this.slots.relationship] = path.value
        if (!this.options.all) this.paths = null
        return true
      }
      if (!this.input.next(run)) return false
      this.paths = this.search(run, run.frame[this.slots.from] as NodeId, run.frame[this.slots.to] as NodeId)
    }
  }

  private search(run: ExecutionContext, from: NodeId, to: NodeId): Iterator<RelationshipId[]> | null {
    if (from === 0 || to === 0) return null
    if (from === to) {
      if (this.hops.min === 0) return [[]].values()
      // A path must not return over the same relationship, and first arrivals alone do not show whether it does.
      if (this.isUndirected)
        throw new ExecutionError('argument', 'an undirected shortest path cannot start and end at the same node')
    }
    const arrivals = new Map<NodeId, Predecessor[]>()
    let frontier: NodeId[] = [from]
    for (let depth = 0; depth < this.max && frontier.length > 0; depth++) {
      frontier = this.expandFrontier(run, frontier, arrivals)
      if (arrivals.has(to)) return enumeratePaths(run, to, depth + 1, arrivals)
    }
    return null
  }

  /** Records all first arrivals of the next level. Returns the nodes of that level. */
  private expandFrontier(
    run: ExecutionContext,
    frontier: readonly NodeId[],
    arrivals: Map<NodeId, Predecessor[]>,
  ): NodeId[] {
    const reached = new Map<NodeId, Predecessor[]>()
    const { cursor } = this
    for (const node of frontier) {
      cursor.start(node)
      while (cursor.advance(run)) {
        const { neighbour, relationship } = cursor
        if (arrivals.has(neighbour) || !this.satisfiesPredicate(run, relationship)) continue
        // A step back over the relationship of the arrival would use it twice in a cycle to the start.
        const predecessors = arrivals.get(node)
        if (predecessors !== undefined) {
          run.budget.chargeSteps(predecessors.length >> 4)
          if (predecessors.some((arrival) => arrival.relationship === relationship)) continue
        }
        const known = reached.get(neighbour)
        if (!known) reached.set(neighbour, [{ from: node, relationship }])
        else if (this.options.all) known.push({ from: node, relationship })
      }
    }
    for (const [node, predecessors] of reached) {
      arrivals.set(node, predecessors)
      run.budget.retainRow()
    }
    return [...reached.keys()]
  }

  private satisfiesPredicate(run: ExecutionContext, relationship: RelationshipId): boolean {
    const { hopPredicate } = this.hops
    if (!hopPredicate) return true
    run.frame[hopPredicate.slot] = relationship
    return hopPredicate.test(run)
  }
}

/** Yields every path from the start to `to`, depth-first. Each arrival is one step nearer to the start. */
function* enumeratePaths(
  run: ExecutionContext,
  to: NodeId,
  length: number,
  arrivals: ReadonlyMap<NodeId, readonly Predecessor[]>,
): Generator<RelationshipId[]> {
  const path: RelationshipId[] = new Array(length).fill(0)
  /** By distance from `to`: the arrivals at the node there, and the index of the next one. */
  const layers: (readonly Predecessor[])[] = [arrivals.get(to) ?? []]
  const positions: number[] = [0]
  while (layers.length > 0) {
    run.budget.chargeSteps(1)
    const depth = layers.length - 1
    const arrival = layers[depth]![positions[depth]!++]
    if (arrival === undefined) {
      layers.pop()
      positions.pop()
      continue
    }
    path[length - 1 - depth] = arrival.relationship
    if (layers.length < length) {
      layers.push(arrivals.get(arrival.from) ?? [])
      positions.push(0)
      continue
    }
    run.budget.chargeSteps(length >> 3)
    yield path.slice()
  }
}
