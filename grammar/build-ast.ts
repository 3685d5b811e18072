// The one place where concrete syntax becomes AST: a function per node, called by the rules with tokens and finished parts.
// The rules also run once with placeholder tokens when the parser is built, so nothing here may depend on what a part contains.
import type { IToken } from 'chevrotain'
import type * as ast from './ast.ts'
import { readName, readParameter, spanOf } from './literals.ts'

type Span = ast.Span

export function name(token: IToken): ast.Name {
  return { text: readName(token), span: spanOf(token) }
}

// ---------------------------------------------------------------- queries and clauses

export function query(parts: ast.SingleQuery[], unions: ('all' | 'distinct')[], span: Span): ast.Query {
  return { kind: 'query', parts, unions, span }
}

export function match(
  optional: boolean,
  patterns: ast.PathPattern[],
  where: ast.Expression | null,
  span: Span,
): ast.MatchClause {
  return { kind: 'match', optional, patterns, where, span }
}

export function withClause(projection: ast.Projection, where: ast.Expression | null, span: Span): ast.WithClause {
  return { kind: 'with', ...projection, where, span }
}

export function returnClause(projection: ast.Projection, span: Span): ast.ReturnClause {
  return { kind: 'return', ...projection, span }
}

// ---------------------------------------------------------------- patterns

export type PatternChain = Pick<ast.PathPattern, 'nodes' | 'relationships'>

export function path(
  variable: ast.Name | null,
  shortest: ast.PathPattern['shortest'],
  chain: PatternChain,
  span: Span,
): ast.PathPattern {
  return { kind: 'path', variable, shortest, ...chain, span }
}

export type NodePatternFields = Pick<ast.NodePattern, 'variable' | 'labels' | 'properties' | 'where'>
export type RelationshipPatternFields = Pick<
  ast.RelationshipPattern,
  'variable' | 'types' | 'range' | 'properties' | 'where'
>

export const bareRelationship: RelationshipPatternFields = {
  variable: null,
  types: null,
  range: null,
  properties: null,
  where: null,
}

export function node(parts: NodePatternFields, span: Span): ast.NodePattern {
  return { kind: 'node', ...parts, span }
}

export function relationship(
  parts: RelationshipPatternFields,
  left: boolean,
  right: boolean,
  quantifier: ast.HopRange | null,
  span: Span,
): ast.RelationshipPattern {
  const direction = left === right ? 'both' : left ? 'left' : 'right'
  return { kind: 'relationship', ...parts, direction, range: quantifier ?? parts.range, span }
}

/** One operand stands for itself; several directly joined ones are one flat node. */
export function labels(
  kind: 'label-and' | 'label-or',
  operands: ast.LabelExpression[],
  span: Span,
): ast.LabelExpression {
  return operands.length === 1 ? operands[0]! : { kind, operands, span }
}

// ---------------------------------------------------------------- expressions

export function variable(token: IToken): ast.Variable {
  return { kind: 'variable', name: readName(token), span: spanOf(token) }
}

export function parameter(token: IToken): ast.Parameter {
  return { kind: 'parameter', name: readParameter(token), span: spanOf(token) }
}

export function boolean(token: IToken, value: boolean): ast.BooleanLiteral {
  return { kind: 'boolean', value, span: spanOf(token) }
}

export function binary(
  operator: ast.BinaryOperator,
  left: ast.Expression,
  right: ast.Expression,
  span: Span,
): ast.Binary {
  return { kind: 'binary', operator, left, right, span }
}

export function functionCall(
  parts: readonly IToken[],
  distinct: boolean,
  args: ast.Expression[],
  span: Span,
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
