// The bound forms: names have become slots, labels and keys are checked words, every parameter is known by name.
// Plain data; nothing here depends on a graph, so one bound query serves every graph and every run.
import type { BinaryOperator, ComparisonOperator, Span } from '../../../grammar/ast.ts'
import type { ElementField } from '../store.ts'
import type { StaticType } from '../value/static-type.ts'
import type { Value } from '../value/value.ts'

/**
 * How a slot of the frame holds its content:
 * - `node`, `relationship`: the id as a number, 0 for null;
 * - `relationships`: a list of relationship ids (a variable-length step), null for null;
 * - `path`: a PathValue or null;
 * - `value`: a Value.
 */
export type SlotKind = 'node' | 'relationship' | 'relationships' | 'path' | 'value'

/** A place in the frame. Each slot is written by one operator only, so a shared frame needs no copies. */
export interface Slot {
  readonly index: number
  /** For people (explain, faults); anonymous elements have names such as `anon_3`. */
  readonly name: string
  readonly kind: SlotKind
  /** Which graph of the execution the element belongs to; 0 where there is no USE. */
  readonly graph: number
  /** What is known of a value before there is one. */
  readonly type?: StaticType
}

export type BoundLabels =
  | { readonly kind: 'label'; readonly name: string }
  | { readonly kind: 'label-and'; readonly operands: readonly BoundLabels[] }
  | { readonly kind: 'label-or'; readonly operands: readonly BoundLabels[] }
  | { readonly kind: 'label-not'; readonly operand: BoundLabels }
  | { readonly kind: 'label-any' }

export type BoundExpression =
  | { readonly kind: 'constant'; readonly value: Value }
  /** `$name.path[0].path[1]…`; a name that was not given is a RunFault, a missing step of the path is null. */
  | { readonly kind: 'parameter'; readonly name: string; readonly path: readonly string[]; readonly span: Span }
  | { readonly kind: 'slot'; readonly slot: Slot }
  /**
   * Property of the node or relationship in a slot (ruling G4). `own` is set when the key names an own field:
   * it wins where the element has it, else the captured property is read.
   * `n.property.x` binds with `own: null`, `key: 'x'`.
   */
  | {
      readonly kind: 'element-property'
      readonly slot: Slot
      readonly key: string
      readonly own: ElementField | null
      /** See unknown-reads.ts. */
      readonly mayBeUnknown?: true
    }
  /** `n.property`, and properties(n): all captured properties as a map. */
  | { readonly kind: 'element-properties'; readonly slot: Slot }
  /** Property of any other expression: map, node or relationship value at run time; null of null. */
  | { readonly kind: 'property'; readonly target: BoundExpression; readonly key: string; readonly span: Span }
  | { readonly kind: 'index'; readonly target: BoundExpression; readonly index: BoundExpression; readonly span: Span }
  | {
      readonly kind: 'slice'
      readonly target: BoundExpression
      readonly from: BoundExpression | null
      readonly to: BoundExpression | null
      readonly span: Span
    }
  | { readonly kind: 'label-test'; readonly target: BoundExpression; readonly labels: BoundLabels; readonly span: Span }
  /** Flattened: two operands or more. */
  | { readonly kind: 'and'; readonly operands: readonly BoundExpression[] }
  | { readonly kind: 'or'; readonly operands: readonly BoundExpression[] }
  | { readonly kind: 'xor'; readonly left: BoundExpression; readonly right: BoundExpression }
  | { readonly kind: 'not'; readonly operand: BoundExpression }
  /** One link; a chain `a < b < c` is bound as an `and` of links. */
  | {
      readonly kind: 'comparison'
      readonly operator: ComparisonOperator
      readonly left: BoundExpression
      readonly right: BoundExpression
    }
  | {
      readonly kind: 'binary'
      readonly operator: Exclude<BinaryOperator, 'AND' | 'OR' | 'XOR'>
      readonly left: BoundExpression
      readonly right: BoundExpression
      readonly span: Span
    }
  | { readonly kind: 'negate'; readonly operand: BoundExpression; readonly span: Span }
  | { readonly kind: 'null-test'; readonly operand: BoundExpression; readonly negated: boolean }
  | { readonly kind: 'list'; readonly items: readonly BoundExpression[] }
  | { readonly kind: 'map'; readonly entries: readonly { readonly key: string; readonly value: BoundExpression }[] }
  | {
      readonly kind: 'case'
      readonly subject: BoundExpression | null
      readonly branches: readonly { readonly when: BoundExpression; readonly then: BoundExpression }[]
      readonly otherwise: BoundExpression | null
    }
  /** `name` is the table's own spelling; arity was checked. */
  | {
      readonly kind: 'function'
      readonly name: string
      readonly args: readonly BoundExpression[]
      readonly span: Span
    }
  | {
      readonly kind: 'list-comprehension'
      readonly variable: Slot
      readonly list: BoundExpression
      readonly where: BoundExpression | null
      readonly projection: BoundExpression | null
      readonly span: Span
    }
  | {
      readonly kind: 'quantifier'
      readonly quantifier: 'all' | 'any' | 'none' | 'single'
      readonly variable: Slot
      readonly list: BoundExpression
      readonly where: BoundExpression
      readonly span: Span
    }
  | {
      readonly kind: 'reduce'
      readonly accumulator: Slot
      readonly initial: BoundExpression
      readonly variable: Slot
      readonly list: BoundExpression
      readonly expression: BoundExpression
      readonly span: Span
    }
  /** Pattern predicate or EXISTS { }: true when the inner match has a row, given the outer slots. */
  | { readonly kind: 'exists'; readonly match: BoundMatch; readonly span: Span }
  /**
   * EXISTS, COUNT, COLLECT over a whole query, and pattern comprehension (a `collect`): whether the part has a row, how
   * many, or the values of its only column. `reads`: the outer slots that it looks at.
   */
  | {
      readonly kind: 'subquery'
      readonly form: 'exists' | 'count' | 'collect'
      readonly part: BoundPart
      readonly reads: readonly Slot[]
      readonly span: Span
    }

