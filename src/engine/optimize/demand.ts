// The demand on a plan by the operators above it: which slots they read, and whether duplicates and later rows matter to them.
import type { Slot } from '../bind/bound.ts'
import type { PlanningContext } from '../plan/build-plan.ts'
import { descriptorOf, inputsOf, mapInputs } from '../plan/operator-descriptors.ts'
import type { Plan } from '../plan/operators.ts'

/** The context of a plan, and how its rows are used. */
export interface OptimizerContext extends PlanningContext {
  /** The slots that are read from the rows of the plan; absent: any. */
  readonly columns?: readonly Slot[]
}

/** The demand on the rows of one operator. */
export interface Demand {
  /** Indexes of the slots that an operator above reads. */
  readonly reads: ReadonlySet<number>
  /** Duplicate rows do not change the result. */
  readonly duplicateInsensitive: boolean
  /** No operator above needs more than the first row. */
  readonly firstRowOnly: boolean
}

/** Rewrites every operator from the root down; `rewrite` gets each operator with the demand on it, which it must not keep. */
export function withDemand(
  plan: Plan,
  { onWork }: Pick<PlanningContext, 'onWork'>,
  rewrite: (plan: Plan, demand: Demand) => Plan,
): Plan {
  const walk = new DemandWalk(rewrite, onWork)
  return walk.descend(plan, false, false)
}

/**
 * One walk over a plan. The reads of the operators above the current one are one set: what a branch adds is removed after
 * it, because a copy for each branch would cost the square of the number of branches.
 */
class DemandWalk {
  private readonly rewrite: (plan: Plan, demand: Demand) => Plan
  private readonly onWork: (() => void) | undefined
  private readonly reads = new Set<number>()
  /** The slots in the order in which they were added to `reads`. */
  private readonly added: number[] = []
  private readonly readsOfInner = new WeakMap<Plan, ReadonlySet<number>>()

  constructor(rewrite: (plan: Plan, demand: Demand) => Plan, onWork: (() => void) | undefined) {
    this.rewrite = rewrite
    this.onWork = onWork
  }

  descend(original: Plan, duplicateInsensitive: boolean, firstRowOnly: boolean): Plan {
    this.onWork?.()
    const plan = this.rewrite(original, { reads: this.reads, duplicateInsensitive, firstRowOnly })
    this.add(readsOf(plan))
    const duplicatesMatterNot = duplicatesBelow(plan, duplicateInsensitive)
    const onlyFirstRow = firstRowBelow(plan, firstRowOnly)
    const { inner } = descriptorOf(plan)
    if (inner === null) {
      return mapInputs(plan, (input) => this.branch(() => this.descend(input, duplicatesMatterNot, onlyFirstRow)))
    }
    const tested = inner === 'tested'
    // The inner plan reads the row of the outer one, so all its reads are demands on the input. They are taken from the plan
    // before the inner plan is rewritten: a rewrite reads no more slots than that.
    const innerPlans = inputsOf(plan).flatMap((input) => (input.role === 'inner' ? [input.plan] : []))
    return mapInputs(plan, (input, role) =>
      this.branch(() => {
        if (role === 'inner') return this.descend(input, tested || duplicatesMatterNot, tested || onlyFirstRow)
        for (const innerPlan of innerPlans) this.add(this.allReads(innerPlan))
        return this.descend(input, duplicatesMatterNot, onlyFirstRow)
      }),
    )
  }

  private add(slots: Iterable<number>): void {
    for (const slot of slots) {
      if (this.reads.has(slot)) continue
      this.reads.add(slot)
      this.added.push(slot)
    }
  }

  /** Removes what `descend` adds to the reads. */
  private branch(descend: () => Plan): Plan {
    const mark = this.added.length
    const plan = descend()
    while (this.added.length > mark) this.reads.delete(this.added.pop()!)
    return plan
  }

  /** The reads of all operators of an inner plan. */
  private allReads(plan: Plan): ReadonlySet<number> {
    let all = this.readsOfInner.get(plan)
    if (!all) {
      const collected = new Set<number>()
      this.collectReads(plan, collected)
      all = collected
      this.readsOfInner.set(plan, all)
    }
    return all
  }

  private collectReads(plan: Plan, collected: Set<number>): void {
    for (const slot of readsOf(plan)) collected.add(slot)
    for (const input of inputsOf(plan)) {
      if (input.role !== 'inner') this.collectReads(input.plan, collected)
      else for (const slot of this.allReads(input.plan)) collected.add(slot)
    }
  }
}

function firstRowBelow(plan: Plan, firstRowOnly: boolean): boolean {
  const { rowsNeeded } = descriptorOf(plan)
  return rowsNeeded === 'as-above' ? firstRowOnly : rowsNeeded === 'first'
}

function duplicatesBelow(plan: Plan, duplicateInsensitive: boolean): boolean {
  const duplicates = descriptorOf(plan).inputDuplicates(plan)
  return duplicates === 'as-above' ? duplicateInsensitive : duplicates === 'irrelevant'
}

function readsOf(plan: Plan): readonly number[] {
  return descriptorOf(plan)
    .reads(plan)
    .map((slot) => slot.index)
}
