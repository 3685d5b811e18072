// Captures of relationships: upserts, and deletions of relationships and of their properties. With `use_global_db` a
// relationship joins proxies in the global graph; otherwise both end nodes are in one constituent
// (docs/decisions/0002-composite-projects-and-locations.md).
import type { GraphStore, NodeKey, RelationshipKey } from '../engine/store.ts'
import { graphNotFound } from '../kernel/errors.ts'
import { err } from '../kernel/result.ts'
import { DeclaredTypes } from '../model/declared-types.ts'
import { definedNames, noModel, typesOf } from '../model/stored-model.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import {
  applyItems,
  type CaptureDeps,
  type CaptureItem,
  type CaptureOutcome,
  hasNode,
  type ItemComparison,
} from './apply-items.ts'
import type { CaptureCall, CaptureOperation } from './capture-events.ts'
import { propertyInput } from './property.ts'
import { derivedTypeIssues, protectedNameIssues, reservedNameIssues } from './reserved-names.ts'
import type {
  CapturedRelationship,
  NodeKeyInput,
  RelationshipKeyInput,
  RelationshipPropertiesDeletion,
  RelationshipsBody,
} from './schema.ts'
import { targetGraphOfRelationship } from './target-graph.ts'

/**
 * Creates or updates relationships. Errors: `not-found` (no graph), `invalid` (also for missing end nodes, unless
 * `on_missing_end` is `skip`).
 */
export function captureRelationships(
  deps: CaptureDeps,
  request: CaptureCall,
  body: RelationshipsBody<CapturedRelationship>,
): CaptureOutcome {
  const derived = new Set(definedNames(deps.modelOf?.(request.caller.projectId) ?? noModel))
  const issuesOf = (path: string, { type, properties }: CapturedRelationship): string[] => [
    ...derivedTypeIssues(`${path}.type`, type, derived),
    ...(properties?.flatMap(({ type }, i) => protectedNameIssues(`${path}.properties[${i}].type`, type)) ?? []),
  ]
  return onRelationships(
    deps,
    request,
    'upsert.relationship',
    body,
    issuesOf,
    (relationship, { graphs, graph, path, types }) => {
      const { properties } = relationship
      const key = keyOf(relationship)
      const sent = properties === undefined ? key : { ...key, properties: properties.map(propertyInput) }
      const input = types === null ? sent : types.relationship(sent)
      const ends = (['source', 'target'] as const).map((end) => ({
        end,
        path: `${path}.${end}`,
        key: key[end],
        graph: endGraph(graphs, graph, relationship[end]),
        where: graphs.global === null ? '' : locationText(graphs, graph, relationship[end]),
      }))
      const remoteEnds = ends.filter((end) => end.graph !== graph)
      return {
        element: { key },
        isUpsert: true,
        ...(types !== null && { faults: () => types.relationshipRequest(input) }),
        apply(batch) {
          if (remoteEnds.some((end) => !hasNode(end.graph, end.key))) return null
          return batch.upsertRelationship(input)?.gid ?? null
        },
        missing: (has) =>
          ends
            .filter((end) => !has(end.key) || (end.graph !== graph && !hasNode(end.graph, end.key)))
            .map(({ end, path, key, where }) => ({
              end,
              issue: `${path}: the node \`${key.type}\` \`${key.externalId}\` does not exist${where}`,
            })),
      }
    },
  )
}

/** Deletes relationships. Errors: `not-found` (no graph), `invalid`. */
export function deleteRelationships(
  deps: CaptureDeps,
  request: CaptureCall,
  body: RelationshipsBody<RelationshipKeyInput>,
): CaptureOutcome {
  return onRelationships(deps, request, 'delete.relationship', body, noIssues, (relationship) => {
    const key = keyOf(relationship)
    return { element: { key }, apply: (batch) => batch.deleteRelationship(key) }
  })
}

/** Deletes properties of relationships. Errors: `not-found` (no graph), `invalid`. */
export function deleteRelationshipProperties(
  deps: CaptureDeps,
  request: CaptureCall,
  body: RelationshipsBody<RelationshipPropertiesDeletion>,
): CaptureOutcome {
  const issuesOf = (path: string, { property_types }: RelationshipPropertiesDeletion): string[] =>
    property_types.flatMap((name, i) => protectedNameIssues(`${path}.property_types[${i}]`, name))
  return onRelationships(deps, request, 'delete.relationship.property', body, issuesOf, (relationship) => {
    const key = keyOf(relationship)
    return {
      element: { key, properties: relationship.property_types },
      apply: (batch) => batch.deleteRelationshipProperties(key, relationship.property_types),
    }
  })
}

interface RelationshipContext {
  readonly path: string
  readonly graphs: ProjectGraphs
  /** The graph of the relationship. */
  readonly graph: GraphStore
  /** Null: the project declares none. */
  readonly types: DeclaredTypes | null
}

async function onRelationships<T extends RelationshipKeyInput>(
  deps: CaptureDeps,
  request: CaptureCall,
  operation: CaptureOperation,
  body: RelationshipsBody<T>,
  issuesOf: (path: string, relationship: T) => string[],
  actionOf: (relationship: T, context: RelationshipContext) => Omit<CaptureItem, 'graph'>,
): CaptureOutcome {
  const { projectId } = request.caller
  const graphs = deps.graphsOf(projectId)
  if (graphs === null) return graphNotFound
  const declared = typesOf(deps.modelOf?.(projectId) ?? noModel)
  const types = declared === null || operation === 'delete.relationship' ? null : new DeclaredTypes(declared)
  const useGlobal = body.use_global_db === true
  const issues: string[] = []
  const items: CaptureItem[] = []
  body.relationships.forEach((relationship, index) => {
    const path = `relationships[${index}]`
    // End nodes may have a reserved type: relationships connect an application with business data.
    issues.push(...reservedNameIssues(`${path}.type`, relationship.type), ...issuesOf(path, relationship))
    const target = targetGraphOfRelationship(graphs, path, relationship, useGlobal)
    if (!target.ok) issues.push(...target.error)
    else items.push({ graph: target.value, ...actionOf(relationship, { path, graphs, graph: target.value, types }) })
  })
  if (useGlobal && graphs.global === null) issues.push('use_global_db: the project has no composite database')
  if (issues.length > 0) return err({ kind: 'invalid', issues })
  const comparison: ItemComparison | null = types && { types, member: 'relationships', onUnfit: deps.onUnfit }
  return applyItems(items, deps.events?.begin(request, operation) ?? null, body.on_missing_end, comparison)
}

function noIssues(): string[] {
  return []
}

/** Returns the graph in which an end node must exist: that of its location if it names one, not only its proxy. */
function endGraph(graphs: ProjectGraphs, graph: GraphStore, end: NodeKeyInput): GraphStore {
  return end.location === undefined ? graph : (graphs.at(end.location) ?? graph)
}

/** For the message about a missing node, in a composite project. */
function locationText(graphs: ProjectGraphs, graph: GraphStore, { location }: NodeKeyInput): string {
  if (location !== undefined) return ` at ${location}`
  return graph === graphs.global ? ' at any location' : ' in the default constituent'
}

function keyOf({ source, target, type }: RelationshipKeyInput): RelationshipKey {
  return { source: keyOfEnd(source), target: keyOfEnd(target), type }
}

function keyOfEnd(end: NodeKeyInput): NodeKey {
  return { type: end.type, externalId: end.external_id }
}
