// Order, skip, limit. SKIP and LIMIT are run-time values: they are evaluated when the operator opens.
import { RunFault } from '../errors.ts'
import { order as compareValues } from '../value/compare.ts'
import { copyOf, sortCharged } from '../value/effort.ts'
import type { Value } from '../value/value.ts'
import type { Evaluate, Run } from './context.ts'
import type { Operator } from './operator.ts'
import { cellBytes } from './row-key.ts'

function rowCount(evaluate: Evaluate, run: Run, word: string): number {
  const value = evaluate(run)
  // Beyond 2^53 there are no more rows to count.
  if (typeof value === 'bigint' && value > 0n) return Number.MAX_SAFE_INTEGER
  if (typeof value !== 'number') {
    throw new RunFault('argument', `${word} takes a whole number`, null, 'InvalidArgumentType')
  }
  if (value < 0) throw new RunFault('argument', `${word} cannot be negative`, null, 'NegativeIntegerArgument')
  return value
}

export class SkipOperator implements Operator {
  private readonly input: Operator
  private readonly count: Evaluate
  private left = 0

  constructor(input: Operator, count: Evaluate) {
    this.input = input
    this.count = count
  }

  open(run: Run): void {
    this.input.open(run)
    this.left = rowCount(this.count, run, 'SKIP')
  }

  next(run: Run): boolean {
    for (; this.left > 0; this.left--) {
      run.budget.touch(1)
      if (!this.input.next(run)) return false
    }
    return this.input.next(run)
  }
}

export class LimitOperator implements Operator {
  private readonly input: Operator
  private readonly count: Evaluate
  private left = 0

  constructor(input: Operator, count: Evaluate) {
    this.input = input
    this.count = count
  }

  open(run: Run): void {
    this.input.open(run)
    this.left = rowCount(this.count, run, 'LIMIT')
  }

  next(run: Run): boolean {
    if (this.left <= 0) return false
    this.left -= 1
    return this.input.next(run)
  }
}

export interface SortKey {
  readonly evaluate: Evaluate
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
export class SortOperator implements Operator {
  private readonly input: Operator
  private readonly by: readonly SortKey[]
  private readonly slots: readonly number[]
  private readonly skip: Evaluate | null
  private readonly limit: Evaluate | null
  private rows: SortedRow[] | null = null
  private position = 0

  constructor(
    input: Operator,
    by: readonly SortKey[],
    slots: readonly number[],
    skip: Evaluate | null,
    limit: Evaluate | null,
  ) {
    this.input = input
    this.by = by
    this.slots = slots
    this.skip = skip
    this.limit = limit
  }

  open(run: Run): void {
    this.input.open(run)
    this.rows = null
  }

  next(run: Run): boolean {
    if (this.rows === null) {
      this.position = this.skip ? rowCount(this.skip, run, 'SKIP') : 0
      const wanted = this.limit ? this.position + rowCount(this.limit, run, 'LIMIT') : Number.POSITIVE_INFINITY
      this.rows = this.read(run, wanted)
    }
    const row = this.rows[this.position++]
    if (!row) return false
    this.slots.forEach((slot, i) => {
      run.frame[slot] = row.cells[i]
    })
    return true
  }

  private read(run: Run, wanted: number): SortedRow[] {
    let rows: SortedRow[] = []
    let most = 0
    const order = (a: SortedRow, b: SortedRow): number => this.compare(a, b)
    for (let ordinal = 0; wanted > 0 && this.input.next(run); ordinal++) {
      run.budget.touch(1)
      const keys = this.by.map((key) => key.evaluate(run))
      const cells = this.slots.map((slot) => run.frame[slot])
      let bytes = ROW_BYTES
      for (const key of keys) bytes += cellBytes(key)
      for (const cell of cells) bytes += cellBytes(cell)
      run.budget.holdBytes(bytes)
      rows.push({ keys, cells, ordinal, bytes })
      if (rows.length > INLINE_ROWS_MAX) run.budget.requireLane('sorting')
      if (rows.length > most) {
        most = rows.length
        run.budget.hold()
      }
      if (rows.length > 1024 && rows.length > 2 * wanted) rows = this.firstOf(run, rows, wanted, order)
    }
    return this.firstOf(run, rows, wanted, order)
  }

  /** Those in front, in order; the memory of the others is given back. */
  private firstOf(
    run: Run,
    rows: SortedRow[],
    wanted: number,
    order: (a: SortedRow, b: SortedRow) => number,
  ): SortedRow[] {
    sortCharged(rows, order)
    if (rows.length <= wanted) return rows
    let bytes = 0
    for (let i = wanted; i < rows.length; i++) bytes += rows[i]!.bytes
    run.budget.holdBytes(-bytes)
    return copyOf(rows, 0, wanted)
  }

  private compare(a: SortedRow, b: SortedRow): number {
    for (let i = 0; i < this.by.length; i++) {
      const difference = compareValues(a.keys[i]!, b.keys[i]!)
      if (difference !== 0) return this.by[i]!.descending ? -difference : difference
    }
    return a.ordinal - b.ordinal
  }
}
