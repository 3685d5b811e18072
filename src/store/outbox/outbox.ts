// The outbox of one environment: events in streams, with a cursor for each provider that receives them. Events are appended in
// the transaction of the change that they report, and removed when every provider has received them
// (docs/decisions/0033-events.md).
import { assert } from '../../kernel/assert.ts'
import { ByteWriter } from '../format/bytes.ts'
import { OUTBOX_ENTRY, type OutboxKey } from '../format/keys.ts'
import type { Database } from '../lmdb/database.ts'
import type { EnvironmentFile } from '../lmdb/environment-file.ts'
import { PendingWrites } from '../lmdb/pending-writes.ts'
import type { ReadOptions } from '../lmdb/raw-database.ts'
import { OutboxBound } from './outbox-bound.ts'
import { OutboxEdits } from './outbox-edits.ts'
import {
  type DeadLetterTotals,
  drawOrigin,
  encodeBytes,
  encodeCursor,
  encodeTime,
  encodeTotals,
  newHead,
  type OutboxCursor,
  type OutboxLoss,
  type OutboxOptions,
  type OutboxRecord,
  type OutboxRecordHead,
  readBytes,
  readCursor,
  readHead,
  readLength,
  readLoss,
  readRecord,
  readRecordHead,
  readTime,
  readTotals,
  type StreamHead,
  writeHead,
} from './outbox-format.ts'
import {
  cursorKey,
  deadLetterKey,
  deadLetterTotalsKey,
  followKey,
  headKey,
  lossKey,
  recordKey,
  requestKey,
  statusKey,
} from './outbox-keys.ts'

/** Records that one commit of a cursor removes at most, so that other writers do not wait long. */
const TRIM_MAX = 20_000
/** Entries that one transaction removes at most when a stream is dropped, or a provider removed: about 15 ms. */
const REMOVED_MAX = 5000
/** Dead letters that one transaction changes at most. */
const DEAD_LETTERS_MAX = 500

/** More dead letters are removed than necessary, so that not every later one needs a transaction more. */
const DEAD_LETTERS_KEPT_SHARE = 0.9
const NO_DEAD_LETTERS: DeadLetterTotals = { count: 0, bytes: 0 }

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
export interface OutboxReadLimits {
  readonly events: number
  readonly bytes: number
}

/** An event that its provider refused for good. */
export interface DeadLetter {
  readonly provider: string
  /** Sequence of the event in its stream. */
  readonly sequence: number
  /** As the caller of `commit` encoded it. */
  readonly bytes: Uint8Array
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
export interface CursorCommit extends OutboxCursor {
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
  private readonly file: EnvironmentFile
  /** Null: a read-only environment without outbox. */
  private readonly database: Database<OutboxKey> | null
  private readonly bound: OutboxBound

  constructor(file: EnvironmentFile, database: Database<OutboxKey> | null, options: OutboxOptions = {}) {
    this.file = file
    this.database = database
    this.bound = new OutboxBound(options.outboxBytesMax ?? Number.POSITIVE_INFINITY)
  }

  /** Edits of a transaction of the environment. */
  edits(): OutboxEdits {
    return new OutboxEdits(this.database, this.bound)
  }

  /** The names of all streams. */
  streams(): string[] {
    return this.reading([], (database, reading) => {
      const names: string[] = []
      const start = headKey('')
      for (const key of database.raw.getKeys({ start, end: undefined, ...reading })) {
        if (key.kind !== start.kind) break
        names.push(key.stream)
      }
      return names
    })
  }

