// `queue_service` against Artemis: queue, topic, TLS, refusals, and kill -9 while it sends.
import type { Message } from 'rhea'
import { sharedAccessSignature } from '../../../src/events/providers/amqp-link.ts'
import type { OutgoingEvent, QueueServiceConfig } from '../../../src/events/providers/provider.ts'
import { queueService } from '../../../src/events/providers/queue-service.ts'
import { startAmqpFake } from '../../support/counterparts/amqp-fake.ts'
import { declareDurable, readQueue } from '../../support/counterparts/amqp-reader.ts'
import { type AmqpBroker, prepareArtemis } from '../../support/counterparts/artemis.ts'
import { sendWithQueueSdk } from '../../support/counterparts/queue-sdk.ts'
import { prepareRabbitMq } from '../../support/counterparts/rabbitmq.ts'
import { outgoingEvent, outgoingEvents, providerDeps, type ReceivedEvent } from '../../support/outgoing-events.ts'
import { type Checks, deliverThroughKills, type SectionOptions, sendOnce } from './checks.ts'
import { sendCompiled } from './compiled.ts'

const receivedOf = ({ message_id, group_id }: Message): ReceivedEvent => ({
  id: String(message_id),
  key: group_id ?? '',
})

export async function checkQueueService(options: SectionOptions): Promise<void> {
  const { checks, folder, authorities, events, rounds } = options
  const broker = await prepareArtemis(folder)
  await broker.start()
  try {
    const { plain, tls, username, password } = broker
    const read = (address: string) => readQueue({ port: plain, username, password, address })
    const local = providerDeps('127.0.0.1,::1', authorities)
    const url = (scheme: string, host: string, secret = password): string =>
      `${scheme}://${username}:${encodeURIComponent(secret)}@${host}`
    const send = (
      config: Partial<QueueServiceConfig>,
      sent = outgoingEvents(0, 20),
      deps = local,
      deadlineMs?: number,
    ) =>
      sendOnce(
        queueService.connect(
          { queueOrTopicName: 'q1', connectionString: url('amqps', `localhost:${tls}`), ...config },
          deps,
        ),
        sent,
        deadlineMs,
      )

    const plainUrl = url('amqp', `127.0.0.1:${plain}`)
    checks.outcome('queue over TCP', await send({ connectionString: plainUrl }), /^delivered$/)
    await checkMessages(checks, await read('q1'), 20)
    checks.outcome('queue over TLS', await send({}), /^delivered$/)
    const sharedKey = `Endpoint=sb://localhost:${tls}/;SharedAccessKeyName=${username};SharedAccessKey=SECRET;EntityPath=q1`
    // A key contains no `;`: this password does, so the login must fail, and its text must not show it.
    checks.outcome(
      'connection string with a wrong key',
      await send({ connectionString: sharedKey.replace('SECRET', 'wrongKeyOfTheQueue=') }),
      /^retry after 0: amqp:unauthorized-access: authentication failed(?!.*wrongKeyOfTheQueue)/,
    )
    checks.received('the queue', outgoingEvents(0, 20), (await read('q1')).map(receivedOf), 0)
    const compiled = { queueOrTopicName: 'q1', connectionString: url('amqps', `localhost:${tls}`) }
    checks.outcome(
      'compiled to one file',
      await sendCompiled(folder, { kind: 'queue_service', config: compiled }, authorities),
      /^delivered$/,
    )
    checks.received('from the compiled file', outgoingEvents(0, 20), (await read('q1')).map(receivedOf), 0)
    checks.outcome('topic', await send({ queueOrTopicName: 'topic1' }), /^delivered$/)
    for (const subscription of ['sub1', 'sub2']) {
      const messages = await read(`topic1::${subscription}`)
      checks.received(`subscription ${subscription}`, outgoingEvents(0, 20), messages.map(receivedOf), 0)
    }

    const wrong = url('amqps', `localhost:${tls}`, 'wrong-password-of-svc')
    checks.outcome(
      'wrong password',
      await send({ connectionString: wrong }),
      /^retry after 0: amqp:unauthorized-access: authentication failed(?!.*wrong-password)/,
    )
    checks.outcome(
      'certificate for another name',
      await send({ connectionString: url('amqps', `127.0.0.1:${tls}`) }),
      /^retry after 0: .*certificate's altnames/,
    )
    checks.outcome(
      'unknown authority',
      await send({}, undefined, providerDeps('127.0.0.1,::1')),
      /^retry after 0: .*certificate/,
    )
    checks.outcome(
      'TLS to a listener without TLS',
      await send({ connectionString: url('amqps', `localhost:${plain}`) }, undefined, local, 4000),
      /^retry after 0: .*no AMQP connection/,
    )
    checks.outcome(
      'no TLS to a TLS listener',
      await send({ connectionString: url('amqp', `localhost:${tls}`) }, undefined, local, 4000),
      /^retry after 0: /,
    )
    checks.outcome(
      'nothing listens',
      await send({ connectionString: url('amqp', '127.0.0.1:1') }),
      /^retry after 0: 127\.0\.0\.1:1: connect ECONNREFUSED/,
    )
    const batch = outgoingEvents(0, 20)
    const full = queueService.connect({ queueOrTopicName: 'full', connectionString: plainUrl }, local)
    // Events of different keys overtake each other: what was accepted is the first event of five keys.
    checks.outcome('a full queue', await full.send(batch, 20_000), /^retry after 1: amqp:resource-limit-exceeded: /)
    const stored = (await read('full')).map(receivedOf)
    checks.equal('messages of the full queue', stored.length, 5)
    for (let at = 1; at < batch.length; ) {
      const outcome = await full.send(batch.slice(at), 20_000)
      stored.push(...(await read('full')).map(receivedOf))
      at = outcome.kind === 'delivered' ? batch.length : at + outcome.delivered
    }
    await full.close()
    checks.received('once the queue is read', batch, stored, 0)

    const hot = outgoingEvents(0, 2000, 1)
    const start = performance.now()
    checks.outcome('2000 events of one key', await send({ queueOrTopicName: 'hot' }, hot, local, 60_000), /^delivered$/)
    console.log(`     ${Math.round(2_000_000 / (performance.now() - start))} events/s of one key`)
    checks.received('in order', hot, (await read('hot')).map(receivedOf), 0)

    await checkKills(checks, broker, 'killed', { events, rounds }, local, read)
  } finally {
    broker.kill()
  }
}

