// The databases of a graph environment in memory, without a file. Snapshots are used within one turn of the event loop and batches
// are synchronous, so one version of the data is enough.
import { assert } from '../../kernel/assert.ts'
import type { GraphVersion } from '../format/header.ts'
import type { KeyCodec } from '../format/keys.ts'
import type { EnvironmentFile, ReadTransaction, ReadTransactionPool } from '../lmdb/environment-file.ts'
import type { RawDatabase } from '../lmdb/raw-database.ts'
import { encodedKeys, MemoryDatabase, type MemoryState, numericKeys } from './memory-database.ts'

/** The databases of one environment. Their contents end with the object. */
export class MemoryFile implements EnvironmentFile {
  readonly readTransactions: MemoryTransactions
  private readonly state: MemoryState = { commit: {}, isWriting: false }
  private readonly databases = new Map<string, MemoryDatabase<never>>()
  private pendingCount = 0
  private transactions = 0
  /** The last transaction that was requested. */
  private last: Promise<unknown> = Promise.resolve()
  private closed = false

  constructor() {
    this.readTransactions = new MemoryTransactions(this.state)
  }

  openKeyed<K>(name: string, codec: KeyCodec<K>): RawDatabase<K> {
    return this.open(name, new MemoryDatabase(this.state, encodedKeys(codec)))
  }

  openKeyedIfPresent<K>(name: string, codec: KeyCodec<K>): RawDatabase<K> {
    return this.openKeyed(name, codec)
  }

  openNumbered(name: string): RawDatabase<number> {
    return this.open(name, new MemoryDatabase(this.state, numericKeys))
  }

  private open<K>(name: string, created: MemoryDatabase<K>): MemoryDatabase<K> {
    assert(!this.databases.has(name), 'a database in memory is opened once')
    this.databases.set(name, created as MemoryDatabase<never>)
    return created
  }

  /** Runs `change` after the current code has run to its end, as a file does, so that no open snapshot sees half of it. */
  async transaction<T>(change: () => T): Promise<T> {
    assert(!this.closed, 'the store is closed')
    this.pendingCount += 1
    const before = this.last
    const done = before.then(() => this.run(change))
    this.last = done.catch(() => undefined)
    try {
      return await done
    } finally {
      this.pendingCount -= 1
    }
  }

  /** No other process writes, and no commit fails. */
  writeEpoch(): object {
    return this.state
  }

  writeTransaction(): number {
    return this.transactions + 1
  }

  lastTransaction(): number {
    return this.transactions
  }

  transactionSync(change: () => void): void {
    this.run(change)
  }

  private run<T>(change: () => T): T {
    this.state.isWriting = true
    try {
      return change()
    } finally {
      this.state.isWriting = false
      this.transactions += 1
      this.state.commit = {}
      this.readTransactions.endVersion()
    }
  }

  /** No other process reads this store. */
  clearStaleReaders(): void {}

  get isIdle(): boolean {
    return this.pendingCount === 0 && this.readTransactions.isIdle
  }

  get isClosed(): boolean {
    return this.closed
  }

  async close(): Promise<void> {
    if (this.closed) return
    this.closed = true
    await this.last
    this.readTransactions.close()
    for (const database of this.databases.values()) database.clear()
  }
}

/** One read transaction for each commit. */
class MemoryTransactions implements ReadTransactionPool {
  private readonly state: MemoryState
  private current: ReadTransaction
  private openCount = 0
  private closed = false

  constructor(state: MemoryState) {
    this.state = state
    this.current = { transaction: state.commit, commits: null, graphVersion: null }
  }

  acquire(): ReadTransaction {
    assert(!this.closed, 'the store is closed')
    this.openCount += 1
    return this.current
  }

  /** Any number of snapshots share the transaction. */
  acquireRecent(): ReadTransaction | null {
    return this.closed || this.current.graphVersion === null ? null : this.acquire()
  }

  commitCount(): null {
    return null
  }

  allowReuse(transaction: ReadTransaction, _commits: number | null, graphVersion: GraphVersion): void {
    transaction.graphVersion = graphVersion
  }

  release(): void {
    this.openCount -= 1
  }

  /** The next transaction sees another version. */
  endVersion(): void {
    this.current = { transaction: this.state.commit, commits: null, graphVersion: null }
  }

  get isIdle(): boolean {
    return this.openCount === 0
  }

  close(): void {
    this.closed = true
  }
}
