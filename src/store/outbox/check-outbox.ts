// Checks that an outbox is consistent: checksums, sequences without holes, byte counts, cursors within their streams.
import { OUTBOX_ENTRY, type OutboxKey } from '../format/keys.ts'
import { CHECKSUM_MISMATCH, type Database, formatKey } from '../lmdb/database.ts'
import type { ReadOptions } from '../lmdb/raw-database.ts'
import { RECORD_OVERHEAD_BYTES, readCursor, readHead, readRecord, type StreamHead } from './outbox-format.ts'
import { headKey } from './outbox-keys.ts'

interface StreamEnd {
  readonly next: number
  readonly bytes: number
}

/** Returns every inconsistency as a sentence; empty if the outbox is sound or absent. */
export function* checkOutbox(database: Database<OutboxKey> | null, readOptions: ReadOptions): Iterable<string> {
  if (database === null) return
  const heads = new Map<string, StreamHead>()
  /** The end of the last record that was read, by stream. */
  const ends = new Map<string, StreamEnd>()
  const cursors: { readonly name: string; readonly stream: string; readonly next: number }[] = []
  for (const { key, valueView } of database.scanUnchecked({ start: headKey(''), end: undefined, ...readOptions })) {
    const name = `${database.name} ${formatKey(key)}`
    if (valueView === null) {
      yield `${name} ${CHECKSUM_MISMATCH}`
      continue
    }
    if (key.kind === OUTBOX_ENTRY.head) {
      heads.set(key.stream, readHead(valueView))
      continue
    }
    // A stream may be followed before its first event.
    if (key.kind === OUTBOX_ENTRY.follow) continue
    const head = heads.get(key.stream)
    if (head === undefined) {
      yield `${name} belongs to no stream`
    } else if (key.kind === OUTBOX_ENTRY.cursor) {
      cursors.push({ name, stream: key.stream, next: readCursor(valueView).next })
    } else if (key.kind === OUTBOX_ENTRY.record) {
      const { count, offset, bytes } = readRecord(key.sequence, valueView)
      const before = ends.get(key.stream)
      if (before !== undefined && before.next !== key.sequence) yield `${name}: records before it are missing`
      else if (before !== undefined && before.bytes !== offset) yield `${name} has a wrong offset`
      ends.set(key.stream, { next: key.sequence + count, bytes: offset + bytes.length + RECORD_OVERHEAD_BYTES })
    }
  }
  for (const [stream, { next, bytes }] of ends) {
    const head = heads.get(stream)
    if (head !== undefined && (head.next > next || head.bytes > bytes))
      yield `${database.name} stream ${JSON.stringify(stream)} ends before its stored end`
  }
  for (const { name, stream, next } of cursors) {
    const end = Math.max(heads.get(stream)?.next ?? 0, ends.get(stream)?.next ?? 0)
    if (next > end) yield `${name} is after the end of its stream`
  }
}
