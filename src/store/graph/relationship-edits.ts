// The relationships that a batch writes and deletes: records, and the edge lists of both end nodes.
import type { NodeId, PropertyInput, RelationshipId, SymbolId, UpsertResult } from '../../engine/store.ts'
import { mintGid } from '../../kernel/ids.ts'
import type { ByteWriter } from '../format/bytes.ts'
import { allocateId, type EnvironmentHeader } from '../format/header.ts'
import { type RelationshipRecord, readRelationship, writeRelationship } from '../format/records.ts'
import type { Databases } from '../lmdb/databases.ts'
import type { PendingWrites } from '../lmdb/pending-writes.ts'
import { AdjacencyEdits } from './adjacency-edits.ts'
import { ElementEdits } from './element-edits.ts'
import type { NewSymbols } from './new-symbols.ts'
import { NO_PROPERTIES, withProperties } from './property-edits.ts'
import { requireStored } from './stored-rules.ts'

/** The edited relationships of a batch. */
export class RelationshipEdits extends ElementEdits<RelationshipRecord> {
  private readonly header: EnvironmentHeader
  private readonly symbols: NewSymbols
  private readonly adjacency: AdjacencyEdits

  constructor(databases: Databases, header: EnvironmentHeader, symbols: NewSymbols, entriesPerChunk: number) {
    super(databases.relationships, readRelationship, writeRelationship)
    this.header = header
    this.symbols = symbols
    this.adjacency = new AdjacencyEdits(databases, entriesPerChunk, header.nextNode, () =>
      allocateId(header, 'nextChunk'),
    )
  }

  /** Ids of the relationships between two nodes. More than one if `create` has made parallel ones. */
  between(source: NodeId, type: SymbolId, target: NodeId): readonly RelationshipId[] {
    return this.adjacency.between(source, type, target)
  }

  upsert(
    source: NodeId,
    type: SymbolId,
    target: NodeId,
    properties: readonly PropertyInput[] | undefined,
    now: number,
    element: () => string,
  ): UpsertResult {
    const [id] = this.between(source, type, target)
    if (id === undefined) return this.create(source, type, target, properties, now, element)
    const edited = this.at(id)
    const old = edited.now
    requireStored(old !== null, 'a list names relationships that exist')
    const merged = withProperties(old.properties, properties, now, this.symbols, element)
    edited.now = { ...old, updatedMs: now, properties: merged }
    return { id, gid: old.gid, created: false }
  }

  create(
    source: NodeId,
    type: SymbolId,
    target: NodeId,
    inputs: readonly PropertyInput[] | undefined,
    now: number,
    element: () => string,
  ): UpsertResult {
    const properties = withProperties(NO_PROPERTIES, inputs, now, this.symbols, element)
    const id = allocateId(this.header, 'nextRelationship')
    const gid = mintGid(now)
    this.add(id, { type, source, target, gid, createdMs: now, updatedMs: now, properties })
    this.adjacency.add(source, type, target, id)
    return { id, gid, created: true }
  }

  /** Deletes the relationship and returns its global id. */
  delete(id: RelationshipId): string {
    const edited = this.at(id)
    const { source, type, target, gid } = edited.now!
    this.adjacency.remove(source, type, target, id)
    edited.now = null
    return gid
  }

  /** Deletes all relationships of the node. */
  deleteAt(node: NodeId): void {
    for (const id of this.adjacency.detachAll(node)) {
      const edited = this.at(id)
      requireStored(edited.now !== null, 'a list names relationships that exist')
      const { source, type, target } = edited.now
      this.adjacency.removeFarEnd(node, source, type, target, id)
      edited.now = null
    }
  }

  /** Encodes all changes. Returns the change of the relationship count by type. */
  encode(writer: ByteWriter, operations: PendingWrites): Map<SymbolId, number> {
    const counts = this.encodeRecords(writer, operations)
    this.adjacency.encode(writer, operations)
    return counts
  }
}
