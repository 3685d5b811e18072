// The bound form of a query: names are resolved to slots, labels and keys are checked, and all parameters are listed. It is
// plain data and depends on no graph, so one bound query serves every graph and every run.
import type { BinaryOperator, ComparisonOperator, Span, ValueTestKind } from '../../../grammar/ast.ts'
import type { ElementField, SymbolKind } from '../store.ts'
import type { StaticType } from '../value/static-type.ts'
import type { Value } from '../value/value.ts'

/**
 * How a slot of the frame holds its content.
 * - `node`, `relationship`: the id as a number, 0 for null;
 * - `relationships`: a list of relationship ids (a variable-length step), null for null;
 * - `path`: a PathValue or null;
 * - `value`: a Value.
 */
export type SlotKind = 'node' | 'relationship' | 'relationships' | 'path' | 'value'

/** One place in the frame of a run. Only one operator writes a slot, so all operators share one frame without copies. */
export interface Slot {
  readonly index: number
  /** For explain and error messages. Anonymous elements have names such as `anon_3`. */
  readonly name: string
  readonly kind: SlotKind
  /** Index of the graph to which the element belongs (`BoundQuery.graphs`); 0 without USE. */
  readonly graph: number
  /** The static type of a value, if the binder knows it. */
  readonly type?: StaticType
  /** Where the pattern of an element without a name stands in the text. */
  readonly span?: Span
}

/** A label expression such as `A&(B|!C)`. `label-any` is `%`. */
export type BoundLabels =
  | { readonly kind: 'label'; readonly name: string }
  | { readonly kind: 'label-and'; readonly operands: readonly BoundLabels[] }
  | { readonly kind: 'label-or'; readonly operands: readonly BoundLabels[] }
  | { readonly kind: 'label-not'; readonly operand: BoundLabels }
  | { readonly kind: 'label-any' }
  /** The names are the value of an expression: a string, or a list of strings of which all or any must be carried. */
  | {
      readonly kind: 'label-dynamic'
      readonly quantifier: 'all' | 'any'
      readonly expression: BoundExpression
      readonly span: Span
    }

/** An expression whose names are resolved. `span` is its place in the query text, for errors at run time. */
export type BoundExpression =
  | { readonly kind: 'constant'; readonly value: Value }
  /** `$name.path[0].path[1]…`. A missing parameter is an ExecutionError; a missing step of the path is null. */
  | { readonly kind: 'parameter'; readonly name: string; readonly path: readonly string[]; readonly span: Span }
  | { readonly kind: 'slot'; readonly slot: Slot }
  /**
   * Property of the node or relationship in a slot. `own` is set if the key names a built-in field: the field is read if the
   * element has it, else the captured property. `n.property.x` is always the captured property x, so `own` is null.
   * See docs/decisions/0004-element-fields-and-values.md.
   */
  | {
      readonly kind: 'element-property'
      readonly slot: Slot
      readonly key: string
      readonly own: ElementField | null
      /** The read may treat a value from an external resolver as unknown; see unknown-reads.ts. */
      readonly mayBeUnknown?: true
    }
  /** `n.property` and `properties(n)`: all captured properties as a map. */
  | { readonly kind: 'element-properties'; readonly slot: Slot }
  /** Property of any other expression: a map, node or relationship value at run time. A property of null is null. */
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
  /** At least two operands: nested conjunctions and disjunctions are flattened. */
  | { readonly kind: 'and'; readonly operands: readonly BoundExpression[] }
  | { readonly kind: 'or'; readonly operands: readonly BoundExpression[] }
  | { readonly kind: 'xor'; readonly left: BoundExpression; readonly right: BoundExpression }
  | { readonly kind: 'not'; readonly operand: BoundExpression }
  /** One comparison. A chain `a < b < c` is bound as an `and` of comparisons. */
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
  /** `IS :: TYPE` and `IS NORMALIZED`. */
  | {
      readonly kind: 'value-test'
      readonly operand: BoundExpression
      readonly test: ValueTestKind
      readonly negated: boolean
    }
  /**
   * With `variable`, the subject is stored in that slot and each `when` is a condition that reads it. Without it, each `when`
   * is a value that is compared with the subject, or a condition if there is no subject.
   */
  | {
      readonly kind: 'case'
      readonly subject: BoundExpression | null
      readonly variable: Slot | null
      readonly branches: readonly { readonly when: BoundExpression; readonly then: BoundExpression }[]
      readonly otherwise: BoundExpression | null
    }
  /** `name` is spelled as in the function table. The number of arguments is checked. */
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
      /** allReduce(): the condition that must hold after every step; it reads the accumulator. Null for reduce(). */
      readonly condition: BoundExpression | null
      readonly span: Span
    }
  /** A pattern predicate or EXISTS { }: true if the inner match has a row for the outer row. */
  | { readonly kind: 'exists'; readonly match: BoundMatch; readonly span: Span }
  /**
   * EXISTS, COUNT or COLLECT over a whole query, or a pattern comprehension (a `collect`). The value is whether the part has
   * a row, how many rows it has, or the list of the values of its only column. `reads` are the outer slots that it reads.
   */
  | {
      readonly kind: 'subquery'
      readonly form: 'exists' | 'count' | 'collect'
      readonly part: BoundPart
      readonly reads: readonly Slot[]
      readonly span: Span
    }

