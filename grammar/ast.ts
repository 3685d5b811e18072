// The abstract syntax tree of the read clauses of openCypher: plain tagged objects, each with the span of its source
// text. The grammar may accept more than the engine executes; the engine's binder rejects the rest, with a position.

import type { NormalForm, ValueType } from './value-types.ts'

/** A range of the query text in UTF-16 code units: `start` inclusive, `end` exclusive. */
export interface Span {
  readonly start: number
  readonly end: number
}

interface Spanned {
  readonly span: Span
}

/** An identifier without its back-ticks, and its span. */
export interface Name extends Spanned {
  readonly text: string
}

// ---------------------------------------------------------------- models

/** The text of a model: the declared types of a project, if it declares any, and its definitions. */
export interface ModelText extends Spanned {
  readonly kind: 'model'
  readonly types: GraphTypeText | null
  readonly definitions: readonly DefinitionText[]
}

/** The declared types of a graph, in the syntax of GQL graph types (ISO/IEC 39075, 18.2). */
export interface GraphTypeText extends Spanned {
  readonly kind: 'graph-type'
  /** What captures do with data that no type allows. `open`: they warn. `closed`: they refuse it. */
  readonly mode: 'open' | 'closed'
  readonly elements: readonly (NodeTypeText | RelationshipTypeText)[]
}

/** Alternatives of labels: `User&Admin|Group` is `[[User, Admin], [Group]]`. */
export type LabelSets = readonly (readonly Name[])[]

/** `(:User {email STRING})`: nodes with exactly these labels. `(:User|Group)` declares a type for each alternative. */
export interface NodeTypeText extends Spanned {
  readonly kind: 'node-type'
  readonly labels: LabelSets
  readonly properties: readonly PropertyTypeText[]
}

/** `(:User|Group)-[:MEMBER {until ZONED DATETIME}]->(:Group)`. */
export interface RelationshipTypeText extends Spanned {
  readonly kind: 'relationship-type'
  /** `[:OWNER|VIEWER]` declares a type for each name. */
  readonly names: readonly Name[]
  /** The labels that the source has among its labels; empty: any node. */
  readonly source: LabelSets
  readonly target: LabelSets
  readonly properties: readonly PropertyTypeText[]
}

/** `email STRING NOT NULL`. */
export interface PropertyTypeText extends Spanned {
  readonly kind: 'property-type'
  readonly name: Name
  /** The types that a value may have; not nullable: each element has the property. */
  readonly types: readonly ValueType[]
}

/** One end of a definition: the variable that its body uses, and the labels of the nodes; null: any node. */
export interface DefinitionEnd extends Spanned {
  readonly variable: Name
  readonly labels: LabelExpression | null
}

/** `DEFINE (a:A)-[:name]->(b:B) AS { body }`: a relationship type that is derived and not stored. */
export interface DefinitionText extends Spanned {
  readonly kind: 'definition'
  readonly name: Name
  readonly source: DefinitionEnd
  readonly target: DefinitionEnd
  readonly body: Query
}

// ---------------------------------------------------------------- queries and clauses

/**
 * A query: one single query, or a flat `UNION [ALL]` chain in which `unions[i]` joins `parts[i]` and `parts[i + 1]`. With
 * `input NEXT …`, every part reads all rows of the input.
 */
export interface Query extends Spanned {
  readonly kind: 'query'
  readonly input: Query | null
  readonly parts: readonly SingleQuery[]
  readonly unions: readonly ('all' | 'distinct')[]
}

/** A sequence of clauses without `UNION`. */
export interface SingleQuery extends Spanned {
  readonly clauses: readonly Clause[]
}

/** Any clause of a single query. */
export type Clause =
  | UseClause
  | MatchClause
  | UnwindClause
  | WithClause
  | ReturnClause
  | CallClause
  | ConditionalClause
  | BlockClause

/** `USE graph.byName(argument)`. Any other graph reference is a syntax error. */
export interface UseClause extends Spanned {
  readonly kind: 'use'
  readonly argument: Expression
}

