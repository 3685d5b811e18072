// IP addresses and networks in texts: dotted decimal IPv4 (RFC 6943, section 3.1.1, strict form), IPv6 (RFC 4291, section 2.2) and CIDR
// (RFC 4632, section 3.1). Parsed here and not by ipaddr.js, which outgoing connections use: it reads `010.0.0.1` as octal, `10.1` as
// 10.0.0.1, and zones, so a rule could be passed with another spelling of an address.

/** A network, or an address: a network of one address. An IPv4-mapped IPv6 address is its IPv4 address. */
export interface IpNetwork {
  readonly version: 4 | 6
  /** The bits of the text, also those after the prefix. */
  readonly bits: bigint
  readonly prefix: number
}

/** `ffff:ffff:ffff:ffff:ffff:ffff:255.255.255.255/128`. */
const LENGTH_MAX = 49

const LENGTHS = { 4: 32, 6: 128 } as const

/** Returns null if the text is neither an address nor a network. Takes constant time. */
export function parseNetwork(text: string): IpNetwork | null {
  if (text.length > LENGTH_MAX) return null
  const slash = text.indexOf('/')
  const address = parseAddress(slash < 0 ? text : text.slice(0, slash))
  if (address === null) return null
  const { version, bits } = address
  const prefix = slash < 0 ? LENGTHS[version] : parsePrefix(text.slice(slash + 1), LENGTHS[version])
  if (prefix === null) return null
  const isMapped = version === 6 && prefix >= 96 && bits >> 32n === 0xffffn
  return isMapped ? { version: 4, bits: bits & 0xffffffffn, prefix: prefix - 96 } : { version, bits, prefix }
}

/** Whether every address of `inner` is in `network`. Networks of different versions share none. */
export function isWithin(network: IpNetwork, inner: IpNetwork): boolean {
  if (network.version !== inner.version || inner.prefix < network.prefix) return false
  const shift = BigInt(LENGTHS[network.version] - network.prefix)
  return network.bits >> shift === inner.bits >> shift
}

const DECIMAL = /^(?:0|[1-9]\d{0,2})$/

function parsePrefix(text: string, max: number): number | null {
  return DECIMAL.test(text) && Number(text) <= max ? Number(text) : null
}

function parseAddress(text: string): Pick<IpNetwork, 'version' | 'bits'> | null {
  const version = text.includes(':') ? 6 : 4
  const bits = version === 6 ? parseIPv6(text) : parseIPv4(text)
  return bits === null ? null : { version, bits }
}

function parseIPv4(text: string): bigint | null {
  const parts = text.split('.')
  if (parts.length !== 4 || !parts.every((part) => DECIMAL.test(part) && Number(part) <= 255)) return null
  return BigInt(parts.reduce((all, part) => all * 256 + Number(part), 0))
}

const GROUP = /^[\da-f]{1,4}$/i

function parseIPv6(text: string): bigint | null {
  const halves = text.split('::')
  if (halves.length > 2) return null
  const [first, second] = halves.map((half, at) => groupsOf(half, at === halves.length - 1))
  if (first == null || second === null) return null
  if (second === undefined) return first.length === 8 ? joined(first) : null
  const omitted = 8 - first.length - second.length
  return omitted < 1 ? null : joined([...first, ...Array<number>(omitted).fill(0), ...second])
}

/** The groups of 16 bits in a part without `::`. The last part may end with an IPv4 address. */
function groupsOf(part: string, isLast: boolean): readonly number[] | null {
  if (part === '') return []
  const texts = part.split(':')
  const embedded = isLast && texts.at(-1)!.includes('.') ? parseIPv4(texts.pop()!) : undefined
  if (embedded === null || !texts.every((group) => GROUP.test(group))) return null
  const groups = texts.map((group) => Number.parseInt(group, 16))
  if (embedded !== undefined) groups.push(Number(embedded >> 16n), Number(embedded & 0xffffn))
  return groups
}

function joined(groups: readonly number[]): bigint {
  return groups.reduce((all, group) => (all << 16n) | BigInt(group), 0n)
}
