// Values of subquery expressions: EXISTS, COUNT and COLLECT.
import type { BoundExpression } from '../bind/bound.ts'
import { BoundedListBuilder, boundedList } from '../value/value-size.ts'
import { compileSlotRead } from './element-access.ts'
import type { CompiledExpression } from './execution-context.ts'
import type { PhysicalOperator } from './physical-operator.ts'

/**
 * Compiles a subquery expression over its compiled plan: whether the plan has a row, the number of its rows, or the values
 * of its only column.
 */
export function compileSubquery(
  expression: Extract<BoundExpression, { kind: 'subquery' }>,
  inner: PhysicalOperator,
): CompiledExpression {
  switch (expression.form) {
    case 'exists':
      return (run) => {
        inner.open(run)
        return inner.next(run)
      }
    case 'count':
      return (run) => {
        let count = 0
        inner.open(run)
        while (inner.next(run)) {
          run.budget.chargeSteps(1)
          count += 1
        }
        return count
      }
    case 'collect': {
      const read = compileSlotRead(expression.part.columns[0]!.slot)
      return (run) => {
        const items = new BoundedListBuilder(run.budget)
        inner.open(run)
        while (inner.next(run)) {
          run.budget.chargeSteps(1)
          run.budget.retainRow()
          items.push(read(run))
        }
        return boundedList(run.budget, items.items)
      }
    }
  }
}
