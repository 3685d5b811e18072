// The capture routes: upsert and delete nodes, relationships, properties and property metadata.
import type { z } from 'zod'
import type { CaptureDeps } from '../../capture/apply-items.ts'
import type { CaptureCall } from '../../capture/capture-events.ts'
import {
  captureNode,
  captureNodes,
  deleteNodeProperties,
  deleteNodes,
  deletePropertyMetadata,
} from '../../capture/nodes.ts'
import { captureRelationships, deleteRelationshipProperties, deleteRelationships } from '../../capture/relationships.ts'
import {
  type BatchResult,
  batchResult,
  type CapturedNode,
  deleteNodePropertiesRequest,
  deleteNodesRequest,
  deletePropertyMetadataRequest,
  deleteRelationshipPropertiesRequest,
  deleteRelationshipsRequest,
  type NodeBody,
  nodeKey,
  nodeRequest,
  nodesRequest,
  relationshipsRequest,
  relationshipsResult,
} from '../../capture/schema.ts'
import { validate } from '../../config/validate.ts'
import type { ServiceError } from '../../kernel/errors.ts'
import { isGid } from '../../kernel/ids.ts'
import { err, ok, type Result } from '../../kernel/result.ts'
import { segmentText } from '../request-target.ts'
import { type Auth, errorStatuses, type RequestContext, type Route, type RouteResponse, type Tag } from '../route.ts'
import { agentOf } from './callers.ts'

const auth: Auth = { kind: 'agent', permission: 'Capture', user: 'ignored' }
const tag: Tag = {
  name: 'Capture',
  description: 'Writes nodes and relationships. A response with status 200 means that they are on disk.',
}

/** Fields that all capture routes share. */
const common = { tag, auth, numbers: 'exact' } as const
const errors = errorStatuses(400, 401, 404, 413, 415, 422, 503)

/** A capture with one endpoint. */
interface CaptureSpec<B> {
  /** The path below `/capture/v1/`. */
  readonly path: string
  /** Also the name of the operation in metrics. */
  readonly operationId: string
  readonly summary: string
  readonly description?: string
  request(itemsMax: number): z.ZodType<B>
  readonly response: z.ZodType
  capture(deps: CaptureDeps, request: CaptureCall, body: B): Promise<Result<BatchResult, ServiceError>>
  /** Set: an upsert, which also has a PUT route with this operation id. */
  readonly putOperationId?: string
}

/** Builds the routes. `itemsMax`: maximum number of items in one request. */
export function captureRoutes(deps: CaptureDeps, itemsMax: number): Route[] {
  const routesOf = <B>(spec: CaptureSpec<B>): Route[] => captureRoutesOf(deps, itemsMax, spec)
  return [
    ...routesOf({
      path: 'nodes',
      operationId: 'upsertNodes',
      putOperationId: 'putNodes',
      summary: 'Create or update nodes',
      request: nodesRequest,
      response: batchResult,
      capture: captureNodes,
    }),
    nodeRoute(deps),
    ...routesOf({
      path: 'nodes/delete',
      operationId: 'deleteNodes',
      summary: 'Delete nodes and their relationships',
      request: deleteNodesRequest,
      response: batchResult,
      capture: deleteNodes,
    }),
    ...routesOf({
      path: 'nodes/properties/delete',
      operationId: 'deleteNodeProperties',
      summary: 'Delete properties of nodes',
      request: deleteNodePropertiesRequest,
      response: batchResult,
      capture: deleteNodeProperties,
    }),
    ...routesOf({
      path: 'nodes/properties/metadata/delete',
      operationId: 'deleteNodePropertyMetadata',
      summary: 'Delete metadata fields of node properties',
      request: deletePropertyMetadataRequest,
      response: batchResult,
      capture: deletePropertyMetadata,
    }),
    ...routesOf({
      path: 'relationships',
      operationId: 'upsertRelationships',
      putOperationId: 'putRelationships',
      summary: 'Create or update relationships',
      description:
        'If an end node does not exist, the response is 422 and nothing is written, unless `on_missing_end` is `skip`.',
      request: relationshipsRequest,
      response: relationshipsResult,
      capture: captureRelationships,
    }),
    ...routesOf({
      path: 'relationships/delete',
      operationId: 'deleteRelationships',
      summary: 'Delete relationships',
      request: deleteRelationshipsRequest,
      response: batchResult,
      capture: deleteRelationships,
    }),
    ...routesOf({
      path: 'relationships/properties/delete',
      operationId: 'deleteRelationshipProperties',
      summary: 'Delete properties of relationships',
      request: deleteRelationshipPropertiesRequest,
      response: batchResult,
      capture: deleteRelationshipProperties,
    }),
  ]
}

