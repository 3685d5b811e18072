// Divides the events of one transaction into a record for the event sink and a record for the audit log.
import type { WriteBatch } from '../engine/store.ts'
import { AUDIT_STREAM } from '../kernel/folder/audit-stream.ts'
import {
  actorText,
  type EventRecord,
  encodeText,
  eventText,
  type ReadyEvent,
  type RecordSink,
  RecordText,
} from './event-record.ts'
import type { EventTypeName } from './event-types.ts'
import { AUDIT_BIT, type SinkRoutes } from './sink-routes.ts'

/** The events of a transaction. Their `providers` are what the routes matched, with `AUDIT_BIT`. */
type RecordContent = Omit<EventRecord, keyof RecordSink>

/** The common parts of the events of a transaction. */
type RecordCommon = Omit<RecordContent, 'events' | 'actor'>

const NO_SINK: RecordSink = { sinkId: '', revision: 0, providers: [] }

/** A record to append. */
export interface RoutedRecord {
  /** True: to the stream of the audit log. */
  readonly isAudit: boolean
  readonly bytes: Uint8Array
  /** Number of events. */
  readonly count: number
}

/** Collects the events of a transaction as text. */
export class RoutedEvents {
  private readonly sink: SinkRoutes
  private readonly delivered: RecordText | null
  private readonly audited = new RecordText()

  constructor(sink: SinkRoutes) {
    this.sink = sink
    this.delivered = sink.sinkId === '' ? null : new RecordText()
  }

  /** Adds an event. `receivers`: what the routes matched. `text`: from `eventText`. */
  add(type: EventTypeName, receivers: number, text: string, ready?: ReadyEvent): void {
    if (this.delivered !== null) {
      const delivering = receivers % AUDIT_BIT
      if (delivering !== 0) this.delivered.add(type, delivering, text, ready)
    }
    if (receivers >= AUDIT_BIT) this.audited.add(type, 1, text, ready)
  }

  /** Whether there is nothing to append. */
  get isEmpty(): boolean {
    return this.audited.count === 0 && (this.delivered === null || this.delivered.count === 0)
  }

  /** Calls `append` with each record: none, one, or two. `actor`: from `actorText`. */
  records(common: RecordCommon, actor: string, append: (isAudit: boolean, text: string, count: number) => void): void {
    const { sink, delivered, audited } = this
    if (delivered !== null && delivered.count > 0) append(false, delivered.text(sink, common, actor), delivered.count)
    if (audited.count > 0) append(true, audited.text(NO_SINK, common, actor), audited.count)
  }

  /** Appends the records to a transaction of a graph. */
  appendTo(batch: Pick<WriteBatch, 'appendEvents'>, common: RecordCommon, actor: string): void {
    this.records(common, actor, (isAudit, text, count) => {
      if (isAudit) batch.appendEvents(text, count, AUDIT_STREAM)
      else batch.appendEvents(text, count)
    })
  }
}

/** Encodes the records of a transaction: none, one, or two. Throws if an event cannot be encoded. */
export function routedRecords(sink: SinkRoutes, content: RecordContent): readonly RoutedRecord[] {
  const records: RoutedRecord[] = []
  eventsOf(sink, content).records(content, actorText(content.actor), (isAudit, text, count) => {
    records.push({ isAudit, bytes: encodeText(text), count })
  })
  return records
}

/** Appends the records of the events to a transaction of a graph. Throws if an event cannot be encoded. */
export function appendToBatch(batch: Pick<WriteBatch, 'appendEvents'>, sink: SinkRoutes, content: RecordContent): void {
  eventsOf(sink, content).appendTo(batch, content, actorText(content.actor))
}

function eventsOf(sink: SinkRoutes, { events }: RecordContent): RoutedEvents {
  const routed = new RoutedEvents(sink)
  for (const event of events) routed.add(event.type, event.providers, eventText(event), event.ready)
  return routed
}
