// Prints a bound query as Cypher 5 for a server with Neo4j's dialect. Every value is a parameter, every name from outside is
// quoted, and every variable is generated. A construct whose meaning on the server is not exactly that of the engine is not
// printed: then the engine executes the query.
import type { BoundExpression, BoundQuery, Slot } from '../../engine/bind/bound.ts'
import type { PushedQuery } from '../../engine/pushdown.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { printClauses, printExistsMatch, printSubquery } from './clauses.ts'
import { NotPrintable } from './not-printable.ts'
import type { PrintedParameter } from './parameter.ts'
import { type PrinterParts, Printing } from './printing.ts'

/** A query as text for the server. */
export interface PrintedQuery {
  /** Cypher 5, without USE. */
  readonly text: string
  /** The parameters of the text by their generated names. */
  readonly parameters: ReadonlyMap<string, PrintedParameter>
  /**
   * `exists`: one record with the column `found`. Nodes: the column `node`, each node once, ascending by the id of the server,
   * with the further parameters `after` (an id of the server, exclusive) and `enough` (the greatest number of records). Rows:
   * a column `c0`, `c1` … for each column of the query.
   */
  readonly columns: readonly string[]
  /** The keys of the captured properties that the text reads. */
  readonly propertyNames: readonly string[]
  /** Index of the only graph that the query reads (`BoundQuery.graphs`). */
  readonly graph: number
}

const parts: PrinterParts = { subquery: printSubquery, exists: printExistsMatch }

/** Prints a query. The error is the reason why it cannot be printed. */
export function printQuery(pushed: PushedQuery): Result<PrintedQuery, string> {
  try {
    return ok(print(pushed))
  } catch (fault) {
    if (fault instanceof NotPrintable) return err(fault.message)
    throw fault
  }
}

function print({ query, returns }: PushedQuery): PrintedQuery {
  const facts = factsOf(query)
  if (facts.graphs.size > 1) throw new NotPrintable('several graphs')
  const printing = new Printing(parts, facts.reads)
  const scope = { imported: new Set<string>(), known: new Set<string>() }
  const lines = printClauses(query, scope, returns === 'rows' ? 'rows' : 'inner', printing)
  const { columns, last } = lastLines(query, returns, printing)
  return {
    text: [...lines, ...last].join('\n'),
    parameters: printing.parameters,
    columns,
    propertyNames: [...printing.propertyNames],
    graph: [...facts.graphs][0] ?? 0,
  }
}

function lastLines(
  query: BoundQuery,
  returns: PushedQuery['returns'],
  printing: Printing,
): { readonly columns: readonly string[]; readonly last: readonly string[] } {
  if (returns === 'exists') {
    return { columns: ['found'], last: ['WITH 1 AS found', 'LIMIT 1', 'RETURN count(*) > 0 AS found'] }
  }
  if (returns === 'rows') {
    const columns = query.columns.map((_, i) => `c${i}`)
    const items = query.columns.map(({ slot }, i) => `${printing.name(slot)} AS c${i}`)
    return { columns, last: [`RETURN ${items.join(', ')}`] }
  }
  const last = [
    `WITH DISTINCT ${printing.name(returns.nodesOf)} AS node`,
    'WHERE id(node) > $after',
    'RETURN node',
    'ORDER BY id(node)',
    'LIMIT $enough',
  ]
  return { columns: ['node'], last }
}

interface QueryFacts {
  /** Slots that expressions and columns read, except those that only a path selector reads. */
  readonly reads: ReadonlySet<number>
  /** The graphs of all elements. */
  readonly graphs: ReadonlySet<number>
}

function factsOf(query: BoundQuery): QueryFacts {
  const reads = new Set<number>()
  const graphs = new Set<number>()
  for (const { slot } of query.columns) reads.add(slot.index)
  visit(query.clauses, false)
  return { reads, graphs }

  function visit(value: unknown, inSelection: boolean): void {
    if (typeof value !== 'object' || value === null) return
    if (isSlotObject(value)) {
      if (value.kind !== 'value') graphs.add(value.graph)
      return
    }
    if (isConstant(value)) return
    if (isRead(value) && !inSelection) reads.add(value.slot.index)
    for (const [key, part] of Object.entries(value)) {
      // A column that a projection keeps is not read by it.
      if (key !== 'span') visit(part, inSelection || key === 'selection')
    }
  }
}

function isSlotObject(value: object): value is Slot {
  return 'index' in value && 'graph' in value && 'kind' in value && typeof value.index === 'number'
}

function isConstant(value: object): boolean {
  return 'kind' in value && value.kind === 'constant'
}

function isRead(value: object): value is Extract<BoundExpression, { readonly slot: Slot }> {
  if (!('kind' in value)) return false
  return value.kind === 'slot' || value.kind === 'element-property' || value.kind === 'element-properties'
}
