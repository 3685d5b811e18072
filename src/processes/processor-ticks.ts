// The processor time of a process, by proc(5).
import { readFileSync } from 'node:fs'

/** Index of `utime` among the fields after the name of the program; `stime` follows. */
const UTIME = 11

/** Processor time that a process has used, in ticks of the system. Null: the system does not report it, or the process has exited. */
export function processorTicks(pid: number): number | null {
  if (process.platform !== 'linux') return null
  try {
    const stat = readFileSync(`/proc/${pid}/stat`, 'latin1')
    // The name may contain spaces and parentheses.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return Number(fields[UTIME]) + Number(fields[UTIME + 1])
  } catch {
    return null
  }
}
