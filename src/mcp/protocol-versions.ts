// The supported protocol versions, and the decision whether a request is stateless or belongs to a session.
import { isJsonObject } from '../kernel/json/json-kind.ts'
import { type RpcError, type RpcObject, rpcCodes } from './json-rpc.ts'

/** The version without sessions. */
export const STATELESS_VERSION = '2026-07-28'
/** The newest version with sessions. */
export const SESSION_VERSION = '2025-11-25'

/** Versions that a request may name, newest first. */
export const supportedVersions = [STATELESS_VERSION, SESSION_VERSION] as const

/** Versions that a session may have. This server sends the same messages in all of them. */
export const sessionVersions: ReadonlySet<string> = new Set([SESSION_VERSION, '2025-06-18', '2025-03-26'])

/** The header with the protocol version. */
export const PROTOCOL_VERSION_HEADER = 'mcp-protocol-version'
/** The member of `_meta` with the protocol version. */
export const PROTOCOL_VERSION_KEY = 'io.modelcontextprotocol/protocolVersion'

/**
 * True if `_meta` names a version without sessions, or if the header does and the method is not `initialize`.
 * `initialize` without such a `_meta` is always the handshake of a session.
 */
export function isStatelessRequest(header: string | null, method: string | null, params: RpcObject): boolean {
  const { _meta } = params
  const named = isJsonObject(_meta) ? _meta[PROTOCOL_VERSION_KEY] : undefined
  if (named !== undefined && !(typeof named === 'string' && sessionVersions.has(named))) return true
  return method !== 'initialize' && isStatelessVersion(header)
}

/** Compares the date: versions after 2026-07-28 are expected to have no sessions either. */
export function isStatelessVersion(revision: string | null): boolean {
  return revision !== null && /^\d{4}-\d{2}-\d{2}$/.test(revision) && revision >= STATELESS_VERSION
}

/** The error for an unsupported protocol version. */
export function unsupportedVersion(requested: string): RpcError {
  return {
    code: rpcCodes.unsupportedVersion,
    message: 'Unsupported protocol version',
    data: { supported: supportedVersions, requested },
  }
}
