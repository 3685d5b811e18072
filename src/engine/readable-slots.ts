// Which elements a frame still holds after a plan has returned a row. A slot that an aggregation or a sort does not carry on
// is stale; every other slot keeps its value.
import type { Slot } from './bind/bound.ts'
import { argumentSlots } from './optimize/plan-tree.ts'
import { descriptorOf } from './plan/operator-descriptors.ts'
import type { Plan, PlanOf } from './plan/operators.ts'

/** Slots of nodes and relationships that are valid after a row, in the order in which the plan fills them. */
export function readableElements(plan: Plan): readonly Slot[] {
  const slots = new Map(readableSlots(plan).map((slot) => [slot.index, slot]))
  return [...slots.values()].filter((slot) => slot.kind !== 'value' && slot.kind !== 'path')
}

/** The unions that produced a part of the row. Only a profiled run knows which branch it was, and what its slots hold. */
export function readableUnions(plan: Plan): readonly PlanOf<'Union'>[] {
  return plan.op === 'Union' ? [plan] : descriptorOf(plan).readableInputs(plan).flatMap(readableUnions)
}

function readableSlots(plan: Plan): readonly Slot[] {
  const descriptor = descriptorOf(plan)
  const inputs = descriptor.readableInputs(plan)
  // The slots of the argument row are written before the run, so they stay valid even if the rows of the input do not.
  const before = inputs.length === 0 ? argumentSlots(plan) : inputs.flatMap(readableSlots)
  const { readableSlots: own } = descriptor
  return [...before, ...(own === 'filled' ? descriptor.fills(plan) : own(plan))]
}
