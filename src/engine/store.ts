// The graph port of the engine: what operators read from a graph, and what features write to it. The store implements it.
import type { ExecutionTime } from '../kernel/request/execution-times.ts'
import type { PropertyValue, Value } from './value/value.ts'

/** Id of a node within one environment: dense and positive. 0: no such node. */
export type NodeId = number
/** Id of a relationship within one environment: dense and positive. 0: no such relationship. */
export type RelationshipId = number
/** Id of an interned name. 0: the graph has never seen the name. */
export type SymbolId = number

/** Labels, relationship types and property names have separate symbol tables. A node type is a label. */
export type SymbolKind = 'label' | 'type' | 'property'

/** Direction of a relationship as seen from a node. */
export type Direction = 'out' | 'in'

/**
 * Fields that an element has in addition to its properties. `type` of a relationship is its relationship type. See
 * docs/decisions/0004-element-fields-and-values.md.
 */
export type ElementField = 'external_id' | 'type' | 'create_time' | 'update_time' | 'is_identity' | 'location' | 'id'

/**
 * A reusable buffer that a snapshot fills with one chunk of ids. The entries 0 to `length - 1` are valid until the next fill of
 * the same buffer. The snapshot grows the arrays as needed.
 */
export interface Chunk {
  /** Node ids. */
  ids: Uint32Array
  /** Parallel to `ids` for neighbours; unused for nodes. */
  relationships: Uint32Array
  /** Number of valid entries. */
  length: number
  /** Whether another chunk follows. Pass `next` as `from` to read it. */
  more: boolean
  /** Position of the next chunk; meaningful only if `more`. */
  next: number
}

/** Returns an empty chunk. */
export function createChunk(): Chunk {
  return { ids: new Uint32Array(16), relationships: new Uint32Array(16), length: 0, more: false, next: 0 }
}

/** Names a state of one graph: equal versions mean equal contents. */
export interface GraphVersion {
  /** Random number of the environment object that wrote the last batch. */
  readonly writer: number
  /** Number of that batch among the batches of its writer. */
  readonly commit: number
}

/**
 * The marker for properties that an external resolver supplies: it is interned as a property name when an element first gets
 * such a property. `name` is the property name, or empty for the marker of any such property. Markers are never removed, so
 * one may exist although no such property is left.
 */
export function externalPropertyName(name: string): string {
  return `\u0000external ${name}`
}

/** One run of a query on the server of a graph. */
export interface PushedRun {
  readonly parameters: ReadonlyMap<string, Value>
  /** Milliseconds. */
  readonly timeMs: number
  /** Of a search: only nodes with greater ids; 0: all. */
  readonly after: NodeId
  /** Rows that the caller reads at most. */
  readonly rowsMax: number
}

/** Executes whole queries where a graph is stored. */
export interface QueryPushdown {
  /** Begins an execution, whose time limit includes its fetches. */
  begin(timeMs: number): ExecutionTime
  /**
   * The rows: at most one for `exists`, one node each for a search, ascending by id, otherwise the columns of the query, each in the
   * form of its slot. Null: the server would not answer as the engine does, which then executes the query itself. Throws
   * ExecutionError as the engine does. `query`: a PushedQuery, which this port cannot name.
   */
  rows(query: object, run: PushedRun): readonly (readonly unknown[])[] | null
}

/**
 * A consistent, read-only view of one environment, valid while it is open. All methods are synchronous. All methods throw
 * DataCorruptionError if what they read is damaged. Features get one from `readGraph` (read-graph.ts), which opens and closes it.
 */
export interface Snapshot {
  /** The same object for all snapshots of one environment. Compiled plans are cached under it. */
  readonly environment: object
  /** While it is unchanged, all resolved symbol ids stay valid, also the 0 of an unknown name. */
  readonly symbolEpoch: number
  /** The version that the snapshot shows. */
  readonly version: GraphVersion
  /** Null for a graph of this process. */
  readonly pushdown: QueryPushdown | null
  /**
   * The time of all statements that read the graph, milliseconds since the Unix epoch. Null: each has the time of its own. Attempts of
   * one request agree on it, so that they read the same.
   */
  readonly statementMs: number | null

  /** The id of a name, or 0. */
  symbol(kind: SymbolKind, name: string): SymbolId
  /** The name of an id that this environment has assigned. */
  symbolName(kind: SymbolKind, id: SymbolId): string
  /** All names that the graph has ever seen, also those that no element has any more, in the order of their first use. */
  symbolNames(kind: SymbolKind): Iterable<string>

