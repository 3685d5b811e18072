// Limits of executions. Operators, expressions, functions and policy filters charge their work to the budget that they
// are passed, before they do it. Work that takes longer than a millisecond is done in slices and each slice is charged, so
// that the clock is read in between.
import type { ExecutionTime } from '../kernel/request/execution-times.ts'
import { LaneRequiredError } from '../kernel/request/lane-required.ts'
import { ExecutionError } from './errors.ts'

/** Limits of one execution. An execution that reaches a limit throws an ExecutionError `budget` that names the limit. */
export interface BudgetLimits {
  /** Steps: rows, relationships and list items that are read. */
  readonly stepsMax: number
  /** Milliseconds from the start of the execution. */
  readonly timeMs: number
  /** Rows, groups and visited nodes that are in memory at the same time. Default: 2 million, about 200 MB. */
  readonly rowsHeldMax?: number
  /** Estimated bytes of strings, lists and rows that are in memory at the same time. Default: 256 MiB. */
  readonly bytesHeldMax?: number
  /**
   * Milliseconds that the execution may take on the event loop. If it takes longer, it throws LaneRequiredError and is
   * repeated in a lane process without this limit. Absent: no such limit.
   */
  readonly inlineMs?: number
}

/** Size of a value that contains lists or maps: all nested items, and an estimate of their bytes. */
export interface ValueSize {
  items: number
  bytes: number
  /** Levels of lists and maps: 1 for a flat one. */
  depth: number
}

/** A step takes at most about 2 µs, so the clock is read at least twice in a millisecond of work. */
const STEPS_PER_CLOCK_READ = 256
const ROWS_RETAINED_MAX = 2_000_000
const BYTES_RETAINED_MAX = 256 * 1024 * 1024

/** Steps of one charge on the event loop: about half a millisecond. */
const INLINE_STEPS_PER_CHARGE_MAX = 2048

/** The characters of one cache line count as one step. */
export const CHARACTERS_PER_STEP = 64
/** Items that are copied natively cost a fraction of those that are read one by one. */
const COPIES_PER_STEP = 8

/** Items that a loop over a list reads between two charges. */
export const SLICE_ITEMS = 1024
/** UTF-16 units that a loop over a string reads between two charges. */
export const SLICE_CHARACTERS = 16_384

/**
 * Counts the steps, rows and bytes of an execution and stops it at its limits. Reads the clock once in 256 steps.
 * Several executions, one after the other, may share one budget. `start` must be called before the first charge.
 */
export class Budget {
  private steps = 0
  private rowsRetained = 0
  private rowsRetainedMax = 0
  private bytesRetained = 0
  private bytesRetainedMax = 0
  private nextCheck = 0
  private stepsMax = 0
  private deadline = 0
  private timeMs = 0
  private inlineMs: number | null = null
  private inlineDeadline = 0
  private sizes: WeakMap<object, ValueSize> | null = null
  /** Null: the execution has not read a graph in a database server. */
  private execution: ExecutionTime | null = null

  /** Sets all counters to zero and replaces the limits. The time starts with the first clock read, within 256 steps. */
  start(limits: BudgetLimits): void {
    this.steps = 0
    this.rowsRetained = 0
    this.rowsRetainedMax = limits.rowsHeldMax ?? ROWS_RETAINED_MAX
    this.bytesRetained = 0
    this.bytesRetainedMax = limits.bytesHeldMax ?? BYTES_RETAINED_MAX
    this.nextCheck = STEPS_PER_CLOCK_READ
    this.stepsMax = limits.stepsMax
    this.timeMs = limits.timeMs
    this.inlineMs = limits.inlineMs ?? null
    // An execution that ends within its first 256 steps never reads the clock.
    this.deadline = 0
    this.inlineDeadline = 0
    this.execution = null
    this.sizes = null
  }

  /**
   * Called before an execution reads a graph in a database server: its time then includes the fetches of all attempts. `begin` is
   * called once. Throws ExecutionError if the time has ended.
   */
  includeFetches(begin: (timeMs: number) => ExecutionTime): void {
    if (this.execution === null) {
      this.execution = begin(this.timeMs)
      // An execution that has ended is only repeated.
      if (this.execution.state !== 'done') this.deadline = this.execution.deadlineMs
    }
    const isOver = this.deadline !== 0 && this.clock() > this.deadline
    if (isOver || this.execution.state === 'late') this.throwTimeExceeded()
  }

  /**
   * Charges rows, relationships or list items, before they are read. Throws ExecutionError at the limit of steps or time,
   * and LaneRequiredError at the limit of the event loop.
   */
  chargeSteps(count: number): void {
    this.steps += count
    if (this.steps >= this.nextCheck) this.checkLimits(count)
  }

