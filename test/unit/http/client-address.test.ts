import { describe, expect, it } from 'vitest'
import { clientAddressOf } from '../../../src/http/client-address.ts'

const peer = '198.51.100.7'

/** The address for a value of `X-Forwarded-For`; undefined: without the header. */
function addressFor(value: string | undefined, header = 'x-forwarded-for', peerAddress: string | null = peer): string {
  const headers = value === undefined ? {} : { 'X-Forwarded-For': value }
  return clientAddressOf(new Request('http://x/', { headers }), { header, peerOf: () => peerAddress })
}

describe('the address of a client', () => {
  it('is that of the connection if no header is trusted', () => {
    expect(addressFor('192.0.2.1', '')).toBe(peer)
    expect(addressFor(undefined, '')).toBe(peer)
    expect(addressFor(undefined, '', null)).toBe('')
  })

  it('is the last entry of the trusted header, because the client may have written the others', () => {
    expect(addressFor('192.0.2.1')).toBe('192.0.2.1')
    expect(addressFor('203.0.113.9, 10.0.0.1,192.0.2.1')).toBe('192.0.2.1')
    expect(addressFor('203.0.113.9, 192.0.2.1 ')).toBe('192.0.2.1')
  })

  it.each([
    ['192.0.2.1:4711', '192.0.2.1'],
    ['2001:DB8::1', '2001:db8::1'],
    ['[2001:db8::1]', '2001:db8::1'],
    ['[2001:db8::1]:4711', '2001:db8::1'],
    ['::ffff:192.0.2.1', '192.0.2.1'],
  ])('has one form: %s', (entry, address) => {
    expect(addressFor(entry)).toBe(address)
  })

  it.each(['', 'unknown', '192.0.2.1, ', '192.0.2.256', 'a'.repeat(1000), '_hidden', '192.0.2.1"}'])(
    'is that of the connection if the last entry is no address: %s',
    (entry) => {
      expect(addressFor(entry)).toBe(peer)
    },
  )

  it('of a socket for both versions of IP is written as IPv4', () => {
    expect(addressFor(undefined, '', '::ffff:198.51.100.7')).toBe(peer)
    expect(addressFor(undefined, '', '::1')).toBe('::1')
  })
})