/** A second implementation: queues, a topic exchange, TLS, a connection string with a key, and kill -9. */
export async function checkSecondQueueService(options: SectionOptions): Promise<void> {
  const { checks, folder, authorities, events, rounds } = options
  const broker = await prepareRabbitMq(folder)
  await broker.start()
  try {
    const { plain, tls, username, password } = broker
    const read = (address: string) => readQueue({ port: plain, username, password, address })
    const local = providerDeps('127.0.0.1,::1', authorities)
    const sharedKey = `Endpoint=sb://localhost:${tls}/;SharedAccessKeyName=${username};SharedAccessKey=${password}`
    const send = (queueOrTopicName: string, connectionString: string) =>
      sendOnce(queueService.connect({ queueOrTopicName, connectionString }, local), outgoingEvents(0, 20), 20_000)
    checks.outcome(
      'queue over TCP',
      await send('q1', `amqp://${username}:${password}@127.0.0.1:${plain}`),
      /^delivered$/,
    )
    await checkMessages(checks, await read('q1'), 20)
    checks.outcome('queue over TLS, connection string with a key', await send('/queue/q1', sharedKey), /^delivered$/)
    checks.received('the queue', outgoingEvents(0, 20), (await read('q1')).map(receivedOf), 0)
    checks.outcome(
      'wrong key',
      await send('q1', sharedKey.replace(password, 'wrong-key-of-svc')),
      /^retry after 0: (?!.*wrong-key)/,
    )
    // A queue that a sender declares by its address alone does not survive a restart, and seldom a durable one does not survive a
    // kill right after its declaration. The queue whose messages are counted has survived one.
    for (let attempt = 1; ; attempt++) {
      await declareDurable({ port: plain, username, password, address: '/queue/killed' })
      broker.kill()
      await broker.start()
      try {
        await read('/amq/queue/killed')
        break
      } catch (error) {
        if (attempt === 5) throw error
        console.log(`     declared again: ${error}`)
      }
    }
    await checkKills(checks, broker, '/amq/queue/killed', { events, rounds: Math.min(rounds, 3) }, local, read)
  } finally {
    broker.kill()
  }
}