/**
 * Whether the relationships of one MATCH must all differ (`DIFFERENT RELATIONSHIPS`) or may repeat (`REPEATABLE
 * ELEMENTS`).
 */
export type MatchMode = 'different' | 'repeatable'

/** `[OPTIONAL] MATCH [mode] pattern, … [WHERE condition]`. */
export interface MatchClause extends Spanned {
  readonly kind: 'match'
  readonly optional: boolean
  /** Null if the text names no mode, which means `different`. */
  readonly mode: MatchMode | null
  readonly patterns: readonly PathPattern[]
  readonly where: Expression | null
}

/** `UNWIND list AS variable` or `FOR variable IN list`. */
export interface UnwindClause extends Spanned {
  readonly kind: 'unwind'
  readonly list: Expression
  readonly variable: Name
}

/** The common part of `WITH` and `RETURN`. */
export interface Projection {
  readonly distinct: boolean
  /** True for `*`, which comes first and may be followed by items. */
  readonly star: boolean
  readonly items: readonly ProjectionItem[]
  readonly orderBy: readonly SortItem[]
  readonly skip: Expression | null
  readonly limit: Expression | null
}

/**
 * `WITH … [WHERE condition]`, and the clauses that are short forms of it: `FILTER condition` is `WITH * WHERE condition`,
 * `LET a = b` is `WITH *, b AS a`, and a clause that begins with `ORDER BY`, `SKIP`, `OFFSET` or `LIMIT` is that part of `WITH *`.
 */
export interface WithClause extends Spanned, Projection {
  readonly kind: 'with'
  readonly keyword: 'WITH' | 'FILTER' | 'LET' | 'ORDER BY'
  readonly where: Expression | null
}

/** `RETURN …`. */
export interface ReturnClause extends Spanned, Projection {
  readonly kind: 'return'
}

/** `expression [AS alias]`. */
export interface ProjectionItem extends Spanned {
  readonly expression: Expression
  readonly alias: Name | null
  /** The source text of the expression: the column name if there is no alias. */
  readonly text: string
}

/** One key of `ORDER BY`. */
export interface SortItem extends Spanned {
  readonly expression: Expression
  readonly descending: boolean
}

/**
 * `WHEN condition THEN query … ELSE query`: for each row the first branch whose condition is true, or `ELSE`, whose `when` is
 * null. It is the only clause of its query, apart from `USE`.
 */
export interface ConditionalClause extends Spanned {
  readonly kind: 'conditional'
  readonly branches: readonly { readonly when: Expression | null; readonly query: Query }[]
}

/** `{ query }` instead of a query. It is the only clause of its query, apart from `USE`. */
export interface BlockClause extends Spanned {
  readonly kind: 'block'
  readonly query: Query
}

/**
 * An `[OPTIONAL] CALL` subquery. `imports` is null for `CALL { … }`, the names for `CALL (a, b) { … }` and `'*'` for `CALL (*) { …
 * }`.
 */
export interface CallClause extends Spanned {
  readonly kind: 'call'
  readonly optional: boolean
  readonly imports: readonly Name[] | '*' | null
  readonly query: Query
}

// ---------------------------------------------------------------- patterns

/**
 * A path pattern. `nodes.length === relationships.length + 1`; relationship `i` joins nodes `i` and `i + 1`. Where a
 * quantified path pattern has no node pattern next to it, the node is implicit: its span is empty.
 */
export interface PathPattern extends Spanned {
  readonly kind: 'path'
  readonly variable: Name | null
  /** `shortestPath(…)` and `allShortestPaths(…)`. */
  readonly shortest: 'single' | 'all' | null
  /** `SHORTEST 2 (a)-->(b)`; null without a path selector. */
  readonly selector: PathSelector | null
  readonly nodes: readonly NodePattern[]
  readonly relationships: readonly (RelationshipPattern | QuantifiedPath)[]
  /** The condition inside the parentheses of `((a)-->+(b) WHERE …)`, which is tested before a selector chooses paths. */
  readonly where: Expression | null
}

/**
 * Which paths between two nodes are kept. `ANY`: any `count` of them. `SHORTEST`: the `count` shortest. `GROUPS`: all
 * paths of the `count` shortest lengths. `ALL`: all.
 */
