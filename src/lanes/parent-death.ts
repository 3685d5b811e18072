// Ends a process with the one that started it, also while it computes and reads no message: prctl(2), PR_SET_PDEATHSIG,
// on Linux. Elsewhere the closed channel ends it, when it next looks.

const PR_SET_PDEATHSIG = 1
const SIGKILL = 9
const LIBC_NAMES = ['libc.so.6', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1']

/** `parent`: the id of the process that started this one. Ends this process at once where that one has ended already. */
export function exitWithParent(parent: number): void {
  // The parent may have ended before the call.
  if (setParentDeathSignal(SIGKILL) && process.ppid !== parent) process.exit(0)
}

/** From here on only the closed channel reports the end of the parent. Returns whether the parent is still running. */
export function surviveParent(parent: number): boolean {
  return !setParentDeathSignal(0) || process.ppid === parent
}

/** False where the system offers no such signal. */
function setParentDeathSignal(signal: number): boolean {
  if (process.platform !== 'linux') return false
  const { dlopen } = process.getBuiltinModule('bun:ffi') as typeof import('bun:ffi')
  for (const library of LIBC_NAMES) {
    try {
      const { symbols } = dlopen(library, { prctl: { args: ['i32', 'u64', 'u64', 'u64', 'u64'], returns: 'i32' } })
      symbols.prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0)
      return true
    } catch {
      // Another system's name of the C library.
    }
  }
  return false
}
