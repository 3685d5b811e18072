// Locks on files that the system releases when their process ends, in any way: flock, or SQLite's locks on systems without flock.
import { type FileLock, hasFlock, type LockMode, lockWithFlock } from './flock.ts'
import { lockWithSqlite } from './sqlite-lock.ts'

export type { FileLock, LockMode } from './flock.ts'

/** Wait between two attempts to acquire a lock. */
const POLL_MS = 5

/**
 * Acquires a lock on the file at `path`, which it creates if necessary. Blocks the process for at most `timeoutMs`. Returns null
 * if another holder, of this process or of another, still has a conflicting lock. Throws the error of opening the file.
 */
export function lockFile(path: string, mode: LockMode, timeoutMs = 0): FileLock | null {
  const acquire = hasFlock() ? lockWithFlock : lockWithSqlite
  const until = Date.now() + timeoutMs
  for (;;) {
    const lock = acquire(path, mode)
    if (lock !== null || Date.now() >= until) return lock
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, POLL_MS)
  }
}
