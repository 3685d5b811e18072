// A stream of text to one client that may read slowly: what it has not read waits in the subclass, which bounds it.

const ended: IteratorResult<string, void> = { value: undefined, done: true }

/** A stream that is pushed to, and read when its reader is ready. */
export abstract class ClientStream implements AsyncIterator<string, void> {
  private readonly onLeft: () => void
  private quietTicks = 0
  private keepAliveText = ''
  private hasEnded = false
  private wake: ((result: IteratorResult<string, void>) => void) | null = null

  /** `onLeft`: called when the client has disconnected. */
  constructor(onLeft: () => void) {
    this.onLeft = onLeft
  }

  /** Removes the pending text and returns it; empty if nothing is pending. */
  protected abstract take(): string

  /** Whether the reader waits, so that text is read at once. */
  protected get isAwaited(): boolean {
    return this.wake !== null
  }

  /** Whether `end` was called, or the client has disconnected. */
  protected get isEnding(): boolean {
    return this.hasEnded
  }

  /** Gives text to a reader that waits, ahead of what is pending. */
  protected give(text: string): void {
    const { wake } = this
    if (wake === null) return
    this.wake = null
    this.keepAliveText = ''
    this.quietTicks = 0
    wake({ value: text, done: false })
  }

  /** Gives the pending text to the reader if it waits. */
  protected flush(): void {
    const { wake } = this
    if (wake === null) return
    const text = this.take() || this.keepAliveText
    if (text !== '') {
      this.give(text)
    } else if (this.hasEnded) {
      this.wake = null
      wake(ended)
    }
  }

  /**
   * Counts a tick, and after `ticksMax` of them without text sends the result of `keepAlive`. Returns false if the reader has not read the last one:
   * the connection is dead.
   */
  tick(ticksMax: number, keepAlive: () => string): boolean {
    this.quietTicks += 1
    if (this.quietTicks < ticksMax) return true
    this.quietTicks = 0
    if (this.keepAliveText !== '') return false
    this.keepAliveText = keepAlive()
    this.flush()
    return true
  }

  /** Ends the stream after what is pending. */
  end(): void {
    this.hasEnded = true
    this.flush()
  }

  /** Resolves to the pending text when there is any. Called when the reader is ready. */
  next(): Promise<IteratorResult<string, void>> {
    return new Promise((resolve) => {
      this.wake = resolve
      this.flush()
    })
  }

  /** Called when the client has disconnected. */
  async return(): Promise<IteratorResult<string, void>> {
    this.take()
    this.end()
    this.onLeft()
    return ended
  }
}
