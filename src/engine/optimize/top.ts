// Merges LIMIT, and SKIP below it, into the Sort: the operator then keeps only the first rows while it sorts (top-k).
import type { Plan } from '../plan/operators.ts'

/** Limit + Sort → Top. */
export function top(plan: Plan): Plan {
  if (plan.op !== 'Limit') return plan
  const { input, count } = plan
  if (input.op === 'Sort' && !input.limit) return { ...input, limit: count }
  if (input.op === 'Skip' && input.input.op === 'Sort' && !input.input.limit) {
    return { ...input.input, skip: input.count, limit: count }
  }
  return plan
}
