// The outbox of one environment: events in streams, with a cursor for each provider that receives them. Events are appended in
// the transaction of the change that they report, and removed when every provider has received them
// (docs/decisions/0033-events.md).
import { assert } from '../../kernel/assert.ts'
import { OUTBOX_ENTRY, type OutboxKey } from '../format/keys.ts'
import type { Database } from '../lmdb/database.ts'
import type { EnvironmentFile } from '../lmdb/environment-file.ts'
import { type DeadLetter, OutboxDeadLetters } from './dead-letters.ts'
import { OutboxAccess } from './outbox-access.ts'
import type { OutboxEdits } from './outbox-edits.ts'
import {
  drawOrigin,
  encodeBytes,
  encodeCursor,
  encodeTime,
  newHead,
  type OutboxCursor,
  type OutboxLoss,
  type OutboxOptions,
  type OutboxRecord,
  type OutboxRecordHead,
  readBytes,
  readHead,
  readRecord,
  type StreamHead,
} from './outbox-format.ts'
import { cursorKey, deadLetterKey, followKey, headKey, lossKey, recordKey, statusKey } from './outbox-keys.ts'
import {
  continuedHead,
  cursorsOf,
  firstSequence,
  followedUntil,
  headOf,
  lossOf,
  recordHeads,
  recordsBefore,
} from './outbox-reads.ts'
import { dropStream, removeProvidersOf } from './outbox-removal.ts'

/** Records that one commit of a cursor removes at most, so that other writers do not wait long. */
const TRIM_MAX = 20_000

/** How long a followed stream keeps what all providers have received, in milliseconds. */
export const FOLLOW_KEEP_MS = 30_000

/** The end and the stored records of a stream. */
export interface StreamStatus extends StreamHead {
  /** Bytes of the records that are stored now. */
  readonly pendingBytes: number
  /** The oldest record; null: the stream is empty. */
  readonly oldest: OutboxRecordHead | null
  /** Removed records that a provider has not received; null: none. */
  readonly loss: OutboxLoss | null
}

/** The bounds of one read. At least one record is returned, even if it exceeds them. */
interface OutboxReadLimits {
  readonly events: number
  readonly bytes: number
}

/** A record to append. */
export interface OutboxAppend {
  readonly stream: string
  readonly bytes: Uint8Array
  /** Number of events. */
  readonly count: number
  readonly timeMs: number
}

/** The progress of a provider. */
interface CursorCommit extends OutboxCursor {
  readonly provider: string
  /** The origin of the stream that was read. */
  readonly origin: string
  /**
   * All providers that receive events of the stream. A function is called within the transaction; null: the provider receives no
   * events any more.
   */
  readonly providers: readonly string[] | (() => readonly string[] | null)
  /** Dead letters to store in the same transaction. */
  readonly deadLetters?: readonly Omit<DeadLetter, 'provider'>[]
}

/** The outbox of one environment. Reads see the latest commit of any process. */
export class EventOutbox {
  /** The dead letters of its streams. */
  readonly deadLetters: OutboxDeadLetters
  private readonly access: OutboxAccess

  /** `database`: null for a read-only environment without outbox. */
  constructor(file: EnvironmentFile, database: Database<OutboxKey> | null, options: OutboxOptions = {}) {
    this.access = new OutboxAccess(file, database, options)
    this.deadLetters = new OutboxDeadLetters(this.access)
  }

  /** Edits of a transaction of the environment. */
  edits(): OutboxEdits {
    return this.access.edits()
  }

  /** The names of all streams. */
  streams(): string[] {
    return this.access.reading([], (database, reading) => {
      const names: string[] = []
      const start = headKey('')
      for (const key of database.raw.getKeys({ start, end: undefined, ...reading })) {
        if (key.kind !== start.kind) break
        names.push(key.stream)
      }
      return names
    })
  }

  /** The heads of all streams, by name. */
  heads(): ReadonlyMap<string, StreamHead> {
    return this.access.reading<ReadonlyMap<string, StreamHead>>(new Map(), (database, reading) => {
      const heads = new Map<string, StreamHead>()
      const start = headKey('')
      for (const { key, valueView } of database.entries({ start, end: undefined, ...reading })) {
        if (key.kind !== start.kind) break
        heads.set(key.stream, continuedHead(database, key.stream, readHead(valueView), reading))
      }
      return heads
    })
  }

  /** The status of a stream; null: it does not exist. */
  status(stream: string): StreamStatus | null {
    return this.access.reading(null, (database, reading) => {
      const head = headOf(database, stream, reading)
      if (head === null) return null
      const [oldest] = recordHeads(database, stream, 0, 1, reading)
      const pendingBytes = oldest === undefined ? 0 : head.bytes - oldest.offset
      return { ...head, oldest: oldest ?? null, pendingBytes, loss: lossOf(database, stream, reading) }
    })
  }

  /**
   * The records from the one that contains the event `from`, or from the next one, in order. `from` may be inside the first
   * record.
   */
  read(stream: string, from: number, limits: OutboxReadLimits): readonly OutboxRecord[] {
    return this.access.reading([], (database, reading) => {
      const records: OutboxRecord[] = []
      let events = 0
      let bytes = 0
      const start = recordKey(stream, firstSequence(database, stream, from, reading))
      for (const { key, valueView } of database.entries({ start, end: undefined, ...reading })) {
        if (key.kind !== OUTBOX_ENTRY.record || key.stream !== stream) break
        const record = readRecord(key.sequence, valueView)
        events += Math.min(record.count, record.sequence + record.count - from)
        bytes += record.bytes.length
        records.push(record)
        if (events >= limits.events || bytes >= limits.bytes) break
      }
      return records
    })
  }

