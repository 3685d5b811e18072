// Revision 2025-11-25 and the two before it: a handshake opens a session, and every later request names it.
import type { ServiceError } from '../../kernel/errors.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import {
  accepted,
  errorResponse,
  type RpcAnswer,
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
import { capabilities, instructions, serverInfo } from '../server-info.ts'
import type { SubscriptionService } from '../subscriptions.ts'
import { callTool, listTools } from '../tools.ts'
import type { OpenSession, SessionIds } from './session-ids.ts'
import { openNotificationStream } from './session-stream.ts'

export const SESSION_HEADER = 'mcp-session-id'

const methods: ReadonlyMap<string, McpMethod> = new Map<string, McpMethod>([
  ['ping', () => ok({})],
  ['tools/list', listTools],
  ['tools/call', callTool],
  ['resources/list', listResources],
  ['resources/templates/list', listTemplates],
  ['resources/read', readResource(notFoundCodes.session)],
  ['completion/complete', complete],
])

type HeaderReader = (name: string) => string | null
type Answered = Result<RpcAnswer, ServiceError>

export async function answerInSession(
  parts: McpDeps,
  sessions: SessionIds,
  caller: McpCaller,
  header: HeaderReader,
  /** What the header says of the revision. */
  revision: string | null,
  message: RpcMessage,
): Promise<Answered> {
  const id = message.kind === 'request' ? message.id : null
  if (message.kind === 'request' && message.method === 'initialize') {
    // Who opens a session says the revision in the body; this header would be of the style without sessions.
    if (isStatelessVersion(revision)) {
      return errorResult(400, id, { code: rpcCodes.headerMismatch, message: `there is no initialize in ${revision}` })
    }
    return initialize(parts, sessions, caller, message)
  }
  if (revision !== null && !sessionVersions.has(revision)) return errorResult(400, id, unsupportedVersion(revision))
  const session = findSession(sessions, caller, header)
  if (!session.ok) return errorResult(session.error.status, id, session.error.error)
  if (message.kind !== 'request') return ok(accepted)
  const run = methods.get(message.method)
  if (run === undefined) return errorResult(200, id, { code: rpcCodes.methodNotFound, message: 'Method not found' })
  const asked = run(parts, caller, message.params)
  const done = asked instanceof Promise ? await asked : asked
  if (done.ok) {
    const { value } = done
    return ok(
      'serialized' in value
        ? serializedResponse(message.id, `{${value.serialized}}`)
        : resultResponse(message.id, value),
    )
  }
  return 'refusal' in done ? err(done.refusal) : errorResult(200, id, done.error)
}

/** DELETE ends the session that it names, everywhere. */
export async function endSession(sessions: SessionIds, caller: McpCaller, header: HeaderReader): Promise<Answered> {
  const session = sessionOf(sessions, caller, header)
  if ('answered' in session) return session.answered
  await sessions.end(caller.server.projectId, session.found)
  return ok({ status: 204, text: '' })
}

/** GET opens the stream of the session that it names; HEAD asks how that would be answered. */
export function openSessionStream(
  sessions: SessionIds,
  listening: SubscriptionService,
  caller: McpCaller,
  header: HeaderReader,
  headOnly: boolean,
): Answered {
  const session = sessionOf(sessions, caller, header)
  if ('answered' in session) return session.answered
  const accept = header('accept')
  if (accept !== null && !/text\/event-stream|\*\/\*/.test(accept)) return statelessOnly
  const stands = (): boolean => findSession(sessions, caller, header).ok
  return openNotificationStream(listening, caller, session.found.key, stands, headOnly)
}

const statelessOnly: Answered = err({ kind: 'method-not-allowed', allow: ['OPTIONS', 'POST'] })

/** Of a request whose method is all that it says. */
function sessionOf(
  sessions: SessionIds,
  caller: McpCaller,
  header: HeaderReader,
): { readonly found: OpenSession } | { readonly answered: Answered } {
  const revision = header(PROTOCOL_VERSION_HEADER)?.trim() ?? null
  if (revision !== null && !sessionVersions.has(revision)) {
    return {
      answered: isStatelessVersion(revision) ? statelessOnly : errorResult(400, null, unsupportedVersion(revision)),
    }
  }
  const session = findSession(sessions, caller, header)
  return session.ok
    ? { found: session.value }
    : { answered: errorResult(session.error.status, null, session.error.error) }
}

function initialize(
  parts: McpDeps,
  sessions: SessionIds,
  caller: McpCaller,
  { id, params }: { readonly id: RpcId; readonly params: Readonly<Record<string, unknown>> },
): Answered {
  const { protocolVersion } = params
  if (typeof protocolVersion !== 'string') {
    return errorResult(400, id, { code: rpcCodes.invalidParams, message: 'params.protocolVersion: expected string' })
  }
  // Ruling M3: a revision that is not served is answered with the newest that is, and the client decides.
  const revision = sessionVersions.has(protocolVersion) ? protocolVersion : SESSION_VERSION
  const result = { protocolVersion: revision, capabilities, serverInfo: serverInfo(parts.version), instructions }
  return ok(resultResponse(id, result, { [SESSION_HEADER]: sessions.open(sessionHolder(caller), revision) }))
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

/** A session belongs to whoever opened it: another project, issuer or subject has another holder. */
function sessionHolder({ server, user }: McpCaller): string {
  const { iss } = user.claims
  return JSON.stringify([
    server.projectId,
    server.tokenIntrospectId,
    typeof iss === 'string' ? iss : '',
    user.subjectId,
  ])
}

function errorResult(status: number, id: RpcId | null, error: RpcError): Answered {
  return ok(errorResponse(status, id, error))
}
