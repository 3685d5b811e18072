// Dispatches requests: route → caller → body → handler → response. Independent of sockets and of features.
import { validate } from '../config/validate.ts'
import { type ServiceError, ThrownServiceError } from '../kernel/errors.ts'
import { LaneRequiredError } from '../kernel/request/lane-required.ts'
import { PendingReadsError, withRemoteReads } from '../kernel/request/remote-reads.ts'
import type { RequestAudit } from '../kernel/request/request-audit.ts'
import type { RequestOrigin } from '../kernel/request/request-origin.ts'
import { exemplarOf } from '../kernel/request/request-trace.ts'
import { RestartRequiredError } from '../kernel/request/restart-required.ts'
import type { SpanAttributes, Tracing } from '../kernel/request/tracing.ts'
import { err, type Result } from '../kernel/result.ts'
import type { Authentication } from './authenticate.ts'
import { checkBodyHeaders, readJson } from './body.ts'
import type { Cors } from './cors.ts'
import { internalErrorResponse } from './error-response.ts'
import { Exchange, type LanePredicate } from './exchange.ts'
import { errorResponse, optionsResponse, toErrorHttpResponse, toHttpResponse } from './http-response.ts'
import { LaneAssignment, type LaneDispatch } from './lane-assignment.ts'
import type { MaybePromise } from './maybe-promise.ts'
import { validateQuery } from './query.ts'
import type { RateLimiter } from './rate-limit.ts'
import { hasUnreservedEscape, unreservedEscapeError } from './request-target.ts'
import type { Auth, HttpRequest, HttpResponse, Route, RouteResponse } from './route.ts'
import { createRouter, noParameters, type RouteMatch } from './router.ts'

/** Collaborators of the dispatcher. */
export interface DispatcherDeps {
  /** All routes. */
  readonly routes: readonly Route[]
  /** Maximum number of values in one JSON body. */
  readonly jsonValuesMax: number
  /** Identifies the caller. Synchronous if the credentials are cached. */
  authenticate(auth: Auth, request: HttpRequest, origin: RequestOrigin): MaybePromise<Authentication>
  /** Called with an unexpected error, or with one that the operator must repair, for the log. */
  onInternalError(failure: { requestId: string; method: string; path: string; error: unknown }): void
  /** Records requests without an event of their own type; null: they are not recorded. */
  readonly audit: RequestAudit | null
  /** Null: no limit. */
  readonly rateLimiter: RateLimiter | null
  /** Null: no origin is allowed. */
  readonly cors: Cors | null
  /** Returns the metric of a route, called once per route; the route `none` stands for unknown paths. */
  metricFor(route: string, method: string): (status: number, seconds: number, traceId?: string | null) => void
  /** Null: every request runs in this process. */
  readonly lanes: LaneDispatch | null
  /** Null: requests are not traced. */
  readonly tracing: Tracing | null
  /** Called after each response; null: there is no access log. */
  readonly onResponse: ((entry: AccessLogEntry) => void) | null
}

/** An entry of the access log. */
export interface AccessLogEntry {
  /** The value of `X-Request-ID` in the response. */
  readonly requestId: string
  /** The method of the request. */
  readonly method: string
  /** The path template of the route, because a path may contain personal data. Null: unknown path. */
  readonly route: string | null
  /** HTTP status code. */
  readonly status: number
  /** From the arrival of the request to its response, milliseconds. */
  readonly durationMs: number
}

/** Handles a request. Returns no promise if nothing has to be awaited; never throws or rejects. */
export type RequestHandler = (request: HttpRequest) => MaybePromise<HttpResponse>

const unmatched: RouteMatch = { kind: 'none' }

/** The caller of a slower body is authenticated again when it is complete: its key may have been revoked. */
const SLOW_BODY_MS = 10

