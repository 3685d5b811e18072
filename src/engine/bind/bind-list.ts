// Binds list literals and what iterates over a list: comprehensions, quantifiers, reduce().
import type { Expression, ListComprehension, Quantifier, Reduce } from '../../../grammar/ast.ts'
import { ANY, type StaticType, staticType, unionType } from '../value/static-type.ts'
import type { BoundExpression } from './bound.ts'
import type { ExpressionBinder } from './expression-binder.ts'
import {
  booleanExpression,
  constantExpression,
  INVALID_EXPRESSION,
  isConstant,
  type TypedExpression,
} from './typed-expression.ts'

/** A list literal; a list of constants is a constant. */
export function bindList(asts: readonly Expression[], binder: ExpressionBinder): TypedExpression {
  const typed = asts.map((item) => binder.bind(item))
  const type = staticType('list', unionType(typed.map((item) => item.type)))
  const items = typed.map((item) => item.bound)
  if (items.every(isConstant)) {
    const values = items.map((item) => item.value)
    return constantExpression(values, type)
  }
  return { bound: { kind: 'list', items }, type }
}

/** `[x IN list WHERE … | …]`. */
export function bindListComprehension(ast: ListComprehension, binder: ExpressionBinder): TypedExpression {
  const { list, item } = listOf(ast.list, 'a list comprehension', binder)
  return binder.overItems(ast.variable.text, item, (inner, variable) => {
    const where = ast.where && inner.condition(ast.where)
    const projected = ast.projection && inner.bind(ast.projection)
    const projection = projected?.bound ?? null
    return {
      bound: { kind: 'list-comprehension', variable, list, where, projection, span: ast.span },
      type: staticType('list', projected ? projected.type : item),
    }
  })
}

/** `all(x IN list WHERE …)`, `any`, `none`, `single`. Reports a missing WHERE. */
export function bindQuantifier(ast: Quantifier, binder: ExpressionBinder): TypedExpression {
  const { quantifier, span } = ast
  const { list, item } = listOf(ast.list, `${quantifier}()`, binder)
  const condition = ast.where
  if (!condition) {
    binder.report('UnexpectedSyntax', `${quantifier}() needs WHERE and a condition`, span)
    return INVALID_EXPRESSION
  }
  return binder.overItems(ast.variable.text, item, (inner, variable) => {
    const where = inner.condition(condition)
    return booleanExpression({ kind: 'quantifier', quantifier, variable, list, where, span })
  })
}

/** `reduce(accumulator = initial, x IN list | …)`, and `allReduce` with its condition. */
export function bindReduce(ast: Reduce, binder: ExpressionBinder): TypedExpression {
  const initial = binder.bind(ast.initial).bound
  const { list, item } = listOf(ast.list, ast.condition === null ? 'reduce()' : 'allReduce()', binder)
  // The type of the accumulator may change from step to step, so it is unknown.
  return binder.overItems(ast.accumulator.text, ANY, (outer, accumulator) =>
    outer.overItems(ast.variable.text, item, (inner, variable) => {
      const expression = inner.bind(ast.expression).bound
      const condition = ast.condition && outer.condition(ast.condition)
      const bound = {
        kind: 'reduce',
        accumulator,
        initial,
        variable,
        list,
        expression,
        condition,
        span: ast.span,
      } as const
      return condition === null ? { bound, type: ANY } : booleanExpression(bound)
    }),
  )
}

function listOf(
  ast: Expression,
  what: string,
  binder: ExpressionBinder,
): { readonly list: BoundExpression; readonly item: StaticType } {
  const { bound: list, type } = binder.bind(ast)
  binder.expect(['list'], type, ast.span, what)
  return { list, item: type.item ?? ANY }
}
