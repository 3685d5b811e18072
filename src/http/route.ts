// A route is a record: what it matches, who may call it, what it takes and gives. server.ts serves records, and the
// interface description is made from the same ones.
import { z } from 'zod'
import type { ApiPermission, Caller } from '../kernel/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import type { Result } from '../kernel/result.ts'

export type Method = 'GET' | 'POST' | 'PUT' | 'DELETE'

/**
 * What a route of agents makes of a user's token in `Authorization`, beside the key in `X-SVC-ClientKey`: does not look
 * at it, takes it and refuses a wrong one, or cannot do without.
 */
export type UserTokenUse = 'ignored' | 'optional' | 'required'

/** What the caller must show. `public` shows nothing. */
export type Auth =
  | { readonly kind: 'public' }
  | {
      readonly kind: 'agent'
      readonly permission: ApiPermission
      /** A second one that the agent must have. */
      readonly also?: ApiPermission
      readonly user: UserTokenUse
    }
  | { readonly kind: 'service-account' }
  /** An end user's token alone, of a kind that the path decides: the handler looks at it. */
  | { readonly kind: 'user' }

/** The front port (ruling R2): a socket library hands in requests of this shape and writes answers of that shape. */
export interface HttpRequest {
  readonly method: string
  /** Decoded, without query. */
  readonly path: string
  /** Without `?`; empty when there is none. */
  readonly query: string
  /** Why the request is answered with 400 before it is routed: another reader of its head may take it for another one. */
  readonly targetError?: string | null
  header(name: string): string | null
  /** All of them, with names in lower case. */
  headers(): Iterable<readonly [string, string]>
  /** Aborted when the client closes the connection; absent where that cannot be known. */
  readonly signal?: AbortSignal
  /** The route, where the front has found it by a path without parameters; absent: it is looked for. */
  readonly route?: Route | undefined
  /**
   * The whole body. `caller` names who sends it: their bodies under way have a limit. Rejects with a ServiceFault:
   * `too-large`, `too-slow`, `too-many-bytes`, `unavailable`, or `malformed` when the connection ends before it.
   */
  body(caller: string): Promise<Uint8Array> | Uint8Array
}

export interface HttpResponse {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  /** JSON text or empty. */
  readonly body: string
  /** Replaces `body`: the unchanged answer of a lane. */
  readonly bytes?: Uint8Array<ArrayBuffer> | ReadableStream<Uint8Array<ArrayBuffer>>
  /** In the place of `body`: pieces of text, each asked for when there is room for it. `return` is called when the reader has left. */
  readonly live?: AsyncIterator<string, void>
}

/** Decisions and keys shown once must not rest in a cache on the way. */
export const defaultHeaders = { 'content-type': 'application/json', 'cache-control': 'no-store' } as const

/** The headers of nearly every answer: those of `usual`, and the request id. The front keeps all but the id at hand. */
export class DefaultHeaders {
  readonly [name: string]: string
  readonly 'content-type' = defaultHeaders['content-type']
  readonly 'cache-control' = defaultHeaders['cache-control']
  readonly 'x-request-id': string

  constructor(requestId: string) {
    this['x-request-id'] = requestId
  }
}

/** What a handler sees. */
export interface RequestContext {
  readonly caller: Caller | null
  readonly requestId: string
  /** `{id}` and the like of the route's path. */
  readonly pathParameters: Readonly<Record<string, string>>
  readonly query: URLSearchParams
  /** A HEAD: nobody reads a body, so nothing may be begun that lasts as long as one. */
  readonly headOnly: boolean
  header(name: string): string | null
  /** For a route that reads it itself; as of `FrontRequest`. `caller` is needed where the dispatcher knows none. */
  body(caller?: string): Promise<Uint8Array> | Uint8Array
  /** The body as a JSON value; as of `readJson`. */
  json(numbers: 'exact' | 'plain', caller?: string): Promise<Result<unknown, ServiceError>>
}

