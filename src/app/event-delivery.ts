// Builds the delivery of events: providers with their decrypted secrets, and the streams of all projects. Only the process that
// delivers events, and tests of routes, decrypt the secrets of event sinks.

import { join } from 'node:path'
import { BackgroundProcess } from '../background/background-process.ts'
import { type DocumentFields, projectsKind, type StoredDocument } from '../config/kind.ts'
import { openSecret } from '../config/secrets.ts'
import { startsWithSnapshot } from '../events/change-capture.ts'
import { connectProvider, openProvider, type ProviderConfiguration, providerError } from '../events/connect-provider.ts'
import type { DeliveryTarget } from '../events/delivery/delivery-target.ts'
import { type DeliveredSink, EventDispatcher } from '../events/delivery/dispatcher.ts'
import { addedAt, eventSinksKind } from '../events/event-sink.ts'
import type { ProviderConnection } from '../events/providers/provider.ts'
import type { OpenEventStream } from '../events/streams/event-streams.ts'
import { CONFIGURATION_COMMIT_FILE, EVENTS_COMMIT_FILE, GRAPHS_COMMIT_FILE } from '../kernel/folder/data-folder.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { BACKGROUND_NUMBER } from '../processes/child-kinds.ts'
import type { SupervisionOverrides } from '../processes/supervised.ts'
import { openSharedCounter } from '../store/process/shared-counter.ts'
import type { EventRecording } from './events.ts'
import type { Platform } from './open-store.ts'

/** Creates the dispatcher of the data folder. `random`: the jitter of retries. */
export function createEventDispatcher(
  platform: Platform,
  { streams, sinks, openFolder }: EventRecording,
  random: () => number = Math.random,
): EventDispatcher<OpenEventStream> {
  const {
    process: { settings, signal, clock },
    reports: { log },
    configuration: { documents },
  } = platform
  const counters = [GRAPHS_COMMIT_FILE, CONFIGURATION_COMMIT_FILE, EVENTS_COMMIT_FILE].map((file) =>
    openSharedCounter(join(settings.dataDir, file)),
  )
  return new EventDispatcher({
    sinks: () =>
      documents
        .all(projectsKind)
        .flatMap(({ id }) => documents.inScope(eventSinksKind, id))
        .map((sink) => deliveredSink(sink, platform)),
    onSinksChanged: (listener) =>
      documents.subscribe((changes) => {
        if (changes.some(({ before, after }) => (after ?? before)?.kind === eventSinksKind)) listener()
      }),
    catchUp: () => documents.catchUp(),
    signal,
    commits: () => counters.reduce((sum, counter) => sum + counter.load(), 0),
    newestProviders(projectId, sinkId) {
      documents.catchUp()
      const [sink] = documents.inScope(eventSinksKind, projectId)
      return sink?.id === sinkId ? Object.keys(sink.fields.providers as DocumentFields) : null
    },
    withStreams: (projectId, work) => streams.withStreams(projectId, work),
    readSnapshot(stream, provider, position, limit) {
      const routes = sinks.sinkOf(stream.projectId)
      return routes === null ? null : streams.readSnapshot(stream, routes, provider, position, limit)
    },
    openEvents: openFolder,
    bounds: { bytesMax: settings.eventBacklogBytesMax, ageMaxMs: settings.eventBacklogAgeMaxS * 1000 },
    deadLetterBytesMax: settings.eventDeadLetterBytesMax,
    clock,
    random,
    log,
  })
}

/** Creates the background process. `command`: its command line. */
export function createBackgroundProcess(
  platform: Platform,
  command: readonly string[],
  supervision?: SupervisionOverrides,
): BackgroundProcess {
  const {
    process: { settings, folder, signal },
    reports: { processes: figures, log },
    configuration: { documents },
    graphs: { clearStaleReaders },
  } = platform
  const identity = { number: BACKGROUND_NUMBER, proof: folder.workerToken }
  return new BackgroundProcess({
    dataDir: settings.dataDir,
    signal,
    command,
    task: { settings, identity, ...(supervision !== undefined && { supervision }) },
    ...(supervision !== undefined && { pingMs: supervision.pingMs }),
    documents,
    isAudited: settings.audit === 'on',
    figures,
    log,
    onUnexpectedExit: clearStaleReaders,
  })
}

function deliveredSink(sink: StoredDocument, platform: Platform): DeliveredSink {
  const all = Object.entries(sink.fields.providers as Readonly<Record<string, DocumentFields>>)
  const providers = all.map(([providerId]) => providerId)
  const targets = all.map(
    ([providerId, provider]): DeliveryTarget => ({
      sinkId: sink.id,
      providerId,
      addedAt: addedAt(sink.fields, providerId),
      providers,
      configuration: JSON.stringify(provider),
      startsWithSnapshot: startsWithSnapshot(sink.fields, provider),
      configError: () => configError(sink, providerId, platform),
      connect: () => connect(sink, providerId, platform),
    }),
  )
  return { projectId: sink.project_id, sinkId: sink.id, targets }
}

function connect(sink: StoredDocument, providerId: string, platform: Platform): ProviderConnection {
  const provider = openedProvider(sink, providerId, platform)
  return provider.ok ? connectProvider(provider.value, platform.process) : unusable(provider.error)
}

function configError(sink: StoredDocument, providerId: string, platform: Platform): string | null {
  const provider = openedProvider(sink, providerId, platform)
  return provider.ok ? providerError(provider.value, platform.process.destinations) : provider.error
}

function openedProvider(
  sink: StoredDocument,
  providerId: string,
  { configuration: { sealer } }: Platform,
): Result<ProviderConfiguration, string> {
  try {
    return ok(openProvider(sink, providerId, (document, path) => openSecret(document, path, sealer)))
  } catch (failure) {
    return err(`the secret cannot be decrypted: ${failure instanceof Error ? failure.message : failure}`)
  }
}

/** A connection that cannot be used until the configuration changes. */
function unusable(error: string): ProviderConnection {
  return { send: async () => ({ kind: 'retry', delivered: 0, error }), close: async () => undefined }
}
