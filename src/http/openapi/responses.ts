// What an operation answers: what its route says, what the way of every request may answer, and the headers of each.
import type { z } from 'zod'
import { errorBody, type Route } from '../route.ts'
import type { ReferenceObject, ResponseObject } from './objects.ts'
import type { SchemaComponents } from './schemas.ts'

export const headerComponents = {
  RequestId: {
    description: 'Tells this request in the log: the identifier that the caller sent, or a fresh one.',
    required: true,
    schema: { type: 'string' },
  },
  RetryAfter: {
    description: 'Seconds after which a further try is worth it.',
    schema: { type: 'integer', minimum: 0 },
  },
  Allow: { description: 'The methods that there are.', schema: { type: 'string' } },
  AcceptEncoding: {
    description: 'Where the body was compressed: that it should not be.',
    schema: { type: 'string', const: 'identity' },
  },
  Challenge: { description: 'What to show instead.', schema: { type: 'string' } },
  RateLimit: {
    description: 'How much of the limit is left (`r`) and in how many seconds it is whole again (`t`).',
    schema: { type: 'string', examples: ['"agent";r=0;t=1'] },
  },
  RateLimitPolicy: {
    description: 'How many requests (`q`) may be asked in so many seconds (`w`).',
    schema: { type: 'string', examples: ['"agent";q=100;w=1'] },
  },
}

const errorDescriptions: Readonly<Record<number, string>> = {
  400: 'The request is malformed',
  401: 'The caller shows nothing, or nothing that is valid here',
  403: 'The caller may not do this',
  404: 'There is no such thing',
  405: 'The method is not offered here',
  408: 'The body did not come, or the question was not answered, within its time limit',
  409: 'It exists already',
  412: 'It has changed since the ETag was read',
  413: 'The body is beyond the limit',
  415: 'The body is not JSON, or compressed',
  422: 'Well-formed, but it cannot be done as asked',
  429: 'The agent asks more often than it may, or the caller has too many bytes of bodies under way',
  500: 'A fault of the service; the log tells it',
  503: 'Not now; try again',
  507: 'There is no room left to store this',
}

/** What the way of every request may answer, whatever the route. */
function commonStatuses(route: Route): number[] {
  const { auth, request, parse, query } = route
  const takesBody = request !== null || parse !== undefined
  return [
    ...(auth.kind === 'public' ? [] : [401]),
    ...(auth.kind === 'agent' || takesBody ? [429] : []),
    ...(takesBody ? [400, 408, 413, 415, 503] : []),
    ...(query === undefined ? [] : [422]),
    ...(mayWrite(route) ? [507] : []),
    500,
  ]
}

/** A capture, a change of the configuration, and what takes a user's token: the node of its subject may be made then. */
function mayWrite({ auth, method }: Route): boolean {
  if (auth.kind === 'agent') return auth.permission === 'Capture' || auth.user !== 'ignored'
  return auth.kind === 'service-account' && method !== 'GET'
}

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
          ? { $ref: `#/components/responses/${status}` }
          : responseObject(route, status, schema, components),
      ]),
  )
}

/** Every refusal, told once: it is the same for all routes. */
export function errorResponseComponents(components: SchemaComponents): Record<string, ResponseObject> {
  const content = { 'application/json': { schema: components.describe(errorBody, 'output') } }
  return Object.fromEntries(
    Object.entries(errorDescriptions).map(([status, description]) => [
      status,
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
  const events = status === 200 && route.mayStream ? { 'text/event-stream': { schema: { type: 'string' } } } : {}
  return {
    description: errorDescriptions[status] ?? (schema === null ? 'Done' : 'The answer'),
    headers: responseHeaders(route, status),
    ...(schema === null
      ? {}
      : { content: { [mediaType]: { schema: components.describe(schema, 'output') }, ...events } }),
  }
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
