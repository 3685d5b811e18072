// One LMDB environment as a graph store: opens it, checks its layout, hands out snapshots and runs write batches.
import type { GraphStore } from '../../engine/store.ts'
import { assert } from '../../kernel/assert.ts'
import type { Clock } from '../../kernel/clock.ts'
import { DEFAULT_CACHE_BYTES, GraphCache } from '../cache/graph-cache.ts'
import { ByteWriter, type ValueView } from '../format/bytes.ts'
import { COMMIT_WORD, type GraphVersion, readSymbolCounts, type SymbolCounts, WRITER_WORD } from '../format/header.ts'
import { ENTRIES_PER_CHUNK } from '../format/packed-lists.ts'
import { readText } from '../format/text.ts'
import { NegativeLookup } from '../integrity/negative-lookup.ts'
import type { Database } from '../lmdb/database.ts'
import {
  checkLayout,
  type Databases,
  type EnvironmentFlag,
  FLAG,
  GRAPH_DESCRIPTION,
  graphLayout,
  HEADER_KEY,
  META_KIND,
  missingSymbolsError,
  openDatabases,
  openMeta,
  putEmptyHeader,
} from '../lmdb/databases.ts'
import { LmdbFile } from '../lmdb/lmdb-file.ts'
import type { LmdbFileOptions } from '../lmdb/open-file.ts'
import type { ReadOptions } from '../lmdb/raw-database.ts'
import type { ReadTransaction } from '../lmdb/read-transactions.ts'
import { LmdbBatchView } from './batch-view.ts'
import { BulkBatch, readCheckpoint } from './bulk-batch.ts'
import { BulkKeyCache } from './bulk-key-cache.ts'
import { LmdbSnapshot } from './snapshot.ts'
import { SymbolTable } from './symbols.ts'
import { LmdbWriteBatch, type WriteBatchOptions } from './write-batch.ts'

export interface EnvironmentOptions extends LmdbFileOptions {
  readonly clock: Clock
  /** For tests: smaller chunks make long lists of short ones. Reading does not depend on it. */
  readonly entriesPerChunk?: number
  /** Bound of what is kept in memory of the graph. 0 keeps nothing, and every question reads the database. */
  readonly cacheBytes?: number
}

export class LmdbEnvironment implements GraphStore {
  readonly databases: Databases
  readonly symbols = new SymbolTable()
  readonly cache: GraphCache
  private readonly negativeLookup: NegativeLookup
  private readonly file: LmdbFile
  private readonly clock: Clock
  private readonly entriesPerChunk: number
  private readonly readOnly: boolean
  /** What the next batch starts from; null when a failed commit has made it doubtful. */
  private writerSymbols: SymbolTable | null = null
  /** Tells this environment's batches from those of other processes. */
  private readonly writer = randomWord()
  private readonly bulkKeys = new BulkKeyCache()
  /** Of one batch after the other: memory of this size is costly to take anew. */
  private readonly bulkWriter = new ByteWriter()
  /** Of the batch tried last; those that failed count too, so that no number means two states. */
  private lastBatch = 0

  constructor(path: string, options: EnvironmentOptions) {
    this.clock = options.clock
    this.entriesPerChunk = options.entriesPerChunk ?? ENTRIES_PER_CHUNK
    this.readOnly = options.readOnly === true
    this.file = new LmdbFile(path, options)
    try {
      const meta = openMeta(this.file, GRAPH_DESCRIPTION)
      checkLayout(this.file, meta, graphLayout, this.readOnly, () => putEmptyHeader(meta))
      this.databases = openDatabases(this.file, meta)
      this.negativeLookup = new NegativeLookup(path, this.databases, () => this.readLatestVersion())
      this.cache = new GraphCache(this.databases, this.writer, options.cacheBytes ?? DEFAULT_CACHE_BYTES)
    } catch (fault) {
      void this.file.close()
      throw fault
    }
  }

  snapshot(): LmdbSnapshot {
    const kept = this.cache.isWriting ? null : this.file.readTransactions.acquireRecent()
    if (kept !== null && kept.graphVersion !== null) {
      return new LmdbSnapshot(
        this,
        kept,
        this.cache.epochOf(kept.graphVersion.writer, kept.graphVersion.commit),
        kept.graphVersion,
      )
    }
    const commits = this.file.readTransactions.commitCount()
    const view = this.file.readTransactions.acquire()
    const header = this.readHeader(view)
    const { words } = header
    const writer = words[WRITER_WORD]!
    const commit = words[COMMIT_WORD]!
    const { symbols } = this
    if (words[0] !== symbols.count(0) || words[1] !== symbols.count(1) || words[2] !== symbols.count(2)) {
      this.completeSymbols(readSymbolCounts(header), view)
    }
    const stamp = { writer, commit }
    // What a batch under way has written may never be.
    if (!this.cache.isWriting) this.file.readTransactions.allowReuse(view, commits, stamp)
    return new LmdbSnapshot(this, view, this.cache.epochOf(writer, commit), stamp)
  }

  private readHeader(view: ReadTransaction): ValueView {
    try {
      return this.databases.meta.getRequired(HEADER_KEY, view)
    } catch (fault) {
      this.file.readTransactions.release(view)
      throw fault
    }
  }

  private completeSymbols(counts: SymbolCounts, view: ReadTransaction): void {
    try {
      const all = this.symbols.complete(counts, this.databases.symbols, view)
      // Within a batch its header is seen, and the names that it adds are not.
      if (!all && !this.cache.isWriting) throw missingSymbolsError(this.databases)
    } catch (fault) {
      this.file.readTransactions.release(view)
      throw fault
    }
  }

