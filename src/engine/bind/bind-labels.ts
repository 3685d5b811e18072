// Binds label expressions, for label tests and for patterns.
import type { LabelExpression, LabelName } from '../../../grammar/ast.ts'
import { assertNever } from '../../kernel/assert.ts'
import type { BoundExpression, BoundLabels, Slot } from './bound.ts'

/** The label expression without its spans. */
export function bindLabels(labels: LabelExpression): BoundLabels {
  switch (labels.kind) {
    case 'label':
      return { kind: 'label', name: labels.name }
    case 'label-and':
    case 'label-or':
      return { kind: labels.kind, operands: labels.operands.map(bindLabels) }
    case 'label-not':
      return { kind: 'label-not', operand: bindLabels(labels.operand) }
    case 'label-any':
      return { kind: 'label-any' }
    default:
      return assertNever(labels)
  }
}

/** The names in a label expression. */
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
      return []
    default:
      return assertNever(labels)
  }
}

/** Whether the predicate tests exactly this label of this slot. */
export function isLabelTest(predicate: BoundExpression, slot: Slot, label: string): boolean {
  return (
    predicate.kind === 'label-test' &&
    predicate.target.kind === 'slot' &&
    predicate.target.slot.index === slot.index &&
    predicate.labels.kind === 'label' &&
    predicate.labels.name === label
  )
}
