// Opens what clients of a process reach: the last of four steps.

import { createSigningOperations } from '../audit/seal/signing-requests.ts'
import { backupTotals } from '../backup/backup-schedule.ts'
import { graphQueryEventLog } from '../events/recorders/record-graph-queries.ts'
import { cypherLanguage } from '../graph-query/language/cypher-language.ts'
import { graphQueryLimits } from '../graph-query/run-graph-query.ts'
import { HttpListener } from '../http/listener/http-listener.ts'
import type { Route } from '../http/route.ts'
import { modelOf } from '../model/stored-model.ts'
import { createScenarioRuns } from '../scenarios/run-over-stored.ts'
import type { DecisionStreams } from '../streams/decision-streams.ts'
import type { WatchHub } from '../streams/watch-hub.ts'
import { createAuditReadsOf } from './audit.ts'
import { configurationError } from './configuration.ts'
import { type Console, createConsole } from './console.ts'
import { createHandlers, type Handlers } from './handlers.ts'
import type { OpenedFeatures } from './open-features.ts'
import type { OpenedProcesses } from './open-processes.ts'
import type { Platform } from './open-store.ts'
import { createOperator, type OperatorParts } from './operator.ts'
import type { AppOverrides } from './overrides.ts'
import { createRoutes } from './routes.ts'
import { createDecisionStreams, createWatch } from './watch.ts'

/** The part of a process that clients reach. */
export interface OpenedFront {
  /** The HTTP server. It does not listen yet. */
  readonly listener: HttpListener
  /** The streams of changes of decisions. */
  readonly watch: WatchHub
  /** The streams of the decision log. */
  readonly decisionStreams: DecisionStreams
  /** Backups, their schedule, and the figures for the operator. */
  readonly operator: OperatorParts
  /** The console; null: it is off. */
  readonly browserConsole: Console | null
  /** All routes, as served. */
  readonly routes: readonly Route[]
  /** Answer requests by the routes. */
  readonly handlers: Handlers
}

/** Opens what clients reach: the listener, the streams, the console, and the routes with their handlers. Everything opened is added to `stack`. */
export function openFront(
  platform: Platform,
  features: OpenedFeatures,
  { matching, lanes }: OpenedProcesses,
  overrides: AppOverrides,
  stack: AsyncDisposableStack,
): OpenedFront {
  const {
    process: { settings, signal, clock, worker },
    reports: { log, metrics, processes },
    configuration: { documents, collections, shared },
    graphs: { registry: graphs },
  } = platform
  const { events, audit, isSealedHere, requestEvents, config, capture, mask, policies } = features
  const { decisions, contexts, userTokens, rateLimiter, mcp } = features
  const { sinks, activity } = events
  const listener = stack.adopt(new HttpListener(settings, worker !== null, log), (opened) => opened.close())
  const watch = createWatch(platform, policies)
  // Closed before the listener: open event streams end properly and do not delay the stop.
  stack.adopt(mcp, (opened) => opened.close())
  stack.adopt(watch, (opened) => opened.close())
  const decisionStreams = stack.adopt(createDecisionStreams(platform), (opened) => opened.close())
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
      graphsOf: (projectId) => graphs.graphsOf(projectId),
      modelOf: (projectId) => modelOf(documents, projectId),
      limits: graphQueryLimits(settings),
      language: cypherLanguage(),
      onQueried: graphQueryEventLog({ sinks, activity, clock }),
    },
    operator: operator.routes,
    scenarios: createScenarioRuns(documents, settings),
    consoleRoutes: browserConsole?.routes ?? [],
    degraded: () => processes.replaced(),
    notReadyReason: () => listener.notReady() ?? configurationError(collections) ?? shared?.notReadyReason() ?? null,
  })
  const handlers = createHandlers(platform, routes, {
    userTokens,
    consoleSessions: browserConsole?.sessions ?? null,
    rateLimiter,
    lanes,
    events: activity,
    audit: requestEvents,
  })
  return { listener, watch, decisionStreams, operator, browserConsole, routes, handlers }
}
