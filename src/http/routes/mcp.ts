// The routes of the MCP endpoint and of its protected resource metadata. The endpoint reads the body itself, because
// JSON-RPC has its own errors for invalid bodies.
import { z } from 'zod'
import { jsonObject } from '../../config/json-schema.ts'
import { assert } from '../../kernel/assert.ts'
import type { ServiceError } from '../../kernel/errors.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import type { McpEndpoint, McpRequest } from '../../mcp/endpoint.ts'
import { type McpResult, toEvent } from '../../mcp/json-rpc.ts'
import { createMetadata, metadataRoutePath, metadataUrl, resourceMetadata } from '../../mcp/metadata.ts'
import { baseFromHost } from '../../pdp/metadata.ts'
import { checkBodyHeaders } from '../body.ts'
import { errorBody, errorStatuses, type RequestContext, type Route, type RouteResponse, type Tag } from '../route.ts'

const tag: Tag = {
  name: 'MCP',
  description:
    'The Model Context Protocol, versions 2025-11-25 (sessions) and 2026-07-28 (stateless): tools and resources for agents that act with the token of a user.',
}

const id = z.union([z.string(), z.int()]).meta({ id: 'JsonRpcId' })
const rpcRequest = z
  .looseObject({
    jsonrpc: z.literal('2.0'),
    id: id.optional(),
    method: z.string(),
    params: jsonObject.optional(),
  })
  .meta({ id: 'JsonRpcRequest' })
const rpcError = z
  .object({
    jsonrpc: z.literal('2.0'),
    id: id.optional(),
    error: z
      .object({ code: z.int(), message: z.string(), data: z.unknown().optional() })
      .meta({ id: 'JsonRpcErrorObject' }),
  })
  .meta({ id: 'JsonRpcError' })
const rpcResult = z.object({ jsonrpc: z.literal('2.0'), id, result: jsonObject }).meta({ id: 'JsonRpcResult' })
const oauthError = z.object({ error: z.string(), error_description: z.string() }).meta({ id: 'OAuthError' })
const rpcResponse = z.union([rpcResult, rpcError]).meta({ id: 'JsonRpcResponse' })
const rpcProblem = z.union([rpcError, errorBody]).meta({ id: 'McpProblem' })
const malformedProblem = z.union([rpcError, oauthError, errorBody]).meta({ id: 'McpRequestProblem' })

const pathParameters = { project: 'the identifier of the project' }
const requestHeaders = {
  'MCP-Protocol-Version': 'the protocol version; required without a session, and equal to the one in `params._meta`',
  'Mcp-Session-Id': 'with a session: its id, as returned by `initialize`',
  Origin: 'the origin of a browser page; 403 if the setting `cors_origins` does not allow it',
  'X-SVC-Token': 'A delegation token of the same user, in addition to the user token.',
  'X-Project-Id':
    'with the token of a service account instead of that of a user: the project of the path. Tools then act with the rights of the account',
}

/** How the URL of the endpoint is determined. */
export interface McpUrlOptions {
  /** Public URL of the service; empty: derived from the `Host` header. */
  readonly publicUrl: string
  /** The service itself terminates TLS. */
  readonly secure: boolean
}

