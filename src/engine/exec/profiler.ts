// Profiles operators: rows, store reads and time of each. Only profiled executions are compiled with it.
import type { Plan } from '../plan/operators.ts'
import type { Snapshot } from '../store.ts'
import type { PhysicalOperator } from './physical-operator.ts'

/** The profile of one operator. */
export interface OperatorProfile {
  rows: number
  /** Calls of the snapshot that read the store, without those of the inputs of the operator. */
  reads: number
  /** Milliseconds, without those of the inputs of the operator. */
  timeMs: number
  /** The frame of the last row; null if there was none. */
  lastRow: readonly unknown[] | null
  /** The number of that row among the rows of all operators; 0 if there was none. */
  lastRowNumber: number
}

/** Methods that read no page of the store: symbols are in memory. */
const UNCOUNTED_METHODS: ReadonlySet<string | symbol> = new Set(['symbol', 'symbolName', 'close'])

/** The profiles of one execution. */
export class Profiler {
  private readonly profiles = new Map<Plan, OperatorProfile>()
  private totalReads = 0
  private totalRows = 0
  /** Time of the inputs of the operator that is being measured. */
  private inputMs = 0

  /** Returns the profile of an operator of the plan; zeros if it never ran. */
  profileOf(plan: Plan): OperatorProfile {
    let counts = this.profiles.get(plan)
    if (!counts) {
      counts = { rows: 0, reads: 0, timeMs: 0, lastRow: null, lastRowNumber: 0 }
      this.profiles.set(plan, counts)
    }
    return counts
  }

  /** Wraps a snapshot so that every read is counted. */
  countReads(snapshot: Snapshot): Snapshot {
    return new Proxy(snapshot, {
      get: (target, key) => {
        const member: unknown = Reflect.get(target, key, target)
        if (typeof member !== 'function') return member
        return (...args: unknown[]): unknown => {
          if (!UNCOUNTED_METHODS.has(key)) this.totalReads += 1
          return Reflect.apply(member, target, args)
        }
      },
    })
  }

  /** Wraps an operator so that it is measured. Inputs must be wrapped first. */
  readonly wrap = (plan: Plan, operator: PhysicalOperator): PhysicalOperator => {
    const counts = this.profileOf(plan)
    return {
      open: (run) => this.measure(counts, () => operator.open(run)),
      next: (run) => {
        // The measurement costs more than most operators, and each row is copied.
        run.budget.chargeSteps(1 + (run.frame.length >> 3))
        const more = this.measure(counts, () => operator.next(run))
        if (more) {
          counts.rows += 1
          counts.lastRow = [...run.frame]
          counts.lastRowNumber = ++this.totalRows
        }
        return more
      },
    }
  }

  /** Reads of inner operators are subtracted by these operators themselves. */
  private measure<T>(counts: OperatorProfile, act: () => T): T {
    const before = this.totalReads
    const outerMs = this.inputMs
    this.inputMs = 0
    const startedMs = performance.now()
    const result = act()
    const elapsedMs = performance.now() - startedMs
    counts.timeMs += elapsedMs - this.inputMs
    this.inputMs = outerMs + elapsedMs
    counts.reads += this.totalReads - before
    this.totalReads = before
    return result
  }
}
