// Opens a TCP or TLS connection to a checked address of a host (docs/decisions/0016-outgoing-requests.md).
import { connect as connectPlain, type Socket } from 'node:net'
import { connect as connectTls } from 'node:tls'
import ipaddr from 'ipaddr.js'
import type { Destinations } from '../../upstream/destinations.ts'

/** Where to connect. `tls`: null for plain TCP. */
interface SocketTarget {
  /** Name or IP address in lower case, IPv6 without brackets. */
  readonly host: string
  readonly port: number
  readonly tls: { readonly authorities?: string } | null
}

/** Connects to the first address that answers. Rejects with a readable message; `signal` ends the attempt. */
export async function openSocket(
  target: SocketTarget,
  destinations: Destinations,
  signal: AbortSignal,
): Promise<Socket> {
  const { host, port, tls } = target
  const refusal = destinations.hostError(host, tls !== null)
  if (refusal !== null) throw new Error(refusal)
  const addresses = await destinations.addressesOf(host, tls !== null)
  if (!addresses.ok) throw new Error(addresses.error.message)
  let failure: unknown
  for (const address of addresses.value) {
    try {
      return await connectTo(address, target, signal)
    } catch (fault) {
      signal.throwIfAborted()
      failure = fault
    }
  }
  throw new Error(`${host}:${port}`, { cause: failure })
}

function connectTo(address: string, { host, port, tls }: SocketTarget, signal: AbortSignal): Promise<Socket> {
  signal.throwIfAborted()
  return new Promise((resolve, reject) => {
    const socket =
      tls === null
        ? connectPlain({ host: address, port })
        : connectTls({
            host: address,
            port,
            // The runtime refuses an IP address as the server name with an uncaught exception.
            ...(ipaddr.isValid(host) ? {} : { servername: host }),
            ...(tls.authorities === undefined ? {} : { ca: tls.authorities }),
          })
    const abort = (): void => {
      socket.destroy()
      reject(signal.reason)
    }
    signal.addEventListener('abort', abort, { once: true })
    socket.once(tls === null ? 'connect' : 'secureConnect', () => {
      signal.removeEventListener('abort', abort)
      resolve(socket)
    })
    // Stays: an error without a listener would end the process.
    socket.on('error', (fault) => {
      signal.removeEventListener('abort', abort)
      reject(fault)
    })
    socket.once('close', () => reject(new Error('the connection was closed')))
  })
}
