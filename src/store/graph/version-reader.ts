// One state of an environment, as it is read: through one read view, and from the hot cache while that stands at the same
// state. What is not found is proved to be absent before anybody hears of it.
import { assert } from '../../kernel/assert.ts'
import type { GraphCache } from '../cache/graph-cache.ts'
import type { ValueView } from '../format/bytes.ts'
import type { GraphVersion } from '../format/header.ts'
import type { Database } from '../lmdb/database.ts'
import type { Databases } from '../lmdb/databases.ts'
import type { ReadOptions } from '../lmdb/raw-database.ts'
import type { ReadTransaction } from '../lmdb/read-transactions.ts'
import type { SymbolTable } from './symbols.ts'

/** What the state is of: the environment. */
export interface SnapshotSource {
  readonly databases: Databases
  readonly symbols: SymbolTable
  readonly cache: GraphCache
  release(view: ReadTransaction): void
  /** Throws DamageFault when the database does not hold so many entries from `start` on to `end`, or the one key `start`. */
  verifyCount<K>(database: Database<K>, start: K, end: K | null, count: number, stamp: GraphVersion): void
}

export class VersionReader {
  readonly version: GraphVersion
  readonly databases: Databases
  readonly cache: GraphCache
  protected readonly source: SnapshotSource
  private readonly view: ReadTransaction
  private readonly epoch: number
  private open = true

  constructor(opener: SnapshotSource, view: ReadTransaction, epoch: number, stamp: GraphVersion) {
    this.source = opener
    this.databases = opener.databases
    this.view = view
    this.cache = opener.cache
    this.epoch = epoch
    this.version = stamp
  }

  /** The opener is the environment. */
  get environment(): object {
    return this.source
  }

  close(): void {
    if (!this.open) return
    this.open = false
    this.source.release(this.view)
  }

  /** Whether the hot cache still stands where this state does. */
  get isCacheCurrent(): boolean {
    assert(this.open, 'a snapshot is not used after it is closed')
    return this.epoch === this.cache.epoch
  }

  /** For a walk over a range, which whoever walks has to prove whole. */
  get readOptions(): ReadOptions {
    assert(this.open, 'a snapshot is not used after it is closed')
    return this.view
  }

  read<K>(database: Database<K>, key: K): ValueView | null {
    assert(this.open, 'a snapshot is not used after it is closed')
    const window = database.get(key, this.view)
    if (window === null) this.source.verifyCount(database, key, null, 0, this.version)
    return window
  }

  /** What must be there. */
  readRequired<K>(database: Database<K>, key: K): ValueView {
    assert(this.open, 'a snapshot is not used after it is closed')
    return database.getRequired(key, this.view)
  }

  /** As the opener does. */
  verifyCount<K>(database: Database<K>, start: K, end: K, count: number): void {
    this.source.verifyCount(database, start, end, count, this.version)
  }
}
