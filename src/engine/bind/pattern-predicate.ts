// What a pattern says of its elements beside their connection: labels, maps and WHERE, as predicates over their slots.
import type { Expression, LabelExpression, MapLiteral, Parameter, RelationshipPattern } from '../../../grammar/ast.ts'
import { ownFieldOf } from './bind-access.ts'
import { bindLabels } from './bind-labels.ts'
import type { BoundExpression, BoundRelationship, Slot } from './bound.ts'
import { slotsOf } from './expression-tree.ts'
import type { PatternBuilder } from './pattern-builder.ts'

/** A node that is bound and stands alone is matched as it is; null is no node, though no walk would find that out. */
export function notNullPredicates({ nodes, relationships }: PatternBuilder): BoundExpression[] {
  const walked = new Set(relationships.flatMap(({ left, right }) => [left, right]))
  return nodes.flatMap(({ slot, bound }, i) =>
    bound && !walked.has(i) ? [{ kind: 'null-test', operand: { kind: 'slot', slot }, negated: true }] : [],
  )
}

/** `a AND b` as [a, b]; anything else as itself. */
export function conjuncts(expression: BoundExpression): readonly BoundExpression[] {
  return expression.kind === 'and' ? expression.operands.flatMap(conjuncts) : [expression]
}

export function inlinePredicates(
  slot: Slot,
  properties: MapLiteral | Parameter | null,
  where: Expression | null,
  draft: PatternBuilder,
): void {
  if (properties) draft.deferredPredicates.push(() => mapPredicate(slot, properties, draft))
  if (where) draft.deferredPredicates.push(() => draft.bind(where, 'condition'))
}

/** What every relationship of a variable-length step must satisfy; inside WHERE the variable stands for one of them. */
export function eachPredicate(
  pattern: RelationshipPattern,
  testsTypes: boolean,
  draft: PatternBuilder,
): BoundRelationship['each'] {
  if (!testsTypes && !pattern.properties && !pattern.where) return null
  const { deps, scope } = draft
  const element = deps.newSlot(pattern.variable?.text ?? null, 'relationship')
  const operands: BoundExpression[] = []
  if (testsTypes && pattern.types) operands.push(labelPredicate(element, pattern.types))
  if (pattern.properties) operands.push(mapPredicate(element, pattern.properties, draft))
  if (pattern.where) {
    const inner = pattern.variable ? new Map(scope).set(pattern.variable.text, element) : scope
    operands.push(deps.bind(pattern.where, inner, 'condition'))
  }
  const predicate: BoundExpression = operands.length === 1 ? operands[0]! : { kind: 'and', operands }
  const outer = new Set([...deps.outer.values()].map((slot) => slot.index))
  const early = slotsOf(predicate).find((slot) => slot !== element && !outer.has(slot.index))
  if (early) {
    // The steps are taken one by one, and the other elements of the pattern may only be found after them.
    const message = `a variable-length relationship cannot read \`${early.name}\` of the same MATCH`
    draft.report('NotSupported', message, pattern.span)
  }
  return { element, predicate }
}

function mapPredicate(slot: Slot, map: MapLiteral | Parameter, draft: PatternBuilder): BoundExpression {
  if (map.kind === 'parameter') {
    const message = `parameter \`$${map.name}\` cannot be used as a property map in a pattern`
    draft.report('InvalidParameterUse', message, map.span)
    return { kind: 'constant', value: null }
  }
  const operands = map.entries.map(
    ({ key, value }): BoundExpression => ({
      kind: 'comparison',
      operator: '=',
      left: { kind: 'element-property', slot, key: key.text, own: ownFieldOf(key.text, slot) },
      right: draft.bind(value, 'column'),
    }),
  )
  return operands.length === 1 ? operands[0]! : { kind: 'and', operands }
}

export function labelPredicate(slot: Slot, labels: LabelExpression): BoundExpression {
  return { kind: 'label-test', target: { kind: 'slot', slot }, labels: bindLabels(labels), span: labels.span }
}

/** `A|B` as names; null where the expression is more than alternatives. */
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
