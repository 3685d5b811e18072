// The provider kind `queue_service`: AMQP 1.0 to a queue or topic. Each event is accounted for by its own delivery; an event is sent
// when the receiver has accepted the one before it with the same ordering key, so that a refused event cannot be overtaken.
import type { AmqpError } from 'rhea'
import { AmqpFault, type AmqpLink, openLink } from './amqp-link.ts'
import { parseConnectionString, secretsOf } from './connection-string.ts'
import { errorText } from './error-text.ts'
import { boundedKey } from './ordering-key.ts'
import type {
  DeliveryOutcome,
  OutgoingEvent,
  ProviderConnection,
  ProviderDeps,
  ProviderDriver,
  QueueServiceConfig,
} from './provider.ts'
import { AcknowledgedAhead, deadlineText, within } from './send-in-parts.ts'

/** The vendor's limit of a session id, which is the group-id. */
const GROUP_ID_BYTES_MAX = 128
/** Deliveries without an acknowledgement. */
const WINDOW = 200
/** After a failed delivery: how long the acknowledgements of the others are awaited. */
const SETTLE_MS = 2000
const TOO_LARGE = 'amqp:link:message-size-exceeded'
/** Reasons that concern the queue and not the message. */
const OUTAGES = new Set([
  'amqp:resource-limit-exceeded',
  'amqp:resource-locked',
  'amqp:resource-deleted',
  'amqp:not-found',
  'amqp:unauthorized-access',
  'amqp:internal-error',
  'amqp:link:stolen',
  'com.microsoft:server-busy',
  'com.microsoft:timeout',
  'com.microsoft:entity-disabled',
])

/** The driver of `queue_service`. */
export const queueService: ProviderDriver<QueueServiceConfig> = {
  configError({ connectionString, queueOrTopicName }, destinations) {
    const target = parseConnectionString(connectionString)
    if (!target.ok) return `connectionString: ${target.error}`
    const { host, isSecure, entityPath } = target.value
    if (entityPath !== null && entityPath !== queueOrTopicName) {
      return 'connectionString: EntityPath names another queue or topic than `queueOrTopicName`'
    }
    const refusal = destinations.hostError(host, isSecure)
    return refusal === null ? null : `connectionString: ${refusal}`
  },
  connect: (config, deps) => new QueueServiceConnection(config, deps),
}

class QueueServiceConnection implements ProviderConnection {
  private readonly config: QueueServiceConfig
  private readonly deps: ProviderDeps
  private readonly secrets: readonly string[]
  private readonly acknowledged = new AcknowledgedAhead()
  private link: AmqpLink | null = null
  private attempt = new AbortController()
  private isClosed = false
  /** 1 while the event that breaks the link is looked for. */
  private window = WINDOW

  constructor(config: QueueServiceConfig, deps: ProviderDeps) {
    this.config = config
    this.deps = deps
    this.secrets = secretsOf(config.connectionString)
  }

  async send(events: readonly OutgoingEvent[], deadlineMs: number): Promise<DeliveryOutcome> {
    const failure = await this.attemptAll(events, deadlineMs)
    const delivered = this.acknowledged.takePrefix(events)
    if (failure === null) {
      this.window = WINDOW
      return { kind: 'delivered' }
    }
    const { event, isFinal, fault } = failure
    const error = typeof fault === 'string' ? fault : errorText(fault, this.secrets)
    // An earlier event without an acknowledgement comes first.
    if (event !== null && events[delivered] === event) return { kind: 'refused', delivered, error, isFinal }
    return { kind: 'retry', delivered, error }
  }

  async close(): Promise<void> {
    this.isClosed = true
    const { link } = this
    this.link = null
    this.attempt.abort(new Error('the connection is closed'))
    await link?.close()
  }

