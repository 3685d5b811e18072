// The composition root: builds the service from its settings, once and in order. The builders of the parts are in app/.
// Only the command line and tests import it.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { createAuditReadsOf, createAuditTrail, signingKeyDeps } from './app/audit.ts'
import { configurationError } from './app/configuration.ts'
import { createConsole } from './app/console.ts'
import { createContextQueries } from './app/context-queries.ts'
import { createDecisionLog, createDecisions, openDecisionLogFile } from './app/decisions.ts'
import { createBackgroundProcess, createEventDispatcher } from './app/event-delivery.ts'
import { createEventRecording } from './app/events.ts'
import { createNameSource } from './app/graphs.ts'
import { createHandlers, type Handlers } from './app/handlers.ts'
import { createConfigKinds } from './app/kinds.ts'
import { createLanePool } from './app/lanes.ts'
import { createEntityMatching, createMatchingOperations } from './app/matching.ts'
import { createMcpEndpoint } from './app/mcp.ts'
import { leadership, openPlatform, type Platform } from './app/open-store.ts'
import { createOperator } from './app/operator.ts'
import type { AppOverrides } from './app/overrides.ts'
import { createRoutes } from './app/routes.ts'
import { createShippingProcess } from './app/shipping.ts'
import { createTrustScoring } from './app/trust.ts'
import { createUserTokens } from './app/user-tokens.ts'
import { createDecisionStreams, createWatch } from './app/watch.ts'
import { sealingProvisioner } from './audit/seal/sealing-provisioner.ts'
import { auditTotals } from './audit/seal/sealing-state.ts'
import { createSigningOperations, withSigningState } from './audit/seal/signing-requests.ts'
import { BackgroundJobs } from './background/background-jobs.ts'
import { backupTotals } from './backup/backup-schedule.ts'
import { shippingTotals } from './backup/shipping/shipping-status.ts'
import type { CaptureDeps } from './capture/apply-items.ts'
import { Provisioning } from './config/provisioning.ts'
import { ConfigService } from './config/service.ts'
import { createSystemGraph } from './config/system-nodes.ts'
import { QueryIndex } from './context-query/query-index.ts'
import { type OperationType, operationEvent } from './events/operation-record.ts'
import { operatingSystemUser } from './events/recorders/operating-system-user.ts'
import { ConfigEventLog } from './events/recorders/record-configuration.ts'
import { DecisionEventLog } from './events/recorders/record-decisions.ts'
import { graphQueryEventLog } from './events/recorders/record-graph-queries.ts'
import { introspectionEventLog } from './events/recorders/record-introspections.ts'
import { QueryEventLog } from './events/recorders/record-queries.ts'
import { RequestEventLog } from './events/recorders/record-requests.ts'
import { noContext, SinkRoutes } from './events/routes.ts'
import type { EventStreams } from './events/streams/event-streams.ts'
import { cypherLanguage } from './graph-query/language/cypher-language.ts'
import { graphQueryLimits } from './graph-query/run-graph-query.ts'
import { HttpListener } from './http/listener/http-listener.ts'
import type { ListenAddress } from './http/port.ts'
import { createRateLimiter } from './http/rate-limit.ts'
import type { Route } from './http/route.ts'
import { AUDIT_FOLDER } from './kernel/folder/data-folder.ts'
import { requestRemoval as requestMatchRemoval } from './matching/entity-matching.ts'
import type { MatchingOperations } from './matching/matching-operations.ts'
import type { OwnFigures } from './operator/service-status.ts'
import type { CounterDeltas } from './ops/metrics.ts'
import { maskSecrets } from './ops/secret-mask.ts'
import type { DecisionDeps } from './pdp/decision-deps.ts'
import { ParameterMask } from './pdp/parameter-mask.ts'
import { BackgroundCompiler } from './policy/background-compiler.ts'
import { MAX_INLINE_CHARS } from './policy/compile-budget.ts'
import { DraftPolicies } from './policy/draft-policies.ts'
import { PolicyIndex } from './policy/policy-index.ts'
import { createScenarioRuns } from './scenarios/run-over-stored.ts'
import type { Settings } from './settings.ts'
import { requestRemoval as requestScoreRemoval } from './trust/trust-scoring.ts'

