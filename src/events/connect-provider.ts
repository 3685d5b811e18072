// The providers of an event sink as its document describes them, with their secrets, and the connection to each of them.
import type { DocumentFields, StoredDocument } from '../config/kind.ts'
import { configurationOf, type SinkProviderName } from './event-sink.ts'
import { eventTopic } from './providers/event-topic.ts'
import type { ProviderConfigs, ProviderConnection, ProviderDeps, ProviderDriver } from './providers/provider.ts'
import { pubSub } from './providers/pub-sub.ts'
import { queueService } from './providers/queue-service.ts'
import { streamingBroker } from './providers/streaming-broker.ts'

/** Decrypts a stored secret of a document; null if the document has none at the path. Throws if it cannot be decrypted. */
export type OpenProviderSecret = (
  document: StoredDocument,
  path: readonly string[],
) => string | readonly string[] | null

/** A provider of a sink, with its secret decrypted. */
export type ProviderConfiguration = {
  readonly [K in SinkProviderName]: { readonly kind: K; readonly config: ProviderConfigs[K] }
}[SinkProviderName]

const drivers: { readonly [K in SinkProviderName]: ProviderDriver<ProviderConfigs[K]> } = {
  streaming_broker: streamingBroker,
  event_topic: eventTopic,
  queue_service: queueService,
  pub_sub: pubSub,
}

/** The provider of a sink document, with its secret. Throws as `openSecret` does. */
export function openProvider(
  document: StoredDocument,
  id: string,
  openSecret: OpenProviderSecret,
): ProviderConfiguration {
  const provider = (document.fields.providers as Readonly<Record<string, DocumentFields>>)[id] as DocumentFields
  const { kind, config, secret } = configurationOf(provider)
  const plain = config[secret] === undefined ? null : openSecret(document, ['providers', id, kind, secret])
  return { kind, config: plain === null ? config : { ...config, [secret]: plain } } as unknown as ProviderConfiguration
}

/** Creates the connection; it opens no socket before the first `send`. */
export function connectProvider({ kind, config }: ProviderConfiguration, deps: ProviderDeps): ProviderConnection {
  return driverOf(kind).connect(config, deps)
}

/** Why the provider cannot be used, as far as its configuration shows; null if it can. */
export function providerError(
  { kind, config }: ProviderConfiguration,
  destinations: ProviderDeps['destinations'],
): string | null {
  return driverOf(kind).configError(config, destinations)
}

/** The compiler cannot see that the configuration is that of the same kind. */
function driverOf(kind: SinkProviderName): ProviderDriver<ProviderConfigs[SinkProviderName]> {
  return drivers[kind] as ProviderDriver<ProviderConfigs[SinkProviderName]>
}
