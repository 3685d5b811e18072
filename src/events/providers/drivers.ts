// The drivers of all provider kinds, by the member of a provider that contains its configuration.
import { eventTopic } from './event-topic.ts'
import type { ProviderConfigs, ProviderConnection, ProviderDeps, ProviderDriver } from './provider.ts'
import { pubSub } from './pub-sub.ts'
import { queueService } from './queue-service.ts'
import { streamingBroker } from './streaming-broker.ts'

/** The drivers. */
export const providerDrivers: { readonly [Kind in keyof ProviderConfigs]: ProviderDriver<ProviderConfigs[Kind]> } = {
  streaming_broker: streamingBroker,
  event_topic: eventTopic,
  queue_service: queueService,
  pub_sub: pubSub,
}

/** A provider of an event sink with decrypted secrets: exactly one member is set. */
export type ProviderSettings = { readonly [Kind in keyof ProviderConfigs]?: ProviderConfigs[Kind] | null }

/** Why the provider cannot be used, as far as its configuration shows, with the path of the member; null if it can. */
export function providerError(provider: ProviderSettings, destinations: ProviderDeps['destinations']): string | null {
  const kind = kindOf(provider)
  const driver = providerDrivers[kind] as ProviderDriver<ProviderSettings[typeof kind]>
  const error = driver.configError(provider[kind], destinations)
  return error === null ? null : `${kind}.${error}`
}

/** Opens the connection of a provider; no network before its first `send`. */
export function connectProvider(provider: ProviderSettings, deps: ProviderDeps): ProviderConnection {
  const kind = kindOf(provider)
  const driver = providerDrivers[kind] as ProviderDriver<ProviderSettings[typeof kind]>
  return driver.connect(provider[kind], deps)
}

function kindOf(provider: ProviderSettings): keyof ProviderConfigs {
  const kind = (Object.keys(providerDrivers) as (keyof ProviderConfigs)[]).find((name) => provider[name] != null)
  if (kind === undefined) throw new Error('the provider has no configuration of a known kind')
  return kind
}
