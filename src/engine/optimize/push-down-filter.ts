// Moves every predicate down to the first place where all that it reads is known. A predicate never moves below what
// changes the meaning of "this row": the optional side of a match, an aggregation, a skip or a limit.
import type { BoundExpression, Slot } from '../bind/bound.ts'
import { containsSubquery, slotsOf, withSlots } from '../bind/expression-tree.ts'
import { isSafePredicate } from '../bind/may-fail.ts'
import type { Plan } from '../plan/operators.ts'
import { mapInputs, slotsFilledBy, slotsProvidedBy } from './plan-tree.ts'

export function pushDownFilter(plan: Plan): Plan {
  if (plan.op !== 'filter') return mapInputs(plan, pushDownFilter)
  let below = pushDownFilter(plan.input)
  // A predicate that may fault stays where the text has it: further down it would look at rows that are dropped before.
  const stays = plan.predicates.filter((predicate) => !isSafePredicate(predicate))
  for (const predicate of plan.predicates) {
    if (stays.includes(predicate)) continue
    below = pushDown(below, predicate, readsOf(predicate))
  }
  return stays.length > 0 ? { op: 'filter', input: below, predicates: stays } : below
}

function pushDown(plan: Plan, predicate: BoundExpression, reads: ReadonlySet<number>): Plan {
  switch (plan.op) {
    case 'filter': {
      const deeper = pushDown(plan.input, predicate, reads)
      // It came to rest right below this filter: one filter instead of two, in the order of the text.
      if (deeper.op === 'filter' && deeper.input === plan.input) {
        return { ...plan, predicates: [...plan.predicates, predicate] }
      }
      return { ...plan, input: deeper }
    }
    case 'project': {
      const renamed = belowProjection(plan.items, predicate)
      return renamed
        ? { ...plan, input: pushDown(plan.input, renamed, readsOf(renamed)) }
        : filterAbove(plan, predicate)
    }
    case 'union':
      return { ...plan, branches: plan.branches.map((branch) => pushDown(branch, predicate, reads)) }
    case 'apply': {
      // A subquery without any row drops the outer row, so a predicate on the outer row alone may go first.
      const before = slotsProvidedBy(plan.input)
      return [...reads].every((slot) => before.has(slot))
        ? { ...plan, input: pushDown(plan.input, predicate, reads) }
        : { ...plan, inner: pushDown(plan.inner, predicate, reads) }
    }
    case 'optional': {
      // Below it a row more or less of the optional side would change; a row of the required side comes or goes whole.
      const before = slotsProvidedBy(plan.input)
      return [...reads].every((slot) => before.has(slot))
        ? { ...plan, input: pushDown(plan.input, predicate, reads) }
        : filterAbove(plan, predicate)
    }
    default:
      return canPushBelow(plan, reads)
        ? { ...plan, input: pushDown(plan.input, predicate, reads) }
        : filterAbove(plan, predicate)
  }
}

function filterAbove(input: Plan, predicate: BoundExpression): Plan {
  return { op: 'filter', input, predicates: [predicate] }
}

function readsOf(predicate: BoundExpression): ReadonlySet<number> {
  return new Set(slotsOf(predicate).map((slot) => slot.index))
}

/** The predicate in terms of what the projection reads, where it only passes columns on; null where it computes them. */
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

function canPushBelow(
  plan: Plan,
  reads: ReadonlySet<number>,
): plan is Exclude<Plan, { op: 'argument' | 'union' | 'apply' | 'optional' }> {
  switch (plan.op) {
    case 'node-by-key':
    case 'node-by-property':
    case 'label-scan':
    case 'all-nodes':
    case 'expand':
    case 'expand-into':
    case 'var-expand':
    case 'reach':
    case 'connect':
    case 'spread':
    case 'relationship-ends':
    case 'trail-ends':
    case 'shortest-path':
    case 'cast':
    case 'unwind':
    case 'make-path':
    case 'semi-apply':
    case 'distinct':
      return !slotsFilledBy(plan).some((slot) => reads.has(slot.index))
    // Sorting with a limit chooses rows; without, the order of fewer rows is the same order.
    case 'sort':
      return plan.limit === null && plan.skip === null
    // A predicate on the keys keeps or drops whole groups. Without keys there is a row even from no rows.
    case 'aggregate':
      return (
        plan.grouping.length > 0 &&
        [...reads].every((slot) =>
          plan.grouping.some(
            (item) =>
              item.slot.index === slot && item.expression.kind === 'slot' && item.expression.slot.index === slot,
          ),
        )
      )
    case 'project':
    case 'apply':
    case 'union':
    case 'optional':
    case 'skip':
    case 'limit':
    case 'first':
    case 'filter':
    case 'argument':
    // A later rule makes it.
    case 'ascend':
      return false
  }
}
