// How many processes the system has killed for lack of memory, in the control group of this process or, without one, on the machine.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/** The number of killed processes; null: the system does not report it. `root`: the folder with `proc` and `sys`. */
export function countOomKills(root = '/'): number | null {
  if (process.platform !== 'linux') return null
  const group = /^0::(.*)$/m.exec(textOf(join(root, 'proc/self/cgroup')))?.[1]
  const events = group === undefined ? '' : textOf(join(root, 'sys/fs/cgroup', group, 'memory.events'))
  // The group at the root has no such file.
  const kills = /^oom_kill (\d+)$/m.exec(events === '' ? textOf(join(root, 'proc/vmstat')) : events)?.[1]
  return kills === undefined ? null : Number(kills)
}

/** Empty: the file does not exist, or may not be read. */
function textOf(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
