// MakePath: the value of a named path, from the elements that its pattern matched.
import { NodeValue, PathValue, RelationshipValue } from '../value/value.ts'
import type { ExecutionContext } from './execution-context.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** The slots of a named path: `nodes.length === steps.length + 1`. `variable`: the slot holds a list of relationships. */
export interface PathSlots {
  readonly path: number
  readonly nodes: readonly number[]
  readonly steps: readonly { readonly slot: number; readonly variable: boolean }[]
}

/** Fills the slot of a path; null if an element of the path is null. */
export class MakePathOperator extends UnaryOperator {
  private readonly slots: PathSlots
  private readonly graph: number

  constructor(input: PhysicalOperator, slots: PathSlots, graph: number) {
    super(input)
    this.slots = slots
    this.graph = graph
  }

  next(run: ExecutionContext): boolean {
    if (!this.input.next(run)) return false
    run.frame[this.slots.path] = this.path(run)
    return true
  }

  private path(run: ExecutionContext): PathValue | null {
    const { frame } = run
    const { graph } = this
    const snapshot = run.graphs[graph]!
    let node = frame[this.slots.nodes[0]!] as number
    if (node === 0) return null
    const nodes = [new NodeValue(graph, node)]
    const relationships: RelationshipValue[] = []
    for (const { slot, variable } of this.slots.steps) {
      const ids = variable ? (frame[slot] as number[] | null) : [frame[slot] as number]
      if (ids === null) return null
      run.budget.chargeSteps(ids.length)
      for (const id of ids) {
        if (id === 0) return null
        const source = snapshot.relationshipSource(id)
        node = source === node ? snapshot.relationshipTarget(id) : source
        relationships.push(new RelationshipValue(graph, id))
        nodes.push(new NodeValue(graph, node))
      }
    }
    return new PathValue(nodes, relationships)
  }
}
