// One shortest path over repetitions of one hop, between two different nodes: breadth-first from both ends, level by level,
// the smaller frontier first. Each reached node keeps the hop by which it was reached first. The first meeting of the two
// sides lies on a shortest path, which no cycle is on, so it is a trail.
import type { NodeId, RelationshipId } from '../store.ts'
import type { ExecutionContext } from './execution-context.ts'
import { type CompiledHop, FilteredNeighbourCursor, reverseHop } from './neighbour-cursor.ts'
import { OrderedNodeSet } from './node-set.ts'

/** The nodes that one side has reached, each with its predecessor. */
class ReachedSide {
  readonly reached = new OrderedNodeSet()
  private readonly cursor: FilteredNeighbourCursor
  /** By position in `reached`: the position of the predecessor, and the relationship from it. */
  private predecessors: number[] = []
  private relationships: RelationshipId[] = []
  private expanded = 0

  constructor(hop: CompiledHop) {
    this.cursor = new FilteredNeighbourCursor(hop)
  }

  start(run: ExecutionContext, node: NodeId): void {
    this.reached.clear()
    this.reached.add(node, run.budget)
    this.predecessors = [0]
    this.relationships = [0]
    this.expanded = 0
  }

  get open(): number {
    return this.reached.length - this.expanded
  }

  /** Expands one level. Returns the two halves of the path, each from its own end, as soon as the other side is met. */
  expand(run: ExecutionContext, other: ReachedSide): readonly [own: RelationshipId[], others: RelationshipId[]] | null {
    const { reached, cursor, predecessors, relationships } = this
    const level = reached.length
    for (; this.expanded < level; this.expanded++) {
      cursor.start(reached.ids[this.expanded]!)
      for (let next = cursor.next(run); next !== 0; next = cursor.next(run)) {
        if (other.reached.has(next)) {
          const own = this.pathTo(this.expanded)
          own.push(cursor.relationship)
          return [own, other.pathTo(other.reached.ids.indexOf(next))]
        }
        if (!reached.add(next, run.budget)) continue
        run.budget.retainRow()
        predecessors.push(this.expanded)
        relationships.push(cursor.relationship)
      }
    }
    return null
  }

  private pathTo(position: number): RelationshipId[] {
    const path: RelationshipId[] = []
    for (let at = position; at > 0; at = this.predecessors[at]!) path.push(this.relationships[at]!)
    return path.reverse()
  }
}

/** Finds one shortest path between two nodes. */
export class ConnectingPath {
  private readonly left: ReachedSide
  private readonly right: ReachedSide
  private readonly max: number

  /** `hop` leads from left to right. */
  constructor(hop: CompiledHop, max: number | null) {
    this.left = new ReachedSide(hop)
    this.right = new ReachedSide(reverseHop(hop))
    this.max = max ?? Number.POSITIVE_INFINITY
  }

  /** The relationships of the path from left to right; null if none has at most `max` hops. The nodes must differ. */
  find(run: ExecutionContext, left: NodeId, right: NodeId): RelationshipId[] | null {
    this.left.start(run, left)
    this.right.start(run, right)
    for (let hop = 0; hop < this.max && this.left.open > 0 && this.right.open > 0; hop++) {
      const isLeft = this.left.open <= this.right.open
      const halves = isLeft ? this.left.expand(run, this.right) : this.right.expand(run, this.left)
      if (halves === null) continue
      const [own, others] = halves
      return isLeft ? [...own, ...others.reverse()] : [...others, ...own.reverse()]
    }
    return null
  }
}
