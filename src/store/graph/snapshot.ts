// A snapshot on one read transaction. Each method of the port reads one or two packed values, or the cache if the cache has
// the version of the snapshot.
import type {
  Chunk,
  ElementField,
  NodeId,
  OpenSnapshot,
  RelationshipId,
  ScannedNode,
  StoredNode,
  StoredProperty,
  StoredRelationship,
  SymbolId,
  SymbolKind,
} from '../../engine/store.ts'
import { externalPropertyName } from '../../engine/store.ts'
import type { PropertyValue } from '../../engine/value/value.ts'
import { timestamp } from '../../kernel/time/clock.ts'
import { COLUMN, countKey } from '../cache/graph-cache.ts'
import type { ValueView } from '../format/bytes.ts'
import { type EnvironmentHeader, type GraphVersion, readHeader } from '../format/header.ts'
import { EXTERNAL_ID_UNITS_MAX, type SymbolKey, type UpsertKey, upsertKeyText } from '../format/keys.ts'
import * as records from '../format/records.ts'
import type { Database } from '../lmdb/database.ts'
import { HEADER_KEY, META_KIND } from '../lmdb/databases.ts'
import type { ReadTransaction } from '../lmdb/environment-file.ts'
import { AdjacencyReader } from './adjacency-reader.ts'
import { clearChunk } from './fill-chunk.ts'
import * as labels from './label-index.ts'
import type { SnapshotSource } from './version-reader.ts'

// Reused by all snapshots: reads are synchronous, and no key is kept after the call.
const upsertKey: UpsertKey = { type: 0, externalId: '' }
const metaKey: SymbolKey = { kind: 0, symbol: 0 }

/** A snapshot of an LmdbEnvironment. The methods are documented at the port (`Snapshot`). */
export class LmdbSnapshot extends AdjacencyReader implements OpenSnapshot {
  readonly symbolEpoch: number

  get pushdown(): null {
    return null
  }

  get statementMs(): null {
    return null
  }

  constructor(source: SnapshotSource, view: ReadTransaction, epoch: number, version: GraphVersion) {
    super(source, view, epoch, version)
    this.symbolEpoch = source.symbols.epoch
  }

  symbol(kind: SymbolKind, name: string): SymbolId {
    return this.source.symbols.id(kind, name)
  }

  hasSeen(kind: SymbolKind, name: string): boolean {
    return this.symbol(kind, name) !== 0
  }

  symbolNames(kind: SymbolKind): Iterable<string> {
    return this.source.symbols.allNames(kind)
  }

  symbolName(kind: SymbolKind, id: SymbolId): string {
    return this.source.symbols.name(kind, id)
  }

  // -- finding

  findNode(label: SymbolId, externalId: string): NodeId {
    if (label === 0 || externalId.length > EXTERNAL_ID_UNITS_MAX) return 0
    const key = upsertKeyText(externalId)
    const hot = this.isCacheCurrent
    if (hot) {
      const cached = this.cache.keys.find(label, key) ?? this.cache.absent.find(label, key)
      if (cached !== undefined) return cached
    }
    upsertKey.type = label
    upsertKey.externalId = key
    const node = this.read(this.databases.upsertKeys, upsertKey)?.words[0] ?? 0
    if (hot) {
      if (node === 0) this.cache.absent.put(label, key, 0)
      else this.cache.keys.put(label, key, node)
    }
    return node
  }

  nodesWithLabel(label: SymbolId, from: number, chunk: Chunk): void {
    if (label === 0) clearChunk(chunk)
    else labels.nodesWithLabel(this, label, from, chunk)
  }

  allNodes(from: number, chunk: Chunk): void {
    labels.nodesWithLabel(this, 0, from, chunk)
  }

  nodesWithProperty(label: SymbolId, property: SymbolId, value: PropertyValue, from: number, chunk: Chunk): void {
    if (label === this.source.symbols.unindexedLabel) this.nodesWithLabel(label, from, chunk)
    else labels.nodesWithProperty(this, label, property, value, from, chunk)
  }

  // -- reading elements

  private record(database: Database<number>, id: number): ValueView | null {
    const valueView = this.read(database, id)
    if (valueView !== null) records.checkVersion(valueView)
    return valueView
  }

  hasLabel(node: NodeId, label: SymbolId): boolean {
    return label !== 0 && labels.hasLabel(this, node, label)
  }

  labels(node: NodeId): readonly SymbolId[] {
    const valueView = this.record(this.databases.nodes, node)
    return valueView === null ? [] : records.labelsOf(valueView)
  }

  nodeType(node: NodeId): SymbolId {
    const valueView = this.record(this.databases.nodes, node)
    return valueView === null ? 0 : records.typeOf(valueView)
  }