/** Creates the handler of all requests. Throws if two routes match the same requests. */
export function createDispatcher(deps: DispatcherDeps): RequestHandler {
  const router = createRouter(deps.routes)
  const { cors, rateLimiter, onResponse, jsonValuesMax, audit, tracing } = deps
  const lanes = deps.lanes === null ? null : new LaneAssignment(deps.lanes, tracing)
  const runsInLane: LanePredicate | null =
    lanes === null
      ? null
      : (exchange, bodyBytes) =>
          exchange.match.kind === 'route' && lanes.runsInLane(exchange, exchange.match.route, bodyBytes)
  const matches = new Map<Route, RouteMatch>(
    deps.routes.map((route) => [route, { kind: 'route', route, pathParameters: noParameters }]),
  )
  const metrics = new Map(deps.routes.map((route) => [route, deps.metricFor(route.path, route.method)]))
  const unmatchedMetric = metricForUnmatched(deps.metricFor)

  function authenticateAgain(exchange: Exchange): MaybePromise<Authentication> {
    const { match, request } = exchange
    return deps.authenticate(match.kind === 'route' ? match.route.auth : { kind: 'public' }, request, exchange)
  }

  function start(exchange: Exchange): MaybePromise<HttpResponse> {
    const { request, requestId, match } = exchange
    if (exchange.targetError !== null) {
      return errorResponse({ kind: 'malformed', issues: [exchange.targetError] }, requestId)
    }
    if (match.kind === 'none') {
      const errors = hasUnreservedEscape(request.path) ? { errors: [unreservedEscapeError] } : {}
      return toErrorHttpResponse({ status: 404, message: 'Not Found', ...errors }, requestId)
    }
    if (match.kind === 'method') {
      if (request.method === 'OPTIONS') return optionsResponse(match.allow, requestId, request, cors)
      return errorResponse({ kind: 'method-not-allowed', allow: match.allow }, requestId)
    }
    const { route } = match
    return continueWith(exchange, deps.authenticate(route.auth, request, exchange), (caller) =>
      withCaller(exchange, route, caller),
    )
  }

  function withCaller(exchange: Exchange, route: Route, caller: Authentication): MaybePromise<HttpResponse> {
    const { request } = exchange
    if (!caller.ok) return refuseCaller(exchange, caller)
    exchange.caller = caller.value
    if (rateLimiter !== null && caller.value?.kind === 'agent') {
      const exceeded = rateLimiter(caller.value.agentId)
      if (exceeded !== null) return refuse(exchange, exceeded)
    }
    if (route.query !== undefined) {
      const query = validateQuery(route.query, request.query)
      if (!query.ok) return refuse(exchange, queryError(route, query.error))
    }
    if (!takesBody(route)) {
      // A route that reads its body itself moves to a lane when the body is complete.
      if (lanes !== null && route.bodyReader === undefined && lanes.runsInLane(exchange, route, 0)) {
        return runInLane(lanes, exchange, route, null)
      }
      return callHandler(exchange, route, undefined)
    }
    const headerError = checkBodyHeaders(request, route.wrongMediaType)
    if (headerError !== null) return refuse(exchange, headerError)
    return continueWith(exchange, request.body(exchange.callerName), (bytes) => withBody(exchange, route, bytes))
  }

  function refuse(exchange: Exchange, error: ServiceError): HttpResponse {
    exchange.errorKind = error.kind
    return errorResponse(error, exchange.requestId)
  }

  function refuseCaller(exchange: Exchange, failed: Extract<Authentication, { ok: false }>): HttpResponse {
    exchange.refused = failed.refused ?? null
    exchange.caller = failed.caller ?? null
    return refuse(exchange, failed.error)
  }

  function withBody(exchange: Exchange, route: Route, bytes: Uint8Array): MaybePromise<HttpResponse> {
    exchange.bytes = bytes
    exchange.bodyReadMs = performance.now()
    if (lanes?.runsInLane(exchange, route, bytes.length) === true) return runInLane(lanes, exchange, route, null)
    const body = readBody(route, bytes, jsonValuesMax)
    if (!body.ok) return refuse(exchange, body.error)
    if (exchange.bodyReadMs - exchange.startMs < SLOW_BODY_MS) return callHandler(exchange, route, body.value)
    return continueWith(exchange, deps.authenticate(route.auth, exchange.request, exchange), (caller) => {
      if (!caller.ok) return refuseCaller(exchange, caller)
      exchange.caller = caller.value
      return callHandler(exchange, route, body.value)
    })
  }

  function callHandler(exchange: Exchange, route: Route, body: unknown): MaybePromise<HttpResponse> {
    exchange.isHandled = true
    exchange.parsedBody = body
    return continueWith(exchange, route.handle(exchange, body), (result) => respond(exchange, result))
  }

  function respond(exchange: Exchange, result: Result<RouteResponse, ServiceError>): HttpResponse {
    if (!result.ok) return refuse(exchange, result.error)
    return toHttpResponse(result.value, exchange.requestId, exchange.headOnly)
  }

  /** Calls the handler of a request that reads a graph in a database server, again after each fetch. */
  function callWithRemoteReads(exchange: Exchange, route: Route): MaybePromise<HttpResponse> {
    const called = withRemoteReads(() => route.handle(exchange, exchange.parsedBody))
    return continueWith(exchange, called, (result) => respond(exchange, result))
  }

  function runInLane(
    lanes: LaneAssignment,
    exchange: Exchange,
    route: Route,
    cause: LaneRequiredError | null,
  ): MaybePromise<HttpResponse> {
    if (exchange.bytes === null && (takesBody(route) || route.bodyReader !== undefined)) {
      // The request moves because of its authentication, before its body was read.
      return continueWith(exchange, exchange.request.body(exchange.callerName), (bytes) => {
        exchange.bytes = bytes
        return runInLane(lanes, exchange, route, cause)
      })
    }
    return continueWith(exchange, lanes.run(exchange, route, cause), (response) => {
      // The lane has recorded the request.
      exchange.hasEvent = true
      return response
    })
  }

  function handleError(exchange: Exchange, error: unknown): MaybePromise<HttpResponse> {
    const { request, requestId, match } = exchange
    const { method, path } = request
    if (error instanceof LaneRequiredError && lanes !== null && match.kind === 'route') {
      return runInLane(lanes, exchange, match.route, error)
    }
    if (error instanceof PendingReadsError && match.kind === 'route' && exchange.isHandled)
      return callWithRemoteReads(exchange, match.route)
    // Its recorded event may not have been written. Events of decisions are written in any case.
    if (match.kind === 'route' && match.route.audit !== 'decision' && exchange.identified?.isDecision !== true)
      exchange.hasEvent = false
    if (error instanceof ThrownServiceError) {
      if (error.needsLogging) deps.onInternalError({ requestId, method, path, error })
      return refuse(exchange, error.error)
    }
    if (error instanceof RestartRequiredError) {
      // There are no lanes, or the error was thrown outside of a handler that is repeated.
      deps.onInternalError({ requestId, method, path, error })
      return refuse(exchange, {
        kind: 'unavailable',
        message: 'the request has to be repeated from its start; retry',
        retryAfterS: 1,
      })
    }
    exchange.errorKind = 'internal'
    deps.onInternalError({ requestId, method, path, error })
    return toErrorHttpResponse(internalErrorResponse, requestId)
  }

  /**
   * Runs a step with a value that may have to be awaited. A response that is returned directly still has to be finished by
   * the caller; a promised one is finished already. This avoids a promise that only finishes a response.
   */
  function continueWith<T>(
    exchange: Exchange,
    value: MaybePromise<T>,
    step: (value: T) => MaybePromise<HttpResponse>,
  ): MaybePromise<HttpResponse> {
    if (!(value instanceof Promise)) return step(value)
    return value.then(
      (settled) => run(exchange, () => step(settled)),
      (error: unknown) =>
        run(exchange, () => {
          throw error
        }),
    )
  }

  function run(exchange: Exchange, step: () => MaybePromise<HttpResponse>): MaybePromise<HttpResponse> {
    let response: MaybePromise<HttpResponse>
    try {
      response = step()
    } catch (error) {
      response = handleError(exchange, error)
    }
    return response instanceof Promise ? response : finish(exchange, response)
  }

  function finish(exchange: Exchange, response: HttpResponse): HttpResponse {
    const { startMs, request, requestId, match } = exchange
    const durationMs = performance.now() - startMs
    const route = match.kind === 'route' ? match.route : null
    const metric = route === null ? unmatchedMetric(request.method) : metrics.get(route)
    metric?.(response.status, durationMs / 1000, exemplarOf(exchange.trace))
    if (audit !== null && !exchange.hasEvent && route !== null) recordRequest(audit, exchange, route, response.status)
    if (exchange.trace !== null) endSpan(exchange, response.status)
    onResponse?.({
      requestId,
      method: request.method,
      route: route?.path ?? null,
      status: response.status,
      durationMs: Math.round(durationMs * 1000) / 1000,
    })
    if (cors === null || request.method === 'OPTIONS') return response
    return { ...response, headers: { ...response.headers, ...cors.responseHeaders(request.header('origin')) } }
  }

  function matchOf(request: HttpRequest): RouteMatch {
    const { route } = request
    return (route === undefined ? null : matches.get(route)) ?? router.match(request.method, request.path)
  }

  return function handle(request) {
    const targetError = request.targetError ?? null
    const match = targetError === null ? matchOf(request) : unmatched
    const exchange = new Exchange(request, match, targetError, runsInLane, jsonValuesMax, authenticateAgain)
    if (tracing === null || (match.kind === 'route' && match.route.isTraced === false))
      return run(exchange, () => start(exchange))
    const { name, attributes } = spanOf(exchange)
    return tracing.serve(
      name,
      attributes,
      (header) => request.header(header),
      (span) => {
        exchange.trace = span
        return run(exchange, () => start(exchange))
      },
    )
  }
}

