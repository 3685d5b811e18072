// Reports the state of the service to the service manager that started it, by the protocol of sd_notify(3): datagrams to the Unix
// socket that NOTIFY_SOCKET names. Neither Bun nor Node has such sockets, so they are called by FFI.

import type { Log } from '../../ops/log.ts'
import { LIBC_NAMES } from '../../processes/parent-death.ts'
import type { EnvironmentVariables } from '../settings/environment-variables.ts'

const AF_UNIX = 1
const SOCK_DGRAM = 2
const SOCK_CLOEXEC = 0o2000000
const MSG_NOSIGNAL = 0x4000
/** `sun_path`, with the zero at the end of a path. */
const SOCKET_PATH_BYTES = 108

/** The pings are three times as frequent as the manager requires, so that one may be missing. */
const PINGS_PER_TIMEOUT = 3

/** The service manager. Without one, all methods do nothing. */
interface ServiceManager {
  /** The service accepts connections. `status`: a line for people. */
  ready(status: string): void
  /** The service has begun to stop. */
  stopping(): void
  /**
   * Sends a ping three times within the timeout of the manager's watchdog, each time after `isAnswering` has resolved with true.
   * `isAnswering` resolves within `timeoutMs`. Does nothing if the manager has no watchdog.
   */
  watch(isAnswering: (timeoutMs: number) => Promise<boolean>): void
}

/** The service manager that the environment names. Problems of its socket are logged, and the service runs on. */
export function serviceManager(environment: EnvironmentVariables, log: Log): ServiceManager {
  const address = environment.NOTIFY_SOCKET ?? ''
  const send = address === '' || process.platform !== 'linux' ? null : notifier(address, log)
  if (send === null) return { ready() {}, stopping() {}, watch() {} }
  let pings: ReturnType<typeof setInterval> | null = null
  return {
    ready: (status) => send(`READY=1\nSTATUS=${status}\n`),
    stopping() {
      if (pings !== null) clearInterval(pings)
      send('STOPPING=1\nSTATUS=stopping\n')
    },
    watch(isAnswering) {
      const watchdogMs = watchdogTimeoutMs(environment)
      if (watchdogMs === null) return
      const intervalMs = watchdogMs / PINGS_PER_TIMEOUT
      let isChecking = false
      pings = setInterval(async () => {
        if (isChecking) return
        isChecking = true
        if (await isAnswering(intervalMs)) send('WATCHDOG=1\n')
        isChecking = false
      }, intervalMs)
    },
  }
}

/** Null: no watchdog, or one for another process. */
function watchdogTimeoutMs({ WATCHDOG_USEC = '', WATCHDOG_PID = '' }: EnvironmentVariables): number | null {
  const isOther = WATCHDOG_PID !== '' && WATCHDOG_PID !== String(process.pid)
  return isOther || !/^[1-9]\d*$/.test(WATCHDOG_USEC) ? null : Number(WATCHDOG_USEC) / 1000
}

/** Returns a function that sends one datagram; null: the address is unusable. */
function notifier(address: string, log: Log): ((state: string) => void) | null {
  const name = socketAddress(address)
  const calls = name === null ? null : socketCalls()
  if (name === null || calls === null) {
    log({ level: 'error', message: 'NOTIFY_SOCKET is not a path or an abstract name of a Unix socket', found: address })
    return null
  }
  return (state) => {
    const bytes = new TextEncoder().encode(state)
    const file = calls.socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0)
    const sent = file < 0 ? -1 : Number(calls.sendto(file, bytes, bytes.length, MSG_NOSIGNAL, name, name.length))
    if (file >= 0) calls.close(file)
    const [what] = state.split('\n')
    if (sent < 0) log({ level: 'error', message: 'the service manager was not notified', state: what, socket: address })
  }
}

/** `struct sockaddr_un`; null: no such address. An abstract name starts with `@`, which stands for a zero byte. */
function socketAddress(address: string): Uint8Array | null {
  const path = new TextEncoder().encode(address)
  const isAbstract = address.startsWith('@')
  if (!(isAbstract || address.startsWith('/')) || path.length >= SOCKET_PATH_BYTES) return null
  const bytes = new Uint8Array(2 + path.length + (isAbstract ? 0 : 1))
  new DataView(bytes.buffer).setUint16(0, AF_UNIX, true)
  bytes.set(path, 2)
  if (isAbstract) bytes[2] = 0
  return bytes
}

interface SocketCalls {
  socket(domain: number, type: number, protocol: number): number
  sendto(
    file: number,
    bytes: Uint8Array,
    length: number,
    flags: number,
    address: Uint8Array,
    addressLength: number,
  ): number | bigint
  close(file: number): number
}

/** Null: the C library of this system was not found. */
function socketCalls(): SocketCalls | null {
  const { dlopen } = process.getBuiltinModule('bun:ffi') as typeof import('bun:ffi')
  for (const library of LIBC_NAMES) {
    try {
      const { symbols } = dlopen(library, {
        socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
        sendto: { args: ['i32', 'ptr', 'u64', 'i32', 'ptr', 'u32'], returns: 'i64' },
        close: { args: ['i32'], returns: 'i32' },
      })
      return symbols
    } catch {
      // The C library has another name on this system.
    }
  }
  return null
}