  // -- finding nodes. `from` is the lowest node id to return, or `chunk.next` of the chunk before. Ids ascend.
  /** The node with that type and external id, or 0. `label` is the symbol of the node type. */
  findNode(label: SymbolId, externalId: string): NodeId
  /** Fills the next chunk of nodes with a label. */
  nodesWithLabel(label: SymbolId, from: number, chunk: Chunk): void
  /** Fills the next chunk of all nodes. */
  allNodes(from: number, chunk: Chunk): void
  /**
   * Fills the next chunk of nodes with that label whose property equals a scalar, from the property index. The index may also
   * return nodes with a nearly equal value (very large integers, long strings), so the caller has to compare. Trust scores are not
   * indexed: all of them are returned.
   */
  nodesWithProperty(label: SymbolId, property: SymbolId, value: PropertyValue, from: number, chunk: Chunk): void

  // -- expanding
  /**
   * Fills the next chunk of a node's neighbours over one relationship type, ascending by (neighbour, relationship). `from`: 0,
   * or `chunk.next` of the chunk before.
   */
  neighbours(node: NodeId, direction: Direction, type: SymbolId, from: number, chunk: Chunk): void
  /** Fills the first chunk of neighbours with id `first` or greater. `neighbours` reads the following chunks. */
  neighboursFrom(node: NodeId, direction: Direction, type: SymbolId, first: NodeId, chunk: Chunk): void
  /** Number of neighbours: exact for small nodes, within a factor of two for nodes with long lists; 0 only if none exists. */
  degree(node: NodeId, direction: Direction, type: SymbolId): number
  /** Fills the chunk with all relationships source -[type]-> target. Searches the node with the shorter list. */
  relationshipsBetween(source: NodeId, type: SymbolId, target: NodeId, chunk: Chunk): void
  /** The relationship types of a node in that direction, ascending. */
  relationshipTypesAt(node: NodeId, direction: Direction): readonly SymbolId[]

  // -- reading elements. Null, an empty list or 0 if the element does not exist.
  /** Whether the node has the label. */
  hasLabel(node: NodeId, label: SymbolId): boolean
  /** Ascending; includes the node type. */
  labels(node: NodeId): readonly SymbolId[]
  /** The node type, or 0. */
  nodeType(node: NodeId): SymbolId
  /** The names of a node's properties, ascending, also of those that resolvers supply. */
  nodePropertySymbols(node: NodeId): readonly SymbolId[]
  /** Null if the node does not have the property, or if a resolver supplies it (see `nodeStoredProperty`). */
  nodeProperty(node: NodeId, property: SymbolId): PropertyValue | null
  /** A field of a node. Null if it has no value. */
  nodeField(node: NodeId, field: ElementField): PropertyValue | null
  /** External ids in the order of the nodes. Does not fill the cache, so that a large list evicts nothing. */
  externalIds(nodes: Iterable<NodeId>): (string | null)[]
  /** Stored values by property name, without those that resolvers supply. */
  nodeProperties(node: NodeId): ReadonlyMap<string, PropertyValue>
  /** The type, or 0. */
  relationshipType(relationship: RelationshipId): SymbolId
  /** The source node, or 0. */
  relationshipSource(relationship: RelationshipId): NodeId
  /** The target node, or 0. */
  relationshipTarget(relationship: RelationshipId): NodeId
  /** As `nodeProperty`. */
  relationshipProperty(relationship: RelationshipId, property: SymbolId): PropertyValue | null
  /** A field of a relationship. Null if it has no value. */
  relationshipField(relationship: RelationshipId, field: ElementField): PropertyValue | null
  /** As `nodeProperties`. */
  relationshipProperties(relationship: RelationshipId): ReadonlyMap<string, PropertyValue>

  // -- reading properties with metadata, update times and resolvers, which the engine does not use
  /** A property with its metadata, or null. */
  nodeStoredProperty(node: NodeId, property: SymbolId): StoredProperty | null
  /** All properties by name. */
  nodeStoredProperties(node: NodeId): ReadonlyMap<string, StoredProperty>
  /** A property with its metadata, or null. */
  relationshipStoredProperty(relationship: RelationshipId, property: SymbolId): StoredProperty | null
  /** All properties by name. */
  relationshipStoredProperties(relationship: RelationshipId): ReadonlyMap<string, StoredProperty>
  /** A node with everything that is stored of it, read at once, or null. */
  storedNode(node: NodeId): StoredNode | null
  /** A relationship with everything that is stored of it, read at once, or null. */
  storedRelationship(relationship: RelationshipId): StoredRelationship | null

