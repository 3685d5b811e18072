// A proxy on 127.0.0.1 between a service and a server, whose connections a test can cut.
import { startTcpProxy, type TcpProxy } from './tcp-proxy.ts'

export interface CutProxy extends TcpProxy {
  /** Cuts all connections, and refuses new ones until `mend`. */
  cut(): void
  mend(): void
}

/** Starts a proxy for a server such as `bolt://127.0.0.1:7687`. */
export async function startCutProxy(server: string): Promise<CutProxy> {
  let isCut = false
  const proxy = await startTcpProxy(server, (client, upstream) => {
    if (isCut) upstream.destroy()
    client.pipe(upstream).pipe(client)
  })
  return {
    ...proxy,
    cut() {
      isCut = true
      proxy.cut()
    },
    mend() {
      isCut = false
    },
  }
}
