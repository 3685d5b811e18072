// The types of a route: path, authentication, request and response schemas, handler. The dispatcher serves these records, and
// the OpenAPI document is generated from them.
import { z } from 'zod'
import type { TokenCheck } from '../identity/fixed-tokens.ts'
import type { ServiceError } from '../kernel/errors.ts'
import type { ApiPermission, Caller } from '../kernel/request/caller.ts'
import type { IdentifiedRequest, RefusedCredentials } from '../kernel/request/request-audit.ts'
import type { RequestOrigin } from '../kernel/request/request-origin.ts'
import type { Result } from '../kernel/result.ts'

/** Methods that routes handle. HEAD and OPTIONS are derived. */
export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/**
 * How a route of agents uses a user token in `Authorization` next to the key in `X-SVC-ClientKey`: ignores it, verifies it if
 * it is present, or requires it.
 */
export type UserTokenUse = 'ignored' | 'optional' | 'required'

/** The credentials that a route requires. */
export type Auth =
  | { readonly kind: 'public' }
  | {
      readonly kind: 'agent'
      readonly permission: ApiPermission
      /** A second permission that the agent needs. */
      readonly also?: ApiPermission
      readonly user: UserTokenUse
    }
  /** `fixedTokens`: tokens that are accepted instead; requests with them have no caller. */
  | { readonly kind: 'service-account'; readonly fixedTokens?: TokenCheck }
  /** An agent with the permission, or a service account. */
  | { readonly kind: 'agent-or-account'; readonly permission: ApiPermission }
  /**
   * A user token without an agent key. The handler verifies it, because the path decides how. Or a service account with
   * `X-Project-Id`, which is authenticated.
   */
  | { readonly kind: 'user' }

/** The port of the HTTP server: a server adapter passes requests of this shape and writes responses of `HttpResponse`. */
export interface HttpRequest {
  /** Method in upper case. */
  readonly method: string
  /** Percent-decoded path without the query. */
  readonly path: string
  /** Query string without `?`; may be empty. */
  readonly query: string
  /**
   * The reason to refuse the request with 400 before routing: proxies may interpret its target or host differently
   * (request smuggling). Null or absent: none.
   */
  readonly targetError?: string | null
  /** The value of a header, or null. `name`: in lower case. */
  header(name: string): string | null
  /** All headers, with names in lower case. */
  headers(): Iterable<readonly [string, string]>
  /** Aborted when the client disconnects; absent if that cannot be detected. */
  readonly signal?: AbortSignal
  /** The IP address of the client; empty or absent: unknown. It costs 0.4 µs. */
  readonly clientAddress?: string
  /** The tokens whose verification another process has reported for this request; absent: none. */
  readonly introspected?: readonly string[]
  /** The route, if the server has already matched it by a fixed path. */
  readonly route?: Route | undefined
  /**
   * Reads the whole body. `caller`: name of the caller, whose bodies in memory are limited. Rejects with ThrownServiceError:
   * `too-large`, `too-slow`, `too-many-bytes`, `unavailable`, or `malformed` if the client disconnects.
   */
  body(caller: string): Promise<Uint8Array> | Uint8Array
  /** Called before a transaction that records the request commits; absent: the server need not know. */
  noteCommit?(): void
}

/** A response for the HTTP server to write. */
export interface HttpResponse {
  /** HTTP status code. */
  readonly status: number
  /** All headers, with names in lower case. */
  readonly headers: Readonly<Record<string, string>>
  /** Text of the body; empty: no body. */
  readonly body: string
  /** Set: replaces `body`. Bytes of a file, or the unchanged body of a lane's response. */
  readonly bytes?: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>
  /** Set: replaces `body`. Text chunks, pulled as the client reads; `return` is called when the client disconnects. */
  readonly stream?: AsyncIterator<string, void>
}

/** Bytes that are read as the client takes them. */
export interface ByteStream {
  /** The number of all bytes. */
  readonly bytes: number
  /** Begins to read. An iterator that throws closes the connection, so that the client sees an incomplete answer. */
  open(): AsyncIterator<Uint8Array<ArrayBuffer>, void>
}

