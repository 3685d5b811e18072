// Excludes writers of all processes while one process opens an environment. When LMDB opens an environment it reads the number
// of the last commit from the file, and some time later stores it in the lock file that all processes share (`mdb_env_open2`).
// A commit in between is lost: readers see the older state, and the next writer overwrites the commit, acknowledged or not.
// Two flock locks, which the system releases when a process ends. The intent lock, on the folder: a writer acquires it shared
// for a moment, an opener holds it exclusively. The data lock, on the data file: writers hold it shared while they write, an
// opener acquires it exclusively. The intent lock prevents that a stream of writers starves an opener. Where there is no flock, the
// presence lock excludes other processes (process/presence-lock.ts).
import { closeSync, existsSync, openSync, rmSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { OperationalError, StorageWriteError } from '../../kernel/errors.ts'
import { CHECKED_LOCK_FILE, PRESENCE_LOCK_FILE } from '../../kernel/folder/data-folder.ts'
import { EXCLUSIVE, type FileLock, hasFlock, lockWithFlock, SHARED, tryFlock, UNLOCK } from '../process/flock.ts'
import { lockPresence } from '../process/presence-lock.ts'

/** Default: how long an opener waits for writers, and a writer for openers. */
const LOCK_TIMEOUT_MS = 10_000
const WRITER_LOCK_TIMEOUT_MS = 1000
/** For openings by a command, which blocks no requests: a transaction of an import, or a slow disk, may take long. */
export const COMMAND_LOCK_TIMEOUT_MS = 120_000
const POLL_INTERVAL_MS = 1

/** An opener that has held the intent lock this long releases it for a moment, so that waiting writers do not time out. */
const INTENT_HOLD_MAX_MS = 5000
const INTENT_PAUSE_MS = 50

/** Timed out waiting for other processes that use the folder. The folder itself is sound. */
export class LockTimeoutError extends OperationalError {
  override readonly name = 'LockTimeoutError'
}

/** Number of writes in progress in this process, in all folders. */
let pendingWrites = 0

/** By device and inode of the folder. All openings of a folder in this process share the locks, as they share LMDB's own. */
const openLocks = new Map<string, OpenLock>()

interface OpenAttempt {
  holdsIntent: boolean
}

/** The locks of one environment folder in this process. */
export class OpenLock {
  private readonly name: string
  private readonly file: string
  /** Null if the system has no flock. */
  private readonly intentLock: number | null
  /** Held while the folder is open. Null if the system needs or has none. */
  private readonly presence: FileLock | null
  /** Held while the folder is open and its pages were checked. */
  private checked: FileLock | null = null
  /** Open data file; null until it exists. */
  private dataLock: number | null = null
  private users = 0
  private writers = 0
  /** Number of openings of this process that hold the intent lock, and since when. */
  private intentHolders = 0
  private intentHeldSince = 0
  /** True while `open` runs: no process writes. */
  private isOpening = false
  /** The last of the waiting writers, in order. */
  private queue: Promise<void> | null = null

  private constructor(name: string, file: string, presence: FileLock | null) {
    this.name = name
    this.file = file
    this.presence = presence
    this.intentLock = hasFlock() ? openSync(dirname(file), 'r') : null
  }

  /**
   * Returns the lock for a data file, which need not exist, in an existing folder. Call `close` once per call. `lockFolder` false:
   * other processes are not excluded where that is necessary. Throws OperationalError if another process excludes this one.
   */
  static of(file: string, lockFolder = true): OpenLock {
    const { dev, ino } = statSync(dirname(file))
    const name = `${dev}:${ino}`
    let lock = openLocks.get(name)
    if (lock === undefined) {
      lock = new OpenLock(name, file, lockFolder ? lockPresence(join(dirname(file), PRESENCE_LOCK_FILE)) : null)
      openLocks.set(name, lock)
    }
    lock.users++
    return lock
  }

  /**
   * Blocks until no process writes, and excludes writers until `open` returns. Throws LockTimeoutError after the timeout. The
   * timeout is short if this process has writes in progress: they cannot finish while it blocks, and another process that
   * blocks in the same way may be waiting for them.
   */
  runExclusive<T>(open: () => T, timeoutMs = LOCK_TIMEOUT_MS): T {
    const opening: OpenAttempt = { holdsIntent: false }
    const until = Date.now() + (pendingWrites > 0 ? WRITER_LOCK_TIMEOUT_MS : timeoutMs)
    try {
      while (!this.tryExclude(opening)) {
        if (Date.now() > until) throw this.timeoutError()
        sleep(this.pause(opening))
      }
      return this.runOpen(open)
    } finally {
      this.releaseIntent(opening)
    }
  }

  /** As `runExclusive` without blocking the process. Do not call `close` before the promise settles. */
  async runExclusiveAsync<T>(open: () => T, timeoutMs = LOCK_TIMEOUT_MS): Promise<T> {
    const opening: OpenAttempt = { holdsIntent: false }
    const until = Date.now() + timeoutMs
    try {
      while (!this.tryExclude(opening)) {
        if (Date.now() > until) throw this.timeoutError()
        const pause = this.pause(opening)
        await new Promise((resolve) => setTimeout(resolve, pause))
      }
      return this.runOpen(open)
    } finally {
      this.releaseIntent(opening)
    }
  }

  /**
   * Whether a process that has the environment open knows that its pages were checked. Since then only LMDB has written to the file.
   * Call it while writers and other openers are excluded: it locks for a moment what those openers would look at.
   */
  isChecked(): boolean {
    if (this.checked !== null) return true
    if (this.intentLock === null) return false
    const path = checkedLockOf(dirname(this.file))
    if (!existsSync(path)) return false
    try {
      const lock = lockWithFlock(path, 'exclusive', this.file)
      lock?.release()
      return lock === null
    } catch {
      return false
    }
  }

  /** Records that the environment is open, and that its pages were checked, until the last `close`. Call it as `isChecked`. */
  setChecked(): void {
    if (this.checked !== null || this.intentLock === null) return
    const path = checkedLockOf(dirname(this.file))
    try {
      try {
        this.checked = lockWithFlock(path, 'shared', this.file)
      } catch (failure) {
        if ((failure as NodeJS.ErrnoException).code !== 'EACCES') throw failure
        // A lock that an earlier version has made for another user. A process that holds it loses it, and others only check again.
        rmSync(path)
        this.checked = lockWithFlock(path, 'shared', this.file)
      }
    } catch {
      // A folder that this process may not change: other processes check the pages themselves, and `doctor` reports it.
    }
  }

  /** Tries to exclude writers. True: no process writes, or begins to write before the current turn ends. */
  private tryExclude(opening: OpenAttempt): boolean {
    if (this.intentLock === null || this.isAlreadyOpenForWriting()) return true
    if (!opening.holdsIntent) {
      if (this.intentHolders === 0) {
        if (!tryFlock(this.intentLock, EXCLUSIVE)) return false
        this.intentHeldSince = Date.now()
      }
      opening.holdsIntent = true
      this.intentHolders++
      this.openDataLock()
    }
    return this.dataLock === null || tryFlock(this.dataLock, EXCLUSIVE)
  }

  /** Milliseconds to wait before the next attempt. */
  private pause(opening: OpenAttempt): number {
    if (!opening.holdsIntent || Date.now() - this.intentHeldSince < INTENT_HOLD_MAX_MS) return POLL_INTERVAL_MS
    this.releaseIntent(opening)
    return INTENT_PAUSE_MS
  }

  /** Whether this process writes to the environment, hence has it open. Then LMDB opens no file. */
  private isAlreadyOpenForWriting(): boolean {
    return this.isOpening || this.writers > 0
  }

  private runOpen<T>(open: () => T): T {
    if (this.isAlreadyOpenForWriting()) return open()
    this.isOpening = true
    try {
      return open()
    } finally {
      this.isOpening = false
      if (this.dataLock === null) this.openDataLock()
      else tryFlock(this.dataLock, UNLOCK)
    }
  }

  private releaseIntent(opening: OpenAttempt): void {
    if (!opening.holdsIntent) return
    opening.holdsIntent = false
    this.intentHolders--
    if (this.intentHolders === 0 && this.intentLock !== null) tryFlock(this.intentLock, UNLOCK)
  }

  private timeoutError(): LockTimeoutError {
    return new LockTimeoutError(`${this.file} is busy: timed out waiting for other processes to finish writing`)
  }

  /** The file may not have existed before, or may have been replaced. */
  private openDataLock(): void {
    if (this.intentLock === null) return
    const found = existsSync(this.file) ? openSync(this.file, 'r') : null
    this.closeDataLock()
    this.dataLock = found
  }

  private closeDataLock(): void {
    if (this.dataLock !== null) closeSync(this.dataLock)
    this.dataLock = null
  }

  /**
   * Call it before a write, and `endWrite` after it. Returns null if the write may begin at once; otherwise the promise
   * resolves in the order of the waiting writers. Rejects with StorageWriteError after the timeout.
   */
  beginWrite(): Promise<void> | null {
    if (this.queue === null && this.tryShare()) {
      this.countWrite()
      return null
    }
    const until = Date.now() + LOCK_TIMEOUT_MS
    const wait = () => this.waitToWrite(until)
    const turn = (this.queue ?? Promise.resolve()).then(wait, wait)
    this.queue = turn
    const end = () => {
      if (this.queue === turn) this.queue = null
    }
    turn.then(end, end)
    return turn
  }

  private async waitToWrite(until: number): Promise<void> {
    while (!this.tryShare()) {
      if (this.users === 0) throw new StorageWriteError(`${this.file} was closed`, null)
      if (Date.now() > until)
        throw new StorageWriteError(`timed out while another process was opening ${this.file}`, null)
      await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS))
    }
    this.countWrite()
  }

  /** Runs `write` as a write. Blocks while another process opens the folder. Throws LockTimeoutError. */
  writeSync<T>(write: () => T): T {
    if (this.isOpening || this.users === 0) return write()
    const until = Date.now() + LOCK_TIMEOUT_MS
    // With a write in progress in this process no other process can be opening, so waiting would not end.
    while (this.writers === 0 && !this.tryShare()) {
      if (Date.now() > until)
        throw new LockTimeoutError(`${this.file} is busy: timed out waiting for another process to finish opening it`)
      sleep(POLL_INTERVAL_MS)
    }
    this.countWrite()
    try {
      return write()
    } finally {
      this.endWrite()
    }
  }

  private tryShare(): boolean {
    if (this.users === 0) return false
    if (this.intentLock === null) return true
    // While this process holds the intent lock no other process opens, and its own opening waits for writers.
    if (this.intentHolders > 0) return this.tryShareData()
    if (!tryFlock(this.intentLock, SHARED)) return false
    try {
      return this.tryShareData()
    } finally {
      tryFlock(this.intentLock, UNLOCK)
    }
  }

  private tryShareData(): boolean {
    return this.writers > 0 || this.dataLock === null || tryFlock(this.dataLock, SHARED)
  }

  private countWrite(): void {
    this.writers++
    pendingWrites++
  }

  /** Ends a write, successful or not. */
  endWrite(): void {
    this.writers--
    pendingWrites--
    if (this.writers === 0 && this.dataLock !== null) tryFlock(this.dataLock, UNLOCK)
  }

  /** Releases the locks after the last `close`. */
  close(): void {
    this.users--
    if (this.users > 0) return
    openLocks.delete(this.name)
    this.closeDataLock()
    if (this.intentLock !== null) closeSync(this.intentLock)
    this.checked?.release()
    this.presence?.release()
  }
}

function checkedLockOf(folder: string): string {
  return join(folder, CHECKED_LOCK_FILE)
}

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
