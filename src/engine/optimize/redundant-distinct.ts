// The nodes at the ends of one walk from one row come once each already.
import type { Plan } from '../plan/operators.ts'

export function removeRedundantDistinct(plan: Plan): Plan {
  if (plan.op !== 'distinct' || plan.slots.length !== 1) return plan
  const walk = withoutFilters(plan.input)
  if (walk.op !== 'spread' && !(walk.op === 'reach' && !walk.into)) return plan
  if (walk.to.index !== plan.slots[0]!.index) return plan
  return withoutFilters(walk.input).op === 'argument' ? plan.input : plan
}

/** A filter gives no row that it was not given. */
function withoutFilters(plan: Plan): Plan {
  return plan.op === 'filter' ? withoutFilters(plan.input) : plan
}
