// The way of every request: route → caller → body → handler → answer. Nothing here knows a socket or a feature.
import { validate } from '../config/validate.ts'
import type { Caller } from '../kernel/caller.ts'
import { type ServiceError, ThrownServiceError } from '../kernel/errors.ts'
import { writeJson } from '../kernel/json.ts'
import { LaneRequiredError } from '../kernel/lane-required.ts'
import { err, type Result } from '../kernel/result.ts'
import { checkBodyHeaders, readJson } from './body.ts'
import type { Cors } from './cors.ts'
import { type ErrorResponse, errorBodyText, internalErrorResponse, toErrorResponse } from './error-response.ts'
import { EventLoopBudget } from './event-loop-budget.ts'
import type { LaneJob, LaneRunner } from './lane-job.ts'
import { validateQuery } from './query.ts'
import type { RateLimiter } from './rate-limit.ts'
import { requestIdOf } from './request-id.ts'
import {
  type Auth,
  DefaultHeaders,
  defaultHeaders,
  type HttpRequest,
  type HttpResponse,
  type LaneLimit,
  type RequestContext,
  type Route,
  type RouteResponse,
} from './route.ts'
import { createRouter, noParameters, type RouteMatch } from './router.ts'

export type Authentication = Result<Caller | null, ServiceError>

export interface DispatcherDeps {
  readonly routes: readonly Route[]
  /** Values of one JSON body. */
  readonly jsonValuesMax: number
  authenticate(auth: Auth, request: HttpRequest): Authentication | Promise<Authentication>
  /** A promise of our own code was broken: the whole fault, for the log. */
  onInternalError(failure: { requestId: string; method: string; path: string; error: unknown }): void
  /** Null: as often as they like. */
  readonly rateLimiter: RateLimiter | null
  /** Null: no page of another origin may ask. */
  readonly cors: Cors | null
  /** Asked once for each route; `none` stands for paths without one. */
  metricFor(route: string, method: string): (status: number, seconds: number) => void
  /** Null: every request runs here. */
  readonly lanes: LaneDispatch | null
  /** Null: nobody reads it. */
  readonly onResponse: ((answered: AccessLogEntry) => void) | null
}

export interface LaneDispatch {
  readonly pool: LaneRunner
  /** Milliseconds. */
  readonly limits: Readonly<Record<LaneLimit, number>>
  /** False: routes that always run in a lane run here all the same. */
  readonly always: boolean
}

export interface AccessLogEntry {
  readonly requestId: string
  readonly method: string
  /** Its pattern: a path may hold what is nobody's business. Null: there is none. */
  readonly route: string | null
  readonly status: number
  readonly durationMs: number
}

/** Where nothing has to be waited for there is no promise: the way of a decision would go through four of them. */
export type RequestHandler = (request: HttpRequest) => HttpResponse | Promise<HttpResponse>

const unmatched: RouteMatch = { kind: 'none' }

/** Whether a request with a body of so many bytes is answered in a lane. */
type LanePredicate = (exchange: Exchange, bodyBytes: number) => boolean

/** A request on its way; it is also what its handler sees. */
class Exchange implements RequestContext {
  readonly startMs = performance.now()
  readonly request: HttpRequest
  readonly requestId: string
  readonly match: RouteMatch
  /** As of FrontRequest; null: it is not refused. */
  readonly targetError: string | null
  caller: Caller | null = null
  bytes: Uint8Array | null = null
  /** When the body was there. */
  bodyReadMs = this.startMs
  private readonly runsInLane: LanePredicate | null
  private readonly jsonValuesMax: number

  constructor(
    request: HttpRequest,
    match: RouteMatch,
    refused: string | null,
    leaves: LanePredicate | null,
    jsonValuesMax: number,
  ) {
    this.targetError = refused
    this.request = request
    this.runsInLane = leaves
    this.jsonValuesMax = jsonValuesMax
    this.requestId = requestIdOf(request.header('x-request-id'))
    this.match = match
  }

