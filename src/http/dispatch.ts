// The way of every request: route → caller → body → handler → answer. Nothing here knows a socket or a feature.
import { validate } from '../config/validate.ts'
import type { Caller } from '../identity/caller.ts'
import { type ServiceError, ServiceFault } from '../kernel/errors.ts'
import { writeJson } from '../kernel/json.ts'
import { LaneRequiredError } from '../kernel/lane-required.ts'
import { err, type Result } from '../kernel/result.ts'
import type { AgentRate } from './agent-rate.ts'
import { readJson, refusedHead } from './body.ts'
import type { Cors } from './cors.ts'
import type { LaneJob, LaneRunner } from './lane-job.ts'
import { LoopShare } from './loop-share.ts'
import { internalProblem, type Problem, problemText, toProblem } from './problems.ts'
import { refusedQuery } from './query.ts'
import { requestIdOf } from './request-id.ts'
import {
  type Answer,
  type Auth,
  type FrontRequest,
  type FrontResponse,
  type LaneLimit,
  type RequestContext,
  type Route,
  UsualHeaders,
  usual,
} from './route.ts'
import { buildRouter, type Match, noParameters } from './router.ts'

export type Authentication = Result<Caller | null, ServiceError>

export interface DispatchParts {
  readonly routes: readonly Route[]
  /** Values of one JSON body. */
  readonly jsonValuesMax: number
  authenticate(auth: Auth, request: FrontRequest): Authentication | Promise<Authentication>
  /** A promise of our own code was broken: the whole fault, for the log. */
  onFailure(failure: { requestId: string; method: string; path: string; error: unknown }): void
  /** Null: as often as they like. */
  readonly agentRate: AgentRate | null
  /** Null: no page of another origin may ask. */
  readonly cors: Cors | null
  /** Asked once for each route; `none` stands for paths without one. */
  measure(route: string, method: string): (status: number, seconds: number) => void
  /** Null: every request runs here. */
  readonly lanes: LaneParts | null
  /** Null: nobody reads it. */
  readonly onAnswered: ((answered: Answered) => void) | null
}

export interface LaneParts {
  readonly runner: LaneRunner
  /** Milliseconds. */
  readonly limits: Readonly<Record<LaneLimit, number>>
  /** False: routes that always run in a lane run here all the same. */
  readonly always: boolean
}

export interface Answered {
  readonly requestId: string
  readonly method: string
  /** Its pattern: a path may hold what is nobody's business. Null: there is none. */
  readonly route: string | null
  readonly status: number
  readonly durationMs: number
}

/** Where nothing has to be waited for there is no promise: the way of a decision would go through four of them. */
export type Handle = (request: FrontRequest) => FrontResponse | Promise<FrontResponse>

const unmatched: Match = { kind: 'none' }

/** Whether a request with a body of so many bytes is answered in a lane. */
type Leaves = (exchange: Exchange, bodyBytes: number) => boolean

/** A request on its way; it is also what its handler sees. */
class Exchange implements RequestContext {
  readonly startMs = performance.now()
  readonly request: FrontRequest
  readonly requestId: string
  readonly match: Match
  /** As of FrontRequest; null: it is not refused. */
  readonly refused: string | null
  caller: Caller | null = null
  bytes: Uint8Array | null = null
  /** When the body was there. */
  workMs = this.startMs
  private readonly leaves: Leaves | null
  private readonly jsonValuesMax: number

