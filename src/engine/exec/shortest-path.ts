// Shortest ways between two known nodes: breadth-first from one of them, remembering by which relationships each node was
// first reached; then every way back along those that lead to the other.
import { RunFault } from '../errors.ts'
import type { NodeId, RelationshipId } from '../store.ts'
import type { Run } from './context.ts'
import type { StepSlots } from './expand.ts'
import { NeighbourWalk, type Walkable } from './neighbours.ts'
import type { Operator } from './operator.ts'
import type { Hops } from './var-expand.ts'

interface Arrival {
  readonly from: NodeId
  readonly relationship: RelationshipId
}

export interface ShortestForm {
  /** All that are as short as the shortest, or one of them. */
  readonly all: boolean
}

export class ShortestPathOperator implements Operator {
  private readonly input: Operator
  private readonly slots: StepSlots
  private readonly hops: Hops
  private readonly max: number
  private readonly form: ShortestForm
  private readonly walk: NeighbourWalk
  private readonly undirected: boolean
  /** Ways of the present row that are still to be given out. */
  private ways: Iterator<RelationshipId[]> | null = null

  constructor(input: Operator, slots: StepSlots, walkable: Walkable, hops: Hops, form: ShortestForm) {
    this.input = input
    this.slots = slots
    this.hops = hops
    this.max = hops.max ?? Number.POSITIVE_INFINITY
    this.form = form
    this.walk = new NeighbourWalk(walkable)
    this.undirected = walkable.direction === 'both'
  }

  open(run: Run): void {
    this.input.open(run)
    this.ways = null
  }

  next(run: Run): boolean {
    for (;;) {
      const way = this.ways?.next()
      if (way && !way.done) {
        run.budget.touch(way.value.length)
        run.frame[this.slots.relationship] = way.value
        if (!this.form.all) this.ways = null
        return true
      }
      if (!this.input.next(run)) return false
      this.ways = this.search(run, run.frame[this.slots.from] as NodeId, run.frame[this.slots.to] as NodeId)
    }
  }

  private search(run: Run, from: NodeId, to: NodeId): Iterator<RelationshipId[]> | null {
    if (from === 0 || to === 0) return null
    if (from === to) {
      if (this.hops.min === 0) return [[]].values()
      // A way back over a relationship that led there is none, and first arrivals alone cannot tell the two apart.
      if (this.undirected) throw new RunFault('argument', 'no shortest path leads from a node undirected to itself')
    }
    const arrivals = new Map<NodeId, Arrival[]>()
    let frontier: NodeId[] = [from]
    for (let depth = 0; depth < this.max && frontier.length > 0; depth++) {
      frontier = this.grow(run, frontier, arrivals)
      if (arrivals.has(to)) return waysBack(run, to, depth + 1, arrivals)
    }
    return null
  }

  /** Adds every way by which a node is reached for the first time; answers the nodes reached. */
  private grow(run: Run, frontier: readonly NodeId[], arrivals: Map<NodeId, Arrival[]>): NodeId[] {
    const reached = new Map<NodeId, Arrival[]>()
    const { walk } = this
    for (const node of frontier) {
      walk.begin(node)
      while (walk.advance(run)) {
        const { neighbour, relationship } = walk
        if (arrivals.has(neighbour) || !this.admits(run, relationship)) continue
        // Back over the relationship that led here is no way: in a cycle to the start it would be used twice.
        const ways = arrivals.get(node)
        if (ways !== undefined) {
          run.budget.touch(ways.length >> 4)
          if (ways.some((arrival) => arrival.relationship === relationship)) continue
        }
        const known = reached.get(neighbour)
        if (!known) reached.set(neighbour, [{ from: node, relationship }])
        else if (this.form.all) known.push({ from: node, relationship })
      }
    }
    for (const [node, ways] of reached) {
      arrivals.set(node, ways)
      run.budget.hold()
    }
    return [...reached.keys()]
  }

  private admits(run: Run, relationship: RelationshipId): boolean {
    const { each } = this.hops
    if (!each) return true
    run.frame[each.slot] = relationship
    return each.test(run)
  }
}

/** Each way from the start to `to`, depth-first. Every arrival leads back to the start in as many steps as its layer. */
function* waysBack(
  run: Run,
  to: NodeId,
  length: number,
  arrivals: ReadonlyMap<NodeId, readonly Arrival[]>,
): Generator<RelationshipId[]> {
  const way: RelationshipId[] = new Array(length).fill(0)
  /** By steps from the far end: the ways into the node there, and which of them comes next. */
  const layers: (readonly Arrival[])[] = [arrivals.get(to) ?? []]
  const places: number[] = [0]
  while (layers.length > 0) {
    run.budget.touch(1)
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
    run.budget.touch(length >> 3)
    yield way.slice()
  }
}
