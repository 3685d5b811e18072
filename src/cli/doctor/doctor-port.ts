// The check of `doctor` for the address of the service: whether the service can listen there, or listens there already.
import { readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { join } from 'node:path'
import { SERVER_PID_FILE } from '../../kernel/folder/data-folder.ts'
import type { Settings } from '../../settings.ts'
import { type Finding, failed, passed } from './doctor-checks.ts'

const CHECK = 'port'

/**
 * Checks host and port. `isServed`: a process serves the folder, which is not disturbed: then only the processes that listen are looked
 * at. Otherwise the port is taken for a moment.
 */
export function checkPort({ host, port, dataDir }: Settings, isServed: boolean): Finding[] {
  // The system chooses a free one.
  if (port === 0) return []
  const address = `${host.includes(':') ? `[${host}]` : host}:${port}`
  if (!isServed) return [checkFree(host, port, address)]
  const server = serverOf(dataDir)
  const listening = holdersOf(port)
  // Nothing is known about processes of another user or container.
  if (server === null || listening.length === 0) return []
  if (listening.some((pid) => isPartOf(pid, server))) return [passed(CHECK, `the service listens on port ${port}`)]
  return [usedByAnother(address, listening)]
}

function checkFree(host: string, port: number, address: string): Finding {
  try {
    Bun.listen({ hostname: host, port, exclusive: true, socket: { data: () => undefined } }).stop(true)
    return passed(CHECK, `${address} is free`)
  } catch (failure) {
    const { code, message } = failure as NodeJS.ErrnoException
    switch (code) {
      case 'EADDRINUSE':
        return usedByAnother(address, holdersOf(port))
      case 'EACCES':
        return failed(
          CHECK,
          `this user may not listen on ${address}`,
          'set a `port` from 1024 on, or give the service the capability CAP_NET_BIND_SERVICE',
        )
      case 'EADDRNOTAVAIL':
      case 'ENOTFOUND':
        return failed(CHECK, `${host} is no address of this machine`, 'correct `host`')
      default:
        return failed(CHECK, `the service cannot listen on ${address}: ${code ?? message}`, 'correct `host` and `port`')
    }
  }
}

function usedByAnother(address: string, pids: readonly number[]): Finding {
  const [pid] = pids
  const who = pid === undefined ? 'another program' : `process ${pid} (${commandOf(pid)})`
  return failed(CHECK, `${address} is used by ${who}`, 'stop that program, or set another `port`')
}

/** The process that serves the folder; null: not known. */
function serverOf(dataDir: string): number | null {
  const text = readText(join(dataDir, SERVER_PID_FILE))
  const pid = Number(text?.split('\n')[0])
  return Number.isInteger(pid) && pid > 0 ? pid : null
}

/** The processes that listen on a TCP port, as far as Linux shows them to this user. */
function holdersOf(port: number): number[] {
  const inodes = new Set([...listeningInodes('/proc/net/tcp', port), ...listeningInodes('/proc/net/tcp6', port)])
  if (inodes.size === 0) return []
  return entriesOf('/proc').flatMap((name) => {
    const pid = Number(name)
    if (!Number.isInteger(pid)) return []
    const folder = `/proc/${name}/fd`
    return entriesOf(folder).some((descriptor) => inodes.has(targetOf(join(folder, descriptor)))) ? [pid] : []
  })
}

/** https://docs.kernel.org/networking/proc_net_tcp.html */
function listeningInodes(table: string, port: number): string[] {
  const LISTEN = '0A'
  const wanted = `:${port.toString(16).toUpperCase().padStart(4, '0')}`
  return (readText(table) ?? '').split('\n').flatMap((line) => {
    const [, local = '', , state, , , , , , inode] = line.trim().split(/\s+/)
    return state === LISTEN && local.endsWith(wanted) ? [`socket:[${inode}]`] : []
  })
}

/** Whether a process is another one, or was started by it. */
function isPartOf(pid: number, ancestor: number): boolean {
  for (let at = pid; at > 1; at = parentOf(at)) if (at === ancestor) return true
  return false
}

function parentOf(pid: number): number {
  // The name is in parentheses and may contain any character.
  const text = readText(`/proc/${pid}/stat`) ?? ''
  return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[1] ?? 0)
}

function commandOf(pid: number): string {
  return readText(`/proc/${pid}/comm`)?.trim() ?? 'unknown'
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder)
  } catch {
    return []
  }
}

function targetOf(link: string): string {
  try {
    return readlinkSync(link)
  } catch {
    return ''
  }
}

function readText(path: string): string | null {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return null
  }
}
