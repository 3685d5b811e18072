// Wraps lmdb-js: the operations that the store uses, with our own types. This file contains writes and their error handling;
// opening (open-file.ts, open-lock.ts), reads (read-transactions.ts) and limits are in their own files.
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { RootDatabase } from 'lmdb'
import { OperationalError, StorageWriteError } from '../../kernel/errors.ts'
import { DATA_FILE } from '../../kernel/folder/data-folder.ts'
import type { KeyCodec } from '../format/keys.ts'
import { rememberFileState } from '../pages/file-check.ts'
import { diskFullReason } from './disk-full.ts'
import type { EnvironmentFile } from './environment-file.ts'
import { interruptedMigrationMessage, migrationBackup } from './environment-folder.ts'
import { DamagedFileError, type LmdbFileOptions, MAP_BYTES, openChecked } from './open-file.ts'
import { OpenLock } from './open-lock.ts'
import { entryCountOf, type RawDatabase } from './raw-database.ts'
import { ReadTransactions } from './read-transactions.ts'
import { reserveAddressSpace } from './resource-limits.ts'

function ignore(): void {}

/** A folder that is read lacks a database: the process that creates it has not finished, or the folder is damaged. */
export class MissingDatabaseError extends OperationalError {}

/** Options of a named database. */
interface DatabaseOptions {
  readonly name: string
  readonly encoding: 'binary'
  readonly keyEncoder?: object
  readonly keyEncoding?: 'uint32'
}

/** The environment of lmdb-js, which its type declarations omit. */
interface NativeEnvironment {
  info(): { readonly lastTxnId: number }
}

/**
 * LMDB does not compact a file with pages that are neither used nor free, as a write on a full disk can leave them. All entries are
 * intact; the pages are lost space.
 */
export class LeakedPagesError extends OperationalError {
  override readonly name = 'LeakedPagesError'
}

/** One open LMDB environment. */
export class LmdbFile implements EnvironmentFile {
  readonly readTransactions: ReadTransactions
  private readonly path: string
  private readonly file: string
  /** Identifies the open file, even if its path later refers to another file. */
  private readonly inode: number
  private readonly root: RootDatabase
  private readonly releaseAddressSpace: () => void
  private readonly openLock: OpenLock
  private readonly isReadOnly: boolean
  private readonly commitCounter: LmdbFileOptions['commitCounter'] | null
  /** Names of the databases that were opened here. */
  private readonly opened = new Set<string>()
  private closed = false
  /** Number of writes and copies in progress. */
  private pendingCount = 0
  private isHandlingRejection = false
  /** See `writeEpoch`. */
  private epoch: object = {}
  /** LMDB's number of the transaction of the last call of `writeEpoch`. */
  private epochTransaction = 0

  /**
   * Opens the environment in the folder `path`, and creates it unless `readOnly`. Blocks until no process writes to it. Throws
   * OperationalError if the folder is damaged or cannot be opened, ResourceLimitError, or LockTimeoutError.
   */
  constructor(path: string, options: LmdbFileOptions) {
    this.path = path
    this.commitCounter = options.commitCounter ?? null
    this.isReadOnly = options.readOnly === true
    // A new empty environment would hide the data of an interrupted migration.
    if (!existsSync(join(path, DATA_FILE)) && existsSync(migrationBackup(path)))
      throw new OperationalError(interruptedMigrationMessage(path))
    // lmdb-js would create the folder before it finds that it may not write.
    if (this.isReadOnly && !existsSync(join(path, DATA_FILE)))
      throw new OperationalError(`the folder ${path} contains no store`)
    const file = join(path, DATA_FILE)
    this.file = file
    this.releaseAddressSpace = reserveAddressSpace(path, options.mapBytes ?? MAP_BYTES)
    let lock: OpenLock | null = null
    try {
      if (!this.isReadOnly) mkdirSync(path, { recursive: true, mode: 0o700 })
      const own = OpenLock.of(file, options.lockFolder)
      lock = own
      this.openLock = own
      this.root = own.runExclusive(() => openChecked(path, options, own), options.lockTimeoutMs)
      this.inode = statSync(file).ino
      this.readTransactions = new ReadTransactions((this.root as unknown as { env: object }).env, this.commitCounter)
    } catch (failure) {
      lock?.close()
      this.releaseAddressSpace()
      if (failure instanceof OperationalError) throw failure
      throw new OperationalError(`the store in ${path} cannot be opened: ${(failure as Error).message}`)
    }
  }

  /** Opens a named database whose keys are encoded by the codec. */
  openKeyed<K>(name: string, keyEncoder: KeyCodec<K>): RawDatabase<K> {
    return this.openNamed({ name, encoding: 'binary', keyEncoder })
  }

  /** Opens a named database whose keys are 32-bit integers. */
  openNumbered(name: string): RawDatabase<number> {
    return this.openNamed({ name, encoding: 'binary', keyEncoding: 'uint32' })
  }

  /** As `openKeyed`; null if the environment is read-only and does not have the database. */
  openKeyedIfPresent<K>(name: string, keyEncoder: KeyCodec<K>): RawDatabase<K> | null {
    const options: DatabaseOptions = { name, encoding: 'binary', keyEncoder }
    return this.isReadOnly ? (this.findNamed(options) ?? null) : this.openNamed(options)
  }

  private openNamed<K>(options: DatabaseOptions): RawDatabase<K> {
    const found = this.findNamed<K>(options)
    if (found !== undefined) return found
    if (this.isReadOnly) throw new MissingDatabaseError('the folder contains no such database')
    return this.openLock.writeSync(() => {
      // Databases are created in the order in which they are opened. If there are others, another process has created this one since,
      // or it was renamed or lost.
      if (entryCountOf(this.root) > this.opened.size) {
        const created = this.findNamed<K>(options)
        if (created !== undefined) return created
        throw new DamagedFileError(this.file, `is damaged: the database ${options.name} is missing`)
      }
      return this.remember(options.name, this.root.openDB(options) as RawDatabase<K>)
    })
  }

