// The routes that read the graph of a project with Cypher.

import {
  type CheckRequest,
  type CompletionRequest,
  checkAnswer,
  checkRequest,
  completionAnswer,
  completionRequest,
} from '../../graph-query/check-schema.ts'
import { graphNamesAnswer } from '../../graph-query/graph-names.ts'
import {
  checkText,
  completeText,
  type GraphQueryDeps,
  listGraphNames,
  queryGraph,
} from '../../graph-query/query-operations.ts'
import { type GraphQuery, graphQuery, graphQueryAnswer } from '../../graph-query/schema.ts'
import { ok } from '../../kernel/result.ts'
import { errorStatuses, type Route, type Tag } from '../route.ts'
import { agentOf } from './callers.ts'

const tag: Tag = {
  name: 'Graph queries',
  description: 'Cypher over the graph of a project, for the people who administer it. It only reads.',
}
const shared = {
  tag,
  auth: { kind: 'agent', permission: 'ReadDataSchema', user: 'ignored' },
  lane: { always: true, limit: 'query' },
} as const

/** Builds the routes. */
export function graphQueryRoutes(deps: GraphQueryDeps): Route[] {
  return [
    {
      ...shared,
      method: 'POST',
      path: '/graph/v1/query',
      operationId: 'queryGraph',
      summary: 'Read the graph of a project with Cypher',
      description:
        'For a service account with the role `all_editor` and the header `X-Project-Id`; it could give itself the same access with a policy and an agent key. Agents are refused (403), whatever their permissions are. No policy restricts the answer, and nothing in it is masked. Clauses that write are refused. The audit log has the text of each query, the names of its parameters, a digest of their values, and the number of rows.',
      request: graphQuery,
      numbers: 'exact',
      example: {
        query: 'MATCH (p:Person)-[:OWNS]->(c:Car) WHERE c.wheels >= $min RETURN p, c.external_id AS car',
        parameters: { min: 4 },
        limit: 10,
      },
      responses: { 200: graphQueryAnswer, ...errorStatuses(400, 403, 404, 413, 415, 422, 503) },
      handle(context, body) {
        const found = queryGraph(deps, agentOf(context), context, body as GraphQuery)
        return found.ok ? ok({ status: 200, body: found.value }) : found
      },
    },
    {
      ...shared,
      method: 'GET',
      path: '/graph/v1/names',
      operationId: 'listGraphNames',
      summary: 'List the names of labels, relationship types and properties in a graph',
      description:
        'For completion in editors. A name is listed from its first use, also after its last element was deleted.',
      request: null,
      responses: { 200: graphNamesAnswer, ...errorStatuses(403, 404, 503) },
      handle(context) {
        const found = listGraphNames(deps, agentOf(context))
        return found.ok ? ok({ status: 200, body: found.value }) : found
      },
    },
    {
      ...shared,
      method: 'POST',
      path: '/graph/v1/check',
      operationId: 'checkCypher',
      summary: 'Check a query or a policy as it is written, and show its plan',
      description:
        'For editors. The findings are those of `verdigraph lint`, with places in the text; unknown names are compared with the graph. Nothing is stored or executed. The plans are those that the engine would choose for the graph now.',
      request: checkRequest,
      example: { query: 'MATCH (p:Person)-[:OWNZ]->(c:Car) RETURN p.name' },
      responses: { 200: checkAnswer, ...errorStatuses(400, 403, 404, 413, 415, 422, 503) },
      handle(context, body) {
        const checked = checkText(deps, agentOf(context), body as CheckRequest)
        return checked.ok ? ok({ status: 200, body: checked.value }) : checked
      },
    },
    {
      ...shared,
      method: 'POST',
      path: '/graph/v1/complete',
      operationId: 'completeCypher',
      summary: 'Complete a Cypher text at a place',
      description:
        'For editors: the names of the graph, variables, parameters, functions and keywords that may follow there.',
      request: completionRequest,
      example: { text: 'MATCH (p:Per', offset: 12 },
      responses: { 200: completionAnswer, ...errorStatuses(400, 403, 404, 413, 415, 422, 503) },
      handle(context, body) {
        const completed = completeText(deps, agentOf(context), body as CompletionRequest)
        return completed.ok ? ok({ status: 200, body: completed.value }) : completed
      },
    },
  ]
}