/** Default headers. `no-store`, because decisions and one-time keys must not be cached. */
export const defaultHeaders = { 'content-type': 'application/json', 'cache-control': 'no-store' } as const

/** `defaultHeaders` with a request id. The server recognizes this class and reuses a prepared `Headers` object. */
export class DefaultHeaders {
  readonly [name: string]: string
  readonly 'content-type' = defaultHeaders['content-type']
  readonly 'cache-control' = defaultHeaders['cache-control']
  readonly 'x-request-id': string

  constructor(requestId: string) {
    this['x-request-id'] = requestId
  }
}

/** A request as its handler sees it. */
export interface RequestContext extends RequestOrigin {
  /** The authenticated caller; null: the route is public, or the handler authenticates. */
  readonly caller: Caller | null
  /** Values of the `{parameters}` of the path. */
  readonly pathParameters: Readonly<Record<string, string>>
  /** The query parameters. */
  readonly query: URLSearchParams
  /** HEAD request: the handler must not start a stream. */
  readonly headOnly: boolean
  /** Authenticates the request again, for a handler whose answer is an open stream. */
  isStillAuthenticated(): Promise<boolean>
  /** For handlers that authenticate: describes the request for the audit trail. The last call counts. */
  identify(request: IdentifiedRequest): void
  /** For handlers that authenticate: the credentials were refused. */
  refuseCredentials(refused: RefusedCredentials): void
  /** The value of a header, or null. `name`: in lower case. */
  header(name: string): string | null
  /** The body, for routes with their own body reader; see `HttpRequest.body`. Pass `caller` if the route has no `auth`. */
  body(caller?: string): Promise<Uint8Array> | Uint8Array
  /** The body as a JSON value; see `readJson`. */
  json(numbers: 'exact' | 'plain', caller?: string): Promise<Result<unknown, ServiceError>>
}

/** The response of a handler. */
export interface RouteResponse {
  /** HTTP status code. */
  readonly status: number
  /** Headers in addition to the default ones. */
  readonly headers?: Readonly<Record<string, string>>
  /** Body, serialized by `writeJson` (kernel/json/json.ts), which keeps floats and big integers. Undefined: no body. */
  readonly body?: unknown
  /** Body as JSON text (constant responses of the hot path). Takes precedence over `body`. */
  readonly text?: string
  /** Body as bytes. Takes precedence over `text` and `body`. A stream is not started for HEAD. */
  readonly bytes?: Uint8Array<ArrayBuffer> | ByteStream
  /** See `HttpResponse.stream`. Takes precedence over the others. */
  readonly stream?: AsyncIterator<string, void>
}

/** A tag of the OpenAPI document, which groups routes. */
export interface Tag {
  /** Unique name. */
  readonly name: string
  /** One name always has the same description. */
  readonly description: string
}

/** The setting that limits the time of a request in a lane: decision, batch, knowledge query or write. */
export type LaneLimit = 'decision' | 'batch' | 'query' | 'write'

/** How a route uses lanes. */
export interface LaneUse {
  /** True: every request of the route runs in a lane, because it writes, or because its cost is not known in advance. */
  readonly always?: true
  /** The time limit in a lane. */
  readonly limit: LaneLimit
  /** True: the request only waits for other services, so its lane runs other requests at the same time. */
  readonly waits?: true
  /** True: the request is a test and takes long. Such requests of all callers together occupy at most half of the lanes. */
  readonly isTest?: true
  /** The request writes. `once`: it must not be repeated; `idempotent`: it may be. */
  readonly writes?: 'once' | 'idempotent'
}

