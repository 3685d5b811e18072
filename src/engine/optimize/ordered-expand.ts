// A search whose nodes can be had in ascending order, one by one: it holds none of them to tell them apart, and can go on
// from any of them without finding those before it again. Only a question's own plan is such a search.
import type { BoundExpression, Slot } from '../bind/bound.ts'
import { slotsOf } from '../bind/expression-tree.ts'
import type { ChainLink, ExpandAllPlan, OrderedExpandPlan, Plan, PruningExpandPlan } from '../plan/operators.ts'
import { slotsFilledBy } from './plan-tree.ts'

export function orderedExpand(plan: Plan): Plan {
  if (plan.op !== 'distinct' || plan.searchOrder !== 'in any order') return plan
  const sought = plan.slots[0]!
  if (sought.kind !== 'node') return plan
  const input = orderByLastHop(plan.input, sought, []) ?? orderByScan(plan.input, sought)
  return input === null ? plan : { ...plan, input, searchOrder: 'ascending' }
}

/** Nothing but tests of the node stands above the hop that finds it; `tests`: those met so far. */
function orderByLastHop(plan: Plan, sought: Slot, tests: readonly BoundExpression[]): Plan | null {
  if (plan.op === 'filter') {
    const input = orderByLastHop(plan.input, sought, [...tests, ...plan.predicates])
    return input === null ? null : { ...plan, input }
  }
  if ((plan.op !== 'expand' && plan.op !== 'spread') || plan.to.index !== sought.index) return null
  const known = new Set([sought, ...argumentOf(plan)].map((slot) => slot.index))
  const isTest = tests.every((test) => slotsOf(test).every((slot) => known.has(slot.index)))
  return isTest ? (plan.op === 'expand' ? hopOf(plan) : lastHopOf(plan)) : null
}

function hopOf({ input, from, to, direction, types, differs }: ExpandAllPlan): OrderedExpandPlan | null {
  return differs.length > 0 ? null : { op: 'ascend', input, from, to, direction, types }
}

function lastHopOf({ links, stops, to, ...before }: PruningExpandPlan): OrderedExpandPlan | null {
  const last = links.at(-1)
  const stop = stops.at(-1)
  if (last === undefined || stop === undefined || !isHop(last)) return null
  const reached: Plan = { ...before, to: stop.slot, links: links.slice(0, -1), stops: stops.slice(0, -1) }
  const input: Plan =
    stop.predicates.length > 0 ? { op: 'filter', input: reached, predicates: stop.predicates } : reached
  return { op: 'ascend', input, from: stop.slot, to, direction: last.direction, types: last.types }
}

function isHop({ min, max, each }: ChainLink): boolean {
  return min === 1 && max === 1 && each === null
}

function argumentOf(plan: Plan): readonly Slot[] {
  return plan.op === 'argument' ? plan.slots : plan.op === 'union' ? [] : argumentOf(plan.input)
}

/** One scan finds the node, and what is done with it afterwards keeps the order of the rows and looks at no others. */
function orderByScan(plan: Plan, sought: Slot): Plan | null {
  switch (plan.op) {
    case 'label-scan':
    case 'all-nodes':
    case 'node-by-property':
      if (plan.slot.index === sought.index) return isOneRow(plan.input) ? { ...plan, goesOn: true } : null
      break
    // These count rows, or put them in another order.
    case 'argument':
    case 'union':
    case 'aggregate':
    case 'distinct':
    case 'sort':
    case 'skip':
    case 'limit':
    case 'first':
    case 'ascend':
      return null
    default:
      if (slotsFilledBy(plan).some((slot) => slot.index === sought.index)) return null
  }
  const input = orderByScan(plan.input, sought)
  return input === null ? null : { ...plan, input }
}

function isOneRow(plan: Plan): boolean {
  switch (plan.op) {
    case 'argument':
      return true
    case 'filter':
    case 'semi-apply':
    case 'connect':
      return isOneRow(plan.input)
    default:
      return false
  }
}