/** A running service. */
export interface App extends Handlers {
  readonly settings: Settings
  /** The organization of the data folder. */
  readonly organizationId: string
  /** The admin service account. */
  readonly serviceAccountId: string
  /** True if this start found an empty data folder and created the organization. */
  readonly bootstrapped: boolean
  /** All routes, as served. */
  readonly routes: readonly Route[]
  /** The decision feature. */
  readonly decisions: DecisionDeps
  /** The capture feature. */
  readonly capture: CaptureDeps
  /** The configuration feature. */
  readonly config: ConfigService
  /** The streams of events to deliver. */
  readonly eventStreams: EventStreams
  /** Resolves when the events of all answered requests are on disk. */
  settleEvents(): Promise<void>
  /** Records an operation on the whole folder for the audit log. Resolves when it is on disk. `members`: of the payload. */
  recordOperation(type: OperationType, members: object): Promise<void>
  /** True: the process that had locked the folder before was killed, or it crashed. */
  readonly isAfterCrash: boolean
  /**
   * Seals everything that was recorded for the audit logs before the call. For a process without a background process, which
   * otherwise seals. Rejects with OperationalError if another process seals.
   */
  sealAudit(): Promise<void>
  /**
   * Runs all passes of trust score profiles that are due, and removes the scores of deleted profiles. For a process without a
   * background process, which otherwise does it.
   */
  scoreTrust(): Promise<void>
  /** Runs a pass of a profile now. `by`: who asks for it. */
  scoreTrustOf(profileId: string, by: string): Promise<void>
  /** The operations on entity matching pipelines. */
  readonly matching: MatchingOperations
  /**
   * Does the work of entity matching that is due: suggestions, runs, and removals for deleted pipelines. `pipelineId`: only that of
   * one pipeline. For a process without a background process, which otherwise starts a process for it.
   */
  matchEntities(pipelineId?: string): Promise<void>
  /** Issues a token of the admin service account. `lifetimeS`: seconds. */
  issueAdminToken(lifetimeS: number): Promise<string>
  /** The address of a one-time link to the console for the admin service account; null: the console is off. `baseUrl`: without a slash. */
  consoleLink(baseUrl: string): string | null
  /** Returns the metric increments since the last call. A lane sends them to its serving process. */
  takeCounts(): CounterDeltas
  /** The figures of this process, for the worker that answers a request for the figures of all. */
  ownFigures(): OwnFigures
  /** Reopens log files after log rotation has renamed them. */
  reopenLogs(): void
  /** Starts the HTTP server. Rejects with OperationalError for an unusable certificate. Call it once. */
  listen(): Promise<ListenAddress>
  /** Starts a lane, so that the first request for one does not wait. Resolves when it accepts requests, or after `maxMs` milliseconds. */
  warmLanes(maxMs: number): Promise<void>
  /** Sends all new connections of the shared port to this process. Returns false if the system cannot do that. */
  takeConnections(): boolean
  /** Lets the system distribute new connections over all processes of the port again. */
  shareConnections(): void
  /**
   * Prepares the end of a process whose successor has taken the new connections: it stops listening (`onReleased`), ends its streams, and
   * waits at most the drain time until its connections have ended. Then call `close`.
   */
  retire(onReleased: () => void): Promise<void>
  /** Uses a new certificate at once, if there is one. */
  reloadCertificate(): void
  /** Checks the lanes of this process, and replaces those that do not answer within `timeoutMs`. Resolves with whether all answered. */
  checkLanes(timeoutMs: number): Promise<boolean>
  /** Clears stale LMDB reader slots after another process on the folder was killed. */
  checkReaders(): void
  /** Refuses new requests, lets running ones finish, then closes the store. Idempotent. */
  close(): Promise<void>
}

/**
 * Opens the data folder and builds the service; it does not listen yet.
 * Rejects with OperationalError if the folder cannot be served, for example because another process serves it.
 */
export async function createApp(settings: Settings, overrides: AppOverrides = {}): Promise<App> {
  const stack = new AsyncDisposableStack()
  try {
    const platform = await openPlatform(settings, overrides, stack)
    return await buildApp(platform, overrides, stack)
  } catch (error) {
    await stack.disposeAsync()
    throw error
  }
}

