// One hop: from a known node to its neighbours (expand), or between two known nodes (expand-into).
import { createChunk, type SymbolId } from '../store.ts'
import type { ExecutionContext } from './execution-context.ts'
import { directionsToRead, NeighbourCursor, type TraversalSpec } from './neighbour-cursor.ts'
import type { PhysicalOperator } from './physical-operator.ts'

/** Frame indexes of a step. */
export interface ExpandSlots {
  readonly from: number
  readonly to: number
  readonly relationship: number
  /** Relationships of the same MATCH that must be others; a slot holds an id or a list of ids. */
  readonly distinctFrom: readonly number[]
}

/** Relationship uniqueness within one MATCH. */
export function isRelationshipUsed(run: ExecutionContext, differs: readonly number[], relationship: number): boolean {
  for (const slot of differs) {
    const other = run.frame[slot]
    if (other === relationship) return true
    if (!Array.isArray(other)) continue
    run.budget.chargeSteps(other.length >> 4)
    if (other.includes(relationship)) return true
  }
  return false
}

export class ExpandAllOperator implements PhysicalOperator {
  private readonly input: PhysicalOperator
  private readonly slots: ExpandSlots
  private readonly cursor: NeighbourCursor

  constructor(input: PhysicalOperator, slots: ExpandSlots, walkable: TraversalSpec) {
    this.input = input
    this.slots = slots
    this.cursor = new NeighbourCursor(walkable)
  }

  open(run: ExecutionContext): void {
    this.input.open(run)
    this.cursor.start(0)
  }

  next(run: ExecutionContext): boolean {
    const { slots, cursor } = this
    for (;;) {
      while (cursor.advance(run)) {
        if (slots.distinctFrom.length > 0 && isRelationshipUsed(run, slots.distinctFrom, cursor.relationship)) continue
        run.frame[slots.to] = cursor.neighbour
        run.frame[slots.relationship] = cursor.relationship
        return true
      }
      if (!this.input.next(run)) return false
      cursor.start(run.frame[slots.from] as number)
    }
  }
}

export class ExpandIntoOperator implements PhysicalOperator {
  private readonly input: PhysicalOperator
  private readonly slots: ExpandSlots
  private readonly traversal: TraversalSpec
  private readonly directions: readonly ('out' | 'in')[]
  private readonly chunk = createChunk()
  private position = 0
  private directionAt = 0
  private typeAt = 0
  private types: readonly SymbolId[] = []

  constructor(input: PhysicalOperator, slots: ExpandSlots, walkable: TraversalSpec) {
    this.input = input
    this.slots = slots
    this.traversal = walkable
    this.directions = directionsToRead(walkable.direction)
  }

  open(run: ExecutionContext): void {
    this.input.open(run)
    this.chunk.length = 0
    this.position = 0
    this.types = []
    this.typeAt = 0
    this.directionAt = this.directions.length
  }

  next(run: ExecutionContext): boolean {
    const { slots, chunk } = this
    for (;;) {
      while (this.position < chunk.length) {
        const relationship = chunk.relationships[this.position++]!
        if (slots.distinctFrom.length > 0 && isRelationshipUsed(run, slots.distinctFrom, relationship)) continue
        run.frame[slots.relationship] = relationship
        return true
      }
      if (!this.fetch(run) && !this.nextPair(run)) return false
    }
  }

  /** The next type or direction of the present pair. */
  private fetch(run: ExecutionContext): boolean {
    const from = run.frame[this.slots.from] as number
    const to = run.frame[this.slots.to] as number
    const snapshot = run.graphs[this.traversal.graph]!
    for (;;) {
      if (this.typeAt < this.types.length) {
        const type = this.types[this.typeAt++]!
        const out = this.directions[this.directionAt] === 'out'
        snapshot.relationshipsBetween(out ? from : to, type, out ? to : from, this.chunk)
        this.position = 0
        run.budget.chargeSteps(1)
        return true
      }
      // A self loop is met on the way out already.
      if (this.directionAt + 1 >= this.directions.length || from === to) return false
      this.directionAt += 1
      this.startDirection(run, from)
    }
  }

  private nextPair(run: ExecutionContext): boolean {
    for (;;) {
      if (!this.input.next(run)) return false
      const from = run.frame[this.slots.from] as number
      if (from === 0 || run.frame[this.slots.to] === 0) continue
      this.directionAt = 0
      this.startDirection(run, from)
      this.chunk.length = 0
      this.position = 0
      return true
    }
  }

  private startDirection(run: ExecutionContext, from: number): void {
    const { types, graph } = this.traversal
    this.typeAt = 0
    this.types = types ?? run.graphs[graph]!.relationshipTypesAt(from, this.directions[this.directionAt]!)
  }
}
