// The requirements of a graph environment on the file that contains it. LmdbFile implements it on disk, MemoryFile in memory.
import type { GraphVersion } from '../format/header.ts'
import type { KeyCodec } from '../format/keys.ts'
import type { RawDatabase, ReadOptions } from './raw-database.ts'

/** A read transaction. It begins with the first read through it. */
export interface ReadTransaction extends ReadOptions {
  /** If it may be reused: the commit count before it began, and the version that it sees. Otherwise null. */
  commits: number | null
  graphVersion: GraphVersion | null
}

/** Reads within the write transaction in progress, in the same turn of the event loop. */
export const IN_WRITE_TRANSACTION: ReadTransaction = { transaction: undefined, commits: null, graphVersion: null }

/** The read transactions of an environment. ReadTransactions describes the rules of reuse. */
export interface ReadTransactionPool {
  /** Returns a transaction that sees the latest commit. Release it in the same turn of the event loop. */
  acquire(): ReadTransaction
  /** Returns the transaction that was released in this turn, if no commit has happened since it began; else null. */
  acquireRecent(): ReadTransaction | null
  /** The commit count, to be read before a reusable transaction begins. Null if commits are not counted. */
  commitCount(): number | null
  /** Allows reuse of a transaction that began after `commits` was read, until the next commit. */
  allowReuse(transaction: ReadTransaction, commits: number | null, graphVersion: GraphVersion): void
  release(transaction: ReadTransaction): void
}

/** An open file of named databases. */
export interface EnvironmentFile {
  readonly readTransactions: ReadTransactionPool
  /** Opens a named database whose keys are encoded by the codec. */
  openKeyed<K>(name: string, codec: KeyCodec<K>): RawDatabase<K>
  /** As `openKeyed`; null if the environment is read-only and does not have the database. */
  openKeyedIfPresent<K>(name: string, codec: KeyCodec<K>): RawDatabase<K> | null
  /** Opens a named database whose keys are 32-bit integers. */
  openNumbered(name: string): RawDatabase<number>
  /** Runs `change`, which must not throw, in the next write transaction. Resolves when the commit is durable. */
  transaction<T>(change: () => T): Promise<T>
  /**
   * Within a write transaction: the same object as at the last call, if since then no transaction has been written without a
   * call, by this or another process, and no commit has failed.
   */
  writeEpoch(): object
  /** Within a write transaction: its number. The numbers of the transactions of all processes increase. */
  writeTransaction(): number
  /** The number of the last committed transaction. */
  lastTransaction(): number
  /** Runs a write transaction at once. Use it only while an environment is opened. */
  transactionSync(change: () => void): void
  /** Removes readers of killed processes. */
  clearStaleReaders(): void
  /** Whether no read, write or copy is in progress. */
  readonly isIdle: boolean
  /** Whether `close` was called. */
  readonly isClosed: boolean
  /** Closes the file after pending writes. */
  close(): Promise<void>
}
