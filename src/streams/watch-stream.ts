// A change stream as one client reads it. Unread events are merged: a slow reader costs no more memory than a list of all types and
// actions, and misses nothing.
import { ClientStream } from '../kernel/request/client-stream.ts'
import type { WatchedDecisions, WatchRequest } from '../pdp/watch-schema.ts'

/** The state of a project that an event reports. */
export interface WatchPosition {
  /** The id of the event. */
  readonly id: string
  readonly revision: number
}

/** The key of decisions in sets. */
export function keyOfDecisions({ subject_type, action, resource_type }: WatchedDecisions): string {
  return JSON.stringify([subject_type, action, resource_type])
}

/** Decisions that may have changed. */
export class WatchedChange {
  readonly position: WatchPosition
  readonly decisions: readonly WatchedDecisions[]
  /** Null: the list is the same as before. */
  readonly timeDependent: readonly WatchedDecisions[] | null
  private written: string | null = null

  constructor(
    position: WatchPosition,
    decisions: readonly WatchedDecisions[],
    timeDependent: readonly WatchedDecisions[] | null,
  ) {
    this.position = position
    this.decisions = decisions
    this.timeDependent = timeDependent
  }

  get isEmpty(): boolean {
    return this.decisions.length === 0 && this.timeDependent === null
  }

  /** The event for a stream without a filter. */
  get text(): string {
    this.written ??= changeText(this.position, this.decisions, this.timeDependent)
    return this.written
  }
}

function changeText(
  { id, revision }: WatchPosition,
  changes: readonly WatchedDecisions[],
  timeDependent: readonly WatchedDecisions[] | null,
): string {
  const list = timeDependent === null ? {} : { time_dependent: timeDependent }
  return eventText('change', id, { revision, changes, ...list })
}

/** One change stream. */
export class WatchStream extends ClientStream {
  readonly request: WatchRequest
  private readonly isUnfiltered: boolean
  private readonly changes = new Map<string, WatchedDecisions>()
  private hello: string | null = null
  private resetReason: string | null = null
  private timeDependent: readonly WatchedDecisions[] | null = null
  /** Null: no event is pending. */
  private position: WatchPosition | null = null

  /** `onLeft`: called when the client has disconnected. */
  constructor(request: WatchRequest, onLeft: () => void) {
    super(onLeft)
    this.request = request
    this.isUnfiltered = Object.values(request.filter).every((value) => value === undefined)
  }

  /** Whether the filter of the stream accepts the decisions. */
  accepts({ subject_type, action, resource_type }: WatchedDecisions): boolean {
    const { filter } = this.request
    return (
      (filter.subject_type ?? subject_type) === subject_type &&
      (filter.action ?? action) === action &&
      (filter.resource_type ?? resource_type) === resource_type
    )
  }

  /** Begins the stream. */
  start(position: WatchPosition, timeDependent: readonly WatchedDecisions[], isResumed: boolean): void {
    const { revision, id } = position
    this.hello = eventText('hello', id, {
      revision,
      resumed: isResumed,
      time_dependent: timeDependent.filter((one) => this.accepts(one)),
    })
    this.flush()
  }

  /** These decisions may have changed. */
  change(change: WatchedChange): void {
    const { position, decisions, timeDependent } = change
    if (this.isUnfiltered && this.isAwaited && this.position === null && this.hello === null) {
      // The usual case, for which all streams share one text.
      if (!change.isEmpty) this.give(change.text)
      return
    }
    for (const one of decisions) if (this.accepts(one)) this.changes.set(keyOfDecisions(one), one)
    if (timeDependent !== null) this.timeDependent = timeDependent.filter((one) => this.accepts(one))
    if (this.changes.size === 0 && timeDependent === null) return
    this.position = position
    this.flush()
  }

  /** Any decision may have changed. */
  reset(position: WatchPosition, reason: string): void {
    this.resetReason = reason
    this.changes.clear()
    this.position = position
    this.flush()
  }

  protected override take(): string {
    const { hello, position } = this
    this.hello = null
    this.position = null
    let text = hello ?? ''
    if (position === null) return text
    const { id, revision } = position
    if (this.resetReason !== null) text += eventText('reset', id, { revision, reason: this.resetReason })
    if (this.changes.size > 0 || this.timeDependent !== null) {
      text += changeText(position, [...this.changes.values()], this.timeDependent)
    }
    this.resetReason = null
    this.timeDependent = null
    this.changes.clear()
    return text
  }
}

/** The text of a keep-alive. Without data, a reader of events takes the id and reports nothing. */
export function watchKeepAlive({ id }: WatchPosition): string {
  return `: keep-alive\nid: ${id}\n\n`
}

function eventText(name: string, id: string, data: object): string {
  return `event: ${name}\nid: ${id}\ndata: ${JSON.stringify(data)}\n\n`
}
