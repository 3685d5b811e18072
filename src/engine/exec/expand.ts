// One hop: from a known node to its neighbours (expand), or between two known nodes (expand-into).
import { emptyChunk, type SymbolId } from '../store.ts'
import type { Run } from './context.ts'
import { directionsOf, NeighbourWalk, type Walkable } from './neighbours.ts'
import type { Operator } from './operator.ts'

/** Frame indexes of a step. */
export interface StepSlots {
  readonly from: number
  readonly to: number
  readonly relationship: number
  /** Relationships of the same MATCH that must be others; a slot holds an id or a list of ids. */
  readonly differs: readonly number[]
}

/** Relationship uniqueness within one MATCH. */
export function isUsed(run: Run, differs: readonly number[], relationship: number): boolean {
  for (const slot of differs) {
    const other = run.frame[slot]
    if (other === relationship) return true
    if (!Array.isArray(other)) continue
    run.budget.touch(other.length >> 4)
    if (other.includes(relationship)) return true
  }
  return false
}

export class ExpandOperator implements Operator {
  private readonly input: Operator
  private readonly slots: StepSlots
  private readonly walk: NeighbourWalk

  constructor(input: Operator, slots: StepSlots, walkable: Walkable) {
    this.input = input
    this.slots = slots
    this.walk = new NeighbourWalk(walkable)
  }

  open(run: Run): void {
    this.input.open(run)
    this.walk.begin(0)
  }

  next(run: Run): boolean {
    const { slots, walk } = this
    for (;;) {
      while (walk.advance(run)) {
        if (slots.differs.length > 0 && isUsed(run, slots.differs, walk.relationship)) continue
        run.frame[slots.to] = walk.neighbour
        run.frame[slots.relationship] = walk.relationship
        return true
      }
      if (!this.input.next(run)) return false
      walk.begin(run.frame[slots.from] as number)
    }
  }
}

export class ExpandIntoOperator implements Operator {
  private readonly input: Operator
  private readonly slots: StepSlots
  private readonly walkable: Walkable
  private readonly directions: readonly ('out' | 'in')[]
  private readonly chunk = emptyChunk()
  private position = 0
  private directionAt = 0
  private typeAt = 0
  private types: readonly SymbolId[] = []

  constructor(input: Operator, slots: StepSlots, walkable: Walkable) {
    this.input = input
    this.slots = slots
    this.walkable = walkable
    this.directions = directionsOf(walkable.direction)
  }

  open(run: Run): void {
    this.input.open(run)
    this.chunk.length = 0
    this.position = 0
    this.types = []
    this.typeAt = 0
    this.directionAt = this.directions.length
  }

  next(run: Run): boolean {
    const { slots, chunk } = this
    for (;;) {
      while (this.position < chunk.length) {
        const relationship = chunk.relationships[this.position++]!
        if (slots.differs.length > 0 && isUsed(run, slots.differs, relationship)) continue
        run.frame[slots.relationship] = relationship
        return true
      }
      if (!this.fetch(run) && !this.nextPair(run)) return false
    }
  }

  /** The next type or direction of the present pair. */
  private fetch(run: Run): boolean {
    const from = run.frame[this.slots.from] as number
    const to = run.frame[this.slots.to] as number
    const snapshot = run.graphs[this.walkable.graph]!
    for (;;) {
      if (this.typeAt < this.types.length) {
        const type = this.types[this.typeAt++]!
        const out = this.directions[this.directionAt] === 'out'
        snapshot.relationshipsBetween(out ? from : to, type, out ? to : from, this.chunk)
        this.position = 0
        run.budget.touch(1)
        return true
      }
      // A self loop is met on the way out already.
      if (this.directionAt + 1 >= this.directions.length || from === to) return false
      this.directionAt += 1
      this.startDirection(run, from)
    }
  }

  private nextPair(run: Run): boolean {
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

  private startDirection(run: Run, from: number): void {
    const { types, graph } = this.walkable
    this.typeAt = 0
    this.types = types ?? run.graphs[graph]!.typesAt(from, this.directions[this.directionAt]!)
  }
}
