// ExpandInto: the relationships between two known nodes.
import { createChunk, type SymbolId } from '../store.ts'
import type { ExecutionContext } from './execution-context.ts'
import { type ExpandSlots, isRelationshipUsed } from './expand-slots.ts'
import { directionsToRead, type TraversalSpec } from './neighbour-cursor.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** Every relationship between the nodes in `from` and `to`, for each input row. */
export class ExpandIntoOperator extends UnaryOperator {
  private readonly slots: ExpandSlots
  private readonly traversal: TraversalSpec
  private readonly directions: readonly ('out' | 'in')[]
  private readonly chunk = createChunk()
  private position = 0
  private directionAt = 0
  private typeAt = 0
  private types: readonly SymbolId[] = []

  constructor(input: PhysicalOperator, slots: ExpandSlots, traversal: TraversalSpec) {
    super(input)
    this.slots = slots
    this.traversal = traversal
    this.directions = directionsToRead(traversal.direction)
  }

  override open(run: ExecutionContext): void {
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

  /** Reads the next type or direction of the current pair of nodes. */
  private fetch(run: ExecutionContext): boolean {
    const from = run.frame[this.slots.from] as number
    const to = run.frame[this.slots.to] as number
    const snapshot = run.graphs[this.traversal.graph]!
    for (;;) {
      if (this.typeAt < this.types.length) {
        const type = this.types[this.typeAt++]!
        const isOut = this.directions[this.directionAt] === 'out'
        snapshot.relationshipsBetween(isOut ? from : to, type, isOut ? to : from, this.chunk)
        this.position = 0
        run.budget.chargeSteps(1)
        return true
      }
      // A self-loop has been read as an outgoing relationship.
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
