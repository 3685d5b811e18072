// Captures of nodes: upserts, and deletions of nodes, of their properties and of metadata. Well-formed requests that
// break a rule are rejected before anything is written (422), with every issue.
import type { MetadataFields, NodeInput, NodeKey, WriteBatch } from '../engine/store.ts'
import { graphNotFound } from '../kernel/errors.ts'
import { err } from '../kernel/result.ts'
import { DeclaredTypes } from '../model/declared-types.ts'
import { noModel, typesOf } from '../model/stored-model.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import {
  applyItems,
  type CaptureDeps,
  type CaptureItem,
  type CaptureOutcome,
  type ItemComparison,
} from './apply-items.ts'
import type { CaptureCall, CaptureElement, CaptureOperation } from './capture-events.ts'
import { propertyInput } from './property.ts'
import { protectedNameIssues, reservedNameIssues } from './reserved-names.ts'
import type {
  CapturedNode,
  NodeBody,
  NodeKeyInput,
  NodePropertiesDeletion,
  NodesBody,
  PropertyMetadataDeletion,
} from './schema.ts'
import { targetGraphOfNode } from './target-graph.ts'

/** Creates or updates nodes. Errors: `not-found` (no graph), `invalid`. */
export function captureNodes(deps: CaptureDeps, request: CaptureCall, body: NodesBody<CapturedNode>): CaptureOutcome {
  return onNodes(deps, request, 'upsert.node', body, nodeIssues, (node, types) => {
    const input = types === null ? nodeInput(node) : types.node(nodeInput(node))
    return {
      element: { key: input, labels: input.labels },
      apply: (batch) => batch.upsertNode(input).gid,
      ...(types !== null && { faults: () => types.nodeRequest(input) }),
    }
  })
}

/**
 * Creates or updates the node that a path names. `body` may repeat the key. Errors: `malformed` if the body has another
 * key, `not-found` (no graph), `invalid`.
 */
export async function captureNode(
  deps: CaptureDeps,
  request: CaptureCall,
  key: Pick<CapturedNode, 'type' | 'external_id'>,
  body: NodeBody,
): CaptureOutcome {
  const differing = (['type', 'external_id'] as const)
    .filter((member) => body[member] !== undefined && body[member] !== key[member])
    .map((member) => `${member}: expected \`${key[member]}\` as in the path, found \`${body[member]}\``)
  if (differing.length > 0) return err({ kind: 'malformed', issues: differing })
  const captured = await captureNodes(deps, request, { nodes: [{ ...body, ...key }] })
  if (captured.ok || captured.error.kind !== 'invalid') return captured
  return err({ kind: 'invalid', issues: captured.error.issues.map((issue) => issue.replace(/^nodes\[0\]\./, '')) })
}

/** Deletes nodes with their relationships. Errors: `not-found` (no graph), `invalid`. */
export function deleteNodes(deps: CaptureDeps, request: CaptureCall, body: NodesBody<NodeKeyInput>): CaptureOutcome {
  return onNodes(deps, request, 'delete.node', body, noIssues, (node) => {
    const key = keyOf(node)
    return { element: { key }, apply: (batch) => batch.deleteNode(key) }
  })
}

/** Deletes properties of nodes. Errors: `not-found` (no graph), `invalid`. */
export function deleteNodeProperties(
  deps: CaptureDeps,
  request: CaptureCall,
  body: NodesBody<NodePropertiesDeletion>,
): CaptureOutcome {
  const issuesOfNode = (path: string, node: NodePropertiesDeletion): string[] =>
    node.property_types.flatMap((name, i) => protectedNameIssues(`${path}.property_types[${i}]`, name))
  return onNodes(deps, request, 'delete.node.property', body, issuesOfNode, (node) => {
    const key = keyOf(node)
    return {
      element: { key, properties: node.property_types },
      apply: (batch) => batch.deleteNodeProperties(key, node.property_types),
    }
  })
}