export interface PathSelector extends Spanned {
  readonly kind: 'selector'
  readonly keep: 'any' | 'shortest' | 'groups' | 'all'
  readonly count: number
}

/** `((a)-[:R]->(b) WHERE …){1,3}`: a path that repeats a pattern. Its variables are lists outside of it. */
export interface QuantifiedPath extends Spanned {
  readonly kind: 'quantified-path'
  /** Without variable, selector and quantified parts. */
  readonly pattern: PathPattern
  readonly where: Expression | null
  readonly range: HopRange
  /** Its relationships may be those of other patterns of the MATCH. No text has it: the engine makes such a walk of a definition. */
  readonly isIndependent?: true
}

/** `(variable:Label {key: value} WHERE condition)`; every part is optional. */
export interface NodePattern extends Spanned {
  readonly kind: 'node'
  readonly variable: Name | null
  readonly labels: LabelExpression | null
  readonly properties: MapLiteral | Parameter | null
  readonly where: Expression | null
}

/** `-[variable:TYPE*1..3 {key: value} WHERE condition]->`; every part is optional. */
export interface RelationshipPattern extends Spanned {
  readonly kind: 'relationship'
  readonly variable: Name | null
  /** The arrow as written, from left to right: `-->` right, `<--` left, `--` and `<-->` both. */
  readonly direction: 'right' | 'left' | 'both'
  /** `A|B` and the older `A|:B` are both parsed to an `or`. */
  readonly types: LabelExpression | null
  readonly range: HopRange | null
  readonly properties: MapLiteral | Parameter | null
  readonly where: Expression | null
}

/**
 * The length of a variable-length relationship. `*`: both null; `*2`: both 2; `*..3`: min null; `*2..`: max null.
 * Quantifiers such as `+` and `{2,3}` are parsed to the same form.
 */
export interface HopRange extends Spanned {
  readonly min: number | null
  readonly max: number | null
  /** `star`: inside the brackets. `quantifier`: after the arrow or after parentheses. */
  readonly form: 'star' | 'quantifier'
}

/** A label or relationship-type expression. */
export type LabelExpression = LabelName | LabelAnd | LabelOr | LabelNot | LabelWildcard | DynamicLabel
/** One label or relationship type. */
export interface LabelName extends Spanned {
  readonly kind: 'label'
  readonly name: string
}
/** `:A:B` and `:A&B`. */
interface LabelAnd extends Spanned {
  readonly kind: 'label-and'
  readonly operands: readonly LabelExpression[]
}
/** `:A|B`. */
interface LabelOr extends Spanned {
  readonly kind: 'label-or'
  readonly operands: readonly LabelExpression[]
}
/** `:!A`. */
interface LabelNot extends Spanned {
  readonly kind: 'label-not'
  readonly operand: LabelExpression
}
/** `:%`, which any label satisfies. */
interface LabelWildcard extends Spanned {
  readonly kind: 'label-any'
}
/** `:$(name)`, `:$all(names)` and `:$any(names)`: one name or a list of names that only a run knows. */
interface DynamicLabel extends Spanned {
  readonly kind: 'label-dynamic'
  readonly quantifier: 'all' | 'any'
  readonly expression: Expression
}

// ---------------------------------------------------------------- expressions

/** Any expression. */
export type Expression =
  | IntegerLiteral
  | FloatLiteral
  | StringLiteral
  | BooleanLiteral
  | NullLiteral
  | ListLiteral
  | MapLiteral
  | Parameter
  | Variable
  | PropertyAccess
  | IndexAccess
  | SliceAccess
  | LabelTest
  | Binary
  | Comparison
  | Unary
  | NullTest
  | ValueTest
  | Case
  | CaseOperand
  | FunctionCall
  | CountStar
  | ListComprehension
  | PatternComprehension
  | Quantifier
  | Reduce
  | MapProjection
  | PatternPredicate
  | ExistsSubquery
  | CountSubquery
  | CollectSubquery

