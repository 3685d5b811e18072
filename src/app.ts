// The composition root: builds every part once, in order, by hand; what each is made of stands in app/. Knows everything;
// only the process door, the command line and tests know it.
import packageJson from '../package.json' with { type: 'json' }
import { BackgroundCompiler } from './app/background-compiler.ts'
import { callersFor } from './app/callers.ts'
import { documentsIn, openConfiguration, sealOldSecrets, secretsOf } from './app/configuration.ts'
import { contextsFor } from './app/contexts.ts'
import { decisionLogFile, decisionLogTo, decisionsFor } from './app/decisions.ts'
import { Duties } from './app/duties.ts'
import { catalogIn, graphsIn } from './app/graphs.ts'
import { kindsOf } from './app/kinds.ts'
import { lanesFor } from './app/lanes.ts'
import { Listener, type Listening } from './app/listener.ts'
import { standardLog, unserved } from './app/logs.ts'
import { mcpFor } from './app/mcp.ts'
import { Opened } from './app/opened.ts'
import { upstreamOf, userTokensFor } from './app/outside.ts'
import { routesOf } from './app/routes.ts'
import type { CaptureParts } from './capture/batch.ts'
import { QueryLibrary } from './ciq/library.ts'
import { Provisioning } from './config/provisioning.ts'
import { ConfigService } from './config/service.ts'
import { systemGraph } from './config/system-nodes.ts'
import type { ProjectGraphs } from './engine/store.ts'
import { agentRate } from './http/agent-rate.ts'
import { authenticator } from './http/authenticate.ts'
import { corsFor } from './http/cors.ts'
import { createDispatcher, type DispatchParts, type Handle } from './http/dispatch.ts'
import type { LaneLimit, Route } from './http/route.ts'
import { AgentKeys } from './identity/agent-key.ts'
import { bootstrap } from './identity/bootstrap.ts'
import { ServiceAccounts } from './identity/service-account.ts'
import { type Clock, systemClock } from './kernel/clock.ts'
import { ServiceFault } from './kernel/errors.ts'
import type { LogEntry } from './ops/log.ts'
import type { Counts } from './ops/metrics.ts'
import { serviceMetrics } from './ops/service-metrics.ts'
import { Mask } from './pdp/mask.ts'
import type { DecisionEvent, DecisionFault, DecisionParts } from './pdp/parts.ts'
import { INLINE_TEXT_MAX } from './policy/inline-text.ts'
import { PolicyLibrary } from './policy/library.ts'
import type { Settings } from './settings.ts'
import { type HeldFolder, joinFolder, lockFolder } from './store/folder-lock.ts'
import { wideFolderWarning } from './store/private-folder.ts'

/** How long a question may take on the serving loop before it goes to a lane, milliseconds. */
const INLINE_MS = 1

/** What a test may put in the place of the real thing. */
export interface AppOverrides {
  readonly clock?: Clock
  readonly log?: (entry: LogEntry) => void
  /** False: commits are not flushed to disk. */
  readonly sync?: boolean
  /** Told of every fault inside a policy, beside the log. */
  readonly onDecisionFault?: (fault: DecisionFault) => void
  /** Told of every answered question. */
  readonly onDecided?: (event: DecisionEvent) => void
  /** The folder is locked already, by whoever started this process or will start others, and is not this app's to release. */
  readonly folder?: 'held'
  /** One of several processes on the folder and the port. */
  readonly worker?: ProcessPlace
  /** One of the helper processes of a serving process: it answers what that hands to it, and does not listen. */
  readonly lane?: ProcessPlace
  /** The command line that starts a lane. Absent: every request runs in this process. */
  readonly laneCommand?: readonly string[]
}

export interface ProcessPlace {
  /** At least 1, unique among the processes on the folder. A process that replaces another takes over its number. */
  readonly number: number
  /** Of the process that holds the folder. */
  readonly proof: string
}

export interface App {
  readonly settings: Settings
  readonly organizationId: string
  /** The admin service account. */
  readonly serviceAccountId: string
  /** True when this start found an empty data folder. */
  readonly bootstrapped: boolean
  readonly routes: readonly Route[]
  /** The whole service without a socket. */
  readonly handle: Handle
  /** The same, with writes in this process: for what is loaded before the service takes requests. */
  readonly handleHere: Handle
  readonly decisions: DecisionParts
  readonly capture: CaptureParts
  readonly config: ConfigService
  issueAdminToken(lifetimeS: number): Promise<string>
  /** What was counted since the last call, for the metrics of the process that this one is a lane of. */
  takeCounts(): Counts
  /** After a rotation has renamed them. */
  reopenLogs(): void
  listen(): Promise<Listening>
  /** Shows a new certificate at once, where there is one. */
  lookAtCertificate(): void
  /** To be called when another process on the folder was killed. */
  checkReaders(): void
  /** Refuses new requests, lets running ones finish, then closes the store. */
  close(): Promise<void>
}

