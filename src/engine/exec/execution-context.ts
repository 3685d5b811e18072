// What a run carries: the frame, the parameters, the snapshots and the budget. Operators and expressions get nothing else.
import { systemClock } from '../../kernel/clock.ts'
import { LaneRequiredError } from '../../kernel/lane-required.ts'
import { ExecutionError } from '../errors.ts'
import type { NodeId, Snapshot } from '../store.ts'
import { type CostMeter, clearCurrentMeter, setCurrentMeter } from '../value/cost-accounting.ts'
import type { Value } from '../value/value.ts'

/** Limits of one execution. Reaching one is a RunFault `budget` that names it. */
export interface BudgetLimits {
  /** Rows, relationships and list items touched. */
  readonly stepsMax: number
  /** Milliseconds from the start of the execution. */
  readonly timeMs: number
  /** Rows, groups and visited nodes kept in memory at once; 2 million (some 200 MB) where it is not given. */
  readonly rowsHeldMax?: number
  /** Bytes of texts, lists and rows kept in memory at once, by an estimate; 256 MiB where it is not given. */
  readonly bytesHeldMax?: number
  /**
   * Milliseconds that the execution may take on the serving loop. When it takes longer, it throws LaneRequiredError and is
   * repeated in a lane process without this limit. Absent: no such limit.
   */
  readonly inlineMs?: number
}

/** A step is worth up to some 2 µs, so that the clock is read at least twice in a millisecond of work. */
const STEPS_PER_CLOCK_READ = 256
const ROWS_RETAINED_MAX = 2_000_000
const BYTES_RETAINED_MAX = 256 * 1024 * 1024

/** Steps that one call may take at once on the serving loop: half a millisecond, more or less. */
const INLINE_STEPS_PER_CHARGE_MAX = 2048

/** Counts work; reads the clock once in 256 steps. One may be shared by several executions, one after another. */
export class Budget implements CostMeter {
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

  start(limits: BudgetLimits): void {
    setCurrentMeter(this)
    this.steps = 0
    this.rowsRetained = 0
    this.rowsRetainedMax = limits.rowsHeldMax ?? ROWS_RETAINED_MAX
    this.bytesRetained = 0
    this.bytesRetainedMax = limits.bytesHeldMax ?? BYTES_RETAINED_MAX
    this.nextCheck = STEPS_PER_CLOCK_READ
    this.stepsMax = limits.stepsMax
    this.timeMs = limits.timeMs
    this.inlineMs = limits.inlineMs ?? null
    // Read lazily: a run that ends within its first 256 steps never reads the clock.
    this.deadline = 0
  }

  /** To be called when the work is over: what is computed for others afterwards is not charged to it. */
  end(): void {
    clearCurrentMeter(this)
  }

  /** To be called for every row, relationship and list item touched, before the work is done. */
  chargeSteps(count: number): void {
    this.steps += count
    if (this.steps >= this.nextCheck) this.checkLimits(count)
  }

  /** To be called for every row, group and visited node that is kept beyond its turn. */
  retainRow(): void {
    this.rowsRetained += 1
    if (this.rowsRetained > this.rowsRetainedMax) {
      throw new ExecutionError(
        'budget',
        `the limit of ${this.rowsRetainedMax} rows in memory is reached`,
        'rowsHeldMax',
      )
    }
  }

  /** To be called for values that are kept beyond their row; a negative count gives memory back. */
  retainBytes(count: number): void {
    this.bytesRetained += count
    if (this.bytesRetained > this.bytesRetainedMax) this.throwBytesExceeded()
  }

  /** To be called while one value grows: it must fit into the memory that is left. */
  checkBytes(count: number): void {
    if (this.bytesRetained + count > this.bytesRetainedMax) this.throwBytesExceeded()
  }

  /** To be called before work that is always too large for the serving loop. Throws LaneRequiredError there. */
  requireLane(reason: string): void {
    if (this.inlineMs !== null) throw new LaneRequiredError(reason)
  }

  get isInline(): boolean {
    return this.inlineMs !== null
  }

  get stepsCharged(): number {
    return this.steps
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
    if (this.deadline === 0) {
      this.deadline = now + this.timeMs
      if (this.inlineMs !== null) this.inlineDeadline = now + this.inlineMs
    } else if (this.inlineMs !== null && now > this.inlineDeadline) throw new LaneRequiredError('time')
    else if (now > this.deadline) {
      throw new ExecutionError('budget', `the time limit of ${this.timeMs} ms is reached`, 'decisionTimeMs')
    }
  }

  /** Milliseconds; a method of its own so that a test can observe when it is read. */
  protected clock(): number {
    return performance.now()
  }
}

/**
 * The moment of a run: read when it is first asked for and fixed until the next run, so that all temporals of one run agree.
 * Like the budget's look at the clock it is a part of the run and not of the engine, which is the same at every moment.
 */
export class StatementClock {
  private read: number | null = null

  start(): void {
    this.read = null
  }

  /** Milliseconds since the Unix epoch. */
  get ms(): number {
    this.read ??= systemClock.now()
    return this.read
  }
}

/** One run at a time per compiled plan: the engine is synchronous and a plan never calls itself. */
export interface ExecutionContext {
  /** Slots; see SlotKind for what each holds. */
  readonly frame: unknown[]
  parameters: ReadonlyMap<string, Value>
  /** By graph index. */
  readonly graphs: Snapshot[]
  budget: Budget
  readonly clock: StatementClock
  /** A search goes on behind this node; 0: it begins at the beginning. */
  resumeAfter: NodeId
  /** The run finds what it seeks one by one, and whoever has enough may leave it. */
  isIncremental: boolean
  /** A property that was read as unknown in this run, since an external resolver supplies it. */
  unknownProperty: string | null
}

/** Evaluates a bound expression against the frame of a run. */
export type CompiledExpression = (run: ExecutionContext) => Value
