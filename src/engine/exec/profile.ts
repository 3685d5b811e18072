// Counts what each operator of a run does: rows given out, reads of the store, time of its own. Only profiled runs are compiled with it.
import type { Plan } from '../plan/operators.ts'
import type { Snapshot } from '../store.ts'
import type { Operator } from './operator.ts'

export interface OperatorCounts {
  rows: number
  /** Calls to the snapshot that read the store, those of the operator's inputs not included. */
  reads: number
  /** Milliseconds, those of the operator's inputs not included. */
  timeMs: number
  /** The frame of its last row; null while there was none. */
  lastRow: readonly unknown[] | null
  /** Which row of the run that was, of all operators; 0 while there was none. */
  lastAt: number
}

/** Names are kept in memory: asking for them reads nothing. */
const NOT_READS: ReadonlySet<string | symbol> = new Set(['symbol', 'symbolName', 'close'])

export class Profiler {
  private readonly counts = new Map<Plan, OperatorCounts>()
  private total = 0
  private rows = 0
  /** Of the operators that the one being measured asked. */
  private innerMs = 0

  /** The counts of an operator of the plan; zeros for one that never ran. */
  of(plan: Plan): OperatorCounts {
    let counts = this.counts.get(plan)
    if (!counts) {
      counts = { rows: 0, reads: 0, timeMs: 0, lastRow: null, lastAt: 0 }
      this.counts.set(plan, counts)
    }
    return counts
  }

  /** The same snapshot, with every read counted. */
  counting(snapshot: Snapshot): Snapshot {
    return new Proxy(snapshot, {
      get: (target, key) => {
        const member: unknown = Reflect.get(target, key, target)
        if (typeof member !== 'function') return member
        return (...args: unknown[]): unknown => {
          if (!NOT_READS.has(key)) this.total += 1
          return Reflect.apply(member, target, args)
        }
      },
    })
  }

  /** To be wrapped around every operator, inputs first. */
  readonly observe = (plan: Plan, operator: Operator): Operator => {
    const counts = this.of(plan)
    return {
      open: (run) => this.measured(counts, () => operator.open(run)),
      next: (run) => {
        // Measuring costs more than most operators do, and each row is copied.
        run.budget.touch(1 + (run.frame.length >> 3))
        const more = this.measured(counts, () => operator.next(run))
        if (more) {
          counts.rows += 1
          counts.lastRow = [...run.frame]
          counts.lastAt = ++this.rows
        }
        return more
      },
    }
  }

  /** Reads that happened inside inner operators were taken off by them already. */
  private measured<T>(counts: OperatorCounts, act: () => T): T {
    const before = this.total
    const outerMs = this.innerMs
    this.innerMs = 0
    const startedMs = performance.now()
    const result = act()
    const elapsedMs = performance.now() - startedMs
    counts.timeMs += elapsedMs - this.innerMs
    this.innerMs = outerMs + elapsedMs
    counts.reads += this.total - before
    this.total = before
    return result
  }
}