  get pathParameters(): Readonly<Record<string, string>> {
    return this.match.kind === 'route' ? this.match.pathParameters : noParameters
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.request.query)
  }

  get headOnly(): boolean {
    return this.request.method === 'HEAD'
  }

  header(name: string): string | null {
    return this.request.header(name)
  }

  /** Kept, because a lane may need it again. Throws LaneRequiredError where the request is answered in a lane. */
  body(caller: string = callerName(this.caller)): Promise<Uint8Array> | Uint8Array {
    return whenReady(this.bytes ?? this.request.body(caller), (bytes) => {
      if (this.bytes === null) this.bodyReadMs = performance.now()
      this.bytes = bytes
      if (this.runsInLane?.(this, bytes.length) === true) throw new LaneRequiredError('body or share of the loop')
      return bytes
    })
  }

  async json(numbers: 'exact' | 'plain', caller?: string): Promise<Result<unknown, ServiceError>> {
    return readJson(await this.body(caller), numbers, this.jsonValuesMax)
  }
}

/** A body above this is parsed in a lane: on the serving loop it could take more than a millisecond. */
const INLINE_BODY_BYTES = 32 * 1024

/** Who sends a body slower than this is looked at again when it is there: a key may have been revoked meanwhile. */
const SLOW_BODY_MS = 10

type MaybePromise<T> = T | Promise<T>

/** At once where it is there. */
function whenReady<T, U>(coming: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return coming instanceof Promise ? coming.then(next) : next(coming)
}

