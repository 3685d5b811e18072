// Opens what all features of a process share: the data folder, its configuration and graphs, log, metrics and HTTP client. The first of four
// steps.

import packageJson from '../../package.json' with { type: 'json' }
import { RemoteGraphAccess } from '../bolt/projects/remote-graph-access.ts'
import type { GraphRegistry } from '../config/graphs/graph-registry.ts'
import { createGraphRegistry, openGraphCatalog } from '../config/graphs/open-graphs.ts'
import type { ConfigRepository } from '../config/repository.ts'
import { openSharedConfiguration, type SharedConfiguration } from '../config/shared/shared-configuration.ts'
import { writersBound } from '../events/delivery/backlog.ts'
import { bootstrap } from '../identity/bootstrap.ts'
import type { SecretBox } from '../identity/secret-box.ts'
import { ServiceAccounts } from '../identity/service-account.ts'
import { OperationalError, ThrownServiceError } from '../kernel/errors.ts'
import type { CommitSignal } from '../kernel/folder/commit-signal.ts'
import type { DocumentStore } from '../kernel/folder/document-store.ts'
import { recordsFeature } from '../kernel/folder/folder-features.ts'
import type { Tracing } from '../kernel/request/tracing.ts'
import { type Clock, systemClock } from '../kernel/time/clock.ts'
import { ConnectionOutcomes } from '../ops/connection-health.ts'
import type { Log } from '../ops/log.ts'
import { createReadSpans } from '../ops/read-spans.ts'
import { createServiceMetrics, type ServiceMetrics } from '../ops/service-metrics.ts'
import { type ChildFigures, openChildFigures } from '../processes/process-figures.ts'
import type { Settings } from '../settings.ts'
import type { Collections } from '../store/documents/collections.ts'
import { SymbolLoader } from '../store/graph/symbol-loader.ts'
import { CommitWaiter } from '../store/process/commit-waiter.ts'
import { joinFolder, lockFolder, type ServedFolder } from '../store/process/folder-lock.ts'
import { folderPermissionWarning } from '../store/process/folder-permissions.ts'
import type { Catalog } from '../store/tenancy/catalog.ts'
import { openWatchPlace, type WatchPlace } from '../streams/watch-notes.ts'
import { parseAllowList } from '../upstream/allow-list.ts'
import { createUpstream, type Upstream } from '../upstream/client.ts'
import { createDestinations, type Destinations } from '../upstream/destinations.ts'
import { loadSecrets, openConfiguration, openRepository, sealPlaintextSecrets } from './configuration.ts'
import type { AppOverrides } from './overrides.ts'
import { logUnservedRequests, openProcessLog } from './process-log.ts'
import { openServiceTracing } from './tracing.ts'

/** Time limit of a decision or a query on the event loop before it moves to a lane, milliseconds. */
const INLINE_TIME_MS = 1

/** Lifetime of a token that is issued at the start only to check the master key, seconds. */
const TEST_TOKEN_LIFETIME_S = 120

/** The process, and what it was started with. */
interface ServingProcess {
  readonly settings: Settings
  readonly clock: Clock
  /** Version of the product. */
  readonly version: string
  /** The number of this worker among those that share the port; null: it is the only one. */
  readonly worker: number | null
  /** The number of this worker or lane among the processes on the folder; null: it is the only one. */
  readonly processNumber: number | null
  /** Time limit on the event loop, milliseconds; null: the process has no lanes. */
  readonly inlineMs: number | null
  readonly folder: ServedFolder
  /** The commits of all processes on the folder. */
  readonly signal: CommitSignal
  readonly upstream: Upstream
  /** The rule for connections to event providers. */
  readonly destinations: Destinations
}

