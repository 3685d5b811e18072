// Replaces the enumeration of all trails by a breadth-first search over visited nodes, if nothing above reads the trails of
// a variable-length step or counts its duplicates.
import type { Plan, PlanOf } from '../plan/operators.ts'
import { withDemand } from './demand.ts'

/** VarLengthExpand → PruningVarExpand. */
export function pruningVarExpand(plan: Plan): Plan {
  return withDemand(plan, (walk, { reads, duplicateInsensitive }) => {
    if (walk.op !== 'VarLengthExpand' || !duplicateInsensitive) return walk
    if (reads.has(walk.relationship.index) || !reachabilitySuffices(walk)) return walk
    const { from, to, direction, types, min, max, into, each, input } = walk
    return { op: 'PruningVarExpand', input, from, to, direction, types, min, max, into, each }
  })
}

/**
 * A shortest walk is a trail, so reachability in 0 or 1 to `max` steps is the same over walks and over trails. It is not
 * the same if the minimum is larger, if the step must avoid another relationship of the pattern, or if an undirected walk
 * could return over the relationship by which it left.
 */
function reachabilitySuffices(walk: PlanOf<'VarLengthExpand'>): boolean {
  if (walk.distinctFrom.length > 0) return false
  if (walk.min > 1) return false
  return walk.direction !== 'both' || walk.min === 0
}
