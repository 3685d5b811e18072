// What the operators above want of a plan: which slots anybody reads, and whether anybody minds duplicates of rows.
import type { BoundExpression, Slot } from '../bind/bound.ts'
import { slotsOf } from '../bind/expression-tree.ts'
import type { Plan } from '../plan/operators.ts'
import { mapInputs } from './plan-tree.ts'

export interface Demand {
  /** Indexes of slots that somebody above reads. */
  readonly reads: ReadonlySet<number>
  /** Duplicates of rows make no difference above. */
  readonly duplicateInsensitive: boolean
  /** Nobody above may want more than the first row. */
  readonly firstRowOnly: boolean
}

/** Rewrites every operator by what is wanted of it, from the root down. */
export function withDemand(plan: Plan, rewrite: (plan: Plan, demand: Demand) => Plan): Plan {
  return descend(plan, { reads: new Set(), duplicateInsensitive: false, firstRowOnly: false }, rewrite)
}

function descend(asked: Plan, demand: Demand, rewrite: (plan: Plan, demand: Demand) => Plan): Plan {
  const plan = rewrite(asked, demand)
  const reads = new Set([...demand.reads, ...readBy(plan)])
  const loose = isDuplicateInsensitive(plan, demand.duplicateInsensitive)
  const hasty = needsFirstRowOnly(plan, demand.firstRowOnly)
  if (plan.op === 'semi-apply' || plan.op === 'optional' || plan.op === 'apply') {
    const asksOnly = plan.op === 'semi-apply'
    const inner = descend(
      plan.inner,
      { reads, duplicateInsensitive: asksOnly || loose, firstRowOnly: asksOnly || hasty },
      rewrite,
    )
    const input = descend(
      plan.input,
      { reads: new Set([...reads, ...allReads(plan.inner)]), duplicateInsensitive: loose, firstRowOnly: hasty },
      rewrite,
    )
    return inner === plan.inner && input === plan.input ? plan : { ...plan, input, inner }
  }
  return mapInputs(plan, (input) =>
    descend(input, { reads, duplicateInsensitive: loose, firstRowOnly: hasty }, rewrite),
  )
}

function needsFirstRowOnly(plan: Plan, hasty: boolean): boolean {
  return plan.op === 'first' || (hasty && plan.op !== 'aggregate' && plan.op !== 'sort')
}

function isDuplicateInsensitive(plan: Plan, loose: boolean): boolean {
  switch (plan.op) {
    case 'first':
    case 'distinct':
      return true
    case 'aggregate':
      return plan.aggregates.every((a) => a.distinct || a.name === 'min' || a.name === 'max')
    case 'skip':
    case 'limit':
      return false
    case 'sort':
      return loose && plan.limit === null && plan.skip === null
    default:
      return loose
  }
}

function readBy(plan: Plan): readonly number[] {
  const indexes = (slots: readonly Slot[]): number[] => slots.map((slot) => slot.index)
  const inPredicates = (predicates: readonly BoundExpression[]): Slot[] => predicates.flatMap((one) => slotsOf(one))
  const inEach = (step: { readonly each: { readonly predicate: BoundExpression } | null }): readonly Slot[] =>
    step.each ? slotsOf(step.each.predicate) : []
  switch (plan.op) {
    case 'filter':
      return indexes(inPredicates(plan.predicates))
    case 'expand':
      return indexes([plan.from, ...plan.differs])
    case 'expand-into':
      return indexes([plan.from, plan.to, ...plan.differs])
    case 'relationship-ends':
    case 'trail-ends':
      return indexes([
        plan.relationship,
        ...(plan.from.known ? [plan.from.slot] : []),
        ...(plan.to.known ? [plan.to.slot] : []),
        ...plan.differs,
      ])
    case 'var-expand':
      return indexes([plan.from, ...(plan.into ? [plan.to] : []), ...plan.differs, ...inEach(plan)])
    case 'reach':
      return indexes([plan.from, ...(plan.into ? [plan.to] : []), ...inEach(plan)])
    case 'connect':
    case 'spread':
      return indexes([
        plan.from,
        ...(plan.op === 'connect' ? [plan.to] : []),
        ...plan.stops.flatMap((stop) => inPredicates(stop.predicates)),
        ...plan.links.flatMap(inEach),
      ])
    case 'ascend':
      return indexes([plan.from])
    case 'shortest-path':
      return indexes([plan.from, plan.to, ...inEach(plan)])
    case 'cast':
      return plan.casts.map((cast) => cast.from.index)
    case 'unwind':
      return slotsOf(plan.list).map((slot) => slot.index)
    case 'make-path':
      return [...plan.nodes, ...plan.relationships].map((slot) => slot.index)
    case 'project':
      return plan.items.flatMap((item) => slotsOf(item.expression).map((slot) => slot.index))
    case 'aggregate':
      return [
        ...plan.grouping.flatMap((item) => slotsOf(item.expression)),
        ...plan.aggregates.flatMap((a) => [
          ...(a.argument ? slotsOf(a.argument) : []),
          ...(a.parameter ? slotsOf(a.parameter) : []),
        ]),
      ].map((slot) => slot.index)
    case 'distinct':
      return plan.slots.map((slot) => slot.index)
    case 'sort':
      return [...plan.slots, ...plan.by.flatMap((item) => slotsOf(item.expression))].map((slot) => slot.index)
    case 'node-by-key':
      return slotsOf(plan.externalId).map((slot) => slot.index)
    case 'node-by-property':
      return slotsOf(plan.value).map((slot) => slot.index)
    default:
      return []
  }
}

function allReads(plan: Plan): readonly number[] {
  if (plan.op === 'argument') return []
  if (plan.op === 'union') return plan.branches.flatMap(allReads)
  const inner = 'inner' in plan ? allReads(plan.inner) : []
  return [...readBy(plan), ...inner, ...allReads(plan.input)]
}
