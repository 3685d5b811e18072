// A sort of which only the first rows are wanted keeps only those: top-k.
import type { Plan } from '../plan/operators.ts'

export function top(plan: Plan): Plan {
  if (plan.op !== 'limit') return plan
  const { input, count } = plan
  if (input.op === 'sort' && !input.limit) return { ...input, limit: count }
  if (input.op === 'skip' && input.input.op === 'sort' && !input.input.limit) {
    return { ...input.input, skip: input.count, limit: count }
  }
  return plan
}
