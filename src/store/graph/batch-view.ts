// The view that a write batch has of its own graph: a snapshot of the version that the batch builds on, in which elements that the
// batch has changed appear as changed. It neither reads nor fills the cache.
import type {
  BatchView,
  ElementField,
  NodeId,
  RelationshipId,
  ScannedNode,
  StoredNode,
  StoredProperty,
  StoredRelationship,
  SymbolId,
  SymbolKind,
} from '../../engine/store.ts'
import type { PropertyValue } from '../../engine/value/value.ts'
import type { GraphVersion } from '../format/header.ts'
import type { NodeRecord, RelationshipRecord, StoredProperties } from '../format/records.ts'
import { IN_WRITE_TRANSACTION } from '../lmdb/environment-file.ts'
import { LmdbSnapshot, sharedField } from './snapshot.ts'
import type { SnapshotSource } from './version-reader.ts'

/** The part of a batch that a view reads. */
export interface BatchEdits {
  readonly before: GraphVersion
  readonly symbols: {
    find(kind: SymbolKind, name: string): SymbolId
    name(kind: SymbolKind, id: SymbolId): string
  }
  readonly nodes: EditedRecords<NodeRecord>
  readonly relationships: EditedRecords<RelationshipRecord>
}

/** The edited records of one kind of element. */
interface EditedRecords<R> {
  /** The record as edited; null: deleted; undefined: not edited. */
  now(id: number): R | null | undefined
}

const NO_PROPERTIES: StoredProperties = new Map()

/** The cache never has this epoch. */
const NO_EPOCH = 0

/** A snapshot that overlays the edits of a batch. */
export class LmdbBatchView extends LmdbSnapshot implements BatchView {
  readonly readsMaxMs = 500
  private readonly edits: BatchEdits

  constructor(source: SnapshotSource, edits: BatchEdits) {
    super(source, IN_WRITE_TRANSACTION, NO_EPOCH, edits.before)
    this.edits = edits
  }

  hasNode(node: NodeId): boolean {
    const now = this.edits.nodes.now(node)
    return now === undefined ? super.labels(node).length > 0 || super.nodeField(node, 'id') !== null : now !== null
  }

  hasRelationship(relationship: RelationshipId): boolean {
    const now = this.edits.relationships.now(relationship)
    return now === undefined ? super.relationshipType(relationship) !== 0 : now !== null
  }

  override symbol(kind: SymbolKind, name: string): SymbolId {
    return this.edits.symbols.find(kind, name)
  }

  override symbolName(kind: SymbolKind, id: SymbolId): string {
    return this.edits.symbols.name(kind, id)
  }

  override hasLabel(node: NodeId, label: SymbolId): boolean {
    const now = this.edits.nodes.now(node)
    return now === undefined ? super.hasLabel(node, label) : (now?.labels.includes(label) ?? false)
  }

  override labels(node: NodeId): readonly SymbolId[] {
    const now = this.edits.nodes.now(node)
    return now === undefined ? super.labels(node) : (now?.labels ?? [])
  }

  override nodeType(node: NodeId): SymbolId {
    const now = this.edits.nodes.now(node)
    return now === undefined ? super.nodeType(node) : (now?.type ?? 0)
  }

  override nodePropertySymbols(node: NodeId): readonly SymbolId[] {
    const now = this.edits.nodes.now(node)
    if (now === undefined) return super.nodePropertySymbols(node)
    return [...(now?.properties.keys() ?? [])].sort((a, b) => a - b)
  }

  override nodeProperty(node: NodeId, property: SymbolId): PropertyValue | null {
    const now = this.edits.nodes.now(node)
    return now === undefined ? super.nodeProperty(node, property) : (now?.properties.get(property)?.value ?? null)
  }

  override externalIds(nodes: Iterable<NodeId>): (string | null)[] {
    return Array.from(nodes, (node) => this.nodeField(node, 'external_id') as string | null)
  }

  override nodeField(node: NodeId, field: ElementField): PropertyValue | null {
    const now = this.edits.nodes.now(node)
    if (now === undefined) return super.nodeField(node, field)
    if (now === null) return null
    switch (field) {
      case 'external_id':
        return now.type === 0 ? null : now.externalId
      case 'type':
        return now.type === 0 ? null : this.symbolName('label', now.type)
      case 'is_identity':
        return now.isIdentity
      case 'location':
        return now.location
      default:
        return sharedField(field, now)
    }
  }

