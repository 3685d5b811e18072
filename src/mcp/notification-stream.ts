// The event stream of one subscription. Pending events form a set, so a slow reader gets each distinct event once, and memory
// is bounded by what the client subscribed to.
import { ClientStream } from '../kernel/request/client-stream.ts'

/** A stream that can be pushed to and read once. */
export class NotificationStream extends ClientStream {
  private readonly pending = new Set<string>()

  /** `onLeft`: called when the reader has disconnected. */
  constructor(first: readonly string[], onLeft: () => void) {
    super(onLeft)
    for (const event of first) this.pending.add(event)
  }

  /** Adds an event. Returns false if the same event is pending already, because the reader has not read since. */
  push(event: string): boolean {
    if (this.isEnding) return true
    if (this.pending.has(event)) return false
    this.pending.add(event)
    this.flush()
    return true
  }

  /** Ends the stream after what is pending and `last`. */
  override end(last: readonly string[] = []): void {
    for (const event of last) this.push(event)
    super.end()
  }

  protected override take(): string {
    const text = [...this.pending].join('')
    this.pending.clear()
    return text
  }
}
