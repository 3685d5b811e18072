// Addresses and networks against ipaddr.js, and the spellings that only it reads.
import ipaddr from 'ipaddr.js'
import { expect, test } from 'vitest'
import { isWithin, parseNetwork } from '../../../../src/engine/value/ip-address.ts'
import { Random } from '../../../generate/random.ts'

const CASES = 20_000

/** A spelling of an address. Bits repeat, so that groups of zeros and networks that contain an address occur. */
function addressText(random: Random): string {
  const byte = () => random.pick([0, 0, 1, 10, 127, 192, 255, random.between(0, 255)])
  const dotted = () => [byte(), byte(), byte(), byte()].join('.')
  if (random.odds(0.4)) return dotted()
  if (random.odds(0.2)) return `::ffff:${dotted()}`
  const group = () => random.pick(['0', '0000', 'ffff', 'db8', 'DB8', '2001', random.between(0, 0xffff).toString(16)])
  const groups = Array.from({ length: 8 }, group)
  if (random.odds(0.3)) return `${groups.slice(0, 6).join(':')}:${dotted()}`
  if (random.odds(0.4)) return groups.join(':')
  const from = random.between(0, 7)
  const to = random.between(from + 1, 8)
  return `${groups.slice(0, from).join(':')}::${groups.slice(to).join(':')}`
}

function spoiled(random: Random, text: string): string {
  const at = random.between(0, text.length)
  return (
    text.slice(0, at) + random.pick([':', '.', '/', '0', 'g', ' ', '-', '1']) + text.slice(at + random.between(0, 1))
  )
}

test('addresses are those of the library, and contained in the same networks', () => {
  const seed = Math.floor(Math.random() * 2 ** 32)
  const random = new Random(seed)
  let contained = 0
  for (let at = 0; at < CASES; at++) {
    const [base, address] = [addressText(random), addressText(random)]
    const where = `seed ${seed}, case ${at}: ${base}, ${address}`
    const [parsedBase, parsed] = [ipaddr.process(base), ipaddr.process(address)]
    const prefix = random.between(0, parsedBase.kind() === 'ipv4' ? 32 : 128)
    const offset = parsedBase.kind() === 'ipv4' && base.includes(':') ? 96 : 0
    const network = parseNetwork(`${base}/${prefix + offset}`)
    const inner = parseNetwork(address)
    expect([network?.version, inner?.version], where).toEqual(
      [parsedBase, parsed].map((one) => (one.kind() === 'ipv4' ? 4 : 6)),
    )
    const expected = parsedBase.kind() === parsed.kind() && parsed.match(parsedBase as never, prefix)
    expect(isWithin(network!, inner!), `${where}, prefix ${prefix}`).toBe(expected)
    if (expected) contained++
  }
  expect(contained, `seed ${seed}`).toBeGreaterThan(CASES / 50)
})

test('what the library refuses is refused', () => {
  const seed = Math.floor(Math.random() * 2 ** 32)
  const random = new Random(seed)
  let refused = 0
  for (let at = 0; at < CASES; at++) {
    const text = spoiled(random, addressText(random))
    const isKnown = text.includes('/') ? ipaddr.isValidCIDR(text) : ipaddr.isValid(text)
    if (isKnown) continue
    refused++
    expect(parseNetwork(text), `seed ${seed}, case ${at}: ${text}`).toBeNull()
  }
  expect(refused, `seed ${seed}`).toBeGreaterThan(CASES / 10)
})

test.each(['010.0.0.1', '10.1', '167772161', '0x0a000001', '10.0.0.0x1', 'fe80::1%eth0', '::ffff:010.0.0.1'])(
  '%s, which other readers take for another address, is refused',
  (text) => expect(parseNetwork(text)).toBeNull(),
)
