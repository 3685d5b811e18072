// The times of the executions of a request that is run again after each fetch. An execution, such as one decision of a batch, has the
// same time limit as on a graph of this process: it begins when it first runs, and includes its fetches in all attempts.

/** Work with a time limit of its own. Times are on the clock of `performance.now()`. */
export interface ExecutionTime {
  readonly startedMs: number
  readonly deadlineMs: number
  /**
   * `open`: the time counts. `done`: it has ended, and an attempt only repeats it. `late`: it has ended at its time limit, so that further
   * attempts must end it too.
   */
  state: 'open' | 'done' | 'late'
}

/** The executions of one piece of work. All attempts run them in the same order. */
export class ExecutionTimes {
  private readonly times: ExecutionTime[] = []
  private begun = 0

  /** Begins an attempt. */
  restart(): void {
    this.begun = 0
  }

  /** Begins the next execution of this attempt; the one before it has ended. */
  begin(timeMs: number): ExecutionTime {
    const before = this.current
    if (before?.state === 'open') before.state = 'done'
    let time = this.times[this.begun]
    if (time === undefined) {
      const startedMs = performance.now()
      time = { startedMs, deadlineMs: startedMs + timeMs, state: 'open' }
      this.times.push(time)
    }
    this.begun += 1
    return time
  }

  /** The execution that this attempt has begun last; null: it has begun none. */
  get current(): ExecutionTime | null {
    return this.times[this.begun - 1] ?? null
  }

  /** When the next execution of this attempt first began; null: no attempt has begun it. */
  get nextStartMs(): number | null {
    return this.times[this.begun]?.startedMs ?? null
  }
}
