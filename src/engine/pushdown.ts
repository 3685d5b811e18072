// Queries that a server of another database executes as a whole. The engine gives the server a bound query that describes
// itself: everything that an access query restricts is a predicate in it, and nothing is filled in from outside.
import { emptyProjection } from './bind/bind-projection.ts'
import type { BoundExpression, BoundQuery, Slot } from './bind/bound.ts'
import { type AccessQuery, bindAccessQuery } from './relation-query.ts'

/** A query that a server executes. Its fixed variables are compared with the parameters `given NAME`. */
export interface PushedQuery {
  readonly query: BoundQuery
  /** The result: whether there is a row, the rows, or the distinct nodes of a slot. */
  readonly returns: 'exists' | 'rows' | { readonly nodesOf: Slot }
}

/** The pushed query of an access query. */
export function pushedQueryOf(query: BoundQuery, accessQuery: AccessQuery): PushedQuery {
  const { query: restricted, targetSlot, endPredicates } = bindAccessQuery(query, accessQuery, { byParameter: true })
  const { returns } = accessQuery
  return {
    query: endPredicates.length === 0 ? restricted : withEndPredicates(restricted, endPredicates),
    returns: typeof returns === 'string' ? returns : { nodesOf: targetSlot! },
  }
}

function withEndPredicates(query: BoundQuery, predicates: readonly BoundExpression[]): BoundQuery {
  const [first] = predicates as [BoundExpression]
  const where: BoundExpression = predicates.length === 1 ? first : { kind: 'and', operands: predicates }
  const projection = { ...emptyProjection, where, columns: query.columns }
  return { ...query, clauses: [...query.clauses, { kind: 'projection', projection }] }
}

/**
 * A query with one row, whose columns are the values of expressions that read no slot from outside: the parameters of a
 * printed query. `frameSize`: that of the query from which the expressions come.
 */
export function valuesQuery(expressions: readonly BoundExpression[], frameSize: number): BoundQuery {
  const computed = expressions.map((expression, i) => {
    const slot: Slot = { index: frameSize + i, name: `value ${i}`, kind: 'value', graph: 0 }
    return { slot, expression }
  })
  const columns = computed.map(({ slot }) => ({ name: slot.name, slot }))
  return {
    clauses: [{ kind: 'projection', projection: { ...emptyProjection, computed, columns } }],
    columns,
    frameSize: frameSize + expressions.length,
    parameters: [],
    graphs: [{ kind: 'default' }],
    symbols: [],
    tabled: [],
    usesDefinitions: false,
  }
}
