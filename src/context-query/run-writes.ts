// Runs a query that writes: reads its rows, and writes in a transaction of the same graph, all of it or nothing (ruling C5).
//
// Rows are read outside of the transaction, where others may write meanwhile. Inside of it the graph's stamp tells whether
// it is still the graph that was read. If not, the rows are read anew right there, where nobody can come in between; a read
// too long for that, during which all other writers would wait, is repeated outside until the time limit.
import { Budget, type BudgetLimits } from '../engine/conditions.ts'
import { ExecutionError } from '../engine/errors.ts'
import type { BatchView, GraphStore, GraphVersion, WriteBatch } from '../engine/store.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { applyWrites, WriteRejectedError } from './apply-writes.ts'
import type { CompiledQuery } from './compile-query.ts'
import type { DeferredProperty } from './deferred-properties.ts'
import { type MaterializedRow, materializeRows, type RowsRequest } from './materialize-rows.ts'
import type { BoundParameters } from './parameters.ts'
import { ResponseBudget } from './response-budget.ts'
import type { RecordData } from './schema.ts'
import type { BoundWrites } from './write-plan.ts'

export interface WriteCall {
  readonly graph: GraphStore
  readonly query: CompiledQuery
  readonly parameters: BoundParameters
  readonly bound: BoundWrites
  readonly limits: BudgetLimits
  /** When the time of the call is over, by the clock of `performance`. */
  readonly untilMs: number
  /** Of one call. */
  readonly rowsMax: number
  readonly writesMax: number
  /** Characters of the values in the answer. */
  readonly answerMax: number
}

export interface WriteOutcome {
  readonly data: RecordData[]
  readonly deferred: readonly DeferredProperty[]
}

/** Longest reading for which all other writers of the graph are made to wait, milliseconds. */
const LOCKED_MS = 500

/** The graph has changed since it was read, and is to be read again. */
class GraphChangedError extends Error {
  override readonly name = 'Moved'
}

/** Throws RunFault. */
export async function runWrites(call: WriteCall): Promise<Result<WriteOutcome, ServiceError>> {
  try {
    for (;;) {
      const { rows, stamp, isLong } = readOutside(call)
      if (rows.length === 0) return ok({ data: [], deferred: [] })
      const written = await call.graph
        .write((batch) => within(batch, (view) => write(call, batch, view, rowsOf(call, view, rows, stamp, isLong))))
        .catch((fault: unknown) => {
          if (fault instanceof GraphChangedError) return null
          throw fault
        })
      if (written !== null) return ok(written)
      if (performance.now() > call.untilMs) {
        return err({ kind: 'unavailable', message: 'the graph is being written to by others', retryAfterS: 1 })
      }
    }
  } catch (fault) {
    if (fault instanceof WriteRejectedError) return err(fault.error)
    throw fault
  }
}

function readOutside(call: WriteCall): { rows: MaterializedRow[]; stamp: GraphVersion; isLong: boolean } {
  const begun = performance.now()
  const snapshot = call.graph.snapshot()
  try {
    const rows = allowedRows(call, materializeRows(asked(call, left(call)), snapshot))
    return { rows, stamp: snapshot.version, isLong: performance.now() - begun > LOCKED_MS }
  } finally {
    snapshot.close()
  }
}

function within<T>(batch: WriteBatch, use: (view: BatchView) => T): T {
  const view = batch.view()
  if (view === null) throw new GraphChangedError()
  try {
    return use(view)
  } finally {
    view.close()
  }
}

function rowsOf(
  call: WriteCall,
  view: BatchView,
  rows: MaterializedRow[],
  read: GraphVersion,
  isLong: boolean,
): MaterializedRow[] {
  if (view.version.writer === read.writer && view.version.commit === read.commit) return rows
  if (isLong) throw new GraphChangedError()
  try {
    const { timeMs, ...others } = left(call)
    return allowedRows(call, materializeRows(asked(call, { ...others, timeMs: Math.min(timeMs, LOCKED_MS) }), view))
  } catch (fault) {
    const isLate = fault instanceof ExecutionError && fault.code === 'budget' && fault.subject === 'decisionTimeMs'
    throw isLate ? new GraphChangedError() : fault
  }
}

/** Several readings of one call share its time. */
function left({ limits, untilMs }: WriteCall): BudgetLimits {
  return { ...limits, timeMs: Math.max(0, untilMs - performance.now()) }
}

function asked({ query, parameters, rowsMax }: WriteCall, limits: BudgetLimits): RowsRequest {
  const { reading, materializedNames: names } = query
  return { reading, names, parameters, limits, budget: new Budget(), rowsMax }
}

/** Every row is written to or none: what does not fit a page would be neither told nor, on the next page, the same rows. */
function allowedRows({ query, rowsMax, writesMax }: WriteCall, rows: MaterializedRow[] | null): MaterializedRow[] {
  if (rows === null) {
    throw invalid(`page_size: the query writes and matches more than ${rowsMax} rows; nothing was written`)
  }
  const count = rows.length * (query.writes?.size ?? 0)
  if (count > writesMax) {
    throw invalid(`the query would write ${count} times, the limit is ${writesMax}; nothing was written`)
  }
  return rows
}

function invalid(issue: string): WriteRejectedError {
  return new WriteRejectedError({ kind: 'invalid', issues: [issue] })
}

function write(call: WriteCall, batch: WriteBatch, view: BatchView, rows: readonly MaterializedRow[]): WriteOutcome {
  const { query, bound } = call
  applyWrites(query, bound, rows, batch, view)
  const deferred: DeferredProperty[] = []
  const site = { snapshot: view, deferred, budget: new ResponseBudget(call.answerMax) }
  const data = rows.map((row) => query.records.read(row, site))
  return { data, deferred }
}
