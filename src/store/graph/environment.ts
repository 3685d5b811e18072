// One environment, in an LMDB file or in memory, as a graph store: opens it, checks its layout, creates snapshots and runs write batches.

import type { GraphStore, WrittenBatch } from '../../engine/store.ts'
import { assert } from '../../kernel/assert.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { LaneRequiredError } from '../../kernel/request/lane-required.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import { DEFAULT_CACHE_BYTES, GraphCache } from '../cache/graph-cache.ts'
import { ByteWriter, type ValueView } from '../format/bytes.ts'
import { COMMIT_WORD, type GraphVersion, readSymbolCounts, type SymbolCounts, WRITER_WORD } from '../format/header.ts'
import { ENTRIES_PER_CHUNK } from '../format/packed-lists.ts'
import { readText } from '../format/text.ts'
import { NegativeLookup } from '../integrity/negative-lookup.ts'
import type { Database } from '../lmdb/database.ts'
import {
  type Databases,
  type EnvironmentFlag,
  FLAG,
  GRAPH_DESCRIPTION,
  HEADER_KEY,
  META_KIND,
  missingSymbolsError,
  openDatabases,
  openMeta,
  putEmptyHeader,
} from '../lmdb/databases.ts'
import type { EnvironmentFile, ReadTransaction } from '../lmdb/environment-file.ts'
import { checkLayout, graphLayout } from '../lmdb/layout.ts'
import { LmdbFile } from '../lmdb/lmdb-file.ts'
import type { LmdbFileOptions } from '../lmdb/open-file.ts'
import type { ReadOptions } from '../lmdb/raw-database.ts'
import { MemoryFile } from '../memory/memory-file.ts'
import { EventOutbox } from '../outbox/outbox.ts'
import type { OutboxOptions } from '../outbox/outbox-format.ts'
import type { RelationshipColumns } from '../sorting/edge-runs.ts'
import { LmdbBatchView } from './batch-view.ts'
import { BulkBatch, readCheckpoint } from './bulk-batch.ts'
import { BulkKeyCache } from './bulk-key-cache.ts'
import { ListBatch } from './list-batch.ts'
import { LoadDuplicates } from './load-duplicates.ts'
import { NodeScan } from './node-scan.ts'
import { LmdbSnapshot } from './snapshot.ts'
import { type ListProgress, type ListWriter, SortedLoad, type SortLimits } from './sorted-load.ts'
import type { IncompleteSymbols, SymbolLoader } from './symbol-loader.ts'
import { type SymbolReader, SymbolTable } from './symbols.ts'
import { readUnsorted } from './unsorted-state.ts'
import { LmdbWriteBatch, type WriteBatchOptions } from './write-batch.ts'

/** A larger writer is not kept after its batch. */
const BATCH_WRITER_BYTES_MAX = 256 * 1024

/** Missing names that a snapshot reads on the event loop, which takes less than 1 ms. More are read in the background. */
const INLINE_NAMES_MAX = 256

/** Options of a graph environment. */
export interface EnvironmentOptions extends LmdbFileOptions, OutboxOptions {
  /** Source of creation and update times. */
  readonly clock: Clock
  /** Entries per chunk of a long list. Smaller values are for tests; reading does not depend on it. */
  readonly entriesPerChunk?: number
  /** Bound of the cache in bytes. 0: no cache, every read goes to the database. */
  readonly cacheBytes?: number
  /**
   * Reads large numbers of missing names in the background, in a process that has lanes. Until they are read, `snapshot` throws
   * LaneRequiredError. Absent: a snapshot reads all missing names.
   */
  readonly symbolLoader?: SymbolLoader
  /** True: for a load, which may open a graph whose edge lists are not complete. Absent: such a graph is refused. */
  readonly forLoad?: boolean
  /** How a load treats relationships of the same source, type and target. Absent: they are merged. */
  readonly duplicates?: LoadDuplicates
  /** Called when a snapshot is opened by `snapshot`; what it returns is called when the snapshot is closed. For traces. */
  readonly onSnapshot?: () => () => void
  /** Called with each batch after its writes, within the transaction; not for bulk loads. If it throws, nothing is written. */
  readonly onWritten?: (batch: WrittenBatch) => void
}

