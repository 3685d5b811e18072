// The context-query routes: run a knowledge query, and identify the user of a token.
import { z } from 'zod'
import { type ContextQueryDeps, executeQuery } from '../../context-query/execute.ts'
import { type ExecuteRequest, executeAnswer, executeRequest } from '../../context-query/schema.ts'
import { assert } from '../../kernel/assert.ts'
import { ok } from '../../kernel/result.ts'
import { errorStatuses, type Route, type Tag } from '../route.ts'
import { agentOf } from './callers.ts'

const tag: Tag = {
  name: 'Context queries',
  description: 'Knowledge queries, which return the part of the graph that a person or an application may see.',
}

const whoami = z.strictObject({ type: z.string(), id: z.string() }).meta({ id: 'TokenUser' })

/** Builds the routes. */
export function contextRoutes(parts: ContextQueryDeps): Route[] {
  return [
    {
      method: 'POST',
      path: '/contx-iq/v1/execute',
      operationId: 'executeKnowledgeQuery',
      tag,
      summary: 'Run a knowledge query by its id or name',
      description:
        'A record contains the requested paths of one row. `page` counts pages from 1. `page_token` is a row offset: add `page_size` for the next page; it counts pages instead if the member `page_token_counts` of the project or the application agent is `pages`. A page with fewer records than `page_size` is the last one. A writing query has exactly one page: it writes all matching rows in one transaction, or none.',
      auth: { kind: 'agent', permission: 'CIQ', user: 'optional' },
      // A request with a large body may run a writing query.
      lane: { limit: 'query', writes: 'once' },
      request: executeRequest,
      stepUp: true,
      numbers: 'exact',
      responses: { 200: executeAnswer, ...errorStatuses(400, 401, 403, 404, 408, 413, 415, 422, 503) },
      async handle(context, body) {
        const executed = await executeQuery(parts, agentOf(context), body as ExecuteRequest, context)
        return executed.ok ? ok({ status: 200, body: executed.value }) : executed
      },
    },
    {
      method: 'GET',
      path: '/contx-iq/v1/whoami',
      operationId: 'whoami',
      tag,
      summary: 'Return the node type and id of the user of the token',
      description: 'Both members are empty if the token introspection that accepted the token has no node type.',
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
