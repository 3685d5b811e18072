// Restricts a variable to one node or to one type of node: where the query introduces the variable, if this keeps the same
// rows as a restriction at the end; otherwise at the end.
import { assertNever } from '../../kernel/assert.ts'
import { isImpliedLabelTest } from './bind-labels.ts'
import type { BoundClause, BoundDerived, BoundExpression, BoundMatch, BoundPart, Slot } from './bound.ts'
import { slotsDeclaredBy } from './expression-tree.ts'

/** The type of the node, and the parameter that holds its external id; null for no restriction. */
export interface VariableRestriction {
  readonly type: string | null
  readonly externalIdParameter: string | null
}

/**
 * The clauses with the restriction where they introduce the slot; null if it cannot be applied there. `byId`: the caller
 * fills the slot with a node of that type before each run, so only the label tests that this implies are dropped.
 */
export function restrictAtIntroduction(
  clauses: readonly BoundClause[],
  slot: Slot,
  restriction: VariableRestriction,
  byId: boolean,
): readonly BoundClause[] | null {
  const restricted = restrictClauses(clauses, slot, restriction, byId)
  return restricted === null || 'from' in restricted ? null : restricted
}

/** The slot has the node of another slot, which a clause before introduces. */
interface Imported {
  readonly from: Slot
}

function restrictClauses(
  clauses: readonly BoundClause[],
  slot: Slot,
  restriction: VariableRestriction,
  byId: boolean,
): readonly BoundClause[] | null | Imported {
  let from = slot
  for (let at = clauses.length - 1; at >= 0; at--) {
    const clause = clauses[at]!
    const changed = restrictClause(clause, from, restriction, byId)
    if (changed === null) return null
    if (changed === 'elsewhere' || 'from' in changed) {
      if (changed !== 'elsewhere') from = changed.from
      if (!preservesRestriction(clause, from)) return null
      continue
    }
    return [
      ...clauses.slice(0, at),
      changed,
      ...clauses.slice(at + 1).map((c) => withoutImpliedLabelTests(c, from, restriction)),
    ]
  }
  return { from }
}

/** The clause with the restriction; null if it introduces the slot in a way that cannot be restricted. */
function restrictClause(
  clause: BoundClause,
  slot: Slot,
  restriction: VariableRestriction,
  byId: boolean,
): BoundClause | null | 'elsewhere' | Imported {
  switch (clause.kind) {
    case 'match': {
      const { match } = clause
      if (match.casts.some((cast) => cast.to.index === slot.index)) return null
      if (!slotsDeclaredBy(match).some((s) => s.index === slot.index)) return 'elsewhere'
      if (match.optional) return null
      const kept = withoutImpliedLabelTests(clause, slot, restriction)
      if (byId || kept.kind !== 'match') return kept
      return {
        kind: 'match',
        match: { ...kept.match, predicates: [...restrictAtEnd(slot, restriction), ...kept.match.predicates] },
      }
    }
    case 'unwind':
      return clause.slot.index === slot.index ? null : 'elsewhere'
    case 'projection':
      return clause.projection.computed.some((item) => item.slot.index === slot.index) ? null : 'elsewhere'
    case 'call': {
      if (!clause.part.columns.some((column) => column.slot.index === slot.index)) return 'elsewhere'
      const clauses = restrictClauses(clause.part.clauses, slot, restriction, false)
      // Without rows for another node, an optional subquery would return null.
      if (clauses === null || clause.optional) return null
      return 'from' in clauses ? clauses : { ...clause, part: { ...clause.part, clauses } }
    }
    case 'union': {
      const { union } = clause
      const column = union.columns.findIndex((c) => c.slot.index === slot.index)
      if (column < 0) return 'elsewhere'
      const parts: BoundPart[] = []
      const imported: Slot[] = []
      for (const part of union.parts) {
        const inner = part.columns[column]!.slot
        const clauses = inner.kind === 'node' ? restrictClauses(part.clauses, inner, restriction, false) : null
        if (clauses === null) return null
        if ('from' in clauses) imported.push(clauses.from)
        else parts.push({ ...part, clauses })
      }
      if (imported.length === 0) return { kind: 'union', union: { ...union, parts } }
      // As the branches of WHEN: every part returns the same node from outside.
      const [from] = imported as [Slot]
      const isSame = parts.length === 0 && imported.every((other) => other.index === from.index)
      return isSame ? { from } : null
    }
    default:
      return assertNever(clause)
  }
}

/** Whether the clause returns the same rows for one node of the slot if the rows of all other nodes are dropped before it. */
function preservesRestriction(clause: BoundClause, slot: Slot): boolean {
  switch (clause.kind) {
    case 'projection': {
      const { grouping, skip, limit } = clause.projection
      if (skip || limit) return false
      return grouping === null || grouping.some((key) => key.slot.index === slot.index)
    }
    case 'match':
    case 'unwind':
    case 'call':
    case 'union':
      return true
    default:
      return assertNever(clause)
  }
}

/** Drops label tests that the type implies: every node has its type as a label. */
function withoutImpliedLabelTests(clause: BoundClause, slot: Slot, restriction: VariableRestriction): BoundClause {
  if (clause.kind !== 'match' || restriction.type === null) return clause
  const { match } = clause
  const predicates = match.predicates.filter((predicate) => !isImpliedLabelTest(predicate, slot, restriction.type!))
  const derived = match.derived.map((step) => derivedWithoutImplied(step, match, slot, restriction))
  const isChanged =
    predicates.length < match.predicates.length || derived.some((step, at) => step !== match.derived[at])
  return isChanged ? { kind: 'match', match: { ...match, predicates, derived } } : clause
}

/** The same for the alternatives of a definition of which the slot is an end. */
function derivedWithoutImplied(
  step: BoundDerived,
  { nodes }: BoundMatch,
  slot: Slot,
  restriction: VariableRestriction,
): BoundDerived {
  const { branches, source, target } = step
  const isEnd = [source, target].some((end) => nodes[end]!.slot.index === slot.index)
  if (branches === null || !isEnd) return step
  return {
    ...step,
    branches: branches.map((part) => ({
      ...part,
      clauses: part.clauses.map((clause) => withoutImpliedLabelTests(clause, slot, restriction)),
    })),
  }
}

/** The restriction as predicates, for the end of the query. */
export function restrictAtEnd(slot: Slot, { type, externalIdParameter }: VariableRestriction): BoundExpression[] {
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
