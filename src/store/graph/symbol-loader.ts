// Reads missing names of environments in slices, so that a large dictionary does not block the event loop. Until an environment
// has all its names, requests for it run in lanes (docs/decisions/0018-lanes.md).

const SLICE_MS = 1.5
/** Time between two slices. All environments of the process together use at most about a quarter of the event loop. */
const PAUSE_MS = 4

/** An environment whose names are incomplete. */
export interface IncompleteSymbols {
  /** Reads missing names until `untilMs` (of `performance.now()`). Returns whether there is more to read. */
  readSymbolSlice(untilMs: number): boolean
}

/** The environments of one process whose names are being read. They take turns, a slice each. */
export class SymbolLoader {
  private readonly pending = new Set<IncompleteSymbols>()
  private timer: ReturnType<typeof setTimeout> | null = null

  /** Starts to read the missing names. Does nothing if the environment is being read. */
  add(environment: IncompleteSymbols): void {
    this.pending.add(environment)
    this.timer ??= this.scheduleSlice()
  }

  /** Stops reading. */
  close(): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
    this.pending.clear()
  }

  private scheduleSlice(): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => {
      this.timer = null
      const [environment] = this.pending
      if (environment === undefined) return
      this.pending.delete(environment)
      if (this.readSlice(environment)) this.pending.add(environment)
      if (this.pending.size > 0) this.timer = this.scheduleSlice()
    }, PAUSE_MS)
    timer.unref()
    return timer
  }

  private readSlice(environment: IncompleteSymbols): boolean {
    try {
      return environment.readSymbolSlice(performance.now() + SLICE_MS)
    } catch {
      // The lane that reads the same names reports the error to its request.
      return false
    }
  }
}
