// The composition root: builds the service from its settings, in four steps: store, features, processes, and what clients reach. Each
// gives its record to the next, so that their order is that of the data. Only the command line and tests import it.
import type { Handlers } from './app/handlers.ts'
import { type OpenedFeatures, openFeatures } from './app/open-features.ts'
import { type OpenedFront, openFront } from './app/open-front.ts'
import { type OpenedProcesses, openProcesses } from './app/open-processes.ts'
import { openStore, type Platform } from './app/open-store.ts'
import type { AppOverrides } from './app/overrides.ts'
import type { CaptureDeps } from './capture/apply-items.ts'
import type { ConfigService } from './config/service.ts'
import type { OperationType } from './events/operation-record.ts'
import { operationRecorder } from './events/recorders/record-operations.ts'
import type { EventStreams } from './events/streams/event-streams.ts'
import type { ListenAddress } from './http/port.ts'
import type { Route } from './http/route.ts'
import type { MatchingOperations } from './matching/matching-operations.ts'
import type { OwnFigures } from './operator/service-status.ts'
import type { CounterDeltas } from './ops/metrics.ts'
import type { DecisionDeps } from './pdp/decision-deps.ts'
import type { Settings } from './settings.ts'

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
    const platform = await openStore(settings, overrides, stack)
    const features = await openFeatures(platform, overrides, stack)
    const processes = openProcesses(platform, features, overrides, stack)
    const front = openFront(platform, features, processes, overrides, stack)
    return appOf(platform, features, processes, front, overrides, stack)
  } catch (error) {
    await stack.disposeAsync()
    throw error
  }
}
/** The service, from what was opened. Closing it disposes `stack` in reverse order. */
function appOf(
  platform: Platform,
  features: OpenedFeatures,
  { shipping, background, trust, entityMatching, matching, lanes }: OpenedProcesses,
  { listener, watch, decisionStreams, operator, browserConsole, routes, handlers }: OpenedFront,
  overrides: AppOverrides,
  stack: AsyncDisposableStack,
): App {
  const {
    process: { settings, clock, folder },
    reports: { metrics, connections },
    configuration: { organizationId, adminAccountId, isNew, serviceAccounts },
  } = platform
  const { events, audit, config, capture, logFile, decisions, mcp } = features
  let closed: Promise<void> | null = null
  return {
    ...handlers,
    settings,
    organizationId,
    serviceAccountId: adminAccountId,
    bootstrapped: isNew,
    routes,
    decisions,
    capture,
    config,
    eventStreams: events.streams,
    settleEvents: async () => {
      await events.activity.settled()
    },
    isAfterCrash: folder.isAfterCrash,
    recordOperation: operationRecorder({ ...events, clock, dataDir: settings.dataDir, organizationId }),
    sealAudit: () => audit.sealAll(),
    scoreTrust: () => trust.runDue(),
    scoreTrustOf: (profileId, by) => trust.runNow(profileId, by),
    matching,
    matchEntities: (pipelineId) => entityMatching.runDue(pipelineId ?? null),
    issueAdminToken: (lifetimeS) => serviceAccounts.issueToken(adminAccountId, lifetimeS),
    consoleLink: (baseUrl) => browserConsole?.linkFor(adminAccountId, baseUrl) ?? null,
    takeCounts: () => ({ ...metrics.takeDeltas(), ...connections.takeDeltas() }),
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
      platform.graphs.clearStaleReaders()
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
