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

/** An application agent, by its key. */
export interface AgentCaller {
  readonly kind: 'agent'
  readonly agentId: string
  readonly applicationId: string
  readonly projectId: string
  readonly permissions: ReadonlySet<ApiPermission>
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
