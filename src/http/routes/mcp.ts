// The MCP endpoint of a project, and its metadata as a protected resource. The protocol has words of its own for what is wrong
// with a body, so the endpoint reads it itself.
import { z } from 'zod'
import { assert } from '../../kernel/assert.ts'
import type { ServiceError } from '../../kernel/errors.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import type { McpEndpoint, McpRequest } from '../../mcp/endpoint.ts'
import { type RpcAnswer, toEvent } from '../../mcp/json-rpc.ts'
import { createMetadata, metadataRoutePath, metadataUrl, resourceMetadata } from '../../mcp/metadata.ts'
import { baseFromHost } from '../../pdp/metadata.ts'
import { checkBodyHeaders } from '../body.ts'
import { errorBody, errorStatuses, type RequestContext, type Route, type RouteResponse, type Tag } from '../route.ts'

const tag: Tag = {
  name: 'MCP',
  description:
    'The Model Context Protocol, revisions 2025-11-25 (sessions) and 2026-07-28 (stateless): tools and resources for agents that show the token of a person.',
}

const id = z.union([z.string(), z.int()])
const rpcRequest = z
  .looseObject({
    jsonrpc: z.literal('2.0'),
    id: id.optional(),
    method: z.string(),
    params: z.looseObject({}).optional(),
  })
  .meta({ id: 'JsonRpcRequest' })
const rpcError = z
  .object({
    jsonrpc: z.literal('2.0'),
    id: id.optional(),
    error: z.object({ code: z.int(), message: z.string(), data: z.unknown().optional() }),
  })
  .meta({ id: 'JsonRpcError' })
const rpcResult = z.object({ jsonrpc: z.literal('2.0'), id, result: z.looseObject({}) }).meta({ id: 'JsonRpcResult' })
const oauthError = z.object({ error: z.string(), error_description: z.string() })

const pathParameters = { project: 'the identifier of the project' }
const requestHeaders = {
  'MCP-Protocol-Version': 'the revision; without sessions it is required, and equal to `params._meta`',
  'Mcp-Session-Id': 'with sessions: as `initialize` has answered it',
  Origin: 'of a page: one that the settings allow, else 403',
  'X-SVC-Token': 'A delegation token of the same user, beside their own token.',
}

export interface McpUrlOptions {
  /** How clients reach the service; empty: by the host that they name. */
  readonly publicUrl: string
  /** The service itself speaks TLS. */
  readonly secure: boolean
}

