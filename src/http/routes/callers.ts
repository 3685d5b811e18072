// The caller of a handler, as the kind that its route demands: the dispatcher has let nobody else through.

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
