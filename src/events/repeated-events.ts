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

/** How a kind of events is recorded. Neither function may throw. */
interface RepeatedEventsDeps<Event> {
  /** `count`: how many events it stands for; null: for itself. */
  record(event: Event, count: number | null): void
  /** What two events have in common: one event that stands for both must not name what only one of them has. */
  common(first: Event, second: Event): Event
  /** Events of one window that are recorded one by one. Absent: `SINGLE_EVENTS_MAX`. */
  readonly singleMax?: number
}

interface Repeated<Event> {
  count: number
  event: Event
}

/** Counts events of one process. */
export class RepeatedEvents<Event> {
  private readonly deps: RepeatedEventsDeps<Event>
  private readonly singleMax: number
  private timer: ReturnType<typeof setTimeout> | null = null
  private windowMs = WINDOW_MIN_MS
  private single = 0
  private sources = new Map<string, Repeated<Event>>()
  private groups = new Map<string, Repeated<Event>>()

  constructor(deps: RepeatedEventsDeps<Event>) {
    this.deps = deps
    this.singleMax = deps.singleMax ?? SINGLE_EVENTS_MAX
  }

  /**
   * Records an event now, or at the end of the window with all events of this group and source. `source`: who causes the event, such
   * as an address, so that one client cannot hide the events of others.
   */
  add(group: string, source: string, event: Event): void {
    this.startWindow()
    this.single += 1
    if (this.single <= this.singleMax) this.deps.record(event, null)
    else this.count(group, `${group} ${source}`, event)
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
    for (const { count, event } of repeated) this.deps.record(event, count === 1 ? null : count)
    // Only an empty window shows that the failures have ended.
    if (repeated.length > 0) this.startWindow()
  }

  private startWindow(): void {
    if (this.timer !== null) return
    this.timer = setTimeout(() => this.flush(), this.windowMs)
    this.timer.unref?.()
  }

  private count(group: string, source: string, event: Event): void {
    const counted = this.sources.get(source)
    if (counted !== undefined) this.increase(counted, event)
    else if (this.sources.size < SOURCES_MAX) this.sources.set(source, { count: 1, event })
    else this.countGroup(group, event)
  }

  private countGroup(group: string, event: Event): void {
    const isFull = this.groups.size >= GROUPS_MAX
    const counted = this.groups.get(group) ?? (isFull ? this.groups.values().next().value : undefined)
    if (counted === undefined) this.groups.set(group, { count: 1, event })
    else this.increase(counted, event)
  }

  private increase(counted: Repeated<Event>, event: Event): void {
    counted.count += 1
    counted.event = this.deps.common(counted.event, event)
  }
}