/** A call of an aggregate function. Operators above the aggregation read the result from `slot`. */
export interface BoundAggregate {
  readonly slot: Slot
  /** The name of the function. `count` without argument is `count(*)`. */
  readonly name: string
  readonly distinct: boolean
  readonly argument: BoundExpression | null
  /** The second argument of percentileCont and percentileDisc. */
  readonly parameter: BoundExpression | null
}

/** A node of a pattern. */
export interface BoundNode {
  readonly slot: Slot
  /** An earlier clause or pattern has bound the variable, so the node is known before the match. */
  readonly bound: boolean
}

/** A relationship of a pattern. */
export interface BoundRelationship {
  readonly slot: Slot
  /** Index into `BoundMatch.nodes` of the node on the left in the text. */
  readonly left: number
  /** Index into `BoundMatch.nodes` of the node on the right in the text. */
  readonly right: number
  /** Where the arrow points in the text; `both` without arrow or with two. */
  readonly direction: 'right' | 'left' | 'both'
  /** Empty means any type. */
  readonly types: readonly string[]
  /** Null means one hop, with a slot of kind `relationship`. Otherwise the slot is of kind `relationships`. */
  readonly range: { readonly min: number; readonly max: number | null } | null
  /** An earlier clause has bound the relationship, so the pattern only tests it. */
  readonly bound: boolean
  /** The text names the variable, so other clauses may read it. */
  readonly named: boolean
  /** The predicate on every relationship of a variable-length step. */
  readonly each: BoundHopTest | null
  /** Set if the step is a quantified path pattern; `direction`, `types` and `each` are those of its first hop. */
  readonly quantified: BoundQuantifiedPath | null
  /** Set for a path whose selector keeps some of the paths between its ends; the slot holds the whole list of relationships. */
  readonly selection: BoundSelection | null
  /** Its relationships may be those of the other steps of the MATCH. */
  readonly isIndependent?: boolean
}

/** The predicate on one hop of a repeated step. Its reads of other elements are known before the step. */
export interface BoundHopTest {
  /** The relationship of the hop. */
  readonly element: Slot
  /** The node on the left of the hop in the text; null if the predicate does not read it. */
  readonly left: Slot | null
  /** The node on the right of the hop in the text; null if the predicate does not read it. */
  readonly right: Slot | null
  readonly predicate: BoundExpression
}

/** One hop of a repeated step. */
export type BoundHop = Pick<BoundRelationship, 'direction' | 'types' | 'each'>

/** A list variable of a quantified path pattern: the elements at one place of each repetition. */
export interface BoundGroup {
  readonly slot: Slot
  readonly element: 'node' | 'relationship'
  /** The number of the node or of the relationship in one repetition, from the left. */
  readonly index: number
}

/** The parts of a quantified path pattern that a variable-length relationship does not have. */
export interface BoundQuantifiedPath {
  /** The hops of one repetition after the first, from left to right. */
  readonly further: readonly BoundHop[]
  /** The slots that `predicates` read: one more node than relationships. A node that the text names twice has one slot. */
  readonly nodes: readonly Slot[]
  readonly relationships: readonly Slot[]
  /** The predicates on a whole repetition, which read more than one hop. */
  readonly predicates: readonly BoundExpression[]
  readonly groups: readonly BoundGroup[]
}

/** A path selector, or `shortestPath`. */
export interface BoundSelection {
  /** Keep the `count` shortest paths, or all paths of the `count` shortest lengths. */
  readonly keep: 'shortest' | 'groups'
  readonly count: number
  /** The slots of all nodes of the path, from left to right. */
  readonly nodes: readonly Slot[]
  /** For each node: the predicates that read no other element of the path. None for the ends. */
  readonly nodeTests: readonly (readonly BoundExpression[])[]
  /** The steps between the nodes. */
  readonly steps: readonly BoundRelationship[]
  /** The predicates on a whole path: a path for which one is not true is not counted. */
  readonly predicates: readonly BoundExpression[]
  /** The path variable, if a predicate may read it. */
  readonly path: Slot | null
}

/**
 * A step over a derived relationship: the two nodes are a pair of its definition. It has no slot of its own, because a derived
 * relationship has no properties and no identity.
 */
export interface BoundDerived {
  /** The name of the definition. */
  readonly name: string
  /** Index into `BoundMatch.nodes` of the source of the definition. */
  readonly source: number
  /** Index into `BoundMatch.nodes` of its target. */
  readonly target: number
  /**
   * The alternatives of the definition, bound to the slots of the two nodes: an alternative begins without a value in either slot,
   * and ends with both. Null: the definition is evaluated by itself, with a table of the pairs that are known.
   */
  readonly branches: readonly BoundPart[] | null
}