/** The login by token, which no broker here offers: a fake receives the same from the driver and from the vendor's SDK. */
export async function checkQueueTokens({ checks }: SectionOptions): Promise<void> {
  const fake = await startAmqpFake({ mechanisms: ['ANONYMOUS', 'MSSBCBS'] })
  try {
    const [name, key] = ['send & listen', 'c2VjcmV0IG9mIHRoZSBxdWV1ZQ==']
    const connectionString = `Endpoint=sb://127.0.0.1:${fake.port};SharedAccessKeyName=${name};SharedAccessKey=${key};UseDevelopmentEmulator=true;`
    const [event] = outgoingEvents(0, 1)
    const { id, type, datacontenttype } = event?.attributes ?? {}
    await sendWithQueueSdk(connectionString, 'q', {
      body: JSON.parse(new TextDecoder().decode(event?.data)),
      messageId: id,
      sessionId: event?.orderingKey,
      contentType: datacontenttype,
      subject: type,
    })
    const connection = queueService.connect({ queueOrTopicName: 'q', connectionString }, providerDeps('127.0.0.1'))
    checks.outcome('login by token', await sendOnce(connection, [event as OutgoingEvent]), /^delivered$/)
    const [sdkToken, ownToken] = fake.tokens
    checks.equal('number of tokens', fake.tokens.length, 2)
    const sorted = (properties: object | undefined) => Object.entries(properties ?? {}).sort()
    checks.equal('token request as the SDK sends it', sorted(ownToken?.properties), sorted(sdkToken?.properties))
    const expiry = Number(/&se=(\d+)/.exec(sdkToken?.body ?? '')?.[1])
    const audience = String(sdkToken?.properties.name)
    const signature = sharedAccessSignature(audience, name, key, (expiry - 3600) * 1000)
    checks.equal('signature as the SDK makes it', signature, sdkToken?.body)
    const formOf = (message: Message | undefined) => [
      message?.message_id,
      message?.group_id,
      message?.subject,
      message?.content_type,
      message?.body?.typecode,
      message?.body?.content?.toString(),
    ]
    const [fromSdk, own] = fake.messages
    checks.equal('message as the SDK sends it', formOf(own?.message), formOf(fromSdk?.message))
  } finally {
    await fake.stop()
  }
}

async function checkMessages(checks: Checks, messages: readonly Message[], count: number): Promise<void> {
  checks.equal('number of messages', messages.length, count)
  const sample = outgoingEvent(7)
  const { datacontenttype, ...others } = sample.attributes
  const found = messages.find(({ message_id }) => message_id === 'graph-7')
  checks.equal('body of a message', found?.body?.content?.toString(), new TextDecoder().decode(sample.data))
  checks.equal(
    'properties of a message',
    [found?.content_type, found?.group_id, found?.subject, found?.durable],
    [datacontenttype, sample.orderingKey, sample.attributes.type, true],
  )
  checks.equal(
    'application properties of a message',
    Object.entries(found?.application_properties ?? {}).sort(),
    Object.entries(others)
      .map(([name, value]) => [`cloudEvents_${name}`, value])
      .sort(),
  )
}

async function checkKills(
  checks: Checks,
  broker: AmqpBroker,
  queueOrTopicName: string,
  { events, rounds }: Pick<SectionOptions, 'events' | 'rounds'>,
  deps: ReturnType<typeof providerDeps>,
  read: (address: string) => Promise<Message[]>,
): Promise<void> {
  const all = outgoingEvents(0, Math.ceil(events / 4), 97)
  const connectionString = `amqps://${broker.username}:${encodeURIComponent(broker.password)}@localhost:${broker.tls}`
  const connection = queueService.connect({ queueOrTopicName, connectionString }, deps)
  await deliverThroughKills(connection, all, broker, rounds)
  checks.received('kill -9 while it sends', all, (await read(queueOrTopicName)).map(receivedOf))
}