/** An aggregating call; its result stands in `slot` above the aggregation. */
export interface BoundAggregate {
  readonly slot: Slot
  /** `count` with `argument: null` is count(*). */
  readonly name: string
  readonly distinct: boolean
  readonly argument: BoundExpression | null
  /** The second argument of percentileCont and percentileDisc. */
  readonly parameter: BoundExpression | null
}

// ---------------------------------------------------------------- patterns

export interface BoundNode {
  readonly slot: Slot
  /** Known from an earlier clause or pattern: not to be searched again. */
  readonly bound: boolean
}

export interface BoundRelationship {
  readonly slot: Slot
  /** Indexes into `BoundMatch.nodes`. As written: from `left` to `right`. */
  readonly left: number
  readonly right: number
  readonly direction: 'right' | 'left' | 'both'
  /** Empty: any type. */
  readonly types: readonly string[]
  /** Null: exactly one hop, and the slot is of kind `relationship`; else of kind `relationships`. */
  readonly range: { readonly min: number; readonly max: number | null } | null
  /** The relationship variable is bound by an earlier clause: the pattern only checks it. */
  readonly bound: boolean
  /** The variable is named in the text, so somebody may read it. */
  readonly named: boolean
  /** Of the ways between its two nodes, one shortest, or all of them. */
  readonly shortest: 'single' | 'all' | null
  /** Predicates on every relationship of a variable-length step: inline maps, over `element`. */
  readonly each: { readonly element: Slot; readonly predicate: BoundExpression } | null
}

/**
 * One MATCH: its patterns as one graph, its predicates as a conjunction (labels, inline maps and WHERE alike).
 * Relationship uniqueness holds among all relationships of one BoundMatch.
 */
export interface BoundMatch {
  readonly optional: boolean
  /** Computed values that the pattern takes for elements: they become ids before the match. */
  readonly casts: readonly { readonly from: Slot; readonly to: Slot }[]
  readonly nodes: readonly BoundNode[]
  readonly relationships: readonly BoundRelationship[]
  readonly predicates: readonly BoundExpression[]
  /** Named paths: which nodes and relationships, in order, make the value of the slot. */
  readonly paths: readonly {
    readonly slot: Slot
    readonly nodes: readonly number[]
    readonly relationships: readonly number[]
  }[]
}

export interface BoundSort {
  readonly expression: BoundExpression
  readonly descending: boolean
}

/** WITH or RETURN. */
export interface BoundProjection {
  /** Columns that are computed here; a column that only passes a slot on keeps that slot and is not listed. */
  readonly computed: readonly { readonly slot: Slot; readonly expression: BoundExpression }[]
  /** Non-empty or `grouping` set: this is an aggregation, and `computed` is evaluated above it. */
  readonly aggregates: readonly BoundAggregate[]
  /** Null when nothing aggregates. Evaluated below the aggregation; the slots stand above it. */
  readonly grouping: readonly { readonly slot: Slot; readonly expression: BoundExpression }[] | null
  readonly distinct: boolean
  readonly orderBy: readonly BoundSort[]
  readonly skip: BoundExpression | null
  readonly limit: BoundExpression | null
  /** WHERE after WITH. */
  readonly where: BoundExpression | null
  /** What is in scope after it, in the order of the text. */
  readonly columns: readonly { readonly name: string; readonly slot: Slot }[]
}

export interface BoundColumn {
  readonly name: string
  readonly slot: Slot
}

/** The clauses of one part of a query, and what the last of them leaves in scope. */
export interface BoundPart {
  readonly clauses: readonly BoundClause[]
  readonly columns: readonly BoundColumn[]
}

/** `columns` stand in slots of their own; `parts[i].columns` are in the same order. */
export interface BoundUnion {
  readonly parts: readonly BoundPart[]
  readonly distinct: boolean
  readonly columns: readonly BoundColumn[]
}

export type BoundClause =
  | { readonly kind: 'match'; readonly match: BoundMatch }
  | { readonly kind: 'unwind'; readonly list: BoundExpression; readonly slot: Slot }
  | { readonly kind: 'projection'; readonly projection: BoundProjection }
  | { readonly kind: 'union'; readonly union: BoundUnion }
  /** CALL { }: the rows of the part, run with each row as argument. */
  | { readonly kind: 'call'; readonly part: BoundPart }

/** Where a graph of the execution comes from: the default one, or a logical location. */
export type GraphReference =
  | { readonly kind: 'default' }
  | { readonly kind: 'location'; readonly name: string }
  | { readonly kind: 'parameter'; readonly name: string }

export interface BoundQuery extends BoundPart {
  /** How long the frame is. */
  readonly frameSize: number
  /** Every parameter that is read, without `$`, once each, in the order of the text. */
  readonly parameters: readonly string[]
  /** By graph index; the first is always the default graph. */
  readonly graphs: readonly GraphReference[]
}
