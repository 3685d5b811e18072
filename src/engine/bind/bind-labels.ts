// Binds label expressions, for label tests and for patterns.
import type { Expression, LabelExpression, LabelName } from '../../../grammar/ast.ts'
import { assertNever } from '../../kernel/assert.ts'
import type { BoundExpression, BoundLabels, Slot } from './bound.ts'

/** The label expression without its spans. `bind` binds the expressions of dynamic labels. */
export function bindLabels(labels: LabelExpression, bind: (expression: Expression) => BoundExpression): BoundLabels {
  switch (labels.kind) {
    case 'label':
      return { kind: 'label', name: labels.name }
    case 'label-and':
    case 'label-or':
      return { kind: labels.kind, operands: labels.operands.map((operand) => bindLabels(operand, bind)) }
    case 'label-not':
      return { kind: 'label-not', operand: bindLabels(labels.operand, bind) }
    case 'label-any':
      return { kind: 'label-any' }
    case 'label-dynamic': {
      const { quantifier, expression, span } = labels
      return { kind: 'label-dynamic', quantifier, expression: bind(expression), span }
    }
    default:
      return assertNever(labels)
  }
}

/** The same labels with the expression of each dynamic label replaced. */
export function mapLabelExpressions(
  labels: BoundLabels,
  change: (expression: BoundExpression) => BoundExpression,
): BoundLabels {
  switch (labels.kind) {
    case 'label':
    case 'label-any':
      return labels
    case 'label-and':
    case 'label-or':
      return { ...labels, operands: labels.operands.map((operand) => mapLabelExpressions(operand, change)) }
    case 'label-not':
      return { ...labels, operand: mapLabelExpressions(labels.operand, change) }
    case 'label-dynamic':
      return { ...labels, expression: change(labels.expression) }
    default:
      return assertNever(labels)
  }
}

/** Whether a run decides which labels are tested. */
export function isDynamic(labels: BoundLabels): boolean {
  let found = false
  mapLabelExpressions(labels, (expression) => {
    found = true
    return expression
  })
  return found
}

/** The names in a label expression, without those that only a run knows. */
export function labelNames(labels: LabelExpression): readonly LabelName[] {
  switch (labels.kind) {
    case 'label':
      return [labels]
    case 'label-and':
    case 'label-or':
      return labels.operands.flatMap(labelNames)
    case 'label-not':
      return labelNames(labels.operand)
    case 'label-any':
    case 'label-dynamic':
      return []
    default:
      return assertNever(labels)
  }
}

/** Whether the predicate tests labels of this slot that each node with this label has. */
export function isImpliedLabelTest(predicate: BoundExpression, slot: Slot, label: string): boolean {
  return (
    predicate.kind === 'label-test' &&
    predicate.target.kind === 'slot' &&
    predicate.target.slot.index === slot.index &&
    isImplied(predicate.labels, label)
  )
}

function isImplied(labels: BoundLabels, by: string): boolean {
  switch (labels.kind) {
    case 'label':
      return labels.name === by
    case 'label-any':
      return true
    case 'label-or':
      return labels.operands.some((one) => isImplied(one, by))
    case 'label-and':
      return labels.operands.every((one) => isImplied(one, by))
    case 'label-not':
    case 'label-dynamic':
      return false
    default:
      return assertNever(labels)
  }
}
