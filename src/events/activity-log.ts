// Events that belong to no transaction: decisions, searches, reads. They are collected in memory and written together, at most
// 50 ms later while the disk accepts writes. Events are encoded when they are written, so that recording takes little of the time of
// a decision.
import type { Clock } from '../kernel/time/clock.ts'
import { type DecidedElement, type ReadyEvent, type RecordedEvent, SharedValues } from './event-record.ts'
import type { EventTypeName } from './event-types.ts'
import { type RoutedRecord, routedRecords } from './routed-records.ts'
import type { SinkRoutes } from './sink-routes.ts'

/** The timer leaves the rest of the 50 ms to the write. */
const TIMER_MS = 25
/** Events encoded in one turn of the event loop: about 1 ms. */
const SLICE_EVENTS = 256
/** Wait after a failed write. */
const RETRY_MS = 1000
/** Events that cannot be encoded are reported at most once in this time. */
const REPORT_MS = 60_000
/** Events that are kept in memory while the disk refuses writes. Later ones are dropped and counted. */
const EVENTS_MAX = 100_000
/** Encoded bytes that are kept in memory while the disk refuses writes. */
const BYTES_MAX = 64 * 1024 * 1024

/** An event to write. */
export interface ActivityEvent {
  readonly routes: SinkRoutes
  readonly type: EventTypeName
  /** The providers that receive it; not 0. */
  readonly providers: number
  /** The request that caused it. Absent or empty: unknown, because several requests may use the same verification of a token. */
  readonly requestId?: string
  /**
   * Called shortly after; again with other `shared` if an event of the same record cannot be encoded. `shared`: collects values
   * that the events of a record share.
   */
  encode(shared: SharedValues): ReadyEvent | DecidedElement
}

/** A record of one project, or of the organization. */
export interface ActivityRecord {
  readonly projectId: string
  /** True: to the stream of the audit log. */
  readonly isAudit: boolean
  readonly bytes: Uint8Array
  /** Number of events. */
  readonly count: number
  readonly timeMs: number
}

/** Collaborators of the log. */
interface ActivityLogDeps {
  /** Writes the records in one transaction. Resolves when they are on disk. */
  append(records: readonly ActivityRecord[]): Promise<void>
  readonly clock: Clock
  readonly report: (line: string) => void
  /** Answers wait for their events: the log remembers which requests have an unwritten event. */
  readonly isStrict: boolean
}

/** Collects events and writes them. */
export class ActivityLog {
  private readonly deps: ActivityLogDeps
  private recorded: ActivityEvent[] = []
  /** Encoded and not on disk. */
  private unwritten: ActivityRecord[] = []
  private unwrittenEvents = 0
  private unwrittenBytes = 0
  private recordedCount = 0
  private timer: ReturnType<typeof setTimeout> | null = null
  private running: Promise<void> | null = null
  private isFailing = false
  private droppedCount = 0
  /** Requests with a recorded event, if answers wait. */
  private recordedRequests = new Set<string>()
  /** Requests whose events are being written, or could not be written. */
  private unwrittenRequests = new Set<string>()
  private unattributedCount = 0
  private nextReportMs = Number.NEGATIVE_INFINITY

  constructor(deps: ActivityLogDeps) {
    this.deps = deps
  }

  /** Number of events that were dropped because the disk refused writes, or because they could not be encoded. */
  get dropped(): number {
    return this.droppedCount
  }

  /** Number of events so far, also of dropped ones. */
  get count(): number {
    return this.recordedCount
  }

  /** Number of events so far whose request is unknown. */
  get unattributed(): number {
    return this.unattributedCount
  }

  /** Records an event. Never throws. */
  record(event: ActivityEvent): void {
    this.recordedCount += 1
    const { requestId = '' } = event
    if (requestId === '') this.unattributedCount += 1
    // Also of a dropped event: its answer is refused.
    else if (this.deps.isStrict) this.recordedRequests.add(requestId)
    if (this.recorded.length + this.unwrittenEvents >= EVENTS_MAX || this.unwrittenBytes >= BYTES_MAX) {
      this.droppedCount += 1
      return
    }
    this.recorded.push(event)
    if (this.timer === null && this.running === null) this.schedule(TIMER_MS)
  }

  /**
   * Resolves when everything recorded so far is on disk; null if it is. Rejects if it cannot be written; the events stay in memory
   * and are written later.
   */
  settled(): Promise<void> | null {
    return this.recorded.length + this.unwritten.length === 0 && this.running === null ? null : this.flush()
  }

