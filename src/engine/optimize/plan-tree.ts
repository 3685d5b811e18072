// Walks over plans that the rules share.
import type { Slot } from '../bind/bound.ts'
import type { PlanningContext } from '../plan/build-plan.ts'
import { descriptorOf, inputOf, inputsOf, mapInputs } from '../plan/operator-descriptors.ts'
import type { Plan } from '../plan/operators.ts'

/** Applies a rule to every operator, from the leaves up. */
export function rewriteBottomUp(
  plan: Plan,
  context: Pick<PlanningContext, 'onWork'>,
  rule: (plan: Plan) => Plan,
): Plan {
  context.onWork?.()
  return rule(mapInputs(plan, (input) => rewriteBottomUp(input, context, rule)))
}

/** Indexes of the slots that have a value in the rows of the plan. */
export function slotsProvidedBy(plan: Plan): ReadonlySet<number> {
  const provided = new Set<number>()
  collectProvided(plan, provided)
  return provided
}

function collectProvided(plan: Plan, provided: Set<number>): void {
  const { inner } = descriptorOf(plan)
  for (const input of inputsOf(plan)) {
    if (input.role !== 'inner' || inner === 'joined') collectProvided(input.plan, provided)
  }
  for (const slot of slotsFilledBy(plan)) provided.add(slot.index)
}

/** The slots that the operator at the root of the plan fills itself. */
export function slotsFilledBy(plan: Plan): readonly Slot[] {
  return descriptorOf(plan).fills(plan)
}

/** The slots that have a value before the first row: those of the Argument below a chain of single inputs. */
export function argumentSlots(plan: Plan): readonly Slot[] {
  if (plan.op === 'Argument') return plan.slots
  const input = inputOf(plan)
  return input === null ? [] : argumentSlots(input)
}

/** Whether the plan returns at most one row for one argument row. */
export function hasAtMostOneRow(plan: Plan): boolean {
  switch (plan.op) {
    case 'Argument':
      return true
    case 'Filter':
    case 'SemiApply':
    case 'BidirectionalExpandInto':
    case 'NodeUniqueIndexSeek':
      return hasAtMostOneRow(plan.input)
    default:
      return false
  }
}
