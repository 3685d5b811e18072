// Context queries: who is it that asks?
import { z } from 'zod'
import { assert } from '../../kernel/assert.ts'
import { ok } from '../../kernel/result.ts'
import { problemStatuses, type Route, type Tag } from '../route.ts'
import { agentOf } from './callers.ts'

const tag: Tag = { name: 'Context queries', description: 'What a person or an application may see of the graph.' }

const whoami = z.strictObject({ type: z.string(), id: z.string() })

export function contextRoutes(): Route[] {
  return [
    {
      method: 'GET',
      path: '/contx-iq/v1/whoami',
      operationId: 'whoami',
      tag,
      summary: 'Whose node does the token of the user stand for?',
      description: 'Both members are empty where the configuration that took the token names no node type.',
      auth: { kind: 'agent', permission: 'CIQ', user: 'required' },
      request: null,
      responses: { 200: whoami, ...problemStatuses(401, 503) },
      handle(context) {
        const { user } = agentOf(context)
        assert(user !== null, 'the route requires a user')
        const { nodeType, subjectId } = user
        return ok({ status: 200, body: { type: nodeType, id: nodeType === '' ? '' : subjectId } })
      },
    },
  ]
}
