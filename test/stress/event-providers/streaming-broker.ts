// `streaming_broker` against Apache Kafka: security protocols, refusals, and kill -9 while it sends.

import type { StreamingBrokerConfig } from '../../../src/events/providers/provider.ts'
import { streamingBroker } from '../../../src/events/providers/streaming-broker.ts'
import { createTopic, type KafkaRecord, kafkaUsers, prepareKafka, readTopic } from '../../support/counterparts/kafka.ts'
import { outgoingEvent, outgoingEvents, providerDeps, type ReceivedEvent } from '../../support/outgoing-events.ts'
import { deliverAll, deliverThroughKills, type SectionOptions, sendOnce } from './checks.ts'
import { sendCompiled } from './compiled.ts'

const idOf = ({ key, headers }: KafkaRecord): ReceivedEvent => ({ id: headers.ce_id ?? '', key })

export async function checkStreamingBroker({
  checks,
  folder,
  authorities,
  events,
  rounds,
}: SectionOptions): Promise<void> {
  const broker = await prepareKafka(folder)
  await broker.start()
  try {
    const { plaintext, tls, saslPlaintext, saslTls, elsewhere } = broker.ports
    const local = providerDeps('127.0.0.1,::1', authorities)
    const send = (
      config: Partial<StreamingBrokerConfig>,
      sent = outgoingEvents(0, 20),
      deps = local,
      deadlineMs?: number,
    ) =>
      sendOnce(
        streamingBroker.connect({ brokers: [`localhost:${tls}`], topic: 'events', ...config }, deps),
        sent,
        deadlineMs,
      )

    await createTopic(plaintext, 'events', 3)
    const protocols: [string, Partial<StreamingBrokerConfig>][] = [
      ['PLAINTEXT', { brokers: [`127.0.0.1:${plaintext}`], disable_tls: true }],
      ['TLS', {}],
      [
        'TLS to an address that the certificate does not name, skipping verification',
        { brokers: [`127.0.0.1:${tls}`], tls_skip_verify: true },
      ],
      ['SASL over TLS, SCRAM-SHA-512', { brokers: [`localhost:${saslTls}`], ...kafkaUsers.sha512 }],
      ['SASL over TLS, SCRAM-SHA-256', { brokers: [`localhost:${saslTls}`], ...kafkaUsers.sha256 }],
      ['SASL over TLS, PLAIN', { brokers: [`localhost:${saslTls}`], ...kafkaUsers.plain }],
      ['SASL without TLS', { brokers: [`localhost:${saslPlaintext}`], disable_tls: true, ...kafkaUsers.all }],
      ['the second broker of the list', { brokers: ['localhost:1', `localhost:${tls}`] }],
    ]
    const compiled = { brokers: [`localhost:${saslTls}`], topic: 'compiled', ...kafkaUsers.all }
    await createTopic(plaintext, 'compiled', 3)
    checks.outcome(
      'compiled to one file',
      await sendCompiled(folder, { kind: 'streaming_broker', config: compiled }, authorities),
      /^delivered$/,
    )
    checks.received(
      'from the compiled file',
      outgoingEvents(0, 20),
      (await readTopic(plaintext, 'compiled')).map(idOf),
      0,
    )
    for (const [name, config] of protocols) checks.outcome(name, await send(config), /^delivered$/)
    const records = await readTopic(plaintext, 'events')
    checks.equal('each protocol delivered each event once', records.length, 20 * protocols.length)
    const sample = outgoingEvent(7)
    const { datacontenttype, ...attributes } = sample.attributes
    const found = records.find(({ headers }) => headers.ce_id === 'graph-7')
    const prefixed = (prefix: string) => Object.entries(attributes).map(([name, value]) => [`${prefix}${name}`, value])
    checks.equal('value of a record', found?.value, new TextDecoder().decode(sample.data))
    checks.equal('key of a record', found?.key, sample.orderingKey)
    checks.equal(
      'headers of a record',
      Object.entries(found?.headers ?? {}).sort(),
      [['content-type', datacontenttype], ...prefixed('ce_'), ...prefixed('ce-')].sort(),
    )

    const wrong = { ...kafkaUsers.all, password: 'wrong-password-of-svc' }
    checks.outcome(
      'wrong password',
      await send({ brokers: [`localhost:${saslTls}`], ...wrong }),
      /^retry after 0: broker localhost:\d+: SASL authentication failed(?!.*wrong-password)/,
    )
    checks.outcome(
      'certificate for another name',
      await send({ brokers: [`127.0.0.1:${tls}`] }),
      /^retry after 0: .*certificate's altnames/,
    )
    checks.outcome(
      'unknown authority',
      await send({}, undefined, providerDeps('127.0.0.1,::1')),
      /^retry after 0: .*certificate/,
    )
    checks.outcome(
      'TLS to a listener without TLS',
      await send({ brokers: [`localhost:${plaintext}`] }),
      /^retry after 0: .*TLS handshake failed/,
    )
    checks.outcome('no TLS to a TLS listener', await send({ disable_tls: true }), /^retry after 0: Broker requires TLS/)
    checks.outcome(
      'no login where it is required',
      await send({ brokers: [`localhost:${saslTls}`] }),
      /^retry after 0: /,
    )
    checks.outcome('unknown topic', await send({ topic: 'missing' }), /^retry after 0: Unknown topic missing/)
    checks.outcome('no broker', await send({ brokers: ['localhost:1'] }), /^retry after 0: .*ECONNREFUSED/)
    checks.outcome(
      'an advertised address that is not allowed',
      await send(
        { brokers: [`localhost:${elsewhere}`], disable_tls: true },
        undefined,
        providerDeps('localhost', authorities),
        20_000,
      ),
      /^retry after 0: .*broker 127\.0\.0\.2:\d+: the address `127\.0\.0\.2` is not public/,
    )

    await createTopic(plaintext, 'small', 3, ['max.message.bytes=4000'])
    const mixed = outgoingEvents(0, 60)
    mixed[31] = outgoingEvent(31, 13, 8000)
    const small = streamingBroker.connect({ brokers: [`localhost:${tls}`], topic: 'small' }, local)
    const refused = await small.send(mixed, 30_000)
    checks.outcome(
      'one event of 60 is too large',
      refused,
      /^refused finally after 31: .*larger than the max message size/,
    )
    checks.outcome('the events after it', await small.send(mixed.slice(32), 30_000), /^delivered$/)
    await small.close()
    const delivered = mixed.filter((_, at) => at !== 31)
    checks.received('without the refused event', delivered, (await readTopic(plaintext, 'small')).map(idOf), 0)

    await createTopic(plaintext, 'compacted', 1, ['cleanup.policy=compact', 'message.timestamp.type=CreateTime'])
    checks.outcome(
      'large batch in parts',
      await send({ topic: 'compacted' }, outgoingEvents(0, 300, 13, 9000)),
      /^delivered$/,
    )

    await createTopic(plaintext, 'killed', 3)
    const all = outgoingEvents(0, events, 97)
    const connection = streamingBroker.connect(
      { brokers: [`localhost:${saslTls}`], topic: 'killed', ...kafkaUsers.all },
      local,
    )
    await deliverThroughKills(connection, all, broker, rounds)
    checks.received('kill -9 while it sends', all, (await readTopic(plaintext, 'killed')).map(idOf))

    await createTopic(plaintext, 'stopped', 3)
    const paused = streamingBroker.connect({ brokers: [`localhost:${tls}`], topic: 'stopped' }, local)
    const sent = outgoingEvents(0, 600)
    checks.outcome('before the broker stops answering', await paused.send(sent.slice(0, 200), 30_000), /^delivered$/)
    broker.pause()
    checks.outcome(
      'a broker that does not answer',
      await paused.send(sent.slice(200, 400), 2000),
      /^retry after 0: no acknowledgement within 2000 milliseconds/,
    )
    broker.resume()
    await deliverAll(paused, sent.slice(200))
    await paused.close()
    checks.received('once it answers again', sent, (await readTopic(plaintext, 'stopped')).map(idOf))
  } finally {
    broker.kill()
  }
}