/** A graph store in one folder, or in memory. */
export class LmdbEnvironment implements GraphStore, IncompleteSymbols {
  /** The named databases. */
  readonly databases: Databases
  /** The symbols as of the newest snapshot. */
  readonly symbols = new SymbolTable()
  readonly nodeScan = new NodeScan()
  /** The cache of the newest version. */
  readonly cache: GraphCache
  /** The events of this graph, in the stream `GRAPH_STREAM`. */
  readonly outbox: EventOutbox
  /** Null in memory, where no page can be damaged. */
  private readonly negativeLookup: NegativeLookup | null
  private readonly file: EnvironmentFile
  private readonly clock: Clock
  private readonly path: string | null
  private readonly entriesPerChunk: number
  /** The load whose edge lists are not written yet. */
  private sortedLoad: SortedLoad | null = null
  private readonly duplicates: LoadDuplicates
  private readonly readOnly: boolean
  private readonly symbolLoader: SymbolLoader | null
  private readonly onWritten: EnvironmentOptions['onWritten']
  private readonly onSnapshot: (() => () => void) | null
  /** The symbols that the next batch starts with; null after a failed commit. */
  private writerSymbols: SymbolTable | null = null
  /** Distinguishes the batches of this environment object from those of other processes. */
  private readonly writer = randomWord()
  /** Null before the first load. */
  private bulkKeys: BulkKeyCache | null = null
  /** Reused by all batches but loads, as the memory of small ones. */
  private batchWriter = new ByteWriter()
  /** Reused by all loads, because memory of this size is expensive to allocate. */
  private readonly bulkWriter = new ByteWriter()
  /** Number of the last batch attempted. Failed batches count too, so that no version names two states. */
  private lastBatch = 0

  /** `path`: the folder; null for a store in memory. */
  constructor(path: string | null, options: EnvironmentOptions) {
    this.path = path
    this.clock = options.clock
    this.entriesPerChunk = options.entriesPerChunk ?? ENTRIES_PER_CHUNK
    this.duplicates = options.duplicates ?? new LoadDuplicates('merge')
    this.readOnly = options.readOnly === true
    this.symbolLoader = options.symbolLoader ?? null
    this.onWritten = options.onWritten
    this.onSnapshot = options.onSnapshot ?? null
    this.file = path === null ? new MemoryFile() : new LmdbFile(path, options)
    try {
      const meta = openMeta(this.file, GRAPH_DESCRIPTION)
      checkLayout(this.file, meta, graphLayout, this.readOnly, () => putEmptyHeader(meta))
      this.databases = openDatabases(this.file, meta)
      // Without its lists a graph denies what it should grant, and grants what a relationship should deny.
      if (options.forLoad !== true && this.inspect(readUnsorted) !== null) throw incompleteGraphError(path)
      this.outbox = new EventOutbox(this.file, this.databases.outbox, options)
      this.negativeLookup =
        path === null ? null : new NegativeLookup(path, this.databases, () => this.readLatestVersion())
      this.cache = new GraphCache(this.databases, this.writer, options.cacheBytes ?? DEFAULT_CACHE_BYTES)
    } catch (error) {
      void this.file.close()
      throw error
    }
  }

  /**
   * Returns a snapshot of the latest commit. Close it in the same turn of the event loop. Throws DataCorruptionError, and
   * LaneRequiredError if many names are missing and the environment has a `symbolLoader`.
   */
  snapshot(): LmdbSnapshot {
    const snapshot = this.openSnapshot(this.symbolLoader)
    if (this.onSnapshot !== null) snapshot.onClosed = this.onSnapshot()
    return snapshot
  }

  /** As `snapshot`, for work that no lane can repeat: reads all missing names at once, on the event loop too. */
  wholeSnapshot(): LmdbSnapshot {
    return this.openSnapshot(null)
  }

