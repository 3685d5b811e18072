// Routes → the interface description. Nothing is said here that a route's record or the way of every request does not
// do; the same function makes the document of OpenAPI 3.1 and of 3.2.
import type { z } from 'zod'
import type { Auth, Route, Tag } from '../route.ts'
import { problem } from '../route.ts'
import { examples } from './examples.ts'
import { type JsonSchema, SchemaComponents } from './schemas.ts'

export type OpenApiVersion = '3.1.1' | '3.2.0'

export interface Description {
  readonly openapi: OpenApiVersion
  readonly info: {
    readonly title: string
    readonly version: string
    readonly summary: string
    readonly description: string
  }
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: {
    readonly schemas: Readonly<Record<string, JsonSchema>>
    readonly responses: Readonly<Record<string, Answered>>
  } & Readonly<Record<string, unknown>>
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly [member: string]: unknown
}

export interface Operation {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description?: string
  readonly security: readonly Readonly<Record<string, readonly string[]>>[]
  readonly parameters: readonly Parameter[]
  readonly requestBody?: { readonly required: true; readonly content: Content }
  readonly responses: Readonly<Record<string, Answered | Reference>>
}

export interface Parameter {
  readonly name: string
  readonly in: 'path' | 'query' | 'header'
  readonly required: boolean
  readonly description?: string
  readonly schema: JsonSchema
}

export interface Reference {
  readonly $ref: string
}

export interface Answered {
  readonly description: string
  readonly headers: Readonly<Record<string, unknown>>
  readonly content?: Content
}

type Content = Readonly<Record<string, { readonly schema: JsonSchema; readonly example?: unknown }>>

export function describeRoutes(routes: readonly Route[], openapi: OpenApiVersion, version: string): Description {
  const components = new SchemaComponents()
  const paths: Record<string, Record<string, Operation>> = {}
  for (const route of routes) {
    paths[route.path] ??= {}
    const operations = paths[route.path] as Record<string, Operation>
    operations[route.method.toLowerCase()] = operation(route, components)
  }
  return {
    openapi,
    info: {
      title: 'Verdigraph',
      version,
      summary: 'Graph-based authorization in one process',
      description: introduction,
      ...licence,
    },
    servers: [{ url: '/', description: 'the server that gives this description' }],
    tags: tagsOf(routes),
    paths,
    components: { responses: refusals(components), schemas: components.all(), headers, securitySchemes },
  }
}

const licence = { license: { name: 'Apache 2.0', identifier: 'Apache-2.0' } }

const introduction = `Capture nodes and relationships, write policies as graph patterns, and ask who may do what.

- Bodies are JSON in UTF-8. A member that is given twice is refused; a member that is not described is refused, but for the
  requests of AuthZEN, where it is ignored.
- A refusal is \`{"message", "errors"}\`: each entry of \`errors\` names the place and what was expected there.
- Every answer carries \`X-Request-ID\`: the caller's own, or a fresh one.
- A path that is not described answers 404, another method 405 with \`Allow\`. \`HEAD\` is answered like \`GET\`, without a body.
- Limits in this document are those that the server was started with.`

