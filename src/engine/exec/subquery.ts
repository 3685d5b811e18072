// What a query inside an expression is worth: whether it has a row, how many, or the values of its only column.
import type { BoundExpression } from '../bind/bound.ts'
import { boundedList, GrowingList } from '../value/weight.ts'
import type { Evaluate } from './context.ts'
import { readSlot } from './element-access.ts'
import type { Operator } from './operator.ts'

export function subqueryValue(expression: Extract<BoundExpression, { kind: 'subquery' }>, inner: Operator): Evaluate {
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
          run.budget.touch(1)
          count += 1
        }
        return count
      }
    case 'collect': {
      const read = readSlot(expression.part.columns[0]!.slot)
      return (run) => {
        const items = new GrowingList()
        inner.open(run)
        while (inner.next(run)) {
          run.budget.touch(1)
          run.budget.hold()
          items.push(read(run))
        }
        return boundedList(items.items)
      }
    }
  }
}
