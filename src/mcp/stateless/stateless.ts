// Revision 2026-07-28: every request stands for itself, says its revision twice, and is answered with cache hints.

import type { ServiceError } from '../../kernel/errors.ts'
import { isJsonObject } from '../../kernel/found.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { capabilities, instructions, serverInfo } from '../identity-card.ts'
import type { Listening } from '../listeners.ts'
import type { McpCaller, McpMethod, McpParts } from '../parts.ts'
import { complete, listResources, listTemplates, notFoundCodes, readResource } from '../resources.ts'
import { REVISION_KEY, STATELESS, supportedRevisions, unsupportedRevision } from '../revisions.ts'
import {
  accepted,
  errorAnswer,
  type Members,
  type Message,
  type RpcAnswer,
  resultAnswer,
  rpcCodes,
  writtenAnswer,
} from '../rpc.ts'
import { callTool, listTools } from '../tools.ts'
import { mismatch } from './headers.ts'
import { LISTEN, listen } from './listen.ts'

const META = 'io.modelcontextprotocol/'

interface Served {
  readonly run: McpMethod
  /** How long, in milliseconds, and for whom an answer holds. */
  readonly cache?: { readonly ttlMs: number; readonly cacheScope: 'public' | 'private' }
}

const HOUR_MS = 3_600_000

/** Here a listener can name the resources that it wants to hear of. */
const offered = { ...capabilities, resources: { ...capabilities.resources, subscribe: true } }

const discover: McpMethod = () => ok({ supportedVersions: supportedRevisions, capabilities: offered, instructions })

/** What is not here does not exist in this revision. */
const methods: ReadonlyMap<string, Served> = new Map<string, Served>([
  ['server/discover', { run: discover, cache: { ttlMs: HOUR_MS, cacheScope: 'public' } }],
  ['tools/list', { run: listTools, cache: { ttlMs: HOUR_MS, cacheScope: 'public' } }],
  ['tools/call', { run: callTool }],
  ['resources/list', { run: listResources, cache: { ttlMs: 5000, cacheScope: 'private' } }],
  ['resources/templates/list', { run: listTemplates, cache: { ttlMs: HOUR_MS, cacheScope: 'public' } }],
  ['resources/read', { run: readResource(notFoundCodes.stateless), cache: { ttlMs: 0, cacheScope: 'private' } }],
  ['completion/complete', { run: complete }],
])

export async function answerStateless(
  parts: McpParts,
  listening: Listening,
  caller: McpCaller,
  header: (name: string) => string | null,
  named: string | null,
  message: Message,
): Promise<Result<RpcAnswer, ServiceError>> {
  if (message.kind === 'notification') return ok(accepted)
  if (message.kind === 'response') {
    return refuse(400, null, rpcCodes.invalidRequest, 'expected a request: this server sends none to answer to')
  }
  const { id, method, params } = message
  const { _meta } = params
  if (!isJsonObject(_meta)) return refuse(400, id, rpcCodes.invalidParams, 'params._meta: expected object')
  const revision = _meta[REVISION_KEY]
  if (typeof revision !== 'string') {
    return refuse(400, id, rpcCodes.invalidParams, `params._meta: expected a string \`${REVISION_KEY}\``)
  }
  if (named !== null && named !== revision) {
    return refuse(400, id, rpcCodes.headerMismatch, 'the header MCP-Protocol-Version differs from params._meta')
  }
  if (revision !== STATELESS) return ok(errorAnswer(400, id, unsupportedRevision(revision)))
  if (named === null) return refuse(400, id, rpcCodes.headerMismatch, 'the header MCP-Protocol-Version is missing')
  if (!isJsonObject(_meta[`${META}clientCapabilities`])) {
    return refuse(400, id, rpcCodes.invalidParams, `params._meta: expected an object \`${META}clientCapabilities\``)
  }
  const different = mismatch(header, method, params)
  if (different !== null) return refuse(400, id, rpcCodes.headerMismatch, different)
  if (method === LISTEN) return listen(listening, caller, id, params, JSON.parse(cardOf(parts.version)) as Members)
  const served = methods.get(method)
  if (served === undefined) return refuse(404, id, rpcCodes.methodNotFound, 'Method not found')

  const asked = served.run(parts, caller, params)
  const done = asked instanceof Promise ? await asked : asked
  if (!done.ok) return 'refusal' in done ? err(done.refusal) : ok(errorAnswer(200, id, done.error))
  const { value } = done
  const card = cardOf(parts.version)
  if ('written' in value) return ok(writtenAnswer(id, `{"resultType":"complete",${value.written},"_meta":${card}}`))
  return ok(resultAnswer(id, { resultType: 'complete', ...value, ...served.cache, _meta: JSON.parse(card) as Members }))
}

const cards = new Map<string, string>()

/** JSON; written once. */
function cardOf(version: string): string {
  const card = cards.get(version) ?? JSON.stringify({ [`${META}serverInfo`]: serverInfo(version) })
  cards.set(version, card)
  return card
}

function refuse(status: number, id: Parameters<typeof errorAnswer>[1], code: number, message: string) {
  return ok(errorAnswer(status, id, { code, message }))
}
