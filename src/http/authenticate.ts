// Authenticates the caller of a route. The agent key is read from `X-SVC-ClientKey`, or from `Authorization` if that header is
// absent; next to a key in its own header, `Authorization` holds the user token (docs/decisions/0009-user-tokens.md). With
// `X-Project-Id` and without a key, `Authorization` holds the token of a service account (docs/decisions/0014-service-accounts.md).
// The cookie of a console session stands for such a token (docs/decisions/0053-console.md).

import { isCompactJws } from '../identity/compact-jws.ts'
import { type Credentials, missingUserToken, readCredentials } from '../identity/credentials.ts'
import type { TokenCheck } from '../identity/fixed-tokens.ts'
import { assert } from '../kernel/assert.ts'
import type { ServiceError } from '../kernel/errors.ts'
import {
  type AgentCaller,
  type ApiPermission,
  apiPermissions,
  type Caller,
  type ServiceAccountCaller,
  type ServiceAccountRole,
  type UserToken,
} from '../kernel/request/caller.ts'
import type { CredentialKind, RefusedCredentials } from '../kernel/request/request-audit.ts'
import type { RequestOrigin } from '../kernel/request/request-origin.ts'
import { ok, type Result } from '../kernel/result.ts'
import type { MaybePromise } from './maybe-promise.ts'
import type { Auth, HttpRequest } from './route.ts'

/** Verifies credentials. */
export interface CredentialVerifier {
  /** Looks up an agent key, or verifies a token that an agent signed; null if it is unknown or expired. */
  authenticateAgent(key: string): MaybePromise<AgentCaller | null>
  /** Describes a key or token that `authenticateAgent` refused. */
  refusedAgent(key: string): RefusedCredentials
  /** Verifies the token of a service account; null if it is invalid or expired. */
  authenticateServiceAccount(bearer: string): Promise<ServiceAccountCaller | null>
  /** The organization of a project; null if the project does not exist. */
  organizationOf(projectId: string): string | null
  /** Describes a token that `authenticateServiceAccount` refused. */
  refusedServiceAccount(bearer: string): RefusedCredentials
  /**
   * Authenticates the browser session of a request without `Authorization`, as if it had a token of the service account. Null: it has
   * none, or there is no console.
   */
  authenticateSession(request: HttpRequest): Authentication | null
  /** Verifies a user token of a project. `delegation`: the token of `X-SVC-Token`; null: absent. */
  authenticateUser(
    projectId: string,
    token: string,
    delegation: string | null,
    origin: RequestOrigin,
  ): MaybePromise<Result<UserToken, ServiceError>>
}

/**
 * The caller; null: anonymous. Errors: `unauthenticated`, and those of `authenticateUser`. `refused`: absent if the credentials are
 * valid, and do not suffice or cannot be verified now; then `caller` is the agent.
 */
export type Authentication =
  | { readonly ok: true; readonly value: Caller | null }
  | {
      readonly ok: false
      readonly error: ServiceError
      readonly refused?: RefusedCredentials
      readonly caller?: Caller
    }

const anonymous: Authentication = ok(null)
const missingKey = withoutCredentials(
  unauthenticated('an application agent key is required in the header X-SVC-ClientKey'),
  'an agent key is missing',
)
const unknownKey = unauthenticated('the application agent key is unknown or expired')
/** A service account may have forgotten the header. */
const unknownToken = unauthenticated(
  'the application agent key is unknown or expired; with the token of a service account, X-Project-Id is required',
)
const missingPermission = unauthenticated('insufficient API access level for appAgent')
const missingServiceAccountToken = withoutCredentials(
  unauthenticated('a service account token is required in the header Authorization'),
  'a service account token is missing',
)
const missingEither = withoutCredentials(
  unauthenticated('an application agent key or a service account token is required'),
  'an agent key or a token is missing',
)
const unknownEither = unauthenticated(
  'the application agent key or service account token is unknown, invalid or expired',
  'the token is invalid or expired',
)
const invalidServiceAccountToken = unauthenticated(
  'the service account token is invalid or expired',
  'the token is invalid or expired',
)

const invalidToken = unauthenticated(
  'the token is neither one of the settings nor a valid token of a service account',
  'the token is invalid or expired',
)

/**
 * Creates the function that authenticates the caller of a route. It is synchronous for agents without a user token, and with a
 * cached one, because every decision calls it. `origin`: the request, for events about its tokens.
 */