/** An integer in the signed 64-bit range; a larger literal is a syntax error. The value is a bigint beyond 2^53 - 1. */
interface IntegerLiteral extends Spanned {
  readonly kind: 'integer'
  readonly value: number | bigint
}
/** A finite 64-bit float. */
interface FloatLiteral extends Spanned {
  readonly kind: 'float'
  readonly value: number
}
/** A string with its escapes resolved. */
interface StringLiteral extends Spanned {
  readonly kind: 'string'
  readonly value: string
}
/** `true` or `false`. */
export interface BooleanLiteral extends Spanned {
  readonly kind: 'boolean'
  readonly value: boolean
}
/** `null`. */
interface NullLiteral extends Spanned {
  readonly kind: 'null'
}
/** `[a, b]`. */
interface ListLiteral extends Spanned {
  readonly kind: 'list'
  readonly items: readonly Expression[]
}
/** `{key: value}`. */
export interface MapLiteral extends Spanned {
  readonly kind: 'map'
  readonly entries: readonly { readonly key: Name; readonly value: Expression }[]
}
/** `$name`. A dotted claim such as `$token.act.sub` is property access on the parameter `token`. */
export interface Parameter extends Spanned {
  readonly kind: 'parameter'
  readonly name: string
}
/** A reference to a variable or an alias. */
export interface Variable extends Spanned {
  readonly kind: 'variable'
  readonly name: string
}
/** `target.key`. */
export interface PropertyAccess extends Spanned {
  readonly kind: 'property'
  readonly target: Expression
  readonly key: Name
}
/** `target[index]`. */
export interface IndexAccess extends Spanned {
  readonly kind: 'index'
  readonly target: Expression
  readonly index: Expression
}
/** `target[from..to]`; either bound may be absent. */
export interface SliceAccess extends Spanned {
  readonly kind: 'slice'
  readonly target: Expression
  readonly from: Expression | null
  readonly to: Expression | null
}
/** `n:Label` or `r:TYPE`. */
export interface LabelTest extends Spanned {
  readonly kind: 'label-test'
  readonly target: Expression
  readonly labels: LabelExpression
}
/** An operator with two operands that is not a comparison. */
export type BinaryOperator =
  | 'OR'
  | 'XOR'
  | 'AND'
  | '+'
  | '||'
  | '-'
  | '*'
  | '/'
  | '%'
  | '^'
  | 'IN'
  | 'STARTS WITH'
  | 'ENDS WITH'
  | 'CONTAINS'
  | '=~'
/** `left operator right`. */
export interface Binary extends Spanned {
  readonly kind: 'binary'
  readonly operator: BinaryOperator
  readonly left: Expression
  readonly right: Expression
}
/** An operator of a comparison chain. */
export type ComparisonOperator = '=' | '<>' | '<' | '<=' | '>' | '>='
/** A comparison chain: `a < b <= c` is one node and means `a < b AND b <= c`. */
export interface Comparison extends Spanned {
  readonly kind: 'comparison'
  readonly first: Expression
  readonly rest: readonly { readonly operator: ComparisonOperator; readonly operand: Expression }[]
}
/** `NOT operand`, `-operand` or `+operand`. */
export interface Unary extends Spanned {
  readonly kind: 'unary'
  readonly operator: 'NOT' | '-' | '+'
  readonly operand: Expression
}
/** `operand IS NULL`, or `operand IS NOT NULL` if `negated`. */
interface NullTest extends Spanned {
  readonly kind: 'null-test'
  readonly operand: Expression
  readonly negated: boolean
}
/** What a value test asks: whether the value has one of the types, or whether it is a string in the normal form. */
export type ValueTestKind =
  | { readonly kind: 'type'; readonly types: readonly ValueType[] }
  | { readonly kind: 'normalized'; readonly form: NormalForm }