  /**
   * As `settled`, for the events of one request: it does not wait for later events. Requires `isStrict`.
   */
  settledOf(requestId: string): Promise<void> | null {
    if (this.recordedRequests.has(requestId)) return this.flush()
    return this.unwrittenRequests.has(requestId) ? (this.running ?? this.flush()) : null
  }

  private schedule(delayMs: number): void {
    this.timer = setTimeout(() => {
      this.timer = null
      // Reported by `write`.
      this.flush().catch(() => undefined)
    }, delayMs)
    this.timer.unref?.()
  }

  /** Writes everything recorded so far. A write in progress may not contain it, so another one follows. */
  private async flush(): Promise<void> {
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
    const before = this.running
    if (before !== null) await before.catch(() => undefined)
    if (this.running !== null) return this.running
    if (this.recorded.length + this.unwritten.length === 0) return
    const running = this.write()
    this.running = running
    try {
      await running
    } finally {
      this.running = null
      if (this.unwritten.length > 0) this.schedule(RETRY_MS)
      else if (this.recorded.length > 0) this.schedule(TIMER_MS)
    }
  }

  private async write(): Promise<void> {
    const events = this.recorded
    this.recorded = []
    for (const requestId of this.recordedRequests) this.unwrittenRequests.add(requestId)
    this.recordedRequests = new Set()
    for (let at = 0; at < events.length; at += SLICE_EVENTS) {
      if (at > 0) await new Promise((resolve) => setImmediate(resolve))
      this.encode(events.slice(at, at + SLICE_EVENTS))
    }
    const records = this.unwritten
    try {
      await this.deps.append(records)
      this.unwritten = []
      this.unwrittenEvents = 0
      this.unwrittenBytes = 0
      this.unwrittenRequests = new Set()
      this.isFailing = false
    } catch (failure) {
      if (!this.isFailing) this.deps.report(`events of decisions and reads cannot be written: ${String(failure)}`)
      this.isFailing = true
      throw failure
    }
  }

  /** One record for each revision of a sink. */
  private encode(events: readonly ActivityEvent[]): void {
    const bySink = new Map<SinkRoutes, ActivityEvent[]>()
    for (const event of events) {
      const group = bySink.get(event.routes)
      if (group === undefined) bySink.set(event.routes, [event])
      else group.push(event)
    }
    for (const [routes, group] of bySink) this.encodeGroup(routes, group)
  }

  /** If a record cannot be encoded, each of its events gets one of its own: one that is faulty drops no other. */
  private encodeGroup(routes: SinkRoutes, events: readonly ActivityEvent[]): void {
    let records: readonly RoutedRecord[]
    try {
      records = recordsOf(routes, events)
    } catch (failure) {
      if (events.length === 1) this.drop(routes, failure)
      else for (const event of events) this.encodeGroup(routes, [event])
      return
    }
    const { projectId } = routes
    const timeMs = this.deps.clock.now()
    for (const record of records) {
      this.unwritten.push({ projectId, timeMs, ...record })
      this.unwrittenBytes += record.bytes.length
    }
    this.unwrittenEvents += events.length
  }

  private drop({ projectId }: SinkRoutes, failure: unknown): void {
    this.droppedCount += 1
    const nowMs = this.deps.clock.now()
    if (nowMs < this.nextReportMs) return
    this.nextReportMs = nowMs + REPORT_MS
    this.deps.report(`an event of the project ${projectId} cannot be encoded and is dropped: ${String(failure)}`)
  }

  /** Writes what is left. */
  async close(): Promise<void> {
    await this.flush().catch(() => undefined)
    if (this.timer !== null) clearTimeout(this.timer)
  }
}

/** Encodes the events of one revision of a sink. Throws if one of them cannot be encoded. */
function recordsOf(routes: SinkRoutes, events: readonly ActivityEvent[]): readonly RoutedRecord[] {
  const shared = new SharedValues()
  const recorded = events.map((event): RecordedEvent => {
    const encoded = event.encode(shared)
    const { type, providers: receivers } = event
    return 'members' in encoded
      ? { type, providers: receivers, ready: encoded }
      : { type, providers: receivers, element: encoded }
  })
  const content = { requestId: '', actor: null, events: recorded }
  return routedRecords(routes, shared.values.length === 0 ? content : { ...content, shared: shared.values })
}