export function createDispatcher(parts: DispatcherDeps): RequestHandler {
  const router = createRouter(parts.routes)
  const { cors, rateLimiter, lanes, onResponse, jsonValuesMax } = parts
  const loop = new EventLoopBudget()
  const leaves: LanePredicate | null =
    lanes === null
      ? null
      : (exchange, bodyBytes) =>
          exchange.match.kind === 'route' && runsInLane(exchange, exchange.match.route, lanes, bodyBytes)
  const matches = new Map<Route, RouteMatch>(
    parts.routes.map((route) => [route, { kind: 'route', route, pathParameters: noParameters }]),
  )
  const measures = new Map(parts.routes.map((route) => [route, parts.metricFor(route.path, route.method)]))
  const measureOther = metricForUnmatched(parts.metricFor)

  function begun(exchange: Exchange): MaybePromise<HttpResponse> {
    const { request, requestId, match } = exchange
    if (exchange.targetError !== null)
      return errorResponse({ kind: 'malformed', issues: [exchange.targetError] }, requestId)
    if (match.kind === 'none') return toErrorHttpResponse({ status: 404, message: 'Not Found' }, requestId)
    if (match.kind === 'method') {
      if (request.method === 'OPTIONS') return optionsResponse(match.allow, requestId, request, cors)
      return errorResponse({ kind: 'method-not-allowed', allow: match.allow }, requestId)
    }
    const { route } = match
    return continued(exchange, parts.authenticate(route.auth, request), (who) => authenticated(exchange, route, who))
  }

  function authenticated(exchange: Exchange, route: Route, who: Authentication): MaybePromise<HttpResponse> {
    const { request, requestId } = exchange
    if (!who.ok) return errorResponse(who.error, requestId)
    exchange.caller = who.value
    if (rateLimiter !== null && who.value?.kind === 'agent') {
      const tooMany = rateLimiter(who.value.agentId)
      if (tooMany !== null) return errorResponse(tooMany, requestId)
    }
    if (route.query !== undefined) {
      const query = validateQuery(route.query, request.query)
      if (!query.ok) return errorResponse(query.error, requestId)
    }
    if (!takesBody(route)) {
      // What reads its body itself leaves when that is there.
      if (lanes !== null && route.bodyReader === undefined && runsInLane(exchange, route, lanes, 0)) {
        return inLane(exchange, route, lanes, null)
      }
      return asked(exchange, route, undefined)
    }
    const refused = checkBodyHeaders(request, route.wrongMediaType)
    if (refused !== null) return errorResponse(refused, requestId)
    return continued(exchange, request.body(callerName(who.value)), (bytes) => withBody(exchange, route, bytes))
  }

  function withBody(exchange: Exchange, route: Route, bytes: Uint8Array): MaybePromise<HttpResponse> {
    exchange.bytes = bytes
    exchange.bodyReadMs = performance.now()
    if (lanes !== null && runsInLane(exchange, route, lanes, bytes.length)) return inLane(exchange, route, lanes, null)
    const body = readBody(route, bytes, jsonValuesMax)
    if (!body.ok) return errorResponse(body.error, exchange.requestId)
    if (exchange.bodyReadMs - exchange.startMs < SLOW_BODY_MS) return asked(exchange, route, body.value)
    return continued(exchange, parts.authenticate(route.auth, exchange.request), (still) => {
      if (!still.ok) return errorResponse(still.error, exchange.requestId)
      exchange.caller = still.value
      return asked(exchange, route, body.value)
    })
  }

  function asked(exchange: Exchange, route: Route, body: unknown): MaybePromise<HttpResponse> {
    return continued(exchange, route.handle(exchange, body), (result) =>
      result.ok
        ? toHttpResponse(result.value, exchange.requestId, exchange.headOnly)
        : errorResponse(result.error, exchange.requestId),
    )
  }

  /** Before anything of the request is done. */
  function runsInLane(exchange: Exchange, route: Route, { always }: LaneDispatch, bodyBytes: number): boolean {
    if (!always || route.lane === undefined) return false
    if (bodyBytes > INLINE_BODY_BYTES || route.lane.always === true) return true
    return !loop.tryCharge(projectName(exchange), callerName(exchange.caller), bodyBytes, exchange.bodyReadMs)
  }

  /** Repeats a request in a lane from its beginning. `cause`: what the serving loop found to be too large. */
  function inLane(
    exchange: Exchange,
    route: Route,
    { pool, limits }: LaneDispatch,
    cause: LaneRequiredError | null,
  ): MaybePromise<HttpResponse> {
    const { request, requestId, caller } = exchange
    const { limit, writes } = route.lane ?? defaultLane
    const job: LaneJob = {
      project: projectName(exchange),
      agent: callerName(caller),
      label: `${route.method} ${route.path}`,
      limitMs: cause?.limitMs ?? limits[limit],
      isRepeatable: cause?.isWrite === undefined ? writes !== 'once' : !cause.isWrite,
      isSharedWrite: limit === 'write',
      body: exchange.bytes,
      signal: request.signal,
      head: () => ({
        method: request.method,
        path: request.path,
        query: request.query,
        headers: [...request.headers()],
        requestId,
      }),
    }
    return continued(exchange, pool.run(job), (response) => response)
  }

  function failed(exchange: Exchange, error: unknown): MaybePromise<HttpResponse> {
    const { request, requestId, match } = exchange
    const { method, path } = request
    if (error instanceof LaneRequiredError && lanes !== null && match.kind === 'route') {
      return inLane(exchange, match.route, lanes, error)
    }
    if (error instanceof ThrownServiceError) {
      if (error.needsLogging) parts.onInternalError({ requestId, method, path, error })
      return errorResponse(error.error, requestId)
    }
    parts.onInternalError({ requestId, method, path, error })
    return toErrorHttpResponse(internalErrorResponse, requestId)
  }

  /**
   * Does a step with what it waits for. A response that is returned is still to be answered; one that is promised has
   * been, so that no promise is made only for that.
   */
  function continued<T>(
    exchange: Exchange,
    coming: MaybePromise<T>,
    step: (value: T) => MaybePromise<HttpResponse>,
  ): MaybePromise<HttpResponse> {
    if (!(coming instanceof Promise)) return step(coming)
    return coming.then(
      (value) => concluded(exchange, () => step(value)),
      (error: unknown) =>
        concluded(exchange, () => {
          throw error
        }),
    )
  }

  function concluded(exchange: Exchange, step: () => MaybePromise<HttpResponse>): MaybePromise<HttpResponse> {
    let coming: MaybePromise<HttpResponse>
    try {
      coming = step()
    } catch (error) {
      coming = failed(exchange, error)
    }
    return coming instanceof Promise ? coming : answered(exchange, coming)
  }

  function answered(exchange: Exchange, response: HttpResponse): HttpResponse {
    const { startMs, request, requestId, match } = exchange
    const durationMs = performance.now() - startMs
    const route = match.kind === 'route' ? match.route : null
    const measure = route === null ? measureOther(request.method) : measures.get(route)
    measure?.(response.status, durationMs / 1000)
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
    const refused = request.targetError ?? null
    const match = refused === null ? matchOf(request) : unmatched
    const exchange = new Exchange(request, match, refused, leaves, jsonValuesMax)
    return concluded(exchange, () => begun(exchange))
  }
}

