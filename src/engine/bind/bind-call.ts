// Binds calls: functions, aggregates, and exists(). Checks the name, the number of arguments and their static types.
import type { Expression, FunctionCall, Span } from '../../../grammar/ast.ts'
import { suggestion } from '../../../grammar/suggest.ts'
import { asNormalForm } from '../../../grammar/value-types.ts'
import { walkTree } from '../../../grammar/walk.ts'
import { aggregateNames, findAggregate } from '../value/aggregate-signatures.ts'
import { refusedFunctions } from '../value/functions/function.ts'
import { findFunction, functionNames } from '../value/functions/function-table.ts'
import { ANY, staticType } from '../value/static-type.ts'
import { allProperties, elementIn } from './bind-access.ts'
import type { ExpressionBinder } from './expression-binder.ts'
import { booleanExpression, INVALID_EXPRESSION, type TypedExpression } from './typed-expression.ts'

/** Whether an expression aggregates rows, or a subquery inside of it does. */
export function hasAggregate(expression: Expression): boolean {
  let found = false
  walkTree(expression, (node) => {
    const isFunction = node.kind === 'function' && findAggregate(node.name.text) !== undefined
    if (node.kind === 'count-star' || isFunction) found = true
  })
  return found
}

/** A call → the function, aggregate or test that it names. Reports unknown names and wrong arguments. */
export function bindCall(ast: FunctionCall, binder: ExpressionBinder): TypedExpression {
  const name = ast.name.text
  const aggregate = findAggregate(name)
  if (aggregate) {
    if (!hasArity(aggregate.name, aggregate.argCount, aggregate.argCount, ast, binder)) return INVALID_EXPRESSION
    return bindAggregate(aggregate.name, ast.distinct, ast.args, ast.span, binder)
  }
  if (ast.distinct)
    binder.report('UnexpectedSyntax', `DISTINCT is only allowed in aggregates, not in ${name}()`, ast.span)
  if (name.toLowerCase() === 'exists') return existsCall(ast, binder)
  const entry = findFunction(name)
  if (!entry) {
    const reason = refusedFunctions.get(name.toLowerCase())
    if (reason !== undefined) {
      binder.report('NotSupported', `${name}() is not supported: ${reason}`, ast.name.span)
      return INVALID_EXPRESSION
    }
    const known = [...functionNames(), ...aggregateNames()]
    binder.report('UnknownFunction', `unknown function \`${name}\`${suggestion(name, known)}`, ast.name.span)
    return INVALID_EXPRESSION
  }
  if (!hasArity(entry.name, entry.argsMin, entry.argsMax, ast, binder)) return INVALID_EXPRESSION
  if (!entry.pure) {
    binder.isPure = false
    if (!binder.scope.allowsImpure) {
      const message = `${entry.name}() is not allowed in a decision: its value differs for the same input`
      binder.report('NondeterministicFunction', message, ast.span)
    }
  }
  const args = ast.args.map((arg, i) => {
    if (entry.name === 'normalize' && i === 1) arg = normalFormName(arg)
    const { bound, type } = binder.bind(arg)
    binder.expect(entry.parameterKinds[i] ?? ['any'], type, arg.span, `${entry.name}()`)
    return bound
  })
  const element = entry.name === 'properties' && args[0] ? elementIn(args[0]) : null
  if (element) return allProperties(element)
  return { bound: { kind: 'function', name: entry.name, args, span: ast.span }, type: entry.resultType }
}

/** The second argument of normalize() is a keyword: `NFC`, `NFD`, `NFKC` or `NFKD`. */
function normalFormName(arg: Expression): Expression {
  const form = arg.kind === 'variable' ? asNormalForm(arg.name) : null
  return form === null ? arg : { kind: 'string', value: form, span: arg.span }
}

function hasArity(name: string, min: number, max: number, ast: FunctionCall, binder: ExpressionBinder): boolean {
  const given = ast.args.length
  if (given >= min && given <= max) return true
  const wanted = min === max ? String(min) : max === Number.POSITIVE_INFINITY ? `${min} or more` : `${min} to ${max}`
  const noun = wanted === '1' ? 'argument' : 'arguments'
  binder.report('InvalidNumberOfArguments', `${name}() takes ${wanted} ${noun}, not ${given}`, ast.span)
  return false
}

/** `exists(n.x)` tests that the property is not null, `exists((n)-->())` that the pattern has a match. */
function existsCall(ast: FunctionCall, binder: ExpressionBinder): TypedExpression {
  if (!hasArity('exists', 1, 1, ast, binder)) return INVALID_EXPRESSION
  const arg = ast.args[0]!
  if (arg.kind === 'pattern-predicate') return binder.pattern(arg.pattern, ast.span)
  if (arg.kind !== 'property' && arg.kind !== 'index') {
    binder.report('InvalidArgumentType', 'exists() takes a property or a pattern', arg.span)
    return INVALID_EXPRESSION
  }
  return booleanExpression({ kind: 'null-test', operand: binder.bind(arg).bound, negated: true })
}

/** An aggregate call → the slot of its result. Reports an aggregate where none is allowed. */
export function bindAggregate(
  name: string,
  distinct: boolean,
  args: readonly Expression[],
  span: Span,
  binder: ExpressionBinder,
): TypedExpression {
  const register = binder.scope.aggregates
  if (!register) {
    if (binder.insideAggregate)
      binder.report('NestedAggregation', `${name}() cannot be nested in another aggregate`, span)
    else binder.report('InvalidAggregation', `${name}() is not allowed here: use aggregates in WITH or RETURN`, span)
    return INVALID_EXPRESSION
  }
  const inner = binder.ofArguments()
  const [argument = null, parameter = null] = args.map((arg) => inner.bind(arg).bound)
  if (!inner.isPure) {
    binder.report('NonConstantExpression', `${name}() cannot aggregate a random or changing value`, span)
  }
  const slot = register({ name, distinct, argument, parameter })
  const type = name === 'count' ? staticType('integer') : name === 'collect' ? staticType('list') : ANY
  return { bound: { kind: 'slot', slot }, type }
}
