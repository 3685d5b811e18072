// The events that one transaction appends. Like all changes of a batch they are collected in memory and written at the end, so
// that a batch that throws appends nothing.
import { assert } from '../../kernel/assert.ts'
import type { ByteWriter } from '../format/bytes.ts'
import type { OutboxKey } from '../format/keys.ts'
import type { Database } from '../lmdb/database.ts'
import type { PendingWrites } from '../lmdb/pending-writes.ts'
import type { KnownHeads } from './known-heads.ts'
import type { OutboxBound } from './outbox-bound.ts'
import {
  encodeLoss,
  newHead,
  type OutboxRecordHead,
  RECORD_OVERHEAD_BYTES,
  type StreamHead,
  writeHead,
  writeRecord,
} from './outbox-format.ts'
import { headKey, lossKey, recordKey } from './outbox-keys.ts'
import { headOf } from './outbox-reads.ts'

/** In UTF-16 code units, so that a key stays below LMDB's limit. */
const STREAM_UNITS_MAX = 128

/** A record to append. A text is stored in UTF-8. */
type AppendedRecord = OutboxRecordHead & { readonly bytes: Uint8Array | string }

interface EditedStream {
  head: StreamHead
  /** The head is not stored yet. */
  readonly isNew: boolean
  readonly records: AppendedRecord[]
}

/** The events that a transaction appends. */
export class OutboxEdits {
  private readonly database: Database<OutboxKey> | null
  private readonly bound: OutboxBound
  private readonly known: KnownHeads
  private readonly streams = new Map<string, EditedStream>()

  constructor(database: Database<OutboxKey> | null, bound: OutboxBound, known: KnownHeads) {
    this.database = database
    this.bound = bound
    this.known = known
  }

  /**
   * Appends a record of `count` events to a stream. Returns the sequence of the first event. Call it within the write
   * transaction.
   */
  append(stream: string, bytes: Uint8Array | string, count: number, timeMs: number): number {
    assert(stream.length <= STREAM_UNITS_MAX && !stream.includes('\0'), 'a stream has a short name')
    assert(count > 0, 'a record has events')
    let edited = this.streams.get(stream)
    if (edited === undefined) {
      const head = this.headOf(stream)
      edited = { head: head ?? newHead(), isNew: head === null, records: [] }
      this.streams.set(stream, edited)
    }
    const { origin, next, bytes: offset } = edited.head
    const length = typeof bytes === 'string' ? Buffer.byteLength(bytes) : bytes.length
    edited.records.push({ sequence: next, count, timeMs, offset, origin, bytes })
    edited.head = { origin, next: next + count, bytes: offset + length + RECORD_OVERHEAD_BYTES }
    return next
  }

  private headOf(stream: string): StreamHead | null {
    if (this.database === null) return null
    return this.known.get(stream) ?? headOf(this.database, stream, undefined)
  }

  /** Encodes the changes. Within the write transaction. */
  encode(writer: ByteWriter, operations: PendingWrites): void {
    if (this.streams.size === 0) return
    const { database } = this
    assert(database !== null, 'a read-only environment is not written')
    for (const [stream, { head, isNew, records }] of this.streams) {
      for (const record of records) {
        operations.begin(writer)
        writeRecord(writer, record)
        operations.put(database, recordKey(stream, record.sequence), writer)
      }
      if (isNew) {
        operations.begin(writer)
        writeHead(writer, head)
        operations.put(database, headKey(stream), writer)
      }
      const excess = this.bound.excess(database, stream, head, records[0]!.offset)
      if (excess === null) continue
      for (const sequence of excess.records) operations.remove(database, recordKey(stream, sequence))
      operations.begin(writer)
      writer.raw(encodeLoss(excess.loss))
      operations.put(database, lossKey(stream), writer)
    }
  }

  /** Call it when the changes are written, within the write transaction. */
  publish(): void {
    for (const [stream, { head }] of this.streams) this.known.set(stream, head)
  }
}
