// Transactions of an outbox: reads of one commit, and write transactions that change only the outbox.
import { assert } from '../../kernel/assert.ts'
import { ByteWriter } from '../format/bytes.ts'
import { OUTBOX_ENTRY, type OutboxKey } from '../format/keys.ts'
import type { Database } from '../lmdb/database.ts'
import type { EnvironmentFile } from '../lmdb/environment-file.ts'
import { PendingWrites } from '../lmdb/pending-writes.ts'
import type { ReadOptions } from '../lmdb/raw-database.ts'
import { KnownHeads } from './known-heads.ts'
import { OutboxBound } from './outbox-bound.ts'
import { OutboxEdits } from './outbox-edits.ts'
import {
  type DeadLetterTotals,
  encodeBytes,
  encodeTotals,
  type OutboxOptions,
  readLength,
  readTotals,
  type StreamHead,
  writeHead,
} from './outbox-format.ts'
import { deadLetterTotalsKey, headKey } from './outbox-keys.ts'

/** Entries that one transaction removes at most: about 15 ms. */
export const REMOVED_MAX = 5000

const NO_DEAD_LETTERS: DeadLetterTotals = { count: 0, bytes: 0 }

/** The outbox of one environment. */
export class OutboxAccess {
  private readonly file: EnvironmentFile
  /** Null: a read-only environment without outbox. */
  private readonly database: Database<OutboxKey> | null
  private readonly bound: OutboxBound
  private readonly known: KnownHeads

  constructor(file: EnvironmentFile, database: Database<OutboxKey> | null, { outboxBytesMax }: OutboxOptions) {
    this.file = file
    this.database = database
    this.bound = new OutboxBound(outboxBytesMax ?? Number.POSITIVE_INFINITY)
    this.known = new KnownHeads(file)
  }

  /** Edits of a transaction of the environment. */
  edits(): OutboxEdits {
    return new OutboxEdits(this.database, this.bound, this.known)
  }

  /** Runs `look` on the newest commit of any process. `absent`: the result for an environment without outbox. */
  reading<T>(absent: T, look: (database: Database<OutboxKey>, reading: ReadOptions) => T): T {
    if (this.database === null) return absent
    const transaction = this.file.readTransactions.acquire()
    try {
      return look(this.database, transaction)
    } finally {
      this.file.readTransactions.release(transaction)
    }
  }

  /** Runs `change` in one write transaction; its edits are applied if it does not throw. */
  async writing<T>(change: (database: Database<OutboxKey>, edits: DirectEdits) => T): Promise<T> {
    const { database } = this
    assert(database !== null, 'a read-only environment is not written')
    // An error is returned as a value: after a throw lmdb-js would still commit what shares the transaction.
    const outcome = await this.file.transaction((): { value: T } | { error: unknown } => {
      try {
        const edits = new DirectEdits(database, this.edits(), this.known)
        const value = change(database, edits)
        edits.apply()
        return { value }
      } catch (error) {
        return { error }
      }
    })
    if ('error' in outcome) throw outcome.error
    return outcome.value
  }
}

/** Edits of one transaction that changes only the outbox. */
export class DirectEdits {
  /** The records that are appended. */
  readonly outbox: OutboxEdits
  private readonly database: Database<OutboxKey>
  private readonly known: KnownHeads
  private readonly writer = new ByteWriter()
  private readonly operations = new PendingWrites()
  /** Changes of the totals of dead letters. */
  private readonly totals = new Map<string, DeadLetterTotals & { readonly key: OutboxKey }>()

  constructor(database: Database<OutboxKey>, outbox: OutboxEdits, known: KnownHeads) {
    this.database = database
    this.outbox = outbox
    this.known = known
  }

  /** Puts the head of a stream. */
  putHead(stream: string, head: StreamHead): void {
    const writer = new ByteWriter(64)
    writeHead(writer, head)
    this.put(headKey(stream), writer.written())
  }

  /** Puts a value. */
  put(key: OutboxKey, value: Uint8Array): void {
    this.forget(key)
    this.operations.begin(this.writer)
    this.writer.raw(value)
    this.operations.put(this.database, key, this.writer)
  }

  /** Removes a key. */
  remove(key: OutboxKey): void {
    this.forget(key)
    this.operations.remove(this.database, key)
  }

  private forget({ kind, stream }: OutboxKey): void {
    if (kind === OUTBOX_ENTRY.head) this.known.delete(stream)
  }

  /** Puts a dead letter. Each one at most once in a transaction. */
  putDeadLetter(key: OutboxKey, bytes: Uint8Array): void {
    const before = this.database.get(key)
    this.count(key, before === null ? 1 : 0, bytes.length - (before === null ? 0 : readLength(before)))
    this.put(key, encodeBytes(bytes))
  }

  /** Removes a dead letter and its request. */
  removeDeadLetter(key: OutboxKey): void {
    const before = this.database.get(key)
    if (before !== null) this.count(key, -1, -readLength(before))
    this.remove(key)
    this.remove({ ...key, kind: OUTBOX_ENTRY.request })
  }

  private count({ stream, provider }: OutboxKey, count: number, bytes: number): void {
    const name = `${stream}\0${provider}`
    const known = this.totals.get(name)
    const { key, ...sum } = known ?? {
      key: deadLetterTotalsKey(stream, provider),
      ...totalsOf(this.database, stream, provider, undefined),
    }
    this.totals.set(name, { key, count: sum.count + count, bytes: sum.bytes + bytes })
  }

  /** Executes all edits. */
  apply(): void {
    for (const { key, ...sum } of this.totals.values()) {
      if (sum.count > 0) this.put(key, encodeTotals(sum))
      else this.remove(key)
    }
    this.outbox.encode(this.writer, this.operations)
    this.operations.apply(this.writer)
    this.outbox.publish()
  }
}

/** The totals of the dead letters of a provider. `reading`: undefined within the write transaction. */
export function totalsOf(
  database: Database<OutboxKey>,
  stream: string,
  provider: string,
  reading: ReadOptions | undefined,
): DeadLetterTotals {
  const valueView = database.get(deadLetterTotalsKey(stream, provider), reading)
  return valueView === null ? NO_DEAD_LETTERS : readTotals(valueView)
}

/** Whether a key is of the same kind and stream as another. */
export const isOfStream = (key: OutboxKey, { kind, stream }: OutboxKey): boolean =>
  key.kind === kind && key.stream === stream
/** As `isOfStream`, and of the same provider. */
export const isOfProvider = (key: OutboxKey, start: OutboxKey): boolean =>
  isOfStream(key, start) && key.provider === start.provider

/** The keys from `start` on, up to the first that does not match. Within the write transaction. */
export function* keysOf(
  database: Database<OutboxKey>,
  start: OutboxKey,
  matches: (key: OutboxKey, start: OutboxKey) => boolean,
): Iterable<OutboxKey> {
  for (const key of database.raw.getKeys({ start, end: undefined })) {
    if (!matches(key, start)) return
    yield key
  }
}
