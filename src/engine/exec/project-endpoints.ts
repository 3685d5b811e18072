// The relationship of a step is known: which nodes stand at its ends, or at the ends of a known trail.
import { createChunk, type NodeId, type Snapshot } from '../store.ts'
import type { ExecutionContext } from './execution-context.ts'
import { isRelationshipUsed } from './expand.ts'
import { directionsToRead, type TraversalSpec } from './neighbour-cursor.ts'
import type { PhysicalOperator } from './physical-operator.ts'

/** Frame indexes of a step whose relationship is known; an end that is known is compared, another is filled in. */
export interface ProjectEndpointsSlots {
  readonly relationship: number
  readonly from: { readonly slot: number; readonly known: boolean }
  readonly to: { readonly slot: number; readonly known: boolean }
  readonly distinctFrom: readonly number[]
}

export class ProjectEndpointsOperator implements PhysicalOperator {
  private readonly input: PhysicalOperator
  private readonly slots: ProjectEndpointsSlots
  private readonly traversal: TraversalSpec
  private readonly directions: readonly ('out' | 'in')[]
  private directionAt = 0

  constructor(input: PhysicalOperator, slots: ProjectEndpointsSlots, walkable: TraversalSpec) {
    this.input = input
    this.slots = slots
    this.traversal = walkable
    this.directions = directionsToRead(walkable.direction)
  }

  open(run: ExecutionContext): void {
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

/** A known list of relationships, followed in its order from one end to the other. */
export class ProjectVarLengthEndpointsOperator implements PhysicalOperator {
  private readonly input: PhysicalOperator
  private readonly slots: ProjectEndpointsSlots
  private readonly traversal: TraversalSpec
  private readonly length: { readonly min: number; readonly max: number | null }
  /** Nodes from which the trail of the present row may still be followed. */
  private starts: NodeId[] = []

  constructor(
    input: PhysicalOperator,
    slots: ProjectEndpointsSlots,
    walkable: TraversalSpec,
    length: { readonly min: number; readonly max: number | null },
  ) {
    this.input = input
    this.slots = slots
    this.traversal = walkable
    this.length = length
  }

  open(run: ExecutionContext): void {
    this.input.open(run)
    this.starts = []
  }

  next(run: ExecutionContext): boolean {
    const { frame } = run
    const { from, to, relationship } = this.slots
    for (;;) {
      for (let start = this.starts.pop(); start !== undefined; start = this.starts.pop()) {
        const end = this.follow(run, frame[relationship] as number[], start)
        if (end === 0) continue
        // Before it is compared: both ends may be one and the same variable.
        frame[from.slot] = start
        if (to.known && frame[to.slot] !== end) continue
        frame[to.slot] = end
        return true
      }
      if (!this.input.next(run)) return false
      const trail = frame[relationship] as number[] | null
      if (trail !== null && this.admits(run, trail)) this.starts = this.possibleStarts(run, trail)
    }
  }

  private admits(run: ExecutionContext, trail: readonly number[]): boolean {
    const { min, max } = this.length
    if (trail.length < min || (max !== null && trail.length > max)) return false
    const { types, graph } = this.traversal
    const seen = new Set<number>()
    return trail.every((id) => {
      run.budget.chargeSteps(1)
      if (types && !types.includes(run.graphs[graph]!.relationshipType(id))) return false
      if (seen.has(id) || isRelationshipUsed(run, this.slots.distinctFrom, id)) return false
      seen.add(id)
      return true
    })
  }

  private possibleStarts(run: ExecutionContext, trail: readonly number[]): NodeId[] {
    const { from } = this.slots
    if (from.known) return [run.frame[from.slot] as NodeId].filter((node) => node !== 0)
    const first = trail[0]
    const snapshot = run.graphs[this.traversal.graph]!
    if (first === undefined) return this.startsOfEmptyTrail(run, snapshot)
    const { direction } = this.traversal
    const ends = new Set<NodeId>()
    if (direction !== 'in') ends.add(snapshot.relationshipSource(first))
    if (direction !== 'out') ends.add(snapshot.relationshipTarget(first))
    return [...ends]
  }

  /** A trail without relationships begins where it ends, and that may be at any node. */
  private startsOfEmptyTrail(run: ExecutionContext, snapshot: Snapshot): NodeId[] {
    const { from, to } = this.slots
    if (to.known && to.slot !== from.slot) return [run.frame[to.slot] as NodeId].filter((node) => node !== 0)
    const nodes: NodeId[] = []
    const chunk = createChunk()
    do {
      snapshot.allNodes(chunk.next, chunk)
      run.budget.chargeSteps(chunk.length)
      for (let i = 0; i < chunk.length; i++) nodes.push(chunk.ids[i]!)
    } while (chunk.more)
    return nodes
  }

  /** The far end; 0 where the trail cannot be followed that way. */
  private follow(run: ExecutionContext, trail: readonly number[], start: NodeId): NodeId {
    const snapshot = run.graphs[this.traversal.graph]!
    let at = start
    for (const id of trail) {
      run.budget.chargeSteps(1)
      at = this.otherEnd(snapshot, id, at)
    }
    return at
  }

  private otherEnd(snapshot: Snapshot, id: number, at: NodeId): NodeId {
    const { direction } = this.traversal
    if (direction !== 'in' && snapshot.relationshipSource(id) === at) return snapshot.relationshipTarget(id)
    if (direction !== 'out' && snapshot.relationshipTarget(id) === at) return snapshot.relationshipSource(id)
    return 0
  }
}
