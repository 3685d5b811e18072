// Where nobody looks at the trails of a variable-length step and nobody counts its duplicates, only the reachable ends
// matter: a breadth-first search over visited nodes instead of every trail.
import type { Plan, VarLengthExpandPlan } from '../plan/operators.ts'
import { withDemand } from './demand.ts'

export function pruningVarExpand(plan: Plan): Plan {
  return withDemand(plan, (walk, { reads, duplicateInsensitive }) => {
    if (
      walk.op !== 'var-expand' ||
      !duplicateInsensitive ||
      reads.has(walk.relationship.index) ||
      !reachabilitySuffices(walk)
    )
      return walk
    const { from, to, direction, types, min, max, into, each, input } = walk
    return { op: 'reach', input, from, to, direction, types, min, max, into, each }
  })
}

/**
 * A shortest walk is a trail, so reachability in 0 or 1 to max steps is the same over walks and over trails. Not so when
 * the minimum is larger, when another relationship of the pattern must not be used, or when an undirected walk could
 * come back over the relationship it left by.
 */
function reachabilitySuffices(walk: VarLengthExpandPlan): boolean {
  if (walk.differs.length > 0) return false
  if (walk.min > 1) return false
  return walk.direction !== 'both' || walk.min === 0
}
