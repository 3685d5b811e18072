// The queue driver against a receiver in this process: login, tokens, outcome of each delivery, deadlines.
import { afterEach, describe, expect, it } from 'vitest'
import type { DeliveryOutcome, ProviderConnection } from '../../../../src/events/providers/provider.ts'
import { queueService } from '../../../../src/events/providers/queue-service.ts'
import {
  type AmqpFake,
  type AmqpFakeOptions,
  type FakeOutcome,
  startAmqpFake,
} from '../../../support/counterparts/amqp-fake.ts'
import { startSilentServer } from '../../../support/counterparts/silent-server.ts'
import { compareReceived, outgoingEvents, providerDeps } from '../../../support/outgoing-events.ts'

const local = providerDeps('127.0.0.1')
const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function fake(options: AmqpFakeOptions = {}): Promise<AmqpFake> {
  const started = await startAmqpFake(options)
  cleanups.push(() => started.stop())
  return started
}

function connectTo(connectionString: string, queueOrTopicName = 'q'): ProviderConnection {
  const connection = queueService.connect({ queueOrTopicName, connectionString }, local)
  cleanups.push(() => connection.close())
  return connection
}

const urlOf = ({ port }: AmqpFake): string => `amqp://127.0.0.1:${port}`
const emulatorOf = ({ port }: AmqpFake, more: string): string =>
  `Endpoint=sb://127.0.0.1:${port}/;${more};UseDevelopmentEmulator=true`
const idsOf = ({ messages }: AmqpFake, outcome: FakeOutcome = 'accept'): unknown[] =>
  messages.filter((one) => one.outcome === outcome).map(({ message }) => message.message_id)
const shared = 'SharedAccessKeyName=sender;SharedAccessKey=c2VjcmV0IG9mIHRoZSBxdWV1ZQ=='

/** Each outcome applies to the message with this id, once. */
function outcomes(planned: Record<string, FakeOutcome>): AmqpFakeOptions {
  const left = { ...planned }
  return {
    outcome({ message_id }) {
      const result = left[String(message_id)] ?? 'accept'
      delete left[String(message_id)]
      return result
    },
  }
}

describe('login', () => {
  it('is by password if the receiver offers it, also for a connection string with a key', async () => {
    const receiver = await fake({ mechanisms: ['MSSBCBS', 'PLAIN'].reverse() as ['PLAIN', 'MSSBCBS'] })
    expect(await connectTo(emulatorOf(receiver, shared)).send(outgoingEvents(0, 3), 60_000)).toEqual({
      kind: 'delivered',
    })
    expect(receiver.logins).toEqual(['PLAIN'])
    expect(receiver.tokens).toEqual([])
  })

  it('sends a shared access signature for the queue if the receiver wants a token', async () => {
    const receiver = await fake({ mechanisms: ['MSSBCBS', 'ANONYMOUS'] })
    const connection = connectTo(emulatorOf(receiver, shared))
    expect(await connection.send(outgoingEvents(0, 3), 60_000)).toEqual({ kind: 'delivered' })
    expect(await connection.send(outgoingEvents(3, 3), 60_000)).toEqual({ kind: 'delivered' })
    expect(receiver.tokens.map(({ properties }) => properties)).toEqual([
      {
        operation: 'put-token',
        type: 'servicebus.windows.net:sastoken',
        name: `sb://127.0.0.1:${receiver.port}/q`,
      },
    ])
    expect(receiver.tokens[0]?.body).toMatch(
      /^SharedAccessSignature sr=sb%3A%2F%2F127\.0\.0\.1%3A\d+%2Fq&sig=[\w%]+&se=\d{10}&skn=sender$/,
    )
    expect(idsOf(receiver)).toHaveLength(6)
  })

  it('falls back to the token if only ANONYMOUS is offered', async () => {
    const receiver = await fake({ mechanisms: ['ANONYMOUS'] })
    expect(await connectTo(emulatorOf(receiver, shared)).send(outgoingEvents(0, 1), 60_000)).toEqual({
      kind: 'delivered',
    })
    expect(receiver.tokens).toHaveLength(1)
  })

  it('uses a given shared access signature as it is', async () => {
    const receiver = await fake({ mechanisms: ['MSSBCBS'] })
    const signature = 'SharedAccessSignature sr=x&sig=abc%3D&se=1&skn=sender'
    const connection = connectTo(emulatorOf(receiver, `SharedAccessSignature=${signature}`))
    expect(await connection.send(outgoingEvents(0, 1), 60_000)).toEqual({ kind: 'delivered' })
    expect(receiver.tokens[0]?.body).toBe(signature)
  })

  it('that is refused ends with a text without the secret', async () => {
    const wrong = await fake({ mechanisms: ['PLAIN'], password: () => false })
    const outcome = await connectTo(`amqp://svc:wrong%2Fsecret@127.0.0.1:${wrong.port}`).send(
      outgoingEvents(0, 1),
      60_000,
    )
    expect(outcome).toEqual({
      kind: 'retry',
      delivered: 0,
      error: 'amqp:unauthorized-access: authentication failed',
    })
    const refusing = await fake({ mechanisms: ['MSSBCBS'], tokenStatus: () => 401 })
    expect(await connectTo(emulatorOf(refusing, shared)).send(outgoingEvents(0, 1), 60_000)).toEqual({
      kind: 'retry',
      delivered: 0,
      error: '$cbs: status 401 refused',
    })
  })
})

