// The logical operators of a plan. Each is a plain record that describes what to do, not how to do it. A plan holds no
// values and no symbol ids, so one plan serves every graph and every run. The properties of an operator that the planner uses
// are in its descriptor (operator-descriptors.ts). Names follow the execution plans of Neo4j where Neo4j has the operator.
import type {
  BoundAggregate,
  BoundDerived,
  BoundExpression,
  BoundGroup,
  BoundSelection,
  BoundSort,
  Slot,
} from '../bind/bound.ts'

/** Direction of an expansion from `from` to `to`: along the arrow (`out`), against it (`in`), or either way (`both`). */
export type WalkDirection = 'out' | 'in' | 'both'

/** The direction of the same expansion from its other end. */
export function reverseDirection(direction: WalkDirection): WalkDirection {
  return direction === 'out' ? 'in' : direction === 'in' ? 'out' : 'both'
}

interface ExpandStep {
  readonly input: Plan
  readonly from: Slot
  readonly to: Slot
  readonly relationship: Slot
  readonly direction: WalkDirection
  /** Relationship types; empty means any type. */
  readonly types: readonly string[]
  /** Relationships of the same MATCH that this one must not equal (relationship uniqueness). */
  readonly distinctFrom: readonly Slot[]
}

/** One row: the slots that the caller, or the outer row of an Apply, has filled. */
type ArgumentPlan = { readonly op: 'Argument'; readonly slots: readonly Slot[] }

/** For each input row, the node with that label and external id, if it exists. */
type NodeUniqueIndexSeekPlan = {
  readonly op: 'NodeUniqueIndexSeek'
  readonly input: Plan
  readonly slot: Slot
  readonly label: string
  readonly externalId: BoundExpression
}

/** For each input row, candidates from the property index. A filter above tests the equality again. */
type NodeIndexSeekPlan = {
  readonly op: 'NodeIndexSeek'
  readonly input: Plan
  readonly slot: Slot
  readonly label: string
  readonly property: string
  readonly value: BoundExpression
  /**
   * Whether the predicate treats a property that an external resolver supplies as unknown. If false and the graph has such
   * properties, the operator scans the label instead, so that the predicate raises its error.
   */
  readonly mayBeUnknown: boolean
} & ResumableScan

/** For each input row, every node with the label. */
type NodeByLabelScanPlan = {
  readonly op: 'NodeByLabelScan'
  readonly input: Plan
  readonly slot: Slot
  readonly label: string
} & ResumableScan

/** For each input row, every node. */
type AllNodesScanPlan = { readonly op: 'AllNodesScan'; readonly input: Plan; readonly slot: Slot } & ResumableScan

/** A scan that produces the nodes of a search. If the flag is set, the scan starts after the node id of the page cursor. */
interface ResumableScan {
  readonly startsAfterCursor?: true
}

/** For each input row, the relationships of `from` and the nodes at their other ends. */
type ExpandAllPlan = ExpandStep & { readonly op: 'ExpandAll' }

/** For each input row, the relationships between two known nodes. */
type ExpandIntoPlan = ExpandStep & { readonly op: 'ExpandInto' }

/** The predicate on one hop of a repeated step: it reads the relationship, and the nodes at the ends of the hop if set. */
export interface HopTest {
  readonly element: Slot
  /** The node from which the hop is taken. */
  readonly near: Slot | null
  /** The node to which the hop leads. */
  readonly far: Slot | null
  readonly predicate: BoundExpression
}

/** One hop of a repeated step, in the direction of the expansion. */
export interface PlannedHop {
  readonly direction: WalkDirection
  readonly types: readonly string[]
  readonly each: HopTest | null
}

/** The predicates on a whole repetition of several hops, and the slots that they read, in the direction of the expansion. */
export interface RepetitionTest {
  readonly nodes: readonly Slot[]
  readonly relationships: readonly Slot[]
  readonly predicates: readonly BoundExpression[]
}

/** A step that repeats one hop, or several: `further` are the hops of one repetition after the first. */
interface RepeatedStep {
  readonly min: number
  readonly max: number | null
  readonly each: HopTest | null
  readonly further: readonly PlannedHop[]
}

/**
 * For each input row, every trail (a walk that repeats no relationship) of `min` to `max` repetitions. `relationship` is of
 * kind `relationships`. With `into` the far end is known before.
 */
type VarLengthExpandPlan = ExpandStep &
  RepeatedStep & {
    readonly op: 'VarLengthExpand'
    readonly into: boolean
    /** The expansion runs against the text, so the list of relationships is reversed to read as written. */
    readonly backwards: boolean
    /** Null if each predicate reads the elements of one hop. */
    readonly repetition: RepetitionTest | null
    /** Every walk instead of every trail: REPEATABLE ELEMENTS. */
    readonly repeatable: boolean
  }

