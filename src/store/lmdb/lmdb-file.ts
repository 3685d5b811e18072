// The one door to an environment on disk: what the store uses of the lmdb package, in our own types. Writes and what becomes of
// them when they fail are here; reading, opening and the folder have rooms of their own.
import { existsSync, mkdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { RootDatabase } from 'lmdb'
import { OperationalError, StorageWriteError } from '../../kernel/errors.ts'
import type { KeyCodec } from '../format/keys.ts'
import { rememberFileState } from '../pages/file-check.ts'
import { diskFullReason } from './disk-full.ts'
import { DATA_FILE, interruptedMigrationMessage, migrationBackup } from './environment-folder.ts'
import { type LmdbFileOptions, MAP_BYTES, openChecked } from './open-file.ts'
import { OpenLock } from './open-lock.ts'
import type { RawDatabase } from './raw-database.ts'
import { ReadTransactions } from './read-transactions.ts'
import { reserveAddressSpace } from './resource-limits.ts'

function ignore(): void {}

/** One LMDB environment on disk. */
export class LmdbFile {
  readonly readTransactions: ReadTransactions
  private readonly path: string
  private readonly file: string
  /** What the system knows the open file by, whatever its path leads to later. */
  private readonly inode: number
  private readonly root: RootDatabase
  private readonly releaseAddressSpace: () => void
  private readonly openLock: OpenLock
  private readonly isReadOnly: boolean
  private readonly commitCounter: LmdbFileOptions['commitCounter'] | null
  private closed = false
  /** Writes and copies that have begun and not ended. */
  private pendingCount = 0
  private isHandlingRejection = false

  constructor(path: string, options: LmdbFileOptions) {
    this.path = path
    this.commitCounter = options.commitCounter ?? null
    this.isReadOnly = options.readOnly === true
    // An empty store in its place would hide what is there.
    if (!existsSync(join(path, DATA_FILE)) && existsSync(migrationBackup(path)))
      throw new OperationalError(interruptedMigrationMessage(path))
    // The package would make the folder before it finds that it may not write.
    if (this.isReadOnly && !existsSync(join(path, DATA_FILE)))
      throw new OperationalError(`the folder ${path} holds no store`)
    const file = join(path, DATA_FILE)
    this.file = file
    this.releaseAddressSpace = reserveAddressSpace(path, options.mapBytes ?? MAP_BYTES)
    let gate: OpenLock | null = null
    try {
      if (!this.isReadOnly) mkdirSync(path, { recursive: true, mode: 0o700 })
      gate = OpenLock.of(file)
      this.openLock = gate
      this.root = gate.runExclusive(() => openChecked(path, options))
      this.inode = statSync(file).ino
      this.readTransactions = new ReadTransactions((this.root as unknown as { env: object }).env, this.commitCounter)
    } catch (failure) {
      gate?.close()
      this.releaseAddressSpace()
      if (failure instanceof OperationalError) throw failure
      throw new OperationalError(`the store in ${path} cannot be opened: ${(failure as Error).message}`)
    }
  }

  openKeyed<K>(name: string, keyEncoder: KeyCodec<K>): RawDatabase<K> {
    return this.openNamed({ name, encoding: 'binary', keyEncoder })
  }

  /** Keys are plain numbers up to 32 bits. */
  openNumbered(name: string): RawDatabase<number> {
    return this.openNamed({ name, encoding: 'binary', keyEncoding: 'uint32' })
  }

  private openNamed<K>(options: object): RawDatabase<K> {
    const openIt = () => this.root.openDB(options as { name: string }) as RawDatabase<K> | undefined
    const database = this.isReadOnly ? openIt() : this.openLock.writeSync(openIt)
    if (database === undefined) throw new Error('the folder holds no such store')
    return database
  }

  /**
   * Runs `change` in the next write transaction. The promise resolves when the commit is on disk, and rejects with
   * WriteFault when it could not be written: then nothing of it is, and what was committed before stays as it is.
   * `change` does not throw, for the package would commit what it has written by then.
   */
  async transaction<T>(change: () => T): Promise<T> {
    this.pendingCount += 1
    try {
      const turn = this.openLock.beginWrite()
      // Awaited only where it must be: what is written in one turn shares a batch.
      if (turn !== null) await turn
      return await this.committed(change)
    } finally {
      this.pendingCount -= 1
    }
  }

  private async committed<T>(change: () => T): Promise<T> {
    try {
      // A file that was removed or replaced takes what is written to it, and nobody ever reads it again.
      if (!this.isAtItsPath())
        throw new StorageWriteError(`${this.file} is not the file any more that was opened`, null)
      const committed = this.root.transaction(change)
      this.handleBatchRejection()
      return await committed
    } catch (failure) {
      throw await this.asWriteError(failure)
    } finally {
      // Before anybody is told: a decision after that must not be made of a view from before.
      this.commitCounter?.bump()
      this.openLock.endWrite()
    }
  }

  /** Its path still leads to it. */
  isAtItsPath(): boolean {
    return statSync(this.file, { throwIfNoEntry: false })?.ino === this.inode
  }

  /**
   * The package begins a batch of its own for all that is written in one turn, and drops the promise of it; the getter is
   * the one way to that promise, from the moment at which the package has begun the batch.
   */
  private handleBatchRejection(): void {
    if (this.isHandlingRejection) return
    this.isHandlingRejection = true
    setImmediate(() => {
      this.isHandlingRejection = false
      this.root.committed.then(ignore, ignore)
    })
  }

  /** The package rejects a promise of its own beside; whoever does not look at that one ends the process. */
  private async asWriteError(failure: unknown): Promise<unknown> {
    const { commitError } = failure as { commitError?: Promise<never> }
    if (commitError === undefined) return failure
    let cause = new Error('the commit failed')
    commitError.catch((reason: unknown) => {
      if (reason instanceof Error) cause = reason
    })
    // It is rejected within this turn, or never.
    await new Promise((resolve) => setImmediate(resolve))
    return new StorageWriteError(cause.message, diskFullReason(cause, this.path, this.file))
  }

  /** Blocks the process: for opening only. */
  transactionSync(change: () => void): void {
    this.openLock.writeSync(() => this.root.transactionSync(change))
  }

  /** A copy without free pages, as of when it begins, in a folder that holds none. */
  async copyCompacted(folder: string): Promise<void> {
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    this.pendingCount += 1
    try {
      await this.root.backup(folder, true)
    } catch (failure) {
      throw new OperationalError(`${folder} cannot be written: ${(failure as Error).message}`)
    } finally {
      this.pendingCount -= 1
    }
  }

  /** Lets go of the pages that readings of killed processes hold; else they are kept until somebody opens the file. */
  clearStaleReaders(): void {
    if (!this.closed) this.root.readerCheck()
  }

  /** Nothing is read, written or copied. */
  get isIdle(): boolean {
    return this.pendingCount === 0 && this.readTransactions.isIdle
  }

  get isClosed(): boolean {
    return this.closed
  }

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