/** A route: what it matches, who may call it, what it accepts and returns. */
export interface Route {
  /** The method. A GET route also serves HEAD. */
  readonly method: Method
  /** Path template, such as `/configs/v1/applications/{id}`. A trailing slash in a request is ignored. */
  readonly path: string
  /** Unique OpenAPI operation id, such as `createApplication`; generated clients name their functions after it. */
  readonly operationId: string
  /** The group of the route in the OpenAPI document. */
  readonly tag: Tag
  /** One line, without a period. */
  readonly summary: string
  /** The route is another spelling of the operation with this id. It is served, and it is not in the OpenAPI document. */
  readonly aliasOf?: string
  /** The route is kept for existing clients; the description names its replacement. */
  readonly deprecated?: true
  /** Details in addition to summary and schemas. */
  readonly description?: string
  /** The required credentials. */
  readonly auth: Auth
  /** Description of each `{parameter}` of the path. */
  readonly pathParameters?: Readonly<Record<string, string>>
  /**
   * Query parameters: a strict object of schemas for strings. An unknown, repeated or invalid parameter is answered with 422.
   * Absent: the query is ignored.
   */
  readonly query?: z.ZodObject
  /** The error for an invalid query: 400 instead of 422. */
  readonly invalidQuery?: 'malformed'
  /** Description of each request header specific to this route, such as `If-Match`. */
  readonly requestHeaders?: Readonly<Record<string, string>>
  /** Body schema; null: no body. Validation errors are `malformed`, with one issue per error that names its path. */
  readonly request: z.ZodType | null
  /** Parses the body instead of `request`, where validation by schema is too slow. A test compares both. */
  readonly parse?: (body: unknown) => Result<unknown, ServiceError>
  /** The handler reads and validates the body; `request` only documents it. */
  readonly bodyReader?: 'itself'
  /** `exact`: distinguishes 1 from 1.0 and keeps big integers (bodies with graph values). Absent: JavaScript numbers. */
  readonly numbers?: 'exact'
  /** The error for another media type than JSON: 400 for AuthZEN (docs/decisions/0006-authzen-status-codes-and-batches.md), else 415. */
  readonly wrongMediaType?: 'malformed'
  /**
   * The record of a request that has no event of its own type. Absent: one event. `none`: nothing if it is answered, because
   * the answer is the same for all callers or has no data of a project. `decision`: as for decisions, so that the setting
   * `audit_decisions` decides. `unsent`: no event sink receives it, because the operation is about events, and following events would
   * never end.
   */
  readonly audit?: 'none' | 'decision' | 'unsent'
  /** False: its requests are not traced, because probes and scrapes would be most of the traces. */
  readonly isTraced?: false
  /** When the request runs in a lane. Absent: only if it turns out to be too large for the event loop. */
  readonly lane?: LaneUse
  /** Example body for the OpenAPI document. A test parses it as the route does. */
  readonly example?: unknown
  /**
   * Status → body schema (null: no body), for the OpenAPI document and tests. Statuses that any route may return (401, 408,
   * 413, 415, 429, 500) are added by http/openapi/responses.ts.
   */
  readonly responses: Readonly<Record<number, z.ZodType | null>>
  /** Media type of successful responses if it is not JSON. Their schema is then a string. */
  readonly mediaType?: string
  /** A response with status 200 is an HTML page instead, if the `Accept` header prefers HTML. */
  readonly htmlForBrowsers?: true
  /** A response with status 200 is lines of JSON instead, if the `Accept` header names this media type. */
  readonly linesFor?: 'application/x-ndjson'
  /** A response with status 200 is OpenMetrics instead, if the `Accept` header prefers it. */
  readonly openMetrics?: true
  /** A response with status 200 may be an event stream instead, by `Accept` or by the method called. */
  readonly mayStream?: true
  /** Description of each header of successful responses, such as `ETag`. */
  readonly responseHeaders?: Readonly<Record<string, string>>
  /** Its 403 responses may contain a step-up challenge (RFC 9470). */
  readonly stepUp?: true
  /** Handles a request. `body`: the parsed body, undefined if the route has none. Throws only unexpected errors. */
  handle(
    context: RequestContext,
    body: unknown,
  ): Promise<Result<RouteResponse, ServiceError>> | Result<RouteResponse, ServiceError>
}

/** The body of every error response. */
export const errorBody = z
  .object({
    message: z.string(),
    errors: z
      .array(z.string())
      .optional()
      .describe('one entry per error: the path of the value, and what was expected'),
  })
  .meta({ id: 'Problem' })

/** Error statuses of a route, for its `responses`. */
export function errorStatuses(...statuses: readonly number[]): Record<number, z.ZodType> {
  return Object.fromEntries(statuses.map((status) => [status, errorBody]))
}