const headers = {
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

const securitySchemes = {
  agentKey: {
    type: 'apiKey',
    in: 'header',
    name: 'X-SVC-ClientKey',
    description: 'The key of an application agent.',
  },
  agentKeyAsBearer: {
    type: 'http',
    scheme: 'bearer',
    description:
      'The key of an application agent where `X-SVC-ClientKey` is absent. No token of a user can ride along.',
  },
  serviceAccount: {
    type: 'http',
    scheme: 'bearer',
    bearerFormat: 'JWT',
    description: 'A token of a service account: issued, or signed with the key of its credentials.',
  },
  userToken: {
    type: 'http',
    scheme: 'bearer',
    description:
      'The token of an end user: beside the key of the agent that acts for them, or alone where MCP is spoken.',
  },
}

function securityOf(auth: Auth): Operation['security'] {
  switch (auth.kind) {
    case 'public':
      return []
    case 'service-account':
      return [{ serviceAccount: [] }]
    case 'user':
      return [{ userToken: [] }]
    case 'agent': {
      const alone = [{ agentKey: [] }, { agentKeyAsBearer: [] }]
      const withUser = [{ agentKey: [], userToken: [] }]
      if (auth.user === 'ignored') return alone
      return auth.user === 'required' ? withUser : [...alone, ...withUser]
    }
  }
}

function operation(route: Route, components: SchemaComponents): Operation {
  const { operationId, tag, summary, description, auth, request } = route
  const example = route.example ?? examples[operationId]
  return {
    operationId,
    tags: [tag.name],
    summary,
    ...(description === undefined ? {} : { description }),
    security: securityOf(auth),
    parameters: parametersOf(route, components),
    ...(request === null
      ? {}
      : {
          requestBody: {
            required: true,
            content: {
              'application/json': {
                schema: components.describe(request, 'input'),
                ...(example === undefined ? {} : { example }),
              },
            },
          },
        }),
    responses: responsesOf(route, components),
  }
}

function parametersOf(route: Route, components: SchemaComponents): Parameter[] {
  const names = [...route.path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name as string)
  const inPath = names.map(
    (name): Parameter => ({
      name,
      in: 'path',
      required: true,
      ...described(route.pathParameters?.[name]),
      schema: { type: 'string', minLength: 1 },
    }),
  )
  const inQuery = Object.entries(route.query?.shape ?? {}).map(([name, schema]): Parameter => {
    const given = schema as z.ZodType
    const { description, ...own } = components.describe(given, 'input')
    return {
      name,
      in: 'query',
      required: !given.safeParse(undefined).success,
      ...described(description as string | undefined),
      schema: own,
    }
  })
  const inHeader = Object.entries({ ...delegationHeader(route.auth), ...route.requestHeaders }).map(
    ([name, description]): Parameter => ({
      name,
      in: 'header',
      required: false,
      description,
      schema: { type: 'string' },
    }),
  )
  return [...inPath, ...inQuery, ...inHeader]
}

function delegationHeader(auth: Auth): Record<string, string> {
  if (auth.kind !== 'agent' || auth.user === 'ignored') return {}
  return { 'X-SVC-Token': 'A delegation token of the same user, beside their own token.' }
}

function described(description: string | undefined): { description?: string } {
  return description === undefined ? {} : { description }
}

const problemNames: Readonly<Record<number, string>> = {
  400: 'The request is malformed',
  401: 'The caller shows nothing, or nothing that is valid here',
  403: 'The caller may not do this',
  404: 'There is no such thing',
  405: 'The method is not offered here',
  408: 'The body did not come within the time limit',
  409: 'It exists already',
  412: 'It has changed since the ETag was read',
  413: 'The body is beyond the limit',
  415: 'The body is not JSON',
  422: 'Well-formed, but it cannot be done as asked',
  429: 'The agent asks more often than it may',
  500: 'A fault of the service; the log tells it',
  503: 'Not now; try again',
  507: 'There is no room left to store this',
}

/** What the way of every request may answer, whatever the route. */
function statusesOfTheWay({ auth, request, read, query, wrongMediaType }: Route): number[] {
  const takesBody = request !== null || read !== undefined
  return [
    ...(auth.kind === 'public' ? [] : [401]),
    ...(auth.kind === 'agent' ? [429] : []),
    ...(takesBody ? [400, 408, 413, 503] : []),
    ...(takesBody && wrongMediaType === undefined ? [415] : []),
    ...(query === undefined ? [] : [422]),
    500,
  ]
}

function responsesOf(route: Route, components: SchemaComponents): Record<string, Answered | Reference> {
  const schemas = new Map<number, z.ZodType | null>(statusesOfTheWay(route).map((status) => [status, problem]))
  for (const [status, schema] of Object.entries(route.responses)) schemas.set(Number(status), schema)
  return Object.fromEntries(
    [...schemas]
      .sort(([a], [b]) => a - b)
      .map(([status, schema]) => [
        status,
        schema === problem && !(status === 403 && route.stepUp)
          ? { $ref: `#/components/responses/${status}` }
          : answered(route, status, schema, components),
      ]),
  )
}

/** Every refusal, told once: it is the same for all routes. */
function refusals(components: SchemaComponents): Record<string, Answered> {
  const content = { 'application/json': { schema: components.describe(problem, 'output') } }
  return Object.fromEntries(
    Object.entries(problemNames).map(([status, description]) => [
      status,
      { description, headers: headersOf({}, Number(status)), content },
    ]),
  )
}

/** What an operation answers with a status; undefined: it does not. */
export function responseOf(
  { components }: Description,
  operation: Operation,
  status: string | number,
): Answered | undefined {
  const given = operation.responses[status]
  if (given === undefined || !('$ref' in given)) return given
  return components.responses[given.$ref.split('/').at(-1) ?? '']
}

function answered(route: Route, status: number, schema: z.ZodType | null, components: SchemaComponents): Answered {
  const mediaType = status < 300 ? (route.mediaType ?? 'application/json') : 'application/json'
  return {
    description: problemNames[status] ?? (schema === null ? 'Done' : 'The answer'),
    headers: headersOf(route, status),
    ...(schema === null ? {} : { content: { [mediaType]: { schema: components.describe(schema, 'output') } } }),
  }
}

function headersOf(route: Pick<Route, 'responseHeaders' | 'stepUp'>, status: number): Record<string, unknown> {
  const own = status < 300 ? Object.entries(route.responseHeaders ?? {}) : []
  const refer = (name: keyof typeof headers) => ({ $ref: `#/components/headers/${name}` })
  return {
    'X-Request-ID': refer('RequestId'),
    ...Object.fromEntries(own.map(([name, description]) => [name, { description, schema: { type: 'string' } }])),
    ...(status === 401 || (status === 403 && route.stepUp) ? { 'WWW-Authenticate': refer('Challenge') } : {}),
    ...(status === 405 ? { Allow: refer('Allow') } : {}),
    ...(status === 429 || status === 503 ? { 'Retry-After': refer('RetryAfter') } : {}),
    ...(status === 429 ? { RateLimit: refer('RateLimit'), 'RateLimit-Policy': refer('RateLimitPolicy') } : {}),
  }
}

/** In the order of the routes; one name has one description. */
function tagsOf(routes: readonly Route[]): Tag[] {
  const tags = new Map<string, Tag>()
  for (const { tag } of routes) {
    const before = tags.get(tag.name)
    if (before !== undefined && before.description !== tag.description) {
      throw new Error(`the tag ${tag.name} has two descriptions`)
    }
    tags.set(tag.name, tag)
  }
  return [...tags.values()]
}