  private findNamed<K>(options: DatabaseOptions): RawDatabase<K> | undefined {
    const find = () => this.root.openDB({ ...options, create: false } as DatabaseOptions) as RawDatabase<K> | undefined
    const found = this.isReadOnly ? find() : this.openLock.writeSync(find)
    return found && this.remember(options.name, found)
  }

  private remember<K>(name: string, database: RawDatabase<K>): RawDatabase<K> {
    this.opened.add(name)
    return database
  }

  /**
   * Runs `change` in the next write transaction. The promise resolves when the commit is on disk. It rejects with
   * StorageWriteError if the commit could not be written; then nothing is changed. `change` must not throw, because lmdb-js
   * would commit what it has written until then.
   */
  async transaction<T>(change: () => T): Promise<T> {
    this.pendingCount += 1
    try {
      const turn = this.openLock.beginWrite()
      // Awaited only if needed: writes of one turn of the event loop share one LMDB transaction.
      if (turn !== null) await turn
      return await this.committed(change)
    } finally {
      this.pendingCount -= 1
    }
  }

  private async committed<T>(change: () => T): Promise<T> {
    try {
      // LMDB would write to a file that was removed or replaced, and no process would read it.
      if (!this.isAtItsPath())
        throw new StorageWriteError(`${this.file} was removed or replaced since it was opened`, null)
      const committed = this.root.transaction(change)
      this.handleBatchRejection()
      return await committed
    } catch (failure) {
      // The next transaction has the number of the one that failed.
      this.epoch = {}
      throw await this.asWriteError(failure)
    } finally {
      // Before the writer is notified: a decision made after that must not use an older read transaction.
      this.commitCounter?.increment()
      this.openLock.endWrite()
    }
  }

  /** LMDB numbers the committed transactions of all processes without holes. */
  writeEpoch(): object {
    const transaction = this.root.getWriteTxnId()
    if (transaction !== this.epochTransaction && transaction !== this.epochTransaction + 1) this.epoch = {}
    this.epochTransaction = transaction
    return this.epoch
  }

  /** The number of the write transaction in progress. One that fails has the number of the next. */
  writeTransaction(): number {
    return this.root.getWriteTxnId()
  }

  /** The number of the last transaction that any process has committed. Takes 2 µs. */
  lastTransaction(): number {
    if (this.closed) throw new Error('assertion failed: the store is closed')
    return (this.root as unknown as { env: NativeEnvironment }).env.info().lastTxnId
  }

  /** Whether the path still refers to the open file. */
  isAtItsPath(): boolean {
    return statSync(this.file, { throwIfNoEntry: false })?.ino === this.inode
  }

  /**
   * lmdb-js runs the writes of one turn in a batch with a promise of its own, which it does not return. The getter `committed`
   * is the only access to that promise. Without a handler its rejection would end the process.
   */
  private handleBatchRejection(): void {
    if (this.isHandlingRejection) return
    this.isHandlingRejection = true
    setImmediate(() => {
      this.isHandlingRejection = false
      this.root.committed.then(ignore, ignore)
    })
  }

  /** lmdb-js rejects a second promise, `commitError`. Without a handler that rejection would end the process. */
  private async asWriteError(failure: unknown): Promise<unknown> {
    const { commitError } = failure as { commitError?: Promise<never> }
    if (commitError === undefined) return failure
    let cause = new Error('the commit failed')
    commitError.catch((reason: unknown) => {
      if (reason instanceof Error) cause = reason
    })
    // The promise is rejected in this turn of the event loop or never.
    await new Promise((resolve) => setImmediate(resolve))
    return new StorageWriteError(cause.message, diskFullReason(cause, this.path, this.file))
  }

  /** Runs a write transaction and blocks the process. Use it only while an environment is opened. */
  transactionSync(change: () => void): void {
    this.openLock.writeSync(() => this.root.transactionSync(change))
  }

  /**
   * Writes a copy without free pages into a new folder, as of the start of the copy. Throws LeakedPagesError if LMDB finds pages that
   * are neither used nor free, OperationalError for other errors.
   */
  async copyCompacted(folder: string): Promise<void> {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    this.pendingCount += 1
    try {
      await this.root.backup(folder, true)
    } catch (failure) {
      const { message } = failure as Error
      if (!message.startsWith('MDB_INCOMPATIBLE')) throw new OperationalError(`${folder} cannot be written: ${message}`)
      throw new LeakedPagesError(
        `${this.path} cannot be compacted, because it has pages that are neither used nor free: export it, and import that into a new folder`,
      )
    } finally {
      this.pendingCount -= 1
    }
  }

  /** Removes readers of killed processes from the reader table. Otherwise their pages stay in use until the next open. */
  clearStaleReaders(): void {
    if (!this.closed) this.root.readerCheck()
  }

  /** Whether no read, write or copy is in progress. */
  get isIdle(): boolean {
    return this.pendingCount === 0 && this.readTransactions.isIdle
  }

  /** Whether `close` was called. */
  get isClosed(): boolean {
    return this.closed
  }

  /** Closes the environment after pending writes. */
  async close(): Promise<void> {
    if (this.closed) return
    this.closed = true
    this.readTransactions.close()
    try {
      await this.root.close()
      rememberFileState(this.file)
    } finally {
      this.releaseAddressSpace()
      this.openLock.close()
    }
  }
}
