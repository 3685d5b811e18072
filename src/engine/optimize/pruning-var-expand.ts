// Replaces the enumeration of all trails by a breadth-first search over visited nodes, if nothing above reads the trails of
// a variable-length step or counts its duplicates.
import type { PlanningContext } from '../plan/build-plan.ts'
import type { Plan, PlanOf } from '../plan/operators.ts'
import { withDemand } from './demand.ts'

/** VarLengthExpand → a chain of one link: PruningExpand, or BidirectionalExpandInto between two known nodes. */
export function pruningVarExpand(plan: Plan, context: PlanningContext): Plan {
  return withDemand(plan, context, (walk, { reads, duplicateInsensitive }) => {
    if (walk.op !== 'VarLengthExpand' || !duplicateInsensitive) return walk
    if (reads.has(walk.relationship.index) || !reachabilitySuffices(walk)) return walk
    const { from, to, direction, types, min, max, into, each, further, input } = walk
    const links = [{ direction, types, min, max, each, further }]
    return { op: into ? 'BidirectionalExpandInto' : 'PruningExpand', input, from, to, links, intermediates: [] }
  })
}

/**
 * Whether the ends of the walks in 0 or 1 to `max` repetitions are the ends of the trails. A walk that takes a hop of the
 * repetition twice over the same relationship, in the same direction, can be cut between the two: it is at the same node
 * and at the same place of the repetition. So the shortest walk to an end, if its hops cannot share a relationship
 * otherwise, is a trail, and no longer than any other. It is not so if the minimum is larger, if the step must avoid
 * another relationship of the pattern, if a predicate reads several hops, if two hops of the repetition can be the same
 * relationship, or if an undirected walk could return over the relationship by which it left. With REPEATABLE ELEMENTS a
 * walk needs to be no trail.
 */
function reachabilitySuffices(walk: PlanOf<'VarLengthExpand'>): boolean {
  if (walk.distinctFrom.length > 0 || walk.min > 1 || walk.repetition !== null) return false
  if (walk.repeatable) return true
  if (walk.further.length === 0) return walk.direction !== 'both' || walk.min === 0
  const hops = [walk, ...walk.further]
  return (
    hops.every((hop) => hop.direction !== 'both' && hop.types.length > 0) &&
    new Set(hops.flatMap((hop) => hop.types)).size === hops.reduce((sum, hop) => sum + hop.types.length, 0)
  )
}
