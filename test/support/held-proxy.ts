// A proxy on 127.0.0.1 that holds back what its clients send. A test acts between two steps of a program that asks a server, however
// fast or slow each of them is.
import type { Socket } from 'node:net'
import { startTcpProxy } from './tcp-proxy.ts'

export interface HeldProxy {
  /** The URL of the server through the proxy. */
  readonly url: string
  /** Resolves when `isDue` did for the first time. Nothing that was sent since then has reached the server. */
  readonly held: Promise<void>
  /** Cuts all connections, and passes on what is sent on new ones until `isDue` resolves with true again. */
  release(): void
  /** Cuts all connections, for ever. */
  close(): void
}

/**
 * Starts a proxy for a server such as `bolt://127.0.0.1:7687`. `isDue` is called before each part of a request is passed on; once it has
 * resolved with true, nothing is passed on any more.
 */
export async function startHeldProxy(server: string, isDue: () => Promise<boolean>): Promise<HeldProxy> {
  const held = Promise.withResolvers<void>()
  let isHeld = false
  // One part after another, also those of several connections.
  let passing = Promise.resolve()
  const pass = async (bytes: Buffer, upstream: Socket): Promise<void> => {
    if (isHeld || upstream.destroyed) return
    isHeld = await isDue()
    if (isHeld) held.resolve()
    else upstream.write(bytes)
  }
  const { url, cut, close } = await startTcpProxy(server, (client, upstream) => {
    client.on('data', (bytes: Buffer) => {
      passing = passing.then(() => pass(bytes, upstream)).catch(held.reject)
    })
    upstream.pipe(client)
  })
  return {
    url,
    held: held.promise,
    release() {
      cut()
      isHeld = false
    },
    close,
  }
}
