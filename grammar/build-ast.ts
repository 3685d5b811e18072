// AST constructors: one function for each node kind, called by the rules with tokens and finished children. Chevrotain
// also runs the rules once with placeholder tokens when it builds the parser, so these functions must not depend on the
// content of their arguments.
import type { IToken } from 'chevrotain'
import type * as ast from './ast.ts'
import { readName, readParameter, spanOf } from './literals.ts'

/** Builds a name from an identifier, keyword or quoted-name token. */
export function name(token: IToken): ast.Name {
  return { text: readName(token), span: spanOf(token) }
}

// ---------------------------------------------------------------- models

/** Builds a model. */
export function model(
  types: ast.GraphTypeText | null,
  definitions: readonly ast.DefinitionText[],
  span: ast.Span,
): ast.ModelText {
  return { kind: 'model', types, definitions, span }
}

/** Builds a definition. */
export function definition(
  name: ast.Name,
  source: ast.DefinitionEnd,
  target: ast.DefinitionEnd,
  body: ast.Query,
  span: ast.Span,
): ast.DefinitionText {
  return { kind: 'definition', name, source, target, body, span }
}

// ---------------------------------------------------------------- queries and clauses

/** Builds a query from its single queries and the kind of each `UNION` between them. */
export function query(
  input: ast.Query | null,
  parts: ast.SingleQuery[],
  unions: ('all' | 'distinct')[],
  span: ast.Span,
): ast.Query {
  return { kind: 'query', input, parts, unions, span }
}

/** Builds a `MATCH` clause. */
export function match(
  optional: boolean,
  mode: ast.MatchMode | null,
  patterns: ast.PathPattern[],
  where: ast.Expression | null,
  span: ast.Span,
): ast.MatchClause {
  return { kind: 'match', optional, mode, patterns, where, span }
}

/** Builds a `WITH` clause. */
export function withClause(projection: ast.Projection, where: ast.Expression | null, span: ast.Span): ast.WithClause {
  return { kind: 'with', keyword: 'WITH', ...projection, where, span }
}

/** Builds a clause that keeps all variables: a short form of `WITH *`. */
export function withAll(
  keyword: ast.WithClause['keyword'],
  parts: Partial<ast.Projection & Pick<ast.WithClause, 'where'>>,
  span: ast.Span,
): ast.WithClause {
  const nothing = { distinct: false, items: [], orderBy: [], skip: null, limit: null, where: null }
  return { kind: 'with', keyword, star: true, ...nothing, ...parts, span }
}

/** Builds a `RETURN` clause. */
export function returnClause(projection: ast.Projection, span: ast.Span): ast.ReturnClause {
  return { kind: 'return', ...projection, span }
}

// ---------------------------------------------------------------- patterns

/** The alternating nodes and relationships of a path pattern. */
export type PatternChain = Pick<ast.PathPattern, 'nodes' | 'relationships'>

/** The parts of a path pattern besides its chain that a pattern may leave out. */
type PathPatternOptions = Partial<Pick<ast.PathPattern, 'shortest' | 'selector' | 'where'>>

/** Builds a path pattern. */
export function path(
  variable: ast.Name | null,
  chain: PatternChain,
  span: ast.Span,
  options: PathPatternOptions = {},
): ast.PathPattern {
  const { shortest = null, selector = null, where = null } = options
  return { kind: 'path', variable, shortest, selector, ...chain, where, span }
}

/** The fields inside the parentheses of a node pattern. */
export type NodePatternFields = Pick<ast.NodePattern, 'variable' | 'labels' | 'properties' | 'where'>
/** The fields inside the brackets of a relationship pattern. */
export type RelationshipPatternFields = Pick<
  ast.RelationshipPattern,
  'variable' | 'types' | 'range' | 'properties' | 'where'
>

/** The fields of a relationship pattern without brackets. */
export const bareRelationship: RelationshipPatternFields = {
  variable: null,
  types: null,
  range: null,
  properties: null,
  where: null,
}

/** Builds a node pattern. */
export function node(parts: NodePatternFields, span: ast.Span): ast.NodePattern {
  return { kind: 'node', ...parts, span }
}

/**
 * Builds a relationship pattern. `left` and `right`: whether the arrow has that head. A `quantifier` after the arrow
 * takes precedence over the range inside the brackets.
 */
export function relationship(
  parts: RelationshipPatternFields,
  left: boolean,
  right: boolean,
  quantifier: ast.HopRange | null,
  span: ast.Span,
): ast.RelationshipPattern {
  const direction = left === right ? 'both' : left ? 'left' : 'right'
  return { kind: 'relationship', ...parts, direction, range: quantifier ?? parts.range, span }
}

/** Builds a flat label operator; a single operand is returned unchanged. */
export function labels(
  kind: 'label-and' | 'label-or',
  operands: ast.LabelExpression[],
  span: ast.Span,
): ast.LabelExpression {
  return operands.length === 1 ? operands[0]! : { kind, operands, span }
}

// ---------------------------------------------------------------- expressions

/** Builds a variable reference. */
export function variable(token: IToken): ast.Variable {
  return { kind: 'variable', name: readName(token), span: spanOf(token) }
}

/** Builds a parameter reference. */
export function parameter(token: IToken): ast.Parameter {
  return { kind: 'parameter', name: readParameter(token), span: spanOf(token) }
}

/** Builds a boolean literal. */
export function boolean(token: IToken, value: boolean): ast.BooleanLiteral {
  return { kind: 'boolean', value, span: spanOf(token) }
}

/** Builds a binary operation. */
export function binary(
  operator: ast.BinaryOperator,
  left: ast.Expression,
  right: ast.Expression,
  span: ast.Span,
): ast.Binary {
  return { kind: 'binary', operator, left, right, span }
}

/** Builds a function call. `parts` are the dot-separated parts of its name, at least one. */
export function functionCall(
  parts: readonly IToken[],
  distinct: boolean,
  args: ast.Expression[],
  span: ast.Span,
): ast.FunctionCall {
  const first = parts[0]!
  const last = parts.at(-1)!
  const text = parts.length === 1 ? readName(first) : parts.map(readName).join('.')
  return {
    kind: 'function',
    name: { text, span: { start: first.startOffset, end: spanOf(last).end } },
    distinct,
    args,
    span,
  }
}
