// Moves every predicate down to the first place where all that it reads is known. A predicate never moves below an operator
// that would then see other rows: the optional side of a match, an aggregation without keys, SKIP or LIMIT.

import { assertNever } from '../../kernel/assert.ts'
import type { BoundExpression, Slot } from '../bind/bound.ts'
import { containsSubquery, slotsOf, withSlots } from '../bind/expression-tree.ts'
import { isSafePredicate } from '../bind/may-fail.ts'
import { mapInputs } from '../plan/operator-descriptors.ts'
import type { Plan, PlanOf } from '../plan/operators.ts'
import { slotsFilledBy, slotsProvidedBy } from './plan-tree.ts'

/** Moves the predicates of every Filter of the plan. */
export function pushDownFilter(plan: Plan): Plan {
  if (plan.op !== 'Filter') return mapInputs(plan, pushDownFilter)
  let below = pushDownFilter(plan.input)
  // A predicate that may fail stays where the text has it: further down it would see rows that are dropped before.
  const kept = plan.predicates.filter((predicate) => !isSafePredicate(predicate))
  const moved = plan.predicates.filter((predicate) => !kept.includes(predicate))
  below = pushDownAll(
    below,
    moved.map((predicate) => ({ predicate, reads: readsOf(predicate) })),
  )
  return kept.length > 0 ? { op: 'Filter', input: below, predicates: kept } : below
}

interface MovedPredicate {
  readonly predicate: BoundExpression
  readonly reads: ReadonlySet<number>
}

/** The plan with all predicates in it. Past operators of a pattern they go together, because a pattern may be long. */
function pushDownAll(plan: Plan, moved: readonly MovedPredicate[]): Plan {
  if (moved.length === 0) return plan
  if (!isPatternOperator(plan)) {
    return moved.reduce<Plan>((below, { predicate, reads }) => pushDown(below, predicate, reads), plan)
  }
  const fills = new Set(slotsFilledBy(plan).map((slot) => slot.index))
  const readsFilled = ({ reads }: MovedPredicate): boolean =>
    fills.size > 0 && [...reads].some((slot) => fills.has(slot))
  const stopped = moved.filter(readsFilled)
  const input = pushDownAll(
    plan.input,
    moved.filter((one) => !readsFilled(one)),
  )
  const operator = input === plan.input ? plan : { ...plan, input }
  return stopped.length === 0
    ? operator
    : { op: 'Filter', input: operator, predicates: stopped.map(({ predicate }) => predicate) }
}

function isPatternOperator(plan: Plan): plan is PlanOf<'AllNodesScan' | 'ExpandAll' | 'VarLengthExpand'> {
  return plan.op === 'AllNodesScan' || plan.op === 'ExpandAll' || plan.op === 'VarLengthExpand'
}

/** The plan with the predicate in it: as deep as possible, or in a Filter above the plan. */
function pushDown(plan: Plan, predicate: BoundExpression, reads: ReadonlySet<number>): Plan {
  const above = (): Plan => ({ op: 'Filter', input: plan, predicates: [predicate] })
  switch (plan.op) {
    case 'Filter': {
      const deeper = pushDown(plan.input, predicate, reads)
      // If it stops directly below this filter, one filter holds both, in the order of the text.
      return deeper.op === 'Filter' && deeper.input === plan.input
        ? { ...plan, predicates: [...plan.predicates, predicate] }
        : { ...plan, input: deeper }
    }
    case 'Projection': {
      const renamed = belowProjection(plan.items, predicate)
      return renamed ? { ...plan, input: pushDown(plan.input, renamed, readsOf(renamed)) } : above()
    }
    case 'Union':
      return { ...plan, branches: plan.branches.map((branch) => pushDown(branch, predicate, reads)) }
    case 'Apply':
      // A subquery without any row drops the outer row, so a predicate that reads only the outer row may go first.
      return readsOnly(plan.input, reads)
        ? { ...plan, input: pushDown(plan.input, predicate, reads) }
        : { ...plan, inner: pushDown(plan.inner, predicate, reads) }
    case 'Optional':
      // Inside the optional side the predicate would turn rows into null rows; a row of the required side is dropped whole.
      return readsOnly(plan.input, reads) ? { ...plan, input: pushDown(plan.input, predicate, reads) } : above()
    case 'NodeUniqueIndexSeek':
    case 'NodeIndexSeek':
    case 'NodeByLabelScan':
    case 'AllNodesScan':
    case 'ExpandAll':
    case 'ExpandInto':
    case 'VarLengthExpand':
    case 'BidirectionalExpandInto':
    case 'PruningExpand':
    case 'DerivedExpand':
    case 'ProjectEndpoints':
    case 'ProjectVarLengthEndpoints':
    case 'ShortestPath':
    case 'GroupVariables':
    case 'Cast':
    case 'Unwind':
    case 'MakePath':
    case 'SemiApply':
    case 'Distinct': {
      const fillsRead = slotsFilledBy(plan).some((slot) => reads.has(slot.index))
      return fillsRead ? above() : { ...plan, input: pushDown(plan.input, predicate, reads) }
    }
    case 'Sort':
      // With a limit the sort chooses rows. Without, the order of fewer rows is the same order.
      return plan.limit === null && plan.skip === null
        ? { ...plan, input: pushDown(plan.input, predicate, reads) }
        : above()
    case 'EagerAggregation':
      return readsGroupingKeysOnly(plan, reads) ? { ...plan, input: pushDown(plan.input, predicate, reads) } : above()
    case 'Skip':
    case 'Limit':
    case 'First':
    case 'Argument':
    // Only a later rule makes an OrderedExpand.
    case 'OrderedExpand':
      return above()
    default:
      return assertNever(plan)
  }
}

/** Whether the predicate reads only slots that the plan provides. */
function readsOnly(plan: Plan, reads: ReadonlySet<number>): boolean {
  const provided = slotsProvidedBy(plan)
  return [...reads].every((slot) => provided.has(slot))
}

/** A predicate on grouping keys keeps or drops whole groups. Without keys there is one row even for an empty input. */
function readsGroupingKeysOnly({ grouping }: PlanOf<'EagerAggregation'>, reads: ReadonlySet<number>): boolean {
  const isKey = (index: number): boolean =>
    grouping.some(
      ({ slot, expression }) => slot.index === index && expression.kind === 'slot' && expression.slot.index === index,
    )
  return grouping.length > 0 && [...reads].every(isKey)
}

function readsOf(predicate: BoundExpression): ReadonlySet<number> {
  return new Set(slotsOf(predicate).map((slot) => slot.index))
}

/** The predicate over what the projection reads, if the projection only passes these columns on; null if it computes one. */
function belowProjection(
  items: readonly { readonly slot: Slot; readonly expression: BoundExpression }[],
  predicate: BoundExpression,
): BoundExpression | null {
  if (containsSubquery(predicate)) return null
  const reads = readsOf(predicate)
  const sources = new Map<number, Slot>()
  for (const { slot, expression } of items) {
    if (!reads.has(slot.index)) continue
    if (expression.kind !== 'slot' || expression.slot.kind !== slot.kind) return null
    sources.set(slot.index, expression.slot)
  }
  return sources.size > 0 ? withSlots(predicate, sources) : predicate
}
