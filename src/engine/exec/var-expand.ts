// Variable length, every trail: depth-first over a stack of walks, no relationship twice.
import type { Run } from './context.ts'
import { isUsed, type StepSlots } from './expand.ts'
import { NeighbourWalk, type Walkable } from './neighbours.ts'
import type { Operator } from './operator.ts'

/** How far, and what every relationship on the way must satisfy (its id is put into `slot` first). */
export interface Hops {
  readonly min: number
  readonly max: number | null
  readonly each: { readonly slot: number; readonly test: (run: Run) => boolean } | null
}

/** How the trails of a step come out. */
export interface TrailForm {
  /** The far end is known and only compared. */
  readonly into: boolean
  /** Walked against the text: the list of relationships is turned round to stand as written. */
  readonly backwards: boolean
}

export class VarExpandOperator implements Operator {
  private readonly input: Operator
  private readonly slots: StepSlots
  private readonly walkable: Walkable
  private readonly hops: Hops
  private readonly max: number
  private readonly form: TrailForm
  /** One walk per depth, kept between runs. */
  private readonly walks: NeighbourWalk[] = []
  private readonly trail: number[] = []
  /** -1: no trail is being followed; else the number of relationships in it. */
  private depth = -1
  private target = 0

  constructor(input: Operator, slots: StepSlots, walkable: Walkable, hops: Hops, form: TrailForm) {
    this.input = input
    this.slots = slots
    this.walkable = walkable
    this.hops = hops
    this.max = hops.max ?? Number.POSITIVE_INFINITY
    this.form = form
  }

  open(run: Run): void {
    this.input.open(run)
    this.depth = -1
  }

  next(run: Run): boolean {
    for (;;) {
      if (this.depth < 0) {
        if (!this.begin(run)) return false
        if (this.hops.min === 0 && this.emit(run, run.frame[this.slots.from] as number)) return true
      }
      while (this.depth >= 0) {
        if (this.depth < this.max && this.step(run)) {
          const walk = this.walks[this.depth - 1]!
          if (this.depth >= this.hops.min && this.emit(run, walk.neighbour)) return true
        } else this.depth -= 1
      }
    }
  }

  private begin(run: Run): boolean {
    const { frame } = run
    for (;;) {
      if (!this.input.next(run)) return false
      const from = frame[this.slots.from] as number
      if (from === 0) continue
      if (this.form.into) {
        this.target = frame[this.slots.to] as number
        if (this.target === 0) continue
      }
      this.depth = 0
      this.walkAt(0).begin(from)
      return true
    }
  }

  /** One relationship further; false when the walk at this depth is at its end. */
  private step(run: Run): boolean {
    const walk = this.walkAt(this.depth)
    while (walk.advance(run)) {
      const { relationship } = walk
      run.budget.touch(this.depth >> 4)
      if (this.inTrail(relationship)) continue
      if (this.slots.differs.length > 0 && isUsed(run, this.slots.differs, relationship)) continue
      const { each } = this.hops
      if (each) {
        run.frame[each.slot] = relationship
        if (!each.test(run)) continue
      }
      this.trail[this.depth] = relationship
      this.depth += 1
      if (this.depth < this.max) this.walkAt(this.depth).begin(walk.neighbour)
      return true
    }
    return false
  }

  private emit(run: Run, end: number): boolean {
    if (this.form.into && end !== this.target) return false
    if (!this.form.into) run.frame[this.slots.to] = end
    run.budget.touch(this.depth >> 3)
    const trail = this.trail.slice(0, this.depth)
    run.frame[this.slots.relationship] = this.form.backwards ? trail.reverse() : trail
    return true
  }

  private inTrail(relationship: number): boolean {
    for (let i = 0; i < this.depth; i++) if (this.trail[i] === relationship) return true
    return false
  }

  private walkAt(depth: number): NeighbourWalk {
    let walk = this.walks[depth]
    if (!walk) {
      walk = new NeighbourWalk(this.walkable)
      this.walks[depth] = walk
    }
    return walk
  }
}
