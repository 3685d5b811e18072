// The demand on a plan by the operators above it: which slots they read, and whether duplicates and later rows matter to them.
import { descriptorOf, inputsOf, mapInputs } from '../plan/operator-descriptors.ts'
import type { Plan } from '../plan/operators.ts'

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
export function withDemand(plan: Plan, rewrite: (plan: Plan, demand: Demand) => Plan): Plan {
  return descend(plan, { reads: new Set(), duplicateInsensitive: false, firstRowOnly: false }, rewrite)
}

interface OwnedDemand extends Demand {
  /** Belongs to one branch of the plan, from here down: operators add to it, because long plans would copy it too often. */
  readonly reads: Set<number>
}

function descend(original: Plan, demand: OwnedDemand, rewrite: (plan: Plan, demand: Demand) => Plan): Plan {
  const plan = rewrite(original, demand)
  const { reads } = demand
  for (const slot of readsOf(plan)) reads.add(slot)
  const duplicateInsensitive = duplicatesBelow(plan, demand.duplicateInsensitive)
  const firstRowOnly = firstRowBelow(plan, demand.firstRowOnly)
  const { inner } = descriptorOf(plan)
  if (inner === null) {
    const isShared = inputsOf(plan).length > 1
    return mapInputs(plan, (input) =>
      descend(input, { reads: isShared ? new Set(reads) : reads, duplicateInsensitive, firstRowOnly }, rewrite),
    )
  }
  const tested = inner === 'tested'
  const onInner: OwnedDemand = {
    reads: new Set(reads),
    duplicateInsensitive: tested || duplicateInsensitive,
    firstRowOnly: tested || firstRowOnly,
  }
  // The inner plan reads the row of the outer one, so all its reads are demands on the input. They are taken from the plan
  // before the inner plan is rewritten: a rewrite reads no more slots than that.
  for (const input of inputsOf(plan))
    if (input.role === 'inner') for (const slot of allReads(input.plan)) reads.add(slot)
  return mapInputs(plan, (input, role) =>
    descend(input, role === 'inner' ? onInner : { reads, duplicateInsensitive, firstRowOnly }, rewrite),
  )
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

function allReads(plan: Plan): readonly number[] {
  return [...readsOf(plan), ...inputsOf(plan).flatMap((input) => allReads(input.plan))]
}
