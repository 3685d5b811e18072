// What one listener is sent, as a stream of events. A reader who is slow is told of the same thing once, however often it
// came to pass: what waits is a set, bounded by what the listener has asked for.

type Given = IteratorResult<string, void>

const over: Given = { value: undefined, done: true }

export class NoticeStream implements AsyncIterator<string, void> {
  private readonly waiting = new Set<string>()
  private ended = false
  private wake: ((given: Given) => void) | null = null
  private readonly onLeft: () => void

  /** `onLeft`: the reader is gone. */
  constructor(first: readonly string[], onLeft: () => void) {
    for (const event of first) this.waiting.add(event)
    this.onLeft = onLeft
  }

  /** False: it waits already, for nothing was taken since it was said before. */
  say(event: string): boolean {
    if (this.ended) return true
    if (this.waiting.has(event)) return false
    this.waiting.add(event)
    this.give()
    return true
  }

  end(last: readonly string[]): void {
    for (const event of last) this.say(event)
    this.ended = true
    this.give()
  }

  /** Asked when there is room. */
  next(): Promise<Given> {
    return new Promise((resolve) => {
      this.wake = resolve
      this.give()
    })
  }

  async return(): Promise<Given> {
    this.waiting.clear()
    this.end([])
    this.onLeft()
    return over
  }

  private give(): void {
    if (this.wake === null || (this.waiting.size === 0 && !this.ended)) return
    const { wake } = this
    this.wake = null
    const value = [...this.waiting].join('')
    this.waiting.clear()
    wake(value === '' ? over : { value, done: false })
  }
}
