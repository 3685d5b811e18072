// Drops path variables and the list variables of quantified path patterns that no operator reads. They read the relationships
// of their trails, so that without them a search by nodes may replace the enumeration of trails.
import type { Plan } from '../plan/operators.ts'
import { type OptimizerContext, withDemand } from './demand.ts'

/** MakePath and GroupVariables whose variables nothing reads → their input. */
export function dropUnreadVariables(plan: Plan, context: OptimizerContext): Plan {
  const { columns = null } = context
  const isColumn = new Set(columns?.map((slot) => slot.index))
  return withDemand(plan, context, (operator, { reads: readAbove, duplicateInsensitive }) => {
    // Otherwise the variable may be a column of the result.
    if (columns === null && !duplicateInsensitive) return operator
    const reads = { has: (slot: number) => readAbove.has(slot) || isColumn.has(slot) }
    let kept = operator
    while (kept.op === 'MakePath' || kept.op === 'GroupVariables') {
      if (kept.op === 'MakePath') {
        if (reads.has(kept.slot.index)) return kept
        kept = kept.input
        continue
      }
      const groups = kept.groups.filter(({ slot }) => reads.has(slot.index))
      if (groups.length > 0) return groups.length === kept.groups.length ? kept : { ...kept, groups }
      kept = kept.input
    }
    return kept
  })
}
