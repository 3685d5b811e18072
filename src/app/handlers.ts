// Builds the request handlers of a process: authentication, rate limit, CORS, metrics, access log and lanes around the routes.
import { projectsKind } from '../config/kind.ts'
import type { ConsoleSessions } from '../console/sessions.ts'
import { type AnsweredEvents, afterEvents } from '../http/after-events.ts'
import { createAuthenticator } from '../http/authenticate.ts'
import { createCors } from '../http/cors.ts'
import { createDispatcher, type RequestHandler } from '../http/dispatch.ts'
import { createCallerIdentifier } from '../http/identify-caller.ts'
import type { LaneRunner } from '../http/lane-job.ts'
import type { RateLimiter } from '../http/rate-limit.ts'
import type { Route } from '../http/route.ts'
import { AgentKeys } from '../identity/agent-key.ts'
import type { UserTokenAuthenticator } from '../identity/user-tokens.ts'
import type { RequestAudit } from '../kernel/request/request-audit.ts'
import { laneLimits } from './lanes.ts'
import type { Platform } from './open-store.ts'

/** The handlers of a process. */
export interface Handlers {
  /** Handles the requests of clients. */
  readonly handle: RequestHandler
  /** Runs also writes in this process; for data that is loaded before the service accepts requests. */
  readonly handleInProcess: RequestHandler
}

/** Collaborators of the handlers in addition to the routes. */
interface HandlerDeps {
  readonly userTokens: UserTokenAuthenticator
  /** Null: the console is off. */
  readonly consoleSessions: ConsoleSessions | null
  /** Null: no limit. */
  readonly rateLimiter: RateLimiter | null
  /** Null: the process has no lanes. */
  readonly lanes: LaneRunner | null
  /** The events of decisions and reads. */
  readonly events: AnsweredEvents
  readonly audit: RequestAudit
}

/** Creates the handlers. */
export function createHandlers(
  {
    process: { settings, clock },
    reports: { metrics, tracing, log, onInternalError },
    configuration: { documents, shared, serviceAccounts },
    graphs: { registry: graphs },
  }: Platform,
  routes: readonly Route[],
  { userTokens, consoleSessions, rateLimiter, lanes, events, audit }: HandlerDeps,
): Handlers {
  const agentKeys = new AgentKeys(documents, clock)
  const authenticate = createCallerIdentifier({
    documents,
    authenticate: createAuthenticator({
      authenticateAgent: (key) => agentKeys.authenticateAgent(key),
      refusedAgent: (key) => agentKeys.refusedAgent(key),
      refusedServiceAccount: (bearer) => serviceAccounts.refusedServiceAccount(bearer),
      authenticateSession: (request) => consoleSessions?.authenticate(request) ?? null,
      organizationOf: (projectId) => documents.get(projectsKind, projectId)?.organization_id ?? null,
      authenticateServiceAccount: (bearer) => serviceAccounts.authenticateServiceAccount(bearer),
      authenticateUser: (projectId, token, delegation, origin) =>
        userTokens.authenticateUser(projectId, token, delegation, null, origin),
    }),
    ready: (projectId) => graphs.ready(projectId),
    ...(shared !== null && { recent: () => shared.recent() }),
  })
  const cors = createCors(settings.corsOrigins, routes)
  const create = (assignBeforeRun: boolean): RequestHandler =>
    createDispatcher({
      routes,
      jsonValuesMax: settings.jsonValuesMax,
      authenticate,
      rateLimiter,
      cors,
      metricFor: (route, method) => metrics.requestRecorder(route, method),
      onResponse:
        settings.accessLog === 'off' ? null : (entry) => log({ level: 'info', message: 'answered', ...entry }),
      onInternalError,
      audit,
      tracing,
      lanes: lanes === null ? null : { pool: lanes, limits: laneLimits(settings), assignBeforeRun },
    })
  const finish = settings.eventActivityStrict === 'on' ? (handle: RequestHandler) => afterEvents(handle, events) : same
  return { handle: finish(create(true)), handleInProcess: finish(create(false)) }
}

const same = (handle: RequestHandler): RequestHandler => handle
