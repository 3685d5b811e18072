// Captures of nodes: upserts, and deletions of nodes, of their properties and of metadata. What is well-formed but cannot
// be meant is refused before anything is written (422), every fault with its place.

import type { MetadataFields, NodeInput, NodeKey, WriteBatch } from '../engine/store.ts'
import type { AgentCaller } from '../kernel/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, type Result } from '../kernel/result.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import { applyItems, type CaptureDeps, type CaptureItem, noGraph } from './apply-items.ts'
import { propertyInput } from './property.ts'
import { protectedNameIssues, reservedNameIssues } from './reserved-names.ts'
import type {
  BatchResult,
  CapturedNode,
  NodeKeyInput,
  NodePropertiesDeletion,
  NodesBody,
  PropertyMetadataDeletion,
} from './schema.ts'
import { targetGraphOfNode } from './target-graph.ts'

type NodeCaptureResult = Promise<Result<BatchResult, ServiceError>>

export function captureNodes(
  parts: CaptureDeps,
  caller: AgentCaller,
  body: NodesBody<CapturedNode>,
): NodeCaptureResult {
  return onNodes(parts, caller, body, faultsOfNode, (node) => {
    const input = nodeInput(node)
    return (batch) => batch.upsertNode(input).gid
  })
}

export function deleteNodes(parts: CaptureDeps, caller: AgentCaller, body: NodesBody<NodeKeyInput>): NodeCaptureResult {
  return onNodes(parts, caller, body, noFaults, (node) => {
    const key = keyOf(node)
    return (batch) => batch.deleteNode(key)
  })
}

export function deleteNodeProperties(
  parts: CaptureDeps,
  caller: AgentCaller,
  body: NodesBody<NodePropertiesDeletion>,
): NodeCaptureResult {
  const faults = (path: string, node: NodePropertiesDeletion): string[] =>
    node.property_types.flatMap((name, i) => protectedNameIssues(`${path}.property_types[${i}]`, name))
  return onNodes(parts, caller, body, faults, (node) => {
    const key = keyOf(node)
    return (batch) => batch.deleteNodeProperties(key, node.property_types)
  })
}

export function deletePropertyMetadata(
  parts: CaptureDeps,
  caller: AgentCaller,
  body: NodesBody<PropertyMetadataDeletion>,
): NodeCaptureResult {
  const faults = (path: string, node: PropertyMetadataDeletion): string[] =>
    protectedNameIssues(`${path}.property_type`, node.property_type)
  return onNodes(parts, caller, body, faults, (node) => {
    const key = keyOf(node)
    const fields = metadataFields(node.metadata_fields)
    return (batch) => batch.deleteNodePropertyMetadata(key, node.property_type, fields)
  })
}

/** What an item does in a batch: the global id of what it touched, null when there was nothing. */
type ApplyItem = (batch: WriteBatch) => string | null

async function onNodes<T extends NodeKeyInput>(
  parts: CaptureDeps,
  caller: AgentCaller,
  body: NodesBody<T>,
  faultsOf: (path: string, node: T) => string[],
  applyOf: (node: T) => ApplyItem,
): NodeCaptureResult {
  const graphs = parts.graphsOf(caller.projectId)
  if (graphs === null) return noGraph
  const issues: string[] = []
  const items: CaptureItem[] = []
  body.nodes.forEach((node, index) => {
    const path = `nodes[${index}]`
    issues.push(...reservedNameIssues(`${path}.type`, node.type), ...faultsOf(path, node))
    const item = itemOf(graphs, path, node, applyOf, issues)
    if (item !== null) items.push(item)
  })
  return issues.length > 0 ? err({ kind: 'invalid', issues }) : applyItems(items)
}

function itemOf<T extends NodeKeyInput>(
  graphs: ProjectGraphs,
  path: string,
  node: T,
  applyOf: (node: T) => ApplyItem,
  issues: string[],
): CaptureItem | null {
  const place = targetGraphOfNode(graphs, path, node.location)
  if (place.ok) return { graph: place.value, apply: applyOf(node) }
  issues.push(...place.error)
  return null
}

function noFaults(): string[] {
  return []
}

function faultsOfNode(path: string, { labels, properties }: CapturedNode): string[] {
  return [
    ...(labels?.flatMap((label, i) => reservedNameIssues(`${path}.labels[${i}]`, label)) ?? []),
    ...(properties?.flatMap((property, i) => protectedNameIssues(`${path}.properties[${i}].type`, property.type)) ??
      []),
  ]
}

function keyOf(node: NodeKeyInput): NodeKey {
  return { type: node.type, externalId: node.external_id }
}

function nodeInput(node: CapturedNode): NodeInput {
  return {
    ...keyOf(node),
    ...(node.labels === undefined ? {} : { labels: node.labels }),
    ...(node.is_identity === undefined ? {} : { isIdentity: node.is_identity }),
    ...(node.location === undefined ? {} : { location: node.location }),
    ...(node.properties === undefined ? {} : { properties: node.properties.map(propertyInput) }),
  }
}

const ownFields = new Map<string, MetadataFields['own'][number]>([
  ['source', 'source'],
  ['assurance_level', 'assuranceLevel'],
  ['verified_time', 'verifiedTime'],
])

/** A name may be a field of its own and a custom one of that name: both go. */
function metadataFields(names: readonly string[]): MetadataFields {
  return { own: names.flatMap((name) => ownFields.get(name) ?? []), custom: names }
}