export function createAuthenticator(
  verifier: CredentialVerifier,
): (auth: Auth, request: HttpRequest, origin: RequestOrigin) => MaybePromise<Authentication> {
  return (auth, request, origin) => {
    switch (auth.kind) {
      case 'public':
        return anonymous
      case 'user': {
        const projectId = request.header('x-project-id')
        return projectId === null ? anonymous : authenticateAccountOrUser(verifier, request, projectId.trim())
      }
      case 'agent': {
        const credentials = readCredentials(request)
        const projectId = credentials.hasKeyHeader ? null : request.header('x-project-id')
        if (projectId !== null)
          return authenticateAccountForProject(verifier, auth, request, credentials, projectId.trim())
        if (credentials.agentKey === '') return missingKey
        const agent = verifier.authenticateAgent(credentials.agentKey)
        return agent instanceof Promise
          ? agent.then((verified) => authenticateAgentCaller(verifier, auth, credentials, verified, origin))
          : authenticateAgentCaller(verifier, auth, credentials, agent, origin)
      }
      case 'service-account':
        return authenticateAccount(verifier, request, readCredentials(request), auth.fixedTokens)
      case 'agent-or-account':
        return authenticateEither(verifier, auth.permission, request)
    }
  }
}

/** Whether the answer to a request depends on the configuration: not for public routes, or with a token of the settings. */
export function needsConfiguration(auth: Auth, request: HttpRequest): boolean {
  if (auth.kind === 'public') return false
  if (auth.kind !== 'service-account' || auth.fixedTokens === undefined) return true
  const token = readCredentials(request).bearerToken()
  return !token.ok || !auth.fixedTokens.accepts(token.value)
}

function authenticateAgentCaller(
  verifier: CredentialVerifier,
  auth: Extract<Auth, { readonly kind: 'agent' }>,
  credentials: Credentials,
  agent: AgentCaller | null,
  origin: RequestOrigin,
): MaybePromise<Authentication> {
  if (agent === null) {
    const isToken = !credentials.hasKeyHeader && isCompactJws(credentials.agentKey)
    const error = isToken ? unknownToken : unknownKey
    return { ok: false, error, refused: verifier.refusedAgent(credentials.agentKey) }
  }
  const { permissions } = agent
  if (!permissions.has(auth.permission) || (auth.also !== undefined && !permissions.has(auth.also)))
    return withoutPermission(agent)
  if (auth.user === 'ignored') return ok(agent)
  if (credentials.hasUserToken) return withUser(verifier, agent, credentials, origin)
  // Without this check, a request with only a delegation token would run with the rights of the agent itself.
  const isMissing = auth.user === 'required' || credentials.delegationToken !== null
  return isMissing ? withoutUser(agent, missingUserToken.error, 'none') : ok(agent)
}

function withUser(
  verifier: CredentialVerifier,
  agent: AgentCaller,
  credentials: Credentials,
  origin: RequestOrigin,
): MaybePromise<Authentication> {
  const token = credentials.bearerToken()
  if (!token.ok) return withoutUser(agent, token.error, 'none')
  const user = verifier.authenticateUser(agent.projectId, token.value, credentials.delegationToken, origin)
  return user instanceof Promise ? user.then((verified) => withUserToken(agent, verified)) : withUserToken(agent, user)
}

function withUserToken(agent: AgentCaller, user: Result<UserToken, ServiceError>): Authentication {
  return user.ok ? ok({ ...agent, user: user.value }) : withoutUser(agent, user.error, 'user-token')
}

/** `kind`: of the refused credentials, unless they cannot be verified now. */
function withoutUser(agent: AgentCaller, error: ServiceError, kind: CredentialKind): Authentication {
  if (error.kind !== 'unauthenticated') return { ok: false, error, caller: agent }
  const { projectId } = agent
  const reason = error.invalidToken ?? error.message
  return { ok: false, error, refused: { kind, reason, projectId, caller: agent } }
}

async function authenticateAccount(
  verifier: CredentialVerifier,
  request: HttpRequest,
  credentials: Credentials,
  fixedTokens: TokenCheck | undefined,
): Promise<Authentication> {
  const session = sessionOf(verifier, request)
  if (session !== null) return session
  const token = credentials.bearerToken()
  if (!token.ok) return missingServiceAccountToken
  if (fixedTokens?.accepts(token.value)) return anonymous
  const account = await verifier.authenticateServiceAccount(token.value)
  if (account !== null) return ok(account)
  const answer = fixedTokens === undefined ? invalidServiceAccountToken : invalidToken
  return { ok: false, error: answer, refused: verifier.refusedServiceAccount(token.value) }
}

/** The console session of a request without other credentials; null: none. The only place where a cookie is a credential. */
function sessionOf(verifier: CredentialVerifier, request: HttpRequest): Authentication | null {
  return request.header('authorization') === null ? verifier.authenticateSession(request) : null
}