/** Deletes metadata of properties. Errors: `not-found` (no graph), `invalid`. */
export function deletePropertyMetadata(
  deps: CaptureDeps,
  request: CaptureCall,
  body: NodesBody<PropertyMetadataDeletion>,
): CaptureOutcome {
  const issuesOfNode = (path: string, node: PropertyMetadataDeletion): string[] =>
    protectedNameIssues(`${path}.property_type`, node.property_type)
  return onNodes(deps, request, 'delete.node.property.metadata', body, issuesOfNode, (node) => {
    const key = keyOf(node)
    const fields = metadataFields(node.metadata_fields)
    return {
      element: { key, properties: [node.property_type], metadata: node.metadata_fields },
      apply: (batch) => batch.deleteNodePropertyMetadata(key, node.property_type, fields),
    }
  })
}

/** The operations after which a node may not fit the declared types. */
const comparedOperations: ReadonlySet<CaptureOperation> = new Set(['upsert.node', 'delete.node.property'])

/** The element of an item, and the write. */
interface NodeAction extends Pick<CaptureItem, 'faults'> {
  readonly element: CaptureElement
  /** Returns the global id of the element, null if there was nothing to do. */
  apply(batch: WriteBatch): string | null
}

async function onNodes<T extends NodeKeyInput>(
  deps: CaptureDeps,
  request: CaptureCall,
  operation: CaptureOperation,
  body: NodesBody<T>,
  issuesOf: (path: string, node: T) => string[],
  actionOf: (node: T, types: DeclaredTypes | null) => NodeAction,
): CaptureOutcome {
  const { projectId } = request.caller
  const graphs = deps.graphsOf(projectId)
  if (graphs === null) return graphNotFound
  const declared = typesOf(deps.modelOf?.(projectId) ?? noModel)
  const types = declared === null || !comparedOperations.has(operation) ? null : new DeclaredTypes(declared)
  const issues: string[] = []
  const items: CaptureItem[] = []
  body.nodes.forEach((node, index) => {
    const path = `nodes[${index}]`
    issues.push(...reservedNameIssues(`${path}.type`, node.type), ...issuesOf(path, node))
    const item = itemOf(graphs, path, node, (one) => actionOf(one, types), issues)
    if (item !== null) items.push(item)
  })
  if (issues.length > 0) return err({ kind: 'invalid', issues })
  const comparison: ItemComparison | null = types && { types, member: 'nodes', onUnfit: deps.onUnfit }
  return applyItems(items, deps.events?.begin(request, operation) ?? null, 'refuse', comparison)
}

function itemOf<T extends NodeKeyInput>(
  graphs: ProjectGraphs,
  path: string,
  node: T,
  actionOf: (node: T) => NodeAction,
  issues: string[],
): CaptureItem | null {
  const target = targetGraphOfNode(graphs, path, node.location)
  if (target.ok) return { graph: target.value, ...actionOf(node) }
  issues.push(...target.error)
  return null
}

function noIssues(): string[] {
  return []
}

function nodeIssues(path: string, { labels, tags, properties }: CapturedNode): string[] {
  return [
    ...(labels?.flatMap((label, i) => reservedNameIssues(`${path}.labels[${i}]`, label)) ?? []),
    ...(tags?.flatMap((label, i) => reservedNameIssues(`${path}.tags[${i}]`, label)) ?? []),
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
    ...(node.labels === undefined && node.tags === undefined ? {} : { labels: allLabels(node) }),
    ...(node.is_identity === undefined ? {} : { isIdentity: node.is_identity }),
    ...(node.location === undefined ? {} : { location: node.location }),
    ...(node.properties === undefined ? {} : { properties: node.properties.map(propertyInput) }),
  }
}

/** `tags` are a spelling of `labels`; a node that has both has all of them. */
function allLabels({ labels = [], tags = [] }: CapturedNode): readonly string[] {
  return tags.length === 0 ? labels : [...new Set([...labels, ...tags])]
}

const metadataFieldsByName = new Map<string, MetadataFields['own'][number]>([
  ['source', 'source'],
  ['assurance_level', 'assuranceLevel'],
  ['verified_time', 'verifiedTime'],
])

/** A name may be a metadata field and a custom name: both are deleted. */
function metadataFields(names: readonly string[]): MetadataFields {
  return { own: names.flatMap((name) => metadataFieldsByName.get(name) ?? []), custom: names }
}
