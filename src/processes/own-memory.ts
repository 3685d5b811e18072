// The private memory of this process, by proc(5).
import { readFileSync } from 'node:fs'

/** Memory that is not backed by files, bytes; null if the system does not report it. */
export function ownMemory(): number | null {
  if (process.platform !== 'linux') return null
  const kilobytes = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'utf8'))?.[1]
  return kilobytes === undefined ? null : Number(kilobytes) * 1024
}
