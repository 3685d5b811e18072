// The caller of a handler as the type that its route requires. The dispatcher has authenticated it.

import { assert } from '../../kernel/assert.ts'
import type { AgentCaller, ServiceAccountCaller } from '../../kernel/caller.ts'
import type { RequestContext } from '../route.ts'

export function agentOf(context: RequestContext): AgentCaller {
  assert(context.caller?.kind === 'agent', 'the route is for agents')
  return context.caller
}

export function serviceAccountOf(context: RequestContext): ServiceAccountCaller {
  assert(context.caller?.kind === 'service-account', 'the route is for service accounts')
  return context.caller
}
