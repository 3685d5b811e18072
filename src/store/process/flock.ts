// Locks on open files that the system drops with whoever holds them, however that one ends: flock(2), which neither Bun nor
// Node has by itself.
import { OperationalError } from '../../kernel/errors.ts'

export const SHARED = 1
export const EXCLUSIVE = 2
const NON_BLOCKING = 4
export const UNLOCK = 8

/** flock(2): 0, or -1 where it would have to wait. */
type FlockFunction = (file: number, operation: number) => number

/** The names of the C library, by system. */
const GLIBC_NAME = 'libc.so.6'
const LIBC_NAMES = [GLIBC_NAME, 'libSystem.B.dylib', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1']

let flock: FlockFunction | null = null

/** mallopt(3): from this size on, memory is mapped anew and given back to the system at once. */
const M_MMAP_THRESHOLD = -3
const MAPPED_BYTES = 128 * 1024

/** Node and Windows have none: there a folder is to be opened by one process alone. */
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
    // LMDB takes some MiB for each environment and touches little of them. After the first is closed, glibc would keep
    // such memory for the next one, which has to fill it with zeros: 2.5 MiB and 0.8 ms for each graph that is opened.
    symbols.mallopt(M_MMAP_THRESHOLD, MAPPED_BYTES)
    return symbols.flock
  } catch {
    // Another C library.
  }
  for (const library of LIBC_NAMES) {
    try {
      return dlopen(library, { flock: { args: ['i32', 'i32'], returns: 'i32' } }).symbols.flock
    } catch {
      // Another system's name.
    }
  }
  throw new OperationalError('the C library of this system is not found, and no store is opened without its locks')
}

/** False: somebody else has it. */
export function tryFlock(file: number, operation: number): boolean {
  return flock?.(file, operation | NON_BLOCKING) === 0
}
