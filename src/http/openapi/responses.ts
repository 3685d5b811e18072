// The responses of an operation: those of its route, those that any route may return, and their headers.
import type { z } from 'zod'
import { errorBody, type Route } from '../route.ts'
import type { ReferenceObject, ResponseObject } from './objects.ts'
import type { SchemaComponents } from './schemas.ts'

/** Headers that several responses share, by component name. */
export const headerComponents = {
  RequestId: {
    description: 'Identifies the request in the log: the id sent by the caller, or a new one.',
    required: true,
    schema: { type: 'string' },
  },
  RetryAfter: {
    description: 'Seconds to wait before a retry.',
    schema: { type: 'integer', minimum: 0 },
  },
  Allow: { description: 'The allowed methods.', schema: { type: 'string' } },
  AcceptEncoding: {
    description: 'Sent if the request body was compressed, which is not supported.',
    schema: { type: 'string', const: 'identity' },
  },
  Challenge: { description: 'The required credentials.', schema: { type: 'string' } },
  RateLimit: {
    description: 'Remaining requests (`r`), and seconds until the limit is reset (`t`).',
    schema: { type: 'string', examples: ['"agent";r=0;t=1'] },
  },
  RateLimitPolicy: {
    description: 'Allowed requests (`q`) per window in seconds (`w`).',
    schema: { type: 'string', examples: ['"agent";q=100;w=1'] },
  },
}

/** The error statuses: the name of the component, and its description. */
const errorResponses: Readonly<Record<number, readonly [name: string, description: string]>> = {
  400: ['BadRequest', 'The request is malformed'],
  401: ['Unauthorized', 'The credentials are missing or invalid'],
  403: ['Forbidden', 'The caller lacks the permission'],
  404: ['NotFound', 'Not found'],
  405: ['MethodNotAllowed', 'The method is not allowed for this path'],
  408: ['RequestTimeout', 'The body was not received, or the request was not completed, within its time limit'],
  409: ['Conflict', 'The resource already exists'],
  412: ['PreconditionFailed', 'The resource has changed since the ETag was read'],
  413: ['ContentTooLarge', 'The body is too large'],
  415: ['UnsupportedMediaType', 'The body is not JSON, or it is compressed'],
  422: ['UnprocessableContent', 'The request is well-formed, but not valid'],
  429: ['TooManyRequests', 'The agent exceeds its rate limit, or the bodies of the caller exceed their memory limit'],
  500: ['InternalServerError', 'Internal error; the log has the details'],
  503: ['ServiceUnavailable', 'Temporarily unavailable; try again'],
  507: ['InsufficientStorage', 'The disk is full'],
}

/** Error statuses that follow from authentication, body and query of a route. */
function commonStatuses(route: Route): number[] {
  const { auth, request, parse, query, invalidQuery } = route
  const takesBody = request !== null || parse !== undefined
  return [
    ...(auth.kind === 'public' ? [] : [401]),
    ...(auth.kind === 'agent' && auth.permission !== 'CIQ' ? [403] : []),
    ...(auth.kind === 'agent' || auth.kind === 'agent-or-account' || takesBody ? [429] : []),
    ...(takesBody ? [408, 413, 415, 503] : []),
    ...(query === undefined || invalidQuery !== undefined ? [] : [422]),
    ...(mayWrite(route) ? [507] : []),
    // The target or the host of any request may be refused before it is routed.
    400,
    500,
  ]
}

/** True for captures, configuration changes, and routes with a user token, which may create the node of the user. */
function mayWrite({ auth, method }: Route): boolean {
  if (auth.kind === 'agent') return auth.permission === 'Capture' || auth.user !== 'ignored'
  return (auth.kind === 'service-account' || auth.kind === 'agent-or-account') && method !== 'GET'
}

/** Returns status → response of a route; registers the schemas in `components`. */
export function responseObjects(
  route: Route,
  components: SchemaComponents,
): Record<string, ResponseObject | ReferenceObject> {
  const schemas = new Map<number, z.ZodType | null>(commonStatuses(route).map((status) => [status, errorBody]))
  for (const [status, schema] of Object.entries(route.responses)) schemas.set(Number(status), schema)
  return Object.fromEntries(
    [...schemas]
      .sort(([a], [b]) => a - b)
      .map(([status, schema]) => [
        status,
        schema === errorBody && !(status === 403 && route.stepUp)
          ? { $ref: `#/components/responses/${errorResponses[status]?.[0]}` }
          : responseObject(route, status, schema, components),
      ]),
  )
}

