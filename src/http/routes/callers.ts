// The caller of a handler as the type that its route requires. The dispatcher has authenticated it.

import { assert } from '../../kernel/assert.ts'
import type { AgentCaller, ServiceAccountCaller } from '../../kernel/request/caller.ts'
import type { RequestContext } from '../route.ts'

/** The application agent that calls a route of agents. */
export function agentOf(context: RequestContext): AgentCaller {
  assert(context.caller?.kind === 'agent', 'the route is for agents')
  return context.caller
}

/** The service account that calls a route of service accounts. */
export function serviceAccountOf(context: RequestContext): ServiceAccountCaller {
  assert(context.caller?.kind === 'service-account', 'the route is for service accounts')
  return context.caller
}
