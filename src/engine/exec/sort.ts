// Order, skip, limit. SKIP and LIMIT are run-time values: they are evaluated when the operator opens.
import type { Budget } from '../budget.ts'
import { ExecutionError } from '../errors.ts'
import { order as compareValues } from '../value/compare.ts'
import { copySlice, sortWithCharges } from '../value/list-operations.ts'
import type { Value } from '../value/value.ts'
import type { CompiledExpression, ExecutionContext } from './execution-context.ts'
import type { PhysicalOperator } from './physical-operator.ts'
import { cellBytes } from './row-key.ts'

function evaluateRowCount(evaluate: CompiledExpression, run: ExecutionContext, word: string): number {
  const value = evaluate(run)
  // Beyond 2^53 there are no more rows to count.
  if (typeof value === 'bigint' && value > 0n) return Number.MAX_SAFE_INTEGER
  if (typeof value !== 'number') {
    throw new ExecutionError('argument', `${word} takes a whole number`, null, 'InvalidArgumentType')
  }
  if (value < 0) throw new ExecutionError('argument', `${word} cannot be negative`, null, 'NegativeIntegerArgument')
  return value
}

export class SkipOperator implements PhysicalOperator {
  private readonly input: PhysicalOperator
  private readonly count: CompiledExpression
  private left = 0

  constructor(input: PhysicalOperator, count: CompiledExpression) {
    this.input = input
    this.count = count
  }

  open(run: ExecutionContext): void {
    this.input.open(run)
    this.left = evaluateRowCount(this.count, run, 'SKIP')
  }

  next(run: ExecutionContext): boolean {
    for (; this.left > 0; this.left--) {
      run.budget.chargeSteps(1)
      if (!this.input.next(run)) return false
    }
    return this.input.next(run)
  }
}

export class LimitOperator implements PhysicalOperator {
  private readonly input: PhysicalOperator
  private readonly count: CompiledExpression
  private left = 0

  constructor(input: PhysicalOperator, count: CompiledExpression) {
    this.input = input
    this.count = count
  }

  open(run: ExecutionContext): void {
    this.input.open(run)
    this.left = evaluateRowCount(this.count, run, 'LIMIT')
  }

  next(run: ExecutionContext): boolean {
    if (this.left <= 0) return false
    this.left -= 1
    return this.input.next(run)
  }
}

export interface SortKey {
  readonly evaluate: CompiledExpression
  readonly descending: boolean
}

interface SortedRow {
  readonly keys: readonly Value[]
  readonly cells: readonly unknown[]
  /** Equal rows stay in the order in which they came. */
  readonly ordinal: number
  /** What it takes in memory, by an estimate. */
  readonly bytes: number
}

/** What a row takes beside its values, bytes. */
const ROW_BYTES = 64

/** More rows are not sorted on the serving loop. */
const INLINE_ROWS_MAX = 2048

/** All rows in order; with a limit, at most twice as many rows are kept at a time as are wanted. */
export class SortOperator implements PhysicalOperator {
  private readonly input: PhysicalOperator
  private readonly sortKeys: readonly SortKey[]
  private readonly slots: readonly number[]
  private readonly skip: CompiledExpression | null
  private readonly limit: CompiledExpression | null
  private rows: SortedRow[] | null = null
  private position = 0

  constructor(
    input: PhysicalOperator,
    by: readonly SortKey[],
    slots: readonly number[],
    skip: CompiledExpression | null,
    limit: CompiledExpression | null,
  ) {
    this.input = input
    this.sortKeys = by
    this.slots = slots
    this.skip = skip
    this.limit = limit
  }

  open(run: ExecutionContext): void {
    this.input.open(run)
    this.rows = null
  }

  next(run: ExecutionContext): boolean {
    if (this.rows === null) {
      this.position = this.skip ? evaluateRowCount(this.skip, run, 'SKIP') : 0
      const wanted = this.limit ? this.position + evaluateRowCount(this.limit, run, 'LIMIT') : Number.POSITIVE_INFINITY
      this.rows = this.read(run, wanted)
    }
    const row = this.rows[this.position++]
    if (!row) return false
    this.slots.forEach((slot, i) => {
      run.frame[slot] = row.cells[i]
    })
    return true
  }

  private read(run: ExecutionContext, wanted: number): SortedRow[] {
    let rows: SortedRow[] = []
    let most = 0
    const order = (a: SortedRow, b: SortedRow): number => this.compare(run.budget, a, b)
    for (let ordinal = 0; wanted > 0 && this.input.next(run); ordinal++) {
      run.budget.chargeSteps(1)
      const keys = this.sortKeys.map((key) => key.evaluate(run))
      const cells = this.slots.map((slot) => run.frame[slot])
      let bytes = ROW_BYTES
      for (const key of keys) bytes += cellBytes(run.budget, key)
      for (const cell of cells) bytes += cellBytes(run.budget, cell)
      run.budget.retainBytes(bytes)
      rows.push({ keys, cells, ordinal, bytes })
      if (rows.length > INLINE_ROWS_MAX) run.budget.requireLane('sorting')
      if (rows.length > most) {
        most = rows.length
        run.budget.retainRow()
      }
      if (rows.length > 1024 && rows.length > 2 * wanted) rows = this.firstRows(run, rows, wanted, order)
    }
    return this.firstRows(run, rows, wanted, order)
  }

  /** Those in front, in order; the memory of the others is given back. */
  private firstRows(
    run: ExecutionContext,
    rows: SortedRow[],
    wanted: number,
    order: (a: SortedRow, b: SortedRow) => number,
  ): SortedRow[] {
    sortWithCharges(run.budget, rows, order)
    if (rows.length <= wanted) return rows
    let bytes = 0
    for (let i = wanted; i < rows.length; i++) bytes += rows[i]!.bytes
    run.budget.retainBytes(-bytes)
    return copySlice(run.budget, rows, 0, wanted)
  }

  private compare(budget: Budget, a: SortedRow, b: SortedRow): number {
    for (let i = 0; i < this.sortKeys.length; i++) {
      const difference = compareValues(budget, a.keys[i]!, b.keys[i]!)
      if (difference !== 0) return this.sortKeys[i]!.descending ? -difference : difference
    }
    return a.ordinal - b.ordinal
  }
}
