// What a run carries: the frame, the parameters, the snapshots and the budget. Operators and expressions get nothing else.
import { systemClock } from '../../kernel/clock.ts'
import { LaneRequiredError } from '../../kernel/lane-required.ts'
import { RunFault } from '../errors.ts'
import type { NodeId, Snapshot } from '../store.ts'
import { chargeEffortTo } from '../value/effort.ts'
import type { Value } from '../value/value.ts'

/** Limits of one execution. Reaching one is a RunFault `budget` that names it. */
export interface BudgetLimits {
  /** Rows, relationships and list items touched. */
  readonly stepsMax: number
  /** Milliseconds from the start of the execution. */
  readonly timeMs: number
  /** Rows, groups and visited nodes kept in memory at once; 2 million (some 200 MB) where it is not given. */
  readonly rowsHeldMax?: number
  /**
   * Milliseconds that the execution may take on the serving loop. When it takes longer, it throws LaneRequiredError and is
   * repeated in a lane process without this limit. Absent: no such limit.
   */
  readonly inlineMs?: number
}

const CLOCK_EVERY = 2048
const ROWS_HELD_MAX = 2_000_000

/** Counts work; looks at the clock once in 2,048 steps. One may be shared by several executions, one after another. */
export class Budget {
  private steps = 0
  private held = 0
  private heldMax = 0
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
    this.nextLook = CLOCK_EVERY
    this.stepsMax = limits.stepsMax
    this.timeMs = limits.timeMs
    this.inlineMs = limits.inlineMs ?? null
    // Read lazily: a run that ends within its first 2,048 steps never looks at the clock.
    this.deadline = 0
  }

  /** To be called for every row, relationship and list item touched. */
  touch(count: number): void {
    this.steps += count
    if (this.steps >= this.nextLook) this.look()
  }

  /** To be called for every row, group and visited node that is kept beyond its turn. */
  hold(): void {
    this.held += 1
    if (this.held > this.heldMax) {
      throw new RunFault('budget', `the limit of ${this.heldMax} rows in memory is reached`, 'rowsHeldMax')
    }
  }

  get touched(): number {
    return this.steps
  }

  private look(): void {
    this.nextLook = this.steps + CLOCK_EVERY
    if (this.steps > this.stepsMax) {
      throw new RunFault('budget', `the limit of ${this.stepsMax} steps is reached`, 'traversalStepsMax')
    }
    const now = performance.now()
    if (this.deadline === 0) {
      this.deadline = now + this.timeMs
      if (this.inlineMs !== null) this.inlineDeadline = now + this.inlineMs
    } else if (this.inlineMs !== null && now > this.inlineDeadline) throw new LaneRequiredError('time')
    else if (now > this.deadline) {
      throw new RunFault('budget', `the time limit of ${this.timeMs} ms is reached`, 'decisionTimeMs')
    }
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
