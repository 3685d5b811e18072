// Context queries: who is it that asks, and what may they see?
import { z } from 'zod'
import { type ContextQueryDeps, executeQuery } from '../../context-query/execute.ts'
import { type ExecuteRequest, executeAnswer, executeRequest } from '../../context-query/schema.ts'
import { assert } from '../../kernel/assert.ts'
import { ok } from '../../kernel/result.ts'
import { errorStatuses, type Route, type Tag } from '../route.ts'
import { agentOf } from './callers.ts'

const tag: Tag = { name: 'Context queries', description: 'What a person or an application may see of the graph.' }

const whoami = z.strictObject({ type: z.string(), id: z.string() })

export function contextRoutes(parts: ContextQueryDeps): Route[] {
  return [
    {
      method: 'POST',
      path: '/contx-iq/v1/execute',
      operationId: 'execute',
      tag,
      summary: 'Run a knowledge query by its id or name',
      description:
        'A record holds the requested paths of one row. `page_token` is a row offset: the caller adds `page_size` for the next page, and a page with fewer records is the last one. A query that writes has one page: it writes to all rows that match, in one transaction, or to none.',
      auth: { kind: 'agent', permission: 'CIQ', user: 'optional' },
      // A long body may ask a query that writes.
      lane: { limit: 'query', writes: 'once' },
      request: executeRequest,
      stepUp: true,
      numbers: 'exact',
      responses: { 200: executeAnswer, ...errorStatuses(400, 401, 403, 404, 408, 413, 415, 422, 503) },
      async handle(context, body) {
        const executed = await executeQuery(parts, agentOf(context), body as ExecuteRequest)
        return executed.ok ? ok({ status: 200, body: executed.value }) : executed
      },
    },
    {
      method: 'GET',
      path: '/contx-iq/v1/whoami',
      operationId: 'whoami',
      tag,
      summary: 'Whose node does the token of the user stand for?',
      description: 'Both members are empty where the configuration that took the token names no node type.',
      auth: { kind: 'agent', permission: 'CIQ', user: 'required' },
      request: null,
      responses: { 200: whoami, ...errorStatuses(401, 503) },
      handle(context) {
        const { user } = agentOf(context)
        assert(user !== null, 'the route requires a user')
        const { nodeType, subjectId } = user
        return ok({ status: 200, body: { type: nodeType, id: nodeType === '' ? '' : subjectId } })
      },
    },
  ]
}
