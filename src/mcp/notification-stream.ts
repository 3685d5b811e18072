// What one listener is sent, as a stream of events. A reader who is slow is told of the same thing once, however often it
// came to pass: what waits is a set, bounded by what the listener has asked for.

type StreamResult = IteratorResult<string, void>

const streamEnd: StreamResult = { value: undefined, done: true }

export class NotificationStream implements AsyncIterator<string, void> {
  private readonly pending = new Set<string>()
  private ended = false
  private wake: ((given: StreamResult) => void) | null = null
  private readonly onClosed: () => void

  /** `onLeft`: the reader is gone. */
  constructor(first: readonly string[], onLeft: () => void) {
    for (const event of first) this.pending.add(event)
    this.onClosed = onLeft
  }

  /** False: it waits already, for nothing was taken since it was said before. */
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

  /** Asked when there is room. */
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
