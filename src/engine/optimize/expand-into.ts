// Replaces an expansion to a new node that a filter compares with a known node by an expansion between two known nodes.
import type { BoundExpression, Slot } from '../bind/bound.ts'
import type { PlannerSlots } from '../plan/build-plan.ts'
import type { Plan } from '../plan/operators.ts'
import { slotsProvidedBy } from './plan-tree.ts'

/**
 * ExpandAll + `end = known` → ExpandInto; VarLengthExpand likewise. Only for an end node that the planner made up: other
 * operators may read a node that the text names.
 */
export function expandInto(plan: Plan, plannerSlots: PlannerSlots): Plan {
  if (plan.op !== 'Filter') return plan
  const walk = plan.input
  if (walk.op !== 'ExpandAll' && !(walk.op === 'VarLengthExpand' && !walk.into)) return plan
  if (!plannerSlots.isExtra(walk.to)) return plan
  const known = slotsProvidedBy(walk.input)
  for (const predicate of plan.predicates) {
    const target = comparedNode(predicate, walk.to)
    if (!target || !known.has(target.index)) continue
    const closed: Plan =
      walk.op === 'ExpandAll' ? { ...walk, op: 'ExpandInto', to: target } : { ...walk, to: target, into: true }
    const rest = plan.predicates.filter((other) => other !== predicate)
    return rest.length > 0 ? { ...plan, input: closed, predicates: rest } : closed
  }
  return plan
}

/** In `end = x` with two nodes: x. */
function comparedNode(predicate: BoundExpression, end: Slot): Slot | null {
  if (predicate.kind !== 'comparison' || predicate.operator !== '=') return null
  const { left, right } = predicate
  if (left.kind !== 'slot' || right.kind !== 'slot') return null
  if (left.slot.kind !== 'node' || right.slot.kind !== 'node') return null
  if (left.slot.index === end.index) return right.slot
  if (right.slot.index === end.index) return left.slot
  return null
}