  /**
   * Reads a node for a pass over many nodes, which decodes little of each: a property is decoded when it is asked for. Null if the
   * node does not exist. A graph of this process reuses the object for its next read: `readGraphRows` (read-graph.ts) uses each in time.
   */
  scanNode(node: NodeId): ScannedNode | null

  // -- counting, for the planner. Counts are exact at each commit.
  /** Number of nodes with a label; null: of all nodes. */
  nodeCount(label: SymbolId | null): number
  /** Number of relationships of a type; null: of all relationships. */
  relationshipCount(type: SymbolId | null): number
  /** Number of nodes whose type this is. Nodes that have it only as a further label are not counted. */
  typedNodeCount(label: SymbolId): number
  /** Whether a resolver may supply properties of that name; `''` stands for any name. For a search, which is then confirmed by checks. */
  mayBeSupplied(property: string): boolean
  /** Whether it is certain that each node with the label has it as its type. */
  isOnlyType(label: SymbolId): boolean
  /** Whether some element has ever had the name. A graph in a database server has a symbol for any name. */
  hasSeen(kind: SymbolKind, name: string): boolean
}

/**
 * A snapshot that its opener closes. Open, use and close it within one turn of the event loop, without an `await`.
 *
 * @example
 * const snapshot = store.snapshot()
 * try {
 *   console.log(snapshot.nodeCount(null))
 * } finally {
 *   snapshot.close()
 * }
 */
export interface OpenSnapshot extends Snapshot {
  /** Ends the snapshot. Further calls have no effect. */
  close(): void
}

/** Identifies a node: type and external id are unique together. */
export interface NodeKey {
  /** The node type, which is also a label. */
  readonly type: string
  /** At most 1,024 characters. */
  readonly externalId: string
}

/** Metadata of a property. */
export interface PropertyMetadata {
  /** Where the value comes from. */
  readonly source?: string
  /** Assurance level of the value. */
  readonly assuranceLevel?: number
  /** RFC 3339. */
  readonly verifiedTime?: string
  /** Any JSON object. */
  readonly custom?: Readonly<Record<string, unknown>>
}

/** A property as stored. */
export interface StoredProperty {
  /** Null if a resolver supplies the value when it is read. */
  readonly value: PropertyValue | null
  /** Name of the resolver, or null. */
  readonly externalValue: string | null
  /** Time of the last change in milliseconds since the epoch. */
  readonly updatedMs: number
  /** Null if none was given. */
  readonly metadata: PropertyMetadata | null
}

/** The fields of a stored element that nodes and relationships share. */
interface StoredElement {
  /** The global id. */
  readonly id: string
  /** RFC 3339. */
  readonly createTime: string
  /** RFC 3339. */
  readonly updateTime: string
  /** The same in milliseconds since the epoch. */
  readonly updatedMs: number
  /** All properties by name. */
  readonly properties: ReadonlyMap<string, StoredProperty>
}

/** A property of a scanned node. `value` and `metadata` are decoded when they are read. */
export interface ScannedProperty extends StoredProperty {
  readonly name: string
}

/** A node that is read for a pass over many nodes. */
export interface ScannedNode {
  /** 0 for a node without upsert key. */
  readonly type: SymbolId
  /** Empty for a node without upsert key. */
  readonly externalId: string
  /** The global id. */
  readonly id: string
  /** The logical location, or null. */
  readonly location: string | null
  /** Milliseconds since the epoch. */
  readonly updatedMs: number
  /** In the order of their symbols. */
  readonly properties: readonly ScannedProperty[]
}

/** A node with everything that is stored of it. */
export interface StoredNode extends StoredElement {
  /** Null for a node without upsert key. */
  readonly type: string | null
  /** Null for a node without upsert key. */
  readonly externalId: string | null
  /** Includes the type. */
  readonly labels: readonly string[]
  /** Whether the node is an identity (a subject). */
  readonly isIdentity: boolean
  /** The logical location, or null. */
  readonly location: string | null
}

/** A relationship with everything that is stored of it. */
export interface StoredRelationship extends StoredElement {
  /** The relationship type. */
  readonly type: string
  /** The start node. */
  readonly source: NodeId
  /** The end node. */
  readonly target: NodeId
}