export function mcpRoutes(endpoint: McpEndpoint, address: McpUrlOptions): Route[] {
  return [
    {
      method: 'POST',
      path: '/mcp/v1/{project}',
      operationId: 'callMcp',
      tag,
      summary: 'One message of the Model Context Protocol',
      description:
        'JSON-RPC 2.0. The token is checked by the token introspection that the MCP server of the project names; the tools ask as its application agent, for the holder of the token. 404 without a JSON-RPC body: the project has no enabled MCP server. The answer is JSON; it is an event where `Accept` names nothing else, and `subscriptions/listen` is answered with events until either side ends it.',
      auth: { kind: 'user' },
      pathParameters,
      requestHeaders: {
        ...requestHeaders,
        'Mcp-Method': 'without sessions: equal to `method`',
        'Mcp-Name': 'without sessions: `params.name` of `tools/call`, `params.uri` of `resources/read`',
      },
      request: rpcRequest,
      bodyReader: 'itself',
      lane: { limit: 'query', writes: 'once' },
      stepUp: true,
      mayStream: true,
      responses: {
        200: z.union([rpcResult, rpcError]),
        202: null,
        400: z.union([rpcError, oauthError, errorBody]),
        404: z.union([rpcError, errorBody]),
        500: z.union([rpcError, errorBody]),
        ...errorStatuses(401, 403, 408, 413, 415, 429, 503, 507),
      },
      responseHeaders: { 'Mcp-Session-Id': 'the session that `initialize` has opened', ...streamHeaderDescriptions },
      async handle(context) {
        return toRouteResponse(await endpoint.post(requestOf(context, address)), context)
      },
    },
    {
      method: 'GET',
      path: '/mcp/v1/{project}',
      operationId: 'listenToMcpSession',
      tag,
      summary: 'The stream of a session of the Model Context Protocol',
      description:
        'Events, each with a JSON-RPC notification: the list of resources has changed. It ends with the session and with the token. Another one of the same session takes its place.',
      auth: { kind: 'user' },
      pathParameters,
      requestHeaders: requestHeaders,
      request: null,
      mediaType: 'text/event-stream',
      responses: {
        200: z.string(),
        400: z.union([rpcError, oauthError, errorBody]),
        404: z.union([rpcError, errorBody]),
        ...errorStatuses(401, 403, 405, 429, 503, 507),
      },
      responseHeaders: streamHeaderDescriptions,
      async handle(context) {
        return toRouteResponse(await endpoint.openSessionStream(requestOf(context, address)), context)
      },
    },
    {
      method: 'DELETE',
      path: '/mcp/v1/{project}',
      operationId: 'endMcpSession',
      tag,
      summary: 'End a session of the Model Context Protocol',
      lane: { always: true, limit: 'write', writes: 'idempotent' },
      auth: { kind: 'user' },
      pathParameters,
      requestHeaders: requestHeaders,
      request: null,
      responses: {
        204: null,
        400: z.union([rpcError, oauthError, errorBody]),
        404: z.union([rpcError, errorBody]),
        ...errorStatuses(401, 403, 405, 429, 503, 507),
      },
      async handle(context) {
        return toRouteResponse(await endpoint.endSession(requestOf(context, address)), context)
      },
    },
    {
      method: 'GET',
      path: metadataRoutePath(address.publicUrl),
      operationId: 'readMcpResourceMetadata',
      tag,
      summary: 'Who gives tokens for the MCP endpoint (RFC 9728)',
      auth: { kind: 'public' },
      pathParameters,
      request: null,
      responses: { 200: resourceMetadata, ...errorStatuses(400, 404) },
      responseHeaders: {
        'Cache-Control': 'how long the document holds',
        'Access-Control-Allow-Origin': 'pages of every origin may read it',
      },
      handle(context) {
        const base = baseUrl(context, address)
        if (base === null) return missingHost
        const server = endpoint.server(projectIdOf(context))
        if (server === null) return err({ kind: 'not-found', message: 'Not Found' })
        return ok({ status: 200, headers: publicCacheHeaders, body: createMetadata(base, server) })
      },
    },
  ]
}

const streamHeaderDescriptions = {
  'X-Accel-Buffering': 'of a stream: that whoever stands between should not gather it',
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

function requestOf(context: RequestContext, address: McpUrlOptions): McpRequest {
  const projectId = projectIdOf(context)
  return {
    projectId,
    requestId: context.requestId,
    headOnly: context.headOnly,
    // The path may hold anything, and this is asked for a project that is there.
    metadataUrl() {
      const base = baseUrl(context, address)
      return base === null ? null : metadataUrl(base, projectId)
    },
    header: (name) => context.header(name),
    async body() {
      const refused = checkBodyHeaders(context, undefined)
      return refused === null ? context.json('exact', `project ${projectId}`) : err(refused)
    },
  }
}

function toRouteResponse(
  answered: Result<RpcAnswer, ServiceError>,
  context: RequestContext,
): Result<RouteResponse, ServiceError> {
  if (!answered.ok) return answered
  const { status, text, headers, live } = answered.value
  if (live !== undefined) return ok({ status, live, headers: { ...eventStreamType, 'x-accel-buffering': 'no' } })
  if (status !== 200 || !acceptsOnlyEvents(context.header('accept'))) return answered
  return ok({
    status,
    text: toEvent(text),
    headers: { ...headers, ...eventStreamType },
  })
}

/** Who takes nothing but events gets the answer as the only one. Everybody else gets JSON, whatever they say. */
function acceptsOnlyEvents(accept: string | null): boolean {
  if (accept === null || !accept.includes('/')) return false
  const taken = accept
    .toLowerCase()
    .split(',')
    .map((range) => range.trim())
  return taken.every((range) => range === '' || /^text\/event-stream(?: *;.*)?$/.test(range))
}
