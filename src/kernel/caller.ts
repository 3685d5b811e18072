// Who calls, and what they may do. Made by authentication, read by every service; nobody else decides who a caller is.

/** Values of `api_permissions` (interface, application agent; facts 1.7.5 for `Audit`). */
export const apiPermissions = [
  'Authorization',
  'Capture',
  'CIQ',
  'EntityMatching',
  'ReadAuthZConfigs',
  'ReadDataSchema',
  'Audit',
] as const
export type ApiPermission = (typeof apiPermissions)[number]

/** A JSON object, as the issuer of a token wrote it; nested objects stay objects. */
export type Claims = Readonly<Record<string, unknown>>

/** The person (or whoever) on whose behalf an agent asks, by a token that a configured issuer gave. */
export interface UserToken {
  /** Empty where the configuration that took the token names no node type: such a subject has no node. */
  readonly nodeType: string
  /** The subject claim: the external id of its node. */
  readonly subjectId: string
  /** What the token says, and the same again under the names of the claims mapping. */
  readonly claims: Claims
  /** What the delegation token says (facts 1.6.5): the same subject, and who acts for it. Null: there was none. */
  readonly delegation: Claims | null
}

/** An application agent, by its key. */
export interface AgentCaller {
  readonly kind: 'agent'
  readonly agentId: string
  readonly applicationId: string
  readonly projectId: string
  readonly permissions: ReadonlySet<ApiPermission>
  /** Null: the agent asks for itself, or its route takes no user tokens. */
  readonly user: UserToken | null
}

export type ServiceAccountRole = 'all_editor' | 'all_viewer'

/** A service account, by its bearer token (ruling F5). */
export interface ServiceAccountCaller {
  readonly kind: 'service-account'
  readonly serviceAccountId: string
  readonly organizationId: string
  readonly role: ServiceAccountRole
}

export type Caller = AgentCaller | ServiceAccountCaller
