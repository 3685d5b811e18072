// Captures of relationships: upserts, and deletions of relationships and of their properties. With `use_global_db` they
// join proxies in the global graph, else both ends are in one constituent (ruling G7).

import type { GraphStore, NodeKey, RelationshipKey } from '../engine/store.ts'
import type { AgentCaller } from '../kernel/caller.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { err, type Result } from '../kernel/result.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import { applyItems, type CaptureDeps, type CaptureItem, hasNode, noGraph } from './apply-items.ts'
import { propertyInput } from './property.ts'
import { protectedNameIssues, reservedNameIssues } from './reserved-names.ts'
import type {
  BatchResult,
  CapturedRelationship,
  NodeKeyInput,
  RelationshipKeyInput,
  RelationshipPropertiesDeletion,
  RelationshipsBody,
} from './schema.ts'
import { targetGraphOfRelationship } from './target-graph.ts'

type RelationshipCaptureResult = Promise<Result<BatchResult, ServiceError>>

export function captureRelationships(
  parts: CaptureDeps,
  caller: AgentCaller,
  body: RelationshipsBody<CapturedRelationship>,
): RelationshipCaptureResult {
  const faults = (path: string, { properties }: CapturedRelationship): string[] =>
    properties?.flatMap(({ type }, i) => protectedNameIssues(`${path}.properties[${i}].type`, type)) ?? []
  return onRelationships(parts, caller, body, faults, (relationship, { graphs, graph, path }) => {
    const { properties } = relationship
    const key = keyOf(relationship)
    const input = properties === undefined ? key : { ...key, properties: properties.map(propertyInput) }
    const ends = (['source', 'target'] as const).map((end) => ({
      path: `${path}.${end}`,
      key: key[end],
      graph: endGraph(graphs, graph, relationship[end]),
      where: graphs.global === null ? '' : whereabouts(graphs, graph, relationship[end]),
    }))
    const elsewhere = ends.filter((end) => end.graph !== graph)
    return {
      apply(batch) {
        if (elsewhere.some((end) => !hasNode(end.graph, end.key))) return null
        return batch.upsertRelationship(input)?.gid ?? null
      },
      missing: (has) =>
        ends
          .filter((end) => !has(end.key) || (end.graph !== graph && !hasNode(end.graph, end.key)))
          .map(
            (end) => `${end.path}: the node \`${end.key.type}\` \`${end.key.externalId}\` does not exist${end.where}`,
          ),
    }
  })
}

export function deleteRelationships(
  parts: CaptureDeps,
  caller: AgentCaller,
  body: RelationshipsBody<RelationshipKeyInput>,
): RelationshipCaptureResult {
  return onRelationships(parts, caller, body, noFaults, (relationship) => {
    const key = keyOf(relationship)
    return { apply: (batch) => batch.deleteRelationship(key) }
  })
}

export function deleteRelationshipProperties(
  parts: CaptureDeps,
  caller: AgentCaller,
  body: RelationshipsBody<RelationshipPropertiesDeletion>,
): RelationshipCaptureResult {
  const faults = (path: string, { property_types }: RelationshipPropertiesDeletion): string[] =>
    property_types.flatMap((name, i) => protectedNameIssues(`${path}.property_types[${i}]`, name))
  return onRelationships(parts, caller, body, faults, (relationship) => {
    const key = keyOf(relationship)
    return { apply: (batch) => batch.deleteRelationshipProperties(key, relationship.property_types) }
  })
}

interface RelationshipContext {
  readonly path: string
  readonly graphs: ProjectGraphs
  /** What the relationship is kept in. */
  readonly graph: GraphStore
}

async function onRelationships<T extends RelationshipKeyInput>(
  parts: CaptureDeps,
  caller: AgentCaller,
  body: RelationshipsBody<T>,
  faultsOf: (path: string, relationship: T) => string[],
  actionOf: (relationship: T, setting: RelationshipContext) => Omit<CaptureItem, 'graph'>,
): RelationshipCaptureResult {
  const graphs = parts.graphsOf(caller.projectId)
  if (graphs === null) return noGraph
  const useGlobal = body.use_global_db === true
  const issues: string[] = []
  const items: CaptureItem[] = []
  body.relationships.forEach((relationship, index) => {
    const path = `relationships[${index}]`
    // End nodes may be of a reserved type: that is how an application is joined to business data (interface).
    issues.push(...reservedNameIssues(`${path}.type`, relationship.type), ...faultsOf(path, relationship))
    const place = targetGraphOfRelationship(graphs, path, relationship, useGlobal)
    if (!place.ok) issues.push(...place.error)
    else items.push({ graph: place.value, ...actionOf(relationship, { path, graphs, graph: place.value }) })
  })
  if (useGlobal && graphs.global === null) issues.push('use_global_db: the project has no composite database')
  return issues.length > 0 ? err({ kind: 'invalid', issues }) : applyItems(items)
}

function noFaults(): string[] {
  return []
}

/** Where a node must exist for its end to be meant: an end that names its location is looked up there, not just as a proxy. */
function endGraph(graphs: ProjectGraphs, graph: GraphStore, end: NodeKeyInput): GraphStore {
  return end.location === undefined ? graph : (graphs.at(end.location) ?? graph)
}

/** For the message about a missing node, in a project that has several places for it. */
function whereabouts(graphs: ProjectGraphs, graph: GraphStore, { location }: NodeKeyInput): string {
  if (location !== undefined) return ` at ${location}`
  return graph === graphs.global ? ' at any location' : ' in the default constituent'
}

function keyOf({ source, target, type }: RelationshipKeyInput): RelationshipKey {
  return { source: keyOfEnd(source), target: keyOfEnd(target), type }
}

function keyOfEnd(end: NodeKeyInput): NodeKey {
  return { type: end.type, externalId: end.external_id }
}
