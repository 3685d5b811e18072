// The way of every request: route → caller → body → handler → answer. Nothing here knows a socket or a feature.
import type { Caller } from '../identity/caller.ts'
import { type ServiceError, ServiceFault } from '../kernel/errors.ts'
import { writeJson } from '../kernel/json.ts'
import { ok, type Result } from '../kernel/result.ts'
import type { AgentRate } from './agent-rate.ts'
import { isJsonType, readJson, refusedType } from './body.ts'
import type { Cors } from './cors.ts'
import { readBySchema } from './issues.ts'
import { internalProblem, type Problem, problemText, toProblem } from './problems.ts'
import { refusedQuery } from './query.ts'
import { requestIdOf } from './request-id.ts'
import type { Answer, Auth, FrontRequest, FrontResponse, RequestContext, Route } from './route.ts'
import { buildRouter, type Match } from './router.ts'

export type Authentication = Result<Caller | null, ServiceError>

export interface DispatchParts {
  readonly routes: readonly Route[]
  authenticate(auth: Auth, request: FrontRequest): Authentication | Promise<Authentication>
  /** A promise of our own code was broken: the whole fault, for the log. */
  onFailure(failure: { requestId: string; method: string; path: string; error: unknown }): void
  /** Null: as often as they like. */
  readonly agentRate: AgentRate | null
  /** Null: no page of another origin may ask. */
  readonly cors: Cors | null
  /** Asked once for each route; `none` stands for paths without one. */
  measure(route: string, method: string): (status: number, seconds: number) => void
  /** Null: nobody reads it. */
  readonly onAnswered: ((answered: Answered) => void) | null
}

export interface Answered {
  readonly requestId: string
  readonly method: string
  /** Its pattern: a path may hold what is nobody's business. Null: there is none. */
  readonly route: string | null
  readonly status: number
  readonly durationMs: number
}

export type Handle = (request: FrontRequest) => Promise<FrontResponse>

class Context implements RequestContext {
  readonly caller: Caller | null
  readonly requestId: string
  readonly pathParameters: Readonly<Record<string, string>>
  private readonly request: FrontRequest

  constructor(
    caller: Caller | null,
    requestId: string,
    pathParameters: Readonly<Record<string, string>>,
    request: FrontRequest,
  ) {
    this.caller = caller
    this.requestId = requestId
    this.pathParameters = pathParameters
    this.request = request
  }

  get query(): URLSearchParams {
    return new URLSearchParams(this.request.query)
  }

  header(name: string): string | null {
    return this.request.header(name)
  }

  body(): Promise<Uint8Array> | Uint8Array {
    return this.request.body()
  }
}

export function createDispatcher(parts: DispatchParts): Handle {
  const router = buildRouter(parts.routes)
  const { cors, agentRate, onAnswered } = parts
  const measures = new Map(parts.routes.map((route) => [route, parts.measure(route.path, route.method)]))
  const measureOther = measureOthers(parts.measure)

  async function answerTo(match: Match, request: FrontRequest, requestId: string): Promise<FrontResponse> {
    try {
      if (match.kind === 'none') return problemAnswer({ status: 404, message: 'Not Found' }, requestId)
      if (match.kind === 'method') {
        if (request.method === 'OPTIONS') return optionsAnswer(match.allow, requestId, request, cors)
        return problemAnswer(toProblem({ kind: 'method-not-allowed', allow: match.allow }), requestId)
      }
      const { route } = match
      const asked = parts.authenticate(route.auth, request)
      const who = asked instanceof Promise ? await asked : asked
      if (!who.ok) return problemAnswer(toProblem(who.error), requestId)
      if (agentRate !== null && who.value?.kind === 'agent') {
        const tooMany = agentRate(who.value.agentId)
        if (tooMany !== null) return problemAnswer(toProblem(tooMany), requestId)
      }

      if (route.query !== undefined) {
        const query = refusedQuery(route.query, request.query)
        if (!query.ok) return problemAnswer(toProblem(query.error), requestId)
      }
      let body: Result<unknown, ServiceError> = noBody
      if (takesBody(route)) {
        const contentType = request.header('content-type')
        if (!isJsonType(contentType)) {
          return problemAnswer(toProblem(refusedType(contentType, route.wrongMediaType)), requestId)
        }
        // The only wait on the way of a decision: each more would cost as much as a part of the decision.
        const given = request.body()
        body = readBody(route, given instanceof Promise ? await given : given)
      }
      if (!body.ok) return problemAnswer(toProblem(body.error), requestId)

      const context = new Context(who.value, requestId, match.pathParameters, request)
      const given = route.handle(context, body.value)
      const result = given instanceof Promise ? await given : given
      if (!result.ok) return problemAnswer(toProblem(result.error), requestId)
      return plainAnswer(result.value, requestId, request.method === 'HEAD')
    } catch (error) {
      if (error instanceof ServiceFault) {
        if (error.isForOperator) parts.onFailure({ requestId, method: request.method, path: request.path, error })
        return problemAnswer(toProblem(error.error), requestId)
      }
      parts.onFailure({ requestId, method: request.method, path: request.path, error })
      return problemAnswer(internalProblem, requestId)
    }
  }

  return async function handle(request) {
    const startMs = performance.now()
    const requestId = requestIdOf(request.header('x-request-id'))
    const match = router.match(request.method, request.path)
    const response = await answerTo(match, request, requestId)
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

const noBody: Result<unknown, ServiceError> = ok(undefined)

function takesBody({ request, read, readsBody }: Route): boolean {
  return readsBody === undefined && (request !== null || read !== undefined)
}

function readBody(route: Route, bytes: Uint8Array): Result<unknown, ServiceError> {
  const json = readJson(bytes, route.numbers ?? 'plain')
  if (!json.ok) return json
  if (route.read !== undefined) return route.read(json.value)
  return route.request === null ? json : readBySchema(route.request, json.value)
}

function plainAnswer(answer: Answer, requestId: string, headOnly: boolean): FrontResponse {
  if (answer.live !== undefined) return liveAnswer(answer.status, answer.live, answer.headers, requestId, headOnly)
  const text = answer.text ?? (answer.body === undefined ? '' : writeJson(answer.body))
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

/** Decisions and keys shown once must not rest in a cache on the way. */
function headersFor(requestId: string, more: Readonly<Record<string, string>> | undefined): Record<string, string> {
  const headers: Record<string, string> = {
    'content-type': 'application/json',
    'cache-control': 'no-store',
    'x-request-id': requestId,
  }
  return more === undefined ? headers : Object.assign(headers, more)
}
