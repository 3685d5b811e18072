// Moves the predicates of the last WITH … WHERE into the MATCH that introduces what they read, if the result is the same.
// There the planner considers them when it chooses where to start. Other predicates stay where the text has them.
import { assertNever } from '../../kernel/assert.ts'
import type { BoundClause, BoundExpression, Slot } from './bound.ts'
import { containsSubquery, slotsDeclaredBy, slotsOf } from './expression-tree.ts'
import { isSafePredicate } from './may-fail.ts'

/** The same clauses with the WHERE of the last projection moved as far down as possible. */
export function pushDownWhere(clauses: readonly BoundClause[]): readonly BoundClause[] {
  const last = clauses.at(-1)
  if (last?.kind !== 'projection' || last.projection.where === null) return clauses
  const { where } = last.projection
  const moved = clauses.slice(0, -1)
  const kept = (where.kind === 'and' ? where.operands : [where]).filter((predicate) => {
    // Its own projection comes first: the text filters what that has limited, aggregated and computed.
    const at = preservesFilter(last, slotsOf(predicate)) ? targetMatch(predicate, moved) : null
    const clause = at === null ? null : moved[at]
    if (at === null || clause?.kind !== 'match') return true
    moved[at] = { kind: 'match', match: { ...clause.match, predicates: [...clause.match.predicates, predicate] } }
    return false
  })
  return [...moved, { kind: 'projection', projection: { ...last.projection, where: conjunction(kept) } }]
}

function conjunction(operands: readonly BoundExpression[]): BoundExpression | null {
  return operands.length > 1 ? { kind: 'and', operands } : (operands[0] ?? null)
}

/** The index of the first MATCH, from the end, after which all that the predicate reads is known; null if none exists. */
function targetMatch(predicate: BoundExpression, clauses: readonly BoundClause[]): number | null {
  // A predicate that may fail stays: at an earlier clause it would also be evaluated for rows that the text drops first.
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

/** Whether the predicate keeps the same rows before the clause as after it; `reads` are the slots of the predicate. */
function preservesFilter(clause: BoundClause, reads: readonly Slot[]): boolean {
  switch (clause.kind) {
    case 'unwind':
      return !isAmong(clause.slot, reads)
    case 'projection': {
      const { computed, grouping, skip, limit } = clause.projection
      if (skip || limit || computed.some(({ slot }) => isAmong(slot, reads))) return false
      // A predicate on grouping keys keeps or drops whole groups.
      return grouping === null || reads.every((slot) => isGroupingKey(slot, grouping))
    }
    case 'match':
    case 'union':
    case 'call':
      return false
    default:
      return assertNever(clause)
  }
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
