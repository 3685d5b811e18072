// Protocol version 2026-07-28: each request is self-contained, names its version in `_meta` and in a header, and gets cache
// hints.

import { isJsonObject } from '../../kernel/json/json-kind.ts'
import { err, ok } from '../../kernel/result.ts'
import {
  accepted,
  errorResponse,
  type McpResult,
  type RpcMessage,
  resultResponse,
  rpcCodes,
  serializedResponse,
} from '../json-rpc.ts'
import type { McpCaller, McpDeps, McpMethod } from '../method.ts'
import { PROTOCOL_VERSION_KEY, STATELESS_VERSION, supportedVersions, unsupportedVersion } from '../protocol-versions.ts'
import { complete, listResources, listTemplates, notFoundCodes, readResource } from '../resources.ts'
import { capabilities, instructions } from '../server-info.ts'
import type { SubscriptionService } from '../subscriptions.ts'
import { callTool, listTools } from '../tools.ts'
import { headerMismatch } from './header-check.ts'
import { LISTEN_METHOD, listenForNotifications } from './subscriptions-listen.ts'

const CAPABILITIES_KEY = 'io.modelcontextprotocol/clientCapabilities'

interface MethodEntry {
  readonly run: McpMethod
  /** Cache hints of the result. */
  readonly cache?: { readonly ttlMs: number; readonly cacheScope: 'public' | 'private' }
}

const HOUR_MS = 3_600_000

/** In this version clients can subscribe to single resources. */
const statelessCapabilities = { ...capabilities, resources: { ...capabilities.resources, subscribe: true } }

const discover: McpMethod = () => ok({ supportedVersions, capabilities: statelessCapabilities, instructions })

/** All methods of this version except `subscriptions/listen`. */
export const statelessMethods: ReadonlyMap<string, MethodEntry> = new Map<string, MethodEntry>([
  ['server/discover', { run: discover, cache: { ttlMs: HOUR_MS, cacheScope: 'public' } }],
  ['tools/list', { run: listTools, cache: { ttlMs: HOUR_MS, cacheScope: 'public' } }],
  ['tools/call', { run: callTool }],
  ['resources/list', { run: listResources, cache: { ttlMs: 5000, cacheScope: 'private' } }],
  ['resources/templates/list', { run: listTemplates, cache: { ttlMs: HOUR_MS, cacheScope: 'public' } }],
  ['resources/read', { run: readResource(notFoundCodes.stateless), cache: { ttlMs: 0, cacheScope: 'private' } }],
  ['completion/complete', { run: complete }],
])

/**
 * Handles a message that belongs to no session.
 * @param headerVersion The header MCP-Protocol-Version; null: absent.
 */
export async function answerStateless(
  deps: McpDeps,
  subscriptions: SubscriptionService,
  caller: McpCaller,
  header: (name: string) => string | null,
  headerVersion: string | null,
  message: RpcMessage,
): Promise<McpResult> {
  if (message.kind === 'notification') return ok(accepted)
  if (message.kind === 'response') {
    return errorResult(
      400,
      null,
      rpcCodes.invalidRequest,
      'expected a request: this server sends no requests to respond to',
    )
  }
  const { id, method, params } = message
  const { _meta } = params
  if (!isJsonObject(_meta)) return errorResult(400, id, rpcCodes.invalidParams, 'params._meta: expected object')
  const version = _meta[PROTOCOL_VERSION_KEY]
  if (typeof version !== 'string') {
    return errorResult(400, id, rpcCodes.invalidParams, `params._meta: expected a string \`${PROTOCOL_VERSION_KEY}\``)
  }
  if (headerVersion !== null && headerVersion !== version) {
    return errorResult(400, id, rpcCodes.headerMismatch, 'the header MCP-Protocol-Version differs from params._meta')
  }
  if (version !== STATELESS_VERSION) return ok(errorResponse(400, id, unsupportedVersion(version)))
  if (headerVersion === null)
    return errorResult(400, id, rpcCodes.headerMismatch, 'the header MCP-Protocol-Version is missing')
  if (!isJsonObject(_meta[CAPABILITIES_KEY])) {
    return errorResult(400, id, rpcCodes.invalidParams, `params._meta: expected an object \`${CAPABILITIES_KEY}\``)
  }
  const mismatch = headerMismatch(header, method, params)
  if (mismatch !== null) return errorResult(400, id, rpcCodes.headerMismatch, mismatch)
  const { meta, metaJson } = deps.serverInfo
  if (method === LISTEN_METHOD) return listenForNotifications(subscriptions, caller, id, params, meta)
  const entry = statelessMethods.get(method)
  if (entry === undefined) return errorResult(404, id, rpcCodes.methodNotFound, 'Method not found')

  const returned = entry.run(deps, caller, params)
  const result = returned instanceof Promise ? await returned : returned
  if (!result.ok) return 'httpError' in result ? err(result.httpError) : ok(errorResponse(200, id, result.error))
  const { value } = result
  if ('serialized' in value) {
    return ok(serializedResponse(id, `{"resultType":"complete",${value.serialized},"_meta":${metaJson}}`))
  }
  return ok(resultResponse(id, { resultType: 'complete', ...value, ...entry.cache, _meta: meta }))
}

function errorResult(status: number, id: Parameters<typeof errorResponse>[1], code: number, message: string) {
  return ok(errorResponse(status, id, { code, message }))
}
