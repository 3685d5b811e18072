// The composition root: builds every part once, in order, by hand; what each is made of stands in app/. Knows everything;
// only the process door, the command line and tests know it.

import packageJson from '../package.json' with { type: 'json' }
import { loadSecrets, openConfiguration, openRepository, sealPlaintextSecrets } from './app/configuration.ts'
import { createContextQueries } from './app/context-queries.ts'
import { createDecisionLog, createDecisions, openDecisionLogFile } from './app/decisions.ts'
import { createGraphRegistry, openGraphCatalog } from './app/graphs.ts'
import { createConfigKinds } from './app/kinds.ts'
import { createLanePool } from './app/lanes.ts'
import { createMcpEndpoint } from './app/mcp.ts'
import { Opened } from './app/opened.ts'
import { createUpstreamClient, createUserTokens } from './app/outbound.ts'
import { createRoutes } from './app/routes.ts'
import type { CaptureDeps } from './capture/apply-items.ts'
import { Provisioning } from './config/provisioning.ts'
import { ConfigService } from './config/service.ts'
import { createSystemGraph } from './config/system-nodes.ts'
import { QueryIndex } from './context-query/query-index.ts'
import { createAuthenticator } from './http/authenticate.ts'
import { createCors } from './http/cors.ts'
import { createDispatcher, type DispatcherDeps, type RequestHandler } from './http/dispatch.ts'
import { createRateLimiter } from './http/rate-limit.ts'
import type { LaneLimit, Route } from './http/route.ts'
import { AgentKeys } from './identity/agent-key.ts'
import { bootstrap } from './identity/bootstrap.ts'
import { ServiceAccounts } from './identity/service-account.ts'
import { type Clock, systemClock } from './kernel/clock.ts'
import { CURRENT_DOCUMENTS } from './kernel/data-folder.ts'
import { ThrownServiceError } from './kernel/errors.ts'
import type { LogEntry } from './ops/log.ts'
import type { CounterDeltas } from './ops/metrics.ts'
import { createServiceMetrics } from './ops/service-metrics.ts'
import type { DecisionDeps, DecisionEvent, PolicyError } from './pdp/decision-deps.ts'
import { ParameterMask } from './pdp/parameter-mask.ts'
import { MAX_INLINE_CHARS } from './policy/compile-budget.ts'
import { PolicyIndex } from './policy/policy-index.ts'
import { BackgroundCompiler } from './runtime/background-compiler.ts'
import { BackgroundJobs } from './runtime/background-jobs.ts'
import { HttpListener, type Listening } from './runtime/http-listener.ts'
import { createCallerIdentifier } from './runtime/identify-caller.ts'
import { logUnservedRequests, openProcessLog } from './runtime/process-log.ts'
import type { Settings } from './settings.ts'
import { joinFolder, lockFolder, type ServedFolder } from './store/process/folder-lock.ts'
import { folderPermissionWarning } from './store/process/folder-permissions.ts'
import type { ProjectGraphs } from './store/tenancy/project-graphs.ts'

/** How long a question may take on the serving loop before it goes to a lane, milliseconds. */
const INLINE_TIME_MS = 1

/** What a test may put in the place of the real thing. */
export interface AppOverrides {
  readonly clock?: Clock
  readonly log?: (entry: LogEntry) => void
  /** False: commits are not flushed to disk. */
  readonly sync?: boolean
  /** Told of every fault inside a policy, beside the log. */
  readonly onDecisionFault?: (fault: PolicyError) => void
  /** Told of every answered question. */
  readonly onDecided?: (event: DecisionEvent) => void
  /** The folder is locked already, by whoever started this process or will start others, and is not this app's to release. */
  readonly folder?: 'held'
  /** One of several processes on the folder and the port. */
  readonly worker?: ProcessIdentity
  /** One of the helper processes of a serving process: it answers what that hands to it, and does not listen. */
  readonly lane?: ProcessIdentity
  /** The command line that starts a lane. Absent: every request runs in this process. */
  readonly laneCommand?: readonly string[]
}