/** Builds the routes. */
export function mcpRoutes(endpoint: McpEndpoint, options: McpUrlOptions): Route[] {
  return [
    {
      method: 'POST',
      path: '/mcp/v1/{project}',
      operationId: 'callMcp',
      tag,
      summary: 'Send a message of the Model Context Protocol',
      description:
        'JSON-RPC 2.0. The token is verified by the token introspection that the MCP server of the project names; tools act as its application agent for the holder of the token. A 404 without a JSON-RPC body means that the project has no enabled MCP server. The response is JSON, or an event if `Accept` allows only `text/event-stream`. The response of `subscriptions/listen` is an event stream until either side ends it.',
      auth: { kind: 'user' },
      pathParameters,
      requestHeaders: {
        ...requestHeaders,
        'Mcp-Method': 'without a session: equal to `method`',
        'Mcp-Name': 'without a session: `params.name` of `tools/call`, `params.uri` of `resources/read`',
      },
      request: rpcRequest,
      bodyReader: 'itself',
      lane: { limit: 'query', writes: 'once' },
      stepUp: true,
      mayStream: true,
      responses: {
        200: rpcResponse,
        202: null,
        400: malformedProblem,
        404: rpcProblem,
        500: rpcProblem,
        ...errorStatuses(401, 403, 408, 413, 415, 429, 503, 507),
      },
      responseHeaders: {
        'Mcp-Session-Id': 'the id of the session opened by `initialize`',
        ...streamHeaderDescriptions,
      },
      async handle(context) {
        return toRouteResponse(await endpoint.post(requestOf(context, options)), context)
      },
    },
    {
      method: 'GET',
      path: '/mcp/v1/{project}',
      operationId: 'listenToMcpSession',
      tag,
      summary: 'Open the notification stream of an MCP session',
      description:
        'Each event is a JSON-RPC notification that the list of resources has changed. The stream ends with the session or with the token. A new stream of the same session replaces it.',
      auth: { kind: 'user' },
      pathParameters,
      requestHeaders: requestHeaders,
      request: null,
      mediaType: 'text/event-stream',
      responses: {
        200: z.string(),
        400: malformedProblem,
        404: rpcProblem,
        ...errorStatuses(401, 403, 405, 429, 503, 507),
      },
      responseHeaders: streamHeaderDescriptions,
      async handle(context) {
        return toRouteResponse(await endpoint.openSessionStream(requestOf(context, options)), context)
      },
    },
    {
      method: 'DELETE',
      path: '/mcp/v1/{project}',
      operationId: 'endMcpSession',
      tag,
      summary: 'End an MCP session',
      lane: { always: true, limit: 'write', writes: 'idempotent' },
      auth: { kind: 'user' },
      pathParameters,
      requestHeaders: requestHeaders,
      request: null,
      responses: {
        204: null,
        400: malformedProblem,
        404: rpcProblem,
        ...errorStatuses(401, 403, 405, 429, 503, 507),
      },
      async handle(context) {
        return toRouteResponse(await endpoint.endSession(requestOf(context, options)), context)
      },
    },
    {
      method: 'GET',
      path: metadataRoutePath(options.publicUrl),
      operationId: 'readMcpResourceMetadata',
      tag,
      summary: 'Read the protected resource metadata of the MCP endpoint (RFC 9728)',
      auth: { kind: 'public' },
      pathParameters,
      request: null,
      responses: { 200: resourceMetadata, ...errorStatuses(400, 404) },
      responseHeaders: {
        'Cache-Control': 'how long the document may be cached',
        'Access-Control-Allow-Origin': 'pages of all origins may read the document',
      },
      handle(context) {
        const base = baseUrl(context, options)
        if (base === null) return missingHost
        const server = endpoint.server(projectIdOf(context))
        if (server === null) return err({ kind: 'not-found', message: 'Not Found' })
        return ok({ status: 200, headers: publicCacheHeaders, body: createMetadata(base, server) })
      },
    },
  ]
}

const streamHeaderDescriptions = {
  'X-Accel-Buffering': 'on streams: disables buffering in proxies',
}
const eventStreamType = { 'content-type': 'text/event-stream' }
const publicCacheHeaders = { 'cache-control': 'private, max-age=60', 'access-control-allow-origin': '*' }
const missingHost: Result<never, ServiceError> = err({
  kind: 'malformed',
  issues: ['host: expected a host and a port'],
})

function projectIdOf({ pathParameters }: RequestContext): string {
  assert(pathParameters.project !== undefined, 'the path names a project')
  return pathParameters.project
}

function baseUrl(context: RequestContext, { publicUrl, secure }: McpUrlOptions): string | null {
  if (publicUrl !== '') return publicUrl
  const base = baseFromHost(context.header('host'))
  return secure && base !== null ? base.replace(/^http:/, 'https:') : base
}

function requestOf(context: RequestContext, options: McpUrlOptions): McpRequest {
  const projectId = projectIdOf(context)
  return {
    projectId,
    origin: context,
    identify: (request) => context.identify(request),
    refuseCredentials: (refused) => context.refuseCredentials(refused),
    headOnly: context.headOnly,
    account: context.caller?.kind === 'agent' ? context.caller : null,
    isStillAuthenticated: () => context.isStillAuthenticated(),
    // Called only if the project exists, because the path may contain anything.
    metadataUrl() {
      const base = baseUrl(context, options)
      return base === null ? null : metadataUrl(base, projectId)
    },
    header: (name) => context.header(name),
    async body() {
      const headerError = checkBodyHeaders(context, undefined)
      return headerError === null ? context.json('exact', `project ${projectId}`) : err(headerError)
    },
  }
}

function toRouteResponse(result: McpResult, context: RequestContext): Result<RouteResponse, ServiceError> {
  if (!result.ok) return result
  const { status, text, headers, stream } = result.value
  if (stream !== undefined) return ok({ status, stream, headers: { ...eventStreamType, 'x-accel-buffering': 'no' } })
  if (status !== 200 || !acceptsOnlyEvents(context.header('accept'))) return result
  return ok({
    status,
    text: toEvent(text),
    headers: { ...headers, ...eventStreamType },
  })
}

/** True if `Accept` allows only event streams. All other clients get JSON. */
function acceptsOnlyEvents(accept: string | null): boolean {
  if (accept === null || !accept.includes('/')) return false
  const ranges = accept
    .toLowerCase()
    .split(',')
    .map((range) => range.trim())
  return ranges.every((range) => range === '' || /^text\/event-stream(?: *;.*)?$/.test(range))
}