/** The shared error responses, which are the same for all routes. */
export function errorResponseComponents(components: SchemaComponents): Record<string, ResponseObject> {
  const content = { 'application/json': { schema: components.describe(errorBody, 'output') } }
  return Object.fromEntries(
    Object.entries(errorResponses).map(([status, [name, description]]) => [
      name,
      { description, headers: responseHeaders({}, Number(status)), content },
    ]),
  )
}

function responseObject(
  route: Route,
  status: number,
  schema: z.ZodType | null,
  components: SchemaComponents,
): ResponseObject {
  const mediaType = status < 300 ? (route.mediaType ?? 'application/json') : 'application/json'
  const events = status === 200 && route.mayStream ? { 'text/event-stream': eventStream } : {}
  const page = status === 200 && route.htmlForBrowsers ? { 'text/html': htmlPage } : {}
  const lines = status === 200 && route.linesFor !== undefined ? { [route.linesFor]: jsonLines } : {}
  const openMetrics = status === 200 && route.openMetrics ? { 'application/openmetrics-text': metricsText } : {}
  return {
    description: errorResponses[status]?.[1] ?? successDescription(route, status),
    headers: responseHeaders(route, status),
    ...(schema === null
      ? {}
      : {
          content: {
            [mediaType]: { schema: components.describe(schema, 'output') },
            ...events,
            ...page,
            ...lines,
            ...openMetrics,
          },
        }),
  }
}

const eventStream = {
  schema: {
    type: 'string',
    description: 'Server-sent events. The `data` of each event is one JSON-RPC message.',
  },
}
const jsonLines = { schema: { type: 'string', description: 'Lines, each a JSON object.' } }
const metricsText = { schema: { type: 'string', description: 'Metrics as OpenMetrics 1.0.' } }
const htmlPage = { schema: { type: 'string', description: 'A page for a browser.' } }

function successDescription(route: Route, status: number): string {
  const { mediaType, mayStream, htmlForBrowsers, linesFor, responses } = route
  if (status === 201) return 'The document has been created'
  if (status === 202 && responses[202] !== null) return 'The request has been accepted and will be executed'
  if (status === 202) return 'The message has been accepted; the response has no body'
  if (status === 204) return 'The request has been executed; the response has no body'
  if (mediaType === 'text/event-stream') return 'A stream of server-sent events, until either side ends it'
  if (mediaType === 'application/octet-stream') return 'Bytes'
  if (mediaType === 'application/x-ndjson') return 'Lines, each a JSON object'
  if (mediaType !== undefined) return `A text of the type \`${mediaType}\``
  if (mayStream) return 'The response to the message, as JSON or as a stream of server-sent events'
  if (linesFor !== undefined) return 'JSON, a page for a browser, or lines, each a JSON object'
  return htmlForBrowsers ? 'JSON, or a page for a browser' : 'The result'
}

function responseHeaders(route: Pick<Route, 'responseHeaders' | 'stepUp'>, status: number): Record<string, unknown> {
  const own = status < 300 ? Object.entries(route.responseHeaders ?? {}) : []
  const refer = (name: keyof typeof headerComponents) => ({ $ref: `#/components/headers/${name}` })
  return {
    'X-Request-ID': refer('RequestId'),
    ...Object.fromEntries(own.map(([name, description]) => [name, { description, schema: { type: 'string' } }])),
    ...(status === 401 || (status === 403 && route.stepUp) ? { 'WWW-Authenticate': refer('Challenge') } : {}),
    ...(status === 415 ? { 'Accept-Encoding': refer('AcceptEncoding') } : {}),
    ...(status === 405 ? { Allow: refer('Allow') } : {}),
    ...(status === 429 || status === 503 ? { 'Retry-After': refer('RetryAfter') } : {}),
    ...(status === 429 ? { RateLimit: refer('RateLimit'), 'RateLimit-Policy': refer('RateLimitPolicy') } : {}),
  }
}
