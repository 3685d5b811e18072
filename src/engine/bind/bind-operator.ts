// Binds operators, comparisons and CASE. Checks the static types of operands and derives the type of the result.
import type { Binary, Case, Comparison, Expression, Span, Unary } from '../../../grammar/ast.ts'
import { assertNever } from '../../kernel/assert.ts'
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
import type { BoundExpression, Slot } from './bound.ts'
import type { ExpressionBinder } from './expression-binder.ts'
import { booleanExpression, constantExpression, isConstant, type TypedExpression } from './typed-expression.ts'

const ONE: BoundExpression = { kind: 'constant', value: 1 }

/** A binary operator. AND and OR become one node with all their operands. */
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
    case '||':
      return { bound, type: concatenationType(left.type, right.type, ast.span, binder) }
    case '+':
      return { bound, type: additionType(left.type, right.type, ast.span, binder) }
    case '%':
    case '^':
    case '-':
    case '*':
    case '/': {
      const accepted: readonly StaticKind[] = operator === '%' || operator === '^' ? ['number'] : ['number', 'temporal']
      binder.expect(accepted, left.type, ast.left.span, `\`${operator}\``)
      binder.expect(accepted, right.type, ast.right.span, `\`${operator}\``)
      return { bound, type: operator === '^' ? staticType('float') : arithmeticType(operator, left.type, right.type) }
    }
    default:
      return assertNever(operator)
  }
}

/** The tree of `a AND b AND c` is left-deep. A loop walks it, so the length of a conjunction is not limited by the stack. */
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

/** Reports a constant regular expression that is invalid or not linear. */
function checkPattern(bound: BoundExpression, span: Span, binder: ExpressionBinder): void {
  if (bound.kind !== 'constant' || typeof bound.value !== 'string') return
  const compiled = compileRegex(bound.value)
  if (!compiled.ok) binder.report('InvalidRegularExpression', `invalid regular expression: ${compiled.error}`, span)
}

function concatenationType(left: StaticType, right: StaticType, span: Span, binder: ExpressionBinder): StaticType {
  const kind = (['list', 'string'] as const).find((each) => left.kind === each || right.kind === each)
  if (kind === undefined) {
    binder.expect(['string', 'list'], left, span, '`||`')
    binder.expect(['string', 'list'], right, span, '`||`')
    return ANY
  }
  const fits = binder.expect([kind], left, span, '`||`') && binder.expect([kind], right, span, '`||`')
  return fits ? staticType(kind) : ANY
}

function additionType(left: StaticType, right: StaticType, span: Span, binder: ExpressionBinder): StaticType {
  const type = sumType(left, right)
  if (type !== null) return type
  const message = `\`+\` cannot be applied to ${kindWithArticle(left.kind)} and ${kindWithArticle(right.kind)}`
  binder.report('InvalidArgumentType', message, span)
  return ANY
}

/** NOT, unary minus, unary plus. */
export function bindUnary({ operator, operand, span }: Unary, binder: ExpressionBinder): TypedExpression {
  if (operator === 'NOT') return booleanExpression({ kind: 'not', operand: binder.condition(operand) })
  return bindSign(operator, operand, span, binder)
}

function bindSign(operator: '-' | '+', ast: Expression, span: Span, binder: ExpressionBinder): TypedExpression {
  const { bound: operand, type } = binder.bind(ast)
  binder.expect(['number'], type, ast.span, `\`${operator}\``)
  if (operator === '+') {
    // A product with 1 is the same number, and an error for a value that is no number.
    return { bound: { kind: 'binary', operator: '*', left: ONE, right: operand, span }, type: numberType(type, type) }
  }
  if (isConstant(operand)) {
    if (typeof operand.value === 'number') return constantExpression(0 - operand.value, type)
    if (operand.value instanceof Float) return constantExpression(new Float(-operand.value.value), type)
  }
  return { bound: { kind: 'negate', operand, span }, type: numberType(type, type) }
}

/** `a < b <= c`: each link becomes one comparison. */
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

/** CASE with or without a subject. */
export function bindCase(ast: Case, binder: ExpressionBinder): TypedExpression {
  const subject = ast.subject && binder.bind(ast.subject)
  const types: StaticType[] = []
  const value = (expression: Expression): BoundExpression => {
    const typed = binder.bind(expression)
    types.push(typed.type)
    return typed.bound
  }
  const isPlain = ast.branches.every(({ when }) => when.length === 1 && !beginsWithSubject(when[0]!))
  let variable: Slot | null = null
  let conditions: readonly BoundExpression[]
  if (subject === null) conditions = ast.branches.map(({ when }) => binder.condition(when[0]!))
  else if (isPlain) conditions = ast.branches.map(({ when }) => binder.bind(when[0]!).bound)
  else {
    conditions = binder.overItems(CASE_OPERAND, subject.type, (inner, slot) => {
      variable = slot
      return ast.branches.map(({ when }) => anyTest(when, slot, inner))
    })
  }
  const branches = ast.branches.map(({ then }, i) => ({ when: conditions[i]!, then: value(then) }))
  const otherwise = ast.otherwise && value(ast.otherwise)
  const bound = { kind: 'case', subject: subject?.bound ?? null, variable, branches, otherwise } as const
  return { bound, type: unionType(types) }
}

/** The name of the subject of CASE in the scope of its tests. No text can write it without back-ticks. */
export const CASE_OPERAND = 'case operand'

/** Whether a test of CASE is a condition on the subject, such as `> 5`, and not a value. */
function beginsWithSubject(test: Expression): boolean {
  switch (test.kind) {
    case 'comparison':
      return test.first.kind === 'case-operand'
    case 'binary':
      return test.left.kind === 'case-operand'
    case 'null-test':
    case 'value-test':
      return test.operand.kind === 'case-operand'
    default:
      return false
  }
}

/** `WHEN 1, > 5`: whether the subject in the slot passes one of the tests. */
function anyTest(tests: readonly Expression[], slot: Slot, binder: ExpressionBinder): BoundExpression {
  const operands = tests.map((test): BoundExpression => {
    const { bound } = binder.bind(test)
    return beginsWithSubject(test)
      ? bound
      : { kind: 'comparison', operator: '=', left: { kind: 'slot', slot }, right: bound }
  })
  return operands.length === 1 ? operands[0]! : { kind: 'or', operands }
}
