// Reads of an outbox within a transaction. `reading`: undefined within the write transaction.
import { OUTBOX_ENTRY, type OutboxKey } from '../format/keys.ts'
import type { Database } from '../lmdb/database.ts'
import type { ReadOptions } from '../lmdb/raw-database.ts'
import {
  headAfter,
  type OutboxCursor,
  type OutboxLoss,
  type OutboxRecordHead,
  readCursor,
  readHead,
  readLoss,
  readRecordHead,
  readTime,
  type StreamHead,
} from './outbox-format.ts'
import { cursorKey, followKey, headKey, lossKey, recordKey } from './outbox-keys.ts'

/** The end of a stream; null: it does not exist. */
export function headOf(
  database: Database<OutboxKey>,
  stream: string,
  reading: ReadOptions | undefined,
): StreamHead | null {
  const valueView = database.get(headKey(stream), reading)
  return valueView === null ? null : continuedHead(database, stream, readHead(valueView), reading)
}

/** The end of a stream with this stored head. */
export function continuedHead(
  database: Database<OutboxKey>,
  stream: string,
  stored: StreamHead,
  reading: ReadOptions | undefined,
): StreamHead {
  const start = recordKey(stream, Number.MAX_SAFE_INTEGER)
  const range = { start, end: recordKey(stream, 0), reverse: true, limit: 1, ...reading }
  for (const { key, valueView } of database.entries(range)) {
    const { next, bytes } = headAfter(key.sequence, valueView)
    // The origin may have been renewed since.
    if (next > stored.next) return { origin: stored.origin, next, bytes }
  }
  return stored
}

/** Until when a stream is followed, in milliseconds since the epoch; 0: it is not followed. */
export function followedUntil(database: Database<OutboxKey>, stream: string, reading: ReadOptions | undefined): number {
  const valueView = database.get(followKey(stream), reading)
  return valueView === null ? 0 : readTime(valueView)
}

/** What writers have removed from a stream although a provider had not received it; null: nothing. */
export function lossOf(
  database: Database<OutboxKey>,
  stream: string,
  reading: ReadOptions | undefined,
): OutboxLoss | null {
  const valueView = database.get(lossKey(stream), reading)
  return valueView === null ? null : readLoss(valueView)
}

/** The cursors of a stream by provider. */
export function cursorsOf(
  database: Database<OutboxKey>,
  stream: string,
  reading: ReadOptions | undefined,
): ReadonlyMap<string, OutboxCursor> {
  const cursors = new Map<string, OutboxCursor>()
  for (const { key, valueView } of database.entries({ start: cursorKey(stream, ''), end: undefined, ...reading })) {
    if (key.kind !== OUTBOX_ENTRY.cursor || key.stream !== stream) break
    cursors.set(key.provider, readCursor(valueView))
  }
  return cursors
}

/** The records from the one that contains the event `from`, without their bytes. At most `limit`. */
export function recordHeads(
  database: Database<OutboxKey>,
  stream: string,
  from: number,
  limit: number,
  reading: ReadOptions | undefined,
): OutboxRecordHead[] {
  const heads: OutboxRecordHead[] = []
  const start = recordKey(stream, firstSequence(database, stream, from, reading))
  for (const { key, valueView } of database.entries({ start, end: undefined, limit, ...reading })) {
    if (key.kind !== OUTBOX_ENTRY.record || key.stream !== stream) break
    heads.push(readRecordHead(key.sequence, valueView))
  }
  return heads
}

/**
 * The sequences of the first records that end at `next` or before, at most `limit`. `keptFrom`: newer records are not among them;
 * null: their time does not matter. Within the write transaction. Large values are not read, because other writers wait.
 */
export function recordsBefore(
  database: Database<OutboxKey>,
  stream: string,
  next: number,
  keptFrom: number | null,
  limit: number,
): readonly number[] {
  const found: number[] = []
  const range = { start: recordKey(stream, 0), end: recordKey(stream, next), limit }
  if (keptFrom !== null) {
    for (const { key, valueView } of database.entries(range)) {
      const { count, timeMs } = readRecordHead(key.sequence, valueView)
      if (key.sequence + count > next || timeMs > keptFrom) break
      found.push(key.sequence)
    }
    return found
  }
  for (const { sequence } of database.raw.getKeys(range)) found.push(sequence)
  // A record ends where the next one begins; only the last one is read.
  const last = found.at(-1)
  if (last === undefined) return found
  const valueView = database.get(recordKey(stream, last))
  if (valueView === null || last + readRecordHead(last, valueView).count > next) found.pop()
  return found
}

/** The sequence of the record that contains the event, or the event itself if no record does. */
export function firstSequence(
  database: Database<OutboxKey>,
  stream: string,
  from: number,
  reading: ReadOptions | undefined,
): number {
  if (from <= 1) return 0
  const range = { start: recordKey(stream, from), end: recordKey(stream, 0), reverse: true, limit: 1, ...reading }
  for (const { key, valueView } of database.entries(range)) {
    const { count } = readRecordHead(key.sequence, valueView)
    if (key.sequence + count > from) return key.sequence
  }
  return from
}