describe('the outcome of a batch', () => {
  it('names the first event that was refused, and sends no event again that was accepted', async () => {
    const receiver = await fake(outcomes({ 'graph-4': { reject: 'amqp:decode-error', description: 'no' } }))
    const connection = connectTo(urlOf(receiver))
    const events = outgoingEvents(0, 40, 20)
    const outcome = await connection.send(events, 60_000)
    expect(outcome).toEqual({ kind: 'refused', delivered: 4, error: 'amqp:decode-error: no', isFinal: false })
    // The key of the refused event has two more events, which must not overtake it.
    expect(idsOf(receiver)).not.toContain('graph-5')
    expect(await connection.send(events.slice(4), 60_000)).toEqual({ kind: 'delivered' })
    const received = receiver.messages.filter((one) => one.outcome === 'accept')
    expect(
      compareReceived(
        events,
        received.map(({ message }) => ({ id: String(message.message_id), key: message.group_id ?? '' })),
      ),
    ).toEqual({ faults: [], duplicates: 0 })
  })

  it.each<[FakeOutcome, string]>([
    ['release', 'the queue released the message without storing it'],
    [{ reject: 'amqp:resource-limit-exceeded', description: 'full' }, 'amqp:resource-limit-exceeded: full'],
    [{ reject: 'com.microsoft:server-busy' }, 'com.microsoft:server-busy'],
    [{ detach: 'amqp:resource-deleted' }, 'amqp:resource-deleted: detached'],
  ])('is another attempt after %j', async (result, error) => {
    const receiver = await fake(outcomes({ 'graph-2': result }))
    const connection = connectTo(urlOf(receiver))
    const events = outgoingEvents(0, 6, 1)
    expect(await connection.send(events, 60_000)).toEqual({ kind: 'retry', delivered: 2, error })
    expect(await connection.send(events.slice(2), 60_000)).toEqual({ kind: 'delivered' })
    expect(idsOf(receiver)).toEqual(events.map(({ attributes }) => attributes.id))
  })

  it('is another attempt after a lost connection, which is rebuilt', async () => {
    const receiver = await fake(outcomes({ 'graph-3': 'disconnect' }))
    const connection = connectTo(urlOf(receiver))
    const events = outgoingEvents(0, 6, 1)
    expect(await connection.send(events, 60_000)).toMatchObject({ kind: 'retry', delivered: 3 })
    expect(await connection.send(events.slice(3), 60_000)).toEqual({ kind: 'delivered' })
    expect(idsOf(receiver)).toEqual(events.map(({ attributes }) => attributes.id))
  })

  it('is final for a message above the limit of the link', async () => {
    const receiver = await fake({ maxMessageSize: 2000 })
    const events = [...outgoingEvents(0, 3, 1), ...outgoingEvents(3, 1, 1, 5000), ...outgoingEvents(4, 2, 1)]
    const connection = connectTo(urlOf(receiver))
    expect(await connection.send(events, 60_000)).toEqual({
      kind: 'refused',
      delivered: 3,
      error: expect.stringMatching(/^the message has 5\d{3} bytes; the queue accepts 2000$/),
      isFinal: true,
    })
    expect(await connection.send(events.slice(4), 60_000)).toEqual({ kind: 'delivered' })
  })

  it('is final for the message whose size makes the receiver detach', async () => {
    const receiver = await fake({
      outcome: ({ body }) => (body.content.length > 4000 ? { detach: 'amqp:link:message-size-exceeded' } : 'accept'),
    })
    const events = [...outgoingEvents(0, 9, 3), ...outgoingEvents(9, 1, 3, 5000), ...outgoingEvents(10, 9, 3)]
    const connection = connectTo(urlOf(receiver))
    let outcome: DeliveryOutcome = { kind: 'delivered' }
    let at = 0
    for (let tries = 0; tries < 10; tries++) {
      outcome = await connection.send(events.slice(at), 60_000)
      if (outcome.kind !== 'retry') break
      at += outcome.delivered
    }
    expect(outcome).toMatchObject({ kind: 'refused', isFinal: true })
    expect(at + (outcome as { delivered: number }).delivered).toBe(9)
    expect(await connection.send(events.slice(10), 60_000)).toEqual({ kind: 'delivered' })
    const received = receiver.messages
      .filter((one) => one.outcome === 'accept')
      .map(({ message }) => message.message_id)
    expect(new Set(received).size).toBe(18)
  })
})

