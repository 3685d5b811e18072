// The protocol revisions that are served, and which of the two styles a request is of. Nothing else asks that question.
import { isJsonObject } from '../kernel/json-kind.ts'
import { type RpcError, type RpcObject, rpcCodes } from './json-rpc.ts'

export const STATELESS_VERSION = '2026-07-28'
export const SESSION_VERSION = '2025-11-25'

/** Newest first: what clients may name with a request. */
export const supportedVersions = [STATELESS_VERSION, SESSION_VERSION] as const

/** Clients that open a session with an older one are answered in it: what we send is the same in all of them. */
export const sessionVersions: ReadonlySet<string> = new Set([SESSION_VERSION, '2025-06-18', '2025-03-26'])

export const PROTOCOL_VERSION_HEADER = 'mcp-protocol-version'
export const PROTOCOL_VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'

/**
 * A revision in `_meta` that no session speaks, or in the header a later one than any of them: every request for itself.
 * `initialize` without the first is the handshake of a session, whatever the header.
 */
export function isStatelessRequest(header: string | null, method: string | null, params: RpcObject): boolean {
  const { _meta } = params
  const named = isJsonObject(_meta) ? _meta[PROTOCOL_VERSION_KEY] : undefined
  if (named !== undefined && !(typeof named === 'string' && sessionVersions.has(named))) return true
  return method !== 'initialize' && isStatelessVersion(header)
}

/** Told by its date: what comes after this revision will have no sessions either. */
export function isStatelessVersion(revision: string | null): boolean {
  return revision !== null && /^\d{4}-\d{2}-\d{2}$/.test(revision) && revision >= STATELESS_VERSION
}

export function unsupportedVersion(requested: string): RpcError {
  return {
    code: rpcCodes.unsupportedVersion,
    message: 'Unsupported protocol version',
    data: { supported: supportedVersions, requested },
  }
}