/**
 * One MATCH: its patterns as one graph, and its labels, inline maps and WHERE as one list of predicates that must all be
 * true. Relationship uniqueness holds among all relationships of one BoundMatch.
 */
export interface BoundMatch {
  readonly optional: boolean
  /** REPEATABLE ELEMENTS: a relationship may occur several times. */
  readonly repeatable: boolean
  /** Computed values that the pattern uses as elements. They are converted to ids before the match. */
  readonly casts: readonly { readonly from: Slot; readonly to: Slot }[]
  readonly nodes: readonly BoundNode[]
  readonly relationships: readonly BoundRelationship[]
  readonly derived: readonly BoundDerived[]
  readonly predicates: readonly BoundExpression[]
  /** Named paths: the indexes of the nodes and relationships of the path, in order. */
  readonly paths: readonly {
    readonly slot: Slot
    readonly nodes: readonly number[]
    readonly relationships: readonly number[]
  }[]
}

/** One key of ORDER BY. */
export interface BoundSort {
  readonly expression: BoundExpression
  readonly descending: boolean
}

/** WITH or RETURN. */
export interface BoundProjection {
  /** The columns that are computed here. A column that is only a variable keeps the slot of the variable and is not listed. */
  readonly computed: readonly { readonly slot: Slot; readonly expression: BoundExpression }[]
  /** The aggregate calls. The projection aggregates if there is one or `grouping` is set; `computed` is evaluated above. */
  readonly aggregates: readonly BoundAggregate[]
  /** Grouping keys, evaluated below the aggregation; operators above read their slots. Null without aggregation. */
  readonly grouping: readonly { readonly slot: Slot; readonly expression: BoundExpression }[] | null
  readonly distinct: boolean
  readonly orderBy: readonly BoundSort[]
  readonly skip: BoundExpression | null
  readonly limit: BoundExpression | null
  /** The WHERE after a WITH. */
  readonly where: BoundExpression | null
  /** The columns in scope after it, in the order of the text. */
  readonly columns: readonly { readonly name: string; readonly slot: Slot }[]
}

/** A name in scope, and its slot. */
export interface BoundColumn {
  readonly name: string
  readonly slot: Slot
}

/** The clauses of one part of a query, and the names that are in scope after the last. */
export interface BoundPart {
  readonly clauses: readonly BoundClause[]
  readonly columns: readonly BoundColumn[]
}

/** UNION. `columns` have slots of their own; the columns of each part are in the same order. */
export interface BoundUnion {
  readonly parts: readonly BoundPart[]
  readonly distinct: boolean
  readonly columns: readonly BoundColumn[]
}

/** A clause of a query. */
export type BoundClause =
  | { readonly kind: 'match'; readonly match: BoundMatch }
  | { readonly kind: 'unwind'; readonly list: BoundExpression; readonly slot: Slot }
  | { readonly kind: 'projection'; readonly projection: BoundProjection }
  | { readonly kind: 'union'; readonly union: BoundUnion }
  /** CALL { }: the part runs once for each row. If `optional`, a row for which it has none is kept, with null in its columns. */
  | { readonly kind: 'call'; readonly part: BoundPart; readonly optional: boolean }

/** How a query refers to a graph: the default graph, a logical location by name, or a parameter with that name. */
export type GraphReference =
  | { readonly kind: 'default' }
  | { readonly kind: 'location'; readonly name: string }
  | { readonly kind: 'parameter'; readonly name: string }

/** A label, a relationship type or a captured property that a text names. */
export interface NamedSymbol {
  readonly kind: SymbolKind
  readonly name: string
  readonly span: Span
  /** The variable of the element; null if it has none. */
  readonly variable: string | null
  /** The element that has the property; null for another symbol, and if the kind is only known for each row. */
  readonly element: 'node' | 'relationship' | null
}

/** A whole query. */
export interface BoundQuery extends BoundPart {
  /** The number of slots. */
  readonly frameSize: number
  /** The names of all parameters that the query reads, without `$`, once each, in the order of the text. */
  readonly parameters: readonly string[]
  /** By graph index. The first is always the default graph. */
  readonly graphs: readonly GraphReference[]
  /** The names of graph symbols in the text, once for each place. */
  readonly symbols: readonly NamedSymbol[]
  /** The definitions that are evaluated with a table, and all that these use with one; empty for most queries. */
  readonly tabled: readonly TabledDefinition[]
  /** Whether a step of a pattern is derived, in place or with a table. */
  readonly usesDefinitions: boolean
}

/** A definition that is evaluated by itself. */
export interface TabledDefinition {
  readonly name: string
  /** Definitions of one component use each other. A component uses only components with lower numbers. */
  readonly component: number
  readonly branches: readonly TabledBranch[]
}

/** One alternative of a definition as a query with a frame of its own. */
export interface TabledBranch extends BoundQuery {
  readonly source: Slot
  readonly target: Slot
  /** As in DefinitionBranch. */
  readonly needs: 'source' | 'target' | null
  /** The definitions that it uses with a table. */
  readonly uses: readonly string[]
}
