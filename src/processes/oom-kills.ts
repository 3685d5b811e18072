// How many processes the system has killed for lack of memory, in the control group of this process or, without one, on the machine.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'

/**
 * Detects whether the system has just killed a process for lack of memory. Call `look` now and then: kills before the last but one look are not
 * those of now.
 */
export class OomWatch {
  private readonly root: string
  private before: number | null
  private last: number | null

  /** `root`: as for `countOomKills`. */
  constructor(root = '/') {
    this.root = root
    this.last = countOomKills(root)
    this.before = this.last
  }

  look(): void {
    this.before = this.last
    this.last = countOomKills(this.root)
  }

  /** Whether there was a kill since the last looks. Two kills within a few seconds cannot be distinguished. */
  hasKilled(): boolean {
    return (countOomKills(this.root) ?? 0) > (this.before ?? Number.POSITIVE_INFINITY)
  }
}

/** The score of the OOM killer for a child whose kind adds `more` to that of this process: a container may have given this process one. */
export function childOomScore(more: number, root = '/'): number {
  return Math.min(OOM_SCORE_MAX, Number(textOf(join(root, 'proc/self/oom_score_adj'))) + more)
}

const OOM_SCORE_MAX = 1000

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