  /** As `read`, without the bytes of the records: at most `limit` of them. */
  readHeads(stream: string, from: number, limit: number): readonly OutboxRecordHead[] {
    return this.access.reading([], (database, reading) => recordHeads(database, stream, from, limit, reading))
  }

  /** The cursors of a stream by provider. A provider without cursor has received nothing. */
  cursors(stream: string): ReadonlyMap<string, OutboxCursor> {
    return this.access.reading<ReadonlyMap<string, OutboxCursor>>(new Map(), (database, reading) =>
      cursorsOf(database, stream, reading),
    )
  }

  /**
   * Stores the progress of a provider with its dead letters, and removes the records that all of its providers have passed. A
   * provider without cursor has passed none. Resolves with false, and changes nothing, if the stream was dropped or replaced
   * since it was read, or the provider was removed. Rejects with StorageWriteError.
   */
  commit(stream: string, commit: CursorCommit): Promise<boolean> {
    const { provider, owner, origin, next, gap, snapshot, deadLetters = [] } = commit
    return this.access.writing((database, edits) => {
      const head = headOf(database, stream, undefined)
      if (head?.origin !== origin) return false
      const providers = typeof commit.providers === 'function' ? commit.providers() : commit.providers
      if (providers?.includes(provider) !== true) return false
      const cursors = new Map(cursorsOf(database, stream, undefined))
      assert(next >= (cursors.get(provider)?.next ?? 0), 'a cursor only moves forward')
      const cursor = { next, gap, ...(snapshot !== undefined && { snapshot }), ...(owner !== undefined && { owner }) }
      cursors.set(provider, cursor)
      edits.put(cursorKey(stream, provider), encodeCursor(cursor))
      for (const { sequence, bytes } of deadLetters)
        edits.putDeadLetter(deadLetterKey(stream, provider, sequence), bytes)
      const slowest = Math.min(...providers.map((each) => cursors.get(each)?.next ?? 0))
      const loss = lossOf(database, stream, undefined)
      if (loss !== null && loss.to <= slowest) edits.remove(lossKey(stream))
      const nowMs = Date.now()
      const isFollowed = followedUntil(database, stream, undefined) > nowMs
      const keptFrom = isFollowed ? nowMs - FOLLOW_KEEP_MS : null
      for (const sequence of recordsBefore(database, stream, slowest, keptFrom, TRIM_MAX))
        edits.remove(recordKey(stream, sequence))
      edits.putHead(stream, head)
      return true
    })
  }

  /**
   * Makes `commit` keep events of the last `FOLLOW_KEEP_MS` although all providers have received them, for a client that follows the
   * stream. The stream need not have events. Does nothing if it is followed for at least half of that time already.
   */
  async follow(stream: string, nowMs: number): Promise<void> {
    const until = this.access.reading(0, (database, reading) => followedUntil(database, stream, reading))
    if (until > nowMs + FOLLOW_KEEP_MS / 2) return
    await this.access.writing((_, edits) => edits.put(followKey(stream), encodeTime(nowMs + FOLLOW_KEEP_MS)))
  }

  /** The statuses of the providers of a stream, as `putStatuses` encoded them, by provider. */
  statuses(stream: string): ReadonlyMap<string, Uint8Array> {
    return this.access.reading(new Map(), (database, reading) => {
      const found = new Map<string, Uint8Array>()
      for (const { key, valueView } of database.entries({ start: statusKey(stream, ''), end: undefined, ...reading })) {
        if (key.kind !== OUTBOX_ENTRY.status || key.stream !== stream) break
        found.set(key.provider, readBytes(valueView))
      }
      return found
    })
  }

  /** Replaces the statuses of some providers, or removes them (null). The stream need not have events. */
  async putStatuses(stream: string, statuses: ReadonlyMap<string, Uint8Array | null>): Promise<void> {
    await this.access.writing((_, edits) => {
      for (const [provider, bytes] of statuses) {
        if (bytes === null) edits.remove(statusKey(stream, provider))
        else edits.put(statusKey(stream, provider), encodeBytes(bytes))
      }
    })
  }

  /** Appends records in a transaction of their own. Resolves when they are on disk. */
  async append(records: readonly OutboxAppend[]): Promise<void> {
    if (records.length === 0) return
    await this.access.writing((_, edits) => {
      for (const { stream, bytes, count, timeMs } of records) edits.outbox.append(stream, bytes, count, timeMs)
    })
  }

  /** Begins a stream without events, so that it has an origin. Does nothing if the stream exists. */
  begin(stream: string): Promise<void> {
    return this.access.writing((database, edits) => {
      if (database.get(headKey(stream)) !== null) return
      edits.putHead(stream, newHead())
    })
  }

  /**
   * Removes everything of a stream, in several transactions, so that other writers and the event loop do not wait long. A call
   * after a crash continues. `isDue`: called within each transaction; false: the stream has a new owner, and the rest stays.
   */
  async drop(stream: string, isDue: () => boolean = () => true): Promise<void> {
    await dropStream(this.access, stream, isDue)
  }

  /**
   * Removes the cursors, dead letters and requests of providers that the stream does not have any more, in several transactions.
   * `providers`: called within each transaction; null: the stream has no owner. Resolves with true if it removed anything.
   */
  removeOtherProviders(stream: string, providers: () => readonly string[] | null): Promise<boolean> {
    return removeProvidersOf(this.access, stream, providers)
  }

  /**
   * Gives each stream another origin, for the events that are appended from now on: after a restore, the sequences that the
   * lost events had are used again.
   */
  renewOrigins(): Promise<void> {
    const streams = this.streams()
    return this.access.writing((database, edits) => {
      for (const stream of streams) {
        const head = headOf(database, stream, undefined)
        if (head !== null) edits.putHead(stream, { ...head, origin: drawOrigin() })
      }
    })
  }
}