export interface ProcessIdentity {
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
  readonly handle: RequestHandler
  /** The same, with writes in this process: for what is loaded before the service takes requests. */
  readonly handleInProcess: RequestHandler
  readonly decisions: DecisionDeps
  readonly capture: CaptureDeps
  readonly config: ConfigService
  issueAdminToken(lifetimeS: number): Promise<string>
  /** What was counted since the last call, for the metrics of the process that this one is a lane of. */
  takeCounts(): CounterDeltas
  /** After a rotation has renamed them. */
  reopenLogs(): void
  listen(): Promise<Listening>
  /** Shows a new certificate at once, where there is one. */
  reloadCertificate(): void
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
  const log = overrides.log ?? openProcessLog(settings, clock)
  const report = (message: string): void => log({ level: 'error', message })
  const tellOperator = logUnservedRequests(log, clock)
  const onFailure = ({ error, ...request }: { readonly error: unknown }): void => {
    if (error instanceof ThrownServiceError) tellOperator(error, request)
    else {
      const stack = error instanceof Error ? error.stack : String(error)
      log({ level: 'error', message: 'a request failed', ...request, stack })
    }
  }

  const lock = folderFor(dataDir, overrides)
  opened.add({ close: () => lock.release() })
  const wide = place === null ? folderPermissionWarning(dataDir) : null
  if (wide !== null) report(wide)
  const metrics = createServiceMetrics(dataDir, version, worker)
  const upstream = createUpstreamClient(settings)

  const collections = opened.add(openConfiguration(dataDir, sync))
  const found = openRepository(collections, dataDir)
  const { keys, sealer } = loadSecrets(dataDir, found, report)
  const documents =
    place === null && (await sealPlaintextSecrets(collections, found, sealer))
      ? openRepository(collections, dataDir)
      : found
  if (place === null) documents.resetCounter()
  const { created, admin } = await bootstrap(documents, sealer, clock)
  const serviceAccounts = new ServiceAccounts(documents, sealer, clock)
  // With another master key than the folder's nothing that is sealed could be used: told now, and not with a request.
  await serviceAccounts.issueToken(admin.serviceAccountId, 120)

  const { hotBytesMax: hotBytes, graphsOpenMax: graphsMax } = settings
  const catalog = opened.add(openGraphCatalog(dataDir, { clock, sync, cacheBytes: hotBytes, graphsMax }))
  const checkReaders = (): void => {
    collections.clearStaleReaders()
    catalog.clearStaleReaders()
  }
  const graphs = createGraphRegistry(catalog, documents, report)
  const graphsOf = (projectId: string): ProjectGraphs | null => graphs.graphsOf(projectId)
  const ready = (projectId: string): Promise<void> | null => graphs.ready(projectId)

  const nodes = createSystemGraph(
    async (projectId) => {
      await ready(projectId)
      return graphs.provisioned(projectId)
    },
    (kind, id) => {
      documents.catchUp()
      return documents.get(kind, id) !== null
    },
  )
  const provisioning = new Provisioning({ documents, provisioner: catalog, systemGraph: nodes, report })
  const environment = { reader: documents, systemGraph: nodes, provisioning }
  const kinds = createConfigKinds(settings, { environment, upstream, clock })
  const config = new ConfigService({ documents, kinds, sealer, clock, report, processNumber: place ?? 0 })

  const mask = new ParameterMask(settings.parameterMask)
  const logFile = openDecisionLogFile(settings, report)
  if (logFile !== null) {
    opened.add(logFile)
    metrics.registerDecisionLog(() => logFile.dropped)
  }
  const background = new BackgroundCompiler()
  opened.add(background)
  const library = hasLanes ? { maxInlineChars: MAX_INLINE_CHARS, onDeferred: background.add } : {}
  const policies = new PolicyIndex(documents, report, library)
  const decisions = createDecisions(settings, {
    inlineMs: hasLanes ? INLINE_TIME_MS : null,
    policies,
    graphsOf,
    masterKey: keys.current,
    clock,
    log,
    metrics,
    decisionLog: createDecisionLog(logFile, settings, clock, mask),
    onServiceFault: (fault) => tellOperator(fault, {}),
    onFault: overrides.onDecisionFault ?? null,
    onDecided: overrides.onDecided ?? null,
  })
  const queries = new QueryIndex(documents, report, library)
  const contexts = createContextQueries(settings, {
    inlineMs: hasLanes ? INLINE_TIME_MS : null,
    documents,
    sealer,
    queries,
    graphsOf,
    upstream,
    clock,
    report,
  })
  const capture: CaptureDeps = {
    graphsOf,
    onCaptured: (operation, items) => metrics.recordCapture(operation, items),
  }

