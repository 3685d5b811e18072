// Compiles on the serving loop, one at a time and rarely, the policies and queries that are too long to be compiled while
// a request waits. Until then, and for the longest ones always, their questions are answered in lanes.

/** Documents above this stay with the lanes: to compile one takes some 30 ms or more. */
const CHARACTERS_MAX = 16_384
/** Between two documents, so that frequent changes of policies cannot hold the serving loop. */
const EVERY_MS = 1000
const WAITING_MAX = 1000

export class BackgroundCompiler {
  private readonly waiting = new Map<object, () => void>()
  private timer: ReturnType<typeof setTimeout> | null = null

  /** As `LibraryOptions.later`. */
  readonly add = (characters: number, document: object, compile: () => void): void => {
    if (characters > CHARACTERS_MAX || this.waiting.size >= WAITING_MAX) return
    this.waiting.set(document, compile)
    this.timer ??= this.next()
  }

  close(): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.waiting.clear()
  }

  private next(): ReturnType<typeof setTimeout> {
    const timer = setTimeout(() => {
      this.timer = null
      const [entry] = this.waiting
      if (entry === undefined) return
      const [document, compile] = entry
      this.waiting.delete(document)
      compile()
      if (this.waiting.size > 0) this.timer = this.next()
    }, EVERY_MS)
    timer.unref()
    return timer
  }
}