/** Name and attributes of the span of a request, as the semantic conventions of OpenTelemetry for HTTP define them, without its path. */
function spanOf({ match, request, requestId }: Exchange): {
  readonly name: string
  readonly attributes: SpanAttributes
} {
  const method = KNOWN_METHODS.has(request.method) ? request.method : '_OTHER'
  const route = match.kind === 'route' ? match.route.path : undefined
  return {
    name: route === undefined ? method.replace('_OTHER', 'HTTP') : `${method} ${route}`,
    attributes: { 'http.request.method': method, 'http.route': route, 'verdigraph.request_id': requestId },
  }
}

function endSpan({ trace, caller, errorKind, lane }: Exchange, status: number): void {
  trace?.end(status < 500 ? null : (errorKind ?? String(status)), {
    'http.response.status_code': status,
    'verdigraph.project_id': caller?.kind === 'agent' ? caller.projectId : undefined,
    'verdigraph.error': errorKind ?? undefined,
    'verdigraph.lane': lane ?? undefined,
  })
}

function recordRequest(audit: RequestAudit, exchange: Exchange, route: Route, status: number): void {
  const { refused, identified, caller, request, errorKind } = exchange
  if (refused !== null) {
    audit.authenticationFailed(exchange, refused, route.operationId)
    return
  }
  const { method, path } = request
  if (identified !== null) {
    audit.answered(exchange, {
      ...identified,
      method,
      path,
      status,
      isUnsent: false,
      error: identified.error ?? errorKind,
    })
    return
  }
  if (caller === null || (route.audit === 'none' && status < 400)) return
  const operation = route.operationId
  const isDecision = route.audit === 'decision'
  const isUnsent = route.audit === 'unsent'
  audit.answered(exchange, {
    caller,
    operation,
    target: null,
    isDecision,
    isUnsent,
    method,
    path,
    status,
    error: errorKind,
  })
}

