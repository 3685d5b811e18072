// The listening socket of this process among those that share its port (SO_REUSEPORT), for replacing a process without losing a
// connection. Linux only. When a listening socket is closed, the connections that wait in its queue are reset, so the successor first
// takes all new connections: a filter program of the port selects its socket. Sockets of a port are numbered in the order in which they
// began to listen; a closed one is replaced by the last (socket(7), SO_ATTACH_REUSEPORT_CBPF).
import { closeSync, openSync, readdirSync, readFileSync, readlinkSync } from 'node:fs'
import { LIBC_NAMES } from '../../processes/parent-death.ts'

const SOL_SOCKET = 1
const SO_ACCEPTCONN = 30
const SO_ATTACH_REUSEPORT_CBPF = 51
const SO_DETACH_REUSEPORT_BPF = 68
const AF_INET = 2
const AF_INET6 = 10
/** Space for `sockaddr_in6`, the larger address. */
const ADDRESS_BYTES = 28
/** BPF_RET | BPF_K: the program returns a constant. */
const BPF_RETURN = 0x06
const PROGRAM_BYTES = 16
/** The state TCP_LISTEN in the tables of connections. */
const LISTENING = '0A'
const tables = ['/proc/self/net/tcp', '/proc/self/net/tcp6']

/** The listening socket of this process on a shared port. */
export class SharedPort {
  private readonly port: number
  private readonly calls: PortCalls

  private constructor(port: number, calls: PortCalls) {
    this.port = port
    this.calls = calls
  }

  /** Null: the system has no such sockets, or its C library was not found. */
  static open(port: number): SharedPort | null {
    const calls = process.platform === 'linux' ? socketCalls() : null
    return calls === null ? null : new SharedPort(port, calls)
  }

  /** Sends all new connections to this process, if it was the last to listen. Returns false if that is not possible. */
  takeConnections(): boolean {
    const [socket] = this.sockets().listening
    const count = socket === undefined ? null : countListeners(socket)
    if (socket === undefined || count === null) return false
    // struct sock_fprog (length, address), followed by the one struct sock_filter (code, two jumps, constant) that it names.
    const program = new Uint8Array(PROGRAM_BYTES + 8)
    const view = new DataView(program.buffer)
    view.setUint16(0, 1, true)
    view.setBigUint64(8, BigInt(this.calls.addressOf(program) + PROGRAM_BYTES), true)
    view.setUint16(PROGRAM_BYTES, BPF_RETURN, true)
    view.setUint32(PROGRAM_BYTES + 4, count - 1, true)
    return this.calls.setsockopt(socket, SOL_SOCKET, SO_ATTACH_REUSEPORT_CBPF, program, PROGRAM_BYTES) === 0
  }

  /** Lets the system distribute new connections again. */
  shareConnections(): void {
    for (const socket of this.sockets().listening) {
      this.calls.setsockopt(socket, SOL_SOCKET, SO_DETACH_REUSEPORT_BPF, new Uint8Array(4), 4)
    }
  }

  /** Stops listening, and keeps the open connections: the runtime can only close both. */
  stopListening(): void {
    const nothing = openSync('/dev/null', 'r')
    // The descriptor stays valid for the runtime, which closes it at its end.
    for (const socket of this.sockets().listening) this.calls.dup2(nothing, socket)
    closeSync(nothing)
  }

  /** The open connections of this process on the port. */
  connectionCount(): number {
    return this.sockets().connected.length
  }

  private sockets(): { readonly listening: number[]; readonly connected: number[] } {
    const listening: number[] = []
    const connected: number[] = []
    const address = new Uint8Array(ADDRESS_BYTES)
    for (const name of readdirSync('/proc/self/fd')) {
      const file = Number(name)
      if (this.calls.getsockname(file, address, new Uint32Array([ADDRESS_BYTES])) !== 0) continue
      const view = new DataView(address.buffer)
      const family = view.getUint16(0, true)
      if ((family !== AF_INET && family !== AF_INET6) || view.getUint16(2) !== this.port) continue
      const value = new Int32Array(1)
      this.calls.getsockopt(file, SOL_SOCKET, SO_ACCEPTCONN, value, new Uint32Array([4]))
      const list = value[0] === 0 ? connected : listening
      list.push(file)
    }
    return { listening, connected }
  }
}

/** The sockets that listen on the address of that one, in all processes; null: the tables of the system cannot be read. */
function countListeners(socket: number): number | null {
  try {
    const inode = /^socket:\[(\d+)\]$/.exec(readlinkSync(`/proc/self/fd/${socket}`))?.[1]
    for (const table of tables) {
      const rows = readTable(table).filter(([, , , state]) => state === LISTENING)
      const own = rows.find((row) => row[9] === inode)
      if (own !== undefined) return rows.filter(([, address]) => address === own[1]).length
    }
    return null
  } catch {
    return null
  }
}

/** The rows of a table of connections, in columns: number, local address, remote address, state, …, and the inode as the tenth. */
function readTable(path: string): readonly string[][] {
  return readFileSync(path, 'latin1')
    .split('\n')
    .map((line) => line.trim().split(/\s+/))
}

interface PortCalls {
  setsockopt(file: number, level: number, name: number, value: Uint8Array, length: number): number
  getsockopt(file: number, level: number, name: number, value: Int32Array, length: Uint32Array): number
  getsockname(file: number, address: Uint8Array, length: Uint32Array): number
  dup2(file: number, replaced: number): number
  addressOf(bytes: Uint8Array): number
}

function socketCalls(): PortCalls | null {
  const { dlopen, ptr } = process.getBuiltinModule('bun:ffi') as typeof import('bun:ffi')
  for (const library of LIBC_NAMES) {
    try {
      const { symbols } = dlopen(library, {
        setsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'u32'], returns: 'i32' },
        getsockopt: { args: ['i32', 'i32', 'i32', 'ptr', 'ptr'], returns: 'i32' },
        getsockname: { args: ['i32', 'ptr', 'ptr'], returns: 'i32' },
        dup2: { args: ['i32', 'i32'], returns: 'i32' },
      })
      return { ...symbols, addressOf: (bytes) => ptr(bytes) }
    } catch {
      // The C library has another name on this system.
    }
  }
  return null
}
