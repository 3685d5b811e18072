// The invariant of slots, for all operators: an operator never writes a slot that holds a value of the row before it, and reads
// only slots that hold one. All operators share one frame, so a plan that breaks it has wrong rows. Every plan is checked
// before it runs; what an operator writes and reads is in its descriptor.
import type { Slot } from '../bind/bound.ts'
import { descriptorOf } from './operator-descriptors.ts'
import type { Plan, PlanOf } from './operators.ts'

/**
 * The first operator of the plan that writes a known slot or reads an unknown one, as the text of a message; null if the plan
 * is sound. `given` are the slots that the caller fills before each run. `onWork` is called for each operator.
 */
export function slotFault(plan: Plan, given: readonly Slot[], onWork?: () => void): string | null {
  const walk = new SlotWalk(onWork)
  walk.add(given)
  walk.visit(plan)
  return walk.fault
}

/** One walk. The known slots are one set: what an inner plan adds is removed after it. */
class SlotWalk {
  fault: string | null = null
  private readonly onWork: (() => void) | undefined
  private readonly known = new Set<number>()
  /** The slots in the order in which they became known. */
  private readonly added: Slot[] = []

  constructor(onWork: (() => void) | undefined) {
    this.onWork = onWork
  }

  add(slots: readonly Slot[]): void {
    for (const slot of slots) {
      if (this.known.has(slot.index)) continue
      this.known.add(slot.index)
      this.added.push(slot)
    }
  }

  /** Before: the slots of the argument row are known. After: those of each row of the plan. */
  visit(plan: Plan): void {
    if (this.fault !== null) return
    this.onWork?.()
    if (plan.op === 'Argument') return
    if (plan.op === 'Union') this.visitUnion(plan)
    else this.visitOperator(plan)
  }

  private visitOperator(plan: Exclude<Plan, PlanOf<'Argument' | 'Union'>>): void {
    const before = this.added.length
    this.visit(plan.input)
    const descriptor = descriptorOf<Plan>(plan)
    const fills = descriptor.fills(plan)
    const scratch = descriptor.scratch(plan)
    if ('inner' in plan) this.visitInner(plan)
    const own = new Set([...fills, ...scratch].map((slot) => slot.index))
    const unknown = descriptor.reads(plan).find(({ index }) => !this.known.has(index) && !own.has(index))
    if (unknown !== undefined) this.report(plan, 'reads', unknown, 'which holds no value')
    this.requireUnknown(plan, scratch)
    const carried = carriedBy(plan)
    // The rows of an aggregation or a sort are new: of the row before they have only what they carry.
    if (descriptor.readableInputs(plan).length === 0) this.removeAfter(before)
    this.requireUnknown(
      plan,
      fills.filter((slot) => !carried.includes(slot)),
    )
    this.add(carried)
    this.add(fills)
  }

  private visitInner(plan: PlanOf<'Apply' | 'SemiApply' | 'Optional'>): void {
    const before = this.added.length
    this.visit(plan.inner)
    if (plan.op === 'Apply') return
    const inner = new Set(this.removeAfter(before).map((slot) => slot.index))
    if (plan.op === 'SemiApply') return
    this.requireUnknown(plan, plan.nulls)
    // A slot that only the null row has is stale in the other rows.
    this.add(plan.nulls.filter((slot) => inner.has(slot.index)))
  }

  /** One branch has filled the row: only slots that every branch fills are known. */
  private visitUnion({ branches }: PlanOf<'Union'>): void {
    const before = this.added.length
    let common: readonly Slot[] | null = null
    for (const branch of branches) {
      this.visit(branch)
      const filled = this.removeAfter(before)
      const indexes = new Set(filled.map((slot) => slot.index))
      common = common === null ? filled : common.filter((slot) => indexes.has(slot.index))
    }
    this.add(common ?? [])
  }

  private removeAfter(length: number): readonly Slot[] {
    const removed = this.added.splice(length)
    for (const slot of removed) this.known.delete(slot.index)
    return removed
  }

  private requireUnknown(plan: Plan, written: readonly Slot[]): void {
    const overwritten = written.find((slot) => this.known.has(slot.index))
    if (overwritten !== undefined) this.report(plan, 'writes', overwritten, 'which holds a value of the row before it')
  }

  private report(plan: Plan, verb: string, { name, index }: Slot, why: string): void {
    this.fault ??= `${descriptorOf(plan).describe(plan).operator} ${verb} \`${name}\` (slot ${index}), ${why}`
  }
}

/** The slots that a reordering operator copies from the row before it to its own rows. */
function carriedBy(plan: Plan): readonly Slot[] {
  if (plan.op === 'Sort') return plan.slots
  if (plan.op !== 'EagerAggregation') return []
  return plan.grouping.flatMap(({ slot, expression }) =>
    expression.kind === 'slot' && expression.slot.index === slot.index ? [slot] : [],
  )
}
