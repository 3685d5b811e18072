// Reads one version of an environment: through one read transaction, and from the cache while the cache has the same version.
// A lookup that finds nothing is verified before it returns.
import { assert } from '../../kernel/assert.ts'
import type { GraphCache } from '../cache/graph-cache.ts'
import type { ValueView } from '../format/bytes.ts'
import type { GraphVersion } from '../format/header.ts'
import type { Database } from '../lmdb/database.ts'
import type { Databases } from '../lmdb/databases.ts'
import type { ReadTransaction } from '../lmdb/environment-file.ts'
import type { ReadOptions } from '../lmdb/raw-database.ts'
import type { NodeScan } from './node-scan.ts'
import type { SymbolTable } from './symbols.ts'

/** The part of an environment that snapshots use. */
export interface SnapshotSource {
  readonly databases: Databases
  readonly symbols: SymbolTable
  readonly cache: GraphCache
  /** Reused by all snapshots. */
  readonly nodeScan: NodeScan
  release(transaction: ReadTransaction): void
  /** Throws DataCorruptionError unless the database holds `count` entries from `start` to `end`, or of the key `start`. */
  verifyCount<K>(database: Database<K>, start: K, end: K | null, count: number, version: GraphVersion): void
}

/** The base of a snapshot: reads keys of one version. */
export class VersionReader {
  readonly version: GraphVersion
  readonly databases: Databases
  readonly cache: GraphCache
  protected readonly source: SnapshotSource
  private readonly transaction: ReadTransaction
  private readonly epoch: number
  private open = true
  /** Called when the snapshot is closed; null: no one observes it. */
  onClosed: (() => void) | null = null

  constructor(source: SnapshotSource, transaction: ReadTransaction, epoch: number, version: GraphVersion) {
    this.source = source
    this.databases = source.databases
    this.transaction = transaction
    this.cache = source.cache
    this.epoch = epoch
    this.version = version
  }

  /** Identifies the environment. */
  get environment(): object {
    return this.source
  }

  close(): void {
    if (!this.open) return
    this.open = false
    this.source.release(this.transaction)
    if (this.onClosed !== null) this.onClosed()
  }

  /** Whether the cache has the version of this snapshot. */
  get isCacheCurrent(): boolean {
    assert(this.open, 'a snapshot is not used after it is closed')
    return this.epoch === this.cache.epoch
  }

  /** For a range read, whose result the caller has to verify with `verifyCount`. */
  get readOptions(): ReadOptions {
    assert(this.open, 'a snapshot is not used after it is closed')
    return this.transaction
  }

  read<K>(database: Database<K>, key: K): ValueView | null {
    assert(this.open, 'a snapshot is not used after it is closed')
    const valueView = database.get(key, this.transaction)
    if (valueView === null) this.source.verifyCount(database, key, null, 0, this.version)
    return valueView
  }

  /** Reads a key that must exist. Throws DataCorruptionError. */
  readRequired<K>(database: Database<K>, key: K): ValueView {
    assert(this.open, 'a snapshot is not used after it is closed')
    return database.getRequired(key, this.transaction)
  }

  /** Verifies the number of entries of a range. Throws DataCorruptionError. */
  verifyCount<K>(database: Database<K>, start: K, end: K, count: number): void {
    this.source.verifyCount(database, start, end, count, this.version)
  }
}
