// Removes a Distinct over the end of one expansion that returns each node once.
import type { Plan } from '../plan/operators.ts'
import { hasAtMostOneRow } from './plan-tree.ts'

/** Distinct over a PruningExpand that starts from at most one row → the input of the Distinct. */
export function removeRedundantDistinct(plan: Plan): Plan {
  if (plan.op !== 'Distinct' || plan.slots.length !== 1) return plan
  const walk = withoutFilters(plan.input)
  if (walk.op !== 'PruningExpand') return plan
  if (walk.to.index !== plan.slots[0]!.index) return plan
  return hasAtMostOneRow(walk.input) ? plan.input : plan
}

/** A filter only drops rows. */
function withoutFilters(plan: Plan): Plan {
  return plan.op === 'Filter' ? withoutFilters(plan.input) : plan
}
