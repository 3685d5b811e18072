// Expressions of the text → bound expressions: variables become slots, functions and aggregates are checked words, and
// what could never run is refused with its place in the text. Every kind of expression is either bound or refused.
import type { Expression } from '../../../grammar/ast.ts'
import { unreachable } from '../../kernel/assert.ts'
import { Float } from '../../kernel/float.ts'
import { ANY, typeOf } from '../value/static-type.ts'
import { bindIndex, bindLabelTest, bindProperty, bindSlice, bindVariable } from './bind-access.ts'
import { bindAggregate, bindCall } from './bind-call.ts'
import { bindList, bindListComprehension, bindQuantifier, bindReduce } from './bind-list.ts'
import { bindMap, bindMapProjection } from './bind-map.ts'
import { bindBinary, bindCase, bindComparison, bindUnary } from './bind-operator.ts'
import type { BoundExpression } from './bound.ts'
import { ExpressionBinder } from './expression-binder.ts'
import type { ExpressionScope, Place } from './scope.ts'
import { constant, NOTHING, type Typed, truth } from './typed.ts'

/** Issues go to the scope; what is returned beside an issue is not to be run. */
export function bindExpression(ast: Expression, scope: ExpressionScope, place: Place = 'open'): BoundExpression {
  return bindTyped(ast, scope, place).bound
}

/** With what is known of the value before there is one. */
export function bindTyped(ast: Expression, scope: ExpressionScope, place: Place = 'open'): Typed {
  return new ExpressionBinder(scope, bindKind).bindAt(ast, place)
}

function bindKind(ast: Expression, binder: ExpressionBinder): Typed {
  const { scope } = binder
  switch (ast.kind) {
    case 'integer':
      return constant(ast.value, typeOf('integer'))
    case 'float':
      return constant(new Float(ast.value), typeOf('float'))
    case 'string':
      return constant(ast.value, typeOf('string'))
    case 'boolean':
      return constant(ast.value, typeOf('boolean'))
    case 'null':
      return constant(null, typeOf('null'))
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
      return truth({ kind: 'null-test', operand: binder.bind(ast.operand).bound, negated: ast.negated })
    case 'case':
      return bindCase(ast, binder)
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
      return truth(scope.exists(ast.body, ast.span))
    case 'pattern-predicate':
      binder.report('UnexpectedSyntax', 'a pattern can only stand where a condition is expected', ast.span)
      return NOTHING
    case 'pattern-comprehension':
      return { bound: scope.comprehension(ast), type: typeOf('list') }
    case 'count-subquery':
      return { bound: scope.count(ast.body, ast.span), type: typeOf('integer') }
    case 'collect-subquery':
      return { bound: scope.collect(ast.query, ast.span), type: typeOf('list') }
    default:
      return unreachable(ast)
  }
}
