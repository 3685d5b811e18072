// Sort and Top: ORDER BY, also with SKIP and LIMIT.
import type { Budget } from '../budget.ts'
import { order as compareValues } from '../value/compare.ts'
import { copySlice, sortWithCharges } from '../value/list-operations.ts'
import type { Value } from '../value/value.ts'
import type { CompiledExpression, ExecutionContext } from './execution-context.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'
import { evaluateRowCount } from './row-count.ts'
import { cellBytes } from './row-key.ts'

/** One expression of ORDER BY. */
export interface SortKey {
  readonly evaluate: CompiledExpression
  readonly descending: boolean
}

interface SortedRow {
  readonly keys: readonly Value[]
  readonly cells: readonly unknown[]
  /** Position in the input: equal rows keep their order. */
  readonly ordinal: number
  /** Estimated memory. */
  readonly bytes: number
}

/** Bytes of a row without its values. */
const ROW_BYTES = 64

/** The event loop passes sorts of more rows to a lane. */
const INLINE_ROWS_MAX = 2048

/** With fewer rows in memory, those beyond the limit are not dropped before the end. */
const ROWS_PER_CUT_MIN = 1024

/** The input rows in order. With a limit, it keeps at most about twice as many rows in memory as the limit asks for. */
export class SortOperator extends UnaryOperator {
  private readonly sortKeys: readonly SortKey[]
  private readonly slots: readonly number[]
  private readonly skip: CompiledExpression | null
  private readonly limit: CompiledExpression | null
  private rows: SortedRow[] | null = null
  private position = 0

  /** `slots`: the slots that outlive the sort; all others are undefined afterwards. */
  constructor(
    input: PhysicalOperator,
    sortKeys: readonly SortKey[],
    slots: readonly number[],
    skip: CompiledExpression | null,
    limit: CompiledExpression | null,
  ) {
    super(input)
    this.sortKeys = sortKeys
    this.slots = slots
    this.skip = skip
    this.limit = limit
  }

  override open(run: ExecutionContext): void {
    this.input.open(run)
    this.rows = null
  }

  next(run: ExecutionContext): boolean {
    if (this.rows === null) {
      this.position = this.skip ? evaluateRowCount(this.skip, run, 'SKIP') : 0
      const count = this.limit ? this.position + evaluateRowCount(this.limit, run, 'LIMIT') : Number.POSITIVE_INFINITY
      this.rows = this.read(run, count)
    }
    const row = this.rows[this.position++]
    if (!row) return false
    this.slots.forEach((slot, i) => {
      run.frame[slot] = row.cells[i]
    })
    return true
  }

  private read(run: ExecutionContext, count: number): SortedRow[] {
    let rows: SortedRow[] = []
    let rowsMax = 0
    const order = (a: SortedRow, b: SortedRow): number => this.compare(run.budget, a, b)
    for (let ordinal = 0; count > 0 && this.input.next(run); ordinal++) {
      run.budget.chargeSteps(1)
      const keys = this.sortKeys.map((key) => key.evaluate(run))
      const cells = this.slots.map((slot) => run.frame[slot])
      let bytes = ROW_BYTES
      for (const key of keys) bytes += cellBytes(run.budget, key)
      for (const cell of cells) bytes += cellBytes(run.budget, cell)
      run.budget.retainBytes(bytes)
      rows.push({ keys, cells, ordinal, bytes })
      if (rows.length > INLINE_ROWS_MAX) run.budget.requireLane('sorting')
      if (rows.length > rowsMax) {
        rowsMax = rows.length
        run.budget.retainRow()
      }
      if (rows.length > ROWS_PER_CUT_MIN && rows.length > 2 * count) rows = this.firstRows(run, rows, count, order)
    }
    return this.firstRows(run, rows, count, order)
  }

  /** Sorts the rows and drops those after the first `count`, with their memory. */
  private firstRows(
    run: ExecutionContext,
    rows: SortedRow[],
    count: number,
    order: (a: SortedRow, b: SortedRow) => number,
  ): SortedRow[] {
    sortWithCharges(run.budget, rows, order)
    if (rows.length <= count) return rows
    let bytes = 0
    for (let i = count; i < rows.length; i++) bytes += rows[i]!.bytes
    run.budget.retainBytes(-bytes)
    return copySlice(run.budget, rows, 0, count)
  }

  private compare(budget: Budget, a: SortedRow, b: SortedRow): number {
    for (let i = 0; i < this.sortKeys.length; i++) {
      const difference = compareValues(budget, a.keys[i]!, b.keys[i]!)
      if (difference !== 0) return this.sortKeys[i]!.descending ? -difference : difference
    }
    return a.ordinal - b.ordinal
  }
}
