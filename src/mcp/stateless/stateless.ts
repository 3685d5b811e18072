// Revision 2026-07-28: every request stands for itself, says its revision twice, and is answered with cache hints.

import type { ServiceError } from '../../kernel/errors.ts'
import { isJsonObject } from '../../kernel/json-kind.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import {
  accepted,
  errorResponse,
  type RpcAnswer,
  type RpcMessage,
  type RpcObject,
  resultResponse,
  rpcCodes,
  serializedResponse,
} from '../json-rpc.ts'
import type { McpCaller, McpDeps, McpMethod } from '../method.ts'
import { PROTOCOL_VERSION_KEY, STATELESS_VERSION, supportedVersions, unsupportedVersion } from '../protocol-versions.ts'
import { complete, listResources, listTemplates, notFoundCodes, readResource } from '../resources.ts'
import { capabilities, instructions, serverInfo } from '../server-info.ts'
import type { SubscriptionService } from '../subscriptions.ts'
import { callTool, listTools } from '../tools.ts'
import { headerMismatch } from './header-check.ts'
import { LISTEN_METHOD, listenForNotifications } from './subscriptions-listen.ts'

const META_PREFIX = 'io.modelcontextprotocol/'

interface MethodEntry {
  readonly run: McpMethod
  /** How long, in milliseconds, and for whom an answer holds. */
  readonly cache?: { readonly ttlMs: number; readonly cacheScope: 'public' | 'private' }
}

const HOUR_MS = 3_600_000

/** Here a listener can name the resources that it wants to hear of. */
const statelessCapabilities = { ...capabilities, resources: { ...capabilities.resources, subscribe: true } }

const discover: McpMethod = () =>
  ok({ supportedVersions: supportedVersions, capabilities: statelessCapabilities, instructions })

/** What is not here does not exist in this revision. */
const methods: ReadonlyMap<string, MethodEntry> = new Map<string, MethodEntry>([
  ['server/discover', { run: discover, cache: { ttlMs: HOUR_MS, cacheScope: 'public' } }],
  ['tools/list', { run: listTools, cache: { ttlMs: HOUR_MS, cacheScope: 'public' } }],
  ['tools/call', { run: callTool }],
  ['resources/list', { run: listResources, cache: { ttlMs: 5000, cacheScope: 'private' } }],
  ['resources/templates/list', { run: listTemplates, cache: { ttlMs: HOUR_MS, cacheScope: 'public' } }],
  ['resources/read', { run: readResource(notFoundCodes.stateless), cache: { ttlMs: 0, cacheScope: 'private' } }],
  ['completion/complete', { run: complete }],
])

export async function answerStateless(
  parts: McpDeps,
  listening: SubscriptionService,
  caller: McpCaller,
  header: (name: string) => string | null,
  named: string | null,
  message: RpcMessage,
): Promise<Result<RpcAnswer, ServiceError>> {
  if (message.kind === 'notification') return ok(accepted)
  if (message.kind === 'response') {
    return errorResult(400, null, rpcCodes.invalidRequest, 'expected a request: this server sends none to answer to')
  }
  const { id, method, params } = message
  const { _meta } = params
  if (!isJsonObject(_meta)) return errorResult(400, id, rpcCodes.invalidParams, 'params._meta: expected object')
  const revision = _meta[PROTOCOL_VERSION_KEY]
  if (typeof revision !== 'string') {
    return errorResult(400, id, rpcCodes.invalidParams, `params._meta: expected a string \`${PROTOCOL_VERSION_KEY}\``)
  }
  if (named !== null && named !== revision) {
    return errorResult(400, id, rpcCodes.headerMismatch, 'the header MCP-Protocol-Version differs from params._meta')
  }
  if (revision !== STATELESS_VERSION) return ok(errorResponse(400, id, unsupportedVersion(revision)))
  if (named === null) return errorResult(400, id, rpcCodes.headerMismatch, 'the header MCP-Protocol-Version is missing')
  if (!isJsonObject(_meta[`${META_PREFIX}clientCapabilities`])) {
    return errorResult(
      400,
      id,
      rpcCodes.invalidParams,
      `params._meta: expected an object \`${META_PREFIX}clientCapabilities\``,
    )
  }
  const different = headerMismatch(header, method, params)
  if (different !== null) return errorResult(400, id, rpcCodes.headerMismatch, different)
  if (method === LISTEN_METHOD)
    return listenForNotifications(listening, caller, id, params, JSON.parse(serverInfoMeta(parts.version)) as RpcObject)
  const served = methods.get(method)
  if (served === undefined) return errorResult(404, id, rpcCodes.methodNotFound, 'Method not found')

  const asked = served.run(parts, caller, params)
  const done = asked instanceof Promise ? await asked : asked
  if (!done.ok) return 'refusal' in done ? err(done.refusal) : ok(errorResponse(200, id, done.error))
  const { value } = done
  const card = serverInfoMeta(parts.version)
  if ('serialized' in value)
    return ok(serializedResponse(id, `{"resultType":"complete",${value.serialized},"_meta":${card}}`))
  return ok(
    resultResponse(id, { resultType: 'complete', ...value, ...served.cache, _meta: JSON.parse(card) as RpcObject }),
  )
}

const serverInfoMetas = new Map<string, string>()

/** JSON; written once. */
function serverInfoMeta(version: string): string {
  const card = serverInfoMetas.get(version) ?? JSON.stringify({ [`${META_PREFIX}serverInfo`]: serverInfo(version) })
  serverInfoMetas.set(version, card)
  return card
}

function errorResult(status: number, id: Parameters<typeof errorResponse>[1], code: number, message: string) {
  return ok(errorResponse(status, id, { code, message }))
}
