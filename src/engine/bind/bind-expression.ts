// Binds the expressions of the syntax tree: resolves variables to slots, checks functions and aggregates, and reports what
// could never run with its place in the text. Every kind of expression is either bound or reported.
import type { Expression } from '../../../grammar/ast.ts'
import { assertNever } from '../../kernel/assert.ts'
import { Float } from '../../kernel/float.ts'
import { ANY, staticType } from '../value/static-type.ts'
import { bindIndex, bindLabelTest, bindProperty, bindSlice, bindVariable } from './bind-access.ts'
import { bindAggregate, bindCall } from './bind-call.ts'
import { bindList, bindListComprehension, bindQuantifier, bindReduce } from './bind-list.ts'
import { bindMap, bindMapProjection } from './bind-map.ts'
import { bindBinary, bindCase, bindComparison, bindUnary, CASE_OPERAND } from './bind-operator.ts'
import type { BoundExpression } from './bound.ts'
import { ExpressionBinder } from './expression-binder.ts'
import type { ExpressionPosition, ExpressionScope } from './expression-scope.ts'
import { booleanExpression, constantExpression, INVALID_EXPRESSION, type TypedExpression } from './typed-expression.ts'

/** Binds an expression. Diagnostics go to the scope; an expression with a diagnostic must not be executed. */
export function bindExpression(
  ast: Expression,
  scope: ExpressionScope,
  position: ExpressionPosition = 'open',
): BoundExpression {
  return bindTyped(ast, scope, position).bound
}

/** Binds an expression and returns its static type too. */
export function bindTyped(
  ast: Expression,
  scope: ExpressionScope,
  position: ExpressionPosition = 'open',
): TypedExpression {
  return new ExpressionBinder(scope, bindKind).bindAt(ast, position)
}

function bindKind(ast: Expression, binder: ExpressionBinder): TypedExpression {
  const { scope } = binder
  switch (ast.kind) {
    case 'integer':
      return constantExpression(ast.value, staticType('integer'))
    case 'float':
      return constantExpression(new Float(ast.value), staticType('float'))
    case 'string':
      return constantExpression(ast.value, staticType('string'))
    case 'boolean':
      return constantExpression(ast.value, staticType('boolean'))
    case 'null':
      return constantExpression(null, staticType('null'))
    case 'list':
      return bindList(ast.items, binder)
    case 'map':
      return bindMap(ast, binder)
    case 'parameter':
      scope.parameter(ast.name, ast.span)
      return { bound: { kind: 'parameter', name: ast.name, path: [], span: ast.span }, type: ANY }
    case 'variable':
      return bindVariable(ast.name, ast.span, binder)
    case 'property':
      return bindProperty(ast, binder)
    case 'index':
      return bindIndex(ast, binder)
    case 'slice':
      return bindSlice(ast, binder)
    case 'label-test':
      return bindLabelTest(ast, binder)
    case 'binary':
      return bindBinary(ast, binder)
    case 'comparison':
      return bindComparison(ast, binder)
    case 'unary':
      return bindUnary(ast, binder)
    case 'null-test':
      return booleanExpression({ kind: 'null-test', operand: binder.bind(ast.operand).bound, negated: ast.negated })
    case 'value-test': {
      const operand = binder.bind(ast.operand).bound
      return booleanExpression({ kind: 'value-test', operand, test: ast.test, negated: ast.negated })
    }
    case 'case':
      return bindCase(ast, binder)
    case 'case-operand':
      return bindVariable(CASE_OPERAND, ast.span, binder)
    case 'function':
      return bindCall(ast, binder)
    case 'count-star':
      return bindAggregate('count', false, [], ast.span, binder)
    case 'list-comprehension':
      return bindListComprehension(ast, binder)
    case 'quantifier':
      return bindQuantifier(ast, binder)
    case 'reduce':
      return bindReduce(ast, binder)
    case 'map-projection':
      return bindMapProjection(ast, binder)
    case 'exists':
      return booleanExpression(scope.exists(ast.body, ast.span))
    case 'pattern-predicate':
      binder.report('UnexpectedSyntax', 'a pattern is only allowed where a condition is expected', ast.span)
      return INVALID_EXPRESSION
    case 'pattern-comprehension':
      return { bound: scope.comprehension(ast), type: staticType('list') }
    case 'count-subquery':
      return { bound: scope.count(ast.body, ast.span), type: staticType('integer') }
    case 'collect-subquery':
      return { bound: scope.collect(ast.query, ast.span), type: staticType('list') }
    default:
      return assertNever(ast)
  }
}
