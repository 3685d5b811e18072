// Which elements can still be read from the frame when a plan has given a row: what an aggregation or a sort leaves out is
// gone, everything else stands in its slot.
import type { Slot } from './bind/bound.ts'
import { slotsFilledBy } from './optimize/plan-tree.ts'
import type { Plan, UnionPlan } from './plan/operators.ts'

/** Slots of nodes and relationships, in the order in which the plan fills them. */
export function readableElements(plan: Plan): readonly Slot[] {
  const slots = new Map(readableSlots(plan).map((slot) => [slot.index, slot]))
  return [...slots.values()].filter((slot) => slot.kind !== 'value' && slot.kind !== 'path')
}

/** Unions that gave a part of the row: which branch it came from, and what stands in its slots, a run alone can tell. */
export function readableUnions(plan: Plan): readonly UnionPlan[] {
  switch (plan.op) {
    case 'argument':
    case 'aggregate':
    case 'sort':
      return []
    case 'union':
      return [plan]
    case 'semi-apply':
      return plan.negated ? readableUnions(plan.input) : [...readableUnions(plan.input), ...readableUnions(plan.inner)]
    case 'apply':
      return [...readableUnions(plan.input), ...readableUnions(plan.inner)]
    default:
      return readableUnions(plan.input)
  }
}

function readableSlots(plan: Plan): readonly Slot[] {
  switch (plan.op) {
    case 'argument':
      return plan.slots
    case 'aggregate':
      return [
        ...argumentOf(plan.input),
        ...plan.grouping.flatMap(({ slot, expression }) =>
          expression.kind === 'slot' && expression.slot.index === slot.index ? [slot] : [],
        ),
      ]
    case 'sort':
      return [...argumentOf(plan.input), ...plan.slots]
    // One branch has filled in the row: only what all of them fill in is sure.
    case 'union':
      return plan.branches[0]!.op === 'argument' ? [] : slotsFilledBy(plan.branches[0]!)
    case 'semi-apply':
      return plan.negated ? readableSlots(plan.input) : [...readableSlots(plan.input), ...readableSlots(plan.inner)]
    // Where it found nothing it made its own slots null, and those of patterns that it only asked about were left over.
    case 'optional':
      return [...readableSlots(plan.input), ...plan.nulls]
    case 'apply':
      return [...readableSlots(plan.input), ...readableSlots(plan.inner)]
    default:
      return [...readableSlots(plan.input), ...slotsFilledBy(plan)]
  }
}

/** What the caller filled in before the run stays in its slots to the end. */
function argumentOf(plan: Plan): readonly Slot[] {
  if (plan.op === 'argument') return plan.slots
  return plan.op === 'union' ? [] : argumentOf(plan.input)
}
