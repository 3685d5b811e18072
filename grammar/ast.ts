// The abstract syntax of the read side of openCypher: tagged, plain nodes, each with the span of the text it came from.
// The grammar may accept more than the engine executes; the engine's binder refuses, with a position, what it does not execute.

/** Offsets in UTF-16 code units into the query text: `start` inclusive, `end` exclusive. */
export interface Span {
  readonly start: number
  readonly end: number
}

interface Spanned {
  readonly span: Span
}

/** A name as written (back-ticks removed) and where it stands. */
export interface Name extends Spanned {
  readonly text: string
}

// ---------------------------------------------------------------- queries and clauses

/** `UNION [ALL]` chains are flat: `unions[i]` joins `parts[i]` and `parts[i + 1]`. */
export interface Query extends Spanned {
  readonly kind: 'query'
  readonly parts: readonly SingleQuery[]
  readonly unions: readonly ('all' | 'distinct')[]
}

export interface SingleQuery extends Spanned {
  readonly clauses: readonly Clause[]
}

export type Clause = UseClause | MatchClause | UnwindClause | WithClause | ReturnClause | CallClause

/** `USE graph.byName(argument)`; another graph reference is a syntax fault. */
export interface UseClause extends Spanned {
  readonly kind: 'use'
  readonly argument: Expression
}

export interface MatchClause extends Spanned {
  readonly kind: 'match'
  readonly optional: boolean
  readonly patterns: readonly PathPattern[]
  readonly where: Expression | null
}

export interface UnwindClause extends Spanned {
  readonly kind: 'unwind'
  readonly list: Expression
  readonly variable: Name
}

export interface Projection {
  readonly distinct: boolean
  /** `*` stands first, possibly followed by items. */
  readonly star: boolean
  readonly items: readonly ProjectionItem[]
  readonly orderBy: readonly SortItem[]
  readonly skip: Expression | null
  readonly limit: Expression | null
}

export interface WithClause extends Spanned, Projection {
  readonly kind: 'with'
  readonly where: Expression | null
}

export interface ReturnClause extends Spanned, Projection {
  readonly kind: 'return'
}

export interface ProjectionItem extends Spanned {
  readonly expression: Expression
  readonly alias: Name | null
  /** The item's expression exactly as written; the column name where there is no alias. */
  readonly text: string
}

export interface SortItem extends Spanned {
  readonly expression: Expression
  readonly descending: boolean
}

/** `CALL { … }`: `imports` is null; `CALL (a, b) { … }`: the names; `CALL (*) { … }`: `'*'`. */
export interface CallClause extends Spanned {
  readonly kind: 'call'
  readonly imports: readonly Name[] | '*' | null
  readonly query: Query
}

// ---------------------------------------------------------------- patterns

/** `nodes.length === relationships.length + 1`; relationship i joins nodes i and i + 1. */
export interface PathPattern extends Spanned {
  readonly kind: 'path'
  readonly variable: Name | null
  readonly shortest: 'single' | 'all' | null
  readonly nodes: readonly NodePattern[]
  readonly relationships: readonly RelationshipPattern[]
}

export interface NodePattern extends Spanned {
  readonly kind: 'node'
  readonly variable: Name | null
  readonly labels: LabelExpression | null
  readonly properties: MapLiteral | Parameter | null
  readonly where: Expression | null
}

export interface RelationshipPattern extends Spanned {
  readonly kind: 'relationship'
  readonly variable: Name | null
  /** As the arrow is written, from left to right: `-->` right, `<--` left, `--` and `<-->` both. */
  readonly direction: 'right' | 'left' | 'both'
  /** `A|B` and the older `A|:B` are both an `or`. */
  readonly types: LabelExpression | null
  readonly range: HopRange | null
  readonly properties: MapLiteral | Parameter | null
  readonly where: Expression | null
}

/** `*`: both null; `*2`: both 2; `*..3`: min null; `*2..`: max null. `+`, `{2,3}` map here too. */
export interface HopRange extends Spanned {
  readonly min: number | null
  readonly max: number | null
}

export type LabelExpression = LabelName | LabelAnd | LabelOr | LabelNot | LabelWildcard
export interface LabelName extends Spanned {
  readonly kind: 'label'
  readonly name: string
}
/** `:A:B` and `:A&B`. */
export interface LabelAnd extends Spanned {
  readonly kind: 'label-and'
  readonly operands: readonly LabelExpression[]
}
export interface LabelOr extends Spanned {
  readonly kind: 'label-or'
  readonly operands: readonly LabelExpression[]
}
export interface LabelNot extends Spanned {
  readonly kind: 'label-not'
  readonly operand: LabelExpression
}
/** `%`: any label. */
export interface LabelWildcard extends Spanned {
  readonly kind: 'label-any'
}

// ---------------------------------------------------------------- expressions

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
  | Case
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

