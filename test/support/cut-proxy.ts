// A proxy on 127.0.0.1 between a service and a server, whose connections a test can cut.
import { createConnection, createServer, type Server, type Socket } from 'node:net'

export interface CutProxy {
  /** The URL of the server through the proxy. */
  readonly url: string
  /** Cuts all connections, and refuses new ones until `mend`. */
  cut(): void
  mend(): void
  close(): void
}

/** Starts a proxy for a server such as `bolt://127.0.0.1:7687`. */
export async function startCutProxy(server: string): Promise<CutProxy> {
  const { port, protocol } = new URL(server)
  const sockets = new Set<Socket>()
  let isCut = false
  const proxy: Server = createServer((client) => {
    const upstream = createConnection(Number(port), '127.0.0.1')
    if (isCut) upstream.destroy()
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
      from.pipe(to)
    }
  })
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const cut = (): void => {
    isCut = true
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `${protocol}//127.0.0.1:${(proxy.address() as { readonly port: number }).port}`,
    cut,
    mend() {
      isCut = false
    },
    close() {
      cut()
      proxy.close()
    },
  }
}