/** Names of metadata fields. */
export interface MetadataFields {
  /** Fields of PropertyMetadata. */
  readonly own: readonly Exclude<keyof PropertyMetadata, 'custom'>[]
  /** Keys of the custom object. */
  readonly custom: readonly string[]
}

/** A property to write: a value, or the name of an external data resolver that supplies it when it is read. */
export interface PropertyInput {
  /** Name of the property. */
  readonly name: string
  /** The value. Exactly one of `value` and `externalValue` is given. */
  readonly value?: PropertyValue
  /** Name of the resolver. */
  readonly externalValue?: string
  /** Replaces the metadata; if missing, the metadata is removed. */
  readonly metadata?: PropertyMetadata
}

/**
 * A node to upsert. Missing fields keep their values.
 *
 * @example
 * const car: NodeInput = { type: 'Car', externalId: 'c-1', properties: [{ name: 'wheels', value: 4 }] }
 */
export interface NodeInput extends NodeKey {
  /** Replaces the labels other than the type. */
  readonly labels?: readonly string[]
  /** Whether the node is an identity (a subject). */
  readonly isIdentity?: boolean
  /** The logical location, in a composite project. */
  readonly location?: string
  /** Replaces the given properties; others keep their values. */
  readonly properties?: readonly PropertyInput[]
}

/** Identifies a relationship: end nodes and type are unique together. */
export interface RelationshipKey {
  /** The start node. */
  readonly source: NodeKey
  /** The end node. */
  readonly target: NodeKey
  /** The relationship type. */
  readonly type: string
}

/**
 * A relationship to upsert.
 *
 * @example
 * const owns: RelationshipInput = {
 *   source: { type: 'Person', externalId: 'ann' },
 *   type: 'OWNS',
 *   target: { type: 'Car', externalId: 'c-1' },
 * }
 */
export interface RelationshipInput extends RelationshipKey {
  /** Replaces the given properties; others keep their values. */
  readonly properties?: readonly PropertyInput[]
}

/** The result of an upsert. */
export interface UpsertResult {
  /** Id of the node or relationship. */
  readonly id: number
  /** The global id, with its prefix `gid:`. */
  readonly gid: string
  /** False if the element existed before. */
  readonly created: boolean
}

/** The fields that the images of nodes and relationships share. */
interface ElementImage {
  /** The global id, with its prefix `gid:`. */
  readonly id: string
  /** Node type or relationship type; empty for a node without key. */
  readonly type: string
  /** Milliseconds since the epoch. */
  readonly createdMs: number
  /** Milliseconds since the epoch. */
  readonly updatedMs: number
  /** The value of a property; null if the element does not have it, or if a resolver supplies it. */
  property(name: string): PropertyValue | null
  /** All properties by name. */
  properties(): ReadonlyMap<string, StoredProperty>
}

/** A node as it was before a batch, or as the batch leaves it. Valid within the batch. */
export interface NodeImage extends ElementImage {
  /** Empty for a node without key. */
  readonly externalId: string
  /** Names of all labels; includes the type. */
  readonly labels: readonly string[]
  readonly isIdentity: boolean
  /** The logical location, or null. */
  readonly location: string | null
}

/** A relationship as it was before a batch, or as the batch leaves it. Valid within the batch. */
export interface RelationshipImage extends ElementImage {
  readonly source: NodeKey
  readonly target: NodeKey
}

/** One element that a batch has created (`before` is null), updated, or deleted (`after` is null). */
export type ElementChange =
  | { readonly element: 'node'; readonly before: NodeImage | null; readonly after: NodeImage | null }
  | {
      readonly element: 'relationship'
      readonly before: RelationshipImage | null
      readonly after: RelationshipImage | null
    }

/** A batch after its writes, before they are committed. */
export interface WrittenBatch extends Pick<WriteBatch, 'appendEvents'> {
  /**
   * All changes of the batch, one for each element: deletions before other changes, and nodes exist whenever a relationship
   * between them does.
   */
  changes(): Iterable<ElementChange>
}

/**
 * The writes of one batch: one transaction, all or nothing. Writes are applied in the order of the calls and see each other. If
 * the caller's function throws, nothing is written. A batch is valid only within that function. See
 * docs/decisions/0003-capture-semantics.md.
 *
 * Each deletion returns the global id of the element, or null if it does not exist. Deleting something that an element does
 * not have changes nothing, not even its update time.
 *
 * @example
 * await store.write((batch) => {
 *   batch.upsertNode({ type: 'Person', externalId: 'ann' })
 *   batch.deleteNode({ type: 'Car', externalId: 'c-2' })
 * })
 */
