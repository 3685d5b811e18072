// Ends a lane with the process that started it, also while the lane computes and reads no message: prctl(2),
// PR_SET_PDEATHSIG, on Linux. Elsewhere the closed channel ends it, when the lane next looks.

const PR_SET_PDEATHSIG = 1
const SIGKILL = 9
const LIBRARIES = ['libc.so.6', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1']

/** `parent`: its process id. */
export function endWithParent(parent: number): void {
  if (process.platform !== 'linux') return
  const { dlopen } = process.getBuiltinModule('bun:ffi') as typeof import('bun:ffi')
  for (const library of LIBRARIES) {
    try {
      const { symbols } = dlopen(library, { prctl: { args: ['i32', 'u64', 'u64', 'u64', 'u64'], returns: 'i32' } })
      symbols.prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0)
      // The parent may have ended before the call.
      if (process.ppid !== parent) process.exit(0)
      return
    } catch {
      // Another system's name of the C library.
    }
  }
}
