// The provider kind `streaming_broker`: Kafka protocol, acknowledged by all in-sync replicas, idempotent within a
// connection. The client library takes a second and 75 MB to load, so it is loaded by the first `send`.

import type { MessageToProduce, Producer, SASLMechanismValue } from '@platformatic/kafka'
import { err, ok, type Result } from '../../kernel/result.ts'
import { backoffMs } from '../../kernel/time/backoff.ts'
import { errorText } from './error-text.ts'
import { causesOf, type KafkaClient, KafkaConnections } from './kafka-connections.ts'
import type {
  OutgoingEvent,
  ProviderConnection,
  ProviderDeps,
  ProviderDriver,
  StreamingBrokerConfig,
} from './provider.ts'
import { AcknowledgedAhead, deadlineText, type PartOutcome, sendInParts, within } from './send-in-parts.ts'

const DEFAULT_PORT = 9092
const CLIENT_ID = 'verdigraph'
/** A part becomes at most one record batch per partition; brokers accept 1 MiB by default. */
const PART = { count: 500, bytes: 900_000, bytesOf: recordBytes }
/** In the order of preference. */
const MECHANISMS: readonly SASLMechanismValue[] = ['SCRAM-SHA-512', 'SCRAM-SHA-256', 'PLAIN']
const TOO_LARGE = new Set(['MESSAGE_TOO_LARGE', 'RECORD_LIST_TOO_LARGE'])
const REFUSED = new Set(['INVALID_RECORD', 'INVALID_TIMESTAMP', 'POLICY_VIOLATION'])

const EXPIRED = 'the attempt has ended'

type RecordToSend = MessageToProduce<Buffer, Buffer, Buffer, Buffer> & { readonly partition: number }

interface OpenProducer {
  readonly kafka: KafkaClient
  readonly producer: Producer<Buffer, Buffer, Buffer, Buffer>
  readonly connections: KafkaConnections
}

/** The driver of `streaming_broker`. */
export const streamingBroker: ProviderDriver<StreamingBrokerConfig> = {
  configError(config, destinations) {
    for (const [at, text] of config.brokers.entries()) {
      const broker = parseBroker(text)
      if (!broker.ok) return `brokers[${at}]: ${broker.error}`
      const refusal = destinations.hostError(broker.value.host, config.disable_tls !== true)
      if (refusal !== null) return `brokers[${at}]: ${refusal}`
    }
    if (hasText(config.username) !== hasText(config.password)) {
      return hasText(config.username) ? 'password: required with `username`' : 'username: required with `password`'
    }
    return null
  },
  connect: (config, deps) => new StreamingBrokerConnection(config, deps),
}