/** One part of a chain: a single hop, or a repeated step of which only the reached nodes matter: `min` is 0 or 1. */
export type ChainLink = RepeatedStep & Pick<ExpandStep, 'direction' | 'types'>

interface ExpandChain {
  readonly input: Plan
  readonly from: Slot
  readonly to: Slot
  /** In the order from `from` to `to`. */
  readonly links: readonly ChainLink[]
  /** The nodes between the links, each with the predicates that read only this node. */
  readonly intermediates: readonly { readonly slot: Slot; readonly predicates: readonly BoundExpression[] }[]
}

/**
 * One row for each node that one hop reaches from the `from` of any input row: each node once, ascending by id, and only
 * nodes after the page cursor. The other slots of the input rows are lost.
 */
type OrderedExpandPlan = Omit<ExpandStep, 'relationship' | 'distinctFrom'> & { readonly op: 'OrderedExpand' }

/**
 * Keeps the rows in which a chain connects two known nodes, by a search from both ends. Replaces expansions between them, or
 * one repeated step, if nothing above reads what lies on the way or counts the ways.
 */
type BidirectionalExpandIntoPlan = ExpandChain & { readonly op: 'BidirectionalExpandInto' }

/** For each input row, every node at the end of a chain, once each: a breadth-first search. Replaces expansions likewise. */
type PruningExpandPlan = ExpandChain & { readonly op: 'PruningExpand' }

/**
 * For each input row, the nodes that a definition pairs with `from`, each once; with `into`, the row if `from` and `to` are a
 * pair. The pairs are kept in a table of the run. `direction`: `out` if `from` is the source of the definition.
 */
type DerivedExpandPlan = {
  readonly op: 'DerivedExpand'
  readonly input: Plan
  readonly from: Slot
  readonly to: Slot
  readonly into: boolean
  readonly name: string
  readonly direction: 'out' | 'in'
  /** The step of the pattern. */
  readonly derived: BoundDerived
}

/** The relationship is known. Fills its end nodes, or compares them with nodes that are known before. */
type ProjectEndpointsPlan = {
  readonly op: 'ProjectEndpoints'
  readonly input: Plan
  readonly relationship: Slot
  readonly from: { readonly slot: Slot; readonly known: boolean }
  readonly to: { readonly slot: Slot; readonly known: boolean }
  readonly direction: WalkDirection
  readonly types: readonly string[]
  readonly distinctFrom: readonly Slot[]
}

/** The relationships of a trail are known. Tests that each continues the one before, and fills or compares the end nodes. */
type ProjectVarLengthEndpointsPlan = Omit<ProjectEndpointsPlan, 'op'> & {
  readonly op: 'ProjectVarLengthEndpoints'
  readonly min: number
  readonly max: number | null
}

/** One step of a path with a selector, from left to right. */
export interface SelectedStep extends PlannedHop {
  /** The relationship, or the list of relationships if the step repeats. */
  readonly slot: Slot
  /** Null for a single hop. */
  readonly range: { readonly min: number; readonly max: number | null } | null
  readonly further: readonly PlannedHop[]
  readonly repetition: RepetitionTest | null
  readonly groups: readonly BoundGroup[]
}

/**
 * For each input row, the paths from `from` to `to` that a selector keeps, by their length: some of the shortest, or all of
 * the shortest lengths.
 */
type ShortestPathPlan = Pick<BoundSelection, 'keep' | 'count' | 'predicates' | 'path'> & {
  readonly op: 'ShortestPath'
  /** The nodes of the path, from left to right, each with the predicates that read only this node. */
  readonly nodes: readonly { readonly slot: Slot; readonly predicates: readonly BoundExpression[] }[]
  readonly input: Plan
  readonly from: Slot
  readonly to: Slot
  /** Whether `to` is known before; otherwise it is every node that a path reaches. */
  readonly into: boolean
  /** The list of all relationships of the path. */
  readonly relationship: Slot
  readonly steps: readonly SelectedStep[]
  /** `from` is the right end of the path in the text. */
  readonly backwards: boolean
  /** Paths may repeat a relationship: REPEATABLE ELEMENTS. */
  readonly repeatable: boolean
}

/** Fills the list variables of a quantified path pattern from the relationships of its trail. */
type GroupVariablesPlan = {
  readonly op: 'GroupVariables'
  readonly input: Plan
  /** The node on the left of the pattern. */
  readonly start: Slot
  readonly relationship: Slot
  /** The number of hops of one repetition. */
  readonly hops: number
  readonly groups: readonly BoundGroup[]
}