/** Rejects with OperatorFault when the folder cannot be served, by another process that serves it for one. */
export async function createApp(settings: Settings, overrides: AppOverrides = {}): Promise<App> {
  const opened = new Opened()
  try {
    return await buildApp(settings, overrides, opened)
  } catch (fault) {
    await opened.close()
    throw fault
  }
}

async function buildApp(settings: Settings, overrides: AppOverrides, opened: Opened): Promise<App> {
  const { dataDir } = settings
  const { clock = systemClock, sync = true } = overrides
  const worker = overrides.worker?.number ?? null
  // A lane shares the folder as a worker does, and takes part in what only one process may do.
  const place = (overrides.lane ?? overrides.worker)?.number ?? null
  const hasLanes = settings.lanes > 0 && overrides.laneCommand !== undefined
  const { version } = packageJson
  const log = overrides.log ?? standardLog(settings, clock)
  const report = (message: string): void => log({ level: 'error', message })
  const tellOperator = unserved(log, clock)
  const onFailure = ({ error, ...request }: { readonly error: unknown }): void => {
    if (error instanceof ServiceFault) tellOperator(error, request)
    else {
      const stack = error instanceof Error ? error.stack : String(error)
      log({ level: 'error', message: 'a request failed', ...request, stack })
    }
  }

  const lock = folderFor(dataDir, overrides)
  opened.add({ close: () => lock.release() })
  const wide = place === null ? wideFolderWarning(dataDir) : null
  if (wide !== null) report(wide)
  const metrics = serviceMetrics(dataDir, version, worker)
  const upstream = upstreamOf(settings)

  const collections = opened.add(openConfiguration(dataDir, sync))
  const found = documentsIn(collections, dataDir)
  const { keys, sealer } = secretsOf(dataDir, found, report)
  const documents =
    place === null && (await sealOldSecrets(collections, found, sealer)) ? documentsIn(collections, dataDir) : found
  if (place === null) documents.settle()
  const { created, admin } = await bootstrap(documents, sealer, clock)
  const serviceAccounts = new ServiceAccounts(documents, sealer, clock)
  // With another master key than the folder's nothing that is sealed could be used: told now, and not with a request.
  await serviceAccounts.issueToken(admin.serviceAccountId, 120)

  const { hotBytesMax: hotBytes, graphsOpenMax: graphsMax } = settings
  const catalog = opened.add(catalogIn(dataDir, { clock, sync, hotBytes, graphsMax }))
  const checkReaders = (): void => {
    collections.checkReaders()
    catalog.checkReaders()
  }
  const graphs = graphsIn(catalog, documents, report)
  const graphsOf = (projectId: string): ProjectGraphs | null => graphs.of(projectId)
  const ready = (projectId: string): Promise<void> | null => graphs.ready(projectId)

  const nodes = systemGraph(
    async (projectId) => {
      await ready(projectId)
      return graphs.provisioned(projectId)
    },
    (kind, id) => {
      documents.follow()
      return documents.get(kind, id) !== null
    },
  )
  const provisioning = new Provisioning({ documents, provisioner: catalog, systemGraph: nodes, report })
  const environment = { reader: documents, systemGraph: nodes, provisioning }
  const kinds = kindsOf(settings, { environment, upstream, clock })
  const config = new ConfigService({ documents, kinds, sealer, clock, report, place: place ?? 0 })

  const mask = new Mask(settings.parameterMask)
  const logFile = decisionLogFile(settings, report)
  if (logFile !== null) {
    opened.add(logFile)
    metrics.logsDecisions(() => logFile.dropped)
  }
  const background = new BackgroundCompiler()
  opened.add(background)
  const library = hasLanes ? { inlineTextMax: INLINE_TEXT_MAX, later: background.add } : {}
  const policies = new PolicyLibrary(documents, report, library)
  const decisions = decisionsFor(settings, {
    inlineMs: hasLanes ? INLINE_MS : null,
    policies,
    graphsOf,
    masterKey: keys.current,
    clock,
    log,
    metrics,
    decisionLog: decisionLogTo(logFile, settings, clock, mask),
    onServiceFault: (fault) => tellOperator(fault, {}),
    onFault: overrides.onDecisionFault ?? null,
    onDecided: overrides.onDecided ?? null,
  })
  const queries = new QueryLibrary(documents, report, library)
  const contexts = contextsFor(settings, {
    inlineMs: hasLanes ? INLINE_MS : null,
    documents,
    sealer,
    queries,
    graphsOf,
    upstream,
    clock,
    report,
  })
  const capture: CaptureParts = {
    graphsOf,
    onCaptured: (operation, items) => metrics.captured(operation, items),
  }

  const agentKeys = new AgentKeys(documents, clock)
  const userTokens = userTokensFor(settings, { writes: !hasLanes, documents, graphsOf, ready, upstream, clock, report })
  // One for both doors: an agent that is asked through MCP has no second allowance there.
  // The serving process has counted a request before it hands it to a lane.
  const perS = overrides.lane === undefined ? settings.agentRequestsPerS : 0
  const rate = agentRate(perS, settings.agentBurst, () => clock.now())
  const mcp = mcpFor(settings, {
    documents,
    collections,
    decisions,
    contexts,
    queries,
    userTokens,
    ready,
    rate,
    masterKey: keys.current,
    clock,
    version,
    onFailure,
  })

  // Finishes what a crash cut off, before the first request.
  await config.resume(place === null)
  await provisioning.repair()
  const duties = opened.add(
    new Duties({
      dataDir,
      documents,
      provisioning,
      config,
      mcp,
      libraries: [policies, queries],
      report,
      alone: place === null,
    }),
  )
  duties.begin()
  const lanes = hasLanes
    ? lanesFor(settings, {
        command: overrides.laneCommand ?? [],
        proof: lock.proof,
        worker,
        metrics,
        log,
        checkReaders,
        // The lanes write, so they do what only one process may do; this process stays free to answer.
        onStart: () => duties.share(),
      })
    : null
  if (lanes !== null) opened.add({ close: () => lanes.close(settings.drainMs) })

  const listener = opened.add(new Listener(settings, worker !== null, log))
  // Closed before it: open streams end with a word, and hold up no stop.
  opened.add(mcp)
  const storeFault = (): string | null => {
    try {
      collections.read((reading) => reading.get('configuration', 'none'))
      return collections.isInPlace() ? null : 'the data folder is gone'
    } catch {
      return 'the store is not open'
    }
  }
  const routes = routesOf(settings, {
    decisions,
    mask,
    capture,
    contexts,
    mcp,
    config,
    metrics,
    graphsOf,
    notReady: () => listener.notReady() ?? storeFault(),
    worker,
    version,
  })
  const authenticate = authenticator({
    authenticateAgent: (key) => agentKeys.authenticateAgent(key),
    authenticateServiceAccount: (bearer) => serviceAccounts.authenticateServiceAccount(bearer),
    authenticateUser: (projectId, token, delegation) => userTokens.authenticateUser(projectId, token, delegation),
  })
  const dispatch = {
    routes,
    jsonValuesMax: settings.jsonValuesMax,
    agentRate: rate,
    cors: corsFor(settings.corsOrigins, routes),
    measure: (route, method) => metrics.requests(route, method),
    onAnswered:
      settings.accessLog === 'off' ? null : (answered) => log({ level: 'info', message: 'answered', ...answered }),
    authenticate: callersFor({ documents, authenticate, ready }),
    onFailure,
  } satisfies Omit<DispatchParts, 'lanes'>
  const handleWith = (always: boolean): Handle =>
    createDispatcher({
      ...dispatch,
      lanes: lanes === null ? null : { runner: lanes, limits: laneLimits(settings), always },
    })
  const handle = handleWith(true)

  let closed: Promise<void> | null = null
  return {
    settings,
    organizationId: admin.organizationId,
    serviceAccountId: admin.serviceAccountId,
    bootstrapped: created,
    routes,
    handle,
    handleHere: handleWith(false),
    decisions,
    capture,
    config,
    issueAdminToken: (lifetimeS) => serviceAccounts.issueToken(admin.serviceAccountId, lifetimeS),
    takeCounts: () => metrics.takeCounts(),
    reopenLogs() {
      logFile?.reopen()
      lanes?.reopenLogs()
    },
    listen: async () => listener.listen(handle, routes),
    lookAtCertificate: () => listener.lookAtCertificate(),
    checkReaders() {
      checkReaders()
      lanes?.checkReaders()
    },
    close() {
      closed ??= opened.close()
      return closed
    },
  }
}

function folderFor(dataDir: string, { folder, worker, lane }: AppOverrides): HeldFolder {
  const place = lane ?? worker
  if (place !== undefined) return { ...joinFolder(dataDir, place.proof), proof: place.proof }
  // Held by the process that made this app, which releases it.
  return folder === 'held' ? { proof: '', release: () => undefined } : lockFolder(dataDir)
}

function laneLimits(settings: Settings): Readonly<Record<LaneLimit, number>> {
  const { decisionTimeMs, batchTimeMs, executeTimeMs, batchReadTimeMs, writeTimeMs } = settings
  // A query that exceeds the serving loop says which of the two limits it has; one with a long body is not known yet.
  const query = Math.max(executeTimeMs, batchReadTimeMs)
  return { decision: decisionTimeMs, batch: batchTimeMs, query, write: writeTimeMs }
}
