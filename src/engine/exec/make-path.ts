// MakePath: the value of a named path, from the elements that its pattern matched.
import type { NodeId, RelationshipId } from '../store.ts'
import type { PathValue } from '../value/value.ts'
import type { ExecutionContext } from './execution-context.ts'
import { PathBuilder } from './path-values.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** The slots of a named path: `nodes.length === steps.length + 1`. `variable`: the slot holds a list of relationships. */
interface PathSlots {
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
    const first = frame[this.slots.nodes[0]!] as NodeId
    if (first === 0) return null
    const path = new PathBuilder(run, this.graph, first)
    for (const { slot, variable } of this.slots.steps) {
      const ids = variable ? (frame[slot] as RelationshipId[] | null) : [frame[slot] as RelationshipId]
      if (ids === null || ids.includes(0)) return null
      path.append(ids)
    }
    return path.value()
  }
}
