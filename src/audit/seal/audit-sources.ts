// Reads the records that are to be sealed from the outboxes of one log, and merges them in the order in which they arrived.
import type { EventStreamName } from '../../events/envelope.ts'
import type { AuditCursor } from '../../store/audit/audit-types.ts'
import type { EventOutbox, StreamStatus } from '../../store/outbox/outbox.ts'
import type { OutboxRecord } from '../../store/outbox/outbox-format.ts'

/** Bounds of one read of one stream. */
const READ_LIMITS = { events: 4096, bytes: 4 * 1024 * 1024 }

/** A stream of which a log consists. */
export interface AuditSource {
  readonly stream: EventStreamName
  /** Names the stream among those of the log. */
  readonly key: string
  readonly outbox: EventOutbox
  /** The name of the stream in the outbox. */
  readonly name: string
}

/** A record to seal. */
interface GatheredRecord {
  readonly source: AuditSource
  readonly record: OutboxRecord
  /** The first event that is not sealed. */
  readonly from: number
}

/** Records to seal, in order. */
interface GatheredRecords {
  readonly records: readonly GatheredRecord[]
  /** How far the streams are when the records are sealed, by key. */
  readonly cursors: ReadonlyMap<string, AuditCursor>
  /** Whether some stream has more. */
  readonly hasMore: boolean
}

/** Reads the next records of all sources. `cursors`: how far they are sealed. */
export function gather(sources: readonly AuditSource[], cursors: ReadonlyMap<string, AuditCursor>): GatheredRecords {
  const parts = sources.flatMap((source) => readSource(source, cursors.get(source.key)) ?? [])
  // What follows in a stream that was read partially may have arrived before records of others.
  const untilMs = Math.min(...parts.map(({ untilMs: own }) => own), Number.POSITIVE_INFINITY)
  const merged = parts.flatMap(({ records }) => records.filter(({ arrivedMs }) => arrivedMs <= untilMs))
  const next = new Map<string, AuditCursor>()
  for (const { source, records, end } of parts) {
    const last = records.findLast(({ arrivedMs }) => arrivedMs <= untilMs)
    if (last === records.at(-1) && end !== null) next.set(source.key, end)
    else if (last !== undefined) next.set(source.key, cursorAfter(last.record))
  }
  return {
    // The sort is stable, so records of one stream keep their order.
    records: merged.sort((a, b) => a.arrivedMs - b.arrivedMs),
    cursors: next,
    hasMore: untilMs !== Number.POSITIVE_INFINITY,
  }
}

interface ArrivedRecord extends GatheredRecord {
  readonly arrivedMs: number
}

interface SourcePart {
  readonly source: AuditSource
  readonly records: readonly ArrivedRecord[]
  /** The time of the last record, if the stream has more; otherwise infinite. */
  readonly untilMs: number
  /** The end of the stream; null: it was read partially. */
  readonly end: AuditCursor | null
}

/** Null: the stream does not exist. */
function readSource(source: AuditSource, cursor: AuditCursor | undefined): SourcePart | null {
  const { outbox, name } = source
  const status = outbox.status(name)
  if (status === null) return null
  const from = startOf(source, status, cursor)
  // A clock that was set back must not change the order of a stream.
  let arrivedMs = Number.NEGATIVE_INFINITY
  const records = outbox.read(name, from, READ_LIMITS).map((record): ArrivedRecord => {
    arrivedMs = Math.max(arrivedMs, record.timeMs)
    return { source, record, from, arrivedMs }
  })
  const last = records.at(-1)
  const reached = last === undefined ? status.next : cursorAfter(last.record).next
  if (reached < status.next) return { source, records, untilMs: arrivedMs, end: null }
  return { source, records, untilMs: Number.POSITIVE_INFINITY, end: { origin: status.origin, next: reached } }
}

function cursorAfter({ origin, sequence, count }: OutboxRecord): AuditCursor {
  return { origin, next: sequence + count }
}

/** Sequence of the first event of the stream that may not be sealed. */
function startOf({ outbox, name }: AuditSource, { origin }: StreamStatus, cursor: AuditCursor | undefined): number {
  if (cursor === undefined) return 0
  if (cursor.origin === origin) return cursor.next
  // The stream has another origin since a restore, with continued sequences, or was dropped and began again. Its last sealed
  // record shows which, if it is still stored; if it is not, all records that are stored follow it.
  const [last] = outbox.readHeads(name, cursor.next - 1, 1)
  const isContinued = last?.origin === cursor.origin && last.sequence < cursor.next
  return isContinued ? cursor.next : 0
}