  override nodeProperties(node: NodeId): ReadonlyMap<string, PropertyValue> {
    const now = this.edits.nodes.now(node)
    return now === undefined ? super.nodeProperties(node) : this.values(now)
  }

  override nodeStoredProperty(node: NodeId, property: SymbolId): StoredProperty | null {
    const now = this.edits.nodes.now(node)
    return now === undefined ? super.nodeStoredProperty(node, property) : (now?.properties.get(property) ?? null)
  }

  override nodeStoredProperties(node: NodeId): ReadonlyMap<string, StoredProperty> {
    const now = this.edits.nodes.now(node)
    return now === undefined ? super.nodeStoredProperties(node) : this.byName(now?.properties ?? NO_PROPERTIES)
  }

  override relationshipType(relationship: RelationshipId): SymbolId {
    const now = this.edits.relationships.now(relationship)
    return now === undefined ? super.relationshipType(relationship) : (now?.type ?? 0)
  }

  override relationshipSource(relationship: RelationshipId): NodeId {
    const now = this.edits.relationships.now(relationship)
    return now === undefined ? super.relationshipSource(relationship) : (now?.source ?? 0)
  }

  override relationshipTarget(relationship: RelationshipId): NodeId {
    const now = this.edits.relationships.now(relationship)
    return now === undefined ? super.relationshipTarget(relationship) : (now?.target ?? 0)
  }

  override relationshipProperty(relationship: RelationshipId, property: SymbolId): PropertyValue | null {
    const now = this.edits.relationships.now(relationship)
    if (now === undefined) return super.relationshipProperty(relationship, property)
    return now?.properties.get(property)?.value ?? null
  }

  override relationshipField(relationship: RelationshipId, field: ElementField): PropertyValue | null {
    const now = this.edits.relationships.now(relationship)
    if (now === undefined) return super.relationshipField(relationship, field)
    if (now === null) return null
    return field === 'type' ? this.symbolName('type', now.type) : sharedField(field, now)
  }

  override relationshipProperties(relationship: RelationshipId): ReadonlyMap<string, PropertyValue> {
    const now = this.edits.relationships.now(relationship)
    return now === undefined ? super.relationshipProperties(relationship) : this.values(now)
  }

  override relationshipStoredProperty(relationship: RelationshipId, property: SymbolId): StoredProperty | null {
    const now = this.edits.relationships.now(relationship)
    if (now === undefined) return super.relationshipStoredProperty(relationship, property)
    return now?.properties.get(property) ?? null
  }

  override relationshipStoredProperties(relationship: RelationshipId): ReadonlyMap<string, StoredProperty> {
    const now = this.edits.relationships.now(relationship)
    if (now === undefined) return super.relationshipStoredProperties(relationship)
    return this.byName(now?.properties ?? NO_PROPERTIES)
  }

  override storedNode(node: NodeId): StoredNode | null {
    const now = this.edits.nodes.now(node)
    return now === undefined ? super.storedNode(node) : now && this.nodeOf(now)
  }

  override scanNode(node: NodeId): ScannedNode | null {
    const now = this.edits.nodes.now(node)
    if (now === undefined) return super.scanNode(node)
    if (now === null) return null
    const { type, externalId, gid, location, updatedMs } = now
    const properties = [...this.byName(now.properties)].map(([name, property]) => ({ name, ...property }))
    return { type, externalId, id: gid, location, updatedMs, properties }
  }

  override storedRelationship(relationship: RelationshipId): StoredRelationship | null {
    const now = this.edits.relationships.now(relationship)
    return now === undefined ? super.storedRelationship(relationship) : now && this.relationshipOf(now)
  }

  private values(record: { readonly properties: StoredProperties } | null): ReadonlyMap<string, PropertyValue> {
    const values = new Map<string, PropertyValue>()
    for (const [name, { value }] of this.byName(record?.properties ?? NO_PROPERTIES)) {
      if (value !== null) values.set(name, value)
    }
    return values
  }
}
