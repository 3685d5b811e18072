// Headers → who calls, or why nobody does. The agent key is read from its own header and, where that is absent, from
// `Authorization` (ruling D7); a service account shows a bearer token.
import type { AgentCaller, Caller, ServiceAccountCaller } from '../identity/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { Auth, FrontRequest } from './route.ts'

export interface Credentials {
  authenticateAgent(key: string): AgentCaller | null
  authenticateServiceAccount(bearer: string): Promise<ServiceAccountCaller | null>
}

type Authentication = Result<Caller | null, ServiceError>

const BEARER = /^bearer +/i

const nobody: Authentication = ok(null)
const noKey = refuse('an application agent key is required in the header X-SVC-ClientKey')
const unknownKey = refuse('the application agent key is unknown or expired')
const noPermission = refuse('insufficient API access level for appAgent')
const noToken = refuse('a service account token is required in the header Authorization')
const unknownToken = refuse('the service account token is invalid or expired')

export function authenticator(
  credentials: Credentials,
): (auth: Auth, request: FrontRequest) => Authentication | Promise<Authentication> {
  // An agent is looked up in memory without a promise: this is on the way of every decision.
  return (auth, request) => {
    switch (auth.kind) {
      case 'public':
        return nobody
      case 'agent': {
        const key = agentKeyOf(request)
        if (key === '') return noKey
        const agent = credentials.authenticateAgent(key)
        if (agent === null) return unknownKey
        return agent.permissions.has(auth.permission) ? ok(agent) : noPermission
      }
      case 'service-account':
        return authenticateAccount(credentials, request.header('authorization') ?? '')
    }
  }
}

function agentKeyOf(request: FrontRequest): string {
  const key = request.header('x-svc-clientkey')
  if (key !== null) return key.trim()
  return (request.header('authorization') ?? '').replace(BEARER, '').trim()
}

async function authenticateAccount(credentials: Credentials, authorization: string): Promise<Authentication> {
  if (!BEARER.test(authorization)) return noToken
  const account = await credentials.authenticateServiceAccount(authorization.replace(BEARER, '').trim())
  return account === null ? unknownToken : ok(account)
}

function refuse(message: string): Authentication {
  return err({ kind: 'unauthenticated', message })
}
