// Apache Kafka as one process: broker and controller (KRaft), with a listener for each security protocol.
import { createReadStream, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { BrokerProcess, freePorts } from './broker-process.ts'
import { cacheFolder, installed, mavenLibraries, requireJava, run } from './install.ts'

const VERSION = '4.1.1'
const certificates = join(import.meta.dirname, '..', 'data', 'certificates')

/** The listeners, with the ports of 127.0.0.1. */
export interface KafkaPorts {
  readonly plaintext: number
  readonly tls: number
  readonly saslPlaintext: number
  readonly saslTls: number
  /** Without TLS; the metadata advertise this listener at 127.0.0.2. */
  readonly elsewhere: number
}

/** A running Kafka. */
export interface KafkaBroker {
  readonly ports: KafkaPorts
  start(): Promise<void>
  /** SIGKILL; the data stay. */
  kill(): void
  /** SIGSTOP: it keeps its connections and answers nothing until `resume`. */
  pause(): void
  resume(): void
}

/** Credentials by mechanism. The user `svc` exists for all mechanisms, the others for one. */
export const kafkaUsers = {
  all: { username: 'svc', password: 'secret of svc' },
  plain: { username: 'only-plain', password: 'secret of plain' },
  sha256: { username: 'only-sha256', password: 'secret of 256' },
  sha512: { username: 'only-sha512', password: 'secret of 512' },
} as const

/** Prepares a broker in `folder`, on free ports. Throws `CounterpartMissing` without Java or Maven. */
export async function prepareKafka(folder: string): Promise<KafkaBroker> {
  requireJava()
  const libraries = await installed(`kafka-${VERSION}`, (target) =>
    mavenLibraries(target, [`org.apache.kafka:kafka_2.13:${VERSION}`, 'org.slf4j:slf4j-nop:1.7.36']),
  )
  const [plaintext, tls, saslPlaintext, saslTls, elsewhere, controller] = (await freePorts(6)) as [
    number,
    number,
    number,
    number,
    number,
    number,
  ]
  mkdirSync(folder, { recursive: true })
  const read = (name: string): string => readFileSync(join(certificates, name), 'utf8')
  writeFileSync(join(folder, 'keystore.pem'), `${read('localhost.key')}${read('localhost.pem')}`, { mode: 0o600 })
  const listeners = [
    ['PLAINTEXT', plaintext],
    ['SSL', tls],
    ['SASL_PLAINTEXT', saslPlaintext],
    ['SASL_SSL', saslTls],
    ['ELSEWHERE', elsewhere],
  ] as const
  const { all, plain, sha256, sha512 } = kafkaUsers
  const sasl = ['sasl_plaintext', 'sasl_ssl'].flatMap((name) => [
    `listener.name.${name}.plain.sasl.jaas.config=org.apache.kafka.common.security.plain.PlainLoginModule required user_${all.username}="${all.password}" user_${plain.username}="${plain.password}";`,
    `listener.name.${name}.scram-sha-256.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;`,
    `listener.name.${name}.scram-sha-512.sasl.jaas.config=org.apache.kafka.common.security.scram.ScramLoginModule required;`,
  ])
  const properties = [
    'process.roles=broker,controller',
    'node.id=1',
    `controller.quorum.bootstrap.servers=127.0.0.1:${controller}`,
    'controller.listener.names=CONTROLLER',
    `listeners=CONTROLLER://127.0.0.1:${controller},${listeners.map(([name, port]) => `${name}://127.0.0.1:${port}`).join()}`,
    `advertised.listeners=${listeners.map(([name, port]) => `${name}://${name === 'ELSEWHERE' ? '127.0.0.2' : 'localhost'}:${port}`).join()}`,
    'listener.security.protocol.map=PLAINTEXT:PLAINTEXT,ELSEWHERE:PLAINTEXT,CONTROLLER:PLAINTEXT,SASL_SSL:SASL_SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL',
    'inter.broker.listener.name=PLAINTEXT',
    'sasl.enabled.mechanisms=PLAIN,SCRAM-SHA-256,SCRAM-SHA-512',
    ...sasl,
    'ssl.keystore.type=PEM',
    `ssl.keystore.location=${join(folder, 'keystore.pem')}`,
    'auto.create.topics.enable=false',
    'offsets.topic.replication.factor=1',
    'offsets.topic.num.partitions=1',
    'transaction.state.log.replication.factor=1',
    'transaction.state.log.num.partitions=1',
    'transaction.state.log.min.isr=1',
    'share.coordinator.state.topic.replication.factor=1',
    'share.coordinator.state.topic.min.isr=1',
    'group.initial.rebalance.delay.ms=0',
    'num.partitions=3',
    `log.dirs=${join(folder, 'data')}`,
  ]
  const config = join(folder, 'server.properties')
  writeFileSync(config, `${properties.join('\n')}\n`)
  const java = [
    'java',
    '-Xms64m',
    '-Xmx256m',
    '-XX:TieredStopAtLevel=1',
    '-XX:+UseSerialGC',
    '-cp',
    `${libraries}/libs/*`,
  ]
  const scram = (mechanism: string, user: { username: string; password: string }): string[] => [
    '--add-scram',
    `${mechanism}=[name=${user.username},password=${user.password}]`,
  ]
  await run(
    [
      ...java,
      'kafka.tools.StorageTool',
      'format',
      '-t',
      Buffer.from(crypto.getRandomValues(new Uint8Array(16))).toString('base64url'),
      '-c',
      config,
      '--standalone',
      ...scram('SCRAM-SHA-512', all),
      ...scram('SCRAM-SHA-256', all),
      ...scram('SCRAM-SHA-256', sha256),
      ...scram('SCRAM-SHA-512', sha512),
    ],
    folder,
  )
  const broker = new BrokerProcess(
    [...java, 'kafka.Kafka', config],
    [plaintext, tls, saslPlaintext, saslTls, elsewhere],
  )
  return {
    ports: { plaintext, tls, saslPlaintext, saslTls, elsewhere },
    start: () => broker.start(),
    kill: () => broker.kill(),
    pause: () => broker.signal('SIGSTOP'),
    resume: () => broker.signal('SIGCONT'),
  }
}

/** A record as Apache Kafka's own client reads it. */
export interface KafkaRecord {
  readonly partition: number
  readonly offset: number
  readonly key: string
  readonly value: string
  readonly headers: Readonly<Record<string, string>>
}

/** Creates a topic. `settings`: such as `max.message.bytes=1000`. */
export async function createTopic(
  port: number,
  topic: string,
  partitions: number,
  settings: readonly string[] = [],
): Promise<void> {
  await tool(['create', `127.0.0.1:${port}`, topic, String(partitions), ...settings])
}

/** All records of a topic, by partition and offset. */
export async function readTopic(port: number, topic: string): Promise<KafkaRecord[]> {
  const folder = mkdtempSync(join(tmpdir(), 'verdigraph-topic-'))
  try {
    const file = join(folder, 'records')
    await tool(['read', `127.0.0.1:${port}`, topic, file])
    const records: KafkaRecord[] = []
    // A topic can have more bytes than a string.
    for await (const line of createInterface({ input: createReadStream(file) })) records.push(readLine(line))
    return records.sort((a, b) => a.partition - b.partition || a.offset - b.offset)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function readLine(line: string): KafkaRecord {
  const [partition, offset, key, value, ...headers] = line.split('\t')
  return {
    partition: Number(partition),
    offset: Number(offset),
    key: textOf(key),
    value: textOf(value),
    headers: Object.fromEntries(
      headers.map((header) => {
        const [name, content] = header.split(':')
        return [textOf(name), textOf(content)]
      }),
    ),
  }
}

function textOf(encoded: string | undefined): string {
  return Buffer.from(encoded ?? '', 'base64').toString()
}

async function tool(args: readonly string[]): Promise<string> {
  const libraries = join(cacheFolder(), `kafka-${VERSION}`, 'libs', '*')
  const source = join(import.meta.dirname, 'java', 'KafkaTool.java')
  return run(
    ['java', '-Xmx256m', '-XX:+UseSerialGC', '-XX:TieredStopAtLevel=1', '-cp', libraries, source, ...args],
    tmpdir(),
  )
}
