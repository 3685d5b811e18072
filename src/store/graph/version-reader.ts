// Reads one version of an environment: through one read transaction, and from the cache while the cache has the same version.
// A lookup that finds nothing is verified before it returns.
import { assert } from '../../kernel/assert.ts'
import type { GraphCache } from '../cache/graph-cache.ts'
import type { ValueView } from '../format/bytes.ts'
import type { GraphVersion } from '../format/header.ts'
import type { Database } from '../lmdb/database.ts'
import type { Databases } from '../lmdb/databases.ts'
import type { ReadOptions } from '../lmdb/raw-database.ts'
import type { ReadTransaction } from '../lmdb/read-transactions.ts'
import type { SymbolTable } from './symbols.ts'

/** What a snapshot needs of its environment. */
export interface SnapshotSource {
  readonly databases: Databases
  readonly symbols: SymbolTable
  readonly cache: GraphCache
  release(view: ReadTransaction): void
  /** Throws DataCorruptionError unless the database holds `count` entries from `start` to `end`, or of the key `start`. */
  verifyCount<K>(database: Database<K>, start: K, end: K | null, count: number, stamp: GraphVersion): void
}

/** The base of a snapshot: reads keys of one version. */
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

  /** Identifies the environment. */
  get environment(): object {
    return this.source
  }

  close(): void {
    if (!this.open) return
    this.open = false
    this.source.release(this.view)
  }

  /** Whether the cache has the version of this snapshot. */
  get isCacheCurrent(): boolean {
    assert(this.open, 'a snapshot is not used after it is closed')
    return this.epoch === this.cache.epoch
  }

  /** For a range read, whose result the caller has to verify with `verifyCount`. */
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

  /** Reads a key that must exist. Throws DataCorruptionError. */
  readRequired<K>(database: Database<K>, key: K): ValueView {
    assert(this.open, 'a snapshot is not used after it is closed')
    return database.getRequired(key, this.view)
  }

  /** Verifies the number of entries of a range. Throws DataCorruptionError. */
  verifyCount<K>(database: Database<K>, start: K, end: K, count: number): void {
    this.source.verifyCount(database, start, end, count, this.version)
  }
}
