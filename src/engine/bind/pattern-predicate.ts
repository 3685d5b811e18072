// Turns the labels, maps and WHERE inside a pattern into predicates over the slots of its elements.
import type { Expression, LabelExpression, MapLiteral, Parameter, RelationshipPattern } from '../../../grammar/ast.ts'
import { elementKindOf, ownFieldOf } from './bind-access.ts'
import { bindLabels } from './bind-labels.ts'
import type { BoundExpression, BoundRelationship, Slot } from './bound.ts'
import { slotsOf } from './expression-tree.ts'
import type { PatternBuilder } from './pattern-builder.ts'

/** Tests that a bound node without relationships is not null. For other nodes the expansion tests it. */
export function notNullPredicates({ nodes, relationships }: PatternBuilder): BoundExpression[] {
  const walked = new Set(relationships.flatMap(({ left, right }) => [left, right]))
  return nodes.flatMap(({ slot, bound }, i) =>
    bound && !walked.has(i) ? [{ kind: 'null-test', operand: { kind: 'slot', slot }, negated: true }] : [],
  )
}

/** `a AND b` → [a, b]; any other expression → the expression alone. */
export function conjuncts(expression: BoundExpression): readonly BoundExpression[] {
  return expression.kind === 'and' ? expression.operands.flatMap(conjuncts) : [expression]
}

/** Adds the predicates of the map and the WHERE inside the brackets of an element. */
export function inlinePredicates(
  slot: Slot,
  properties: MapLiteral | Parameter | null,
  where: Expression | null,
  builder: PatternBuilder,
): void {
  if (properties) builder.deferredPredicates.push(() => mapPredicate(slot, properties, builder))
  if (where) builder.deferredPredicates.push(() => builder.bind(where, 'condition'))
}

/** The predicate on every relationship of a variable-length step. In its WHERE the variable is a single relationship. */
export function eachPredicate(
  pattern: RelationshipPattern,
  testsTypes: boolean,
  builder: PatternBuilder,
): BoundRelationship['each'] {
  if (!testsTypes && !pattern.properties && !pattern.where) return null
  const { deps, scope } = builder
  const element = deps.newSlot(pattern.variable?.text ?? null, 'relationship')
  const operands: BoundExpression[] = []
  if (testsTypes && pattern.types) operands.push(labelPredicate(element, pattern.types, labelScope(builder)))
  if (pattern.properties) operands.push(mapPredicate(element, pattern.properties, builder))
  if (pattern.where) {
    const inner = pattern.variable ? new Map(scope).set(pattern.variable.text, element) : scope
    operands.push(deps.bind(pattern.where, inner, 'condition'))
  }
  const predicate: BoundExpression = operands.length === 1 ? operands[0]! : { kind: 'and', operands }
  const outer = new Set([...deps.outer.values()].map((slot) => slot.index))
  const early = slotsOf(predicate).find((slot) => slot !== element && !outer.has(slot.index))
  if (early) {
    // The predicate runs at every step, and the other elements of the pattern may be known only afterwards.
    const message = `a variable-length relationship cannot read \`${early.name}\` of the same MATCH: match it in a MATCH before this one`
    builder.report('NotSupported', message, pattern.span)
  }
  return { element, left: null, right: null, predicate }
}

function mapPredicate(slot: Slot, map: MapLiteral | Parameter, builder: PatternBuilder): BoundExpression {
  if (map.kind === 'parameter') {
    const message = `parameter \`$${map.name}\` cannot be used as a property map in a pattern`
    builder.report('InvalidParameterUse', message, map.span)
    return { kind: 'constant', value: null }
  }
  const operands = map.entries.map(({ key, value }): BoundExpression => {
    const own = ownFieldOf(key.text, slot)
    if (own === null) {
      builder.deps.nameSymbol({
        kind: 'property',
        name: key.text,
        span: key.span,
        variable: slot.name,
        element: elementKindOf(slot),
      })
    }
    return {
      kind: 'comparison',
      operator: '=',
      left: { kind: 'element-property', slot, key: key.text, own },
      right: builder.bind(value, 'column'),
    }
  })
  return operands.length === 1 ? operands[0]! : { kind: 'and', operands }
}

/** The label test of a slot. */
export function labelPredicate(slot: Slot, labels: LabelExpression, { bind }: LabelScope): BoundExpression {
  const bound = bindLabels(labels, bind)
  return { kind: 'label-test', target: { kind: 'slot', slot }, labels: bound, span: labels.span }
}

/** Where the expressions of dynamic labels are bound. */
interface LabelScope {
  bind(expression: Expression): BoundExpression
}

/** The scope of a pattern for its dynamic labels. */
export function labelScope(builder: PatternBuilder): LabelScope {
  return { bind: (expression) => builder.bind(expression, 'column') }
}

/** The names in `A|B`; null if the expression is not only alternatives. */
export function typeAlternatives(labels: LabelExpression): readonly string[] | null {
  if (labels.kind === 'label') return [labels.name]
  if (labels.kind !== 'label-or') return null
  const names = new Set<string>()
  for (const operand of labels.operands) {
    const inner = typeAlternatives(operand)
    if (!inner) return null
    for (const name of inner) names.add(name)
  }
  return [...names]
}