export interface RouteResponse {
  readonly status: number
  readonly headers?: Readonly<Record<string, string>>
  /** Undefined: no body. Floats and big integers are written by kernel/json. */
  readonly body?: unknown
  /** A body that is JSON text already (the constant answers of the hot path); wins over `body`. */
  readonly text?: string
  /** As of `FrontResponse`; wins over both. */
  readonly live?: AsyncIterator<string, void>
}

/** A chapter of the interface description: routes that are read together. One name always has one description. */
export interface Tag {
  readonly name: string
  readonly description: string
}

/** Which setting limits a request in a lane: the time of a decision, a batch, a knowledge query or a write. */
export type LaneLimit = 'decision' | 'batch' | 'query' | 'write'

export interface LaneUse {
  /** True: every request of the route, because it writes or because its size is not known before it runs. */
  readonly always?: true
  readonly limit: LaneLimit
  /** The request changes something, so that it may not run twice. `idempotent`: twice has the effect of once. */
  readonly writes?: 'once' | 'idempotent'
}

export interface Route {
  readonly method: Method
  /** `/configs/v1/applications/{id}`. A trailing slash in a request is equal to none. */
  readonly path: string
  /** Unique, `createApplication`: what generated clients call their function. */
  readonly operationId: string
  readonly tag: Tag
  /** One line, without a full stop. */
  readonly summary: string
  /** What a caller must know beyond the summary and the schemas. */
  readonly description?: string
  readonly auth: Auth
  /** What each `{name}` of the path stands for. */
  readonly pathParameters?: Readonly<Record<string, string>>
  /**
   * The query parameters: a strict object of schemas that take a string. One that is unknown or given twice, or that its
   * schema refuses, is answered 422. Absent: the query is not looked at.
   */
  readonly query?: z.ZodObject
  /** Request headers with a meaning for this route alone (`If-Match`), and what that is. */
  readonly requestHeaders?: Readonly<Record<string, string>>
  /** Null: the route takes no body. Validation faults are `malformed` with one issue per fault, naming the path. */
  readonly request: z.ZodType | null
  /** Reads the body instead of `request` where a schema is too slow; a test proves that both agree. */
  readonly parse?: (body: unknown) => Result<unknown, ServiceError>
  /** The handler asks for the bytes when it wants them, and answers what is wrong with them: `request` is its description. */
  readonly bodyReader?: 'itself'
  /** `exact` keeps 1 and 1.0 apart and big integers whole (bodies that carry graph values); else plain JSON numbers. */
  readonly numbers?: 'exact'
  /** Another media type than JSON is a fault of its own, or one of shape where the route's protocol knows no other (D2). */
  readonly wrongMediaType?: 'malformed'
  /** Where the request runs, when the process has lanes. Absent: on the serving loop, and in a lane if it is too large. */
  readonly lane?: LaneUse
  /** A body to show in the description; a test reads it by the route's own reader. */
  readonly example?: unknown
  /**
   * Status → body schema (null: no body), for the interface description and tests. Names what this route adds to what
   * the way of every request may answer (401, 408, 413, 415, 429, 500: openapi/responses.ts knows).
   */
  readonly responses: Readonly<Record<number, z.ZodType | null>>
  /** Of the answers below 300 where it is not JSON; their schema is then one of a string. */
  readonly mediaType?: string
  /** An answer of 200 may come as events instead: to who asks for these, or where there are more than one. */
  readonly mayStream?: true
  /** Headers of the answers below 300 (`ETag`), and what they say. */
  readonly responseHeaders?: Readonly<Record<string, string>>
  /** A 403 of it says what token would do (RFC 9470). */
  readonly stepUp?: true
  handle(
    context: RequestContext,
    body: unknown,
  ): Promise<Result<RouteResponse, ServiceError>> | Result<RouteResponse, ServiceError>
}

/** The body of every refusal. */
export const errorBody = z
  .object({
    message: z.string(),
    errors: z.array(z.string()).optional().describe('one entry for each fault: its place, and what was expected there'),
  })
  .meta({ id: 'Problem' })

/** The failures that a route answers, for its `responses`. */
export function errorStatuses(...statuses: readonly number[]): Record<number, z.ZodType> {
  return Object.fromEntries(statuses.map((status) => [status, errorBody]))
}