  private async attemptAll(events: readonly OutgoingEvent[], deadlineMs: number): Promise<SendFailure | null> {
    if (this.isClosed) return outage('the connection is closed')
    const error = queueService.configError(this.config, this.deps.destinations)
    if (error !== null) return outage(error)
    const pending = events.filter((event) => !this.acknowledged.has(event))
    if (pending.length === 0) return null
    this.attempt = new AbortController()
    const { signal } = this.attempt
    let batch: QueueBatch | null = null
    const work = async (): Promise<SendFailure | null> => {
      try {
        const link = await this.usableLink(signal)
        const { default: rhea } = await import('rhea')
        if (signal.aborted) return outage(signal.reason)
        batch = new QueueBatch(link, pending, this.window, (event) => encode(event, rhea.message), this.acknowledged)
        return await batch.run()
      } catch (fault) {
        return outage(fault)
      }
    }
    const failure = await within(work(), deadlineMs, () => outage(`${deadlineText(deadlineMs)}${this.waitText(batch)}`))
    if (failure !== null) {
      this.attempt.abort(new Error('the attempt has ended'))
      if (failure.event === null || this.link?.isUsable() !== true) this.drop()
      if (failure.fault instanceof AmqpFault && failure.fault.condition === TOO_LARGE) this.window = 1
    }
    return failure
  }

  private async usableLink(signal: AbortSignal): Promise<AmqpLink> {
    if (this.link?.isUsable()) return this.link
    this.drop()
    const target = parseConnectionString(this.config.connectionString)
    if (!target.ok) throw new Error(target.error)
    const { authorities, destinations } = this.deps
    const link = await openLink({
      target: target.value,
      address: this.config.queueOrTopicName,
      destinations,
      ...(authorities === undefined ? {} : { authorities }),
      signal,
    })
    if (signal.aborted) {
      link.destroy()
      throw signal.reason
    }
    this.link = link
    return link
  }

  /** The missing event of an expired attempt. */
  private waitText(batch: QueueBatch | null): string {
    if (batch === null) return ': no AMQP connection'
    return batch.hasCredit() ? '' : ': the queue grants no credit'
  }

  private drop(): void {
    this.link?.destroy()
    this.link = null
  }
}

/** Why a batch did not end well. `event`: null for an outage. */
interface SendFailure {
  readonly event: OutgoingEvent | null
  readonly isFinal: boolean
  readonly fault: unknown
}

function outage(fault: unknown): SendFailure {
  return { event: null, isFinal: false, fault }
}

/** One batch on one link. */
class QueueBatch {
  private readonly link: AmqpLink
  private readonly window: number
  private readonly encodeEvent: (event: OutgoingEvent) => Buffer
  private readonly acknowledged: AcknowledgedAhead
  /** Events that wait for the one before them, by ordering key. */
  private readonly queues = new Map<string, OutgoingEvent[]>()
  /** Keys without a delivery in flight, in the order of their next events. */
  private readonly ready: string[] = []
  /** In the order of sending. */
  private readonly inFlight = new Map<number, OutgoingEvent>()
  private readonly result = Promise.withResolvers<SendFailure | null>()
  private failure: SendFailure | null = null
  private timer: ReturnType<typeof setTimeout> | undefined

  constructor(
    link: AmqpLink,
    events: readonly OutgoingEvent[],
    window: number,
    encodeEvent: (event: OutgoingEvent) => Buffer,
    acknowledged: AcknowledgedAhead,
  ) {
    this.link = link
    this.window = window
    this.encodeEvent = encodeEvent
    this.acknowledged = acknowledged
    for (const event of events) {
      const queue = this.queues.get(event.orderingKey)
      if (queue !== undefined) queue.push(event)
      else {
        this.queues.set(event.orderingKey, [event])
        this.ready.push(event.orderingKey)
      }
    }
  }

  hasCredit(): boolean {
    return this.inFlight.size > 0 || this.link.sender.sendable()
  }