/** Each tool checks the permission that it needs. */
const toolsOfAccount = { kind: 'agent', permission: 'ReadAuthZConfigs', user: 'ignored' } as const

/** On a route of users: a service account that names the project. Any other token is one of a user, which the handler verifies. */
async function authenticateAccountOrUser(
  verifier: CredentialVerifier,
  request: HttpRequest,
  projectId: string,
): Promise<Authentication> {
  const credentials = readCredentials(request)
  const token = credentials.bearerToken()
  if (token.ok && (await verifier.authenticateServiceAccount(token.value)) === null) return anonymous
  if (!token.ok && sessionOf(verifier, request) === null) return anonymous
  return authenticateAccountForProject(verifier, toolsOfAccount, request, credentials, projectId)
}

/** A service account that calls an API of a project of its organization as an agent of the project would. */
async function authenticateAccountForProject(
  verifier: CredentialVerifier,
  auth: Extract<Auth, { readonly kind: 'agent' }>,
  request: HttpRequest,
  credentials: Credentials,
  projectId: string,
): Promise<Authentication> {
  const account = await authenticateAccount(verifier, request, credentials, undefined)
  if (!account.ok) return account
  const caller = account.value
  assert(caller?.kind === 'service-account', 'no fixed token was accepted')
  if (verifier.organizationOf(projectId) !== caller.organizationId)
    return { ok: false, error: unknownProject(projectId), caller }
  const permissions = permissionsOfRole[caller.role]
  const agent: AgentCaller = {
    kind: 'agent',
    agentId: caller.serviceAccountId,
    applicationId: '',
    projectId,
    permissions,
    user: null,
    account: caller,
    ...(caller.keyId === undefined ? {} : { keyId: caller.keyId }),
  }
  const lacking = [auth.permission, auth.also].find((needed) => needed !== undefined && !permissions.has(needed))
  if (lacking !== undefined) return { ok: false, error: roleWithoutPermission(caller.role, lacking), caller: agent }
  const isWithoutUser = auth.user === 'required' || (auth.user === 'optional' && credentials.delegationToken !== null)
  return isWithoutUser ? withoutUser(agent, missingUserToken.error, 'none') : ok(agent)
}

/**
 * The permissions that a service account has in the projects of its organization. An editor could create an agent with any
 * permission; without one it has no application, as whose subject knowledge queries run. A viewer may read the configuration.
 */
const permissionsOfRole: Readonly<Record<ServiceAccountRole, ReadonlySet<ApiPermission>>> = {
  all_editor: new Set<ApiPermission>(apiPermissions.filter((permission) => permission !== 'CIQ')),
  all_viewer: new Set<ApiPermission>(['ReadAuthZConfigs']),
}

function unknownProject(projectId: string): ServiceError {
  return {
    kind: 'forbidden',
    message: `X-Project-Id: the organization of the service account has no project \`${projectId}\``,
  }
}

function roleWithoutPermission(role: ServiceAccountRole, permission: ApiPermission): ServiceError {
  return {
    kind: 'forbidden',
    message: `the role \`${role}\` of the service account does not include the permission ${permission}`,
  }
}

/** The header `Authorization` may hold the key of an agent or the token of an account: both are tried. */
async function authenticateEither(
  verifier: CredentialVerifier,
  permission: ApiPermission,
  request: HttpRequest,
): Promise<Authentication> {
  const credentials = readCredentials(request)
  const { agentKey } = credentials
  if (agentKey === '') return sessionOf(verifier, request) ?? missingEither
  const agent = await verifier.authenticateAgent(agentKey)
  if (agent !== null) return agent.permissions.has(permission) ? ok(agent) : withoutPermission(agent)
  if (request.header('x-svc-clientkey') !== null)
    return { ok: false, error: unknownKey, refused: verifier.refusedAgent(agentKey) }
  const token = credentials.bearerToken()
  const account = token.ok ? await verifier.authenticateServiceAccount(token.value) : null
  if (account !== null) return ok(account)
  const agentFacts = verifier.refusedAgent(agentKey)
  const isAgent = agentFacts.projectId !== undefined || agentFacts.keyId !== undefined
  return { ok: false, error: unknownEither, refused: isAgent ? agentFacts : verifier.refusedServiceAccount(agentKey) }
}

function withoutPermission(agent: AgentCaller): Authentication {
  return { ok: false, error: missingPermission, caller: agent }
}

function withoutCredentials(error: ServiceError, reason: string): Authentication {
  return { ok: false, error, refused: { kind: 'none', reason } }
}

function unauthenticated(message: string, invalidToken?: string): ServiceError {
  return { kind: 'unauthenticated', message, ...(invalidToken === undefined ? {} : { invalidToken }) }
}
