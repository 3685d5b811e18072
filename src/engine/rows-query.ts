// Queries that end with RETURN: compiled once, run for rows. Elements in the rows are read before the snapshot is closed.
import type { Diagnostic } from '../../grammar/diagnostic.ts'
import { assert } from '../kernel/assert.ts'
import { ok, type Result } from '../kernel/result.ts'
import type { BoundQuery, NamedSymbol } from './bind/bound.ts'
import { type Definitions, noDefinitions } from './bind/definitions.ts'
import type { DialectName } from './bind/dialect.ts'
import { explainProfile, type ProfileNode, profileOf } from './decision-trace.ts'
import { Profiler } from './exec/profiler.ts'
import type { GraphCounts } from './plan/expand-order.ts'
import { describe, type PlanNode } from './plan/explain.ts'
import { defaultOptions, type EngineOptions, type QueryContext } from './planned-query.ts'
import { compileText, PreparedQuery } from './prepared-query.ts'
import { allRows } from './relation-query.ts'
import type { ResultValue } from './result-value.ts'
import { RowCursor } from './row-cursor.ts'

export type { ProfileNode } from './decision-trace.ts'
export type { GraphCounts } from './plan/expand-order.ts'
export type { PlanNode } from './plan/explain.ts'
export type { NodeResult, PathResult, RelationshipResult, ResultValue } from './result-value.ts'
export type { RowCursor } from './row-cursor.ts'

/**
 * The rows of a query. Each row has one value for each column, in the order of the columns.
 *
 * @example
 * const { columns, rows }: QueryResult = graph.query('RETURN 1 AS one, [2] AS list')
 * // columns: ['one', 'list'], rows: [[1, [2]]]
 */
export interface QueryResult {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly ResultValue[])[]
}

/** A compiled query that ends with RETURN. `run` and `profile` throw ExecutionError (type, missing parameter, budget). */
export interface RowsQuery {
  readonly columns: readonly string[]
  /** The names of the parameters that the query reads, without `$`, in the order of the text. */
  readonly parameters: readonly string[]
  /** The labels, relationship types and properties that the text names. */
  readonly symbols: readonly NamedSymbol[]
  /** Whether the text names other graphs by USE. */
  readonly usesLocations: boolean
  /** Starts a run, to read its rows one by one. Only one run at a time. */
  open(context: QueryContext): RowCursor
  /** As `open`; `profile` returns what each operator did up to now. */
  openProfiled(context: QueryContext): { readonly cursor: RowCursor; profile(): ProfileNode }
  /** All rows of the query. */
  run(context: QueryContext): QueryResult
  /** Stable text of the plan, for a graph with these counts. */
  explain(counts?: GraphCounts): string
  /** The same plan as data. */
  describe(counts?: GraphCounts): PlanNode
  /** Runs the query and measures the rows and store reads of each operator: as text, and as data. */
  profile(context: QueryContext): { readonly rows: QueryResult; readonly text: string; readonly root: ProfileNode }
}

/** Compiles a query that ends with RETURN. The error holds the diagnostics of the text. `dialect`: by default that of the library. */
export function compileRowsQuery(
  text: string,
  options: EngineOptions = defaultOptions,
  dialect: Extract<DialectName, 'open' | 'query'> = 'open',
  definitions: Definitions = noDefinitions,
): Result<RowsQuery, readonly Diagnostic[]> {
  const compiled = compileText(text, dialect, 'rows', definitions)
  return compiled.ok ? ok(new CompiledRowsQuery(compiled.value.bound, options)) : compiled
}

class CompiledRowsQuery implements RowsQuery {
  private readonly query: BoundQuery
  private readonly prepared: PreparedQuery
  readonly columns: readonly string[]

  constructor(query: BoundQuery, options: EngineOptions) {
    this.query = query
    this.columns = query.columns.map(({ name }) => name)
    this.prepared = new PreparedQuery(query, allRows, options)
  }

  get parameters(): readonly string[] {
    return this.query.parameters
  }

  get symbols(): readonly NamedSymbol[] {
    return this.query.symbols
  }

  get usesLocations(): boolean {
    return this.query.graphs.some(({ kind }) => kind !== 'default')
  }

  open(context: QueryContext): RowCursor {
    return this.prepared.rows(context)
  }

  openProfiled(context: QueryContext): { cursor: RowCursor; profile(): ProfileNode } {
    const profiler = new Profiler()
    const { plan, execution } = this.prepared.openProfiled(context, [], profiler)
    assert(execution !== null, 'a query without fixed nodes has a run')
    return {
      cursor: new RowCursor(execution, this.query.columns),
      profile: () => profileOf(describe(plan), profiler),
    }
  }

  run(context: QueryContext): QueryResult {
    return this.readAll(this.open(context))
  }

  explain(counts?: GraphCounts): string {
    return this.prepared.explain(counts)
  }

  describe(counts?: GraphCounts): PlanNode {
    return this.prepared.describe(counts)
  }

  profile(context: QueryContext): { rows: QueryResult; text: string; root: ProfileNode } {
    const profiler = new Profiler()
    const { plan, execution } = this.prepared.openProfiled(context, [], profiler)
    const rows = execution
      ? this.readAll(new RowCursor(execution, this.query.columns))
      : { columns: this.columns, rows: [] }
    return { rows, text: explainProfile(plan, profiler), root: profileOf(describe(plan), profiler) }
  }

  private readAll(cursor: RowCursor): QueryResult {
    const rows: ResultValue[][] = []
    while (cursor.next()) rows.push(cursor.materialize())
    return { columns: this.columns, rows }
  }
}