  async run(): Promise<SendFailure | null> {
    if (this.link.fault !== null) return outage(this.link.fault)
    this.link.events = {
      accepted: (id) => this.settled(id, null),
      rejected: (id, error) => this.settled(id, (event) => rejection(event, error)),
      released: (id) => this.settled(id, () => outage('the queue released the message without storing it')),
      sendable: () => this.pump(),
      broken: (fault) => this.broken(fault),
    }
    try {
      this.pump()
      return await this.result.promise
    } finally {
      clearTimeout(this.timer)
      this.link.events = null
    }
  }

  private pump(): void {
    if (this.failure !== null) return
    while (this.ready.length > 0 && this.inFlight.size < this.window && this.link.sender.sendable()) {
      const queue = this.queues.get(this.ready.shift() as string) as OutgoingEvent[]
      const event = queue.shift() as OutgoingEvent
      const bytes = this.encodeEvent(event)
      const bytesMax = Number(this.link.sender.max_message_size ?? 0)
      if (bytesMax > 0 && bytes.length > bytesMax) {
        const fault = `the message has ${bytes.length} bytes; the queue accepts ${bytesMax}`
        this.fail({ event, isFinal: true, fault })
        return
      }
      this.inFlight.set(this.link.sender.send(bytes, undefined, 0).id, event)
    }
    if (this.inFlight.size === 0 && this.ready.length === 0) this.result.resolve(null)
  }

  private settled(id: number, failureOf: ((event: OutgoingEvent) => SendFailure) | null): void {
    const event = this.inFlight.get(id)
    // `modified` is reported twice.
    if (event === undefined) return
    this.inFlight.delete(id)
    if (failureOf !== null) {
      this.fail(failureOf(event))
      return
    }
    this.acknowledged.add([event])
    if ((this.queues.get(event.orderingKey)?.length ?? 0) > 0) this.ready.push(event.orderingKey)
    if (this.failure === null) this.pump()
    else if (this.inFlight.size === 0) this.result.resolve(this.failure)
  }

  /** Sends nothing more and waits for the acknowledgements of what was sent. */
  private fail(failure: SendFailure): void {
    this.failure ??= failure
    if (this.inFlight.size === 0) this.result.resolve(this.failure)
    else this.timer ??= setTimeout(() => this.result.resolve(this.failure), SETTLE_MS)
  }

  private broken(fault: unknown): void {
    const [only] = this.inFlight.values()
    const isTooLarge = fault instanceof AmqpFault && fault.condition === TOO_LARGE
    const failure =
      isTooLarge && this.window === 1 && only !== undefined ? { event: only, isFinal: true, fault } : outage(fault)
    this.result.resolve(this.failure ?? failure)
  }
}

function rejection(event: OutgoingEvent, error: AmqpError | null): SendFailure {
  const condition = String(error?.condition ?? '')
  const fault = new AmqpFault(condition, String(error?.description ?? 'the queue rejected the message'))
  return OUTAGES.has(condition) ? outage(fault) : { event, isFinal: condition === TOO_LARGE, fault }
}

/**
 * The message of an event, in the binary mode of the CloudEvents AMQP binding: attributes are application properties with the prefix
 * `cloudEvents_`, which message selectors can name.
 */
function encode({ attributes, data, orderingKey }: OutgoingEvent, message: MessageCodec): Buffer {
  const { datacontenttype, ...others } = attributes
  return message.encode({
    durable: true,
    message_id: attributes.id,
    group_id: boundedKey(orderingKey, GROUP_ID_BYTES_MAX),
    subject: attributes.type,
    ...(datacontenttype === undefined ? {} : { content_type: datacontenttype }),
    application_properties: Object.fromEntries(
      Object.entries(others).map(([name, value]) => [`cloudEvents_${name}`, value]),
    ),
    body: message.data_section(Buffer.from(data.buffer, data.byteOffset, data.byteLength)),
  })
}

interface MessageCodec {
  encode(message: object): Buffer
  data_section(data: Buffer): unknown
}
