// One shortest path over repetitions of hops between two nodes, searched from both ends. Each reached node keeps the hop by
// which it was reached first. The first meeting of the two sides lies on a shortest path.
import type { NodeId, RelationshipId } from '../store.ts'
import { meet, SearchSide } from './breadth-first-search.ts'
import type { ExecutionContext } from './execution-context.ts'
import { type CompiledHop, reverseHop } from './neighbour-cursor.ts'

/** Finds one shortest path between two nodes. */
export class ConnectingPath {
  private readonly left: SearchSide
  private readonly right: SearchSide
  private readonly max: number

  /** `hops`: one repetition, from left to right. `max`: of repetitions; null: no limit. */
  constructor(hops: readonly CompiledHop[], max: number | null) {
    this.max = max ?? Number.POSITIVE_INFINITY
    this.left = new SearchSide(hops, this.max, true)
    this.right = new SearchSide(hops.map(reverseHop).reverse(), this.max, true)
  }

  /** The relationships of the path from left to right; null if none has at most `max` repetitions. */
  find(run: ExecutionContext, left: NodeId, right: NodeId): RelationshipId[] | null {
    this.left.startAtEnds().add(left, run.budget)
    this.right.startAtEnds().add(right, run.budget)
    const side = meet(run, this.left, this.right, this.max)
    if (side === null) return null
    const own = side.pathToMet()
    const others = (side === this.left ? this.right : this.left).pathToEnd(side.met)
    return side === this.left ? own.concat(others.reverse()) : others.concat(own.reverse())
  }
}
