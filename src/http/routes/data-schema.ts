// The data-schema route: the types, properties and counts in a graph, for graph explorers and policy editors.

import { type DataSchema, dataSchema } from '../../graph-statistics/schema.ts'
import type { AgentCaller } from '../../kernel/caller.ts'
import { err, ok } from '../../kernel/result.ts'
import { errorStatuses, type Route, type Tag } from '../route.ts'
import { agentOf } from './callers.ts'

const tag: Tag = { name: 'Data schema', description: 'The types of nodes and relationships in the graph of a project.' }

/** Reads the schema; null if the project has no graph, or nothing was captured yet. */
export type ReadDataSchema = (caller: AgentCaller) => Promise<DataSchema | null>

/** Builds the route. */
export function dataSchemaRoutes(read: ReadDataSchema): Route[] {
  return [
    {
      method: 'GET',
      path: '/data-schema/v1',
      operationId: 'getDataSchema',
      tag,
      summary: 'List the types of nodes and relationships with their properties and counts',
      description: 'Describes the default graph without system nodes.',
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
