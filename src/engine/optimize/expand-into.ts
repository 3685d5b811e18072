// A walk to a fresh node that must be a known one is a question about two known nodes: expand-into.
import type { BoundExpression, Slot } from '../bind/bound.ts'
import type { PlannerSlots } from '../plan/build-plan.ts'
import type { Plan } from '../plan/operators.ts'
import { slotsProvidedBy } from './plan-tree.ts'

/** Only for an end that the planner made up: one that the text names is read by others too. */
export function expandInto(plan: Plan, extra: PlannerSlots): Plan {
  if (plan.op !== 'filter') return plan
  const walk = plan.input
  if (walk.op !== 'expand' && !(walk.op === 'var-expand' && !walk.into)) return plan
  if (!extra.isExtra(walk.to)) return plan
  const known = slotsProvidedBy(walk.input)
  for (const predicate of plan.predicates) {
    const target = comparedWith(predicate, walk.to)
    if (!target || !known.has(target.index)) continue
    const closed: Plan =
      walk.op === 'expand' ? { ...walk, op: 'expand-into', to: target } : { ...walk, to: target, into: true }
    const stays = plan.predicates.filter((other) => other !== predicate)
    return stays.length > 0 ? { ...plan, input: closed, predicates: stays } : closed
  }
  return plan
}

/** In `end = x`, both nodes: x. */
function comparedWith(predicate: BoundExpression, end: Slot): Slot | null {
  if (predicate.kind !== 'comparison' || predicate.operator !== '=') return null
  const { left, right } = predicate
  if (left.kind !== 'slot' || right.kind !== 'slot') return null
  if (left.slot.kind !== 'node' || right.slot.kind !== 'node') return null
  if (left.slot.index === end.index) return right.slot
  if (right.slot.index === end.index) return left.slot
  return null
}
