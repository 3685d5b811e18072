// Access queries. A condition is a relation: the combinations of nodes that its variables have in its rows. An access query
// fixes some of the variables. It returns whether there is a row, the nodes of another variable, or the rows. All access queries
// read the same relation, so a search finds a node exactly if the check with that node is true
// (docs/decisions/0005-condition-is-a-relation.md).
import { assert } from '../kernel/assert.ts'
import type { BoundExpression, BoundMatch, BoundQuery, Slot } from './bind/bound.ts'
import { RESERVED_PREFIX } from './bind/dialect.ts'
import { slotsDeclaredBy } from './bind/expression-tree.ts'
import { restrictAtEnd, restrictAtIntroduction } from './bind/restrict-variable.ts'
import type { Plan } from './plan/operators.ts'

/** How a condition is used. Every variable in it must be one that `resolveNodeVariable` accepts. */
export interface AccessQuery {
  /** Variables whose node the caller gives by external id. Each needs an entry in `types`. */
  readonly fixed: readonly string[]
  /** The result of the query: whether there is a row, the distinct nodes of a variable, or all rows. */
  readonly returns: 'exists' | 'rows' | { readonly nodesOf: string }
  /** The node types that variables must have. */
  readonly types: ReadonlyMap<string, string>
}

/** All rows of a query, without restriction. */
export const allRows: AccessQuery = { fixed: [], returns: 'rows', types: new Map() }

/** The slot of a variable that a condition must bind to a node, or the message of the diagnostic. */
export function resolveNodeVariable(query: BoundQuery, name: string): Slot | string {
  const slot = query.columns.find((column) => column.name === name)?.slot
  if (!slot) return `the condition must bind \`${name}\` and keep it in scope to its end`
  const isNode = slot.kind === 'node' || (slot.kind === 'value' && slot.type?.kind === 'node')
  if (!isNode) return `\`${name}\` must be a node that a pattern binds`
  // With OPTIONAL MATCH there would be rows without the node.
  if (introducingMatch(query, slot)?.optional) return `\`${name}\` must first be bound by MATCH, not by OPTIONAL MATCH`
  const isOptional = query.clauses.some(
    (clause) =>
      clause.kind === 'call' &&
      clause.optional &&
      clause.part.columns.some((column) => column.slot.index === slot.index),
  )
  return isOptional ? `\`${name}\` must be bound by MATCH or CALL, not by OPTIONAL CALL` : slot
}

function introducingMatch(query: BoundQuery, slot: Slot): BoundMatch | null {
  for (const clause of query.clauses) {
    if (clause.kind !== 'match') continue
    if (slotsDeclaredBy(clause.match).some(({ index }) => index === slot.index)) return clause.match
  }
  return null
}

/** An access query in terms of the planner. */
export interface BoundAccessQuery {
  /** The query with its variables restricted. */
  readonly query: BoundQuery
  /** For each fixed variable: the slot to fill with the id of the node, or null if its external id becomes a parameter. */
  readonly fixedSlots: readonly (Slot | null)[]
  /** The variable whose nodes the query returns; null if it returns none. */
  readonly targetSlot: Slot | null
  /** The restrictions that hold only at the end of the query. `addRoot` tests them; `query` does not. */
  readonly endPredicates: readonly BoundExpression[]
  /** Puts what the access query returns on top of the plan of the query. */
  readonly addRoot: (plan: Plan) => Plan
}

/** The parameter with the external id of a fixed variable. The binder rejects such names in a text. */
export function externalIdParameter(name: string): string {
  return `${RESERVED_PREFIX}${name}`
}

/**
 * Restricts the variables of a query to the types and fixed nodes of an access query. `byParameter`: every fixed variable is
 * compared with the parameter of its external id, and no slot is filled.
 */
export function bindAccessQuery(
  query: BoundQuery,
  accessQuery: AccessQuery,
  { byParameter = false }: { readonly byParameter?: boolean } = {},
): BoundAccessQuery {
  let { clauses } = query
  const filled = new Map<string, Slot>()
  const predicates: BoundExpression[] = []
  const { fixed, returns, types } = accessQuery
  const target = typeof returns === 'object' ? returns.nodesOf : null
  for (const name of new Set([...fixed, ...(target === null ? [] : [target]), ...types.keys()])) {
    const slot = nodeSlot(query, name)
    const isFixed = fixed.includes(name)
    const restriction = {
      type: types.get(name) ?? null,
      externalIdParameter: isFixed ? externalIdParameter(name) : null,
    }
    // The id of a node of the default graph can be filled in if a MATCH of the condition itself introduces it. Two variables
    // may share a slot (`WITH x AS subject, x AS resource`): then the second is compared by its external id.
    const isShared = [...filled.values()].some((other) => other.index === slot.index)
    const byId =
      !byParameter &&
      isFixed &&
      !isShared &&
      restriction.type !== null &&
      slot.graph === 0 &&
      introducingMatch(query, slot) !== null
    const restricted = isShared ? null : restrictAtIntroduction(clauses, slot, restriction, byId)
    if (restricted) {
      clauses = restricted
      if (byId) filled.set(name, slot)
    } else predicates.push(...restrictAtEnd(slot, restriction))
  }
  const targetSlot = target === null ? null : nodeSlot(query, target)
  return {
    query: { ...query, clauses },
    fixedSlots: fixed.map((name) => filled.get(name) ?? null),
    targetSlot,
    endPredicates: predicates,
    addRoot: (plan) => {
      const input: Plan = predicates.length > 0 ? { op: 'Filter', input: plan, predicates } : plan
      if (targetSlot) return { op: 'Distinct', input, slots: [targetSlot], searchOrder: 'any' }
      return returns === 'exists' ? { op: 'First', input } : input
    },
  }
}

function nodeSlot(query: BoundQuery, name: string): Slot {
  const slot = resolveNodeVariable(query, name)
  assert(typeof slot !== 'string', `${name} is a node variable`)
  return slot
}
