// The port between the engine and whatever keeps a graph: named after the questions that operators ask, and no wider.
import type { PropertyValue } from './value/value.ts'

/** Dense, positive; 0 stands for "no such node". Only meaningful within one environment. */
export type NodeId = number
/** Dense, positive; 0 stands for "no such relationship". */
export type RelationshipId = number
/** An interned name; 0 stands for a name that the graph has never seen. */
export type SymbolId = number

/** Labels, relationship types and property names are interned apart from each other. */
export type SymbolKind = 'label' | 'type' | 'property'

export type Direction = 'out' | 'in'

/** The element's own fields (ruling G4). `type` of a relationship is its relationship type. */
export type ElementField = 'external_id' | 'type' | 'create_time' | 'update_time' | 'is_identity' | 'location' | 'id'

/**
 * A reusable buffer that a snapshot fills with one chunk of an adjacency or label list.
 * Entries 0 to `length - 1` are valid until the next fill of the same buffer; the snapshot grows the arrays as needed.
 * `more` is true when another chunk follows; pass `next` to fetch it.
 */
export interface Chunk {
  ids: Uint32Array
  /** Parallel to `ids` for adjacency; unused for labels. */
  relationships: Uint32Array
  length: number
  more: boolean
  next: number
}

export function createChunk(): Chunk {
  return { ids: new Uint32Array(16), relationships: new Uint32Array(16), length: 0, more: false, next: 0 }
}

/** Names a state of one graph: equal stamps, equal graphs. */
export interface GraphVersion {
  /** Who wrote the last batch, and which of its batches that was. */
  readonly writer: number
  readonly commit: number
}

/**
 * A property name that a graph knows once an element has had a property of that name which an external resolver supplies,
 * and, for the empty name, once any has had one. It is never taken back, so it may be known where no such property is left.
 */
export function externalPropertyName(name: string): string {
  return `\u0000external ${name}`
}

/**
 * One consistent, read-only view of one environment. It is opened, used and closed within one turn of the event loop,
 * and never crosses an await. All calls are synchronous.
 */
export interface Snapshot {
  /** The same object for every snapshot of one environment: what is compiled for it is kept under this. */
  readonly environment: object
  /** Equal epochs mean that every symbol id resolved earlier (0 included) is still right. */
  readonly symbolEpoch: number
  /** The state that it shows. */
  readonly version: GraphVersion

  symbol(kind: SymbolKind, name: string): SymbolId
  symbolName(kind: SymbolKind, id: SymbolId): string

  // -- finding
  /** By upsert key. `label` is the symbol of the node's type. */
  findNode(label: SymbolId, externalId: string): NodeId
  /** Next chunk of the nodes that carry a label, in ascending id order; `from` is the first id that may be among them, or `chunk.next`. */
  nodesWithLabel(label: SymbolId, from: number, chunk: Chunk): void
  /** Next chunk of all nodes, in ascending id order; `from` as above. */
  allNodes(from: number, chunk: Chunk): void
  /**
   * Next chunk of the nodes with that label whose property equals a scalar, from the equality index. It may name nodes
   * whose value is only nearly equal (very large integers, long strings): the caller checks again. Ascending; `from` as above.
   */
  nodesWithProperty(label: SymbolId, property: SymbolId, value: PropertyValue, from: number, chunk: Chunk): void

  // -- walking
  /**
   * Next chunk of a node's neighbours over one relationship type, ascending by (neighbour, relationship).
   * `from` is 0 or `chunk.next`.
   */
  neighbours(node: NodeId, direction: Direction, type: SymbolId, from: number, chunk: Chunk): void
  /** The first chunk of those neighbours whose id is `first` or greater; `neighbours` gives what follows it. */
  neighboursFrom(node: NodeId, direction: Direction, type: SymbolId, first: NodeId, chunk: Chunk): void
  /** Exact for small nodes, an estimate within a factor of two for super nodes; 0 only if there is none. */
  degree(node: NodeId, direction: Direction, type: SymbolId): number
  /** All relationships source -[type]-> target, mostly none or one. Reads whichever side is cheaper. */
  relationshipsBetween(source: NodeId, type: SymbolId, target: NodeId, chunk: Chunk): void
  /** Relationship types that the node has in that direction, ascending. */
  relationshipTypesAt(node: NodeId, direction: Direction): readonly SymbolId[]

  // -- reading elements
  hasLabel(node: NodeId, label: SymbolId): boolean
  /** Ascending; the node's type is among them. */
  labels(node: NodeId): readonly SymbolId[]
  /** Null when absent, and where a resolver supplies the value: `nodeStoredProperty` tells the two apart. */
  nodeProperty(node: NodeId, property: SymbolId): PropertyValue | null
  nodeField(node: NodeId, field: ElementField): PropertyValue | null
  /** Of many nodes, in their order: what is read for it is not kept in memory, where it would push out what is asked for often. */
  externalIds(nodes: Iterable<NodeId>): (string | null)[]
  nodeProperties(node: NodeId): ReadonlyMap<string, PropertyValue>
  relationshipType(relationship: RelationshipId): SymbolId
  relationshipSource(relationship: RelationshipId): NodeId
  relationshipTarget(relationship: RelationshipId): NodeId
  relationshipProperty(relationship: RelationshipId, property: SymbolId): PropertyValue | null
  relationshipField(relationship: RelationshipId, field: ElementField): PropertyValue | null
  relationshipProperties(relationship: RelationshipId): ReadonlyMap<string, PropertyValue>

