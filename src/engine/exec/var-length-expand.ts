// Variable length, every trail: depth-first over a stack of walks, no relationship twice.
import type { ExecutionContext } from './execution-context.ts'
import { type ExpandSlots, isRelationshipUsed } from './expand.ts'
import { NeighbourCursor, type TraversalSpec } from './neighbour-cursor.ts'
import type { PhysicalOperator } from './physical-operator.ts'

/** How far, and what every relationship on the way must satisfy (its id is put into `slot` first). */
export interface HopLimits {
  readonly min: number
  readonly max: number | null
  readonly hopPredicate: { readonly slot: number; readonly test: (run: ExecutionContext) => boolean } | null
}

/** How the trails of a step come out. */
export interface TrailOptions {
  /** The far end is known and only compared. */
  readonly into: boolean
  /** Walked against the text: the list of relationships is turned round to stand as written. */
  readonly backwards: boolean
}

export class VarLengthExpandOperator implements PhysicalOperator {
  private readonly input: PhysicalOperator
  private readonly slots: ExpandSlots
  private readonly traversal: TraversalSpec
  private readonly hops: HopLimits
  private readonly max: number
  private readonly options: TrailOptions
  /** One walk per depth, kept between runs. */
  private readonly cursors: NeighbourCursor[] = []
  private readonly trail: number[] = []
  /** -1: no trail is being followed; else the number of relationships in it. */
  private depth = -1
  private target = 0

  constructor(
    input: PhysicalOperator,
    slots: ExpandSlots,
    walkable: TraversalSpec,
    hops: HopLimits,
    form: TrailOptions,
  ) {
    this.input = input
    this.slots = slots
    this.traversal = walkable
    this.hops = hops
    this.max = hops.max ?? Number.POSITIVE_INFINITY
    this.options = form
  }

  open(run: ExecutionContext): void {
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
          const walk = this.cursors[this.depth - 1]!
          if (this.depth >= this.hops.min && this.emit(run, walk.neighbour)) return true
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

  /** One relationship further; false when the walk at this depth is at its end. */
  private extendTrail(run: ExecutionContext): boolean {
    const walk = this.cursorAt(this.depth)
    while (walk.advance(run)) {
      const { relationship } = walk
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
      if (this.depth < this.max) this.cursorAt(this.depth).start(walk.neighbour)
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
    let walk = this.cursors[depth]
    if (!walk) {
      walk = new NeighbourCursor(this.traversal)
      this.cursors[depth] = walk
    }
    return walk
  }
}
