// The data-schema routes: the types, properties and counts in a graph, for graph explorers and policy editors.

import { type RebuildAnswer, rebuildAnswer, rebuildRequest } from '../../graph-statistics/rebuild-data-schema.ts'
import { type DataSchema, dataSchema } from '../../graph-statistics/schema.ts'
import type { ServiceError } from '../../kernel/errors.ts'
import type { AgentCaller, ServiceAccountCaller } from '../../kernel/request/caller.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { errorStatuses, type Route, type Tag } from '../route.ts'
import { agentOf, serviceAccountOf } from './callers.ts'

const tag: Tag = { name: 'Data schema', description: 'The types of nodes and relationships in the graph of a project.' }

/** Reads the schema; null if the project has no graph, or nothing was captured yet. */
export type ReadDataSchema = (caller: AgentCaller) => Promise<DataSchema | null>

/** Handles a request to rebuild the schema. */
type RebuildDataSchema = (caller: ServiceAccountCaller, body: unknown) => Result<RebuildAnswer, ServiceError>

/** Builds the routes. */
export function dataSchemaRoutes(read: ReadDataSchema, rebuild: RebuildDataSchema): Route[] {
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
    {
      method: 'POST',
      path: '/configs/v1/data-schema/rebuild',
      operationId: 'rebuildDataSchema',
      tag,
      summary: 'Confirm that the data schema of a project is up to date',
      description:
        'For existing clients. The data schema is counted from the graph each time it is read, so there is nothing to rebuild.',
      auth: { kind: 'service-account' },
      lane: { always: true, limit: 'query' },
      request: rebuildRequest,
      // The handler validates the body, and answers 422 as other configuration requests do.
      parse: ok,
      responses: { 200: rebuildAnswer, ...errorStatuses(400, 403, 404, 413, 415, 422) },
      handle(context, body) {
        const rebuilt = rebuild(serviceAccountOf(context), body)
        return rebuilt.ok ? ok({ status: 200, body: rebuilt.value }) : rebuilt
      },
    },
  ]
}
