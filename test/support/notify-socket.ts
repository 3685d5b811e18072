// The socket of a service manager, as a service sees it: receives the datagrams of sd_notify(3). By FFI, because Bun has no Unix
// datagram sockets.
import { dlopen } from 'bun:ffi'

const AF_UNIX = 1
const SOCK_DGRAM = 2
const MSG_DONTWAIT = 0x40
const BYTES_MAX = 4096

export interface NotifySocket {
  /** The value of NOTIFY_SOCKET. */
  readonly address: string
  /** The messages since the last call. */
  taken(): readonly string[]
  /** Resolves with all messages that were received until one contains `text`. */
  until(text: string): Promise<readonly string[]>
  close(): void
}

/** Binds a socket. `address`: a path, or an abstract name that starts with `@`. */
export function openNotifySocket(address: string): NotifySocket {
  const { symbols } = dlopen('libc.so.6', {
    socket: { args: ['i32', 'i32', 'i32'], returns: 'i32' },
    bind: { args: ['i32', 'ptr', 'u32'], returns: 'i32' },
    recv: { args: ['i32', 'ptr', 'u64', 'i32'], returns: 'i64' },
    close: { args: ['i32'], returns: 'i32' },
  })
  const name = Buffer.concat([Uint8Array.of(AF_UNIX, 0), Buffer.from(address), Uint8Array.of(0)])
  const isAbstract = address.startsWith('@')
  if (isAbstract) name[2] = 0
  const file = symbols.socket(AF_UNIX, SOCK_DGRAM, 0)
  // The zero at the end belongs to paths only.
  if (symbols.bind(file, name, name.length - (isAbstract ? 1 : 0)) !== 0) throw new Error(`cannot bind ${address}`)
  const buffer = Buffer.alloc(BYTES_MAX)
  const taken = (): readonly string[] => {
    const messages: string[] = []
    for (;;) {
      const length = Number(symbols.recv(file, buffer, BYTES_MAX, MSG_DONTWAIT))
      if (length < 0) return messages
      messages.push(buffer.toString('utf8', 0, length))
    }
  }
  return {
    address,
    taken,
    async until(text) {
      const messages: string[] = []
      const end = performance.now() + 60_000
      while (!messages.some((message) => message.includes(text))) {
        if (performance.now() > end) throw new Error(`no ${text}, only ${JSON.stringify(messages)}`)
        await Bun.sleep(10)
        messages.push(...taken())
      }
      return messages
    },
    close: () => void symbols.close(file),
  }
}
