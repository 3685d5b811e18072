// The state of one execution of a plan. Operators and compiled expressions read nothing else.
import type { BoundDerived } from '../bind/bound.ts'
import type { NodeId, Snapshot } from '../store.ts'
import type { ExpressionContext } from '../value/expression-context.ts'
import type { Value } from '../value/value.ts'
import type { OrderedNodeSet } from './node-set.ts'

/** The state of one execution. A compiled plan has one context and runs one execution at a time; it never calls itself. */
export interface ExecutionContext extends ExpressionContext {
  /** The current row, by slot index; see SlotKind for the representation of each kind. */
  readonly frame: unknown[]
  parameters: ReadonlyMap<string, Value>
  readonly graphs: Snapshot[]
  /** A resumable search starts after this node; 0: it starts with the first node. */
  resumeAfter: NodeId
  /** Set by operators that find rows one by one: the consumer may stop early and save the rest of the work. */
  isIncremental: boolean
  /** Name of a property that an external resolver supplies and that this execution read as unknown; null if none. */
  unknownProperty: string | null
  /** Null: the plan has no step over a definition with a table. */
  derived: DerivedPairs | null
}

/** The pairs of definitions that are known in one execution. Throws ExecutionError and LaneRequiredError as operators do. */
export interface DerivedPairs {
  /** Whether the nodes are a pair of the definition of the step. */
  holds(step: BoundDerived, run: ExecutionContext, graph: number, source: NodeId, target: NodeId): boolean
  /**
   * The nodes that the definition of the step pairs with a node: `out` if the node is the source. The set may grow while it is
   * read; what it has at the call is enough.
   */
  nodes(step: BoundDerived, run: ExecutionContext, graph: number, direction: 'out' | 'in', node: NodeId): OrderedNodeSet
}

/** Evaluates a bound expression for the current row. Throws ExecutionError. */
export type CompiledExpression = (run: ExecutionContext) => Value
