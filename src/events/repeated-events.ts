// Bounds events that a client can cause at any rate: after a number in one second, one event stands for the others, so that failed
// requests cannot fill the disk.

/** Events of one second that are recorded one by one. */
export const SINGLE_EVENTS_MAX = 20
/** How long the others are counted. */
const WINDOW_MS = 1000
/** Different events that are counted in one window; further ones are counted with the last. */
const KEYS_MAX = 1000

/** Records an event. `count`: how many it stands for; null: it stands for itself. */
export type RecordRepeated = (count: number | null) => void

interface Repeated {
  count: number
  record: RecordRepeated
}

/** Counts events of one process. */
export class RepeatedEvents {
  private timer: ReturnType<typeof setTimeout> | null = null
  private single = 0
  private readonly counted = new Map<string, Repeated>()

  /**
   * Calls `record` now, or at the end of the current second for all events with this key; then the last `record` is called. It must
   * not throw.
   */
  add(key: string, record: RecordRepeated): void {
    if (this.timer === null) {
      this.timer = setTimeout(() => this.flush(), WINDOW_MS)
      this.timer.unref?.()
    }
    this.single += 1
    if (this.single <= SINGLE_EVENTS_MAX) {
      record(null)
      return
    }
    const counted = this.counted.get(key) ?? (this.counted.size >= KEYS_MAX ? this.anyCounted() : undefined)
    if (counted === undefined) this.counted.set(key, { count: 1, record })
    else {
      counted.count += 1
      counted.record = record
    }
  }

  /** Records what is counted. */
  flush(): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
    this.single = 0
    const repeated = [...this.counted.values()]
    this.counted.clear()
    for (const { count, record } of repeated) record(count)
  }

  private anyCounted(): Repeated | undefined {
    return this.counted.values().next().value
  }
}
