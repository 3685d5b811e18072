// Binds map literals and map projections.
import type { Expression, MapLiteral, MapProjection } from '../../../grammar/ast.ts'
import { MAP_PROJECTION } from '../value/functions/function-table.ts'
import { staticType } from '../value/static-type.ts'
import { bindVariable } from './bind-access.ts'
import type { BoundExpression } from './bound.ts'
import type { ExpressionBinder } from './expression-binder.ts'
import { type Constant, constantExpression, INVALID_EXPRESSION, type TypedExpression } from './typed-expression.ts'

interface BoundMapEntry {
  readonly key: string
  readonly value: BoundExpression
}

/** A map literal; a map of constants is a constant. */
export function bindMap(ast: MapLiteral, binder: ExpressionBinder): TypedExpression {
  return mapOf(ast.entries.map(({ key, value }) => ({ key: key.text, value: binder.bind(value).bound })))
}

/** A map expression, or a constant if all values are constants. */
function mapOf(entries: readonly BoundMapEntry[]): TypedExpression {
  const type = staticType('map')
  if (entries.every((entry) => entry.value.kind === 'constant')) {
    return constantExpression(new Map(entries.map(({ key, value }) => [key, (value as Constant).value])), type)
  }
  return { bound: { kind: 'map', entries }, type }
}

/** `n {.a, b: 1, c, .*}`: null if `n` is null. With `.*` all properties are included, and the entries override them. */
export function bindMapProjection(ast: MapProjection, binder: ExpressionBinder): TypedExpression {
  const { text: name, span } = ast.variable
  const base = bindVariable(name, span, binder)
  if (!binder.expect(['map', 'node', 'relationship'], base.type, span, 'a map projection')) return INVALID_EXPRESSION
  const target: Expression = { kind: 'variable', name, span }
  let all = false
  const entries: BoundMapEntry[] = []
  for (const item of ast.items) {
    if (item.kind === 'all') all = true
    else if (item.kind === 'entry') entries.push({ key: item.key.text, value: binder.bind(item.value).bound })
    else if (item.kind === 'variable') {
      const { text, span } = item.variable
      entries.push({ key: text, value: bindVariable(text, span, binder).bound })
    } else {
      const value = binder.bind({ kind: 'property', target, key: item.key, span: item.span }).bound
      entries.push({ key: item.key.text, value })
    }
  }
  const args: BoundExpression[] = [base.bound, mapOf(entries).bound, { kind: 'constant', value: all }]
  return { bound: { kind: 'function', name: MAP_PROJECTION, args, span: ast.span }, type: staticType('map') }
}
