// The event stream of one subscription. Pending events form a set, so a slow reader gets each distinct event once, and memory
// is bounded by what the client subscribed to.

type StreamResult = IteratorResult<string, void>

const streamEnd: StreamResult = { value: undefined, done: true }

/** A stream that can be pushed to and read once. */
export class NotificationStream implements AsyncIterator<string, void> {
  private readonly pending = new Set<string>()
  private ended = false
  private wake: ((result: StreamResult) => void) | null = null
  private readonly onClosed: () => void

  /** `onClosed`: called when the reader has disconnected. */
  constructor(first: readonly string[], onLeft: () => void) {
    for (const event of first) this.pending.add(event)
    this.onClosed = onLeft
  }

  /** Adds an event. Returns false if the same event is pending already, because the reader has not read since. */
  push(event: string): boolean {
    if (this.ended) return true
    if (this.pending.has(event)) return false
    this.pending.add(event)
    this.flush()
    return true
  }

  end(last: readonly string[]): void {
    for (const event of last) this.push(event)
    this.ended = true
    this.flush()
  }

  /** Resolves to the pending events when there are any. Called when the reader is ready. */
  next(): Promise<StreamResult> {
    return new Promise((resolve) => {
      this.wake = resolve
      this.flush()
    })
  }

  async return(): Promise<StreamResult> {
    this.pending.clear()
    this.end([])
    this.onClosed()
    return streamEnd
  }

  private flush(): void {
    if (this.wake === null || (this.pending.size === 0 && !this.ended)) return
    const { wake } = this
    this.wake = null
    const value = [...this.pending].join('')
    this.pending.clear()
    wake(value === '' ? streamEnd : { value, done: false })
  }
}