  private openSnapshot(symbolLoader: SymbolLoader | null): LmdbSnapshot {
    const recent = this.cache.isWriting ? null : this.file.readTransactions.acquireRecent()
    if (recent !== null && recent.graphVersion !== null) {
      return new LmdbSnapshot(
        this,
        recent,
        this.cache.epochOf(recent.graphVersion.writer, recent.graphVersion.commit),
        recent.graphVersion,
      )
    }
    const commits = this.file.readTransactions.commitCount()
    const transaction = this.file.readTransactions.acquire()
    const header = this.readHeader(transaction)
    const { words } = header
    const writer = words[WRITER_WORD]!
    const commit = words[COMMIT_WORD]!
    const { symbols } = this
    if (words[0] !== symbols.count(0) || words[1] !== symbols.count(1) || words[2] !== symbols.count(2)) {
      this.completeSymbols(readSymbolCounts(header), transaction, symbolLoader)
    }
    const version = { writer, commit }
    // Uncommitted writes of a batch may never be committed.
    if (!this.cache.isWriting) this.file.readTransactions.allowReuse(transaction, commits, version)
    return new LmdbSnapshot(this, transaction, this.cache.epochOf(writer, commit), version)
  }

  private readHeader(transaction: ReadTransaction): ValueView {
    try {
      return this.databases.meta.getRequired(HEADER_KEY, transaction)
    } catch (error) {
      this.file.readTransactions.release(transaction)
      throw error
    }
  }

  private completeSymbols(counts: SymbolCounts, transaction: ReadTransaction, symbolLoader: SymbolLoader | null): void {
    try {
      if (symbolLoader !== null && this.symbols.missing(counts) > INLINE_NAMES_MAX) {
        symbolLoader.add(this)
        throw new LaneRequiredError('names')
      }
      const all = this.symbols.complete(counts, this.symbolReader(transaction))
      // Within a batch the header is visible, and the names that the batch adds are not.
      if (!all && !this.cache.isWriting) throw missingSymbolsError(this.databases)
    } catch (error) {
      this.file.readTransactions.release(transaction)
      throw error
    }
  }

  /** Reads committed names only. */
  private symbolReader(transaction: ReadOptions): SymbolReader {
    const { symbols } = this.databases
    if (!this.cache.isWriting) return (key) => symbols.get(key, transaction)
    // Within a batch, `get` would see names that earlier batches of the same transaction have not committed yet.
    return (key) => {
      const range = { start: key, end: { ...key, symbol: key.symbol + 1 }, ...transaction }
      for (const { valueView } of symbols.entries(range)) return valueView
      return null
    }
  }

  readSymbolSlice(untilMs: number): boolean {
    if (this.isClosed) return false
    const { symbols } = this
    return this.inspect(({ meta }, transaction) => {
      const counts = readSymbolCounts(meta.getRequired(HEADER_KEY, transaction))
      const before = symbols.missing(counts)
      if (before === 0 || symbols.complete(counts, this.symbolReader(transaction), untilMs)) return false
      // Without progress the names are not in the database: the next snapshot fails.
      return symbols.missing(counts) < before
    })
  }

  /** Calls `read` with the databases and one read transaction. For checkers. */
  inspect<T>(read: (databases: Databases, readOptions: ReadOptions) => T): T {
    const transaction = this.file.readTransactions.acquire()
    try {
      return read(this.databases, transaction)
    } finally {
      this.file.readTransactions.release(transaction)
    }
  }

  /** Verifies a lookup for a snapshot (NegativeLookup). Within a batch it is skipped: its writes are in no page yet. */
  verifyCount<K>(database: Database<K>, start: K, end: K | null, count: number, version: GraphVersion): void {
    if (!this.cache.isWriting) this.negativeLookup?.verifyCount(database, start, end, count, version)
  }

  private readLatestVersion(): GraphVersion {
    const transaction = this.file.readTransactions.acquire()
    try {
      const { words } = this.databases.meta.getRequired(HEADER_KEY, transaction)
      return { writer: words[WRITER_WORD]!, commit: words[COMMIT_WORD]! }
    } finally {
      this.file.readTransactions.release(transaction)
    }
  }

