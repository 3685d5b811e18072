// The port between delivery and the clients of the four provider kinds: what a provider gets, and how a batch ends.
import type { Upstream } from '../../upstream/client.ts'
import type { Destinations } from '../../upstream/destinations.ts'

/** One event as a provider sends it. */
export interface OutgoingEvent {
  /** CloudEvents attributes, in the order of the envelope; values are strings. */
  readonly attributes: Readonly<Record<string, string>>
  /** JSON text of `data`, UTF-8. */
  readonly data: Uint8Array
  /** Events with the same key stay in order: Kafka record key, AMQP group-id, Pub/Sub ordering key. */
  readonly orderingKey: string
}

/**
 * How a batch ended. `delivered`: number of events, from the first, that the receiver has acknowledged durably. `error`:
 * one line without secrets.
 *
 * - `delivered`: all of them.
 * - `retry`: outage, authentication, timeout; the caller tries again, without end.
 * - `refused`: the receiver refused the event after `delivered`. `isFinal`: it can never be delivered (too large).
 */
export type DeliveryOutcome =
  | { readonly kind: 'delivered' }
  | { readonly kind: 'retry'; readonly delivered: number; readonly error: string }
  | { readonly kind: 'refused'; readonly delivered: number; readonly error: string; readonly isFinal: boolean }

/** The connection to one provider. It is rebuilt inside after a failure. */
export interface ProviderConnection {
  /**
   * Sends events in order; one call at a time. Never rejects, and ends within `deadlineMs` milliseconds. An event may
   * arrive twice; events with the same ordering key never change their order.
   */
  send(events: readonly OutgoingEvent[], deadlineMs: number): Promise<DeliveryOutcome>
  /** Ends the connection. A running `send` ends with `retry`. */
  close(): Promise<void>
}

/** Dependencies of a driver. */
export interface ProviderDeps {
  /** The rule for outgoing connections. */
  readonly destinations: Destinations
  /** The HTTP client, with the same rule. */
  readonly upstream: Upstream
  /** Certificate authorities as PEM; replaces those of the system. */
  readonly authorities?: string
  /** Base URL of the Pub/Sub API, for an emulator; by default that of the vendor. */
  readonly pubSubEndpoint?: string
}

/** The client of one provider kind. */
export interface ProviderDriver<Config> {
  /** Returns null if the configuration can be used, as far as it shows without a connection; else the reason. */
  configError(config: Config, destinations: Destinations): string | null
  /** Opens no connection before the first `send`. A configuration with an error makes each `send` end with it. */
  connect(config: Config, deps: ProviderDeps): ProviderConnection
}

/** `streaming_broker` of an event sink, with its secret decrypted. */
export interface StreamingBrokerConfig {
  /** `host`, `host:port` or `[IPv6]:port`; the port is 9092 by default. */
  readonly brokers: readonly string[]
  readonly topic: string
  readonly username?: string | null
  readonly password?: string | null
  readonly disable_tls?: boolean | null
  readonly tls_skip_verify?: boolean | null
}

/** `queue_service` of an event sink, with its secret decrypted. */
export interface QueueServiceConfig {
  readonly queueOrTopicName: string
  /** `Endpoint=sb://…;SharedAccessKeyName=…;SharedAccessKey=…` or `amqps://user:password@host:port`. */
  readonly connectionString: string
}

/** `event_topic` of an event sink, with its secret decrypted. */
export interface EventTopicConfig {
  /** URL that accepts batches of CloudEvents. */
  readonly topic_endpoint: string
  readonly access_key: string
}

/** `pub_sub` of an event sink, with its secret decrypted. */
export interface PubSubConfig {
  readonly project_id: string
  readonly topic_name: string
  /** The key file of a service account, JSON. */
  readonly credentials_json: string
}

/** The provider kinds, by the member of the provider that contains the configuration. */
export interface ProviderConfigs {
  readonly streaming_broker: StreamingBrokerConfig
  readonly queue_service: QueueServiceConfig
  readonly event_topic: EventTopicConfig
  readonly pub_sub: PubSubConfig
}
