// Label expressions without their spans: what a label test and a pattern both bind to.
import type { LabelExpression } from '../../../grammar/ast.ts'
import { unreachable } from '../../kernel/assert.ts'
import type { BoundLabels } from './bound.ts'

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
      return unreachable(labels)
  }
}
