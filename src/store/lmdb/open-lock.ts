// Keeps the writers of all processes still while one of them opens an environment. LMDB puts the number of the last commit
// into the table that all processes share, as it has read it from the file some moments before (`mdb_env_open2`): a commit in
// between is taken back by that. Readers see the state before it, and the next writer writes over it, acknowledged or not.
// Two locks that the system drops with their process: on the folder, the turnstile that a writer passes and an opener holds;
// on the data file, what writers share and an opener waits to have alone. The turnstile lets no stream of writers starve it.
import { closeSync, existsSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { OperationalError, StorageWriteError } from '../../kernel/errors.ts'
import { EXCLUSIVE, hasFlock, SHARED, tryFlock, UNLOCK } from '../process/flock.ts'

/** For an opening to end, or for those who write to finish what they have begun. */
const LOCK_TIMEOUT_MS = 10_000
const WRITER_LOCK_TIMEOUT_MS = 1000
/** One transaction of an import, and a slow disk, take longer. */
const COMMAND_LOCK_TIMEOUT_MS = 120_000
const POLL_INTERVAL_MS = 1

/** An opening that has waited so long lets those pass who wait to write, before they lose their patience. */
const INTENT_HOLD_MAX_MS = 5000
const INTENT_PAUSE_MS = 50

let lockTimeoutMs = LOCK_TIMEOUT_MS

/** In a process that does one thing and ends: nobody waits for what it has open. */
export function setLockTimeout(): void {
  lockTimeoutMs = COMMAND_LOCK_TIMEOUT_MS
}

/** Nothing is wrong with the folder: somebody else does not get on. */
export class LockTimeoutError extends OperationalError {
  override readonly name = 'BusyFault'
}

/** In all folders: writes that this process has begun and not finished. */
let pendingWrites = 0

/** By the folder's device and inode: those that open one folder twice in a process share the locks, as they share LMDB's. */
const openLocks = new Map<string, OpenLock>()

interface OpenAttempt {
  holdsIntent: boolean
}

export class OpenLock {
  private readonly name: string
  private readonly file: string
  /** Null where there are no such locks. */
  private readonly intentLock: number | null
  /** The data file, once there is one. */
  private dataLock: number | null = null
  private users = 0
  private writers = 0
  /** Openings of this process that have the turnstile, and since when. */
  private intentHolders = 0
  private intentHeldSince = 0
  /** Within an opening: nobody writes, in no process. */
  private isOpening = false
  /** The last of those who wait to write, in their order. */
  private queue: Promise<void> | null = null

  private constructor(name: string, file: string, turnstile: number | null) {
    this.name = name
    this.file = file
    this.intentLock = turnstile
  }

  /** Of a data file that need not exist, in a folder that does. To be closed as often as it was asked for. */
  static of(file: string): OpenLock {
    const { dev, ino } = statSync(dirname(file))
    const name = `${dev}:${ino}`
    let gate = openLocks.get(name)
    if (gate === undefined) {
      gate = new OpenLock(name, file, hasFlock() ? openSync(dirname(file), 'r') : null)
      openLocks.set(name, gate)
    }
    gate.users++
    return gate
  }

  /**
   * Blocks until nobody writes, and lets nobody begin before `open` has ended. Throws BusyFault when that takes long: this
   * process finishes no write of its own meanwhile, for which another may be waiting that blocks in the same way.
   */
  runExclusive<T>(open: () => T): T {
    const opening: OpenAttempt = { holdsIntent: false }
    const until = Date.now() + (pendingWrites > 0 ? WRITER_LOCK_TIMEOUT_MS : lockTimeoutMs)
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

  /** As `whileStill`, and this process goes on meanwhile. To be kept open until it is over. */
  async runExclusiveAsync<T>(open: () => T): Promise<T> {
    const opening: OpenAttempt = { holdsIntent: false }
    const until = Date.now() + lockTimeoutMs
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

  /** True: nobody writes, and nobody begins before this turn is over. */
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

  /** Until it is looked again. */
  private pause(opening: OpenAttempt): number {
    if (!opening.holdsIntent || Date.now() - this.intentHeldSince < INTENT_HOLD_MAX_MS) return POLL_INTERVAL_MS
    this.releaseIntent(opening)
    return INTENT_PAUSE_MS
  }

  /** What this process is writing to it has open already, and LMDB opens nothing anew. */
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
    return new LockTimeoutError(`${this.file} is busy: others do not stop writing to it`)
  }

  /** The file may be another one by now, or there may be one at last. */
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
   * Before a write begins, which lasts until `leave`. Null: it may begin at once; else it waits behind those who wait
   * already. Rejects with WriteFault when it waits for long.
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
      if (Date.now() > until) throw new StorageWriteError(`another process does not finish opening ${this.file}`, null)
      await new Promise((resolve) => setTimeout(resolve, POLL_INTERVAL_MS))
    }
    this.countWrite()
  }

  /** Blocks while somebody else is opening the folder. */
  writeSync<T>(write: () => T): T {
    if (this.isOpening || this.users === 0) return write()
    const until = Date.now() + LOCK_TIMEOUT_MS
    // A write of this process under way keeps others from opening: to wait for them would be to wait for itself.
    while (this.writers === 0 && !this.tryShare()) {
      if (Date.now() > until)
        throw new LockTimeoutError(`${this.file} is busy: another process does not finish opening it`)
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
    // An opening of this process keeps others from theirs, and waits for what passes here, too.
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

  /** The write is on disk, or has failed. */
  endWrite(): void {
    this.writers--
    pendingWrites--
    if (this.writers === 0 && this.dataLock !== null) tryFlock(this.dataLock, UNLOCK)
  }

  close(): void {
    this.users--
    if (this.users > 0) return
    openLocks.delete(this.name)
    this.closeDataLock()
    if (this.intentLock !== null) closeSync(this.intentLock)
  }
}

function sleep(ms: number): void {
  Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms)
}