/** `operand IS [NOT] :: TYPE`, `operand IS [NOT] TYPED TYPE` or `operand IS [NOT] NFC NORMALIZED`. */
export interface ValueTest extends Spanned {
  readonly kind: 'value-test'
  readonly operand: Expression
  readonly test: ValueTestKind
  readonly negated: boolean
}
/** `CASE subject WHEN value, > value …` with a subject, `CASE WHEN condition …` without one. */
export interface Case extends Spanned {
  readonly kind: 'case'
  readonly subject: Expression | null
  readonly branches: readonly CaseBranch[]
  readonly otherwise: Expression | null
}
/**
 * One branch of CASE. Without a subject, `when` has one condition. With a subject, each item is a value that the subject may
 * equal, or a condition whose leftmost operand is the subject (`CaseOperand`): `WHEN 1, > 5, IS NULL`.
 */
interface CaseBranch {
  readonly when: readonly Expression[]
  readonly then: Expression
}
/** The subject of CASE, at the place before an operator of `WHEN > 5`, where the text has nothing. */
export interface CaseOperand extends Spanned {
  readonly kind: 'case-operand'
}
/** A function call. `name` is the source spelling, dotted for a namespaced function. */
export interface FunctionCall extends Spanned {
  readonly kind: 'function'
  readonly name: Name
  readonly distinct: boolean
  readonly args: readonly Expression[]
}
/** `count(*)`. */
interface CountStar extends Spanned {
  readonly kind: 'count-star'
}
/** `[variable IN list WHERE condition | projection]`. */
export interface ListComprehension extends Spanned {
  readonly kind: 'list-comprehension'
  readonly variable: Name
  readonly list: Expression
  readonly where: Expression | null
  readonly projection: Expression | null
}
/** `[pattern WHERE condition | projection]`. */
export interface PatternComprehension extends Spanned {
  readonly kind: 'pattern-comprehension'
  readonly pattern: PathPattern
  readonly where: Expression | null
  readonly projection: Expression
}
/** `all(variable IN list WHERE condition)` and `any`, `none`, `single`. */
export interface Quantifier extends Spanned {
  readonly kind: 'quantifier'
  readonly quantifier: 'all' | 'any' | 'none' | 'single'
  readonly variable: Name
  readonly list: Expression
  /** Null if the text omits `WHERE`; the binder rejects that. */
  readonly where: Expression | null
}
/**
 * `reduce(accumulator = initial, variable IN list | expression)`. `allReduce` has a condition after the expression, which
 * must hold after every step.
 */
export interface Reduce extends Spanned {
  readonly kind: 'reduce'
  readonly accumulator: Name
  readonly initial: Expression
  readonly variable: Name
  readonly list: Expression
  readonly expression: Expression
  readonly condition: Expression | null
}
/** One item of a map projection: `.*`, `.key`, `variable` or `key: value`. */
export type MapProjectionItem =
  | { readonly kind: 'all'; readonly span: Span }
  | { readonly kind: 'property'; readonly key: Name; readonly span: Span }
  | { readonly kind: 'variable'; readonly variable: Name; readonly span: Span }
  | { readonly kind: 'entry'; readonly key: Name; readonly value: Expression; readonly span: Span }
/** `variable {.key, .*, other, key: value}`. */
export interface MapProjection extends Spanned {
  readonly kind: 'map-projection'
  readonly variable: Name
  readonly items: readonly MapProjectionItem[]
}
/** A pattern of at least one relationship, used where a boolean is expected. */
export interface PatternPredicate extends Spanned {
  readonly kind: 'pattern-predicate'
  readonly pattern: PathPattern
}
/** The body of a subquery expression: `{ pattern, … WHERE … }` or `{ query }`. */
export type SubqueryBody =
  | { readonly kind: 'patterns'; readonly patterns: readonly PathPattern[]; readonly where: Expression | null }
  | { readonly kind: 'query'; readonly query: Query }
/** `EXISTS { … }`. */
interface ExistsSubquery extends Spanned {
  readonly kind: 'exists'
  readonly body: SubqueryBody
}
/** `COUNT { … }`. */
interface CountSubquery extends Spanned {
  readonly kind: 'count-subquery'
  readonly body: SubqueryBody
}
/** `COLLECT { query }`. */
interface CollectSubquery extends Spanned {
  readonly kind: 'collect-subquery'
  readonly query: Query
}
