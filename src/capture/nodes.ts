// Captures of nodes: upserts, and deletions of nodes, of their properties and of metadata. What is well-formed but cannot
// be meant is refused before anything is written (422), every fault with its place.
import type { MetadataFields, NodeInput, NodeKey, ProjectGraphs, WriteBatch } from '../engine/store.ts'
import type { AgentCaller } from '../identity/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, type Result } from '../kernel/result.ts'
import { applyItems, type CaptureParts, type Item, noGraph } from './batch.ts'
import { protectedName, reservedName } from './names.ts'
import { placeOfNode } from './places.ts'
import { propertyInput } from './property.ts'
import type { BatchResult, CapturedNode, EndNode, NodesBody, TrimmedNode, UnsourcedProperty } from './schema.ts'

type Captured = Promise<Result<BatchResult, ServiceError>>

export function captureNodes(parts: CaptureParts, caller: AgentCaller, body: NodesBody<CapturedNode>): Captured {
  return onNodes(parts, caller, body, faultsOfNode, (node) => {
    const input = nodeInput(node)
    return (batch) => batch.upsertNode(input).gid
  })
}

export function deleteNodes(parts: CaptureParts, caller: AgentCaller, body: NodesBody<EndNode>): Captured {
  return onNodes(parts, caller, body, noFaults, (node) => {
    const key = keyOf(node)
    return (batch) => batch.deleteNode(key)
  })
}

export function deleteNodeProperties(parts: CaptureParts, caller: AgentCaller, body: NodesBody<TrimmedNode>): Captured {
  const faults = (path: string, node: TrimmedNode): string[] =>
    node.property_types.flatMap((name, i) => protectedName(`${path}.property_types[${i}]`, name))
  return onNodes(parts, caller, body, faults, (node) => {
    const key = keyOf(node)
    return (batch) => batch.deleteNodeProperties(key, node.property_types)
  })
}

export function deletePropertyMetadata(
  parts: CaptureParts,
  caller: AgentCaller,
  body: NodesBody<UnsourcedProperty>,
): Captured {
  const faults = (path: string, node: UnsourcedProperty): string[] =>
    protectedName(`${path}.property_type`, node.property_type)
  return onNodes(parts, caller, body, faults, (node) => {
    const key = keyOf(node)
    const fields = metadataFields(node.metadata_fields)
    return (batch) => batch.deleteNodePropertyMetadata(key, node.property_type, fields)
  })
}

/** What an item does in a batch: the global id of what it touched, null when there was nothing. */
type Apply = (batch: WriteBatch) => string | null

async function onNodes<T extends EndNode>(
  parts: CaptureParts,
  caller: AgentCaller,
  body: NodesBody<T>,
  faultsOf: (path: string, node: T) => string[],
  applyOf: (node: T) => Apply,
): Captured {
  const graphs = parts.graphsOf(caller.projectId)
  if (graphs === null) return noGraph
  const issues: string[] = []
  const items: Item[] = []
  body.nodes.forEach((node, index) => {
    const path = `nodes[${index}]`
    issues.push(...reservedName(`${path}.type`, node.type), ...faultsOf(path, node))
    const item = itemOf(graphs, path, node, applyOf, issues)
    if (item !== null) items.push(item)
  })
  return issues.length > 0 ? err({ kind: 'invalid', issues }) : applyItems(items)
}

function itemOf<T extends EndNode>(
  graphs: ProjectGraphs,
  path: string,
  node: T,
  applyOf: (node: T) => Apply,
  issues: string[],
): Item | null {
  const place = placeOfNode(graphs, path, node.location)
  if (place.ok) return { graph: place.value, apply: applyOf(node) }
  issues.push(...place.error)
  return null
}

function noFaults(): string[] {
  return []
}

function faultsOfNode(path: string, { labels, properties }: CapturedNode): string[] {
  return [
    ...(labels?.flatMap((label, i) => reservedName(`${path}.labels[${i}]`, label)) ?? []),
    ...(properties?.flatMap((property, i) => protectedName(`${path}.properties[${i}].type`, property.type)) ?? []),
  ]
}

function keyOf(node: EndNode): NodeKey {
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
