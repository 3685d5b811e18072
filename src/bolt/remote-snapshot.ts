// A snapshot of a graph in a database server: what a request has fetched so far. A read of anything else requires a fetch and ends
// the attempt. The database may change between two fetches; `version` tells whether one of the services has written.
import type {
  BatchView,
  Chunk,
  Direction,
  ElementField,
  GraphVersion,
  NodeId,
  QueryPushdown,
  RelationshipId,
  ScannedNode,
  StoredNode,
  StoredProperty,
  StoredRelationship,
  SymbolId,
  SymbolKind,
} from '../engine/store.ts'
import { externalPropertyName } from '../engine/store.ts'
import type { PropertyValue } from '../engine/value/value.ts'
import { timestamp } from '../kernel/time/clock.ts'
import type { NodeRecord, RelationshipRecord, StoredProperties } from '../store/format/records.ts'
import { clearChunk, ensureCapacity } from '../store/graph/fill-chunk.ts'
import type { FetchedGraph, FetchedNodes, FetchRequests } from './fetched-graph.ts'
import { isQuotable } from './print/names.ts'

const CHUNK = 1_024
const EXTERNAL_PREFIX = externalPropertyName('')

/** Elements that a batch has changed. */
interface OverlaidElements {
  /** Undefined: not changed; null: deleted. */
  node(id: NodeId): NodeRecord | null | undefined
  relationship(id: RelationshipId): RelationshipRecord | null | undefined
}

const noChanges: OverlaidElements = { node: () => undefined, relationship: () => undefined }

/** A snapshot, or the view of a batch. The methods are documented at the port. */
export class RemoteSnapshot implements BatchView {
  /** Each attempt has a version of its own. */
  readonly readsMaxMs = Number.POSITIVE_INFINITY
  readonly environment: object
  readonly symbolEpoch: number
  readonly version: GraphVersion
  readonly pushdown: QueryPushdown | null
  readonly statementMs: number
  private readonly fetched: FetchedGraph
  private readonly requests: FetchRequests
  private readonly changes: OverlaidElements

  /** `environment`: the graph. `version`: of the attempt, different for each. `statementMs`: the same for all attempts. */
  constructor(
    environment: object,
    fetched: FetchedGraph,
    requests: FetchRequests,
    version: GraphVersion,
    statementMs: number,
    pushdown: QueryPushdown | null,
    changes: OverlaidElements = noChanges,
  ) {
    this.environment = environment
    this.fetched = fetched
    this.requests = requests
    this.version = version
    this.statementMs = statementMs
    this.pushdown = pushdown
    this.changes = changes
    this.symbolEpoch = fetched.symbols.epoch
  }

  close(): void {}

  // -- names

  symbol(kind: SymbolKind, name: string): SymbolId {
    // Plans are kept while resolvers begin to supply properties, so the marker of such a property always exists: whether an element
    // has one is read with the element.
    if (kind === 'property' && name.startsWith(EXTERNAL_PREFIX)) return this.fetched.symbols.intern(kind, name)
    if (kind !== 'property' && !isQuotable(name)) return 0
    // A check of names has fetched which exist; any other reader asks for a name that it will then look for.
    if (this.fetched.isUnknownName(kind, name)) return 0
    return this.fetched.symbols.intern(kind, name)
  }

  mayBeSupplied(property: string): boolean {
    const { externalNames } = this.fetched.state(this.requests)
    return property === '' ? externalNames.size > 0 : externalNames.has(property)
  }

  symbolName(kind: SymbolKind, id: SymbolId): string {
    return this.fetched.symbols.name(kind, id)
  }

  hasSeen(kind: SymbolKind, name: string): boolean {
    return Array.from(this.symbolNames(kind)).includes(name)
  }

  symbolNames(kind: SymbolKind): Iterable<string> {
    return this.fetched.symbolNames(kind, this.requests)
  }

  // -- finding

  findNode(label: SymbolId, externalId: string): NodeId {
    return label === 0 ? 0 : this.fetched.findNode(this.symbolName('label', label), externalId, this.requests)
  }

  nodesWithLabel(label: SymbolId, from: number, chunk: Chunk): void {
    if (label === 0) clearChunk(chunk)
    else this.scan(this.symbolName('label', label), null, from, chunk)
  }

  allNodes(from: number, chunk: Chunk): void {
    this.scan(null, null, from, chunk)
  }

  nodesWithProperty(label: SymbolId, property: SymbolId, value: PropertyValue, from: number, chunk: Chunk): void {
    if (label === 0 || property === 0) clearChunk(chunk)
    else this.scan(this.symbolName('label', label), [this.symbolName('property', property), value], from, chunk)
  }

