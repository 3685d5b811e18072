// Operators, comparisons and CASE: what they take, and what can be said of what they give.
import type { Binary, Case, Comparison, Expression, Span, Unary } from '../../../grammar/ast.ts'
import { Float } from '../../kernel/float.ts'
import { compileRegex } from '../value/regular-expression.ts'
import {
  ANY,
  arithmeticType,
  kindWithArticle,
  numberType,
  type StaticKind,
  type StaticType,
  staticType,
  sumType,
  unionType,
} from '../value/static-type.ts'
import type { BoundExpression } from './bound.ts'
import type { ExpressionBinder } from './expression-binder.ts'
import { booleanExpression, constantExpression, isConstant, type TypedExpression } from './typed-expression.ts'

const ONE: BoundExpression = { kind: 'constant', value: 1 }

export function bindBinary(ast: Binary, binder: ExpressionBinder): TypedExpression {
  const { operator } = ast
  if (operator === 'AND' || operator === 'OR') return bindJunction(ast, operator, binder)
  if (operator === 'XOR') {
    return booleanExpression({ kind: 'xor', left: binder.condition(ast.left), right: binder.condition(ast.right) })
  }
  const left = binder.bind(ast.left)
  const right = binder.bind(ast.right)
  const bound: BoundExpression = { kind: 'binary', operator, left: left.bound, right: right.bound, span: ast.span }
  switch (operator) {
    case 'IN':
      binder.expect(['list'], right.type, ast.right.span, '`IN`')
      return booleanExpression(bound)
    case 'STARTS WITH':
    case 'ENDS WITH':
    case 'CONTAINS':
      return booleanExpression(bound)
    case '=~':
      checkPattern(right.bound, ast.right.span, binder)
      return booleanExpression(bound)
    case '+':
      return { bound, type: additionType(left.type, right.type, ast.span, binder) }
    default: {
      const takes: readonly StaticKind[] = operator === '%' || operator === '^' ? ['number'] : ['number', 'temporal']
      binder.expect(takes, left.type, ast.left.span, `\`${operator}\``)
      binder.expect(takes, right.type, ast.right.span, `\`${operator}\``)
      return { bound, type: operator === '^' ? staticType('float') : arithmeticType(operator, left.type, right.type) }
    }
  }
}

/** `a AND b AND c` leans to the left in the tree: its spine is walked in a loop, so that it may be as long as it likes. */
function bindJunction(ast: Binary, operator: 'AND' | 'OR', binder: ExpressionBinder): TypedExpression {
  const kind = operator === 'AND' ? 'and' : 'or'
  const asts: Expression[] = []
  let spine: Expression = ast
  while (spine.kind === 'binary' && spine.operator === operator) {
    asts.push(spine.right)
    spine = spine.left
  }
  asts.push(spine)
  const operands = asts.reverse().flatMap((operand) => {
    const bound = binder.condition(operand)
    return bound.kind === kind ? bound.operands : [bound]
  })
  return booleanExpression({ kind, operands })
}

function checkPattern(bound: BoundExpression, span: Span, binder: ExpressionBinder): void {
  if (bound.kind !== 'constant' || typeof bound.value !== 'string') return
  const compiled = compileRegex(bound.value)
  if (!compiled.ok) binder.report('InvalidRegularExpression', `invalid regular expression: ${compiled.error}`, span)
}

function additionType(left: StaticType, right: StaticType, span: Span, binder: ExpressionBinder): StaticType {
  const type = sumType(left, right)
  if (type !== null) return type
  const message = `\`+\` cannot be applied to ${kindWithArticle(left.kind)} and ${kindWithArticle(right.kind)}`
  binder.report('InvalidArgumentType', message, span)
  return ANY
}

export function bindUnary({ operator, operand, span }: Unary, binder: ExpressionBinder): TypedExpression {
  if (operator === 'NOT') return booleanExpression({ kind: 'not', operand: binder.condition(operand) })
  return bindSign(operator, operand, span, binder)
}

function bindSign(operator: '-' | '+', ast: Expression, span: Span, binder: ExpressionBinder): TypedExpression {
  const { bound: operand, type } = binder.bind(ast)
  binder.expect(['number'], type, ast.span, `\`${operator}\``)
  if (operator === '+') {
    // Times 1 is the same number, and a fault for what is none.
    return { bound: { kind: 'binary', operator: '*', left: ONE, right: operand, span }, type: numberType(type, type) }
  }
  if (isConstant(operand)) {
    if (typeof operand.value === 'number') return constantExpression(0 - operand.value, type)
    if (operand.value instanceof Float) return constantExpression(new Float(-operand.value.value), type)
  }
  return { bound: { kind: 'negate', operand, span }, type: numberType(type, type) }
}

export function bindComparison(ast: Comparison, binder: ExpressionBinder): TypedExpression {
  const links: BoundExpression[] = []
  let left = binder.bind(ast.first).bound
  for (const { operator, operand } of ast.rest) {
    const right = binder.bind(operand).bound
    links.push({ kind: 'comparison', operator, left, right })
    left = right
  }
  return booleanExpression(links.length === 1 ? links[0]! : { kind: 'and', operands: links })
}

export function bindCase(ast: Case, binder: ExpressionBinder): TypedExpression {
  const subject = ast.subject && binder.bind(ast.subject).bound
  const types: StaticType[] = []
  const value = (expression: Expression): BoundExpression => {
    const typed = binder.bind(expression)
    types.push(typed.type)
    return typed.bound
  }
  const branches = ast.branches.map(({ when, then }) => ({
    when: subject ? binder.bind(when).bound : binder.condition(when),
    then: value(then),
  }))
  const otherwise = ast.otherwise && value(ast.otherwise)
  return { bound: { kind: 'case', subject, branches, otherwise }, type: unionType(types) }
}
