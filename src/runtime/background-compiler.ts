// Compiles on the serving loop, one at a time and rarely, the policies and queries that are too long to be compiled while
// a request waits. Until then, and for the longest ones always, their questions are answered in lanes.

/** Documents above this stay with the lanes: to compile one takes some 30 ms or more. */
const DOCUMENT_CHARS_MAX = 16_384
/** Between two documents, so that frequent changes of policies cannot hold the serving loop. */
const COMPILE_INTERVAL_MS = 1000
const PENDING_MAX = 1000

export class BackgroundCompiler {
  private readonly pending = new Map<object, () => void>()
  private timer: ReturnType<typeof setTimeout> | null = null

  /** As `LibraryOptions.later`. */
  readonly add = (characters: number, document: object, compile: () => void): void => {
    if (characters > DOCUMENT_CHARS_MAX || this.pending.size >= PENDING_MAX) return
    this.pending.set(document, compile)
    this.timer ??= this.scheduleNext()
  }

  close(): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.pending.clear()
  }

  private scheduleNext(): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => {
      this.timer = null
      const [entry] = this.pending
      if (entry === undefined) return
      const [document, compile] = entry
      this.pending.delete(document)
      compile()
      if (this.pending.size > 0) this.timer = this.scheduleNext()
    }, COMPILE_INTERVAL_MS)
    timer.unref()
    return timer
  }
}
