// One LMDB environment as a graph store: opens it, checks its layout, hands out snapshots and runs write batches.
import type { GraphStore } from '../../engine/store.ts'
import { assert } from '../../kernel/assert.ts'
import type { Clock } from '../../kernel/clock.ts'
import { ENTRIES_PER_CHUNK } from '../blocks.ts'
import { Sink, type Window } from '../bytes.ts'
import { readText } from '../text.ts'
import { LmdbBatchView } from './batch-view.ts'
import { BulkBatch, readCheckpoint } from './bulk-batch.ts'
import type { Database } from './database.ts'
import {
  checkLayout,
  type Databases,
  GRAPH,
  graphLayout,
  HEADER_KEY,
  lackOfSymbols,
  MARK,
  type Mark,
  META,
  openDatabases,
  openMeta,
  putFirstHeader,
} from './databases.ts'
import { COMMIT, readSymbolCounts, type Stamp, type SymbolCounts, WRITER } from './header.ts'
import { HOT_BYTES, HotCache } from './hot-cache.ts'
import { KnownNodes } from './known-nodes.ts'
import { LmdbFile } from './native.ts'
import type { FileOptions } from './opening.ts'
import { Prover } from './prover.ts'
import type { Reading } from './raw-database.ts'
import type { ReadView } from './read-views.ts'
import { LmdbSnapshot } from './snapshot.ts'
import { SymbolTable } from './symbols.ts'
import { type BatchStart, LmdbWriteBatch } from './write-batch.ts'

export interface EnvironmentOptions extends FileOptions {
  readonly clock: Clock
  /** For tests: smaller chunks make long lists of short ones. Reading does not depend on it. */
  readonly entriesPerChunk?: number
  /** Bound of what is kept in memory of the graph. 0 keeps nothing, and every question reads the database. */
  readonly hotBytes?: number
}

export class LmdbEnvironment implements GraphStore {
  readonly databases: Databases
  readonly symbols = new SymbolTable()
  readonly hot: HotCache
  private readonly prover: Prover
  private readonly file: LmdbFile
  private readonly clock: Clock
  private readonly entriesPerChunk: number
  private readonly readOnly: boolean
  /** What the next batch starts from; null when a failed commit has made it doubtful. */
  private writerSymbols: SymbolTable | null = null
  /** Tells this environment's batches from those of other processes. */
  private readonly writer = randomWord()
  private readonly known = new KnownNodes()
  /** Of one batch after the other: memory of this size is costly to take anew. */
  private readonly sinkOfLoads = new Sink()
  /** Of the batch tried last; those that failed count too, so that no number means two states. */
  private lastBatch = 0

  constructor(path: string, options: EnvironmentOptions) {
    this.clock = options.clock
    this.entriesPerChunk = options.entriesPerChunk ?? ENTRIES_PER_CHUNK
    this.readOnly = options.readOnly === true
    this.file = new LmdbFile(path, options)
    try {
      const meta = openMeta(this.file, GRAPH)
      checkLayout(this.file, meta, graphLayout, this.readOnly, () => putFirstHeader(meta))
      this.databases = openDatabases(this.file, meta)
      this.prover = new Prover(path, this.databases, () => this.latest())
      this.hot = new HotCache(this.databases, this.writer, options.hotBytes ?? HOT_BYTES)
    } catch (fault) {
      void this.file.close()
      throw fault
    }
  }

  snapshot(): LmdbSnapshot {
    const kept = this.hot.isWriting ? null : this.file.views.takeKept()
    if (kept !== null && kept.stamp !== null) {
      return new LmdbSnapshot(this, kept, this.hot.enter(kept.stamp.writer, kept.stamp.commit), kept.stamp)
    }
    const commits = this.file.views.commitsNow()
    const view = this.file.views.take()
    const header = this.readHeader(view)
    const { words } = header
    const writer = words[WRITER]!
    const commit = words[COMMIT]!
    const { symbols } = this
    if (words[0] !== symbols.count(0) || words[1] !== symbols.count(1) || words[2] !== symbols.count(2)) {
      this.completeSymbols(readSymbolCounts(header), view)
    }
    const stamp = { writer, commit }
    // What a batch under way has written may never be.
    if (!this.hot.isWriting) this.file.views.mayKeep(view, commits, stamp)
    return new LmdbSnapshot(this, view, this.hot.enter(writer, commit), stamp)
  }

  private readHeader(view: ReadView): Window {
    try {
      return this.databases.meta.expect(HEADER_KEY, view)
    } catch (fault) {
      this.file.views.giveBack(view)
      throw fault
    }
  }