  nodePropertySymbols(node: NodeId): readonly SymbolId[] {
    const valueView = this.record(this.databases.nodes, node)
    return valueView === null ? [] : records.propertySymbolsOf(valueView)
  }

  nodeProperty(node: NodeId, property: SymbolId): PropertyValue | null {
    return property === 0 ? null : this.nodeColumn(node, COLUMN.firstProperty + property)
  }

  private nodeColumn(node: NodeId, column: number): PropertyValue | null {
    const hot = this.isCacheCurrent
    const { nodes } = this.cache
    if (hot) {
      const cached = nodes.find(column, node)
      if (cached !== undefined) return cached
    }
    const valueView = this.record(this.databases.nodes, node)
    const value = valueView === null ? null : this.readColumn(valueView, column)
    if (hot) nodes.put(column, node, value)
    return value
  }

  private readColumn(valueView: ValueView, column: number): PropertyValue | null {
    if (column >= COLUMN.firstProperty) return records.propertyOf(valueView, column - COLUMN.firstProperty)
    const type = records.typeOf(valueView)
    if (type === 0) return null
    return column === COLUMN.type ? this.symbolName('label', type) : records.externalIdOf(valueView)
  }

  nodeField(node: NodeId, field: ElementField): PropertyValue | null {
    if (field === 'external_id') return this.nodeColumn(node, COLUMN.externalId)
    if (field === 'type') return this.nodeColumn(node, COLUMN.type)
    const valueView = this.record(this.databases.nodes, node)
    if (valueView === null) return null
    switch (field) {
      case 'is_identity':
        return records.isIdentityOf(valueView)
      case 'location':
        return records.locationOf(valueView)
      default:
        return sharedField(field, new StoredFields(valueView))
    }
  }

  externalIds(nodes: Iterable<NodeId>): (string | null)[] {
    const ids: (string | null)[] = []
    const hot = this.isCacheCurrent
    for (const node of nodes) {
      const cached = hot ? this.cache.nodes.find(COLUMN.externalId, node) : undefined
      if (cached !== undefined) ids.push(cached as string | null)
      else {
        const valueView = this.record(this.databases.nodes, node)
        ids.push(valueView === null || records.typeOf(valueView) === 0 ? null : records.externalIdOf(valueView))
      }
    }
    return ids
  }

  nodeProperties(node: NodeId): ReadonlyMap<string, PropertyValue> {
    return this.named(this.record(this.databases.nodes, node))
  }

  nodeStoredProperty(node: NodeId, property: SymbolId): StoredProperty | null {
    const valueView = this.record(this.databases.nodes, node)
    return valueView === null ? null : records.storedPropertyOf(valueView, property)
  }

  relationshipType(relationship: RelationshipId): SymbolId {
    const valueView = this.record(this.databases.relationships, relationship)
    return valueView === null ? 0 : records.typeOf(valueView)
  }

  relationshipSource(relationship: RelationshipId): NodeId {
    const valueView = this.record(this.databases.relationships, relationship)
    return valueView === null ? 0 : records.sourceOf(valueView)
  }

  relationshipTarget(relationship: RelationshipId): NodeId {
    const valueView = this.record(this.databases.relationships, relationship)
    return valueView === null ? 0 : records.targetOf(valueView)
  }

  relationshipProperty(relationship: RelationshipId, property: SymbolId): PropertyValue | null {
    if (property === 0) return null
    const hot = this.isCacheCurrent
    const { relationships } = this.cache
    const column = COLUMN.firstProperty + property
    if (hot) {
      const cached = relationships.find(column, relationship)
      if (cached !== undefined) return cached
    }
    const valueView = this.record(this.databases.relationships, relationship)
    const value = valueView === null ? null : records.propertyOf(valueView, property)
    if (hot) relationships.put(column, relationship, value)
    return value
  }

  relationshipField(relationship: RelationshipId, field: ElementField): PropertyValue | null {
    const valueView = this.record(this.databases.relationships, relationship)
    if (valueView === null) return null
    return field === 'type'
      ? this.symbolName('type', records.typeOf(valueView))
      : sharedField(field, new StoredFields(valueView))
  }

  relationshipProperties(relationship: RelationshipId): ReadonlyMap<string, PropertyValue> {
    return this.named(this.record(this.databases.relationships, relationship))
  }

  relationshipStoredProperty(relationship: RelationshipId, property: SymbolId): StoredProperty | null {
    const valueView = this.record(this.databases.relationships, relationship)
    return valueView === null ? null : records.storedPropertyOf(valueView, property)
  }

  nodeStoredProperties(node: NodeId): ReadonlyMap<string, StoredProperty> {
    return this.stored(this.record(this.databases.nodes, node))
  }

  relationshipStoredProperties(relationship: RelationshipId): ReadonlyMap<string, StoredProperty> {
    return this.stored(this.record(this.databases.relationships, relationship))
  }