  private scan(
    label: string | null,
    property: readonly [string, PropertyValue] | null,
    from: NodeId,
    chunk: Chunk,
  ): void {
    const indexIn = ({ nodes }: FetchedNodes): number => lowerBound(nodes, from)
    let list = this.fetched.scan(label, property, 0, this.requests)
    const index = indexIn(list)
    if (index >= list.nodes.length) list = this.fetched.scan(label, property, index, this.requests)
    clearChunk(chunk)
    ensureCapacity(chunk, CHUNK)
    for (let at = index; at < list.nodes.length && chunk.length < CHUNK; at++) {
      chunk.ids[chunk.length++] = list.nodes[at]!
    }
    const end = index + chunk.length
    chunk.more = end < list.nodes.length || !list.isComplete
    chunk.next = (list.nodes[end - 1] ?? from) + 1
  }

  // -- expanding

  neighbours(node: NodeId, direction: Direction, type: SymbolId, from: number, chunk: Chunk): void {
    clearChunk(chunk)
    if (type === 0 || node === 0) return
    const list = this.fetched.neighbours(node, direction, this.symbolName('type', type), from, this.requests)
    ensureCapacity(chunk, CHUNK)
    for (let at = from; at < list.nodes.length && chunk.length < CHUNK; at++) {
      chunk.ids[chunk.length] = list.nodes[at]!
      chunk.relationships[chunk.length++] = list.relationships[at]!
    }
    chunk.next = from + chunk.length
    chunk.more = chunk.next < list.nodes.length || !list.isComplete
  }

  neighboursFrom(node: NodeId, direction: Direction, type: SymbolId, first: NodeId, chunk: Chunk): void {
    clearChunk(chunk)
    if (type === 0 || node === 0) return
    const name = this.symbolName('type', type)
    let index = 0
    for (let isFound = false; !isFound; ) {
      const list = this.fetched.neighbours(node, direction, name, index, this.requests)
      index = lowerBound(list.nodes, first)
      isFound = index < list.nodes.length || list.isComplete
    }
    this.neighbours(node, direction, type, index, chunk)
  }

  degree(node: NodeId, direction: Direction, type: SymbolId): number {
    if (type === 0 || node === 0) return 0
    return this.fetched.neighbours(node, direction, this.symbolName('type', type), 0, this.requests).nodes.length
  }

  relationshipsBetween(source: NodeId, type: SymbolId, target: NodeId, chunk: Chunk): void {
    clearChunk(chunk)
    if (type === 0 || source === 0 || target === 0) return
    const name = this.symbolName('type', type)
    for (let index = 0; ; ) {
      const list = this.fetched.neighbours(source, 'out', name, index, this.requests)
      for (; index < list.nodes.length && list.nodes[index]! <= target; index++) {
        if (list.nodes[index] !== target) continue
        ensureCapacity(chunk, chunk.length + 1)
        chunk.ids[chunk.length] = target
        chunk.relationships[chunk.length++] = list.relationships[index]!
      }
      if (index < list.nodes.length || list.isComplete) return
    }
  }

  relationshipTypesAt(node: NodeId, direction: Direction): readonly SymbolId[] {
    return node === 0 ? [] : this.fetched.relationshipTypes(node, direction, this.requests)
  }

  // -- reading elements

  private node(id: NodeId): NodeRecord | null {
    const changed = this.changes.node(id)
    return changed === undefined ? this.fetched.node(id, this.requests) : changed
  }

  private relationship(id: RelationshipId): RelationshipRecord | null {
    const changed = this.changes.relationship(id)
    return changed === undefined ? this.fetched.relationship(id, this.requests) : changed
  }

  hasNode(node: NodeId): boolean {
    return this.node(node) !== null
  }

  hasRelationship(relationship: RelationshipId): boolean {
    const record = this.relationship(relationship)
    return record !== null && this.changes.node(record.source) !== null && this.changes.node(record.target) !== null
  }

  hasLabel(node: NodeId, label: SymbolId): boolean {
    return this.node(node)?.labels.includes(label) ?? false
  }

  labels(node: NodeId): readonly SymbolId[] {
    return this.node(node)?.labels ?? []
  }

  nodeType(node: NodeId): SymbolId {
    return this.node(node)?.type ?? 0
  }

  nodePropertySymbols(node: NodeId): readonly SymbolId[] {
    return [...(this.node(node)?.properties.keys() ?? [])].sort((a, b) => a - b)
  }

  nodeProperty(node: NodeId, property: SymbolId): PropertyValue | null {
    return this.node(node)?.properties.get(property)?.value ?? null
  }

  nodeField(node: NodeId, field: ElementField): PropertyValue | null {
    const record = this.node(node)
    if (record === null) return null
    switch (field) {
      case 'external_id':
        return record.type === 0 ? null : record.externalId
      case 'type':
        return record.type === 0 ? null : this.symbolName('label', record.type)
      case 'is_identity':
        return record.isIdentity
      case 'location':
        return record.location
      default:
        return fieldOf(field, record)
    }
  }

  externalIds(nodes: Iterable<NodeId>): (string | null)[] {
    return Array.from(nodes, (node) => this.nodeField(node, 'external_id') as string | null)
  }

