// The Kafka driver without a broker: broker addresses, refusals before a connection, deadlines. Real brokers are in
// test/stress/event-providers.
import { afterEach, describe, expect, it } from 'vitest'
import type { StreamingBrokerConfig } from '../../../src/events/providers/provider.ts'
import { parseBroker, streamingBroker } from '../../../src/events/providers/streaming-broker.ts'
import { type SilentServer, startSilentServer } from '../../support/counterparts/silent-server.ts'
import { outgoingEvents, providerDeps } from '../../support/outgoing-events.ts'

const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function silent(): Promise<SilentServer> {
  const server = await startSilentServer()
  cleanups.push(() => server.stop())
  return server
}

function send(config: Partial<StreamingBrokerConfig>, allowed = '', deadlineMs = 60_000) {
  const connection = streamingBroker.connect({ brokers: [], topic: 't', ...config }, providerDeps(allowed))
  cleanups.push(() => connection.close())
  return connection.send(outgoingEvents(0, 2), deadlineMs)
}

const retry = (error: unknown) => ({ kind: 'retry', delivered: 0, error })

describe('a broker address', () => {
  it.each([
    ['broker', { host: 'broker', port: 9092 }],
    ['Broker.Example:9093', { host: 'broker.example', port: 9093 }],
    ['10.0.0.1:1', { host: '10.0.0.1', port: 1 }],
    ['[2001:DB8::1]', { host: '2001:db8::1', port: 9092 }],
    [' [::1]:9094 ', { host: '::1', port: 9094 }],
  ])('%j is read', (text, value) => {
    expect(parseBroker(text)).toEqual({ ok: true, value })
  })

  it.each([
    '',
    ':9092',
    'broker:',
    'broker:0',
    'broker:65536',
    'broker:x',
    '::1',
    'kafka://broker',
    'u:p@broker',
    'a b',
    '[x]:1',
  ])('%j is refused', (text) => {
    expect(parseBroker(text)).toMatchObject({ ok: false })
  })
})

describe('a send to brokers', () => {
  it('is refused for addresses that are not public or without TLS', async () => {
    expect(await send({ brokers: ['b.example', '127.0.0.1'] })).toEqual(
      retry('brokers[1]: the address `127.0.0.1` is not public'),
    )
    expect(await send({ brokers: ['[::ffff:10.0.0.1]:1'] })).toEqual(
      retry('brokers[0]: the address `::ffff:10.0.0.1` is not public'),
    )
    for (const notation of ['2130706433', '0x7f.1', '0177.0.0.1', '127.1']) {
      expect(await send({ brokers: [notation] })).toEqual(
        retry(`brokers[0]: the address \`${notation}\` is not public`),
      )
    }
    expect(await send({ brokers: ['localhost'] })).toEqual(retry('brokers[0]: the host `localhost` is not public'))
    expect(await send({ brokers: ['b.example'], disable_tls: true })).toEqual(retry('brokers[0]: expected TLS'))
    expect(await send({ brokers: ['localhost:1'] }, '10.0.0.0/8')).toEqual(
      retry(expect.stringMatching(/^broker localhost:1: `localhost` has the address \S+, which is not public$/)),
    )
  })

  it('is refused for half of a login and for addresses that cannot be read', async () => {
    expect(await send({ brokers: ['b.example'], username: 'u' })).toEqual(retry('password: required with `username`'))
    expect(await send({ brokers: ['b.example'], password: 'p' })).toEqual(retry('username: required with `password`'))
    expect(await send({ brokers: ['kafka://b'] })).toEqual(
      retry('brokers[0]: expected `host`, `host:port` or `[IPv6 address]:port`'),
    )
  })

  it('ends at its deadline if the broker accepts connections and never answers', async () => {
    const { port } = await silent()
    const config = { brokers: [`127.0.0.1:${port}`], disable_tls: true }
    expect(await send(config, '127.0.0.1', 1500)).toEqual(retry('no acknowledgement within 1500 milliseconds'))
    const login = { ...config, username: 'u', password: 'p' }
    expect(await send(login, '127.0.0.1', 1500)).toEqual(retry('no acknowledgement within 1500 milliseconds'))
  })

  it('ends when the connection is closed, and sends nothing after it', async () => {
    const { port } = await silent()
    const connection = streamingBroker.connect(
      { brokers: [`127.0.0.1:${port}`], topic: 't', disable_tls: true },
      providerDeps('127.0.0.1'),
    )
    const sending = connection.send(outgoingEvents(0, 2), 60_000)
    await Bun.sleep(500)
    await connection.close()
    expect(await sending).toMatchObject({ kind: 'retry', delivered: 0 })
    expect(await connection.send(outgoingEvents(0, 2), 1000)).toEqual(retry('the connection is closed'))
  })
})
