// The logical operators: plain records that say what is to be done, never how. A plan carries no values and no symbol
// ids, so it holds for every graph and every run.
// A new operator breaks the build in exactly four places: build-plan, explain, optimize (rewrite.ts) and exec/compile.
import type { BoundAggregate, BoundExpression, BoundRelationship, BoundSort, Slot } from '../bind/bound.ts'

/** As walked: from `from` to `to`, along (`out`), against (`in`) or regardless of (`both`) the arrow. */
export type WalkDirection = 'out' | 'in' | 'both'

interface ExpandStep {
  readonly input: Plan
  readonly from: Slot
  readonly to: Slot
  readonly relationship: Slot
  readonly direction: WalkDirection
  /** Empty: any type. */
  readonly types: readonly string[]
  /** Slots of relationships of the same MATCH that this one must differ from (relationship uniqueness). */
  readonly differs: readonly Slot[]
}

/** One row: the slots that the caller (or the outer row of an apply) has filled in. */
export type ArgumentPlan = { readonly op: 'argument'; readonly slots: readonly Slot[] }
/** For each input row, the node with that type and external id, if there is one. */
export type NodeUniqueIndexSeekPlan = {
  readonly op: 'node-by-key'
  readonly input: Plan
  readonly slot: Slot
  readonly label: string
  readonly externalId: BoundExpression
}
/** For each input row, candidates from the equality index; the equality is checked again above. */
export type NodeIndexSeekPlan = {
  readonly op: 'node-by-property'
  readonly input: Plan
  readonly slot: Slot
  readonly label: string
  readonly property: string
  readonly value: BoundExpression
  /** Else what the index leaves out is to be looked at where a resolver may supply it: the predicate then faults. */
  readonly mayBeUnknown: boolean
} & ResumableScan
/** For each input row, every node that carries the label. */
export type NodeByLabelScanPlan = {
  readonly op: 'label-scan'
  readonly input: Plan
  readonly slot: Slot
  readonly label: string
} & ResumableScan
/** For each input row, every node. */
export type AllNodesScanPlan = { readonly op: 'all-nodes'; readonly input: Plan; readonly slot: Slot } & ResumableScan
/** Of a scan that finds what the question seeks: it begins behind the node from which the run is to go on. */
interface ResumableScan {
  readonly goesOn?: true
}
/** For each input row, the relationships of `from` and the nodes at their other ends. */
export type ExpandAllPlan = ExpandStep & { readonly op: 'expand' }
/** For each input row, the relationships between two known nodes. */
export type ExpandIntoPlan = ExpandStep & { readonly op: 'expand-into' }
/**
 * For each input row, every trail (no relationship twice) of `min` to `max` steps; `relationship` is of kind
 * `relationships`. With `into` the far end is known already.
 */
export type VarLengthExpandPlan = ExpandStep & {
  readonly op: 'var-expand'
  readonly min: number
  readonly max: number | null
  readonly into: boolean
  /** Walked against the text: the list of relationships is turned round to stand as written. */
  readonly backwards: boolean
  readonly each: BoundRelationship['each']
}
/**
 * For each input row, every node that can be reached in `min` (0 or 1) to `max` steps, once each. Stands for a
 * var-expand whose trails nobody looks at and whose duplicates nobody counts.
 */
export type PruningVarExpandPlan = Omit<ExpandStep, 'relationship' | 'differs'> & {
  readonly op: 'reach'
  readonly min: number
  readonly max: number | null
  readonly into: boolean
  readonly each: BoundRelationship['each']
}
/** A part of a chain: one hop, or what a reach may do. */
export type ChainLink = Pick<PruningVarExpandPlan, 'direction' | 'types' | 'min' | 'max' | 'each'>
interface ExpandChain {
  readonly input: Plan
  readonly from: Slot
  readonly to: Slot
  /** As walked from `from` to `to`. */
  readonly links: readonly ChainLink[]
  /** The nodes between the links, each with what must be true of it alone. */
  readonly stops: readonly { readonly slot: Slot; readonly predicates: readonly BoundExpression[] }[]
}
/**
 * One row for every node that one hop leads to from the `from` of any input row: once each, ascending, and only those behind
 * the node from which the run is to go on. What else the input rows held is lost.
 */
export type OrderedExpandPlan = Omit<ExpandStep, 'relationship' | 'differs'> & { readonly op: 'ascend' }
/**
 * Keeps the rows in which a chain leads from one known node to the other. Stands for walks between them of which nobody
 * sees what lies between, nor how many there are.
 */
