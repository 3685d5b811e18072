// The private memory of this process, and how much there is for all, by proc(5) and cgroups(7).
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'

/** Memory that is not backed by files, bytes; null if the system does not report it. */
export function ownMemory(): number | null {
  if (process.platform !== 'linux') return null
  const kilobytes = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
  return kilobytes === undefined ? null : Number(kilobytes) * 1024
}

/** The smallest limit of the cgroups of this process and of the machine. Null: not known. */
export function memoryLimit(): number | null {
  const total = existsSync('/proc/meminfo')
    ? /^MemTotal:\s+(\d+) kB/m.exec(readFileSync('/proc/meminfo', 'utf8'))
    : null
  const limits = total === null ? [] : [Number(total[1]) * 1024]
  for (const path of cgroupLimitFiles()) {
    if (!existsSync(path)) continue
    const value = Number(readFileSync(path, 'utf8').trim())
    if (Number.isFinite(value) && value > 0) limits.push(value)
  }
  return limits.length === 0 ? null : Math.min(...limits)
}

function cgroupLimitFiles(): string[] {
  const own = existsSync('/proc/self/cgroup')
    ? /^0::(.+)$/m.exec(readFileSync('/proc/self/cgroup', 'utf8'))?.[1]
    : undefined
  const folders: string[] = []
  for (let path = own ?? '/'; ; path = dirname(path)) {
    folders.push(join('/sys/fs/cgroup', path, 'memory.max'))
    if (path === '/' || path === '.') break
  }
  return [...folders, '/sys/fs/cgroup/memory/memory.limit_in_bytes']
}