  constructor(
    request: FrontRequest,
    match: Match,
    refused: string | null,
    leaves: Leaves | null,
    jsonValuesMax: number,
  ) {
    this.refused = refused
    this.request = request
    this.leaves = leaves
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
  body(caller: string = agentOf(this.caller)): Promise<Uint8Array> | Uint8Array {
    return after(this.bytes ?? this.request.body(caller), (bytes) => {
      if (this.bytes === null) this.workMs = performance.now()
      this.bytes = bytes
      if (this.leaves?.(this, bytes.length) === true) throw new LaneRequiredError('body or share of the loop')
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
const LATE_MS = 10

type Coming<T> = T | Promise<T>

/** At once where it is there. */
function after<T, U>(coming: Coming<T>, next: (value: T) => Coming<U>): Coming<U> {
  return coming instanceof Promise ? coming.then(next) : next(coming)
}

export function createDispatcher(parts: DispatchParts): Handle {
  const router = buildRouter(parts.routes)
  const { cors, agentRate, lanes, onAnswered, jsonValuesMax } = parts
  const loop = new LoopShare()
  const leaves: Leaves | null =
    lanes === null
      ? null
      : (exchange, bodyBytes) =>
          exchange.match.kind === 'route' && runsInLane(exchange, exchange.match.route, lanes, bodyBytes)
  const matches = new Map<Route, Match>(
    parts.routes.map((route) => [route, { kind: 'route', route, pathParameters: noParameters }]),
  )
  const measures = new Map(parts.routes.map((route) => [route, parts.measure(route.path, route.method)]))
  const measureOther = measureOthers(parts.measure)

  function begun(exchange: Exchange): Coming<FrontResponse> {
    const { request, requestId, match } = exchange
    if (exchange.refused !== null) return refusal({ kind: 'malformed', issues: [exchange.refused] }, requestId)
    if (match.kind === 'none') return problemAnswer({ status: 404, message: 'Not Found' }, requestId)
    if (match.kind === 'method') {
      if (request.method === 'OPTIONS') return optionsAnswer(match.allow, requestId, request, cors)
      return refusal({ kind: 'method-not-allowed', allow: match.allow }, requestId)
    }
    const { route } = match
    return continued(exchange, parts.authenticate(route.auth, request), (who) => authenticated(exchange, route, who))
  }

  function authenticated(exchange: Exchange, route: Route, who: Authentication): Coming<FrontResponse> {
    const { request, requestId } = exchange
    if (!who.ok) return refusal(who.error, requestId)
    exchange.caller = who.value
    if (agentRate !== null && who.value?.kind === 'agent') {
      const tooMany = agentRate(who.value.agentId)
      if (tooMany !== null) return refusal(tooMany, requestId)
    }
    if (route.query !== undefined) {
      const query = refusedQuery(route.query, request.query)
      if (!query.ok) return refusal(query.error, requestId)
    }
    if (!takesBody(route)) {
      // What reads its body itself leaves when that is there.
      if (lanes !== null && route.readsBody === undefined && runsInLane(exchange, route, lanes, 0)) {
        return inLane(exchange, route, lanes, null)
      }
      return asked(exchange, route, undefined)
    }
    const refused = refusedHead(request, route.wrongMediaType)
    if (refused !== null) return refusal(refused, requestId)
    return continued(exchange, request.body(agentOf(who.value)), (bytes) => withBody(exchange, route, bytes))
  }

  function withBody(exchange: Exchange, route: Route, bytes: Uint8Array): Coming<FrontResponse> {
    exchange.bytes = bytes
    exchange.workMs = performance.now()
    if (lanes !== null && runsInLane(exchange, route, lanes, bytes.length)) return inLane(exchange, route, lanes, null)
    const body = readBody(route, bytes, jsonValuesMax)
    if (!body.ok) return refusal(body.error, exchange.requestId)
    if (exchange.workMs - exchange.startMs < LATE_MS) return asked(exchange, route, body.value)
    return continued(exchange, parts.authenticate(route.auth, exchange.request), (still) => {
      if (!still.ok) return refusal(still.error, exchange.requestId)
      exchange.caller = still.value
      return asked(exchange, route, body.value)
    })
  }

  function asked(exchange: Exchange, route: Route, body: unknown): Coming<FrontResponse> {
    return continued(exchange, route.handle(exchange, body), (result) =>
      result.ok
        ? plainAnswer(result.value, exchange.requestId, exchange.headOnly)
        : refusal(result.error, exchange.requestId),
    )
  }

  /** Before anything of the request is done. */
  function runsInLane(exchange: Exchange, route: Route, { always }: LaneParts, bodyBytes: number): boolean {
    if (!always || route.lane === undefined) return false
    if (bodyBytes > INLINE_BODY_BYTES || route.lane.always === true) return true
    return !loop.admits(projectOf(exchange), agentOf(exchange.caller), bodyBytes, exchange.workMs)
  }

  /** Repeats a request in a lane from its beginning. `cause`: what the serving loop found to be too large. */
  function inLane(
    exchange: Exchange,
    route: Route,
    { runner, limits }: LaneParts,
    cause: LaneRequiredError | null,
  ): Coming<FrontResponse> {
    const { request, requestId, caller } = exchange
    const { limit, writes } = route.lane ?? defaultLane
    const job: LaneJob = {
      project: projectOf(exchange),
      agent: agentOf(caller),
      what: `${route.method} ${route.path}`,
      limitMs: cause?.limitMs ?? limits[limit],
      isRepeatable: cause?.isWrite === undefined ? writes !== 'once' : !cause.isWrite,
      sharesLane: limit === 'write',
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
    return continued(exchange, runner.run(job), (response) => response)
  }

  function failed(exchange: Exchange, error: unknown): Coming<FrontResponse> {
    const { request, requestId, match } = exchange
    const { method, path } = request
    if (error instanceof LaneRequiredError && lanes !== null && match.kind === 'route') {
      return inLane(exchange, match.route, lanes, error)
    }
    if (error instanceof ServiceFault) {
      if (error.isForOperator) parts.onFailure({ requestId, method, path, error })
      return refusal(error.error, requestId)
    }
    parts.onFailure({ requestId, method, path, error })
    return problemAnswer(internalProblem, requestId)
  }

  /**
   * Does a step with what it waits for. A response that is returned is still to be answered; one that is promised has
   * been, so that no promise is made only for that.
   */
  function continued<T>(
    exchange: Exchange,
    coming: Coming<T>,
    step: (value: T) => Coming<FrontResponse>,
  ): Coming<FrontResponse> {
    if (!(coming instanceof Promise)) return step(coming)
    return coming.then(
      (value) => concluded(exchange, () => step(value)),
      (error: unknown) =>
        concluded(exchange, () => {
          throw error
        }),
    )
  }

  function concluded(exchange: Exchange, step: () => Coming<FrontResponse>): Coming<FrontResponse> {
    let coming: Coming<FrontResponse>
    try {
      coming = step()
    } catch (error) {
      coming = failed(exchange, error)
    }
    return coming instanceof Promise ? coming : answered(exchange, coming)
  }

  function answered(exchange: Exchange, response: FrontResponse): FrontResponse {
    const { startMs, request, requestId, match } = exchange
    const durationMs = performance.now() - startMs
    const route = match.kind === 'route' ? match.route : null
    const measure = route === null ? measureOther(request.method) : measures.get(route)
    measure?.(response.status, durationMs / 1000)
    onAnswered?.({
      requestId,
      method: request.method,
      route: route?.path ?? null,
      status: response.status,
      durationMs: Math.round(durationMs * 1000) / 1000,
    })
    if (cors === null || request.method === 'OPTIONS') return response
    return { ...response, headers: { ...response.headers, ...cors.answered(request.header('origin')) } }
  }

  function matchOf(request: FrontRequest): Match {
    const { route } = request
    return (route === undefined ? null : matches.get(route)) ?? router.match(request.method, request.path)
  }

  return function handle(request) {
    const refused = request.refused ?? null
    const match = refused === null ? matchOf(request) : unmatched
    const exchange = new Exchange(request, match, refused, leaves, jsonValuesMax)
    return concluded(exchange, () => begun(exchange))
  }
}

/** Of a route that says nothing: it reads. */
const defaultLane: NonNullable<Route['lane']> = { limit: 'decision' }

function projectOf({ caller, pathParameters }: Exchange): string {
  if (caller === null) return pathParameters.project ?? ''
  return caller.kind === 'agent' ? caller.projectId : caller.organizationId
}

function agentOf(caller: Caller | null): string {
  if (caller === null) return ''
  return caller.kind === 'agent' ? caller.agentId : caller.serviceAccountId
}

/** Anybody can make up a method: those that nobody knows are one. */
const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

function measureOthers(measure: DispatchParts['measure']): (method: string) => ReturnType<DispatchParts['measure']> {
  const measures = new Map<string, ReturnType<DispatchParts['measure']>>()
  return (given) => {
    const method = METHODS.has(given) ? given : '_OTHER'
    const there = measures.get(method) ?? measure('none', method)
    measures.set(method, there)
    return there
  }
}

function takesBody({ request, read, readsBody }: Route): boolean {
  return readsBody === undefined && (request !== null || read !== undefined)
}

function readBody(route: Route, bytes: Uint8Array, valuesMax: number): Result<unknown, ServiceError> {
  const json = readJson(bytes, route.numbers ?? 'plain', valuesMax)
  if (!json.ok) return json
  if (route.read !== undefined) return route.read(json.value)
  if (route.request === null) return json
  const read = validate(route.request, json.value)
  return read.ok ? read : err({ kind: 'malformed', issues: read.error })
}

function plainAnswer(answer: Answer, requestId: string, headOnly: boolean): FrontResponse {
  if (answer.live !== undefined) return liveAnswer(answer.status, answer.live, answer.headers, requestId, headOnly)
  const text = answer.text ?? (answer.body === undefined ? '' : writeJson(answer.body))
  if (answer.headers === undefined && answer.status !== 204 && !headOnly) {
    return { status: answer.status, headers: new UsualHeaders(requestId), body: text }
  }
  const headers = headersFor(requestId, answer.headers)
  if (answer.status === 204) delete headers['content-type']
  if (!headOnly) return { status: answer.status, headers, body: text }
  headers['content-length'] = String(Buffer.byteLength(text))
  return { status: answer.status, headers, body: '' }
}

function liveAnswer(
  status: number,
  live: NonNullable<Answer['live']>,
  more: Answer['headers'],
  requestId: string,
  headOnly: boolean,
): FrontResponse {
  const headers = headersFor(requestId, more)
  if (!headOnly) return { status, headers, body: '', live }
  void live.return?.()
  return { status, headers, body: '' }
}

function refusal(error: ServiceError, requestId: string): FrontResponse {
  return problemAnswer(toProblem(error), requestId)
}

function problemAnswer(problem: Problem, requestId: string): FrontResponse {
  return { status: problem.status, headers: headersFor(requestId, problem.headers), body: problemText(problem) }
}

function optionsAnswer(
  allow: readonly string[],
  requestId: string,
  request: FrontRequest,
  cors: Cors | null,
): FrontResponse {
  const isPreflight = request.header('access-control-request-method') !== null
  const origin = request.header('origin')
  const more = isPreflight ? cors?.preflight(origin, allow) : cors?.answered(origin)
  return { status: 204, headers: { allow: allow.join(', '), 'x-request-id': requestId, ...more }, body: '' }
}

function headersFor(requestId: string, more: Readonly<Record<string, string>> | undefined): Record<string, string> {
  const headers: Record<string, string> = { ...usual, 'x-request-id': requestId }
  return more === undefined ? headers : Object.assign(headers, more)
}
