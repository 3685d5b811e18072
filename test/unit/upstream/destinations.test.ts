// Which addresses of a host may be connected to, for clients that open sockets of their own.
import { describe, expect, it } from 'vitest'
import { parseAllowList } from '../../../src/upstream/allow-list.ts'
import { createDestinations, type Destinations } from '../../../src/upstream/destinations.ts'

function rule(list: string): Destinations {
  const allowed = parseAllowList(list)
  if (!allowed.ok) throw new Error(allowed.error)
  return createDestinations(allowed.value)
}

describe('the addresses of a host', () => {
  it('are returned in the usual notation', async () => {
    expect(await rule('').addressesOf('010.8.8.8', true)).toEqual({ ok: true, value: ['8.8.8.8'] })
    expect(await rule('').addressesOf('::ffff:8.8.8.8', true)).toEqual({ ok: true, value: ['8.8.8.8'] })
    expect(await rule('127.0.0.0/8').addressesOf('0177.1', false)).toEqual({ ok: true, value: ['127.0.0.1'] })
    expect(await rule('::1').addressesOf('::1', false)).toEqual({ ok: true, value: ['::1'] })
  })

  it('are forbidden if one of them is not public, or without TLS', async () => {
    const of = async (list: string, host: string, isSecure: boolean): Promise<unknown> => {
      const addresses = await rule(list).addressesOf(host, isSecure)
      return addresses.ok ? addresses.value : `${addresses.error.kind}: ${addresses.error.message}`
    }
    expect(await of('', '10.0.0.1', true)).toBe('forbidden: `10.0.0.1` has the address 10.0.0.1, which is not public')
    expect(await of('', '8.8.8.8', false)).toBe('forbidden: `8.8.8.8` may only be called over TLS')
    expect(await of('10.0.0.0/8', 'localhost', true)).toMatch(
      /^forbidden: `localhost` has the address (127\.0\.0\.1|::1), /,
    )
    expect(await of('', 'no-such-host.invalid', true)).toBe(
      'unreachable: no address of `no-such-host.invalid` was found',
    )
    expect(await of('localhost', 'localhost', false)).toContain('127.0.0.1')
  })

  it('of listed names need no TLS, and hosts are refused by their name before they are resolved', () => {
    const { hostError } = rule('broker.internal,10.0.0.0/8')
    expect([hostError('broker.internal', false), hostError('10.1.2.3', false)]).toEqual([null, null])
    expect(hostError('192.168.0.1', true)).toBe('the address `192.168.0.1` is not public')
    expect(rule('').hostError('broker.internal', true)).toBe('the host `broker.internal` is not public')
    expect(rule('').hostError('broker.example', false)).toBe('expected TLS')
    for (const host of ['metadata', 'db', 'kafka-1']) {
      expect(rule('').hostError(host, true)).toBe(`the host \`${host}\` is not public`)
      expect(rule(`${host},`).hostError(host, true)).toBe(null)
      // The name may have a listed address.
      expect(rule('10.0.0.0/8').hostError(host, true)).toBe(null)
    }
    expect(rule('').hostError('2606:4700:4700::1111', true)).toBe(null)
  })
})
