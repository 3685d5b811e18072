// Bounds events that a client can cause at any rate: after a number in a time, one event stands for the others, so that failed
// requests cannot fill the disk. The time is short at first and grows while the failures continue.

/** Events of one window that are recorded one by one. */
export const SINGLE_EVENTS_MAX = 20
/** How long the others are counted, at first and at most. It doubles while more are counted. */
const WINDOW_MIN_MS = 1000
const WINDOW_MAX_MS = 60_000
/** Sources that are counted apart in one window. The events of further ones are counted by group. */
const SOURCES_MAX = 20
/** Groups in one window. The events of further ones are counted with those of the first. */
const GROUPS_MAX = 1000

/**
 * Records an event. `count`: how many it stands for; null: it stands for itself. `isMixed`: it stands for events of different
 * sources.
 */
export type RecordRepeated = (count: number | null, isMixed: boolean) => void

interface Repeated {
  count: number
  readonly isMixed: boolean
  record: RecordRepeated
}

/** Counts events of one process. */
export class RepeatedEvents {
  private timer: ReturnType<typeof setTimeout> | null = null
  private windowMs = WINDOW_MIN_MS
  private single = 0
  private sources = new Map<string, Repeated>()
  private groups = new Map<string, Repeated>()
  private readonly singleMax: number

  /** `singleMax`: events of one window that are recorded one by one. */
  constructor(singleMax = SINGLE_EVENTS_MAX) {
    this.singleMax = singleMax
  }

  /**
   * Calls `record` now, or at the end of the window for all events with this group and source; then the last `record` is called. It
   * must not throw. `source`: who causes the event, such as an address, so that one client cannot hide the events of others.
   */
  add(group: string, source: string, record: RecordRepeated): void {
    this.startWindow()
    this.single += 1
    if (this.single <= this.singleMax) record(null, false)
    else this.count(group, `${group} ${source}`, record)
  }

  /** Records what is counted. */
  flush(): void {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
    this.single = 0
    const repeated = [...this.sources.values(), ...this.groups.values()]
    this.sources = new Map()
    this.groups = new Map()
    this.windowMs = repeated.length === 0 ? WINDOW_MIN_MS : Math.min(WINDOW_MAX_MS, this.windowMs * 2)
    for (const { count, isMixed, record } of repeated) record(count, isMixed)
    // Only an empty window shows that the failures have ended.
    if (repeated.length > 0) this.startWindow()
  }

  private startWindow(): void {
    if (this.timer !== null) return
    this.timer = setTimeout(() => this.flush(), this.windowMs)
    this.timer.unref?.()
  }

  private count(group: string, source: string, record: RecordRepeated): void {
    const counted = this.sources.get(source)
    if (counted !== undefined) increase(counted, record)
    else if (this.sources.size < SOURCES_MAX) this.sources.set(source, { count: 1, isMixed: false, record })
    else this.countGroup(group, record)
  }

  private countGroup(group: string, record: RecordRepeated): void {
    const isFull = this.groups.size >= GROUPS_MAX
    const counted = this.groups.get(group) ?? (isFull ? this.groups.values().next().value : undefined)
    if (counted === undefined) this.groups.set(group, { count: 1, isMixed: true, record })
    else increase(counted, record)
  }
}

function increase(counted: Repeated, record: RecordRepeated): void {
  counted.count += 1
  counted.record = record
}
