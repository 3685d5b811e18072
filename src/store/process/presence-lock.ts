// The lock that a process holds while it has an environment open. A process that can exclude the writers of others while it
// opens (flock by FFI, under Bun) holds it shared. Under Node, where that is not possible, a process holds it exclusively. The
// system releases the lock when the process ends in any way. See docs/decisions/0019-locks-and-processes.md.
import { spawnSync } from 'node:child_process'
import { closeSync, constants, openSync } from 'node:fs'
import { dirname } from 'node:path'
import { OperationalError } from '../../kernel/errors.ts'
import { type FileLock, hasFlock, lockWithFlock } from './flock.ts'

/** Flags of open(2) that also lock the file exclusively: as flock on BSD systems, as share mode 0 of libuv on Windows. */
const O_EXLOCK: Readonly<Record<string, number>> = {
  darwin: 0x20,
  freebsd: 0x20,
  openbsd: 0x20,
  win32: 0x10000000,
}

/** Codes of a file that is locked by another process. */
const LOCKED = new Set(['EAGAIN', 'EWOULDBLOCK', 'EBUSY'])

/** Codes of a file that this process may not create. */
const UNWRITABLE = new Set(['EROFS', 'EACCES', 'EPERM'])

/** Position of the locked file among the files that the `flock` command inherits. */
const INHERITED_AT = 3

/**
 * Acquires the lock in the file at `path`, which it creates if necessary. Returns null where no lock is needed or possible: under
 * Bun on Windows, and on a file system that is read-only. Throws OperationalError if another process excludes this one, or if the
 * system offers no lock.
 */
export function lockPresence(path: string): FileLock | null {
  const isNode = typeof Bun === 'undefined'
  if (!isNode && !hasFlock()) return null
  try {
    const lock = isNode ? lockExclusively(path) : lockWithFlock(path, 'shared')
    if (lock !== null) return lock
  } catch (failure) {
    const code = (failure as NodeJS.ErrnoException).code ?? ''
    if (code === 'EROFS' || (!isNode && UNWRITABLE.has(code))) return null
    throw failure
  }
  throw new OperationalError(
    isNode
      ? `the store in ${dirname(path)} is open in another process or worker thread; under Node only one may have it open`
      : `the store in ${dirname(path)} is open in a process under Node, which excludes all others`,
  )
}

function lockExclusively(path: string): FileLock | null {
  const flag = O_EXLOCK[process.platform]
  const file = flag === undefined ? openAndFlock(path) : openLocked(path, flag)
  if (file === null) return null
  let isHeld = true
  return {
    release() {
      if (isHeld) closeSync(file)
      isHeld = false
    },
  }
}

function openLocked(path: string, flag: number): number | null {
  try {
    // Windows has no O_NONBLOCK, and does not wait.
    return openSync(path, constants.O_RDWR | constants.O_CREAT | (constants.O_NONBLOCK ?? 0) | flag, 0o600)
  } catch (failure) {
    if (LOCKED.has((failure as NodeJS.ErrnoException).code ?? '')) return null
    throw failure
  }
}

/** A flock lock belongs to the open file, which the `flock` command inherits. It stays locked when the command has ended. */
function openAndFlock(path: string): number | null {
  const file = openSync(path, 'a', 0o600)
  const stdio: (number | 'ignore')[] = ['ignore', 'ignore', 'ignore']
  stdio[INHERITED_AT] = file
  const { status, error } = spawnSync('flock', ['-x', '-n', String(INHERITED_AT)], { stdio })
  if (status === 0) return file
  closeSync(file)
  if (status === 1) return null
  const reason = error === undefined ? `it ended with ${status}` : error.message
  throw new OperationalError(
    `the store in ${dirname(path)} cannot be locked with the command \`flock\` (${reason}): install it (package util-linux), or open the store with \`lockFolder: false\` and make sure that no other process opens it`,
  )
}
