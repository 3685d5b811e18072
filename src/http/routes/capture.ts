// The capture routes: upsert and delete nodes, relationships, properties and property metadata.
import type { z } from 'zod'
import type { CaptureDeps } from '../../capture/apply-items.ts'
import { captureNodes, deleteNodeProperties, deleteNodes, deletePropertyMetadata } from '../../capture/nodes.ts'
import { captureRelationships, deleteRelationshipProperties, deleteRelationships } from '../../capture/relationships.ts'
import {
  type BatchResult,
  batchResult,
  deleteNodePropertiesRequest,
  deleteNodesRequest,
  deletePropertyMetadataRequest,
  deleteRelationshipPropertiesRequest,
  deleteRelationshipsRequest,
  nodesRequest,
  relationshipsRequest,
} from '../../capture/schema.ts'
import type { AgentCaller } from '../../kernel/caller.ts'
import type { ServiceError } from '../../kernel/errors.ts'
import { ok, type Result } from '../../kernel/result.ts'
import { type Auth, errorStatuses, type Route, type Tag } from '../route.ts'
import { agentOf } from './callers.ts'

const auth: Auth = { kind: 'agent', permission: 'Capture', user: 'ignored' }
const tag: Tag = {
  name: 'Capture',
  description: 'Writes nodes and relationships. A response with status 200 means that they are on disk.',
}

/** Builds the routes. `itemsMax`: maximum number of items in one request. */
export function captureRoutes(parts: CaptureDeps, itemsMax: number): Route[] {
  type Capture<B> = (parts: CaptureDeps, caller: AgentCaller, body: B) => Promise<Result<BatchResult, ServiceError>>
  const route = <B>(
    path: string,
    operationId: string,
    summary: string,
    request: (itemsMax: number) => z.ZodType<B>,
    capture: Capture<B>,
    writes: 'once' | 'idempotent' = 'once',
  ): Route => ({
    method: 'POST',
    path: `/capture/v1/${path}`,
    operationId,
    tag,
    summary,
    auth,
    request: request(itemsMax),
    numbers: 'exact',
    lane: { always: true, limit: 'write', writes },
    responses: { 200: batchResult, ...errorStatuses(400, 401, 404, 413, 415, 422, 503) },
    async handle(context, body) {
      const captured = await capture(parts, agentOf(context), body as B)
      if (!captured.ok) return captured
      parts.onCaptured?.(operationId, captured.value.results.length)
      return ok({ status: 200, body: captured.value })
    },
  })
  return [
    route('nodes', 'upsertNodes', 'Create or update nodes', nodesRequest, captureNodes, 'idempotent'),
    route('nodes/delete', 'deleteNodes', 'Delete nodes and their relationships', deleteNodesRequest, deleteNodes),
    route(
      'nodes/properties/delete',
      'deleteNodeProperties',
      'Delete properties of nodes',
      deleteNodePropertiesRequest,
      deleteNodeProperties,
    ),
    route(
      'nodes/properties/metadata/delete',
      'deleteNodePropertyMetadata',
      'Delete metadata fields of node properties',
      deletePropertyMetadataRequest,
      deletePropertyMetadata,
    ),
    route(
      'relationships',
      'upsertRelationships',
      'Create or update relationships',
      relationshipsRequest,
      captureRelationships,
      'idempotent',
    ),
    route(
      'relationships/delete',
      'deleteRelationships',
      'Delete relationships',
      deleteRelationshipsRequest,
      deleteRelationships,
    ),
    route(
      'relationships/properties/delete',
      'deleteRelationshipProperties',
      'Delete properties of relationships',
      deleteRelationshipPropertiesRequest,
      deleteRelationshipProperties,
    ),
  ]
}
