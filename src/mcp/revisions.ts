// The protocol revisions that are served, and which of the two styles a request is of. Nothing else asks that question.
import { isJsonObject } from '../kernel/found.ts'
import { type Members, type RpcError, rpcCodes } from './rpc.ts'

export const STATELESS = '2026-07-28'
export const SESSION = '2025-11-25'

/** Newest first: what clients may name with a request. */
export const supportedRevisions = [STATELESS, SESSION] as const

/** Clients that open a session with an older one are answered in it: what we send is the same in all of them. */
export const sessionRevisions: ReadonlySet<string> = new Set([SESSION, '2025-06-18', '2025-03-26'])

export const REVISION_HEADER = 'mcp-protocol-version'
export const REVISION_KEY = 'io.modelcontextprotocol/protocolVersion'

/**
 * A revision in `_meta` that no session speaks, or in the header a later one than any of them: every request for itself.
 * `initialize` without the first is the handshake of a session, whatever the header.
 */
export function isStateless(header: string | null, method: string | null, params: Members): boolean {
  const { _meta } = params
  const named = isJsonObject(_meta) ? _meta[REVISION_KEY] : undefined
  if (named !== undefined && !(typeof named === 'string' && sessionRevisions.has(named))) return true
  return method !== 'initialize' && isOfNoSession(header)
}

/** Told by its date: what comes after this revision will have no sessions either. */
export function isOfNoSession(revision: string | null): boolean {
  return revision !== null && /^\d{4}-\d{2}-\d{2}$/.test(revision) && revision >= STATELESS
}

export function unsupportedRevision(requested: string): RpcError {
  return {
    code: rpcCodes.unsupportedRevision,
    message: 'Unsupported protocol version',
    data: { supported: supportedRevisions, requested },
  }
}