  storedNode(node: NodeId): StoredNode | null {
    const valueView = this.read(this.databases.nodes, node)
    return valueView === null ? null : this.nodeOf(records.readNode(valueView))
  }

  scanNode(node: NodeId): ScannedNode | null {
    const valueView = this.record(this.databases.nodes, node)
    return valueView === null ? null : this.source.nodeScan.of(valueView, this.source.symbols)
  }

  storedRelationship(relationship: RelationshipId): StoredRelationship | null {
    const valueView = this.read(this.databases.relationships, relationship)
    return valueView === null ? null : this.relationshipOf(records.readRelationship(valueView))
  }

  /** Converts a decoded record for the port. */
  protected nodeOf(record: records.NodeRecord): StoredNode {
    const { type, externalId, labels, isIdentity, location } = record
    return {
      ...this.elementOf(record),
      type: type === 0 ? null : this.symbolName('label', type),
      externalId: type === 0 ? null : externalId,
      labels: labels.map((label) => this.symbolName('label', label)),
      isIdentity,
      location,
    }
  }

  /** Converts a decoded record for the port. */
  protected relationshipOf(record: records.RelationshipRecord): StoredRelationship {
    const { type, source, target } = record
    return { ...this.elementOf(record), type: this.symbolName('type', type), source, target }
  }

  private elementOf({ gid, createdMs, updatedMs, properties }: SharedFields & Pick<records.NodeRecord, 'properties'>) {
    const createTime = timestamp(createdMs)
    return {
      id: gid,
      createTime,
      updateTime: updatedMs === createdMs ? createTime : timestamp(updatedMs),
      updatedMs,
      properties: this.byName(properties),
    }
  }

  /** Properties by name, in the order of their symbols. */
  protected byName(properties: records.StoredProperties): ReadonlyMap<string, StoredProperty> {
    const entries = [...properties].sort(([a], [b]) => a - b)
    return new Map(entries.map(([symbol, property]) => [this.symbolName('property', symbol), property]))
  }

  private stored(valueView: ValueView | null): ReadonlyMap<string, StoredProperty> {
    if (valueView === null) return new Map()
    return this.byName(records.storedPropertiesOf(valueView))
  }

  private named(valueView: ValueView | null): ReadonlyMap<string, PropertyValue> {
    const named = new Map<string, PropertyValue>()
    if (valueView === null) return named
    for (const [symbol, { value }] of records.storedPropertiesOf(valueView)) {
      if (value !== null) named.set(this.symbolName('property', symbol), value)
    }
    return named
  }

  // -- counting

  /** The header of the environment. */
  header(): EnvironmentHeader {
    return readHeader(this.readRequired(this.databases.meta, HEADER_KEY))
  }

  nodeCount(label: SymbolId | null): number {
    return label === null ? this.header().nodes : this.count(META_KIND.labelCount, label)
  }

  typedNodeCount(label: SymbolId): number {
    return this.count(META_KIND.typedCount, label)
  }

  mayBeSupplied(property: string): boolean {
    return this.symbol('property', externalPropertyName(property)) !== 0
  }

  isOnlyType(label: SymbolId): boolean {
    return this.typedNodeCount(label) === this.nodeCount(label)
  }

  relationshipCount(type: SymbolId | null): number {
    return type === null ? this.header().relationships : this.count(META_KIND.typeCount, type)
  }

  private count(kind: number, symbol: SymbolId): number {
    const hot = this.isCacheCurrent
    const { counts } = this.cache
    const key = countKey(kind, symbol)
    if (hot) {
      const cached = counts.get(key)
      if (cached !== undefined) return cached
    }
    metaKey.kind = kind
    metaKey.symbol = symbol
    const count = this.read(this.databases.meta, metaKey)?.words[0] ?? 0
    if (hot) counts.set(key, count)
    return count
  }
}

/** The record fields that a snapshot returns for nodes and for relationships. */
interface SharedFields {
  readonly createdMs: number
  readonly updatedMs: number
  readonly gid: string
}

/** Reads the shared fields of a stored record, each when it is needed. */
class StoredFields implements SharedFields {
  private readonly record: ValueView

  constructor(record: ValueView) {
    this.record = record
  }

  get createdMs(): number {
    return records.createdMsOf(this.record)
  }

  get updatedMs(): number {
    return records.updatedMsOf(this.record)
  }

  get gid(): string {
    return records.gidOf(this.record)
  }
}

/** The value of a field that nodes and relationships share. Null for other fields. */
export function sharedField(field: ElementField, record: SharedFields): PropertyValue | null {
  switch (field) {
    case 'create_time':
      return timestamp(record.createdMs)
    case 'update_time':
      return timestamp(record.updatedMs)
    case 'id':
      return record.gid
    default:
      return null
  }
}
