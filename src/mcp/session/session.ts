// Protocol version 2025-11-25 and the two before it: `initialize` opens a session, and later requests send its id.
import { err, ok, type Result } from '../../kernel/result.ts'
import {
  accepted,
  errorResponse,
  type McpResult,
  type RpcError,
  type RpcId,
  type RpcMessage,
  resultResponse,
  rpcCodes,
  serializedResponse,
} from '../json-rpc.ts'
import type { McpCaller, McpDeps, McpMethod } from '../method.ts'
import {
  isStatelessVersion,
  PROTOCOL_VERSION_HEADER,
  SESSION_VERSION,
  sessionVersions,
  unsupportedVersion,
} from '../protocol-versions.ts'
import { complete, listResources, listTemplates, notFoundCodes, readResource } from '../resources.ts'
import { capabilities, instructions } from '../server-info.ts'
import type { SubscriptionService } from '../subscriptions.ts'
import { callTool, listTools } from '../tools.ts'
import type { OpenSession, SessionIds } from './session-ids.ts'
import { openNotificationStream } from './session-stream.ts'

/** The header with the session id. */
const SESSION_HEADER = 'mcp-session-id'

/** The methods of a session in addition to `initialize`. */
export const sessionMethods: ReadonlyMap<string, McpMethod> = new Map<string, McpMethod>([
  ['ping', () => ok({})],
  ['tools/list', listTools],
  ['tools/call', callTool],
  ['resources/list', listResources],
  ['resources/templates/list', listTemplates],
  ['resources/read', readResource(notFoundCodes.session)],
  ['completion/complete', complete],
])

type HeaderReader = (name: string) => string | null

/**
 * Handles a message of a session, or the handshake that opens one.
 * @param version The header MCP-Protocol-Version; null: absent.
 */
export async function answerInSession(
  deps: McpDeps,
  sessions: SessionIds,
  caller: McpCaller,
  header: HeaderReader,
  version: string | null,
  message: RpcMessage,
): Promise<McpResult> {
  const id = message.kind === 'request' ? message.id : null
  if (message.kind === 'request' && message.method === 'initialize') {
    // `initialize` names its version in the body. The header names a version without sessions.
    if (isStatelessVersion(version)) {
      const message = `\`initialize\` is not part of version ${version}`
      return errorResult(400, id, { code: rpcCodes.headerMismatch, message })
    }
    return initialize(deps, sessions, caller, message)
  }
  if (version !== null && !sessionVersions.has(version)) return errorResult(400, id, unsupportedVersion(version))
  const session = findSession(sessions, caller, header)
  if (!session.ok) return errorResult(session.error.status, id, session.error.error)
  if (message.kind !== 'request') return ok(accepted)
  const run = sessionMethods.get(message.method)
  if (run === undefined) return errorResult(200, id, { code: rpcCodes.methodNotFound, message: 'Method not found' })
  const returned = run(deps, caller, message.params)
  const result = returned instanceof Promise ? await returned : returned
  if (result.ok) {
    const { value } = result
    return ok(
      'serialized' in value
        ? serializedResponse(message.id, `{${value.serialized}}`)
        : resultResponse(message.id, value),
    )
  }
  return 'httpError' in result ? err(result.httpError) : errorResult(200, id, result.error)
}

/** DELETE ends the session in all processes. */
export async function endSession(sessions: SessionIds, caller: McpCaller, header: HeaderReader): Promise<McpResult> {
  const session = sessionOf(sessions, caller, header)
  if ('response' in session) return session.response
  await sessions.end(caller.server.projectId, session.open)
  return ok({ status: 204, text: '' })
}

/** GET opens the notification stream of the session; HEAD only checks it. */
export function openSessionStream(
  sessions: SessionIds,
  subscriptions: SubscriptionService,
  caller: McpCaller,
  header: HeaderReader,
  headOnly: boolean,
): McpResult {
  const session = sessionOf(sessions, caller, header)
  if ('response' in session) return session.response
  const accept = header('accept')
  if (accept !== null && !/text\/event-stream|\*\/\*/.test(accept)) return statelessOnly
  const isOpen = (): boolean => findSession(sessions, caller, header).ok
  return openNotificationStream(subscriptions, caller, session.open.key, isOpen, headOnly)
}

const statelessOnly: McpResult = err({ kind: 'method-not-allowed', allow: ['OPTIONS', 'POST'] })

/** The session of a request without a body. */
function sessionOf(
  sessions: SessionIds,
  caller: McpCaller,
  header: HeaderReader,
): { readonly open: OpenSession } | { readonly response: McpResult } {
  const version = header(PROTOCOL_VERSION_HEADER)?.trim() ?? null
  if (version !== null && !sessionVersions.has(version)) {
    return {
      response: isStatelessVersion(version) ? statelessOnly : errorResult(400, null, unsupportedVersion(version)),
    }
  }
  const session = findSession(sessions, caller, header)
  return session.ok
    ? { open: session.value }
    : { response: errorResult(session.error.status, null, session.error.error) }
}

function initialize(
  deps: McpDeps,
  sessions: SessionIds,
  caller: McpCaller,
  { id, params }: { readonly id: RpcId; readonly params: Readonly<Record<string, unknown>> },
): McpResult {
  const requested = params.protocolVersion
  if (typeof requested !== 'string') {
    return errorResult(400, id, { code: rpcCodes.invalidParams, message: 'params.protocolVersion: expected string' })
  }
  // An unsupported version is answered with the newest supported one, and the client decides (docs/decisions/0017-mcp.md).
  const protocolVersion = sessionVersions.has(requested) ? requested : SESSION_VERSION
  const result = { protocolVersion, capabilities, serverInfo: deps.serverInfo.info, instructions }
  return ok(resultResponse(id, result, { [SESSION_HEADER]: sessions.open(sessionHolder(caller), protocolVersion) }))
}

interface SessionError {
  readonly status: number
  readonly error: RpcError
}

function findSession(sessions: SessionIds, caller: McpCaller, header: HeaderReader): Result<OpenSession, SessionError> {
  const id = header(SESSION_HEADER)
  if (id === null) {
    const message = 'the header Mcp-Session-Id is missing: call initialize first'
    return err({ status: 400, error: { code: rpcCodes.invalidRequest, message } })
  }
  const session = sessions.read(id, caller.server.projectId, sessionHolder(caller))
  if (session !== null) return ok(session)
  return err({ status: 404, error: { code: rpcCodes.sessionNotFound, message: 'Session not found' } })
}

/** A session can only be used by the project, issuer and subject that opened it. */
function sessionHolder({ server, user }: McpCaller): string {
  const { iss } = user.claims
  return JSON.stringify([
    server.projectId,
    server.tokenIntrospectId,
    typeof iss === 'string' ? iss : '',
    user.subjectId,
  ])
}

function errorResult(status: number, id: RpcId | null, error: RpcError): McpResult {
  return ok(errorResponse(status, id, error))
}