  /** The status of a stream; null: it does not exist. */
  status(stream: string): StreamStatus | null {
    return this.reading(null, (database, reading) => {
      const valueView = database.get(headKey(stream), reading)
      if (valueView === null) return null
      const head = readHead(valueView)
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
    return this.reading([], (database, reading) => {
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
    return this.reading([], (database, reading) => recordHeads(database, stream, from, limit, reading))
  }

  /** The cursors of a stream by provider. A provider without cursor has received nothing. */
  cursors(stream: string): ReadonlyMap<string, OutboxCursor> {
    return this.reading<ReadonlyMap<string, OutboxCursor>>(new Map(), (database, reading) =>
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
    return this.writing((database, edits) => {
      const head = database.get(headKey(stream))
      if (head === null || readHead(head).origin !== origin) return false
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
      const keptFrom = isFollowed ? nowMs - FOLLOW_KEEP_MS : Number.POSITIVE_INFINITY
      for (const { sequence, count, timeMs } of recordHeads(database, stream, 0, TRIM_MAX, undefined)) {
        if (sequence + count > slowest || timeMs > keptFrom) break
        edits.remove(recordKey(stream, sequence))
      }
      return true
    })
  }

  /**
   * Makes `commit` keep events of the last `FOLLOW_KEEP_MS` although all providers have received them, for a client that follows the
   * stream. The stream need not have events. Does nothing if it is followed for at least half of that time already.
   */
  async follow(stream: string, nowMs: number): Promise<void> {
    const until = this.reading(0, (database, reading) => followedUntil(database, stream, reading))
    if (until > nowMs + FOLLOW_KEEP_MS / 2) return
    await this.writing((_, edits) => edits.put(followKey(stream), encodeTime(nowMs + FOLLOW_KEEP_MS)))
  }

  /** Dead letters of a stream in the order of provider and sequence, after a position. At most `limit`. */
  deadLetters(
    stream: string,
    limit: number,
    after: Pick<DeadLetter, 'provider' | 'sequence'> | null = null,
  ): readonly DeadLetter[] {
    return this.reading([], (database, reading) => {
      const found: DeadLetter[] = []
      const start =
        after === null ? deadLetterKey(stream, '', 0) : deadLetterKey(stream, after.provider, after.sequence + 1)
      for (const { key, valueView } of database.entries({ start, end: undefined, limit, ...reading })) {
        if (key.kind !== OUTBOX_ENTRY.deadLetter || key.stream !== stream) break
        found.push({ provider: key.provider, sequence: key.sequence, bytes: readBytes(valueView) })
      }
      return found
    })
  }

  /** One dead letter, or null. */
  deadLetter(stream: string, provider: string, sequence: number): DeadLetter | null {
    return this.reading(null, (database, reading) => {
      const valueView = database.get(deadLetterKey(stream, provider, sequence), reading)
      return valueView && { provider, sequence, bytes: readBytes(valueView) }
    })
  }

  /** Removes a dead letter. Resolves with false if there is no such dead letter. */
  removeDeadLetter(stream: string, provider: string, sequence: number): Promise<boolean> {
    return this.writing((database, edits) => {
      const key = deadLetterKey(stream, provider, sequence)
      if (database.get(key) === null) return false
      edits.removeDeadLetter(key)
      return true
    })
  }

  /** Requests that a dead letter is sent again. Resolves with false if there is no such dead letter. */
  requestDeadLetter(stream: string, provider: string, sequence: number): Promise<boolean> {
    return this.writing((database, edits) => {
      if (database.get(deadLetterKey(stream, provider, sequence)) === null) return false
      edits.put(requestKey(stream, provider, sequence), encodeBytes(new Uint8Array(0)))
      return true
    })
  }

  /** Whether a dead letter of any provider was requested. */
  hasRequests(stream: string): boolean {
    return this.reading(false, (database, reading) => {
      const start = requestKey(stream, '', 0)
      for (const key of database.raw.getKeys({ start, end: undefined, limit: 1, ...reading }))
        return key.kind === start.kind && key.stream === stream
      return false
    })
  }

  /** Removes all dead letters of a provider. Resolves with their number. */
  removeDeadLetters(stream: string, provider: string): Promise<number> {
    return this.changeDeadLetters(stream, provider, (edits, sequence) =>
      edits.removeDeadLetter(deadLetterKey(stream, provider, sequence)),
    )
  }

  /** The number and the bytes of the dead letters of a provider. */
  deadLetterTotals(stream: string, provider: string): DeadLetterTotals {
    return this.reading(NO_DEAD_LETTERS, (database, reading) => totalsOf(database, stream, provider, reading))
  }

  /**
   * Removes the first dead letters of a provider if all together exceed `bytesMax`, down to `DEAD_LETTERS_KEPT_SHARE` of it.
   * Resolves with the number of removed ones.
   */
  async boundDeadLetters(stream: string, provider: string, bytesMax: number): Promise<number> {
    if (this.deadLetterTotals(stream, provider).bytes <= bytesMax) return 0
    const bound = bytesMax * DEAD_LETTERS_KEPT_SHARE
    let removed = 0
    for (let isComplete = false; !isComplete; ) {
      isComplete = await this.writing((database, edits) => {
        let { bytes } = totalsOf(database, stream, provider, undefined)
        let count = 0
        const range = { start: deadLetterKey(stream, provider, 0), end: undefined }
        for (const { key, valueView } of database.entries(range)) {
          if (bytes <= bound || !isOfProvider(key, range.start)) return true
          if (count === DEAD_LETTERS_MAX) return false
          bytes -= readLength(valueView)
          count += 1
          removed += 1
          edits.removeDeadLetter(key)
        }
        return true
      })
    }
    return removed
  }

  /** Requests that all dead letters of a provider are sent again. Resolves with their number. */
  requestDeadLetters(stream: string, provider: string): Promise<number> {
    return this.changeDeadLetters(stream, provider, (edits, sequence) =>
      edits.put(requestKey(stream, provider, sequence), encodeBytes(new Uint8Array(0))),
    )
  }

  /** In several transactions, so that other writers do not wait long. */
  private async changeDeadLetters(
    stream: string,
    provider: string,
    change: (edits: DirectEdits, sequence: number) => void,
  ): Promise<number> {
    let changed = 0
    for (let from = 0; ; ) {
      const last = await this.writing((database, edits) => {
        const keys = database.raw.getKeys({ start: deadLetterKey(stream, provider, from), end: undefined })
        let count = 0
        for (const key of keys) {
          if (key.kind !== OUTBOX_ENTRY.deadLetter || key.stream !== stream || key.provider !== provider) return null
          if (count === DEAD_LETTERS_MAX) return key.sequence
          count += 1
          changed += 1
          change(edits, key.sequence)
        }
        return null
      })
      if (last === null) return changed
      from = last
    }
  }

  /** Whether it was requested that a dead letter is sent again. */
  isDeadLetterRequested(stream: string, provider: string, sequence: number): boolean {
    return this.reading(false, (database, reading) => {
      return database.get(requestKey(stream, provider, sequence), reading) !== null
    })
  }

  /** The first dead letters of a provider that were requested, in sequence. At most `limit`. */
  requestedDeadLetters(stream: string, provider: string, limit: number): readonly DeadLetter[] {
    return this.reading([], (database, reading) => {
      const found: DeadLetter[] = []
      const start = requestKey(stream, provider, 0)
      for (const key of database.raw.getKeys({ start, end: undefined, limit, ...reading })) {
        if (key.kind !== OUTBOX_ENTRY.request || key.stream !== stream || key.provider !== provider) break
        const valueView = database.get(deadLetterKey(stream, provider, key.sequence), reading)
        if (valueView !== null) found.push({ provider, sequence: key.sequence, bytes: readBytes(valueView) })
      }
      return found
    })
  }

  /** Replaces a dead letter that was sent again and refused; its request is done. Does nothing if it was removed. */
  async replaceDeadLetter(stream: string, { provider, sequence, bytes }: DeadLetter): Promise<void> {
    await this.writing((database, edits) => {
      const key = deadLetterKey(stream, provider, sequence)
      if (database.get(key) === null) return
      edits.putDeadLetter(key, bytes)
      edits.remove(requestKey(stream, provider, sequence))
    })
  }

  /** The statuses of the providers of a stream, as `putStatuses` encoded them, by provider. */
  statuses(stream: string): ReadonlyMap<string, Uint8Array> {
    return this.reading(new Map(), (database, reading) => {
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
    await this.writing((_, edits) => {
      for (const [provider, bytes] of statuses) {
        if (bytes === null) edits.remove(statusKey(stream, provider))
        else edits.put(statusKey(stream, provider), encodeBytes(bytes))
      }
    })
  }

  /** Appends records in a transaction of their own. Resolves when they are on disk. */
  async append(records: readonly OutboxAppend[]): Promise<void> {
    if (records.length === 0) return
    await this.writing((_, edits) => {
      for (const { stream, bytes, count, timeMs } of records) edits.outbox.append(stream, bytes, count, timeMs)
    })
  }

  /** Begins a stream without events, so that it has an origin. Does nothing if the stream exists. */
  begin(stream: string): Promise<void> {
    return this.writing((database, edits) => {
      if (database.get(headKey(stream)) !== null) return
      const writer = new ByteWriter(64)
      writeHead(writer, newHead())
      edits.put(headKey(stream), writer.written())
    })
  }

  /**
   * Removes everything of a stream, in several transactions, so that other writers and the event loop do not wait long. A call
   * after a crash continues. `isDue`: called within each transaction; false: the stream has a new owner, and the rest stays.
   */
  async drop(stream: string, isDue: () => boolean = () => true): Promise<void> {
    while (!(await this.dropPart(stream, isDue))) await new Promise((resolve) => setImmediate(resolve))
  }

  /** Resolves with true if nothing is left to do. */
  private dropPart(stream: string, isDue: () => boolean): Promise<boolean> {
    return this.writing((database, edits) => {
      if (!isDue()) return true
      let left = REMOVED_MAX
      for (const kind of DROP_ORDER) {
        for (const key of keysOf(database, { kind, stream, provider: '', sequence: 0 }, isOfStream)) {
          if (left === 0) return false
          left -= 1
          if (kind === OUTBOX_ENTRY.deadLetter) edits.removeDeadLetter(key)
          else edits.remove(key)
        }
      }
      return true
    })
  }

  /**
   * Removes the cursors, dead letters and requests of providers that the stream does not have any more, in several transactions.
   * `providers`: called within each transaction; null: the stream has no owner. Resolves with true if it removed anything.
   */
  async removeOtherProviders(stream: string, providers: () => readonly string[] | null): Promise<boolean> {
    let isRemoved = false
    for (const provider of this.cursors(stream).keys()) {
      for (;;) {
        const left = await this.removeProviderPart(stream, provider, providers)
        if (left === 'kept') break
        isRemoved = true
        if (left === 'done') break
      }
    }
    return isRemoved
  }

  /** The cursor is removed last, so that a call after a crash continues. */
  private removeProviderPart(
    stream: string,
    provider: string,
    providers: () => readonly string[] | null,
  ): Promise<'kept' | 'part' | 'done'> {
    return this.writing((database, edits) => {
      if (providers()?.includes(provider) !== false) return 'kept'
      let left = REMOVED_MAX
      for (const key of keysOf(database, deadLetterKey(stream, provider, 0), isOfProvider)) {
        if (left === 0) return 'part'
        left -= 1
        edits.removeDeadLetter(key)
      }
      edits.remove(cursorKey(stream, provider))
      return 'done'
    })
  }

  /**
   * Gives each stream another origin, for the events that are appended from now on: after a restore, the sequences that the
   * lost events had are used again.
   */
  renewOrigins(): Promise<void> {
    const streams = this.streams()
    return this.writing((database, edits) => {
      for (const stream of streams) {
        const valueView = database.get(headKey(stream))
        if (valueView === null) continue
        const writer = new ByteWriter(64)
        writeHead(writer, { ...readHead(valueView), origin: drawOrigin() })
        edits.put(headKey(stream), writer.written())
      }
    })
  }

  private reading<T>(absent: T, look: (database: Database<OutboxKey>, reading: ReadOptions) => T): T {
    if (this.database === null) return absent
    const transaction = this.file.readTransactions.acquire()
    try {
      return look(this.database, transaction)
    } finally {
      this.file.readTransactions.release(transaction)
    }
  }

  /** Runs `change` in one write transaction; its edits are applied if it does not throw. */
  private async writing<T>(change: (database: Database<OutboxKey>, edits: DirectEdits) => T): Promise<T> {
    const { database } = this
    assert(database !== null, 'a read-only environment is not written')
    // An error is returned as a value: after a throw lmdb-js would still commit what shares the transaction.
    const outcome = await this.file.transaction((): { value: T } | { error: unknown } => {
      try {
        const edits = new DirectEdits(database, this.edits())
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
class DirectEdits {
  readonly outbox: OutboxEdits
  private readonly database: Database<OutboxKey>
  private readonly writer = new ByteWriter()
  private readonly operations = new PendingWrites()
  /** Changes of the totals of dead letters. */
  private readonly totals = new Map<string, DeadLetterTotals & { readonly key: OutboxKey }>()

  constructor(database: Database<OutboxKey>, outbox: OutboxEdits) {
    this.database = database
    this.outbox = outbox
  }

  put(key: OutboxKey, value: Uint8Array): void {
    this.operations.begin(this.writer)
    this.writer.raw(value)
    this.operations.put(this.database, key, this.writer)
  }

  remove(key: OutboxKey): void {
    this.operations.remove(this.database, key)
  }

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

  apply(): void {
    for (const { key, ...sum } of this.totals.values()) {
      if (sum.count > 0) this.put(key, encodeTotals(sum))
      else this.remove(key)
    }
    this.outbox.encode(this.writer, this.operations)
    this.operations.apply(this.writer)
  }
}

/** Dead letters belong to a cursor, and all entries but the statuses and the follower to the head: they go first. */
const DROP_ORDER = [
  OUTBOX_ENTRY.deadLetter,
  OUTBOX_ENTRY.cursor,
  OUTBOX_ENTRY.record,
  OUTBOX_ENTRY.loss,
  OUTBOX_ENTRY.follow,
  OUTBOX_ENTRY.status,
  OUTBOX_ENTRY.head,
]

const isOfStream = (key: OutboxKey, { kind, stream }: OutboxKey): boolean => key.kind === kind && key.stream === stream
const isOfProvider = (key: OutboxKey, start: OutboxKey): boolean =>
  isOfStream(key, start) && key.provider === start.provider

/** The keys from `start` on, up to the first that does not match. Within the write transaction. */
function* keysOf(
  database: Database<OutboxKey>,
  start: OutboxKey,
  matches: (key: OutboxKey, start: OutboxKey) => boolean,
): Iterable<OutboxKey> {
  for (const key of database.raw.getKeys({ start, end: undefined })) {
    if (!matches(key, start)) return
    yield key
  }
}

/** Milliseconds since the epoch; 0: the stream is not followed. `reading`: undefined within the write transaction. */
function followedUntil(database: Database<OutboxKey>, stream: string, reading: ReadOptions | undefined): number {
  const valueView = database.get(followKey(stream), reading)
  return valueView === null ? 0 : readTime(valueView)
}

/** `reading`: undefined within the write transaction. */
function totalsOf(
  database: Database<OutboxKey>,
  stream: string,
  provider: string,
  reading: ReadOptions | undefined,
): DeadLetterTotals {
  const valueView = database.get(deadLetterTotalsKey(stream, provider), reading)
  return valueView === null ? NO_DEAD_LETTERS : readTotals(valueView)
}

/** `reading`: undefined within the write transaction. */
function lossOf(database: Database<OutboxKey>, stream: string, reading: ReadOptions | undefined): OutboxLoss | null {
  const valueView = database.get(lossKey(stream), reading)
  return valueView === null ? null : readLoss(valueView)
}

/** `reading`: undefined within the write transaction. */
function cursorsOf(
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

function recordHeads(
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

/** The sequence of the record that contains the event, or the event itself if no record does. */
function firstSequence(
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
