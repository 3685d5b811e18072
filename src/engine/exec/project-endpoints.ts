// ProjectEndpoints: the nodes at the ends of a known relationship.
import type { ExecutionContext } from './execution-context.ts'
import { isRelationshipUsed } from './expand-slots.ts'
import { directionsToRead, type TraversalSpec } from './neighbour-cursor.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** The slots of a step whose relationship is known. A known end is compared; an unknown end is filled. */
export interface ProjectEndpointsSlots {
  readonly relationship: number
  readonly from: { readonly slot: number; readonly known: boolean }
  readonly to: { readonly slot: number; readonly known: boolean }
  readonly distinctFrom: readonly number[]
}

/** The relationship in each direction that fits the step, for each input row: at most two rows. */
export class ProjectEndpointsOperator extends UnaryOperator {
  private readonly slots: ProjectEndpointsSlots
  private readonly traversal: TraversalSpec
  private readonly directions: readonly ('out' | 'in')[]
  private directionAt = 0

  constructor(input: PhysicalOperator, slots: ProjectEndpointsSlots, traversal: TraversalSpec) {
    super(input)
    this.slots = slots
    this.traversal = traversal
    this.directions = directionsToRead(traversal.direction)
  }

  override open(run: ExecutionContext): void {
    this.input.open(run)
    this.directionAt = this.directions.length
  }

  next(run: ExecutionContext): boolean {
    for (;;) {
      while (this.directionAt < this.directions.length) {
        if (this.assignEndpoints(run, this.directions[this.directionAt++]!)) return true
      }
      if (!this.input.next(run)) return false
      run.budget.chargeSteps(1)
      const relationship = run.frame[this.slots.relationship] as number
      const admitted = relationship !== 0 && this.admits(run, relationship)
      this.directionAt = admitted ? 0 : this.directions.length
    }
  }

  private admits(run: ExecutionContext, relationship: number): boolean {
    const { types, graph } = this.traversal
    if (types && !types.includes(run.graphs[graph]!.relationshipType(relationship))) return false
    return !isRelationshipUsed(run, this.slots.distinctFrom, relationship)
  }

  private assignEndpoints(run: ExecutionContext, direction: 'out' | 'in'): boolean {
    const { frame } = run
    const { from, to, relationship } = this.slots
    const snapshot = run.graphs[this.traversal.graph]!
    const id = frame[relationship] as number
    const source = snapshot.relationshipSource(id)
    const target = snapshot.relationshipTarget(id)
    if (direction === 'in' && source === target && this.directions.length === 2) return false
    const first = direction === 'out' ? source : target
    const second = direction === 'out' ? target : source
    if (from.known && frame[from.slot] !== first) return false
    frame[from.slot] = first
    if (to.known && frame[to.slot] !== second) return false
    frame[to.slot] = second
    return true
  }
}
