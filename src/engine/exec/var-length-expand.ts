// VarLengthExpand: every trail of a variable-length or quantified pattern, depth-first over a stack of cursors. No trail
// uses a relationship twice, unless the MATCH allows it.
import type { NodeId, RelationshipId } from '../store.ts'
import type { ExecutionContext } from './execution-context.ts'
import { type ExpandSlots, isRelationshipUsed } from './expand-slots.ts'
import {
  type CompiledHop,
  type HopLimits,
  NeighbourCursor,
  satisfiesHop,
  type TraversalSpec,
} from './neighbour-cursor.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'
import { type CompiledRepetition, holdsRepetition } from './repetition.ts'

/** How the trails of a step are returned. */
export interface TrailOptions {
  /** The end node is known and only compared. */
  readonly into: boolean
  /** The traversal runs against the direction of the text, so the list of relationships is reversed. */
  readonly backwards: boolean
  /** The predicates on a whole repetition. Default: none. */
  readonly repetition?: CompiledRepetition | null
  /** A relationship may be used several times. Default: false. */
  readonly repeatable?: boolean
}

/** Every trail from the node in `from`, for each input row: fills the list of relationships and the end node. */
export class VarLengthExpandOperator extends UnaryOperator {
  private readonly slots: ExpandSlots
  private readonly cycle: readonly CompiledHop[]
  private readonly min: number
  private readonly max: number
  private readonly options: TrailOptions
  /** One cursor per depth, reused by later executions. */
  private readonly cursors: NeighbourCursor[] = []
  private readonly trail: RelationshipId[] = []
  /** The node before each relationship of the trail, and the last node. */
  private readonly nodes: NodeId[] = []
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
    this.cycle = [{ traversal, predicate: hops.hopPredicate }, ...hops.further]
    this.min = hops.min * this.cycle.length
    this.max = (hops.max ?? Number.POSITIVE_INFINITY) * this.cycle.length
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
        if (this.min === 0 && this.emit(run, run.frame[this.slots.from] as number)) return true
      }
      while (this.depth >= 0) {
        if (this.depth < this.max && this.extendTrail(run)) {
          const isComplete = this.depth >= this.min && this.depth % this.cycle.length === 0
          if (isComplete && this.emit(run, this.nodes[this.depth]!)) return true
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
      this.nodes[0] = from
      this.cursorAt(0).start(from)
      return true
    }
  }

  /** Adds one relationship to the trail. Returns false if the cursor at this depth is at its end. */
  private extendTrail(run: ExecutionContext): boolean {
    const { depth, cycle, nodes } = this
    const { repetition, repeatable } = this.options
    const cursor = this.cursorAt(depth)
    const { predicate } = cycle[depth % cycle.length]!
    while (cursor.advance(run)) {
      const { relationship, neighbour } = cursor
      if (repeatable !== true) {
        run.budget.chargeSteps(depth >> 4)
        if (this.inTrail(relationship)) continue
        const { distinctFrom } = this.slots
        if (distinctFrom.length > 0 && isRelationshipUsed(run, distinctFrom, relationship)) continue
      }
      if (predicate && !satisfiesHop(run, predicate, nodes[depth]!, relationship, neighbour)) continue
      this.trail[depth] = relationship
      nodes[depth + 1] = neighbour
      if (repetition && (depth + 1) % cycle.length === 0) {
        if (!holdsRepetition(run, repetition, nodes, this.trail, depth + 1 - cycle.length)) continue
      }
      this.depth += 1
      if (this.depth < this.max) this.cursorAt(this.depth).start(neighbour)
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
      cursor = new NeighbourCursor(this.cycle[depth % this.cycle.length]!.traversal)
      this.cursors[depth] = cursor
    }
    return cursor
  }
}
