// GroupVariables: the list variables of a quantified path pattern, from the relationships of its trail.
import type { NodeId, RelationshipId } from '../store.ts'
import type { ExecutionContext } from './execution-context.ts'
import { type CompiledGroup, fillGroups } from './path-values.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** The slots of a trail and of its list variables. */
interface GroupVariablesSpec {
  readonly graph: number
  /** The slot of the node on the left of the pattern. */
  readonly start: number
  readonly relationship: number
  /** The number of hops of one repetition. */
  readonly hops: number
  readonly groups: readonly CompiledGroup[]
}

/** Fills the list variables of each row. */
export class GroupVariablesOperator extends UnaryOperator {
  private readonly spec: GroupVariablesSpec

  constructor(input: PhysicalOperator, spec: GroupVariablesSpec) {
    super(input)
    this.spec = spec
  }

  next(run: ExecutionContext): boolean {
    if (!this.input.next(run)) return false
    const { graph, start, relationship, hops, groups } = this.spec
    fillGroups(run, graph, groups, run.frame[start] as NodeId, run.frame[relationship] as RelationshipId[], hops)
    return true
  }
}
