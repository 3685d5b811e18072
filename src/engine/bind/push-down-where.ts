// Moves what the last clause filters by into the MATCH that introduces what it reads, where the same rows stay: there the
// planner sees it when it chooses where the walk begins. What cannot be moved stays where the text has it.
import type { BoundClause, BoundExpression, Slot } from './bound.ts'
import { containsSubquery, slotsDeclaredBy, slotsOf } from './expression-tree.ts'
import { isSafePredicate } from './may-fail.ts'

export function pushDownWhere(clauses: readonly BoundClause[]): readonly BoundClause[] {
  const last = clauses.at(-1)
  if (last?.kind !== 'projection' || last.projection.where === null) return clauses
  const { where } = last.projection
  const sunk = clauses.slice(0, -1)
  const kept = (where.kind === 'and' ? where.operands : [where]).filter((predicate) => {
    const at = targetMatch(predicate, sunk)
    const clause = at === null ? null : sunk[at]
    if (at === null || clause?.kind !== 'match') return true
    sunk[at] = { kind: 'match', match: { ...clause.match, predicates: [...clause.match.predicates, predicate] } }
    return false
  })
  return [...sunk, { kind: 'projection', projection: { ...last.projection, where: conjunction(kept) } }]
}

function conjunction(operands: readonly BoundExpression[]): BoundExpression | null {
  return operands.length > 1 ? { kind: 'and', operands } : (operands[0] ?? null)
}

/** The MATCH, going back from the end, behind which all that the predicate reads is known. */
function targetMatch(predicate: BoundExpression, clauses: readonly BoundClause[]): number | null {
  // One that may fault would look at rows that the text drops before.
  if (!isSafePredicate(predicate) || containsSubquery(predicate)) return null
  const reads = slotsOf(predicate)
  if (reads.length === 0) return null
  for (let at = clauses.length - 1; at >= 0; at--) {
    const clause = clauses[at]!
    if (clause.kind === 'match') {
      const { match } = clause
      if (match.casts.some((cast) => isAmong(cast.to, reads))) return null
      if (slotsDeclaredBy(match).some((slot) => isAmong(slot, reads))) return match.optional ? null : at
    } else if (!preservesFilter(clause, reads)) return null
  }
  return null
}

/** Whether the rows that have these values come through the clause as they would come through among all others. */
function preservesFilter(clause: BoundClause, reads: readonly Slot[]): boolean {
  if (clause.kind === 'unwind') return !isAmong(clause.slot, reads)
  if (clause.kind !== 'projection') return false
  const { computed, grouping, skip, limit } = clause.projection
  if (skip || limit || computed.some(({ slot }) => isAmong(slot, reads))) return false
  // What it reads of the keys keeps or drops whole groups.
  return grouping === null || reads.every((slot) => isGroupingKey(slot, grouping))
}

function isGroupingKey(
  slot: Slot,
  grouping: readonly { readonly slot: Slot; readonly expression: BoundExpression }[],
): boolean {
  return grouping.some(
    (key) =>
      key.slot.index === slot.index && key.expression.kind === 'slot' && key.expression.slot.index === slot.index,
  )
}

function isAmong(slot: Slot, slots: readonly Slot[]): boolean {
  return slots.some(({ index }) => index === slot.index)
}
