// Walks from one node to its neighbours, chunk by chunk, over the types and directions of a step. All expands share it.

import type { WalkDirection } from '../plan/operators.ts'
import { type Direction, emptyChunk, type NodeId, type RelationshipId, type Snapshot, type SymbolId } from '../store.ts'
import type { Budget } from './context.ts'

const OUT: readonly Direction[] = ['out']
const IN: readonly Direction[] = ['in']
const BOTH: readonly Direction[] = ['out', 'in']

export function directionsOf(direction: WalkDirection): readonly Direction[] {
  return direction === 'out' ? OUT : direction === 'in' ? IN : BOTH
}

export function opposite(direction: WalkDirection): WalkDirection {
  return direction === 'out' ? 'in' : direction === 'in' ? 'out' : 'both'
}

/** What a step may walk over. `types` null: any type; unknown types are left out, so an empty list walks nowhere. */
export interface Walkable {
  readonly snapshot: Snapshot
  readonly direction: WalkDirection
  readonly types: readonly SymbolId[] | null
}

export class NeighbourWalk {
  neighbour: NodeId = 0
  relationship: RelationshipId = 0
  private readonly snapshot: Snapshot
  private readonly directions: readonly Direction[]
  private readonly fixedTypes: readonly SymbolId[] | null
  private readonly chunk = emptyChunk()
  private node: NodeId = 0
  private types: readonly SymbolId[] = []
  private typeAt = 0
  private directionAt = 0
  private position = 0

  constructor(walkable: Walkable) {
    this.snapshot = walkable.snapshot
    this.directions = directionsOf(walkable.direction)
    this.fixedTypes = walkable.types
  }

  /** Node 0 (null) has no neighbours. */
  begin(node: NodeId): void {
    this.node = node
    this.position = 0
    this.chunk.length = 0
    this.chunk.more = false
    this.typeAt = -1
    this.directionAt = node === 0 ? this.directions.length : 0
    if (node !== 0) this.types = this.fixedTypes ?? this.snapshot.typesAt(node, this.directions[0]!)
  }

  advance(budget: Budget): boolean {
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
      if (!this.fetch(budget)) return false
    }
  }

  private fetch(budget: Budget): boolean {
    const chunk = this.chunk
    this.position = 0
    if (chunk.more) {
      this.snapshot.neighbours(
        this.node,
        this.directions[this.directionAt]!,
        this.types[this.typeAt]!,
        chunk.next,
        chunk,
      )
    } else {
      this.typeAt += 1
      while (this.typeAt >= this.types.length) {
        this.directionAt += 1
        if (this.directionAt >= this.directions.length) return false
        this.typeAt = 0
        if (!this.fixedTypes) this.types = this.snapshot.typesAt(this.node, this.directions[this.directionAt]!)
      }
      this.snapshot.neighbours(this.node, this.directions[this.directionAt]!, this.types[this.typeAt]!, 0, chunk)
    }
    budget.touch(chunk.length + 1)
    return true
  }
}
