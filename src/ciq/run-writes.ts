// Runs a query that writes: reads its rows, and writes in a transaction of the same graph, all of it or nothing (ruling C5).
//
// Rows are read outside of the transaction, where others may write meanwhile. Inside of it the graph's stamp tells whether
// it is still the graph that was read. If not, the rows are read anew right there, where nobody can come in between; a read
// too long for that, during which all other writers would wait, is repeated outside until the time limit.
import { Budget, type BudgetLimits } from '../engine/conditions.ts'
import { RunFault } from '../engine/errors.ts'
import type { BatchView, GraphStore, Stamp, WriteBatch } from '../engine/store.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { AnswerSize } from './answer-size.ts'
import { applyWrites, Refusal } from './apply-writes.ts'
import type { Awaited } from './awaited.ts'
import type { CompiledQuery } from './compile-query.ts'
import type { Parameters } from './parameters.ts'
import { type HeldRow, holdRows, type RowsAsked } from './rows.ts'
import type { RecordData } from './schema.ts'
import type { BoundWrites } from './writes.ts'

export interface WritingCall {
  readonly graph: GraphStore
  readonly query: CompiledQuery
  readonly parameters: Parameters
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

export interface Written {
  readonly data: RecordData[]
  readonly awaited: readonly Awaited[]
}

/** Longest reading for which all other writers of the graph are made to wait, milliseconds. */
const LOCKED_MS = 500

/** The graph has changed since it was read, and is to be read again. */
class Moved extends Error {
  override readonly name = 'Moved'
}

/** Throws RunFault. */
export async function runWrites(call: WritingCall): Promise<Result<Written, ServiceError>> {
  try {
    for (;;) {
      const { rows, stamp, isLong } = readOutside(call)
      if (rows.length === 0) return ok({ data: [], awaited: [] })
      const written = await call.graph
        .write((batch) => within(batch, (view) => write(call, batch, view, rowsOf(call, view, rows, stamp, isLong))))
        .catch((fault: unknown) => {
          if (fault instanceof Moved) return null
          throw fault
        })
      if (written !== null) return ok(written)
      if (performance.now() > call.untilMs) {
        return err({ kind: 'unavailable', message: 'the graph is being written to by others', retryAfterS: 1 })
      }
    }
  } catch (fault) {
    if (fault instanceof Refusal) return err(fault.error)
    throw fault
  }
}

function readOutside(call: WritingCall): { rows: HeldRow[]; stamp: Stamp; isLong: boolean } {
  const begun = performance.now()
  const snapshot = call.graph.snapshot()
  try {
    const rows = allowedRows(call, holdRows(asked(call, left(call)), snapshot))
    return { rows, stamp: snapshot.stamp, isLong: performance.now() - begun > LOCKED_MS }
  } finally {
    snapshot.close()
  }
}

function within<T>(batch: WriteBatch, use: (view: BatchView) => T): T {
  const view = batch.view()
  if (view === null) throw new Moved()
  try {
    return use(view)
  } finally {
    view.close()
  }
}

function rowsOf(call: WritingCall, view: BatchView, rows: HeldRow[], read: Stamp, isLong: boolean): HeldRow[] {
  if (view.stamp.writer === read.writer && view.stamp.commit === read.commit) return rows
  if (isLong) throw new Moved()
  try {
    const { timeMs, ...others } = left(call)
    return allowedRows(call, holdRows(asked(call, { ...others, timeMs: Math.min(timeMs, LOCKED_MS) }), view))
  } catch (fault) {
    const isLate = fault instanceof RunFault && fault.code === 'budget' && fault.subject === 'decisionTimeMs'
    throw isLate ? new Moved() : fault
  }
}

/** Several readings of one call share its time. */
function left({ limits, untilMs }: WritingCall): BudgetLimits {
  return { ...limits, timeMs: Math.max(0, untilMs - performance.now()) }
}

function asked({ query, parameters, rowsMax }: WritingCall, limits: BudgetLimits): RowsAsked {
  const { reading, heldNames: names } = query
  return { reading, names, parameters, limits, budget: new Budget(), rowsMax }
}

/** Every row is written to or none: what does not fit a page would be neither told nor, on the next page, the same rows. */
function allowedRows({ query, rowsMax, writesMax }: WritingCall, rows: HeldRow[] | null): HeldRow[] {
  if (rows === null) {
    throw invalid(`page_size: the query writes and matches more than ${rowsMax} rows; nothing was written`)
  }
  const count = rows.length * (query.writes?.size ?? 0)
  if (count > writesMax) {
    throw invalid(`the query would write ${count} times, the limit is ${writesMax}; nothing was written`)
  }
  return rows
}

function invalid(issue: string): Refusal {
  return new Refusal({ kind: 'invalid', issues: [issue] })
}

function write(call: WritingCall, batch: WriteBatch, view: BatchView, rows: readonly HeldRow[]): Written {
  const { query, bound } = call
  applyWrites(query, bound, rows, batch, view)
  const awaited: Awaited[] = []
  const site = { snapshot: view, awaited, size: new AnswerSize(call.answerMax) }
  const data = rows.map((row) => query.records.read(row, site))
  return { data, awaited }
}
