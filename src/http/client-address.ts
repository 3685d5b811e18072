// Finds the IP address of a client: that of the connection, or the one that a trusted proxy put into a header.
import { isIP, isIPv4 } from 'node:net'

/** Where the address of a client comes from. */
export interface ClientAddressSource {
  /** Name of the header that the proxy sets, in lower case; empty: there is no proxy. */
  readonly header: string
  /** The address of the other end of the connection of a request that is not answered yet; null: unknown. */
  peerOf(request: Request): string | null
}

/** Long enough for every form of an address with a port. */
const ENTRY_LENGTH_MAX = 64
const MAPPED_PREFIX = '::ffff:'

/**
 * The address of a client; empty: unknown. Only the last entry of the header counts: the proxy appended it, and the client may
 * have written the others itself. Without a valid last entry it is the address of the connection.
 */
export function clientAddressOf(request: Request, { header, peerOf }: ClientAddressSource): string {
  const forwarded = header === '' ? null : request.headers.get(header)
  return (forwarded === null ? null : lastAddress(forwarded)) ?? plainAddress(peerOf(request) ?? '')
}

/** The address in the last entry: `192.0.2.1`, `192.0.2.1:4711`, `2001:db8::1` or `[2001:db8::1]:4711`; null: none. */
function lastAddress(value: string): string | null {
  const entry = value.slice(value.lastIndexOf(',') + 1).trim()
  if (entry.length > ENTRY_LENGTH_MAX) return null
  const address = entry.replace(/^\[(.*)\](?::\d+)?$/, '$1').replace(/^([\d.]+):\d+$/, '$1')
  return isIP(address) === 0 ? null : plainAddress(address.toLowerCase())
}

/** A socket for both versions of IP reports an IPv4 address as an IPv6 address. */
function plainAddress(address: string): string {
  const short = address.startsWith(MAPPED_PREFIX) ? address.slice(MAPPED_PREFIX.length) : address
  return isIPv4(short) ? short : address
}
