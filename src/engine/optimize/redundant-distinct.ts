// Removes a Distinct over rows that are distinct already: those of another Distinct, and the end of one expansion that returns each node
// once.
import type { Slot } from '../bind/bound.ts'
import type { Plan } from '../plan/operators.ts'
import { hasAtMostOneRow } from './plan-tree.ts'

/** Distinct over a Distinct of the same slots → the outer one; over a PruningExpand that starts from at most one row → its input. */
export function removeRedundantDistinct(plan: Plan): Plan {
  if (plan.op !== 'Distinct') return plan
  const { input, slots } = plan
  if (input.op === 'Distinct' && haveSameSlots(slots, input.slots)) return { ...plan, input: input.input }
  if (slots.length !== 1) return plan
  const walk = withoutFilters(input)
  if (walk.op !== 'PruningExpand') return plan
  if (walk.to.index !== slots[0]!.index) return plan
  return hasAtMostOneRow(walk.input) ? input : plan
}

/** A filter only drops rows. */
function withoutFilters(plan: Plan): Plan {
  return plan.op === 'Filter' ? withoutFilters(plan.input) : plan
}

function haveSameSlots(a: readonly Slot[], b: readonly Slot[]): boolean {
  return a.length === b.length && a.every(({ index }) => b.some((slot) => slot.index === index))
}
