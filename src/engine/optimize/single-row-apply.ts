// Removes an Apply whose input is only the argument row: its inner plan has the same rows.
import type { Plan } from '../plan/operators.ts'

/** Apply over Argument → the inner plan; First over SemiApply over Argument → First over the inner plan. */
export function singleRowApply(plan: Plan): Plan {
  if (plan.op === 'Apply' && plan.input.op === 'Argument') return plan.inner
  if (plan.op !== 'First' || plan.input.op !== 'SemiApply') return plan
  const { input, inner, negated } = plan.input
  return input.op === 'Argument' && !negated ? { op: 'First', input: inner } : plan
}