  nodeProperties(node: NodeId): ReadonlyMap<string, PropertyValue> {
    return this.values(this.node(node))
  }

  nodeStoredProperty(node: NodeId, property: SymbolId): StoredProperty | null {
    return this.node(node)?.properties.get(property) ?? null
  }

  nodeStoredProperties(node: NodeId): ReadonlyMap<string, StoredProperty> {
    return this.byName(this.node(node)?.properties)
  }

  relationshipType(relationship: RelationshipId): SymbolId {
    return this.relationship(relationship)?.type ?? 0
  }

  relationshipSource(relationship: RelationshipId): NodeId {
    return this.relationship(relationship)?.source ?? 0
  }

  relationshipTarget(relationship: RelationshipId): NodeId {
    return this.relationship(relationship)?.target ?? 0
  }

  relationshipProperty(relationship: RelationshipId, property: SymbolId): PropertyValue | null {
    return this.relationship(relationship)?.properties.get(property)?.value ?? null
  }

  relationshipField(relationship: RelationshipId, field: ElementField): PropertyValue | null {
    const record = this.relationship(relationship)
    if (record === null) return null
    return field === 'type' ? this.symbolName('type', record.type) : fieldOf(field, record)
  }

  relationshipProperties(relationship: RelationshipId): ReadonlyMap<string, PropertyValue> {
    return this.values(this.relationship(relationship))
  }

  relationshipStoredProperty(relationship: RelationshipId, property: SymbolId): StoredProperty | null {
    return this.relationship(relationship)?.properties.get(property) ?? null
  }

  relationshipStoredProperties(relationship: RelationshipId): ReadonlyMap<string, StoredProperty> {
    return this.byName(this.relationship(relationship)?.properties)
  }

  storedNode(node: NodeId): StoredNode | null {
    const record = this.node(node)
    if (record === null) return null
    const { type, externalId, labels, isIdentity, location } = record
    return {
      ...this.storedElement(record),
      type: type === 0 ? null : this.symbolName('label', type),
      externalId: type === 0 ? null : externalId,
      labels: labels.map((label) => this.symbolName('label', label)),
      isIdentity,
      location,
    }
  }

  storedRelationship(relationship: RelationshipId): StoredRelationship | null {
    const record = this.relationship(relationship)
    if (record === null) return null
    const { type, source, target } = record
    return { ...this.storedElement(record), type: this.symbolName('type', type), source, target }
  }

  private storedElement({ gid, createdMs, updatedMs, properties }: NodeRecord | RelationshipRecord) {
    return {
      id: gid,
      createTime: timeText(createdMs) ?? '',
      updateTime: timeText(updatedMs) ?? '',
      updatedMs,
      properties: this.byName(properties),
    }
  }

  scanNode(node: NodeId): ScannedNode | null {
    const record = this.node(node)
    if (record === null) return null
    const { type, externalId, gid, location, updatedMs, properties } = record
    const named = [...this.byName(properties)].map(([name, property]) => ({ name, ...property }))
    return { type, externalId, id: gid, location, updatedMs, properties: named }
  }

  private byName(properties: StoredProperties | undefined): ReadonlyMap<string, StoredProperty> {
    const entries = [...(properties ?? [])].sort(([a], [b]) => a - b)
    return new Map(entries.map(([symbol, property]) => [this.symbolName('property', symbol), property]))
  }

  private values(record: { readonly properties: StoredProperties } | null): ReadonlyMap<string, PropertyValue> {
    const values = new Map<string, PropertyValue>()
    for (const [name, { value }] of this.byName(record?.properties)) if (value !== null) values.set(name, value)
    return values
  }

  // -- counting

  nodeCount(label: SymbolId | null): number {
    return this.fetched.count('node', label === null ? null : this.symbolName('label', label), this.requests)
  }

  relationshipCount(type: SymbolId | null): number {
    return this.fetched.count('relationship', type === null ? null : this.symbolName('type', type), this.requests)
  }

  typedNodeCount(label: SymbolId): number {
    return this.fetched.count('typed', this.symbolName('label', label), this.requests)
  }

  /** Counts are not those of the moment in which the nodes are read. */
  isOnlyType(): boolean {
    return false
  }
}

function timeText(ms: number): string | null {
  return Number.isNaN(ms) ? null : timestamp(ms)
}

function fieldOf(
  field: ElementField,
  { gid, createdMs, updatedMs }: NodeRecord | RelationshipRecord,
): PropertyValue | null {
  switch (field) {
    case 'create_time':
      return timeText(createdMs)
    case 'update_time':
      return timeText(updatedMs)
    case 'id':
      return gid === '' ? null : gid
    default:
      return null
  }
}

/** The index of the first id that is at least `first`. */
function lowerBound(ids: readonly number[], first: number): number {
  let low = 0
  let high = ids.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (ids[middle]! < first) low = middle + 1
    else high = middle
  }
  return low
}