/** Converts computed values to element ids. */
type CastPlan = {
  readonly op: 'Cast'
  readonly input: Plan
  readonly casts: readonly { readonly from: Slot; readonly to: Slot }[]
}

/** Keeps the rows for which every predicate is true. */
type FilterPlan = { readonly op: 'Filter'; readonly input: Plan; readonly predicates: readonly BoundExpression[] }

/** Keeps the rows for which `inner`, run with the row as its argument, returns a row (if negated: returns none). */
type SemiApplyPlan = {
  readonly op: 'SemiApply'
  readonly input: Plan
  readonly inner: Plan
  readonly negated: boolean
}

/** The rows of `inner`, run for each input row. An input row without any becomes one row in which `nulls` are null. */
type OptionalPlan = {
  readonly op: 'Optional'
  readonly input: Plan
  readonly inner: Plan
  readonly nulls: readonly Slot[]
}

/** The rows of `inner`, run for each input row. */
type ApplyPlan = { readonly op: 'Apply'; readonly input: Plan; readonly inner: Plan }

/** The rows of each branch in turn. Every branch fills the same slots. */
type UnionPlan = { readonly op: 'Union'; readonly branches: readonly Plan[] }

/** One row for each item of the list; no row for null. */
type UnwindPlan = {
  readonly op: 'Unwind'
  readonly input: Plan
  readonly list: BoundExpression
  readonly slot: Slot
}

/** Builds the value of a named path. */
type MakePathPlan = {
  readonly op: 'MakePath'
  readonly input: Plan
  readonly slot: Slot
  readonly nodes: readonly Slot[]
  readonly relationships: readonly Slot[]
}

/** Computes columns. */
type ProjectionPlan = {
  readonly op: 'Projection'
  readonly input: Plan
  readonly items: readonly { readonly slot: Slot; readonly expression: BoundExpression }[]
}

/** One row for each group. Without grouping keys: exactly one row, also for an empty input. */
type EagerAggregationPlan = {
  readonly op: 'EagerAggregation'
  readonly input: Plan
  readonly grouping: readonly { readonly slot: Slot; readonly expression: BoundExpression }[]
  readonly aggregates: readonly BoundAggregate[]
}

/** The first row of each combination of the slots. */
type DistinctPlan = {
  readonly op: 'Distinct'
  readonly input: Plan
  readonly slots: readonly Slot[]
  /** Set only at the root of a search: the rows are the nodes of the search, in any order or ascending by id. */
  readonly searchOrder?: 'any' | 'ascending'
}

/** All rows in order. `slots` survive the sort. With `limit`, the operator keeps only the first rows while it sorts. */
type SortPlan = {
  readonly op: 'Sort'
  readonly input: Plan
  readonly by: readonly BoundSort[]
  readonly slots: readonly Slot[]
  readonly skip: BoundExpression | null
  readonly limit: BoundExpression | null
}

type SkipPlan = { readonly op: 'Skip'; readonly input: Plan; readonly count: BoundExpression }

type LimitPlan = { readonly op: 'Limit'; readonly input: Plan; readonly count: BoundExpression }

/** At most one row: whether the input has any. Only at the root of a check or of a subquery that tests for existence. */
type FirstPlan = { readonly op: 'First'; readonly input: Plan }

/** A logical plan: the operator that produces its rows, with the plans that it reads from. */
export type Plan =
  | ArgumentPlan
  | NodeUniqueIndexSeekPlan
  | NodeIndexSeekPlan
  | NodeByLabelScanPlan
  | AllNodesScanPlan
  | ExpandAllPlan
  | ExpandIntoPlan
  | VarLengthExpandPlan
  | BidirectionalExpandIntoPlan
  | PruningExpandPlan
  | OrderedExpandPlan
  | DerivedExpandPlan
  | ProjectEndpointsPlan
  | ProjectVarLengthEndpointsPlan
  | ShortestPathPlan
  | GroupVariablesPlan
  | CastPlan
  | FilterPlan
  | SemiApplyPlan
  | OptionalPlan
  | ApplyPlan
  | UnionPlan
  | UnwindPlan
  | MakePathPlan
  | ProjectionPlan
  | EagerAggregationPlan
  | DistinctPlan
  | SortPlan
  | SkipPlan
  | LimitPlan
  | FirstPlan

/** The name of an operator. */
export type OperatorName = Plan['op']

/** The plan record of one operator, or of one of several. */
export type PlanOf<Op extends OperatorName> = Extract<Plan, { readonly op: Op }>