  /** Whether the flag is set. */
  hasFlag(flag: EnvironmentFlag): boolean {
    return this.inspect(
      ({ meta }, transaction) => meta.get({ kind: META_KIND.flag, symbol: flag }, transaction) !== null,
    )
  }

  /** Whether an intent other than this one is stored. */
  hasIntentsBut(number: number): boolean {
    return this.inspect(({ meta }, transaction) => {
      const start = { kind: META_KIND.intent, symbol: 0 }
      for (const key of meta.raw.getKeys({ start, end: undefined, ...transaction })) {
        if (key.kind !== META_KIND.intent) return false
        if (key.symbol !== number) return true
      }
      return false
    })
  }

  /** The intents that batches have written and not removed, by number. */
  intents(): ReadonlyMap<number, string> {
    return this.inspect(({ meta }, transaction) => {
      const intents = new Map<number, string>()
      const start = { kind: META_KIND.intent, symbol: 0 }
      for (const { key, valueView } of meta.entries({ start, end: undefined, ...transaction })) {
        if (key.kind !== META_KIND.intent) break
        intents.set(key.symbol, readText(valueView.text, 4, 4 + valueView.view.getUint32(0, true)))
      }
      return intents
    })
  }

  /** Releases the read transaction of a snapshot. */
  release(transaction: ReadTransaction): void {
    this.file.readTransactions.release(transaction)
  }

  /**
   * Runs `change` as one batch and resolves with its result when the batch is on disk. Rejects with what `change` throws, or
   * with StorageWriteError; then nothing is written.
   */
  write<T>(change: (batch: LmdbWriteBatch) => T): Promise<T> {
    const { onWritten } = this
    return this.commit(
      (start) => new LmdbWriteBatch(start, this.emptyWriter()),
      onWritten === undefined
        ? change
        : (batch) => {
            const value = change(batch)
            onWritten(batch)
            return value
          },
    )
  }

  private emptyWriter(): ByteWriter {
    if (this.batchWriter.bytes.length > BATCH_WRITER_BYTES_MAX) this.batchWriter = new ByteWriter()
    this.batchWriter.length = 0
    return this.batchWriter
  }

  /** As `write`, for a large batch of mostly new elements. No other process may write at the same time. */
  async bulkLoad<T>(change: (batch: BulkBatch) => T): Promise<T> {
    const { sortedLoad } = this
    let columns: RelationshipColumns | null = null
    const value = await this.commit(
      (start) => {
        this.bulkWriter.length = 0
        this.bulkKeys ??= new BulkKeyCache()
        const batch = new BulkBatch(start, this.bulkKeys, this.bulkWriter, sortedLoad?.id ?? null, this.duplicates)
        // A load updates no proxies. The next process that opens the project creates them.
        if (batch.flags.has(FLAG.complete)) batch.flags.remove(FLAG.complete)
        return batch
      },
      (batch) => {
        const result = change(batch)
        columns = batch.columns
        return result
      },
    )
    if (columns !== null) sortedLoad?.add(columns)
    return value
  }

  /**
   * Begins a load that writes edge lists at its end, or continues an interrupted one: `bulkLoad` then writes relationships without
   * their lists, until `finishSortedLoad`. Until then the graph must not be read. Returns false, and changes nothing, if the graph
   * has relationships or is in memory.
   */
  async beginSortedLoad(limits: SortLimits = {}): Promise<boolean> {
    if (this.path === null) return false
    this.sortedLoad = await SortedLoad.begin(this.path, this.listWriter(), limits)
    return this.sortedLoad !== null
  }

  /** Writes the edge lists of a sorted load. Throws OperationalError if one of its files is damaged. */
  async finishSortedLoad(progress: ListProgress = () => {}): Promise<void> {
    const { sortedLoad } = this
    this.sortedLoad = null
    await sortedLoad?.finish(progress)
  }

  private listWriter(): ListWriter {
    const { databases, entriesPerChunk } = this
    return {
      databases,
      entriesPerChunk,
      writeLists: (builder, state) =>
        this.commit(
          (start) => {
            this.bulkWriter.length = 0
            return new ListBatch(start, this.bulkWriter, builder, state, this.duplicates)
          },
          () => {},
        ),
      removeKeys: (each) =>
        this.file.transaction(() => {
          each((database, key) => database.remove(key))
        }),
    }
  }