  /** For the checker: the raw databases as of one moment. */
  inspect<T>(look: (databases: Databases, reading: ReadOptions) => T): T {
    const view = this.file.readTransactions.acquire()
    try {
      return look(this.databases, view)
    } finally {
      this.file.readTransactions.release(view)
    }
  }

  /** Called by the snapshot; see Prover. What a batch under way has written is in no page yet. */
  verifyCount<K>(database: Database<K>, start: K, end: K | null, count: number, stamp: GraphVersion): void {
    if (!this.cache.isWriting) this.negativeLookup.verifyCount(database, start, end, count, stamp)
  }

  private readLatestVersion(): GraphVersion {
    const view = this.file.readTransactions.acquire()
    try {
      const { words } = this.databases.meta.getRequired(HEADER_KEY, view)
      return { writer: words[WRITER_WORD]!, commit: words[COMMIT_WORD]! }
    } finally {
      this.file.readTransactions.release(view)
    }
  }

  hasFlag(mark: EnvironmentFlag): boolean {
    return this.inspect(({ meta }, view) => meta.get({ kind: META_KIND.flag, symbol: mark }, view) !== null)
  }

  /** What batches have left and nobody has removed yet, by number. */
  intents(): ReadonlyMap<number, string> {
    return this.inspect(({ meta }, view) => {
      const notes = new Map<number, string>()
      const start = { kind: META_KIND.intent, symbol: 0 }
      for (const { key, window } of meta.entries({ start, end: undefined, ...view })) {
        if (key.kind !== META_KIND.intent) break
        notes.set(key.symbol, readText(window.text, 4, 4 + window.view.getUint32(0, true)))
      }
      return notes
    })
  }

  /** Called by the snapshot. */
  release(view: ReadTransaction): void {
    this.file.readTransactions.release(view)
  }

  write<T>(change: (batch: LmdbWriteBatch) => T): Promise<T> {
    return this.commit((start) => new LmdbWriteBatch(start), change)
  }

  /** A large batch of what is new for the most part; nobody else may write meanwhile. */
  bulkLoad<T>(change: (batch: BulkBatch) => T): Promise<T> {
    return this.commit((start) => {
      this.bulkWriter.length = 0
      const batch = new BulkBatch(start, this.bulkKeys, this.bulkWriter)
      // A load takes no proxies along: whoever opens the project next makes them.
      if (batch.flags.has(FLAG.complete)) batch.flags.remove(FLAG.complete)
      return batch
    }, change)
  }

  /** Where the last load came to, as it said itself; null when it said nothing. */
  checkpoint(): string | null {
    return readCheckpoint(this.databases)
  }

  private async commit<B extends LmdbWriteBatch, T>(
    begin: (start: WriteBatchOptions) => B,
    change: (batch: B) => T,
  ): Promise<T> {
    if (this.readOnly) throw new Error('the store was opened for reading only')
    // A fault is carried out as a value: the package commits whatever else shares the transaction.
    const outcome = await this.file
      .transaction(() => this.attempt(begin, change))
      .catch((fault: unknown) => {
        this.writerSymbols = null
        throw fault
      })
    if ('fault' in outcome) throw outcome.fault
    return outcome.value
  }

  private attempt<B extends LmdbWriteBatch, T>(
    begin: (start: WriteBatchOptions) => B,
    change: (batch: B) => T,
  ): { value: T } | { fault: unknown } {
    this.writerSymbols ??= new SymbolTable()
    this.lastBatch = (this.lastBatch + 1) >>> 0
    const { databases, clock, entriesPerChunk, writerSymbols: symbols } = this
    const stamp = { writer: this.writer, commit: this.lastBatch }
    const batch = begin({ databases, symbols, clock, entriesPerChunk, version: stamp })
    batch.openView = () => this.batchViewOf(batch)
    const epoch = this.cache.beginWriting()
    try {
      const value = change(batch)
      assert(!(value instanceof Promise), 'a write batch is synchronous')
      batch.prepare()
      batch.apply()
      const { touched } = batch
      // What is kept in memory cannot follow a batch that it was not told of, and forgets everything.
      if (touched !== null) this.cache.addOwnBatch(stamp.commit, batch.baseVersion, touched)
      return { value }
    } catch (fault) {
      return { fault }
    } finally {
      batch.close()
      this.cache.endWriting(epoch)
    }
  }

  /** After another process was killed: its readings must not keep old pages from being used again. */
  clearStaleReaders(): void {
    this.file.clearStaleReaders()
  }

  /**
   * Inside of a transaction everything read is of the transaction, earlier batches of it included; they are committed with
   * this one or not at all. Only their names may not become the environment's before that.
   */
  private batchViewOf(batch: LmdbWriteBatch): LmdbBatchView | null {
    if (!this.symbols.isComplete(batch.baseSymbolCounts)) return null
    return new LmdbBatchView(this, batch.edits)
  }

  /** It may be closed and opened again without anybody noticing: nothing is read, written or copied. */
  get isIdle(): boolean {
    return this.file.isIdle
  }

  get isClosed(): boolean {
    return this.file.isClosed
  }

  /** Waits for writes under way. */
  close(): Promise<void> {
    this.negativeLookup.close()
    return this.file.close()
  }
}

function randomWord(): number {
  return crypto.getRandomValues(new Uint32Array(1))[0]!
}

/** Opens the folder, creating what is missing. Throws LayoutFault for a layout that this program does not know. */
export function openEnvironment(path: string, options: EnvironmentOptions): LmdbEnvironment {
  return new LmdbEnvironment(path, options)
}
