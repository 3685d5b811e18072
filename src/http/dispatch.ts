// The way of every request: route → caller → body → handler → answer. Nothing here knows a socket or a feature.
import type { Caller } from '../identity/caller.ts'
import { type ServiceError, ServiceFault } from '../kernel/errors.ts'
import { writeJson } from '../kernel/json.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { isJsonType, readJson, refusedType } from './body.ts'
import { readBySchema } from './issues.ts'
import { internalProblem, type Problem, problemText, toProblem } from './problems.ts'
import { refusedQuery } from './query.ts'
import { requestIdOf } from './request-id.ts'
import type { Answer, Auth, FrontRequest, FrontResponse, RequestContext, Route } from './route.ts'
import { buildRouter } from './router.ts'

export type Authentication = Result<Caller | null, ServiceError>

export interface DispatchParts {
  readonly routes: readonly Route[]
  authenticate(auth: Auth, request: FrontRequest): Authentication | Promise<Authentication>
  /** A promise of our own code was broken: the whole fault, for the log. */
  onFailure(failure: { requestId: string; method: string; path: string; error: unknown }): void
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
}

export function createDispatcher(parts: DispatchParts): Handle {
  const router = buildRouter(parts.routes)

  return async function handle(request) {
    const requestId = requestIdOf(request.header('x-request-id'))
    try {
      const match = router.match(request.method, request.path)
      if (match.kind === 'none') return problemAnswer({ status: 404, message: 'Not Found' }, requestId)
      if (match.kind === 'method') {
        if (request.method === 'OPTIONS') return optionsAnswer(match.allow, requestId)
        return problemAnswer(toProblem({ kind: 'method-not-allowed', allow: match.allow }), requestId)
      }
      const { route } = match
      const asked = parts.authenticate(route.auth, request)
      const who = asked instanceof Promise ? await asked : asked
      if (!who.ok) return problemAnswer(toProblem(who.error), requestId)

      if (route.query !== undefined) {
        const query = refusedQuery(route.query, request.query)
        if (!query.ok) return problemAnswer(toProblem(query.error), requestId)
      }
      const body = route.request === null && route.read === undefined ? noBody : await readBody(route, request)
      if (!body.ok) return problemAnswer(toProblem(body.error), requestId)

      const context = new Context(who.value, requestId, match.pathParameters, request)
      const given = route.handle(context, body.value)
      const result = given instanceof Promise ? await given : given
      if (!result.ok) return problemAnswer(toProblem(result.error), requestId)
      return plainAnswer(result.value, requestId, request.method === 'HEAD')
    } catch (error) {
      if (error instanceof ServiceFault) return problemAnswer(toProblem(error.error), requestId)
      parts.onFailure({ requestId, method: request.method, path: request.path, error })
      return problemAnswer(internalProblem, requestId)
    }
  }
}

const noBody = ok(undefined)

async function readBody(route: Route, request: FrontRequest): Promise<Result<unknown, ServiceError>> {
  const contentType = request.header('content-type')
  if (!isJsonType(contentType)) return err(refusedType(contentType, route.wrongMediaType))
  const given = request.body()
  const json = readJson(given instanceof Promise ? await given : given, route.numbers ?? 'plain')
  if (!json.ok) return json
  if (route.read !== undefined) return route.read(json.value)
  return route.request === null ? json : readBySchema(route.request, json.value)
}

function plainAnswer(answer: Answer, requestId: string, headOnly: boolean): FrontResponse {
  const text = answer.text ?? (answer.body === undefined ? '' : writeJson(answer.body))
  const headers = headersFor(requestId, answer.headers)
  if (!headOnly) return { status: answer.status, headers, body: text }
  headers['content-length'] = String(Buffer.byteLength(text))
  return { status: answer.status, headers, body: '' }
}

function problemAnswer(problem: Problem, requestId: string): FrontResponse {
  return { status: problem.status, headers: headersFor(requestId, problem.headers), body: problemText(problem) }
}

function optionsAnswer(allow: readonly string[], requestId: string): FrontResponse {
  return { status: 204, headers: { allow: allow.join(', '), 'x-request-id': requestId }, body: '' }
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
