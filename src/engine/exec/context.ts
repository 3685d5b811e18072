// What a run carries: the frame, the parameters, the snapshots and the budget. Operators and expressions get nothing else.
import { systemClock } from '../../kernel/clock.ts'
import { LaneRequiredError } from '../../kernel/lane-required.ts'
import { RunFault } from '../errors.ts'
import type { NodeId, Snapshot } from '../store.ts'
import { type Chargeable, chargeEffortTo, endEffortOf } from '../value/effort.ts'
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
const CLOCK_EVERY = 256
const ROWS_HELD_MAX = 2_000_000
const BYTES_HELD_MAX = 256 * 1024 * 1024

/** Steps that one call may take at once on the serving loop: half a millisecond, more or less. */
const INLINE_CHARGE_MAX = 2048

/** Counts work; reads the clock once in 256 steps. One may be shared by several executions, one after another. */
export class Budget implements Chargeable {
  private steps = 0
  private held = 0
  private heldMax = 0
  private bytes = 0
  private bytesMax = 0
  private nextLook = 0
  private stepsMax = 0
  private deadline = 0
  private timeMs = 0
  private inlineMs: number | null = null
  private inlineDeadline = 0

  start(limits: BudgetLimits): void {
    chargeEffortTo(this)
    this.steps = 0
    this.held = 0
    this.heldMax = limits.rowsHeldMax ?? ROWS_HELD_MAX
    this.bytes = 0
    this.bytesMax = limits.bytesHeldMax ?? BYTES_HELD_MAX
    this.nextLook = CLOCK_EVERY
    this.stepsMax = limits.stepsMax
    this.timeMs = limits.timeMs
    this.inlineMs = limits.inlineMs ?? null
    // Read lazily: a run that ends within its first 256 steps never reads the clock.
    this.deadline = 0
  }

  /** To be called when the work is over: what is computed for others afterwards is not charged to it. */
  end(): void {
    endEffortOf(this)
  }

  /** To be called for every row, relationship and list item touched, before the work is done. */
  touch(count: number): void {
    this.steps += count
    if (this.steps >= this.nextLook) this.look(count)
  }

  /** To be called for every row, group and visited node that is kept beyond its turn. */
  hold(): void {
    this.held += 1
    if (this.held > this.heldMax) {
      throw new RunFault('budget', `the limit of ${this.heldMax} rows in memory is reached`, 'rowsHeldMax')
    }
  }

  /** To be called for values that are kept beyond their row; a negative count gives memory back. */
  holdBytes(count: number): void {
    this.bytes += count
    if (this.bytes > this.bytesMax) this.refuseBytes()
  }

  /** To be called while one value grows: it must fit into the memory that is left. */
  admitBytes(count: number): void {
    if (this.bytes + count > this.bytesMax) this.refuseBytes()
  }

  /** To be called before work that is always too large for the serving loop. Throws LaneRequiredError there. */
  requireLane(reason: string): void {
    if (this.inlineMs !== null) throw new LaneRequiredError(reason)
  }

  get isInline(): boolean {
    return this.inlineMs !== null
  }

  get touched(): number {
    return this.steps
  }

  private refuseBytes(): never {
    throw new RunFault('budget', `the limit of ${this.bytesMax} bytes in memory is reached`, 'bytesHeldMax')
  }

  private look(charged: number): void {
    this.nextLook = this.steps + CLOCK_EVERY
    if (this.inlineMs !== null && charged > INLINE_CHARGE_MAX) throw new LaneRequiredError('a long call')
    if (this.steps > this.stepsMax) {
      throw new RunFault('budget', `the limit of ${this.stepsMax} steps is reached`, 'traversalStepsMax')
    }
    const now = this.clock()
    if (this.deadline === 0) {
      this.deadline = now + this.timeMs
      if (this.inlineMs !== null) this.inlineDeadline = now + this.inlineMs
    } else if (this.inlineMs !== null && now > this.inlineDeadline) throw new LaneRequiredError('time')
    else if (now > this.deadline) {
      throw new RunFault('budget', `the time limit of ${this.timeMs} ms is reached`, 'decisionTimeMs')
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
export class Moment {
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
export interface Run {
  /** Slots; see SlotKind for what each holds. */
  readonly frame: unknown[]
  parameters: ReadonlyMap<string, Value>
  /** By graph index. */
  readonly graphs: Snapshot[]
  budget: Budget
  readonly moment: Moment
  /** A search goes on behind this node; 0: it begins at the beginning. */
  after: NodeId
  /** The run finds what it seeks one by one, and whoever has enough may leave it. */
  isLazy: boolean
  /** A property that was read as unknown in this run, since an external resolver supplies it. */
  unknown: string | null
}

/** Evaluates a bound expression against the frame of a run. */
export type Evaluate = (run: Run) => Value
