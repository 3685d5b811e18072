// Reads the credentials of a request, for HTTP and MCP: agent key, user token and delegation token.
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'

/** The credentials that a request contains, not verified. */
export interface Credentials {
  /** The key of `X-SVC-ClientKey`, or of `Authorization` if that header is absent; may be empty. */
  readonly agentKey: string
  /** True if `X-SVC-ClientKey` is present. */
  readonly hasKeyHeader: boolean
  /** The token of `Authorization: Bearer`. Errors: `unauthenticated` if the header is absent or has another scheme. */
  bearerToken(): Result<string, ServiceError>
  /** True if `Authorization` is present and does not hold the agent key. */
  readonly hasUserToken: boolean
  /** The token of `X-SVC-Token`, with or without the scheme `Bearer`; null: absent. */
  readonly delegationToken: string | null
}

const BEARER = /^bearer +/i

const missing = { kind: 'unauthenticated', message: 'end-user token is required' } as const
/** The error for a request without a required user token. */
export const missingUserToken = { ok: false, error: missing } as const satisfies Result<never, ServiceError>

const notBearerToken: Result<never, ServiceError> = err({
  kind: 'unauthenticated',
  message: 'Invalid token in Authorization header',
  invalidToken: 'expected a bearer token',
})

class RequestCredentials implements Credentials {
  readonly agentKey: string
  readonly hasKeyHeader: boolean
  readonly hasUserToken: boolean
  readonly delegationToken: string | null
  private readonly authorization: string | null

  constructor(key: string | null, authorization: string | null, delegation: string | null) {
    this.authorization = authorization
    this.agentKey = (key ?? withoutScheme(authorization ?? '')).trim()
    this.hasKeyHeader = key !== null
    this.hasUserToken = key !== null && authorization !== null
    this.delegationToken = delegation === null ? null : withoutScheme(delegation).trim()
  }

  bearerToken(): Result<string, ServiceError> {
    const { authorization } = this
    if (authorization === null) return missingUserToken
    return BEARER.test(authorization) ? ok(withoutScheme(authorization).trim()) : notBearerToken
  }
}

/** Reads the credentials of a request. */
export function readCredentials(request: { header(name: string): string | null }): Credentials {
  return new RequestCredentials(
    request.header('x-svc-clientkey'),
    request.header('authorization'),
    request.header('x-svc-token'),
  )
}

function withoutScheme(header: string): string {
  return header.replace(BEARER, '')
}
