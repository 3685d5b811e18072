// A proxy on 127.0.0.1 between a program and a server, which decides itself what it passes on.
import { createConnection, createServer, type Socket } from 'node:net'

export interface TcpProxy {
  /** The URL of the server through the proxy. */
  readonly url: string
  /** Cuts all connections. */
  cut(): void
  /** Cuts all connections, and accepts no others. */
  close(): void
}

/** Starts a proxy for a server such as `bolt://127.0.0.1:7687`. `join` passes bytes between the sockets; both end with either of them. */
export async function startTcpProxy(
  server: string,
  join: (client: Socket, upstream: Socket) => void,
): Promise<TcpProxy> {
  const { port, protocol } = new URL(server)
  const sockets = new Set<Socket>()
  const proxy = createServer((client) => {
    const upstream = createConnection(Number(port), '127.0.0.1')
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => undefined)
      from.on('close', () => {
        sockets.delete(from)
        to.destroy()
      })
    }
    join(client, upstream)
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `${protocol}//127.0.0.1:${(proxy.address() as { readonly port: number }).port}`,
    cut,
    close() {
      cut()
      proxy.close()
    },
  }
}
