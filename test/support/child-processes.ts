// The child processes of a process, by proc(5).
import { readdirSync, readFileSync } from 'node:fs'

export interface Child {
  readonly pid: number
  /** Its command line. */
  readonly words: readonly string[]
}

/** Kills a process with SIGKILL, unless it has ended since it was found. */
export function killProcess(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL')
  } catch (failure) {
    if ((failure as { readonly code?: string }).code !== 'ESRCH') throw failure
  }
}

/** Processes that end during the scan are left out. */
export function childrenOf(parent: number): Child[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .flatMap((name) => {
      try {
        const stat = readFileSync(`/proc/${name}/stat`, 'utf8')
        if (Number(stat.replace(/^.*\) /, '').split(' ')[1]) !== parent) return []
        return [{ pid: Number(name), words: readFileSync(`/proc/${name}/cmdline`, 'utf8').split('\0') }]
      } catch {
        return []
      }
    })
}

/** All processes below one, parents before their children. */
export function descendantsOf(parent: number): Child[] {
  const children = childrenOf(parent)
  return [...children, ...children.flatMap(({ pid }) => descendantsOf(pid))]
}