  private completeSymbols(counts: SymbolCounts, view: ReadView): void {
    try {
      const all = this.symbols.complete(counts, this.databases.symbols, view)
      // Within a batch its header is seen, and the names that it adds are not.
      if (!all && !this.hot.isWriting) throw lackOfSymbols(this.databases)
    } catch (fault) {
      this.file.views.giveBack(view)
      throw fault
    }
  }

  /** For the checker: the raw databases as of one moment. */
  inspect<T>(look: (databases: Databases, reading: Reading) => T): T {
    const view = this.file.views.take()
    try {
      return look(this.databases, view)
    } finally {
      this.file.views.giveBack(view)
    }
  }

  /** Called by the snapshot; see Prover. What a batch under way has written is in no page yet. */
  prove<K>(database: Database<K>, start: K, end: K | null, count: number, stamp: Stamp): void {
    if (!this.hot.isWriting) this.prover.prove(database, start, end, count, stamp)
  }

  private latest(): Stamp {
    const view = this.file.views.take()
    try {
      const { words } = this.databases.meta.expect(HEADER_KEY, view)
      return { writer: words[WRITER]!, commit: words[COMMIT]! }
    } finally {
      this.file.views.giveBack(view)
    }
  }

  hasMark(mark: Mark): boolean {
    return this.inspect(({ meta }, view) => meta.get({ kind: META.mark, symbol: mark }, view) !== null)
  }

  /** What batches have left and nobody has removed yet, by number. */
  notes(): ReadonlyMap<number, string> {
    return this.inspect(({ meta }, view) => {
      const notes = new Map<number, string>()
      const start = { kind: META.note, symbol: 0 }
      for (const { key, window } of meta.entries({ start, end: undefined, ...view })) {
        if (key.kind !== META.note) break
        notes.set(key.symbol, readText(window.text, 4, 4 + window.view.getUint32(0, true)))
      }
      return notes
    })
  }

  /** Called by the snapshot. */
  release(view: ReadView): void {
    this.file.views.giveBack(view)
  }

  write<T>(change: (batch: LmdbWriteBatch) => T): Promise<T> {
    return this.commit((start) => new LmdbWriteBatch(start), change)
  }

  /** A large batch of what is new for the most part; nobody else may write meanwhile. */
  load<T>(change: (batch: BulkBatch) => T): Promise<T> {
    return this.commit((start) => {
      this.sinkOfLoads.length = 0
      const batch = new BulkBatch(start, this.known, this.sinkOfLoads)
      // A load takes no proxies along: whoever opens the project next makes them.
      if (batch.marks.has(MARK.complete)) batch.marks.remove(MARK.complete)
      return batch
    }, change)
  }

  /** Where the last load came to, as it said itself; null when it said nothing. */
  checkpoint(): string | null {
    return readCheckpoint(this.databases)
  }

  private async commit<B extends LmdbWriteBatch, T>(
    begin: (start: BatchStart) => B,
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
    begin: (start: BatchStart) => B,
    change: (batch: B) => T,
  ): { value: T } | { fault: unknown } {
    this.writerSymbols ??= new SymbolTable()
    this.lastBatch = (this.lastBatch + 1) >>> 0
    const { databases, clock, entriesPerChunk, writerSymbols: symbols } = this
    const stamp = { writer: this.writer, commit: this.lastBatch }
    const batch = begin({ databases, symbols, clock, entriesPerChunk, stamp })
    batch.viewer = () => this.viewOf(batch)
    const epoch = this.hot.beginWriting()
    try {
      const value = change(batch)
      assert(!(value instanceof Promise), 'a write batch is synchronous')
      batch.prepare()
      batch.apply()
      const { touched } = batch
      // What is kept in memory cannot follow a batch that it was not told of, and forgets everything.
      if (touched !== null) this.hot.expect(stamp.commit, batch.before, touched)
      return { value }
    } catch (fault) {
      return { fault }
    } finally {
      batch.close()
      this.hot.endWriting(epoch)
    }
  }

  /** After another process was killed: its readings must not keep old pages from being used again. */
  checkReaders(): void {
    this.file.checkReaders()
  }

  /**
   * Inside of a transaction everything read is of the transaction, earlier batches of it included; they are committed with
   * this one or not at all. Only their names may not become the environment's before that.
   */
  private viewOf(batch: LmdbWriteBatch): LmdbBatchView | null {
    if (!this.symbols.isComplete(batch.countsBefore)) return null
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
    this.prover.close()
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
