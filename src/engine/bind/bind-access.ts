// Names, and what is read of the thing that they name: properties, items, parts of lists, labels.
import type { IndexAccess, LabelTest, PropertyAccess, SliceAccess, Span } from '../../../grammar/ast.ts'
import { suggestion } from '../../kernel/suggest.ts'
import type { ElementField } from '../store.ts'
import { nodeField } from '../value/element-properties.ts'
import { ANY, staticType } from '../value/static-type.ts'
import { bindLabels } from './bind-labels.ts'
import type { BoundExpression, Slot } from './bound.ts'
import type { ExpressionBinder } from './expression-binder.ts'
import { booleanExpression, INVALID_EXPRESSION, type TypedExpression } from './typed-expression.ts'

export function bindVariable(name: string, span: Span, binder: ExpressionBinder): TypedExpression {
  const slot = binder.scope.lookup(name)
  if (!slot) {
    const message = `variable \`${name}\` is not defined${suggestion(name, binder.scope.names())}`
    binder.report('UndefinedVariable', message, span)
    return INVALID_EXPRESSION
  }
  return binder.slot(slot)
}

export function bindProperty(ast: PropertyAccess, binder: ExpressionBinder): TypedExpression {
  const { bound: target, type } = binder.bind(ast.target)
  const key = ast.key.text
  if (target.kind === 'parameter') {
    return { bound: { ...target, path: [...target.path, key], span: ast.span }, type: ANY }
  }
  // Ruling G4: `n.property` is all captured properties, so `n.property.x` is the captured property x.
  if (target.kind === 'element-properties') {
    return { bound: { kind: 'element-property', slot: target.slot, key, own: null }, type: ANY }
  }
  const slot = elementIn(target)
  if (slot) {
    if (key === 'property') return allProperties(slot)
    return { bound: { kind: 'element-property', slot, key, own: ownFieldOf(key, slot) }, type: ANY }
  }
  binder.expect(['map', 'node', 'relationship', 'temporal'], type, ast.target.span, `property \`${key}\``)
  return { bound: { kind: 'property', target, key, span: ast.span }, type: ANY }
}

/** The slot of the element that the expression is, where it is no more than that. */
export function elementIn(bound: BoundExpression): Slot | null {
  if (bound.kind !== 'slot') return null
  const { slot } = bound
  return slot.kind === 'node' || slot.kind === 'relationship' ? slot : null
}

export function allProperties(slot: Slot): TypedExpression {
  return { bound: { kind: 'element-properties', slot }, type: staticType('map') }
}

/** Ruling G4 gives own fields to nodes alone: `r.type` is a captured property, type(r) the relationship's type. */
export function ownFieldOf(key: string, slot: Slot): ElementField | null {
  return slot.kind === 'node' ? nodeField(key) : null
}

export function bindIndex(ast: IndexAccess, binder: ExpressionBinder): TypedExpression {
  const target = binder.bind(ast.target)
  const index = binder.bind(ast.index).bound
  const type = target.type.item ?? ANY
  return { bound: { kind: 'index', target: target.bound, index, span: ast.span }, type }
}

export function bindSlice(ast: SliceAccess, binder: ExpressionBinder): TypedExpression {
  const target = binder.bind(ast.target)
  binder.expect(['list'], target.type, ast.target.span, 'a slice')
  const from = ast.from && binder.bind(ast.from).bound
  const to = ast.to && binder.bind(ast.to).bound
  return { bound: { kind: 'slice', target: target.bound, from, to, span: ast.span }, type: target.type }
}

export function bindLabelTest(ast: LabelTest, binder: ExpressionBinder): TypedExpression {
  const target = binder.bind(ast.target)
  binder.expect(['node', 'relationship'], target.type, ast.target.span, 'a label test')
  return booleanExpression({ kind: 'label-test', target: target.bound, labels: bindLabels(ast.labels), span: ast.span })
}
