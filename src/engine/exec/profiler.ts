// Counts what each operator of a run does: rows given out, reads of the store, time of its own. Only profiled runs are compiled with it.
import type { Plan } from '../plan/operators.ts'
import type { Snapshot } from '../store.ts'
import type { PhysicalOperator } from './physical-operator.ts'

export interface OperatorProfile {
  rows: number
  /** Calls to the snapshot that read the store, those of the operator's inputs not included. */
  reads: number
  /** Milliseconds, those of the operator's inputs not included. */
  timeMs: number
  /** The frame of its last row; null while there was none. */
  lastRow: readonly unknown[] | null
  /** Which row of the run that was, of all operators; 0 while there was none. */
  lastRowNumber: number
}

/** Names are kept in memory: asking for them reads nothing. */
const UNCOUNTED_METHODS: ReadonlySet<string | symbol> = new Set(['symbol', 'symbolName', 'close'])

export class Profiler {
  private readonly profiles = new Map<Plan, OperatorProfile>()
  private totalReads = 0
  private totalRows = 0
  /** Of the operators that the one being measured asked. */
  private inputMs = 0

  /** The counts of an operator of the plan; zeros for one that never ran. */
  profileOf(plan: Plan): OperatorProfile {
    let counts = this.profiles.get(plan)
    if (!counts) {
      counts = { rows: 0, reads: 0, timeMs: 0, lastRow: null, lastRowNumber: 0 }
      this.profiles.set(plan, counts)
    }
    return counts
  }

  /** The same snapshot, with every read counted. */
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

  /** To be wrapped around every operator, inputs first. */
  readonly wrap = (plan: Plan, operator: PhysicalOperator): PhysicalOperator => {
    const counts = this.profileOf(plan)
    return {
      open: (run) => this.measure(counts, () => operator.open(run)),
      next: (run) => {
        // Measuring costs more than most operators do, and each row is copied.
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

  /** Reads that happened inside inner operators were taken off by them already. */
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
