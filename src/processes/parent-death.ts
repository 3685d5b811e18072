// Kills a child process when its parent exits, even while the child is busy: prctl(2) with PR_SET_PDEATHSIG on Linux.
// On other systems the child exits when it next reads its closed IPC channel.
import { childExits } from './protocol.ts'

const PR_SET_PDEATHSIG = 1
const SIGKILL = 9
/** Names of the C library on Linux. */
export const LIBC_NAMES = ['libc.so.6', 'libc.musl-x86_64.so.1', 'libc.musl-aarch64.so.1']

/** Makes this process exit with its parent; exits at once if the parent is gone. `parent`: process id of the parent. */
export function exitWithParent(parent: number): void {
  // The parent may have exited before the call.
  if (setParentDeathSignal(SIGKILL) && process.ppid !== parent) process.exit(childExits.orphan.code)
}

/** Reverts `exitWithParent`: only the closed IPC channel reports the exit. Returns whether the parent is still running. */
export function surviveParent(parent: number): boolean {
  return !setParentDeathSignal(0) || process.ppid === parent
}

/** Sets the signal sent when the parent exits; 0: none. Returns false if the system does not support it. */
function setParentDeathSignal(signal: number): boolean {
  if (process.platform !== 'linux') return false
  const { dlopen } = process.getBuiltinModule('bun:ffi') as typeof import('bun:ffi')
  for (const library of LIBC_NAMES) {
    try {
      const { symbols } = dlopen(library, { prctl: { args: ['i32', 'u64', 'u64', 'u64', 'u64'], returns: 'i32' } })
      symbols.prctl(PR_SET_PDEATHSIG, signal, 0, 0, 0)
      return true
    } catch {
      // The C library has another name on this system.
    }
  }
  return false
}
