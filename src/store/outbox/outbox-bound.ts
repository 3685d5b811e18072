// The bound of the records of a stream on disk, kept by every writer: beyond it the oldest records are removed in the transaction
// that appends new ones. A dispatcher drops events before, per provider and with exact numbers; this bound holds while none runs.
import { isAuditStream } from '../../kernel/folder/audit-stream.ts'
import { OUTBOX_ENTRY, type OutboxKey } from '../format/keys.ts'
import type { Database } from '../lmdb/database.ts'
import { type OutboxLoss, type OutboxRecordHead, readLoss, readRecordHead, type StreamHead } from './outbox-format.ts'
import { lossKey, recordKey } from './outbox-keys.ts'

/** Records that one transaction removes at most: about 15 ms. */
const REMOVED_MAX = 5000

/** What a transaction removes from a stream. */
interface BoundExcess {
  /** Sequences of the records. */
  readonly records: readonly number[]
  /** Replaces the stored loss of the stream. */
  readonly loss: OutboxLoss
}

interface KnownOffset {
  readonly origin: string
  /** Bytes before the oldest record, or less. */
  readonly offset: number
}

/** Keeps the records of each stream of an outbox below a number of bytes, except for streams of the audit log. */
export class OutboxBound {
  private readonly bytesMax: number
  /** By stream: as long as they are close to the end of the stream, the oldest record is not looked up. */
  private readonly known = new Map<string, KnownOffset>()

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /**
   * What to remove when the stream ends with `head`; null: it is within the bound. `start`: offset of the records that the
   * transaction appends. Within the write transaction.
   */
  excess(
    database: Database<OutboxKey>,
    stream: string,
    { origin, bytes: end }: StreamHead,
    start: number,
  ): BoundExcess | null {
    // What is not sealed is never removed.
    if (isAuditStream(stream)) return null
    const known = this.known.get(stream)
    const offset = known?.origin === origin ? known.offset : 0
    if (end - offset <= this.bytesMax) return null
    this.known.set(stream, { origin, offset: start })
    const records: number[] = []
    let first: OutboxRecordHead | null = null
    let last: OutboxRecordHead | null = null
    const range = { start: recordKey(stream, 0), end: undefined, limit: REMOVED_MAX }
    for (const { key, valueView } of database.entries(range)) {
      if (key.kind !== OUTBOX_ENTRY.record || key.stream !== stream) break
      const record = readRecordHead(key.sequence, valueView)
      if (first === null) this.known.set(stream, { origin, offset: record.offset })
      if (end - record.offset <= this.bytesMax) break
      first ??= record
      last = record
      records.push(record.sequence)
    }
    if (first === null || last === null) return null
    const stored = database.get(lossKey(stream))
    const { from, firstMs } = stored === null ? { from: first.sequence, firstMs: first.timeMs } : readLoss(stored)
    return { records, loss: { from, to: last.sequence + last.count, firstMs, lastMs: last.timeMs } }
  }
}