/** Parses `host`, `host:port` or `[IPv6]:port`. */
export function parseBroker(text: string): Result<{ readonly host: string; readonly port: number }, string> {
  const parts = /^(?:\[([0-9a-f:.]+)\]|([^\s:/[\]@?#]+))(?::(\d{1,5}))?$/i.exec(text.trim())
  const host = (parts?.[1] ?? parts?.[2])?.toLowerCase()
  const port = parts?.[3] === undefined ? DEFAULT_PORT : Number(parts[3])
  if (host === undefined || port < 1 || port > 65_535) {
    return err('expected `host`, `host:port` or `[IPv6 address]:port`')
  }
  return ok({ host, port })
}

class StreamingBrokerConnection implements ProviderConnection {
  private readonly config: StreamingBrokerConfig
  private readonly deps: ProviderDeps
  private readonly acknowledged = new AcknowledgedAhead()
  private readonly closed = new AbortController()
  private open: OpenProducer | null = null
  /** The mechanism of the last successful login. */
  private mechanism: SASLMechanismValue | null = null
  /** Counts the attempts: one that ran into its deadline must not connect again. */
  private attempts = 0
  /** Why the client library repeats its current operation. */
  private lastFault: unknown

  constructor(config: StreamingBrokerConfig, deps: ProviderDeps) {
    this.config = config
    this.deps = deps
  }

  send(events: readonly OutgoingEvent[], deadlineMs: number) {
    return sendInParts(events, deadlineMs, PART, this.acknowledged, this.closed.signal, (part, left) =>
      this.sendPart(part, left),
    )
  }

  async close(): Promise<void> {
    this.closed.abort()
    this.abandon()
  }

  private async sendPart(part: readonly OutgoingEvent[], deadlineMs: number): Promise<PartOutcome> {
    const configError = streamingBroker.configError(this.config, this.deps.destinations)
    if (configError !== null) return { kind: 'retry', error: configError }
    this.lastFault = undefined
    const outcome = await within<PartOutcome>(this.attempt(part, ++this.attempts), deadlineMs, () => {
      const cause = this.lastFault === undefined ? '' : `: ${this.textOf(this.lastFault)}`
      return { kind: 'retry', error: `${deadlineText(deadlineMs)}${cause}` }
    })
    // The client may still repeat a request; what comes next must not overtake it.
    if (outcome.kind === 'retry') this.abandon()
    return outcome
  }

  private async attempt(part: readonly OutgoingEvent[], attempt: number): Promise<PartOutcome> {
    let records: readonly RecordToSend[] = []
    try {
      const { kafka, producer } = await this.openProducer(attempt)
      const { topics } = await producer.metadata({ topics: [this.config.topic] })
      const partitions = topics.get(this.config.topic)?.partitionsCount
      if (partitions === undefined) return { kind: 'retry', error: `unknown topic ${this.config.topic}` }
      const builder = new RecordBuilder(this.config.topic, partitions, kafka)
      records = part.map((event) => builder.build(event))
      await producer.send({ messages: records as RecordToSend[] })
      return { kind: 'delivered' }
    } catch (fault) {
      const written = writtenPartitions(fault, this.config.topic)
      this.acknowledged.add(part.filter((_, at) => written.has(records[at]?.partition ?? -1)))
      const ids = causesOf(fault).map((cause) => ('apiId' in cause ? String(cause.apiId) : ''))
      const error = this.textOf(fault)
      if (ids.some((id) => TOO_LARGE.has(id))) return { kind: 'refused', error, isFinal: true }
      if (ids.some((id) => REFUSED.has(id))) return { kind: 'refused', error, isFinal: false }
      return { kind: 'retry', error }
    }
  }

  /** Returns the producer, or connects with the first mechanism that the broker offers and that accepts the password. */
  private async openProducer(attempt: number): Promise<OpenProducer> {
    if (this.open !== null) return this.open
    const kafka = await import('@platformatic/kafka')
    if (attempt !== this.attempts) throw new Error(EXPIRED)
    if (!hasText(this.config.username)) return this.connectProducer(kafka, null)
    let untried = MECHANISMS.filter((one) => one !== this.mechanism)
    if (this.mechanism !== null) untried.unshift(this.mechanism)
    for (;;) {
      const mechanism = untried.shift() as SASLMechanismValue
      try {
        const open = await this.connectProducer(kafka, mechanism)
        this.mechanism = mechanism
        return open
      } catch (fault) {
        const offered = offeredMechanisms(fault)
        if (offered !== null) untried = untried.filter((one) => offered.includes(one))
        // A broker can store the password for one mechanism only and still offer the others.
        const isLoginFault =
          offered !== null || causesOf(fault).some((cause) => codeOf(cause) === 'PLT_KFK_AUTHENTICATION')
        if (!isLoginFault || untried.length === 0 || attempt !== this.attempts) throw fault
      }
    }
  }

  private async connectProducer(kafka: KafkaClient, mechanism: SASLMechanismValue | null): Promise<OpenProducer> {
    const { config, deps } = this
    const connection = {
      connectTimeout: 5000,
      requestTimeout: 15_000,
      ...(config.disable_tls === true
        ? {}
        : {
            tls: {
              rejectUnauthorized: config.tls_skip_verify !== true,
              ...(deps.authorities === undefined ? {} : { ca: deps.authorities }),
            },
          }),
      ...(mechanism === null
        ? {}
        : { sasl: { mechanism, username: config.username as string, password: config.password as string } }),
    }
    const producer = new kafka.Producer<Buffer, Buffer, Buffer, Buffer>({
      ...connection,
      clientId: CLIENT_ID,
      bootstrapBrokers: config.brokers.map((text) => {
        const broker = parseBroker(text)
        if (!broker.ok) throw new Error(broker.error)
        return { ...broker.value }
      }),
      idempotent: true,
      autocreateTopics: false,
      metadataMaxAge: 60_000,
      // Repeats until the deadline, so that the broker can recognize what it has stored already.
      retryDelay: (_client, _operation, attempt, _retries, fault) => {
        this.lastFault = fault
        return backoffMs({ minMs: 200, maxMs: 1000 }, attempt)
      },
    })
    const connections = new KafkaConnections(kafka, CLIENT_ID, { ...connection, maxInflights: 1 }, deps.destinations)
    connections.attachTo(producer)
    const open = { kafka, producer, connections }
    this.open = open
    try {
      // An unknown topic would be repeated until the deadline; here it is an error with a text.
      await producer.metadata({ topics: [config.topic], retries: 1 })
    } catch (fault) {
      endProducer(open)
      if (this.open === open) this.open = null
      throw fault
    }
    return open
  }

  private abandon(): void {
    this.attempts++
    const { open } = this
    this.open = null
    if (open !== null) endProducer(open)
  }

  private textOf(fault: unknown): string {
    return errorText(fault, [this.config.password])
  }
}

function endProducer({ producer, connections }: OpenProducer): void {
  producer.close(true).catch(() => undefined)
  connections.destroy()
}

/**
 * Builds records in the binary mode of the CloudEvents Kafka binding: attributes are headers with the prefix `ce_`. The same
 * headers with the prefix `ce-` are for consumers that know only these (docs/decisions/0034-event-providers.md). Use one for a
 * batch: most values of attributes repeat, and their bytes are reused.
 */
class RecordBuilder {
  private readonly topic: string
  private readonly partitions: number
  private readonly kafka: KafkaClient
  /** By attribute: its last value. */
  private readonly last = new Map<string, { readonly text: string; readonly bytes: Buffer }>()

  constructor(topic: string, partitions: number, kafka: KafkaClient) {
    this.topic = topic
    this.partitions = partitions
    this.kafka = kafka
  }

  build({ attributes, data, orderingKey }: OutgoingEvent): RecordToSend {
    const headers = new Map<Buffer, Buffer>()
    for (const name in attributes) {
      const value = this.bytesOf(name, attributes[name] as string)
      for (const header of headerNames(name)) headers.set(header, value)
    }
    const { topic } = this
    const key = Buffer.from(orderingKey)
    const record = { topic, key, value: Buffer.from(data.buffer, data.byteOffset, data.byteLength), headers }
    // The partition is fixed here, so that a failed send can say which events were written. The same as in Java clients.
    return { ...record, partition: this.kafka.compatibilityPartitioner(record, key) % this.partitions }
  }

  private bytesOf(name: string, text: string): Buffer {
    const last = this.last.get(name)
    if (last?.text === text) return last.bytes
    const bytes = Buffer.from(text)
    this.last.set(name, { text, bytes })
    return bytes
  }
}

const headerNameCache = new Map<string, readonly Buffer[]>()

/** Attribute names are few: those of the envelope. */
function headerNames(attribute: string): readonly Buffer[] {
  const cached = headerNameCache.get(attribute)
  if (cached !== undefined) return cached
  const texts = attribute === 'datacontenttype' ? ['content-type'] : [`ce_${attribute}`, `ce-${attribute}`]
  const names = texts.map((text) => Buffer.from(text))
  headerNameCache.set(attribute, names)
  return names
}

function recordBytes(event: OutgoingEvent): number {
  let bytes = event.data.byteLength + event.orderingKey.length + 32
  for (const name in event.attributes) bytes += 2 * (name.length + (event.attributes[name] as string).length + 5)
  return bytes
}

/** The partitions that acknowledged their records although others failed. */
function writtenPartitions(fault: unknown, topic: string): Set<number> {
  const written = new Set<number>()
  for (const cause of causesOf(fault)) {
    const { produced, response } = cause as { produced?: ProduceSummary; response?: ProduceAnswer }
    for (const one of produced?.offsets ?? []) if (one.topic === topic) written.add(one.partition)
    for (const { name, partitionResponses } of response?.responses ?? []) {
      if (name !== topic) continue
      for (const one of partitionResponses) if (one.errorCode === 0) written.add(one.index)
    }
  }
  return written
}

interface ProduceSummary {
  readonly offsets?: readonly { readonly topic: string; readonly partition: number }[]
}

interface ProduceAnswer {
  readonly responses?: readonly {
    readonly name: string
    readonly partitionResponses: readonly { readonly index: number; readonly errorCode: number }[]
  }[]
}

/** The mechanisms of the broker if it does not know the one that was tried; else null. */
function offeredMechanisms(fault: unknown): readonly string[] | null {
  for (const cause of causesOf(fault)) {
    const { response } = cause as { response?: { mechanisms?: unknown } }
    if (Array.isArray(response?.mechanisms)) return response.mechanisms
  }
  return null
}

function codeOf(fault: Error): string {
  return 'code' in fault ? String(fault.code) : ''
}

function hasText(text: string | null | undefined): boolean {
  return text != null && text !== ''
}