export type BidirectionalExpandIntoPlan = ExpandChain & { readonly op: 'connect' }
/** For each input row, every node to which a chain leads, once each. */
export type PruningExpandPlan = ExpandChain & { readonly op: 'spread' }
/** The relationship is known: its ends become known, or are compared where they are known already. */
export type ProjectEndpointsPlan = {
  readonly op: 'relationship-ends'
  readonly input: Plan
  readonly relationship: Slot
  readonly from: { readonly slot: Slot; readonly known: boolean }
  readonly to: { readonly slot: Slot; readonly known: boolean }
  readonly direction: WalkDirection
  readonly types: readonly string[]
  readonly differs: readonly Slot[]
}
/** The relationships of a trail are known: they must follow each other, and the ends of the trail become known. */
export type ProjectVarLengthEndpointsPlan = Omit<ProjectEndpointsPlan, 'op'> & {
  readonly op: 'trail-ends'
  readonly min: number
  readonly max: number | null
}
/** For each input row with two known nodes, one shortest way between them, or all that are as short. */
export type ShortestPathPlan = ExpandStep & {
  readonly op: 'shortest-path'
  readonly min: number
  readonly max: number | null
  readonly each: BoundRelationship['each']
  readonly all: boolean
}
/** Computed values become elements. */
export type CastPlan = {
  readonly op: 'cast'
  readonly input: Plan
  readonly casts: readonly { readonly from: Slot; readonly to: Slot }[]
}
/** Keeps the rows for which every predicate is true. */
export type FilterPlan = {
  readonly op: 'filter'
  readonly input: Plan
  readonly predicates: readonly BoundExpression[]
}
/** Keeps the rows for which `inner`, run with the row as its argument, has a row (negated: has none). */
export type SemiApplyPlan = {
  readonly op: 'semi-apply'
  readonly input: Plan
  readonly inner: Plan
  readonly negated: boolean
}
/** The rows of `inner` run with each input row as argument; one row with `nulls` null where there is none. */
export type OptionalPlan = {
  readonly op: 'optional'
  readonly input: Plan
  readonly inner: Plan
  readonly nulls: readonly Slot[]
}
/** The rows of `inner` run with each input row as argument. */
export type ApplyPlan = { readonly op: 'apply'; readonly input: Plan; readonly inner: Plan }
/** The rows of one branch after the other; every branch fills in the same slots. */
export type UnionPlan = { readonly op: 'union'; readonly branches: readonly Plan[] }
/** One row per item of the list; none for null. */
export type UnwindPlan = {
  readonly op: 'unwind'
  readonly input: Plan
  readonly list: BoundExpression
  readonly slot: Slot
}
/** Makes the value of a named path. */
export type MakePathPlan = {
  readonly op: 'make-path'
  readonly input: Plan
  readonly slot: Slot
  readonly nodes: readonly Slot[]
  readonly relationships: readonly Slot[]
}
/** Computes columns. */
export type ProjectionPlan = {
  readonly op: 'project'
  readonly input: Plan
  readonly items: readonly { readonly slot: Slot; readonly expression: BoundExpression }[]
}
/** One row per group; without keys one row, even from none. */
export type EagerAggregationPlan = {
  readonly op: 'aggregate'
  readonly input: Plan
  readonly grouping: readonly { readonly slot: Slot; readonly expression: BoundExpression }[]
  readonly aggregates: readonly BoundAggregate[]
}
/** The first row of each combination of the slots. */
export type DistinctPlan = {
  readonly op: 'distinct'
  readonly input: Plan
  readonly slots: readonly Slot[]
  /** Only ever at the root of a search: it gives the nodes that are sought, and in what order. */
  readonly searchOrder?: 'in any order' | 'ascending'
}
/** All rows in order; with `limit` only the first of them are kept while sorting. `slots` are what survives. */
export type SortPlan = {
  readonly op: 'sort'
  readonly input: Plan
  readonly by: readonly BoundSort[]
  readonly slots: readonly Slot[]
  readonly skip: BoundExpression | null
  readonly limit: BoundExpression | null
}
export type SkipPlan = { readonly op: 'skip'; readonly input: Plan; readonly count: BoundExpression }
export type LimitPlan = { readonly op: 'limit'; readonly input: Plan; readonly count: BoundExpression }
/** At most one row: whether there is any. Only ever the root of a check. */
export type FirstPlan = { readonly op: 'first'; readonly input: Plan }

export type Plan =
  | ArgumentPlan
  | NodeUniqueIndexSeekPlan
  | NodeIndexSeekPlan
  | NodeByLabelScanPlan
  | AllNodesScanPlan
  | ExpandAllPlan
  | ExpandIntoPlan
  | VarLengthExpandPlan
  | PruningVarExpandPlan
  | BidirectionalExpandIntoPlan
  | PruningExpandPlan
  | OrderedExpandPlan
  | ProjectEndpointsPlan
  | ProjectVarLengthEndpointsPlan
  | ShortestPathPlan
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