/** Everything opened is added to `stack`, which `App.close` disposes in reverse order. */
async function buildApp(platform: Platform, overrides: AppOverrides, stack: AsyncDisposableStack): Promise<App> {
  const { settings, signal, clock, report, metrics, upstream, documents, sealer, catalog, graphs, processNumber } =
    platform
  const isSoleProcess = processNumber === null
  const hasLanes = platform.inlineMs !== null
  const events = stack.adopt(createEventRecording(platform, overrides.sync ?? true), (opened) => opened.close())
  const graphsOf: CaptureDeps['graphsOf'] = (projectId) => graphs.graphsOf(projectId)

  const systemGraph = createSystemGraph(
    async (projectId) => {
      await graphs.ready(projectId)
      return graphs.provisioned(projectId)
    },
    (kind, id) => {
      documents.catchUp()
      return documents.get(kind, id) !== null
    },
  )
  const { backgroundCommand } = overrides
  const audit = stack.adopt(createAuditTrail(platform, events, overrides.sync ?? true), (opened) => opened.close())
  // A worker or a lane has a serving process, which has a background process.
  const isSealedHere = isSoleProcess && backgroundCommand === undefined
  const provisioner = platform.remote.provisioner(
    settings.audit === 'on'
      ? sealingProvisioner(catalog, (projectId) => audit.deleteGraphs(projectId, isSealedHere))
      : catalog,
  )
  if (settings.audit === 'on') metrics.registerAudit(auditTotals(settings.dataDir))
  const provisioning = new Provisioning({ documents, provisioner, systemGraph, report })
  const hostError = (host: string, isVerified: boolean): string | null =>
    platform.destinations.hostError(host, isVerified, 'the scheme `bolt+s:` or `neo4j+s:`')
  const isShared = platform.shared !== null
  const environment = { reader: documents, systemGraph, provisioning, hostError, isShared }
  const names = createNameSource(graphs, documents)
  const kinds = createConfigKinds(settings, {
    environment,
    upstream,
    clock,
    names,
    async dropEvents(projectId) {
      const dropped = await events.streams.drop(projectId)
      const message = 'an event sink was deleted; the events that were not delivered are dropped'
      if (dropped > 0) platform.log({ level: 'info', message, project: projectId, events: dropped })
    },
    removeScores: (profile) => requestScoreRemoval(documents, profile),
    removeMatches: (pipeline) => requestMatchRemoval(documents, pipeline),
    withDeliveryState: (sink, body) => events.delivery.withState(sink, body),
    signingKeys: signingKeyDeps(platform, audit),
    withSigningState: (signing, body) => withSigningState(settings.audit === 'on', audit, signing, body),
  })
  const { sinks, activity } = events
  metrics.registerEvents(() => activity.dropped)
  metrics.registerDatabases(() => platform.remote.totals())
  const { shared } = platform
  if (shared !== null) metrics.registerSharedConfiguration(() => shared.figures())
  const { organizationId } = platform
  const requestEvents = stack.adopt(
    new RequestEventLog({ sinks, activity, documents, clock, organizationId }, overrides.singleFailuresMax),
    (opened) => opened.close(),
  )
  const maskText = (text: string): string => maskSecrets(text, [])
  const config = new ConfigService({
    documents,
    kinds,
    sealer,
    clock,
    report,
    processNumber: processNumber ?? 0,
    instance: platform.shared?.instance ?? null,
    events: new ConfigEventLog({ sinks, activity, documents, clock, maskText }),
  })

  const mask = new ParameterMask(settings.parameterMask)
  const logFile = openDecisionLogFile(settings, report)
  if (logFile !== null) {
    stack.adopt(logFile, (file) => file.close())
    metrics.registerDecisionLog(() => logFile.dropped)
  }
  const compiler = stack.adopt(new BackgroundCompiler(), (opened) => opened.close())
  const indexOptions = hasLanes ? { maxInlineChars: MAX_INLINE_CHARS, onDeferred: compiler.add } : {}
  const policies = new PolicyIndex(documents, report, indexOptions)
  const drafts = new DraftPolicies(documents, policies, indexOptions)
  const decisionEvents = new DecisionEventLog({ sinks, activity, policies, drafts, mask, clock })
  const decisionLog = createDecisionLog(platform, logFile, mask, policies, drafts)
  const decisions = createDecisions(platform, policies, drafts, mask, decisionLog, decisionEvents, overrides)
  const queries = new QueryIndex(documents, report, indexOptions)
  const queryEvents = new QueryEventLog({ sinks, activity, documents, mask, clock })
  const contexts = createContextQueries(platform, queries, queryEvents)
  const capture: CaptureDeps = {
    graphsOf,
    onCaptured: (operation, items) => metrics.recordCapture(operation, items),
    events: events.captures,
  }

  const userTokens = createUserTokens(platform, introspectionEventLog({ sinks, activity, clock }))
  // HTTP and MCP share one limiter, so that an agent has the same allowance in both. A lane has none, because the serving
  // process has counted the request.
  const perSecond = overrides.lane === undefined ? settings.agentRequestsPerS : 0
  const rateLimiter = createRateLimiter(perSecond, settings.agentBurst, () => clock.now())
  const mcp = createMcpEndpoint(platform, { decisions, mask, contexts, queries, userTokens, rateLimiter })

  // Complete what a crash interrupted, before the first request.
  await config.resume(isSoleProcess ? 'instance' : 'process')
  await provisioning.replayIntents()
  const jobs = new BackgroundJobs({
    dataDir: settings.dataDir,
    signal,
    documents,
    provisioning,
    config,
    mcp,
    events,
    libraries: [policies, queries],
    report,
    isSoleProcess,
    ...leadership(platform),
  })
  stack.adopt(jobs, (running) => running.close())
  jobs.start()
  const { shippingCommand } = overrides
  const isShipping = settings.shipTo !== '' && overrides.lane === undefined
  if (overrides.lane === undefined) metrics.registerProcesses(platform.processes)
  if (isShipping) metrics.registerShipping(shippingTotals(settings.dataDir))
  const shipping =
    isShipping && shippingCommand !== undefined
      ? createShippingProcess(platform, shippingCommand, overrides.supervision)
      : null
  // Closed after the background process, whose last changes are then shipped.
  if (shipping !== null) stack.adopt(shipping, (running) => running.close()).start()
  const background =
    backgroundCommand === undefined ? null : createBackgroundProcess(platform, backgroundCommand, overrides.supervision)
  if (background !== null) stack.adopt(background, (running) => running.close())
  const trust = stack.adopt(createTrustScoring(platform, events), (opened) => opened.close())
  const entityMatching = stack.adopt(createEntityMatching(platform, events), (opened) => opened.close())
  const matching = createMatchingOperations(platform, events)
  const { eventDelivery } = overrides
  if (eventDelivery !== undefined)
    stack.adopt(createEventDispatcher(platform, events, eventDelivery.random), (running) => running.close()).start()
  // Lanes write, so they take over the jobs that write. This process stays free to answer.
  const { laneCommand = [], laneStartMaxMs } = overrides
  const lanes = hasLanes ? createLanePool(platform, laneCommand, () => jobs.handOver(), laneStartMaxMs) : null
  if (lanes !== null) stack.defer(() => lanes.close(settings.drainMs))

  const listener = stack.adopt(new HttpListener(settings, platform.worker !== null, platform.log), (opened) =>
    opened.close(),
  )
  const watch = createWatch(platform, policies)
  // Closed before the listener: open event streams end properly and do not delay the stop.
  stack.adopt(mcp, (opened) => opened.close())
  stack.adopt(watch, (opened) => opened.close())
  const decisionStreams = stack.adopt(createDecisionStreams(platform), (opened) => opened.close())
  const recordOperation = async (type: OperationType, members: object): Promise<void> => {
    const routes =
      sinks.routesOfOrganization(organizationId) ??
      (await routesWithoutRecording(settings.dataDir, organizationId, events.streams))
    const receivers = routes?.ofType(type)?.match(noContext) ?? 0
    if (routes === null || receivers === 0) return
    const ready = operationEvent(type, operatingSystemUser(), members, clock.now())
    activity.record({ routes, type, providers: receivers, encode: () => ready })
    await activity.settled()
  }
  const operator = createOperator(platform, overrides)
  stack.adopt(operator.backups, (running) => running.close())
  stack.adopt(operator.schedule, (running) => running.close())
  if (settings.backupSchedule !== '' || settings.drillSchedule !== '')
    metrics.registerBackups(() => backupTotals(settings, clock.now()))
  const browserConsole = createConsole(platform)
  const routes = createRoutes(platform, {
    decisions,
    mask,
    watch,
    decisionStreams,
    capture,
    contexts,
    mcp,
    config,
    eventSinks: events.operations,
    auditSignings: createSigningOperations(documents, audit, signal, {
      isAudited: settings.audit === 'on',
      isSealedHere,
    }),
    auditReads: createAuditReadsOf(platform, audit),
    matching,
    graphQueries: {
      graphsOf,
      limits: graphQueryLimits(settings),
      language: cypherLanguage(),
      onQueried: graphQueryEventLog({ sinks, activity, clock }),
    },
    operator: operator.routes,
    scenarios: createScenarioRuns(documents, settings),
    consoleRoutes: browserConsole?.routes ?? [],
    degraded: () => platform.processes.replaced(),
    notReadyReason: () =>
      listener.notReady() ?? configurationError(platform.collections) ?? platform.shared?.notReadyReason() ?? null,
  })
  const handlers = createHandlers(platform, routes, {
    userTokens,
    consoleSessions: browserConsole?.sessions ?? null,
    rateLimiter,
    lanes,
    events: activity,
    audit: requestEvents,
  })

  let closed: Promise<void> | null = null
  return {
    ...handlers,
    settings,
    organizationId,
    serviceAccountId: platform.adminAccountId,
    bootstrapped: platform.isNew,
    routes,
    decisions,
    capture,
    config,
    eventStreams: events.streams,
    settleEvents: async () => {
      await events.activity.settled()
    },
    isAfterCrash: platform.folder.isAfterCrash,
    recordOperation,
    sealAudit: () => audit.sealAll(),
    scoreTrust: () => trust.runDue(),
    scoreTrustOf: (profileId, by) => trust.runNow(profileId, by),
    matching,
    matchEntities: (pipelineId) => entityMatching.runDue(pipelineId ?? null),
    issueAdminToken: (lifetimeS) => platform.serviceAccounts.issueToken(platform.adminAccountId, lifetimeS),
    consoleLink: (baseUrl) => browserConsole?.linkFor(platform.adminAccountId, baseUrl) ?? null,
    takeCounts: () => ({ ...metrics.takeDeltas(), ...platform.connections.takeDeltas() }),
    ownFigures: operator.ownFigures,
    reopenLogs() {
      logFile?.reopen()
      lanes?.reopenLogs()
    },
    async listen() {
      const address = await listener.listen(handlers.handle, routes)
      // Not earlier: its start would delay the first answer.
      background?.start()
      if (overrides.backupCommand !== undefined) operator.schedule.start()
      return address
    },
    warmLanes: async (maxMs) => lanes?.warm(maxMs),
    takeConnections: () => listener.takeConnections(),
    shareConnections: () => listener.shareConnections(),
    async retire(onReleased) {
      await listener.retire()
      onReleased()
      // Their clients connect again, to the successor. A request that comes on an open connection is still served.
      for (const streams of [mcp, watch, decisionStreams]) streams.endAll()
      await listener.emptied()
    },
    reloadCertificate: () => listener.reloadCertificate(),
    checkLanes: async (timeoutMs) => (await lanes?.check(timeoutMs)) ?? true,
    checkReaders() {
      platform.clearStaleReaders()
      events.clearStaleReaders()
      audit.clearStaleReaders()
      lanes?.checkReaders()
      background?.checkReaders()
      shipping?.checkReaders()
    },
    close() {
      closed ??= stack.disposeAsync()
      return closed
    },
  }
}

/**
 * Where operations are recorded with `audit` `off`: nowhere in a folder that never had an audit log. Otherwise the log must show that
 * it has a gap.
 */
async function routesWithoutRecording(
  dataDir: string,
  organizationId: string,
  streams: EventStreams,
): Promise<SinkRoutes | null> {
  // Also the records of a log that was not sealed yet show that there is one.
  if (!existsSync(join(dataDir, AUDIT_FOLDER)) && !(await streams.auditOwners()).includes(organizationId)) return null
  return new SinkRoutes(organizationId, null, { decisions: 'none', isSampled: () => false })
}
