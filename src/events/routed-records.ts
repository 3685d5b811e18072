// Divides the events of one transaction into a record for the event sink and a record for the audit log.
import type { WriteBatch } from '../engine/store.ts'
import { AUDIT_STREAM } from '../kernel/audit-stream.ts'
import { type EventActor, encodeRecord, type RecordedEvent } from './event-record.ts'
import { AUDIT_BIT, type SinkRoutes } from './routes.ts'

/** What the records of a transaction share. */
export interface RecordContent {
  /** Empty: the events have their own, or none. */
  readonly requestId: string
  /** IP address of the client. Absent: the events have their own, or none. */
  readonly address?: string
  /** Null: the events have their own, or none. */
  readonly actor: EventActor | null
  /** Their `providers` are what the routes matched, with `AUDIT_BIT`. */
  readonly events: readonly RecordedEvent[]
  readonly shared?: readonly unknown[]
}

/** A record to append. */
export interface RoutedRecord {
  /** True: to the stream of the audit log. */
  readonly isAudit: boolean
  readonly bytes: Uint8Array
  /** Number of events. */
  readonly count: number
}

/** Encodes the records of a transaction: none, one, or two. Throws if an event cannot be encoded. */
export function routedRecords(
  { sinkId, revision, providers }: SinkRoutes,
  { events, ...common }: RecordContent,
): readonly RoutedRecord[] {
  const records: RoutedRecord[] = []
  const delivered = sinkId === '' ? [] : withReceivers(events, (receivers) => receivers % AUDIT_BIT)
  if (delivered.length > 0) {
    const bytes = encodeRecord({ sinkId, revision, providers, ...common, events: delivered })
    records.push({ isAudit: false, bytes, count: delivered.length })
  }
  const audited = withReceivers(events, (receivers) => (receivers >= AUDIT_BIT ? 1 : 0))
  if (audited.length > 0) {
    const bytes = encodeRecord({ sinkId: '', revision: 0, providers: [], ...common, events: audited })
    records.push({ isAudit: true, bytes, count: audited.length })
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

function withReceivers(events: readonly RecordedEvent[], receive: (receivers: number) => number): RecordedEvent[] {
  const kept: RecordedEvent[] = []
  for (const event of events) {
    const providers = receive(event.providers)
    if (providers !== 0) kept.push(event.providers === providers ? event : { ...event, providers })
  }
  return kept
}
