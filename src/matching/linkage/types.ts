// The types of record linkage: what a caller supplies, and what a run returns. Pure: no store, no HTTP.
// docs/explanation/entity-matching.md describes the method.

/** How the values of a property are compared. */
export const valueKinds = [
  'name',
  'text',
  'email',
  'phone',
  'date',
  'number',
  'address',
  'code',
  'exact',
  'tokens',
] as const

/** How the values of a property are compared. `code`: an identifier that may contain typing errors; `exact`: no errors. */
export type ValueKind = (typeof valueKinds)[number]

/** An item of a property value. */
export type LinkageScalar = string | number | bigint | boolean

/** The value of a property. */
export type LinkageValue = LinkageScalar | readonly LinkageScalar[]

/** The values of one node in the order of the mappings; null: the node does not have the property. */
export type LinkageValues = readonly (LinkageValue | null)[]

/** One property of the source type that is compared with one property of the target type. */
export interface LinkageMapping {
  readonly sourceProperty: string
  readonly targetProperty: string
  /** Null or absent: detected from the values. */
  readonly kind?: ValueKind | null
  /** From 0 to 1: values that are less similar count as different. Default 0. */
  readonly cutoff?: number
}

/** Why a mapping is suggested: each part from 0 to 1. */
export interface MappingReason {
  /** Similarity of the names. */
  readonly names: number
  /** Overlap of the normalised values of the samples. */
  readonly values: number
  /** Similarity of the form of the values: kind, length, characters. */
  readonly form: number
}

/** A mapping suggested from samples. */
export interface SuggestedMapping extends LinkageMapping {
  readonly kind: ValueKind
  /** From 0 to 1. */
  readonly score: number
  readonly reason: MappingReason
}

/** A sample of the nodes of a type. */
export interface PropertySamples {
  /** Number of nodes in the sample. */
  readonly nodes: number
  /** The values by property, of those nodes in the sample that have it. */
  readonly properties: ReadonlyMap<string, readonly LinkageValue[]>
}

/** Whether a node may have several counterparts. `auto`: decided from the scores, for each side. */
export type Cardinality = 'auto' | 'one-to-one' | 'many-to-many'

/** The options of a linkage. */
export interface LinkageOptions {
  /** The same seed, mappings and nodes give the same result. */
  readonly seed: number
  /** From 0 to 1: pairs with a lower score are not matches. */
  readonly cutoff: number
  /** True: finds duplicates within one type; nodes are added with `addSource` only. */
  readonly isSameType: boolean
  /** Default `auto`. Without effect if `isSameType`. */
  readonly cardinality?: Cardinality
}

/** Pairs that a person has decided. Each pair is a source node and a target node; in one type the order does not matter. */
export interface DecidedPairs {
  readonly same: readonly (readonly [source: number, target: number])[]
  readonly different: readonly (readonly [source: number, target: number])[]
}

/** The progress of a run. */
export interface LinkageProgress {
  readonly phase: 'prepare' | 'block' | 'train' | 'compare' | 'assign'
  /** Share of the whole run that is done, from 0 to 1. */
  readonly done: number
  /** Pairs compared so far. */
  readonly comparedPairs: number
}

/** The contribution of one mapping to the score of a pair. */
export interface PropertyEvidence {
  /** Index of the mapping. */
  readonly mapping: number
  /** From 0 to 1; null if one of the nodes does not have the property. */
  readonly similarity: number | null
  /** In bits: positive is evidence for a match, negative against it. */
  readonly weight: number
  /** The mapping whose values are exchanged with those of this mapping, as given name and surname. */
  readonly exchangedWith?: number
}

/** Two nodes that are the same entity. */
export interface EntityMatch {
  readonly source: number
  readonly target: number
  /** Probability from 0 to 1. A pair that a person declared the same has 1. */
  readonly score: number
  /** True: a person declared the pair the same. */
  readonly isDecided: boolean
  readonly properties: readonly PropertyEvidence[]
}

/** The matches of a run, in ascending order of source and target. Evidence is computed when a match is read. */
export interface MatchList extends Iterable<EntityMatch> {
  readonly length: number
  /** The match at an index below `length`. */
  at(index: number): EntityMatch
}

/** Why a match needs a review. */
export type ConflictReason =
  /** Another pair of the same node with a higher score was selected: the pair is not a match. */
  | 'assigned_elsewhere'
  /** Persons declared two nodes of the same transitive group different. */
  | 'decided_different'
  /** Persons declared a node the same as several nodes of the other type, where one is allowed. */
  | 'decided_twice'

/** A result lists at most this many conflicts. */
export const MAX_CONFLICTS = 10_000

/** A pair that contradicts the selected matches. */
export interface MatchConflict {
  readonly source: number
  readonly target: number
  readonly score: number
  readonly reason: ConflictReason
}

/** A transitive group of matches. */
export interface MatchGroup {
  /** Ascending. In one type `targets` is empty. */
  readonly sources: readonly number[]
  readonly targets: readonly number[]
}

/** One level of similarity of a mapping, as estimated. */
interface LevelEstimate {
  readonly label: string
  /** Lowest similarity of the level. */
  readonly similarity: number
  /** Probability of the level among pairs of the same entity. */
  readonly m: number
  /** Probability of the level among pairs of different entities. */
  readonly u: number
}

/** The estimates of one mapping. */
export interface MappingEstimate {
  readonly kind: ValueKind
  /** How many other nodes have a value that was seen on no other node, on average: from 0.02 to 0.5. */
  readonly unseen: number
  /** From the highest similarity to the lowest. */
  readonly levels: readonly LevelEstimate[]
}

/** The result of a run. */
export interface LinkageResult {
  readonly matches: MatchList
  /** Groups of at least three nodes; two nodes are a match. */
  readonly groups: readonly MatchGroup[]
  /** At most MAX_CONFLICTS, those with the highest scores. */
  readonly conflicts: readonly MatchConflict[]
  readonly conflictCount: number
  readonly mappings: readonly MappingEstimate[]
  /** Estimated share of the matches among all pairs. */
  readonly prior: number
  readonly comparedPairs: number
  readonly isOneToOne: { readonly source: boolean; readonly target: boolean }
}