/** Clients can send any method name: unknown ones share one metric. */
const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

type MetricFor = DispatcherDeps['metricFor']

function metricForUnmatched(metricFor: MetricFor): (method: string) => ReturnType<MetricFor> {
  const metrics = new Map<string, ReturnType<MetricFor>>()
  return (name) => {
    const method = KNOWN_METHODS.has(name) ? name : '_OTHER'
    const metric = metrics.get(method) ?? metricFor('none', method)
    metrics.set(method, metric)
    return metric
  }
}

function queryError({ invalidQuery }: Route, error: ServiceError): ServiceError {
  return invalidQuery === undefined || error.kind !== 'invalid' ? error : { ...error, kind: invalidQuery }
}

function takesBody({ request, parse, bodyReader }: Route): boolean {
  return bodyReader === undefined && (request !== null || parse !== undefined)
}

function readBody(route: Route, bytes: Uint8Array, valuesMax: number): Result<unknown, ServiceError> {
  const json = readJson(bytes, route.numbers ?? 'plain', valuesMax)
  if (!json.ok) return json
  if (route.parse !== undefined) return route.parse(json.value)
  if (route.request === null) return json
  const parsed = validate(route.request, json.value)
  return parsed.ok ? parsed : err({ kind: 'malformed', issues: parsed.error })
}
