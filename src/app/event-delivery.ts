// Builds the delivery of events: providers with their decrypted secrets, and the streams of all projects. Only the process that
// delivers events decrypts the secrets of event sinks.
import { join } from 'node:path'
import { type DocumentFields, projectsKind, type StoredDocument } from '../config/kind.ts'
import { openSecret } from '../config/secrets.ts'
import { type DeliveredSink, EventDispatcher } from '../events/delivery/dispatcher.ts'
import type { DeliveryTarget } from '../events/delivery/stream-delivery.ts'
import { eventSinksKind, providerSecretOf, startsWithSnapshot } from '../events/event-sink.ts'
import { eventTopic } from '../events/providers/event-topic.ts'
import type { ProviderConfigs, ProviderConnection, ProviderDeps, ProviderDriver } from '../events/providers/provider.ts'
import { pubSub } from '../events/providers/pub-sub.ts'
import { queueService } from '../events/providers/queue-service.ts'
import { streamingBroker } from '../events/providers/streaming-broker.ts'
import { CONFIGURATION_COMMIT_FILE, EVENTS_COMMIT_FILE, GRAPHS_COMMIT_FILE } from '../kernel/data-folder.ts'
import { OperationalError } from '../kernel/errors.ts'
import { EventDispatcherProcess } from '../runtime/event-dispatcher-process.ts'
import type { OpenEventStream } from '../runtime/event-streams.ts'
import { openSharedCounter } from '../store/process/shared-counter.ts'
import { parseAllowList } from '../upstream/allow-list.ts'
import { createDestinations } from '../upstream/destinations.ts'
import type { EventRecording } from './events.ts'
import type { Platform } from './platform.ts'

const drivers: { readonly [K in keyof ProviderConfigs]: ProviderDriver<ProviderConfigs[K]> } = {
  streaming_broker: streamingBroker,
  queue_service: queueService,
  event_topic: eventTopic,
  pub_sub: pubSub,
}

/**
 * Creates the dispatcher of the data folder. `random`: the jitter of retries. Throws OperationalError if the setting
 * `upstream_allow` is not valid.
 */
export function createEventDispatcher(
  platform: Platform,
  { streams, sinks, openFolder }: EventRecording,
  random: () => number = Math.random,
): EventDispatcher<OpenEventStream> {
  const { settings, documents, clock, log } = platform
  const deps = providerDeps(platform)
  const counters = [GRAPHS_COMMIT_FILE, CONFIGURATION_COMMIT_FILE, EVENTS_COMMIT_FILE].map((file) =>
    openSharedCounter(join(settings.dataDir, file)),
  )
  return new EventDispatcher({
    sinks: () =>
      documents
        .all(projectsKind)
        .flatMap(({ id }) => documents.inScope(eventSinksKind, id))
        .map((sink) => deliveredSink(sink, platform, deps)),
    onSinksChanged: (listener) =>
      documents.subscribe((changes) => {
        if (changes.some(({ before, after }) => (after ?? before)?.kind === eventSinksKind)) listener()
      }),
    catchUp: () => documents.catchUp(),
    commits: () => counters.map((counter) => counter.load()).join(),
    withStreams: (projectId, work) => streams.withStreams(projectId, work),
    readSnapshot(stream, provider, position, limit) {
      const routes = sinks.routesOf(stream.projectId)
      return routes === null ? null : streams.readSnapshot(stream, routes, provider, position, limit)
    },
    openEvents: openFolder,
    bounds: { bytesMax: settings.eventBacklogBytesMax, ageMaxMs: settings.eventBacklogAgeMaxS * 1000 },
    clock,
    random,
    log,
  })
}

/** Creates the process that delivers events. `command`: its command line. */
export function createDispatcherProcess(platform: Platform, command: readonly string[]): EventDispatcherProcess {
  const { settings, folder, documents, log, clearStaleReaders } = platform
  return new EventDispatcherProcess({
    dataDir: settings.dataDir,
    command,
    settings,
    proof: folder.workerToken,
    documents,
    log,
    onUnexpectedExit: clearStaleReaders,
  })
}

function providerDeps({ settings, upstream }: Platform): ProviderDeps {
  const allowed = parseAllowList(settings.upstreamAllow)
  if (!allowed.ok) throw new OperationalError(`the setting upstream_allow: ${allowed.error}`)
  return { destinations: createDestinations(allowed.value), upstream }
}

function deliveredSink(sink: StoredDocument, platform: Platform, deps: ProviderDeps): DeliveredSink {
  const all = Object.entries(sink.fields.providers as Readonly<Record<string, DocumentFields>>)
  const providers = all.map(([providerId]) => providerId)
  const targets = all.map(
    ([providerId, provider]): DeliveryTarget => ({
      sinkId: sink.id,
      providerId,
      providers,
      configuration: JSON.stringify(provider),
      startsWithSnapshot: startsWithSnapshot(sink.fields, provider),
      connect: () => connect(sink, providerId, provider, platform, deps),
    }),
  )
  return { projectId: sink.project_id, sinkId: sink.id, targets }
}

function connect(
  sink: StoredDocument,
  providerId: string,
  provider: DocumentFields,
  { sealer }: Platform,
  deps: ProviderDeps,
): ProviderConnection {
  for (const kind of Object.keys(drivers) as (keyof ProviderConfigs)[]) {
    const config = provider[kind]
    if (config == null) continue
    const secret = providerSecretOf(kind)
    try {
      const opened = openSecret(sink, ['providers', providerId, kind, secret], sealer)
      return drivers[kind].connect({ ...(config as object), [secret]: opened } as never, deps)
    } catch (failure) {
      return unusable(`${kind}.${secret} cannot be decrypted: ${failure instanceof Error ? failure.message : failure}`)
    }
  }
  return unusable('the provider has no known kind')
}

/** A connection that cannot be used until the configuration changes. */
function unusable(error: string): ProviderConnection {
  return { send: async () => ({ kind: 'retry', delivered: 0, error }), close: async () => undefined }
}
