// ExpandAll: one hop from a known node to its neighbours.
import type { ExecutionContext } from './execution-context.ts'
import { type ExpandSlots, isRelationshipUsed } from './expand-slots.ts'
import { NeighbourCursor, type TraversalSpec } from './neighbour-cursor.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** Every relationship of the node in `from`, with the node at its other end, for each input row. */
export class ExpandAllOperator extends UnaryOperator {
  private readonly slots: ExpandSlots
  private readonly cursor: NeighbourCursor

  constructor(input: PhysicalOperator, slots: ExpandSlots, traversal: TraversalSpec) {
    super(input)
    this.slots = slots
    this.cursor = new NeighbourCursor(traversal)
  }

  override open(run: ExecutionContext): void {
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
