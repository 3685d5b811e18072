// Moves every predicate down to the first place where all that it reads is known. A predicate never moves below what
// changes the meaning of "this row": an optional match, an aggregation, a skip or a limit.
import type { BoundExpression } from '../bind/bound.ts'
import { slotsOf } from '../bind/walk.ts'
import type { Plan } from '../plan/operators.ts'
import { filledBy, mapInputs } from './rewrite.ts'

export function pushDownFilter(plan: Plan): Plan {
  if (plan.op !== 'filter') return mapInputs(plan, pushDownFilter)
  let below = pushDownFilter(plan.input)
  for (const predicate of plan.predicates) {
    const reads = new Set(slotsOf(predicate).map((slot) => slot.index))
    below = sink(below, predicate, reads)
  }
  return below
}

function sink(plan: Plan, predicate: BoundExpression, reads: ReadonlySet<number>): Plan {
  if (plan.op === 'filter') {
    const deeper = sink(plan.input, predicate, reads)
    // It came to rest right below this filter: one filter instead of two, in the order of the text.
    if (deeper.op === 'filter' && deeper.input === plan.input) {
      return { ...plan, predicates: [...plan.predicates, predicate] }
    }
    return deeper === plan.input ? plan : { ...plan, input: deeper }
  }
  if (passable(plan, reads)) return { ...plan, input: sink(plan.input, predicate, reads) }
  return { op: 'filter', input: plan, predicates: [predicate] }
}

function passable(plan: Plan, reads: ReadonlySet<number>): plan is Exclude<Plan, { op: 'argument' }> {
  switch (plan.op) {
    case 'node-by-key':
    case 'node-by-property':
    case 'label-scan':
    case 'all-nodes':
    case 'expand':
    case 'expand-into':
    case 'var-expand':
    case 'reach':
    case 'relationship-ends':
    case 'unwind':
    case 'make-path':
    case 'project':
    case 'semi-apply':
    case 'distinct':
      return !filledBy(plan).some((slot) => reads.has(slot.index))
    // Sorting with a limit chooses rows; without, the order of fewer rows is the same order.
    case 'sort':
      return plan.limit === null && plan.skip === null
    case 'optional':
    case 'aggregate':
    case 'skip':
    case 'limit':
    case 'first':
    case 'filter':
    case 'argument':
      return false
  }
}
