// Label expressions without their spans: what a label test and a pattern both bind to, and how such a test is known again.
import type { LabelExpression } from '../../../grammar/ast.ts'
import { assertNever } from '../../kernel/assert.ts'
import type { BoundExpression, BoundLabels, Slot } from './bound.ts'

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

/** Tests the slot for this one label, and for nothing else. */
export function isLabelTest(predicate: BoundExpression, slot: Slot, label: string): boolean {
  return (
    predicate.kind === 'label-test' &&
    predicate.target.kind === 'slot' &&
    predicate.target.slot.index === slot.index &&
    predicate.labels.kind === 'label' &&
    predicate.labels.name === label
  )
}
