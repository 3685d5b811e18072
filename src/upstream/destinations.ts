// Which addresses of a host the process may connect to, for the HTTP client and for the client libraries of brokers
// (docs/decisions/0016-outgoing-requests.md). A caller connects only to an address that was returned here.
import { lookup } from 'node:dns/promises'
import ipaddr from 'ipaddr.js'
import { err, ok, type Result } from '../kernel/result.ts'
import { isInternalName, isPublic, type UpstreamAllowList } from './allow-list.ts'

/** Why there is no address. */
interface DestinationError {
  /** `forbidden`: the operator does not allow the host. */
  readonly kind: 'forbidden' | 'unreachable'
  /** For the operator's log: it reveals what a name resolves to. */
  readonly message: string
}

/** The rule for outgoing connections. Hosts are names or IP addresses in lower case, IPv6 without brackets. */
export interface Destinations {
  /**
   * Returns null if the host may be called, as far as the host itself shows; else the reason. `isSecure`: the connection
   * uses TLS, called `protocol` in the reason.
   */
  hostError(host: string, isSecure: boolean, protocol?: string): string | null
  /** Resolves the host once and checks each address. Returns the addresses to try, in order; never an empty list. */
  addressesOf(host: string, isSecure: boolean, protocol?: string): Promise<Result<readonly string[], DestinationError>>
}

/** Creates the rule. `allowed`: hosts that may be called in addition to the public internet. */
export function createDestinations(allowed: UpstreamAllowList): Destinations {
  const hasName = (host: string): boolean => allowed.hasName(ipaddr.IPv6.isValid(host) ? `[${host}]` : host)
  return {
    hostError(host, isSecure, protocol = 'TLS') {
      const isAddress = ipaddr.isValid(host)
      if (hasName(host) || (isAddress && allowed.hasAddress(host))) return null
      if (isAddress && !isPublic(host)) return `the address \`${host}\` is not public`
      if (!isAddress && isInternalName(host) && !allowed.hasRanges) return `the host \`${host}\` is not public`
      return isSecure || (!isAddress && allowed.hasRanges) ? null : `expected ${protocol}`
    },
    async addressesOf(host, isSecure, protocol = 'TLS') {
      // Notations such as 0177.0.0.1 must mean the same to what connects.
      const addresses = ipaddr.isValid(host) ? [ipaddr.process(host).toString()] : await resolve(host)
      if (addresses.length === 0) return err({ kind: 'unreachable', message: `no address of \`${host}\` was found` })
      if (hasName(host)) return ok(addresses)
      for (const address of addresses) {
        if (allowed.hasAddress(address)) continue
        // One forbidden address among allowed ones is treated as an attack.
        if (!isPublic(address)) {
          return err({ kind: 'forbidden', message: `\`${host}\` has the address ${address}, which is not public` })
        }
        if (!isSecure) {
          return err({ kind: 'forbidden', message: `\`${host}\` may only be called over ${protocol}` })
        }
      }
      return ok(addresses)
    },
  }
}

/** IPv4 first: on a machine without IPv6, such addresses only cost time. */
async function resolve(name: string): Promise<string[]> {
  try {
    const records = await lookup(name, { all: true })
    return records.sort((a, b) => a.family - b.family).map(({ address }) => address)
  } catch {
    return []
  }
}
