// Walks from one node to its neighbours, chunk by chunk, over the types and directions of a step. All expands share it.

import type { WalkDirection } from '../plan/operators.ts'
import {
  createChunk,
  type Direction,
  type NodeId,
  type RelationshipId,
  type Snapshot,
  type SymbolId,
} from '../store.ts'
import type { ExecutionContext } from './execution-context.ts'

const OUT_ONLY: readonly Direction[] = ['out']
const IN_ONLY: readonly Direction[] = ['in']
const OUT_AND_IN: readonly Direction[] = ['out', 'in']

export function directionsToRead(direction: WalkDirection): readonly Direction[] {
  return direction === 'out' ? OUT_ONLY : direction === 'in' ? IN_ONLY : OUT_AND_IN
}

export function oppositeDirection(direction: WalkDirection): WalkDirection {
  return direction === 'out' ? 'in' : direction === 'in' ? 'out' : 'both'
}

/** What a step may walk over. `types` null: any type; unknown types are left out, so an empty list walks nowhere. */
export interface TraversalSpec {
  /** Index of the graph in the run. */
  readonly graph: number
  readonly direction: WalkDirection
  readonly types: readonly SymbolId[] | null
}

export class NeighbourCursor {
  neighbour: NodeId = 0
  relationship: RelationshipId = 0
  private readonly graph: number
  private readonly directions: readonly Direction[]
  private readonly fixedTypes: readonly SymbolId[] | null
  private readonly chunk = createChunk()
  private node: NodeId = 0
  /** Null until the first fetch. */
  private types: readonly SymbolId[] | null = null
  private typeAt = 0
  private directionAt = 0
  private position = 0

  constructor(walkable: TraversalSpec) {
    this.graph = walkable.graph
    this.directions = directionsToRead(walkable.direction)
    this.fixedTypes = walkable.types
  }

  /** Node 0 (null) has no neighbours. */
  start(node: NodeId): void {
    this.node = node
    this.position = 0
    this.chunk.length = 0
    this.chunk.more = false
    this.typeAt = -1
    this.directionAt = node === 0 ? this.directions.length : 0
    this.types = null
  }

  /** There are more neighbours than those of the chunk at hand. */
  get hasMoreChunks(): boolean {
    return this.chunk.more
  }

  advance(run: ExecutionContext): boolean {
    const chunk = this.chunk
    for (;;) {
      while (this.position < chunk.length) {
        const at = this.position++
        const neighbour = chunk.ids[at]!
        // A self loop stands in both lists of its node and is one relationship: it is met on the way out.
        if (this.directionAt === 1 && neighbour === this.node) continue
        this.neighbour = neighbour
        this.relationship = chunk.relationships[at]!
        return true
      }
      if (!this.fetch(run)) return false
    }
  }

  private fetch(run: ExecutionContext): boolean {
    if (this.directionAt >= this.directions.length) return false
    const { chunk } = this
    const snapshot = run.graphs[this.graph]!
    let from = 0
    if (chunk.more) from = chunk.next
    else if (!this.startNextList(snapshot)) return false
    this.position = 0
    snapshot.neighbours(this.node, this.directions[this.directionAt]!, this.types![this.typeAt]!, from, chunk)
    run.budget.chargeSteps(chunk.length + 1)
    return true
  }

  /** The next type, or the first of the next direction. */
  private startNextList(snapshot: Snapshot): boolean {
    this.types ??= this.typesIn(snapshot)
    this.typeAt += 1
    while (this.typeAt >= this.types.length) {
      this.directionAt += 1
      if (this.directionAt >= this.directions.length) return false
      this.typeAt = 0
      this.types = this.typesIn(snapshot)
    }
    return true
  }

  private typesIn(snapshot: Snapshot): readonly SymbolId[] {
    return this.fixedTypes ?? snapshot.relationshipTypesAt(this.node, this.directions[this.directionAt]!)
  }
}