/** Of a route that says nothing: it reads. */
const defaultLane: NonNullable<Route['lane']> = { limit: 'decision' }

function projectName({ caller, pathParameters }: Exchange): string {
  if (caller === null) return pathParameters.project ?? ''
  return caller.kind === 'agent' ? caller.projectId : caller.organizationId
}

function callerName(caller: Caller | null): string {
  if (caller === null) return ''
  return caller.kind === 'agent' ? caller.agentId : caller.serviceAccountId
}

/** Anybody can make up a method: those that nobody knows are one. */
const KNOWN_METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

function metricForUnmatched(
  measure: DispatcherDeps['metricFor'],
): (method: string) => ReturnType<DispatcherDeps['metricFor']> {
  const measures = new Map<string, ReturnType<DispatcherDeps['metricFor']>>()
  return (given) => {
    const method = KNOWN_METHODS.has(given) ? given : '_OTHER'
    const there = measures.get(method) ?? measure('none', method)
    measures.set(method, there)
    return there
  }
}

function takesBody({ request, parse, bodyReader }: Route): boolean {
  return bodyReader === undefined && (request !== null || parse !== undefined)
}

function readBody(route: Route, bytes: Uint8Array, valuesMax: number): Result<unknown, ServiceError> {
  const json = readJson(bytes, route.numbers ?? 'plain', valuesMax)
  if (!json.ok) return json
  if (route.parse !== undefined) return route.parse(json.value)
  if (route.request === null) return json
  const read = validate(route.request, json.value)
  return read.ok ? read : err({ kind: 'malformed', issues: read.error })
}

function toHttpResponse(answer: RouteResponse, requestId: string, headOnly: boolean): HttpResponse {
  if (answer.live !== undefined) return streamResponse(answer.status, answer.live, answer.headers, requestId, headOnly)
  const text = answer.text ?? (answer.body === undefined ? '' : writeJson(answer.body))
  if (answer.headers === undefined && answer.status !== 204 && !headOnly) {
    return { status: answer.status, headers: new DefaultHeaders(requestId), body: text }
  }
  const headers = withRequestId(requestId, answer.headers)
  if (answer.status === 204) delete headers['content-type']
  if (!headOnly) return { status: answer.status, headers, body: text }
  headers['content-length'] = String(Buffer.byteLength(text))
  return { status: answer.status, headers, body: '' }
}

function streamResponse(
  status: number,
  live: NonNullable<RouteResponse['live']>,
  more: RouteResponse['headers'],
  requestId: string,
  headOnly: boolean,
): HttpResponse {
  const headers = withRequestId(requestId, more)
  if (!headOnly) return { status, headers, body: '', live }
  void live.return?.()
  return { status, headers, body: '' }
}

function errorResponse(error: ServiceError, requestId: string): HttpResponse {
  return toErrorHttpResponse(toErrorResponse(error), requestId)
}

function toErrorHttpResponse(problem: ErrorResponse, requestId: string): HttpResponse {
  return { status: problem.status, headers: withRequestId(requestId, problem.headers), body: errorBodyText(problem) }
}

function optionsResponse(
  allow: readonly string[],
  requestId: string,
  request: HttpRequest,
  cors: Cors | null,
): HttpResponse {
  const isPreflight = request.header('access-control-request-method') !== null
  const origin = request.header('origin')
  const more = isPreflight ? cors?.preflightHeaders(origin, allow) : cors?.responseHeaders(origin)
  return { status: 204, headers: { allow: allow.join(', '), 'x-request-id': requestId, ...more }, body: '' }
}

function withRequestId(requestId: string, more: Readonly<Record<string, string>> | undefined): Record<string, string> {
  const headers: Record<string, string> = { ...defaultHeaders, 'x-request-id': requestId }
  return more === undefined ? headers : Object.assign(headers, more)
}