/** Where the process reports what it does. */
interface ProcessReports {
  readonly log: Log
  /** Logs an error. */
  readonly report: (message: string) => void
  /** Logs an unexpected error, or an error of the installation, of a request. */
  readonly onInternalError: (failure: { readonly error: unknown }) => void
  /** Logs an error of the installation outside of a request. */
  readonly onServiceError: (error: ThrownServiceError) => void
  readonly metrics: ServiceMetrics
  /** How calls to resolvers and verifications of tokens end. */
  readonly connections: ConnectionOutcomes
  /** Null: requests are not traced. */
  readonly tracing: Tracing | null
  /** The exits and the state of the processes of the service. */
  readonly processes: ChildFigures
}

/** The configuration, and what the service is in it. */
interface OpenedConfiguration {
  readonly collections: Collections
  /** The documents of the configuration, and how they are changed. */
  readonly store: DocumentStore
  /** Null: no other instance shares the configuration. */
  readonly shared: SharedConfiguration | null
  readonly documents: ConfigRepository
  readonly sealer: SecretBox
  readonly masterKey: Uint8Array
  readonly serviceAccounts: ServiceAccounts
  readonly organizationId: string
  /** The admin service account. */
  readonly adminAccountId: string
  /** True if this start created the organization. */
  readonly isNew: boolean
}

/** The graphs of all projects. */
interface ServiceGraphs {
  readonly catalog: Catalog
  /** Graphs in database servers. */
  readonly remote: RemoteGraphAccess
  readonly registry: GraphRegistry
  /** Where changes of watched graphs are noted. */
  readonly watchPlace: WatchPlace
  /** Clears stale LMDB reader slots after another process was killed. */
  clearStaleReaders(): void
}

/** The parts that all features of a process share. */
export interface Platform {
  readonly process: ServingProcess
  readonly reports: ProcessReports
  readonly configuration: OpenedConfiguration
  readonly graphs: ServiceGraphs
}

/**
 * Opens the data folder. Everything opened is closed by `stack`, also if this fails.
 * Rejects with OperationalError if the folder cannot be served, for example because another process serves it.
 */
