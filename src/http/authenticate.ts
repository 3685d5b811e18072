// Headers → who calls, or why nobody does. The agent key is read from its own header and, where that is absent, from
// `Authorization` (ruling D7); beside a key in its own header, `Authorization` holds the user's token. A service account
// shows a bearer token.
import type { AgentCaller, Caller, ServiceAccountCaller, UserToken } from '../kernel/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { Auth, HttpRequest } from './route.ts'

export interface CredentialVerifier {
  authenticateAgent(key: string): AgentCaller | null
  authenticateServiceAccount(bearer: string): Promise<ServiceAccountCaller | null>
  /** `delegation`: the token of `X-SVC-Token`, null where there is none. */
  authenticateUser(
    projectId: string,
    token: string,
    delegation: string | null,
  ): Result<UserToken, ServiceError> | Promise<Result<UserToken, ServiceError>>
}

type Authentication = Result<Caller | null, ServiceError>

const BEARER = /^bearer +/i

const anonymous: Authentication = ok(null)
const missingKey = unauthenticated('an application agent key is required in the header X-SVC-ClientKey')
const unknownKey = unauthenticated('the application agent key is unknown or expired')
const missingPermission = unauthenticated('insufficient API access level for appAgent')
const missingUserToken = unauthenticated('end-user token is required')
const notBearerToken = unauthenticated('Invalid token in Authorization header', 'expected a bearer token')
const missingServiceAccountToken = unauthenticated('a service account token is required in the header Authorization')
const invalidServiceAccountToken = unauthenticated(
  'the service account token is invalid or expired',
  'the token is invalid or expired',
)

export function createAuthenticator(
  credentials: CredentialVerifier,
): (auth: Auth, request: HttpRequest) => Authentication | Promise<Authentication> {
  // An agent is looked up in memory without a promise: this is on the way of every decision.
  return (auth, request) => {
    switch (auth.kind) {
      case 'public':
      case 'user':
        return anonymous
      case 'agent': {
        const ownHeader = request.header('x-svc-clientkey')
        const authorization = ownHeader !== null && auth.user === 'ignored' ? null : request.header('authorization')
        const key = ownHeader === null ? (authorization ?? '').replace(BEARER, '').trim() : ownHeader.trim()
        if (key === '') return missingKey
        const agent = credentials.authenticateAgent(key)
        if (agent === null) return unknownKey
        if (!agent.permissions.has(auth.permission)) return missingPermission
        if (auth.also !== undefined && !agent.permissions.has(auth.also)) return missingPermission
        if (auth.user === 'ignored') return ok(agent)
        const delegation = request.header('x-svc-token')
        if (ownHeader !== null && authorization !== null) {
          return withUser(credentials, agent, authorization, delegation)
        }
        // A delegation token alone would leave the question to the agent's own rights, which is not what was asked.
        return auth.user === 'required' || delegation !== null ? missingUserToken : ok(agent)
      }
      case 'service-account':
        return authenticateAccount(credentials, request.header('authorization') ?? '')
    }
  }
}

/** Synchronous where the token is known already. */
function withUser(
  credentials: CredentialVerifier,
  agent: AgentCaller,
  authorization: string,
  delegation: string | null,
): Authentication | Promise<Authentication> {
  if (!BEARER.test(authorization)) return notBearerToken
  const token = authorization.replace(BEARER, '').trim()
  const asked = credentials.authenticateUser(agent.projectId, token, bearerOf(delegation))
  return asked instanceof Promise ? asked.then((user) => withUserToken(agent, user)) : withUserToken(agent, asked)
}

function withUserToken(agent: AgentCaller, user: Result<UserToken, ServiceError>): Authentication {
  return user.ok ? ok({ ...agent, user: user.value }) : user
}

/** The delegation token comes with or without the word. */
function bearerOf(delegation: string | null): string | null {
  return delegation === null ? null : delegation.replace(BEARER, '').trim()
}

async function authenticateAccount(credentials: CredentialVerifier, authorization: string): Promise<Authentication> {
  if (!BEARER.test(authorization)) return missingServiceAccountToken
  const account = await credentials.authenticateServiceAccount(authorization.replace(BEARER, '').trim())
  return account === null ? invalidServiceAccountToken : ok(account)
}

function unauthenticated(message: string, invalidToken?: string): Authentication {
  return err({ kind: 'unauthenticated', message, ...(invalidToken === undefined ? {} : { invalidToken }) })
}
