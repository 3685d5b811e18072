// The nodes and relationships in an answer of the service.
import type { HttpSchemas } from '../../../openapi/types.ts'
import { titleOf } from '../graph-api.ts'

/** A node as the service answers with it. */
export type AnsweredNode = HttpSchemas['GraphQueryNode']
/** A relationship as the service answers with it. */
type AnsweredRelationship = HttpSchemas['GraphQueryRelationship']
type AnsweredPath = HttpSchemas['GraphQueryPath']

/** A node of the picture. */
export interface ShownNode {
  readonly key: string
  readonly type: string
  readonly externalId: string
  /** The name for people, or the external id. */
  readonly title: string
  /** The constituent of a composite project; null: the project has none. */
  readonly location: string | null
  /** Null: only its key is known, because a relationship names it. */
  readonly answered: AnsweredNode | null
}

/** A relationship of the picture. */
export interface ShownEdge {
  readonly key: string
  readonly type: string
  readonly source: string
  readonly target: string
  readonly answered: AnsweredRelationship
}

/** Nodes and relationships by key. */
export interface GraphElements {
  readonly nodes: ReadonlyMap<string, ShownNode>
  readonly edges: ReadonlyMap<string, ShownEdge>
}

/** An answer without elements. */
export const noElements: GraphElements = { nodes: new Map(), edges: new Map() }

/** The key of a node. */
export function nodeKey(type: string | null, externalId: string | null, location: string | null = null): string {
  return JSON.stringify(location === null ? [type, externalId] : [type, externalId, location])
}

/** The node of the picture for a node of an answer. */
function shownNode(node: AnsweredNode): ShownNode {
  const { type, external_id, location = null, properties } = node
  const externalId = external_id ?? ''
  return {
    key: nodeKey(type, external_id, location),
    type: type ?? '',
    externalId,
    title: titleOf(properties) || externalId,
    location,
    answered: node,
  }
}

const kinds: ReadonlySet<unknown> = new Set(['node', 'relationship', 'path'])

/** True for a node, a relationship or a path in an answer; false for a map of the user with such a member. */
export function isElement(value: unknown): value is AnsweredNode | AnsweredRelationship | AnsweredPath {
  if (typeof value !== 'object' || value === null || !('kind' in value) || !kinds.has(value.kind)) return false
  switch (value.kind) {
    case 'node':
      return 'labels' in value && Array.isArray(value.labels) && 'properties' in value && 'external_id' in value
    case 'relationship':
      return 'source' in value && 'target' in value && 'properties' in value && 'id' in value
    default:
      return 'nodes' in value && Array.isArray(value.nodes) && 'relationships' in value
  }
}

/** The elements in rows, also those in lists, maps and paths. */
export function collectElements(rows: readonly (readonly unknown[])[]): GraphElements {
  const nodes = new Map<string, ShownNode>()
  const found = new Map<string, AnsweredRelationship>()
  const visit = (value: unknown): void => {
    if (typeof value !== 'object' || value === null) return
    if (Array.isArray(value)) {
      for (const item of value) visit(item)
    } else if (!isElement(value)) {
      for (const item of Object.values(value)) visit(item)
    } else if (value.kind === 'node') {
      const node = shownNode(value)
      nodes.set(node.key, node)
    } else if (value.kind === 'relationship') {
      found.set(value.id, value)
    } else {
      for (const node of value.nodes) visit(node)
      for (const relationship of value.relationships) visit(relationship)
    }
  }
  for (const row of rows) visit(row)
  return { nodes, edges: withEnds([...found.values()], nodes) }
}

/** The edges of relationships. Adds the nodes that only a relationship names. */
function withEnds(
  relationships: readonly AnsweredRelationship[],
  nodes: Map<string, ShownNode>,
): ReadonlyMap<string, ShownEdge> {
  // A relationship does not name the location of its nodes.
  const byName = new Map<string, string>()
  for (const { key, answered } of nodes.values())
    if (answered !== null) byName.set(nodeKey(answered.type, answered.external_id), key)
  const endOf = ({ type, external_id }: HttpSchemas['GraphQueryNodeKey'], side: string): string => {
    // A node that was never captured has no key of its own.
    const key = type === null || external_id === null ? JSON.stringify([side]) : nodeKey(type, external_id)
    const known = byName.get(key)
    if (known !== undefined) return known
    if (!nodes.has(key)) {
      const externalId = external_id ?? ''
      nodes.set(key, { key, type: type ?? '', externalId, title: externalId, location: null, answered: null })
    }
    return key
  }
  return new Map(
    relationships.map((answered) => {
      const { id, type } = answered
      const source = endOf(answered.source, `${id} source`)
      const target = endOf(answered.target, `${id} target`)
      return [id, { key: id, type, source, target, answered }]
    }),
  )
}
