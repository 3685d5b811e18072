// The data schema: what a graph holds, for explorers and editors of policies.

import { type DataSchema, dataSchema } from '../../graph-statistics/schema.ts'
import type { AgentCaller } from '../../kernel/caller.ts'
import { err, ok } from '../../kernel/result.ts'
import { errorStatuses, type Route, type Tag } from '../route.ts'
import { agentOf } from './callers.ts'

const tag: Tag = { name: 'Data schema', description: 'What kinds of nodes and relationships a project holds.' }

/** Null: the project has no graph, or nothing was captured yet. */
export type ReadDataSchema = (caller: AgentCaller) => Promise<DataSchema | null>

export function dataSchemaRoutes(read: ReadDataSchema): Route[] {
  return [
    {
      method: 'GET',
      path: '/data-schema/v1',
      operationId: 'getDataSchema',
      tag,
      summary: 'Types of nodes and relationships, their properties and counts',
      description: 'Of the default graph; what belongs to the service itself is left out.',
      auth: { kind: 'agent', permission: 'ReadDataSchema', user: 'ignored' },
      request: null,
      lane: { always: true, limit: 'query' },
      responses: { 200: dataSchema, ...errorStatuses(401, 404, 503) },
      async handle(context) {
        const schema = await read(agentOf(context))
        if (schema === null) {
          return err({ kind: 'not-found', message: 'nothing has been captured in this project yet' })
        }
        return ok({ status: 200, body: schema })
      },
    },
  ]
}
