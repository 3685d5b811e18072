// Capture: upserts of nodes and relationships.
import { type CaptureParts, captureNodes, captureRelationships } from '../../capture/apply.ts'
import {
  batchResult,
  type NodesRequest,
  nodesRequest,
  type RelationshipsRequest,
  relationshipsRequest,
} from '../../capture/schema.ts'
import { ok } from '../../kernel/result.ts'
import { type Auth, problemStatuses, type Route, type Tag } from '../route.ts'
import { agentOf } from './callers.ts'

const auth: Auth = { kind: 'agent', permission: 'Capture', user: 'ignored' }
const tag: Tag = {
  name: 'Capture',
  description: 'Writes nodes and relationships; an answer means that they are on disk.',
}

export function captureRoutes(parts: CaptureParts, itemsMax: number): Route[] {
  return [
    {
      method: 'POST',
      path: '/capture/v1/nodes',
      operationId: 'upsertNodes',
      tag,
      summary: 'Create or update nodes',
      auth,
      request: nodesRequest(itemsMax),
      numbers: 'exact',
      responses: { 200: batchResult, ...problemStatuses(400, 401, 404, 413, 415, 422, 503) },
      async handle(context, body) {
        const captured = await captureNodes(parts, agentOf(context), body as NodesRequest)
        return captured.ok ? ok({ status: 200, body: captured.value }) : captured
      },
    },
    {
      method: 'POST',
      path: '/capture/v1/relationships',
      operationId: 'upsertRelationships',
      tag,
      summary: 'Create or update relationships',
      auth,
      request: relationshipsRequest(itemsMax),
      numbers: 'exact',
      responses: { 200: batchResult, ...problemStatuses(400, 401, 404, 413, 415, 422, 503) },
      async handle(context, body) {
        const captured = await captureRelationships(parts, agentOf(context), body as RelationshipsRequest)
        return captured.ok ? ok({ status: 200, body: captured.value }) : captured
      },
    },
  ]
}
