// Decides which addresses the process may call: the public internet over TLS, and what the operator lists
// (docs/decisions/0016-outgoing-requests.md). Host names are decided by the addresses that they resolve to.
import ipaddr from 'ipaddr.js'
import { err, ok, type Result } from '../kernel/result.ts'

type IpAddress = ipaddr.IPv4 | ipaddr.IPv6

/** A public address that a cloud platform uses for services of its guests. */
const CLOUD_PLATFORM_ADDRESS = ipaddr.parse('168.63.129.16')
const GLOBAL_UNICAST = ipaddr.parseCIDR('2000::/3')

const HOST_NAME = /^(?=.{1,253}$)[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]{0,61}[a-z0-9_])?)*$/i

/** The hosts and networks that the operator allows. */
export class UpstreamAllowList {
  private readonly names: ReadonlySet<string>
  private readonly ranges: readonly (readonly [IpAddress, number])[]

  constructor(names: ReadonlySet<string>, ranges: readonly (readonly [IpAddress, number])[]) {
    this.names = names
    this.ranges = ranges
  }

  /** Whether the host name is listed. `host`: as in a URL, in lower case, IPv6 in brackets. */
  hasName(host: string): boolean {
    return this.names.has(host)
  }

  /** Whether the address is in a listed network. */
  hasAddress(address: string): boolean {
    const parsed = ipaddr.process(address)
    return this.ranges.some(([network, bits]) => contains(network, bits, parsed))
  }

  /** Whether any network is listed, so that an unlisted name may resolve to a listed address. */
  get hasRanges(): boolean {
    return this.ranges.length > 0
  }
}

/**
 * Parses a list of CIDRs, addresses and host names, such as `10.0.0.0/8,issuer.internal,127.0.0.1`. The error names the
 * invalid entry.
 */
export function parseAllowList(list: string): Result<UpstreamAllowList, string> {
  const names = new Set<string>()
  const ranges: (readonly [IpAddress, number])[] = []
  for (const part of list.split(',')) {
    const entry = part.trim()
    if (entry === '') continue
    const range = parseRange(entry)
    if (range !== null) ranges.push(range)
    else if (HOST_NAME.test(entry) && !/^[\d.]+$/.test(entry)) names.add(entry.toLowerCase())
    else return err(`expected CIDRs, addresses and host names, found \`${entry}\``)
  }
  return ok(new UpstreamAllowList(names, ranges))
}

/** Whether the address is globally reachable, and the same machine for everybody on the internet. */
export function isPublic(address: string): boolean {
  const parsed = ipaddr.process(address)
  if (parsed.range() !== 'unicast' || contains(CLOUD_PLATFORM_ADDRESS, 32, parsed)) return false
  return parsed.kind() === 'ipv4' || contains(...GLOBAL_UNICAST, parsed)
}

/**
 * Domains without public names: of this machine (RFC 6761, section 6.3), of the local link (RFC 6762), of a home
 * network (RFC 8375), and of private networks, which contain the metadata services of clouds.
 */
const INTERNAL_NAME = /(?:^|\.)(?:localhost|localdomain|local|internal|home\.arpa)\.?$/

/**
 * Whether a host name, in lower case, can only be a machine that is not public. A name of one label is one of the local network: no
 * top-level domain has a host of its own (RFC 7085, section 1).
 */
export function isInternalName(host: string): boolean {
  return !/[^.]\.[^.]/.test(host) || INTERNAL_NAME.test(host)
}

function parseRange(entry: string): readonly [IpAddress, number] | null {
  if (ipaddr.IPv4.isValidFourPartDecimal(entry)) return [ipaddr.parse(entry), 32]
  if (ipaddr.IPv6.isValid(entry)) return [ipaddr.parse(entry), 128]
  return ipaddr.isValidCIDR(entry) ? ipaddr.parseCIDR(entry) : null
}

function contains(network: IpAddress, bits: number, address: IpAddress): boolean {
  return network.kind() === address.kind() && address.match([network, bits] as never)
}
