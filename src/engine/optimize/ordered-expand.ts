// Makes a search produce its nodes in ascending order, one by one. Such a search needs no set of the nodes it has returned,
// and it can continue after any node without finding the earlier ones again. Only the root of a search is rewritten.
import type { BoundExpression, Slot } from '../bind/bound.ts'
import { slotsOf } from '../bind/expression-tree.ts'
import { descriptorOf } from '../plan/operator-descriptors.ts'
import type { ChainLink, Plan, PlanOf } from '../plan/operators.ts'
import { argumentSlots, hasAtMostOneRow, slotsFilledBy } from './plan-tree.ts'

/** Distinct over one hop or one scan → OrderedDistinct over an OrderedExpand or over a scan that starts after the cursor. */
export function orderedExpand(plan: Plan): Plan {
  if (plan.op !== 'Distinct' || plan.searchOrder !== 'any') return plan
  const target = plan.slots[0]!
  if (target.kind !== 'node') return plan
  const input = orderByLastHop(plan.input, target, []) ?? orderByScan(plan.input, target)
  return input === null ? plan : { ...plan, input, searchOrder: 'ascending' }
}

/** Only filters that test the node are allowed above the hop that finds it; `tests` are those visited so far. */
function orderByLastHop(plan: Plan, target: Slot, tests: readonly BoundExpression[]): Plan | null {
  if (plan.op === 'Filter') {
    const input = orderByLastHop(plan.input, target, [...tests, ...plan.predicates])
    return input === null ? null : { ...plan, input }
  }
  if ((plan.op !== 'ExpandAll' && plan.op !== 'PruningExpand') || plan.to.index !== target.index) return null
  const known = new Set([target, ...argumentSlots(plan)].map((slot) => slot.index))
  const testsTargetOnly = tests.every((test) => slotsOf(test).every((slot) => known.has(slot.index)))
  if (!testsTargetOnly) return null
  return plan.op === 'ExpandAll' ? orderedHop(plan) : orderedLastLink(plan)
}

function orderedHop({
  input,
  from,
  to,
  direction,
  types,
  distinctFrom,
}: PlanOf<'ExpandAll'>): PlanOf<'OrderedExpand'> | null {
  return distinctFrom.length > 0 ? null : { op: 'OrderedExpand', input, from, to, direction, types }
}

function orderedLastLink({
  links,
  intermediates,
  to,
  ...before
}: PlanOf<'PruningExpand'>): PlanOf<'OrderedExpand'> | null {
  const last = links.at(-1)
  const from = intermediates.at(-1)
  if (last === undefined || from === undefined || !isSingleHop(last)) return null
  const shorter: Plan = {
    ...before,
    to: from.slot,
    links: links.slice(0, -1),
    intermediates: intermediates.slice(0, -1),
  }
  const { slot, predicates } = from
  const input: Plan = predicates.length > 0 ? { op: 'Filter', input: shorter, predicates } : shorter
  return { op: 'OrderedExpand', input, from: slot, to, direction: last.direction, types: last.types }
}

function isSingleHop({ min, max, each, further }: ChainLink): boolean {
  return min === 1 && max === 1 && each === null && further.length === 0
}

/** One scan finds the node, and the operators above it keep the order of the rows and treat each row by itself. */
function orderByScan(plan: Plan, target: Slot): Plan | null {
  if (slotsFilledBy(plan).some((slot) => slot.index === target.index)) {
    // For a second input row the scan would start again.
    return isScan(plan) && hasAtMostOneRow(plan.input) ? { ...plan, startsAfterCursor: true } : null
  }
  if (!('input' in plan) || descriptorOf(plan).rowFlow !== 'streaming') return null
  const input = orderByScan(plan.input, target)
  return input === null ? null : { ...plan, input }
}

/** The scans that return nodes in ascending order and can start after a node. */
function isScan(plan: Plan): plan is PlanOf<'NodeByLabelScan' | 'AllNodesScan' | 'NodeIndexSeek'> {
  return plan.op === 'NodeByLabelScan' || plan.op === 'AllNodesScan' || plan.op === 'NodeIndexSeek'
}