export async function openStore(
  settings: Settings,
  overrides: AppOverrides,
  stack: AsyncDisposableStack,
): Promise<Platform> {
  const { dataDir } = settings
  const { clock = systemClock, sync = true } = overrides
  const { version } = packageJson
  const worker = overrides.worker?.number ?? null
  // A lane shares the folder like a worker, and can win the elections of the folder.
  const processNumber = (overrides.lane ?? overrides.worker)?.number ?? null
  const isSoleProcess = processNumber === null
  const hasLanes = settings.lanes > 0 && overrides.laneCommand !== undefined
  const log = overrides.log ?? openProcessLog(settings, clock)
  const report = (message: string): void => log({ level: 'error', message })
  const logUnserved = logUnservedRequests(log, clock)

  const folder = takeFolder(dataDir, overrides)
  stack.defer(() => folder.release())
  const warning = isSoleProcess ? folderPermissionWarning(dataDir) : null
  if (warning !== null) report(warning)
  // A process that was killed has left them as they were.
  const processes = openChildFigures(dataDir, isSoleProcess)
  const metrics = createServiceMetrics(dataDir, version, worker)
  const isLane = overrides.lane !== undefined
  const tracing = await openServiceTracing(settings, { version, number: processNumber, isLane, metrics, log })
  if (tracing !== null) stack.defer(() => tracing.close())
  const { upstream, destinations } = createOutgoing(settings)

  const outboxBytesMax = writersBound(settings.eventBacklogBytesMax)
  const collections = stack.adopt(openConfiguration(dataDir, { sync, outboxBytesMax }), (opened) => opened.close())
  // Recorded before anything is: older programs would leave gaps.
  await collections.requireProgram(settings.audit === 'off' ? [] : [recordsFeature])
  const signal = new CommitWaiter(dataDir)
  const shared = await openSharedConfiguration(collections, settings, report, isLane ? null : signal)
  if (shared !== null) stack.defer(() => shared.close())
  const store = shared ?? collections
  const found = openRepository(store, dataDir, clock)
  const { keys, sealer } = loadSecrets(dataDir, found, report)
  const hasSealed = isSoleProcess && (await sealPlaintextSecrets(store, found, sealer))
  const documents = hasSealed ? openRepository(store, dataDir, clock) : found
  if (isSoleProcess) documents.resetCounter()
  const { created, admin } = await bootstrap(documents, sealer, clock)
  const serviceAccounts = new ServiceAccounts(documents, sealer, clock)
  // With a wrong master key no secret could be decrypted: fail now, and not with a request.
  await serviceAccounts.issueToken(admin.serviceAccountId, TEST_TOKEN_LIFETIME_S)

  const { hotBytesMax: cacheBytes, graphsOpenMax: graphsMax } = settings
  const symbolLoader = hasLanes ? stack.adopt(new SymbolLoader(), (opened) => opened.close()) : null
  const catalogOptions = {
    clock,
    sync,
    outboxBytesMax,
    cacheBytes,
    graphsMax,
    ...(tracing !== null && { onSnapshot: createReadSpans(tracing) }),
    ...(symbolLoader !== null && { symbolLoader }),
  }
  const catalog = stack.adopt(openGraphCatalog(dataDir, catalogOptions), (opened) => opened.close())
  const remote = stack.adopt(
    new RemoteGraphAccess({ documents, sealer, catalog, clock, settings, destinations, report }),
    (opened) => opened.close(),
  )
  return {
    process: {
      settings,
      clock,
      version,
      worker,
      processNumber,
      inlineMs: hasLanes ? INLINE_TIME_MS : null,
      folder,
      signal,
      upstream,
      destinations,
    },
    reports: {
      log,
      report,
      onInternalError({ error, ...request }) {
        if (error instanceof ThrownServiceError) logUnserved(error, request)
        else {
          const trace = error instanceof Error ? error.stack : String(error)
          log({ level: 'error', message: 'a request failed', ...request, stack: trace })
        }
      },
      onServiceError: (error) => logUnserved(error, {}),
      metrics,
      processes,
      connections: new ConnectionOutcomes(() => clock.now()),
      tracing,
    },
    configuration: {
      collections,
      store,
      shared,
      documents,
      sealer,
      masterKey: keys.current,
      serviceAccounts,
      organizationId: admin.organizationId,
      adminAccountId: admin.serviceAccountId,
      isNew: created,
    },
    graphs: {
      catalog,
      remote,
      registry: createGraphRegistry(catalog, documents, report, remote, shared !== null),
      watchPlace: openWatchPlace(dataDir, folder.workerToken),
      clearStaleReaders() {
        collections.clearStaleReaders()
        catalog.clearStaleReaders()
        // The process may have had the lock of a task, or have committed without a signal.
        signal.announce()
      },
    },
  }
}

/** For work that one of several instances does. */
export function leadership({ configuration: { shared } }: Platform): { readonly isLeading?: () => boolean } {
  return shared === null ? {} : { isLeading: () => shared.isLeading() }
}

function takeFolder(dataDir: string, { folder, worker, lane }: AppOverrides): ServedFolder {
  const identity = lane ?? worker
  if (identity !== undefined)
    return { ...joinFolder(dataDir, identity.proof), workerToken: identity.proof, isAfterCrash: false }
  // 'held': the creator of the app has locked the folder and releases it.
  return folder === 'held' ? { workerToken: '', isAfterCrash: false, release: () => undefined } : lockFolder(dataDir)
}

/** Creates the client and the rule for outgoing connections. Throws OperationalError if the setting `upstream_allow` is not valid. */
function createOutgoing({ upstreamAllow }: Settings): Pick<ServingProcess, 'upstream' | 'destinations'> {
  const allowed = parseAllowList(upstreamAllow)
  if (!allowed.ok) throw new OperationalError(`the setting upstream_allow: ${allowed.error}`)
  return { upstream: createUpstream({ allowed: allowed.value }), destinations: createDestinations(allowed.value) }
}