  /** The checkpoint of the last load, or null. */
  checkpoint(): string | null {
    return readCheckpoint(this.databases)
  }

  private async commit<B extends LmdbWriteBatch, T>(
    begin: (start: WriteBatchOptions) => B,
    change: (batch: B) => T,
  ): Promise<T> {
    if (this.readOnly) throw new Error('the store is opened read-only')
    // An error is returned as a value: after a throw lmdb-js would still commit what shares the transaction.
    const outcome = await this.file
      .transaction(() => this.attempt(begin, change))
      .catch((error: unknown) => {
        this.writerSymbols = null
        throw error
      })
    if ('error' in outcome) throw outcome.error
    return outcome.value
  }

  private attempt<B extends LmdbWriteBatch, T>(
    begin: (start: WriteBatchOptions) => B,
    change: (batch: B) => T,
  ): { value: T } | { error: unknown } {
    this.writerSymbols ??= new SymbolTable()
    this.lastBatch = (this.lastBatch + 1) >>> 0
    const { databases, clock, entriesPerChunk, writerSymbols: symbols } = this
    const version = { writer: this.writer, commit: this.lastBatch }
    const batch = begin({ databases, outbox: this.outbox.edits(), symbols, clock, entriesPerChunk, version })
    batch.openView = () => this.batchViewOf(batch)
    const epoch = this.cache.beginWriting()
    try {
      const value = change(batch)
      assert(!(value instanceof Promise), 'a write batch is synchronous')
      batch.prepare()
      batch.apply()
      const { touched } = batch
      // Without the changed keys the cache cannot be invalidated selectively and is cleared.
      if (touched !== null) this.cache.addOwnBatch(version.commit, batch.baseVersion, touched)
      return { value }
    } catch (error) {
      return { error }
    } finally {
      batch.close()
      this.cache.endWriting(epoch)
    }
  }

  /** Within a batch: the number of its transaction, greater than that of any committed one. */
  writeTransaction(): number {
    return this.file.writeTransaction()
  }

  /** The number of the last transaction that any process has committed. */
  lastTransaction(): number {
    return this.file.lastTransaction()
  }

  /** Resolves when every transaction of any process that is in progress now has ended. */
  async settleWrites(): Promise<void> {
    await this.file.transaction(() => undefined)
  }

  /** Removes readers of killed processes, which would prevent the reuse of their pages. */
  clearStaleReaders(): void {
    this.file.clearStaleReaders()
  }

  /**
   * Within a transaction all reads see it, with earlier batches of the same transaction. All of them are committed or none.
   * Symbols of those earlier batches must not be added to the table before the commit, so then no view is returned.
   */
  private batchViewOf(batch: LmdbWriteBatch): LmdbBatchView | null {
    if (!this.symbols.isComplete(batch.baseSymbolCounts)) return null
    return new LmdbBatchView(this, batch.edits)
  }

  /** Whether no read, write or copy is in progress, so that the environment can be closed. */
  get isIdle(): boolean {
    return this.file.isIdle
  }

  /** Whether `close` was called. */
  get isClosed(): boolean {
    return this.file.isClosed
  }

  /** Closes the environment after pending writes. */
  close(): Promise<void> {
    this.negativeLookup?.close()
    return this.file.close()
  }
}

function incompleteGraphError(path: string | null): OperationalError {
  return new OperationalError(
    `the graph in ${path} is not complete, because an import was interrupted: finish it with \`verdigraph import --resume\``,
  )
}

function randomWord(): number {
  return crypto.getRandomValues(new Uint32Array(1))[0]!
}

/**
 * Opens the environment in a folder, and creates it if it does not exist; `path` null: an empty one in memory. Throws LayoutError,
 * and what LmdbFile throws.
 */
export function openEnvironment(path: string | null, options: EnvironmentOptions): LmdbEnvironment {
  return new LmdbEnvironment(path, options)
}
