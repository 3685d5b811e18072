// Says of one variable which node it is to be, or of which type: where the variable is introduced, when choosing there
// and choosing at the end keep the same rows; else at the end.
import { isLabelTest } from './bind-labels.ts'
import type { BoundClause, BoundExpression, BoundPart, Slot } from './bound.ts'
import { slotsDeclaredBy } from './expression-tree.ts'

/** What is wanted of the node; null where nothing is. */
export interface VariableRestriction {
  readonly type: string | null
  readonly externalIdParameter: string | null
}

export const restrictVariable = { atIntroduction, atEnd }

/**
 * `byId`: the caller fills the slot in before each run with a node of that type, so only the label tests that this makes
 * superfluous are dropped. Null where the choice cannot be made early.
 */
function atIntroduction(
  clauses: readonly BoundClause[],
  slot: Slot,
  wanted: VariableRestriction,
  byId: boolean,
): readonly BoundClause[] | null {
  for (let at = clauses.length - 1; at >= 0; at--) {
    const clause = clauses[at]!
    const changed = restrictClause(clause, slot, wanted, byId)
    if (changed === 'elsewhere') {
      if (!preservesRestriction(clause, slot)) return null
      continue
    }
    return (
      changed && [
        ...clauses.slice(0, at),
        changed,
        ...clauses.slice(at + 1).map((c) => withoutImpliedLabelTests(c, slot, wanted)),
      ]
    )
  }
  return null
}

/** The clause with the choice in it; null where it introduces the slot in a way that cannot be narrowed. */
function restrictClause(
  clause: BoundClause,
  slot: Slot,
  wanted: VariableRestriction,
  byId: boolean,
): BoundClause | null | 'elsewhere' {
  switch (clause.kind) {
    case 'match': {
      const { match } = clause
      if (match.casts.some((cast) => cast.to.index === slot.index)) return null
      if (!slotsDeclaredBy(match).some((s) => s.index === slot.index)) return 'elsewhere'
      if (match.optional) return null
      const kept = withoutImpliedLabelTests(clause, slot, wanted)
      if (byId || kept.kind !== 'match') return kept
      return { kind: 'match', match: { ...kept.match, predicates: [...atEnd(slot, wanted), ...kept.match.predicates] } }
    }
    case 'unwind':
      return clause.slot.index === slot.index ? null : 'elsewhere'
    case 'projection':
      return clause.projection.computed.some((item) => item.slot.index === slot.index) ? null : 'elsewhere'
    case 'call': {
      const part = restrictPart(clause.part, slot, wanted)
      return part === 'elsewhere' ? part : part && { kind: 'call', part }
    }
    case 'union': {
      const { union } = clause
      const column = union.columns.findIndex((c) => c.slot.index === slot.index)
      if (column < 0) return 'elsewhere'
      const parts = union.parts.map((part) => {
        const inner = part.columns[column]!.slot
        const clauses = inner.kind === 'node' ? atIntroduction(part.clauses, inner, wanted, false) : null
        return clauses && { ...part, clauses }
      })
      return parts.every((part) => part !== null) ? { kind: 'union', union: { ...union, parts } } : null
    }
  }
}

function restrictPart(part: BoundPart, slot: Slot, wanted: VariableRestriction): BoundPart | null | 'elsewhere' {
  if (!part.columns.some((column) => column.slot.index === slot.index)) return 'elsewhere'
  const clauses = atIntroduction(part.clauses, slot, wanted, false)
  return clauses && { ...part, clauses }
}

/** Whether the rows of one node of the slot come through the clause as they would come through among all others. */
function preservesRestriction(clause: BoundClause, slot: Slot): boolean {
  if (clause.kind !== 'projection') return true
  const { grouping, skip, limit } = clause.projection
  if (skip || limit) return false
  return grouping === null || grouping.some((key) => key.slot.index === slot.index)
}

/** A node of the type carries the type as a label. */
function withoutImpliedLabelTests(clause: BoundClause, slot: Slot, wanted: VariableRestriction): BoundClause {
  if (clause.kind !== 'match' || wanted.type === null) return clause
  const { match } = clause
  const predicates = match.predicates.filter((predicate) => !isLabelTest(predicate, slot, wanted.type!))
  return predicates.length === match.predicates.length ? clause : { kind: 'match', match: { ...match, predicates } }
}

/** The choice as predicates. */
function atEnd(slot: Slot, { type, externalIdParameter }: VariableRestriction): BoundExpression[] {
  const predicates: BoundExpression[] = []
  if (type !== null) predicates.push(fieldEquals(slot, 'type', { kind: 'constant', value: type }))
  if (externalIdParameter !== null) {
    const span = { start: 0, end: 0 }
    const value: BoundExpression = { kind: 'parameter', name: externalIdParameter, path: [], span }
    predicates.push(fieldEquals(slot, 'external_id', value))
  }
  return predicates
}

function fieldEquals(slot: Slot, own: 'type' | 'external_id', right: BoundExpression): BoundExpression {
  const span = { start: 0, end: 0 }
  const left: BoundExpression =
    slot.kind === 'node'
      ? { kind: 'element-property', slot, key: own, own }
      : { kind: 'property', target: { kind: 'slot', slot }, key: own, span }
  return { kind: 'comparison', operator: '=', left, right }
}