  // -- with what the engine never asks for: metadata, update times and the resolvers of external values
  nodeStoredProperty(node: NodeId, property: SymbolId): StoredProperty | null
  nodeStoredProperties(node: NodeId): ReadonlyMap<string, StoredProperty>
  relationshipStoredProperty(relationship: RelationshipId, property: SymbolId): StoredProperty | null
  relationshipStoredProperties(relationship: RelationshipId): ReadonlyMap<string, StoredProperty>

  // -- counting, for the planner (kept by the writer, exact at commit)
  nodeCount(label: SymbolId | null): number
  relationshipCount(type: SymbolId | null): number
  /** Nodes whose own type it is. Smaller than nodeCount(label) when some nodes carry it as a further label only. */
  typedNodeCount(label: SymbolId): number

  close(): void
}

/** Names an upsert key (ruling G1). */
export interface NodeKey {
  readonly type: string
  readonly externalId: string
}

export interface PropertyMetadata {
  readonly source?: string
  readonly assuranceLevel?: number
  /** RFC 3339. */
  readonly verifiedTime?: string
  /** Free object, JSON. */
  readonly custom?: Readonly<Record<string, unknown>>
}

export interface StoredProperty {
  /** Null when a resolver supplies it at read time. */
  readonly value: PropertyValue | null
  /** The resolver's name. */
  readonly externalValue: string | null
  readonly updatedMs: number
  readonly metadata: PropertyMetadata | null
}

/** Fields of a property's metadata, those of the custom object apart. */
export interface MetadataFields {
  readonly own: readonly Exclude<keyof PropertyMetadata, 'custom'>[]
  readonly custom: readonly string[]
}

/** A property as captured: a value, or the name of an external data resolver that supplies it at read time. */
export interface PropertyInput {
  readonly name: string
  readonly value?: PropertyValue
  readonly externalValue?: string
  readonly metadata?: PropertyMetadata
}

export interface NodeInput extends NodeKey {
  /** Replaces the further labels when given. */
  readonly labels?: readonly string[]
  readonly isIdentity?: boolean
  readonly location?: string
  /** Given properties replace, absent ones stay. */
  readonly properties?: readonly PropertyInput[]
}

/** Names an upsert key (ruling G1). */
export interface RelationshipKey {
  readonly source: NodeKey
  readonly target: NodeKey
  readonly type: string
}

export interface RelationshipInput extends RelationshipKey {
  readonly properties?: readonly PropertyInput[]
}

/** What a write touched: the global id to answer with, and whether it was new. */
export interface UpsertResult {
  readonly id: number
  readonly gid: string
  readonly created: boolean
}

/**
 * Writes of one batch: one transaction, all or nothing. Items apply in the order of the calls and see each other.
 * A fault thrown by the caller's function leaves nothing written.
 */
export interface WriteBatch {
  upsertNode(node: NodeInput): UpsertResult
  /** Null when an end node does not exist; nothing is written then (ruling G2: the caller refuses the batch). */
  upsertRelationship(relationship: RelationshipInput): UpsertResult | null
  // Deletions answer with the global id of the element that they concern, or null when there is none. Deleting what an
  // element does not have leaves it as it is, its update time too.
  /** Its relationships too. */
  deleteNode(key: NodeKey): string | null
  deleteNodeProperties(key: NodeKey, names: readonly string[]): string | null
  deleteNodePropertyMetadata(key: NodeKey, property: string, fields: MetadataFields): string | null
  deleteRelationship(key: RelationshipKey): string | null
  deleteRelationshipProperties(key: RelationshipKey, names: readonly string[]): string | null
  /** A node without upsert key, and relationships by node id (parallels allowed): for graphs that were not captured. */
  createNode(labels: readonly string[], properties: readonly PropertyInput[]): NodeId
  createRelationship(source: NodeId, type: string, target: NodeId, properties: readonly PropertyInput[]): RelationshipId
  /** Reads within the batch, its own writes included. */
  findNode(key: NodeKey): NodeId
  /**
   * The graph that the batch builds on, to be read within the batch; close it there. Null: that graph is not to be read
   * yet, as it has names of a batch that is not committed.
   */
  view(): BatchView | null
}

/**
 * What it finds and walks, and its stamp, are of before the batch: patterns are asked of it before the first write. What
 * it tells of an element that is known by its id is as the batch leaves it so far.
 */
export interface BatchView extends Snapshot {
  /** False once the batch has deleted it, by itself or with its node. */
  hasNode(node: NodeId): boolean
  hasRelationship(relationship: RelationshipId): boolean
}

/** One environment: what the engine reads from and what features write to. */
export interface GraphStore {
  snapshot(): Snapshot
  /** Resolves when the batch is on disk (ruling G9); rejects with the fault that `change` threw, with nothing written. */
  write<T>(change: (batch: WriteBatch) => T): Promise<T>
}

/** A part of a project's graph: what has no location, what all locations share, or the database of a location. */
export type Constituent = 'default' | 'global' | { readonly database: string }

/** How the graph of a project is divided: several locations may share a constituent. */
export interface GraphLayout {
  readonly isComposite: boolean
  readonly locations: ReadonlyMap<string, Constituent>
}

/** The graphs of one project. Locations are logical: where a graph is kept is never told. */
export interface ProjectGraphs {
  /** What has no location, and what conditions see unless they say `USE`. */
  readonly default: GraphStore
  /** Of a composite project: a proxy of every node, and the relationships between locations. Null for other projects. */
  readonly global: GraphStore | null
  /** Null: the project has no such location. */
  at(location: string): GraphStore | null
}