  const agentKeys = new AgentKeys(documents, clock)
  const userTokens = createUserTokens(settings, {
    writes: !hasLanes,
    documents,
    graphsOf,
    ready,
    upstream,
    clock,
    report,
  })
  // One for both doors: an agent that is asked through MCP has no second allowance there.
  // The serving process has counted a request before it hands it to a lane.
  const perS = overrides.lane === undefined ? settings.agentRequestsPerS : 0
  const rate = createRateLimiter(perS, settings.agentBurst, () => clock.now())
  const mcp = createMcpEndpoint(settings, {
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
  await provisioning.replayIntents()
  const duties = opened.add(
    new BackgroundJobs({
      dataDir,
      documents,
      provisioning,
      config,
      mcp,
      libraries: [policies, queries],
      report,
      isSoleProcess: place === null,
    }),
  )
  duties.start()
  const lanes = hasLanes
    ? createLanePool(settings, {
        command: overrides.laneCommand ?? [],
        proof: lock.workerToken,
        worker,
        metrics,
        log,
        checkReaders,
        // The lanes write, so they do what only one process may do; this process stays free to answer.
        onStart: () => duties.handOver(),
      })
    : null
  if (lanes !== null) opened.add({ close: () => lanes.close(settings.drainMs) })

  const listener = opened.add(new HttpListener(settings, worker !== null, log))
  // Closed before it: open streams end with a word, and hold up no stop.
  opened.add(mcp)
  const storeFault = (): string | null => {
    try {
      collections.read((reading) => reading.get(CURRENT_DOCUMENTS, 'none'))
      return collections.isAtItsPath() ? null : 'the data folder is gone'
    } catch {
      return 'the store is not open'
    }
  }
  const routes = createRoutes(settings, {
    decisions,
    mask,
    capture,
    contexts,
    mcp,
    config,
    metrics,
    graphsOf,
    notReadyReason: () => listener.notReady() ?? storeFault(),
    worker,
    version,
  })
  const authenticate = createAuthenticator({
    authenticateAgent: (key) => agentKeys.authenticateAgent(key),
    authenticateServiceAccount: (bearer) => serviceAccounts.authenticateServiceAccount(bearer),
    authenticateUser: (projectId, token, delegation) => userTokens.authenticateUser(projectId, token, delegation),
  })
  const dispatch = {
    routes,
    jsonValuesMax: settings.jsonValuesMax,
    rateLimiter: rate,
    cors: createCors(settings.corsOrigins, routes),
    metricFor: (route, method) => metrics.requestRecorder(route, method),
    onResponse:
      settings.accessLog === 'off' ? null : (answered) => log({ level: 'info', message: 'answered', ...answered }),
    authenticate: createCallerIdentifier({ documents, authenticate, ready }),
    onInternalError: onFailure,
  } satisfies Omit<DispatcherDeps, 'lanes'>
  const handleWith = (always: boolean): RequestHandler =>
    createDispatcher({
      ...dispatch,
      lanes: lanes === null ? null : { pool: lanes, limits: laneLimits(settings), always },
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
    handleInProcess: handleWith(false),
    decisions,
    capture,
    config,
    issueAdminToken: (lifetimeS) => serviceAccounts.issueToken(admin.serviceAccountId, lifetimeS),
    takeCounts: () => metrics.takeDeltas(),
    reopenLogs() {
      logFile?.reopen()
      lanes?.reopenLogs()
    },
    listen: async () => listener.listen(handle, routes),
    reloadCertificate: () => listener.reloadCertificate(),
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

function folderFor(dataDir: string, { folder, worker, lane }: AppOverrides): ServedFolder {
  const place = lane ?? worker
  if (place !== undefined) return { ...joinFolder(dataDir, place.proof), workerToken: place.proof }
  // Held by the process that made this app, which releases it.
  return folder === 'held' ? { workerToken: '', release: () => undefined } : lockFolder(dataDir)
}

function laneLimits(settings: Settings): Readonly<Record<LaneLimit, number>> {
  const { decisionTimeMs, batchTimeMs, executeTimeMs, batchReadTimeMs, writeTimeMs } = settings
  // A query that exceeds the serving loop says which of the two limits it has; one with a long body is not known yet.
  const query = Math.max(executeTimeMs, batchReadTimeMs)
  return { decision: decisionTimeMs, batch: batchTimeMs, query, write: writeTimeMs }
}
