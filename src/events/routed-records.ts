// Divides the events of one transaction into a record for the event sink and a record for the audit log.
import type { WriteBatch } from '../engine/store.ts'
import { AUDIT_STREAM } from '../kernel/audit-stream.ts'
import { type EventRecord, eventText, type RecordSink, RecordText } from './event-record.ts'
import { AUDIT_BIT, type SinkRoutes } from './routes.ts'

/** The events of a transaction. Their `providers` are what the routes matched, with `AUDIT_BIT`. */
export type RecordContent = Omit<EventRecord, keyof RecordSink>

const NO_SINK: RecordSink = { sinkId: '', revision: 0, providers: [] }

/** A record to append. */
export interface RoutedRecord {
  /** True: to the stream of the audit log. */
  readonly isAudit: boolean
  readonly bytes: Uint8Array
  /** Number of events. */
  readonly count: number
}

/** Encodes the records of a transaction: none, one, or two. Throws if an event cannot be encoded. */
export function routedRecords(sink: SinkRoutes, content: RecordContent): readonly RoutedRecord[] {
  const delivered = new RecordText()
  const audited = new RecordText()
  for (const event of content.events) {
    const { type, providers: receivers, ready } = event
    const text = eventText(event)
    const delivering = sink.sinkId === '' ? 0 : receivers % AUDIT_BIT
    if (delivering !== 0) delivered.add(type, delivering, text, ready)
    if (receivers >= AUDIT_BIT) audited.add(type, 1, text, ready)
  }
  const records: RoutedRecord[] = []
  if (delivered.count > 0) {
    const bytes = delivered.encode(sink, content)
    records.push({ isAudit: false, bytes, count: delivered.count })
  }
  if (audited.count > 0) {
    const bytes = audited.encode(NO_SINK, content)
    records.push({ isAudit: true, bytes, count: audited.count })
  }
  return records
}

/** Appends the records of a transaction of a graph. */
export function appendToBatch(batch: Pick<WriteBatch, 'appendEvents'>, records: readonly RoutedRecord[]): void {
  for (const { isAudit, bytes, count } of records) {
    if (isAudit) batch.appendEvents(bytes, count, AUDIT_STREAM)
    else batch.appendEvents(bytes, count)
  }
}
