// VarLengthExpand: every trail of a variable-length pattern, depth-first over a stack of cursors. No trail uses a
// relationship twice.
import type { ExecutionContext } from './execution-context.ts'
import { type ExpandSlots, isRelationshipUsed } from './expand-slots.ts'
import { type HopLimits, NeighbourCursor, type TraversalSpec } from './neighbour-cursor.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** How the trails of a step are returned. */
export interface TrailOptions {
  /** The end node is known and only compared. */
  readonly into: boolean
  /** The traversal runs against the direction of the text, so the list of relationships is reversed. */
  readonly backwards: boolean
}

/** Every trail from the node in `from`, for each input row: fills the list of relationships and the end node. */
export class VarLengthExpandOperator extends UnaryOperator {
  private readonly slots: ExpandSlots
  private readonly traversal: TraversalSpec
  private readonly hops: HopLimits
  private readonly max: number
  private readonly options: TrailOptions
  /** One cursor per depth, reused by later executions. */
  private readonly cursors: NeighbourCursor[] = []
  private readonly trail: number[] = []
  /** The number of relationships in the current trail; -1 if none exists. */
  private depth = -1
  private target = 0

  constructor(
    input: PhysicalOperator,
    slots: ExpandSlots,
    traversal: TraversalSpec,
    hops: HopLimits,
    options: TrailOptions,
  ) {
    super(input)
    this.slots = slots
    this.traversal = traversal
    this.hops = hops
    this.max = hops.max ?? Number.POSITIVE_INFINITY
    this.options = options
  }

  override open(run: ExecutionContext): void {
    this.input.open(run)
    this.depth = -1
  }

  next(run: ExecutionContext): boolean {
    for (;;) {
      if (this.depth < 0) {
        if (!this.startNextRow(run)) return false
        if (this.hops.min === 0 && this.emit(run, run.frame[this.slots.from] as number)) return true
      }
      while (this.depth >= 0) {
        if (this.depth < this.max && this.extendTrail(run)) {
          const cursor = this.cursors[this.depth - 1]!
          if (this.depth >= this.hops.min && this.emit(run, cursor.neighbour)) return true
        } else this.depth -= 1
      }
    }
  }

  private startNextRow(run: ExecutionContext): boolean {
    const { frame } = run
    for (;;) {
      if (!this.input.next(run)) return false
      const from = frame[this.slots.from] as number
      if (from === 0) continue
      if (this.options.into) {
        this.target = frame[this.slots.to] as number
        if (this.target === 0) continue
      }
      this.depth = 0
      this.cursorAt(0).start(from)
      return true
    }
  }

  /** Adds one relationship to the trail. Returns false if the cursor at this depth is at its end. */
  private extendTrail(run: ExecutionContext): boolean {
    const cursor = this.cursorAt(this.depth)
    while (cursor.advance(run)) {
      const { relationship } = cursor
      run.budget.chargeSteps(this.depth >> 4)
      if (this.inTrail(relationship)) continue
      if (this.slots.distinctFrom.length > 0 && isRelationshipUsed(run, this.slots.distinctFrom, relationship)) continue
      const { hopPredicate } = this.hops
      if (hopPredicate) {
        run.frame[hopPredicate.slot] = relationship
        if (!hopPredicate.test(run)) continue
      }
      this.trail[this.depth] = relationship
      this.depth += 1
      if (this.depth < this.max) this.cursorAt(this.depth).start(cursor.neighbour)
      return true
    }
    return false
  }

  private emit(run: ExecutionContext, end: number): boolean {
    if (this.options.into && end !== this.target) return false
    if (!this.options.into) run.frame[this.slots.to] = end
    run.budget.chargeSteps(this.depth >> 3)
    const trail = this.trail.slice(0, this.depth)
    run.frame[this.slots.relationship] = this.options.backwards ? trail.reverse() : trail
    return true
  }

  private inTrail(relationship: number): boolean {
    for (let i = 0; i < this.depth; i++) if (this.trail[i] === relationship) return true
    return false
  }

  private cursorAt(depth: number): NeighbourCursor {
    let cursor = this.cursors[depth]
    if (!cursor) {
      cursor = new NeighbourCursor(this.traversal)
      this.cursors[depth] = cursor
    }
    return cursor
  }
}
