// Runs a query that writes: reads its rows, then writes them in one transaction of the same graph, all or nothing.
// Rows are read outside the transaction, while others may write. Inside it, the graph version shows whether the rows
// are still current. If not, they are read again inside the transaction. A read too long for that, because all other
// writers wait, is repeated outside until the time limit. See docs/decisions/0011-context-query-writes.md.
import { unlimitedBudget } from '../engine/budget.ts'
import { Budget, type BudgetLimits } from '../engine/conditions.ts'
import { ExecutionError } from '../engine/errors.ts'
import { readGraph } from '../engine/read-graph.ts'
import type { BatchView, GraphStore, GraphVersion, Snapshot, WriteBatch } from '../engine/store.ts'
import type { ServiceError } from '../kernel/errors.ts'

import { err, ok, type Result } from '../kernel/result.ts'
import type { TypeComparison } from '../model/declared-types.ts'
import type { BoundParameters } from '../policy/value-reference.ts'
import { applyWrites, WriteRejectedError } from './apply-writes.ts'
import type { CompiledQuery } from './compile-query.ts'
import { type MaterializedRow, materializeRows, type RowsRequest } from './materialize-rows.ts'
import { type DeferredProperty, RecordContext } from './record-context.ts'
import { ResponseBudget } from './response-budget.ts'
import type { RecordData } from './schema.ts'
import type { BoundWrites } from './write-plan.ts'

/** One execution of a query that writes. */
export interface WriteCall {
  readonly graph: GraphStore
  readonly query: CompiledQuery
  readonly parameters: BoundParameters
  readonly bound: BoundWrites
  readonly limits: BudgetLimits
  /** Deadline of the call, on the clock of `performance.now()`. */
  readonly deadlineMs: number
  /** Maximum matched rows of one call. */
  readonly rowsMax: number
  readonly writesMax: number
  /** Maximum characters of the values in the response. */
  readonly answerMax: number
  /** Null or absent: the project declares no types. */
  readonly comparison?: TypeComparison | null
  /** Called within the transaction after the writes, with the number of records. */
  readonly onWritten?: ((batch: WriteBatch, records: number) => void) | null
}

/** The records of the written rows. */
export interface WriteOutcome {
  readonly data: RecordData[]
  readonly deferred: readonly DeferredProperty[]
}

/** Thrown inside the transaction if the graph has changed and must be read again. */
class GraphChangedError extends Error {
  override readonly name = 'GraphChangedError'
}

/**
 * Runs the writes. Errors: `forbidden` and `invalid` for rejected writes, `unavailable` if other writers kept changing
 * the graph until the deadline. Throws ExecutionError.
 */
export async function runWrites(call: WriteCall): Promise<Result<WriteOutcome, ServiceError>> {
  try {
    for (;;) {
      const read = await readGraph(call.graph, (snapshot) => readRows(call, snapshot))
      const { rows } = read
      if (rows.length === 0) return ok({ data: [], deferred: [] })
      const written = await call.graph
        .write((batch) => withView(batch, (view) => write(call, batch, view, currentRows(call, view, read))))
        .catch((error: unknown) => {
          if (error instanceof GraphChangedError) return null
          throw error
        })
      if (written !== null) {
        // The transaction may run several times.
        if (written.unfit > 0) call.comparison?.onUnfit?.(written.unfit)
        return ok(written.outcome)
      }
      if (performance.now() > call.deadlineMs) {
        return err({ kind: 'unavailable', message: 'other writers kept changing the graph', retryAfterS: 1 })
      }
    }
  } catch (error) {
    if (error instanceof WriteRejectedError) return err(error.error)
    throw error
  }
}

interface ReadRows {
  readonly rows: MaterializedRow[]
  readonly version: GraphVersion
  readonly durationMs: number
}

function readRows(call: WriteCall, snapshot: Snapshot): ReadRows {
  const startedMs = performance.now()
  const rows = checkLimits(call, materializeRows(rowsRequest(call, remainingLimits(call)), snapshot))
  return { rows, version: snapshot.version, durationMs: performance.now() - startedMs }
}

function withView<T>(batch: WriteBatch, use: (view: BatchView) => T): T {
  const view = batch.view()
  if (view === null) throw new GraphChangedError()
  try {
    return use(view)
  } finally {
    view.close()
  }
}

function currentRows(call: WriteCall, view: BatchView, read: ReadRows): MaterializedRow[] {
  if (view.version.writer === read.version.writer && view.version.commit === read.version.commit) return read.rows
  const { readsMaxMs } = view
  if (read.durationMs > readsMaxMs) throw new GraphChangedError()
  const limits = remainingLimits(call)
  try {
    const timeMs = Math.min(limits.timeMs, readsMaxMs)
    return checkLimits(call, materializeRows(rowsRequest(call, { ...limits, timeMs }), view))
  } catch (error) {
    const isLate = error instanceof ExecutionError && error.code === 'budget' && error.subject === 'decisionTimeMs'
    throw isLate && Number.isFinite(readsMaxMs) ? new GraphChangedError() : error
  }
}

/** All reads of one call share its time. */
function remainingLimits({ limits, deadlineMs }: WriteCall): BudgetLimits {
  return { ...limits, timeMs: Math.max(0, deadlineMs - performance.now()) }
}

function rowsRequest({ query, parameters, rowsMax }: WriteCall, limits: BudgetLimits): RowsRequest {
  const { conditionRows, materializedNames: names } = query
  return { conditionRows, names, parameters, limits, budget: new Budget(), rowsMax }
}

/**
 * Checks the limits. Every row is written or none: rows beyond a page would be neither returned nor the same rows on
 * the next page.
 */
function checkLimits({ query, rowsMax, writesMax }: WriteCall, rows: MaterializedRow[] | null): MaterializedRow[] {
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

/** `unfit`: the number of written elements that open types do not allow. */
function write(
  call: WriteCall,
  batch: WriteBatch,
  view: BatchView,
  rows: readonly MaterializedRow[],
): { readonly outcome: WriteOutcome; readonly unfit: number } {
  const { query, bound } = call
  const written = applyWrites(query, bound, rows, batch, view, call.comparison ?? null)
  const context = new RecordContext(view, new ResponseBudget(call.answerMax, unlimitedBudget()), written)
  const data = rows.map((row) => query.records.read(row, context))
  call.onWritten?.(batch, data.length)
  return { outcome: { data, deferred: context.deferred }, unfit: written.unfit }
}
