// The port through which requests without an event of their own type are recorded: the audit trail has every authenticated request
// and every failed authentication. events/recorders/record-requests.ts implements it.
import type { Caller, UserToken } from './caller.ts'
import type { RequestOrigin } from './request-origin.ts'

/** Who sent a request. `user`: the holder of a token, without an agent. */
export type RequestCaller =
  | Caller
  | { readonly kind: 'user'; readonly projectId: string; readonly user: Omit<UserToken, 'claims' | 'delegation'> }

/** A request, as a handler that authenticates knows it. */
export interface IdentifiedRequest {
  readonly caller: RequestCaller
  /** The operation that was called, if the route has several. */
  readonly operation: string
  /** The tool or the resource; null: the operation has none. */
  readonly target: string | null
  /** It is a decision or a search. */
  readonly isDecision: boolean
  /** The kind of an error that the status of the answer does not show; null: none. */
  readonly error: string | null
}

/** An authenticated request without an event of its own type, when its answer is known. */
export interface AnsweredRequest extends IdentifiedRequest {
  readonly method: string
  /** Without the query. */
  readonly path: string
  readonly status: number
  /** Only the audit log receives it, and no event sink. */
  readonly isUnsent: boolean
}

/** The kinds of refused credentials. `none`: the request has no credentials, or not all that it needs. */
export const credentialKinds = [
  'none',
  'agent-key',
  'agent-token',
  'service-account-token',
  'user-token',
  'console-session',
  'console-link',
] as const
/** A kind of refused credentials. */
export type CredentialKind = (typeof credentialKinds)[number]

/** A description of refused credentials. It contains no part of them. */
export interface RefusedCredentials {
  readonly kind: CredentialKind
  readonly reason: string
  /** Id of the credential that the request named; absent: it is unknown. */
  readonly keyId?: string
  /** The project that the credential or the path names; absent: it is unknown. */
  readonly projectId?: string
  /** The organization of the credential; absent: it is unknown. */
  readonly organizationId?: string
  /** The agent, if only the token of its user was refused. */
  readonly caller?: Caller
}

/** Records requests. Neither method throws. */
export interface RequestAudit {
  /** Called before the answer is sent. */
  answered(origin: RequestOrigin, request: AnsweredRequest): void
  /** Called before the answer is sent. `operation`: of the request. */
  authenticationFailed(origin: RequestOrigin, refused: RefusedCredentials, operation: string): void
}
