// The authenticated caller and its permissions. Created by authentication and read by every service.

/** The values of `api_permissions`. */
export const apiPermissions = [
  'Authorization',
  'Capture',
  'CIQ',
  'EntityMatching',
  'ReadAuthZConfigs',
  'ReadDataSchema',
  'Audit',
] as const
/** One permission of an application agent. */
export type ApiPermission = (typeof apiPermissions)[number]

/** The claims of a token: a JSON object as the issuer wrote it, with nested objects. */
export type Claims = Readonly<Record<string, unknown>>

/**
 * The user on whose behalf an agent acts, from a verified token of a configured issuer
 * (docs/decisions/0009-user-tokens.md).
 */
export interface UserToken {
  /** Empty if the configuration that accepted the token names no node type: the subject then has no node. */
  readonly nodeType: string
  /** The subject claim, which is the external id of the subject's node. */
  readonly subjectId: string
  /** The claims of the token, and the mapped claims under their target names. */
  readonly claims: Claims
  /** The claims of the delegation token: the same subject, and who acts for it. Null: no delegation token. */
  readonly delegation: Claims | null
}

/**
 * An application agent, authenticated by its key; or a service account that calls an API of a project as an agent of the project
 * would (docs/decisions/0014-service-accounts.md).
 */
export interface AgentCaller {
  readonly kind: 'agent'
  /** Document id of the agent, or of the service account. */
  readonly agentId: string
  /** The application that the agent belongs to; empty for a service account. */
  readonly applicationId: string
  /** The project that the key gives access to. */
  readonly projectId: string
  /** Id of the credential; absent: the agent acts without one, for an MCP server. */
  readonly keyId?: string
  /** The APIs that the agent may call. */
  readonly permissions: ReadonlySet<ApiPermission>
  /** Null: no user token was sent, or the route accepts none. */
  readonly user: UserToken | null
  /** The service account that calls; absent: an agent. */
  readonly account?: ServiceAccountCaller
}

/** The role of a service account. */
export type ServiceAccountRole = 'all_editor' | 'all_viewer'

/** A service account, authenticated by its bearer token (docs/decisions/0014-service-accounts.md). */
export interface ServiceAccountCaller {
  readonly kind: 'service-account'
  /** Document id of the account. */
  readonly serviceAccountId: string
  /** Id of the credential. */
  readonly keyId?: string
  /** The only organization that the account can read or change. */
  readonly organizationId: string
  /** `all_editor` may change the configuration; `all_viewer` may only read it. */
  readonly role: ServiceAccountRole
}

/** Any authenticated caller. */
export type Caller = AgentCaller | ServiceAccountCaller
