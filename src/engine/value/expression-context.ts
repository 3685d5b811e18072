// The inputs of Cypher functions in addition to their arguments: the graphs, the budget and the time of the statement.
import { systemClock } from '../../kernel/time/clock.ts'
import type { Budget } from '../budget.ts'
import type { Snapshot } from '../store.ts'

/** The part of an execution that functions can read. */
export interface ExpressionContext {
  /** By graph index. */
  readonly graphs: readonly Snapshot[]
  budget: Budget
  readonly clock: StatementClock
}

/** The time of a statement: read on first use and then fixed until `start`, so that all temporals of an execution agree. */
export class StatementClock {
  private read: number | null = null

  /** Forgets the time of the statement before. `ms`: the time of the next one; null: that of its first read. */
  start(ms: number | null): void {
    this.read = ms
  }

  /** Milliseconds since the Unix epoch. */
  get ms(): number {
    this.read ??= systemClock.now()
    return this.read
  }
}
