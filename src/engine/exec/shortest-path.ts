// Shortest ways between two known nodes: breadth-first from one of them, remembering by which relationships each node was
// first reached; then every way back along those that lead to the other.
import { ExecutionError } from '../errors.ts'
import type { NodeId, RelationshipId } from '../store.ts'
import type { ExecutionContext } from './execution-context.ts'
import type { ExpandSlots } from './expand.ts'
import { NeighbourCursor, type TraversalSpec } from './neighbour-cursor.ts'
import type { PhysicalOperator } from './physical-operator.ts'
import type { HopLimits } from './var-length-expand.ts'

interface Predecessor {
  readonly from: NodeId
  readonly relationship: RelationshipId
}

export interface ShortestPathOptions {
  /** All that are as short as the shortest, or one of them. */
  readonly all: boolean
}

export class ShortestPathOperator implements PhysicalOperator {
  private readonly input: PhysicalOperator
  private readonly slots: ExpandSlots
  private readonly hops: HopLimits
  private readonly max: number
  private readonly options: ShortestPathOptions
  private readonly cursor: NeighbourCursor
  private readonly isUndirected: boolean
  /** Ways of the present row that are still to be given out. */
  private paths: Iterator<RelationshipId[]> | null = null

  constructor(
    input: PhysicalOperator,
    slots: ExpandSlots,
    walkable: TraversalSpec,
    hops: HopLimits,
    form: ShortestPathOptions,
  ) {
    this.input = input
    this.slots = slots
    this.hops = hops
    this.max = hops.max ?? Number.POSITIVE_INFINITY
    this.options = form
    this.cursor = new NeighbourCursor(walkable)
    this.isUndirected = walkable.direction === 'both'
  }

  open(run: ExecutionContext): void {
    this.input.open(run)
    this.paths = null
  }

  next(run: ExecutionContext): boolean {
    for (;;) {
      const way = this.paths?.next()
      if (way && !way.done) {
        run.budget.chargeSteps(way.value.length)
        run.frame[this.slots.relationship] = way.value
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
      // A way back over a relationship that led there is none, and first arrivals alone cannot tell the two apart.
      if (this.isUndirected)
        throw new ExecutionError('argument', 'no shortest path leads from a node undirected to itself')
    }
    const arrivals = new Map<NodeId, Predecessor[]>()
    let frontier: NodeId[] = [from]
    for (let depth = 0; depth < this.max && frontier.length > 0; depth++) {
      frontier = this.expandFrontier(run, frontier, arrivals)
      if (arrivals.has(to)) return enumeratePaths(run, to, depth + 1, arrivals)
    }
    return null
  }

  /** Adds every way by which a node is reached for the first time; answers the nodes reached. */
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
        // Back over the relationship that led here is no way: in a cycle to the start it would be used twice.
        const ways = arrivals.get(node)
        if (ways !== undefined) {
          run.budget.chargeSteps(ways.length >> 4)
          if (ways.some((arrival) => arrival.relationship === relationship)) continue
        }
        const known = reached.get(neighbour)
        if (!known) reached.set(neighbour, [{ from: node, relationship }])
        else if (this.options.all) known.push({ from: node, relationship })
      }
    }
    for (const [node, ways] of reached) {
      arrivals.set(node, ways)
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

/** Each way from the start to `to`, depth-first. Every arrival leads back to the start in as many steps as its layer. */
function* enumeratePaths(
  run: ExecutionContext,
  to: NodeId,
  length: number,
  arrivals: ReadonlyMap<NodeId, readonly Predecessor[]>,
): Generator<RelationshipId[]> {
  const way: RelationshipId[] = new Array(length).fill(0)
  /** By steps from the far end: the ways into the node there, and which of them comes next. */
  const layers: (readonly Predecessor[])[] = [arrivals.get(to) ?? []]
  const places: number[] = [0]
  while (layers.length > 0) {
    run.budget.chargeSteps(1)
    const depth = layers.length - 1
    const arrival = layers[depth]![places[depth]!++]
    if (arrival === undefined) {
      layers.pop()
      places.pop()
      continue
    }
    way[length - 1 - depth] = arrival.relationship
    if (layers.length < length) {
      layers.push(arrivals.get(arrival.from) ?? [])
      places.push(0)
      continue
    }
    run.budget.chargeSteps(length >> 3)
    yield way.slice()
  }
}