function captureRoutesOf<B>(
  deps: CaptureDeps,
  itemsMax: number,
  { path, operationId, putOperationId, request, response, capture, ...texts }: CaptureSpec<B>,
): Route[] {
  const post: Route = {
    ...common,
    ...texts,
    method: 'POST',
    path: `/capture/v1/${path}`,
    operationId,
    request: request(itemsMax),
    lane: { always: true, limit: 'write', writes: putOperationId === undefined ? 'once' : 'idempotent' },
    responses: { 200: response, ...errors },
    async handle(context, body) {
      return captureResponse(deps, operationId, await capture(deps, captureRequestOf(context), body as B))
    },
  }
  if (putOperationId === undefined) return [post]
  const put: Route = {
    ...post,
    method: 'PUT',
    operationId: putOperationId,
    aliasOf: operationId,

    description: `The same as POST.${texts.description === undefined ? '' : ` ${texts.description}`}`,
  }
  return [post, put]
}

function nodeRoute(deps: CaptureDeps): Route {
  return {
    ...common,
    method: 'PUT',
    path: '/capture/v1/nodes/{key}',
    operationId: 'putNode',
    summary: 'Create or update one node',
    description:
      'The key is the type and the external id, joined by a colon: `Person:ann`. Characters of the external id that a path cannot contain are percent-encoded; further colons are part of it. The body may repeat `type` and `external_id`; other values are refused.',
    pathParameters: { key: '`{type}:{external_id}`, percent-encoded' },
    request: nodeRequest,
    lane: { always: true, limit: 'write', writes: 'idempotent' },
    responses: { 200: batchResult, ...errors },
    async handle(context, body) {
      const key = readNodeKey(context.pathParameters.key ?? '')
      if (!key.ok) return err({ kind: 'malformed', issues: key.error })
      return captureResponse(
        deps,
        'upsertNodes',
        await captureNode(deps, captureRequestOf(context), key.value, body as NodeBody),
      )
    },
  }
}

const keyExpected = 'path: expected `{type}:{external_id}`, percent-encoded'

/** Reads the key of a node from a segment of a path. Only the first colon separates, because a type has none. */
function readNodeKey(segment: string): Result<Pick<CapturedNode, 'type' | 'external_id'>, readonly string[]> {
  const text = segmentText(segment)
  const colon = text?.indexOf(':') ?? -1
  if (text === null || colon < 0) return err([keyExpected])
  if (isGid(text)) return err([`${keyExpected}, found an id: nodes are found by their type and external id`])
  return validate(nodeKey, { type: text.slice(0, colon), external_id: text.slice(colon + 1) }, 'path')
}

function captureResponse(
  deps: CaptureDeps,
  operation: string,
  captured: Result<BatchResult, ServiceError>,
): Result<RouteResponse, ServiceError> {
  if (!captured.ok) return captured
  const { results, skipped = [] } = captured.value
  deps.onCaptured?.(operation, results.length - skipped.length)
  return ok({ status: 200, body: captured.value })
}

function captureRequestOf(context: RequestContext): CaptureCall {
  return { caller: agentOf(context), origin: context }
}