export interface WriteBatch {
  /** Creates the node, or updates the existing one. */
  upsertNode(node: NodeInput): UpsertResult
  /** Creates or updates a relationship. Returns null and writes nothing if an end node does not exist. */
  upsertRelationship(relationship: RelationshipInput): UpsertResult | null
  /** Deletes the node and its relationships. */
  deleteNode(key: NodeKey): string | null
  /** Deletes the named properties of a node. */
  deleteNodeProperties(key: NodeKey, names: readonly string[]): string | null
  /** Deletes fields of the metadata of a property. */
  deleteNodePropertyMetadata(key: NodeKey, property: string, fields: MetadataFields): string | null
  /** Deletes the relationship, with parallel ones. */
  deleteRelationship(key: RelationshipKey): string | null
  /** Deletes the named properties of a relationship. */
  deleteRelationshipProperties(key: RelationshipKey, names: readonly string[]): string | null
  /** Creates a node without upsert key, for graphs that are not captured. */
  createNode(labels: readonly string[], properties: readonly PropertyInput[]): NodeId
  /** Creates a relationship by node ids. Parallel relationships are allowed. */
  createRelationship(source: NodeId, type: string, target: NodeId, properties: readonly PropertyInput[]): RelationshipId
  /**
   * Appends a record of `count` events to the outbox of the graph: it is on disk exactly if the batch is. Returns the sequence of
   * the first event; the sequences of a stream have no holes. `record` is stored as it is. `stream`: absent: that of event sinks.
   */
  appendEvents(record: Uint8Array | string, count: number, stream?: string): number
  /** The node with that key, with the writes of this batch, or null. */
  nodeImage(key: NodeKey): NodeImage | null
  /** The relationship with that key, with the writes of this batch, or null. */
  relationshipImage(key: RelationshipKey): RelationshipImage | null
  /** The node with that key, with the writes of this batch, or 0. */
  findNode(key: NodeKey): NodeId
  /** Whether a node exists, with the writes of this batch. */
  hasNode(node: NodeId): boolean
  /**
   * A view of the graph that the batch builds on. Close it within the batch. Null if that graph contains symbols of an earlier
   * batch that is not committed yet. The caller then ends the batch and tries again.
   */
  view(): BatchView | null
}

/**
 * The view that a batch has of its graph. Finding, expanding and `version` show the graph before the batch, so patterns must be matched
 * before the first write. Reads of an element by its id show it with the writes of the batch.
 */
export interface BatchView extends OpenSnapshot {
  /**
   * Milliseconds that reads of a changed graph may take within the batch, because other writers wait. Infinity: a `version` other
   * than that of a snapshot does not mean that the graph has changed, so the reads belong into the batch.
   */
  readonly readsMaxMs: number
  /** False after the batch has deleted the node. */
  hasNode(node: NodeId): boolean
  /** False after the batch has deleted the relationship or one of its end nodes. */
  hasRelationship(relationship: RelationshipId): boolean
}

/**
 * The result of a look (read-graph.ts), which may be run again from the start: a value that is complete when the look ends. Excluded are
 * promises and generators, which continue later, and snapshots, which are closed. `void` is excluded too: a look without a result would
 * exist for its effects, and a look has none.
 */
export type LookResult =
  | string
  | number
  | boolean
  | bigint
  | null
  | undefined
  | (object & { readonly then?: never; readonly throw?: never; readonly symbolNames?: never })

/**
 * One graph: what the engine reads and features write.
 *
 * @example
 * const store: GraphStore = openStore('./graph')
 * const graph = new Graph(store)
 */
export interface GraphStore {
  /** True for a graph in a database server, whose snapshots throw PendingReadsError for data that was not fetched. */
  readonly isRemote?: true
  /** A snapshot of the latest commit. Features call `readGraph` (read-graph.ts) instead. */
  snapshot(): OpenSnapshot
  /**
   * Runs `change`, which must be synchronous, as one batch. A graph in a database server may run it several times, each time with
   * a new batch, so it must have no other effects than its result. Resolves with its result when the batch is on disk. Rejects with
   * what `change` throws, or with StorageWriteError if the disk refuses the batch; then nothing is written.
   */
  write<T>(change: (batch: WriteBatch) => T): Promise<T>
}