describe('the deadline', () => {
  const silent = async (): Promise<number> => {
    const server = await startSilentServer()
    cleanups.push(() => server.stop())
    return server.port
  }

  it('ends a send to a server that accepts connections and never answers', async () => {
    const connection = connectTo(`amqp://127.0.0.1:${await silent()}`)
    expect(await connection.send(outgoingEvents(0, 1), 300)).toEqual({
      kind: 'retry',
      delivered: 0,
      error: 'no acknowledgement within 300 milliseconds: no AMQP connection',
    })
  })

  it('ends a send without an acknowledgement, and without credit', async () => {
    const silence = await fake({ outcome: (_message, at) => (at === 2 ? 'silence' : 'accept') })
    const blocked = await fake({ isBlocked: true })
    // Long enough to connect on a busy machine.
    const ended = await Promise.all([
      connectTo(urlOf(silence)).send(outgoingEvents(0, 5, 1), 7000),
      connectTo(urlOf(blocked)).send(outgoingEvents(0, 1), 7000),
    ])
    const error = 'no acknowledgement within 7000 milliseconds'
    expect(ended).toEqual([
      { kind: 'retry', delivered: 2, error },
      { kind: 'retry', delivered: 0, error: `${error}: the queue grants no credit` },
    ])
  })

  it('does not outlive a close', async () => {
    const connection = connectTo(`amqp://127.0.0.1:${await silent()}`)
    const sending = connection.send(outgoingEvents(0, 1), 60_000)
    await Bun.sleep(50)
    await connection.close()
    expect(await sending).toEqual({ kind: 'retry', delivered: 0, error: 'the connection is closed' })
    expect(await connection.send(outgoingEvents(0, 1), 1000)).toMatchObject({ error: 'the connection is closed' })
  })
})

describe('addresses', () => {
  it('that are not public or without TLS are refused before anything is sent', async () => {
    const receiver = await fake()
    const deps = providerDeps('')
    const send = (connectionString: string) =>
      queueService.connect({ queueOrTopicName: 'q', connectionString }, deps).send(outgoingEvents(0, 1), 60_000)
    const refusal = (error: string) => ({ kind: 'retry', delivered: 0, error: `connectionString: ${error}` })
    expect(await send(urlOf(receiver))).toEqual(refusal('the address `127.0.0.1` is not public'))
    expect(await send('amqps://[::1]')).toEqual(refusal('the address `::1` is not public'))
    expect(await send(`Endpoint=sb://0177.0.0.1/;${shared}`)).toEqual(refusal('the address `0177.0.0.1` is not public'))
    expect(await send(`Endpoint=sb://localhost:1/;${shared}`)).toEqual(refusal('the host `localhost` is not public'))
    expect(await send('amqp://queue.example')).toEqual(refusal('expected TLS'))
    expect(receiver.logins).toEqual([])
  })

  it('that a listed range does not contain are refused after the name is resolved', async () => {
    const deps = providerDeps('10.0.0.0/8')
    const connection = queueService.connect({ queueOrTopicName: 'q', connectionString: 'amqps://localhost:1' }, deps)
    const outcome = await connection.send(outgoingEvents(0, 1), 60_000)
    expect(outcome).toMatchObject({
      error: expect.stringMatching(/^`localhost` has the address \S+, which is not public$/),
    })
  })
})
