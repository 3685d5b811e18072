// Binds variables and what is read from a value: properties, list items, slices, labels.
import type { IndexAccess, LabelTest, PropertyAccess, SliceAccess, Span } from '../../../grammar/ast.ts'
import { suggestion } from '../../../grammar/suggest.ts'
import { Float } from '../../kernel/float.ts'
import type { ElementField } from '../store.ts'
import { nodeField } from '../value/element-properties.ts'
import { ANY, type StaticKind, staticType } from '../value/static-type.ts'
import { bindLabels, labelNames } from './bind-labels.ts'
import type { BoundExpression, NamedSymbol, Slot } from './bound.ts'
import type { ExpressionBinder } from './expression-binder.ts'
import { isScoreVariable, scoreRead } from './score-expression.ts'
import { booleanExpression, constantExpression, INVALID_EXPRESSION, type TypedExpression } from './typed-expression.ts'

/** Floats that a name denotes unless a variable has it. */
const NAMED_FLOATS: ReadonlyMap<string, number> = new Map([
  ['INF', Number.POSITIVE_INFINITY],
  ['INFINITY', Number.POSITIVE_INFINITY],
  ['NAN', Number.NaN],
])

/** A variable → its slot. Reports `UndefinedVariable`, with a suggestion, if it is not in scope. */
export function bindVariable(name: string, span: Span, binder: ExpressionBinder): TypedExpression {
  const slot = binder.scope.lookup(name)
  if (!slot) {
    const constant = NAMED_FLOATS.get(name.toUpperCase())
    if (constant !== undefined) return constantExpression(new Float(constant), staticType('float'))
    const message = `variable \`${name}\` is not defined${suggestion(name, binder.scope.names())}`
    binder.report('UndefinedVariable', message, span)
    return INVALID_EXPRESSION
  }
  return binder.slot(slot)
}

/** `target.key`. For an element in a slot, the key is resolved to a built-in field or a captured property. */
export function bindProperty(ast: PropertyAccess, binder: ExpressionBinder): TypedExpression {
  const score = scoreRead(ast, binder)
  if (score !== null) return binder.bind(score)
  const { bound: target, type } = binder.bind(ast.target)
  const key = ast.key.text
  if (target.kind === 'parameter') {
    return { bound: { ...target, path: [...target.path, key], span: ast.span }, type: ANY }
  }
  // `n.property` is all captured properties, so `n.property.x` is the captured property x.
  if (target.kind === 'element-properties') {
    nameProperty(ast, target.slot, binder)
    return { bound: { kind: 'element-property', slot: target.slot, key, own: null }, type: ANY }
  }
  const slot = elementIn(target)
  if (slot) {
    if (key === 'property') return allProperties(slot)
    const own = ownFieldOf(key, slot)
    if (own === null) nameProperty(ast, slot, binder)
    return { bound: { kind: 'element-property', slot, key, own }, type: ANY }
  }
  binder.expect(['map', 'node', 'relationship', 'temporal'], type, ast.target.span, `property \`${key}\``)
  const elementKind = type.kind === 'node' || type.kind === 'relationship' ? type.kind : null
  if (elementKind !== null && key !== 'property' && nodeField(key) === null) {
    binder.nameSymbol({ kind: 'property', name: key, span: ast.key.span, variable: null, element: elementKind })
  }
  return { bound: { kind: 'property', target, key, span: ast.span }, type: ANY }
}

/** Records that the text names a captured property. */
function nameProperty({ key }: PropertyAccess, slot: Slot, binder: ExpressionBinder): void {
  if (isScoreVariable(slot.name)) return
  binder.nameSymbol({
    kind: 'property',
    name: key.text,
    span: key.span,
    variable: slot.name,
    element: elementKindOf(slot),
  })
}

/** The kind of element that a slot holds in each row; null if rows differ, or for another value. */
export function elementKindOf({ kind }: Slot): NamedSymbol['element'] {
  return kind === 'node' || kind === 'relationship' ? kind : null
}

/** The slot of the node or relationship, if the expression is only this variable; otherwise null. */
export function elementIn(bound: BoundExpression): Slot | null {
  if (bound.kind !== 'slot') return null
  const { slot } = bound
  return slot.kind === 'node' || slot.kind === 'relationship' ? slot : null
}

/** All captured properties of the element in a slot, as a map. */
export function allProperties(slot: Slot): TypedExpression {
  return { bound: { kind: 'element-properties', slot }, type: staticType('map') }
}

/**
 * The built-in field of a node that a key names, or null. Only nodes have such fields: for a relationship `r.type` is a
 * captured property, and `type(r)` is its type (docs/decisions/0004-element-fields-and-values.md).
 */
export function ownFieldOf(key: string, slot: Slot): ElementField | null {
  return slot.kind === 'node' ? nodeField(key) : null
}

/** `target[index]`. */
export function bindIndex(ast: IndexAccess, binder: ExpressionBinder): TypedExpression {
  const target = binder.bind(ast.target)
  const index = binder.bind(ast.index).bound
  const type = target.type.item ?? ANY
  return { bound: { kind: 'index', target: target.bound, index, span: ast.span }, type }
}

/** `target[from..to]`. Reports `InvalidArgumentType` if the target cannot be a list. */
export function bindSlice(ast: SliceAccess, binder: ExpressionBinder): TypedExpression {
  const target = binder.bind(ast.target)
  binder.expect(['list'], target.type, ast.target.span, 'a slice')
  const from = ast.from && binder.bind(ast.from).bound
  const to = ast.to && binder.bind(ast.to).bound
  return { bound: { kind: 'slice', target: target.bound, from, to, span: ast.span }, type: target.type }
}

/** `n:Label`. Reports `InvalidArgumentType` if the target cannot be an element. */
export function bindLabelTest(ast: LabelTest, binder: ExpressionBinder): TypedExpression {
  const target = binder.bind(ast.target)
  binder.expect(['node', 'relationship'], target.type, ast.target.span, 'a label test')
  const kinds: Partial<Record<StaticKind, 'label' | 'type'>> = { node: 'label', relationship: 'type' }
  const kind = kinds[target.type.kind]
  if (kind !== undefined) {
    const variable = elementIn(target.bound)?.name ?? null
    for (const { name, span } of labelNames(ast.labels)) {
      binder.nameSymbol({ kind, name, span, variable, element: null })
      if (kind === 'label' || !binder.scope.isDerived(name)) continue
      const message = `\`${name}\` is derived by a definition: no stored relationship is one, so test the pair of nodes by a pattern`
      binder.report('InvalidDerivedRelationship', message, span)
    }
  }
  const labels = bindLabels(ast.labels, (expression) => binder.bind(expression).bound)
  return booleanExpression({ kind: 'label-test', target: target.bound, labels, span: ast.span })
}
