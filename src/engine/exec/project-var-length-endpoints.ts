// ProjectEndpoints for a variable-length step: the nodes at the ends of a known list of relationships.
import { createChunk, type NodeId, type Snapshot } from '../store.ts'
import type { ExecutionContext } from './execution-context.ts'
import { isRelationshipUsed } from './expand-slots.ts'
import type { TraversalSpec } from './neighbour-cursor.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'
import type { ProjectEndpointsSlots } from './project-endpoints.ts'

/** One row per node from which the relationships, in their order, form a trail of the step. */
export class ProjectVarLengthEndpointsOperator extends UnaryOperator {
  private readonly slots: ProjectEndpointsSlots
  private readonly traversal: TraversalSpec
  private readonly length: { readonly min: number; readonly max: number | null }
  /** Start nodes of the current row that have not been tried yet. */
  private starts: NodeId[] = []

  constructor(
    input: PhysicalOperator,
    slots: ProjectEndpointsSlots,
    traversal: TraversalSpec,
    length: { readonly min: number; readonly max: number | null },
  ) {
    super(input)
    this.slots = slots
    this.traversal = traversal
    this.length = length
  }

  override open(run: ExecutionContext): void {
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
        // Filled before the comparison: both ends may be the same variable.
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

  /** A trail without relationships starts and ends at the same node, which may be any node. */
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

  /** Returns the end node; 0 if the relationships form no trail from `start`. */
  private follow(run: ExecutionContext, trail: readonly number[], start: NodeId): NodeId {
    const snapshot = run.graphs[this.traversal.graph]!
    let node = start
    for (const id of trail) {
      run.budget.chargeSteps(1)
      node = this.otherEnd(snapshot, id, node)
    }
    return node
  }

  private otherEnd(snapshot: Snapshot, id: number, node: NodeId): NodeId {
    const { direction } = this.traversal
    if (direction !== 'in' && snapshot.relationshipSource(id) === node) return snapshot.relationshipTarget(id)
    if (direction !== 'out' && snapshot.relationshipTarget(id) === node) return snapshot.relationshipSource(id)
    return 0
  }
}
