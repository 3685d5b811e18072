// flock(2) by FFI, which neither Bun nor Node offers. The system releases such a lock when the process ends, in any way.
import { closeSync, existsSync, fchmodSync, fchownSync, openSync, statSync } from 'node:fs'
import { dirname } from 'node:path'
import { OperationalError } from '../../kernel/errors.ts'

/** A lock that this process holds. */
export interface FileLock {
  /** Releases the lock. Further calls have no effect. */
  release(): void
}

/** `exclusive`: no other lock on the file. `shared`: no exclusive lock on the file. */
export type LockMode = 'exclusive' | 'shared'

/** LOCK_SH. */
export const SHARED = 1
/** LOCK_EX. */
export const EXCLUSIVE = 2
const NON_BLOCKING = 4
/** LOCK_UN. */
export const UNLOCK = 8

/** flock(2): 0, or -1 if the lock is not available. */
type FlockFunction = (file: number, operation: number) => number

/** Names of the C library, by system. */
const GLIBC_NAME = 'libc.so.6'
const LIBC_NAMES = [GLIBC_NAME, 'libSystem.B.dylib', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1']

let flock: FlockFunction | null = null

/** mallopt(3): allocations of at least this size are mapped, and returned to the system when they are freed. */
const M_MMAP_THRESHOLD = -3
const MAPPED_BYTES = 128 * 1024

/** Whether flock is available: under Bun, except on Windows. Elsewhere only one process may open a folder. */
export function hasFlock(): boolean {
  if (typeof Bun === 'undefined' || process.platform === 'win32') return false
  flock ??= findFlock()
  return true
}

function findFlock(): FlockFunction {
  const { dlopen } = process.getBuiltinModule('bun:ffi') as typeof import('bun:ffi')
  try {
    const { symbols } = dlopen(GLIBC_NAME, {
      flock: { args: ['i32', 'i32'], returns: 'i32' },
      mallopt: { args: ['i32', 'i32'], returns: 'i32' },
    })
    // LMDB allocates several MiB per environment and touches little of it. After the first close, glibc would keep that memory
    // for the next environment, which must fill it with zeros: 2.5 MiB and 0.8 ms for each graph that is opened.
    symbols.mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES)
    return symbols.flock
  } catch {
    // The system has another C library.
  }
  for (const library of LIBC_NAMES) {
    try {
      return dlopen(library, { flock: { args: ['i32', 'i32'], returns: 'i32' } }).symbols.flock
    } catch {
      // Try the next name.
    }
  }
  throw new OperationalError('the C library of this system was not found; it is needed for file locks')
}

/** Applies an operation to an open file without waiting. Returns false if another process holds a conflicting lock. */
export function tryFlock(file: number, operation: number): boolean {
  return flock?.(file, operation | NON_BLOCKING) === 0
}

/** As `lockFile` with a timeout of 0. `like`: a file whose users may all open the lock; absent: only the owner of the folder may. */
export function lockWithFlock(path: string, mode: LockMode, like?: string): FileLock | null {
  const isNew = !existsSync(path)
  const file = openSync(path, 'a', 0o600)
  if (isNew) admitUsers(file, path, like)
  if (!tryFlock(file, mode === 'exclusive' ? EXCLUSIVE : SHARED)) {
    closeSync(file)
    return null
  }
  let isHeld = true
  return {
    release() {
      if (!isHeld) return
      isHeld = false
      // A child process that is just being spawned may share the descriptor, so closing it is not enough.
      tryFlock(file, UNLOCK)
      closeSync(file)
    },
  }
}

/** A command of the administrator must not leave a lock that the user of the service cannot open. */
function admitUsers(file: number, path: string, like: string | undefined): void {
  const { uid, gid, mode } = statSync(like ?? dirname(path))
  if (process.getuid?.() === 0) fchownSync(file, uid, gid)
  if (like !== undefined) fchmodSync(file, mode & 0o666)
}
