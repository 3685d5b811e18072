// Where nobody looks at the trails of a variable-length step and nobody counts its duplicates, only the reachable ends
// matter: a breadth-first search over visited nodes instead of every trail.
import { slotsOf } from '../bind/walk.ts'
import type { Plan, VarExpand } from '../plan/operators.ts'
import { mapInputs } from './rewrite.ts'

/** `reads`: slots that somebody above reads. `loose`: duplicates of rows make no difference above. */
export function pruneTrails(plan: Plan): Plan {
  return prune(plan, new Set(), false)
}

function prune(plan: Plan, above: ReadonlySet<number>, loose: boolean): Plan {
  const reads = new Set([...above, ...readBy(plan)])
  const looseBelow = looseness(plan, loose)
  if (plan.op === 'semi-apply' || plan.op === 'optional' || plan.op === 'apply') {
    const inner = prune(plan.inner, reads, plan.op === 'semi-apply' ? true : loose)
    const input = prune(plan.input, new Set([...reads, ...allReads(plan.inner)]), loose)
    return { ...plan, input, inner }
  }
  const below = mapInputs(plan, (input) => prune(input, reads, looseBelow))
  if (below.op === 'var-expand' && loose && !above.has(below.relationship.index) && reachSuffices(below)) {
    const { from, to, direction, types, min, max, into, each, input } = below
    return { op: 'reach', input, from, to, direction, types, min, max, into, each }
  }
  return below
}

/**
 * A shortest walk is a trail, so reachability in 0 or 1 to max steps is the same over walks and over trails. Not so when
 * the minimum is larger, when another relationship of the pattern must not be used, or when an undirected walk could
 * come back over the relationship it left by.
 */
function reachSuffices(walk: VarExpand): boolean {
  if (walk.differs.length > 0) return false
  if (walk.min > 1) return false
  return walk.direction !== 'both' || walk.min === 0
}

function looseness(plan: Plan, loose: boolean): boolean {
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
  switch (plan.op) {
    case 'filter':
      return plan.predicates.flatMap((predicate) => slotsOf(predicate).map((slot) => slot.index))
    case 'expand':
    case 'expand-into':
    case 'relationship-ends':
    case 'trail-ends':
      return plan.differs.map((slot) => slot.index)
    case 'var-expand':
      return [...plan.differs, ...(plan.each ? slotsOf(plan.each.predicate) : [])].map((slot) => slot.index)
    case 'reach':
    case 'shortest-path':
      return plan.each ? slotsOf(plan.each.predicate).map((slot) => slot.index) : []
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