  /** Reads the clock. Call it before work that is not charged, such as planning a query. Throws as `chargeSteps` does. */
  checkTime(): void {
    this.checkLimits(0)
  }

  /** Charges items that are copied natively, such as by `Array.prototype.slice`. Throws as `chargeSteps` does. */
  chargeCopies(count: number): void {
    if (count >= COPIES_PER_STEP) this.chargeSteps(Math.ceil(count / COPIES_PER_STEP))
  }

  /** Charges UTF-16 units that are read or compared. Throws as `chargeSteps` does. */
  chargeText(length: number): void {
    if (length >= CHARACTERS_PER_STEP) this.chargeSteps(Math.ceil(length / CHARACTERS_PER_STEP))
  }

  /** Counts a row, group or visited node that is kept until the execution ends. Throws ExecutionError at the limit. */
  retainRow(): void {
    this.retainRows(1)
  }

  /** As `retainRow`, for several. */
  retainRows(count: number): void {
    this.rowsRetained += count
    if (this.rowsRetained > this.rowsRetainedMax) {
      throw new ExecutionError(
        'budget',
        `the limit of ${this.rowsRetainedMax} rows in memory is reached`,
        'rowsHeldMax',
      )
    }
  }

  /** Counts bytes of values that outlive their row; a negative count releases bytes. Throws ExecutionError at the limit. */
  retainBytes(count: number): void {
    this.bytesRetained += count
    if (this.bytesRetained > this.bytesRetainedMax) this.throwBytesExceeded()
  }

  /** Checks that a value of so many bytes fits into the memory that is left. Throws ExecutionError if it does not. */
  checkBytes(count: number): void {
    if (this.bytesRetained + count > this.bytesRetainedMax) this.throwBytesExceeded()
  }

  /** Called before work that is always too large for the event loop. Throws LaneRequiredError on the event loop. */
  requireLane(reason: string): void {
    if (this.inlineMs !== null) throw new LaneRequiredError(reason)
  }

  /** Lowers the limit of steps: `count` more may be charged. */
  limitSteps(count: number): void {
    this.stepsMax = Math.min(this.stepsMax, this.steps + count)
  }

  /** Steps charged since `start`. */
  get stepsCharged(): number {
    return this.steps
  }

  /** The size of a list or map that this execution has measured before; undefined if none. */
  measuredSize(value: object): ValueSize | undefined {
    return this.sizes?.get(value)
  }

  /** Keeps the size of a nested list or map until the next `start`, so that shared parts are measured once. */
  rememberSize(value: object, size: ValueSize): void {
    this.sizes ??= new WeakMap()
    this.sizes.set(value, size)
  }

  private throwBytesExceeded(): never {
    throw new ExecutionError(
      'budget',
      `the limit of ${this.bytesRetainedMax} bytes in memory is reached`,
      'bytesHeldMax',
    )
  }

  private checkLimits(charged: number): void {
    this.nextCheck = this.steps + STEPS_PER_CLOCK_READ
    if (this.inlineMs !== null && charged > INLINE_STEPS_PER_CHARGE_MAX) throw new LaneRequiredError('a long call')
    if (this.steps > this.stepsMax) {
      throw new ExecutionError('budget', `the limit of ${this.stepsMax} steps is reached`, 'traversalStepsMax')
    }
    const now = this.clock()
    if (this.inlineMs !== null) {
      if (this.inlineDeadline === 0) this.inlineDeadline = now + this.inlineMs
      else if (now > this.inlineDeadline) throw new LaneRequiredError('time')
    }
    if (this.deadline === 0) this.deadline = now + this.timeMs
    else if (now > this.deadline) this.throwTimeExceeded()
  }

  private throwTimeExceeded(): never {
    if (this.execution !== null) this.execution.state = 'late'
    throw new ExecutionError('budget', `the time limit of ${this.timeMs} ms is reached`, 'decisionTimeMs')
  }

  /** Milliseconds. Tests override it to observe when the clock is read. */
  protected clock(): number {
    return performance.now()
  }
}

/** A started budget without limits, for value functions that are called outside an execution. */
export function unlimitedBudget(): Budget {
  const budget = new Budget()
  budget.start({
    stepsMax: Number.POSITIVE_INFINITY,
    timeMs: Number.POSITIVE_INFINITY,
    rowsHeldMax: Number.POSITIVE_INFINITY,
    bytesHeldMax: Number.POSITIVE_INFINITY,
  })
  return budget
}