/** Within the signed 64-bit range (a larger literal is a syntax fault); bigint beyond 2^53 - 1. */
export interface IntegerLiteral extends Spanned {
  readonly kind: 'integer'
  readonly value: number | bigint
}
export interface FloatLiteral extends Spanned {
  readonly kind: 'float'
  readonly value: number
}
export interface StringLiteral extends Spanned {
  readonly kind: 'string'
  readonly value: string
}
export interface BooleanLiteral extends Spanned {
  readonly kind: 'boolean'
  readonly value: boolean
}
export interface NullLiteral extends Spanned {
  readonly kind: 'null'
}
export interface ListLiteral extends Spanned {
  readonly kind: 'list'
  readonly items: readonly Expression[]
}
export interface MapLiteral extends Spanned {
  readonly kind: 'map'
  readonly entries: readonly { readonly key: Name; readonly value: Expression }[]
}
/** `$name`. A dotted claim, `$token.act.sub`, is property access on the parameter `token`. */
export interface Parameter extends Spanned {
  readonly kind: 'parameter'
  readonly name: string
}
export interface Variable extends Spanned {
  readonly kind: 'variable'
  readonly name: string
}
export interface PropertyAccess extends Spanned {
  readonly kind: 'property'
  readonly target: Expression
  readonly key: Name
}
export interface IndexAccess extends Spanned {
  readonly kind: 'index'
  readonly target: Expression
  readonly index: Expression
}
export interface SliceAccess extends Spanned {
  readonly kind: 'slice'
  readonly target: Expression
  readonly from: Expression | null
  readonly to: Expression | null
}
/** `n:Label`; also `r:TYPE`. */
export interface LabelTest extends Spanned {
  readonly kind: 'label-test'
  readonly target: Expression
  readonly labels: LabelExpression
}
export type BinaryOperator =
  | 'OR'
  | 'XOR'
  | 'AND'
  | '+'
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
export interface Binary extends Spanned {
  readonly kind: 'binary'
  readonly operator: BinaryOperator
  readonly left: Expression
  readonly right: Expression
}
export type ComparisonOperator = '=' | '<>' | '<' | '<=' | '>' | '>='
/** A chain `a < b <= c` is one node: it means `a < b AND b <= c`. */
export interface Comparison extends Spanned {
  readonly kind: 'comparison'
  readonly first: Expression
  readonly rest: readonly { readonly operator: ComparisonOperator; readonly operand: Expression }[]
}
export interface Unary extends Spanned {
  readonly kind: 'unary'
  readonly operator: 'NOT' | '-' | '+'
  readonly operand: Expression
}
/** `IS NULL`; negated: `IS NOT NULL`. */
export interface NullTest extends Spanned {
  readonly kind: 'null-test'
  readonly operand: Expression
  readonly negated: boolean
}
/** With `subject`: `CASE subject WHEN value …`; without: `CASE WHEN condition …`. */
export interface Case extends Spanned {
  readonly kind: 'case'
  readonly subject: Expression | null
  readonly branches: readonly { readonly when: Expression; readonly then: Expression }[]
  readonly otherwise: Expression | null
}
/** `name` as written, dotted where namespaced. */
export interface FunctionCall extends Spanned {
  readonly kind: 'function'
  readonly name: Name
  readonly distinct: boolean
  readonly args: readonly Expression[]
}
export interface CountStar extends Spanned {
  readonly kind: 'count-star'
}
export interface ListComprehension extends Spanned {
  readonly kind: 'list-comprehension'
  readonly variable: Name
  readonly list: Expression
  readonly where: Expression | null
  readonly projection: Expression | null
}
export interface PatternComprehension extends Spanned {
  readonly kind: 'pattern-comprehension'
  readonly pattern: PathPattern
  readonly where: Expression | null
  readonly projection: Expression
}
export interface Quantifier extends Spanned {
  readonly kind: 'quantifier'
  readonly quantifier: 'all' | 'any' | 'none' | 'single'
  readonly variable: Name
  readonly list: Expression
  /** Null only where the text leaves WHERE out; the binder refuses that. */
  readonly where: Expression | null
}
export interface Reduce extends Spanned {
  readonly kind: 'reduce'
  readonly accumulator: Name
  readonly initial: Expression
  readonly variable: Name
  readonly list: Expression
  readonly expression: Expression
}
export type MapProjectionItem =
  | { readonly kind: 'all'; readonly span: Span }
  | { readonly kind: 'property'; readonly key: Name; readonly span: Span }
  | { readonly kind: 'variable'; readonly variable: Name; readonly span: Span }
  | { readonly kind: 'entry'; readonly key: Name; readonly value: Expression; readonly span: Span }
export interface MapProjection extends Spanned {
  readonly kind: 'map-projection'
  readonly variable: Name
  readonly items: readonly MapProjectionItem[]
}
/** A pattern of at least one relationship standing where a boolean is expected. */
export interface PatternPredicate extends Spanned {
  readonly kind: 'pattern-predicate'
  readonly pattern: PathPattern
}
/** `{ pattern, … WHERE … }` or `{ query }`. */
export type SubqueryBody =
  | { readonly kind: 'patterns'; readonly patterns: readonly PathPattern[]; readonly where: Expression | null }
  | { readonly kind: 'query'; readonly query: Query }
export interface ExistsSubquery extends Spanned {
  readonly kind: 'exists'
  readonly body: SubqueryBody
}
export interface CountSubquery extends Spanned {
  readonly kind: 'count-subquery'
  readonly body: SubqueryBody
}
export interface CollectSubquery extends Spanned {
  readonly kind: 'collect-subquery'
  readonly query: Query
}
