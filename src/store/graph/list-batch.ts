// The batch that writes edge lists of a sorted load: lists and chunks from a ListBuilder, merged duplicates of relationships, and
// how far the load has come. All of it is in one transaction.
import type { NodeId, RelationshipId, SymbolId } from '../../engine/store.ts'
import type { ByteWriter } from '../format/bytes.ts'
import { type RelationshipRecord, readNode, readRelationship, writeRelationship } from '../format/records.ts'
import type { TouchedKey } from '../lmdb/pending-writes.ts'
import type { DuplicateRelationship, ListBuilder } from './list-builder.ts'
import { DuplicateRelationshipError, type LoadDuplicates } from './load-duplicates.ts'
import { putUnsorted, type UnsortedState } from './unsorted-state.ts'
import { LmdbWriteBatch, type WriteBatchOptions } from './write-batch.ts'

/** A batch that writes what waits in a ListBuilder. */
export class ListBatch extends LmdbWriteBatch {
  private readonly builder: ListBuilder
  private readonly state: UnsortedState | null | undefined
  private readonly loadDuplicates: LoadDuplicates

  /** `state`: the state after the batch. Undefined: in the middle of a node, so that only its complete chunks are written. */
  constructor(
    start: WriteBatchOptions,
    writer: ByteWriter,
    builder: ListBuilder,
    state: UnsortedState | null | undefined,
    loadDuplicates: LoadDuplicates,
  ) {
    super(start, writer)
    this.loadDuplicates = loadDuplicates
    this.builder = builder
    this.state = state
  }

  protected override prepareRelationships(): Map<SymbolId, number> {
    const counts = super.prepareRelationships()
    const { databases, writer, pending, state } = this
    this.mergeDuplicates(this.builder.duplicates, counts)
    if (state !== undefined) {
      putUnsorted(databases, state, writer, pending)
      // Chunks of an incomplete node are written again after a crash, so their ids are not used up yet.
      this.header.nextChunk = this.builder.nextChunk
    }
    return counts
  }

  /** In the order of the duplicates, as if they had been upserted one after another. */
  private mergeDuplicates(duplicates: readonly DuplicateRelationship[], counts: Map<SymbolId, number>): void {
    const { databases, writer, pending } = this
    const merged = new Map<RelationshipId, RelationshipRecord>()
    for (const { first, duplicate } of duplicates) {
      const valueView = databases.relationships.get(duplicate)
      // Merged before a crash.
      if (valueView === null) continue
      const record = readRelationship(valueView)
      const before = merged.get(first) ?? readRelationship(databases.relationships.getRequired(first))
      const combined = this.loadDuplicates.combine(first, before, record)
      if (combined === null) this.loadDuplicates.refuse(new DuplicateRelationshipError(null, null, this.keyOf(record)))
      else merged.set(first, combined)
      pending.remove(databases.relationships, duplicate)
      counts.set(record.type, (counts.get(record.type) ?? 0) - 1)
    }
    for (const [id, record] of merged) {
      pending.begin(writer)
      writeRelationship(writer, record)
      pending.put(databases.relationships, id, writer)
    }
  }

  private keyOf({ source, type, target }: RelationshipRecord): DuplicateRelationshipError['key'] {
    const end = (id: NodeId) => {
      const node = readNode(this.databases.nodes.getRequired(id))
      return { type: this.symbols.name('label', node.type), externalId: node.externalId }
    }
    return { source: end(source), type: this.symbols.name('type', type), target: end(target) }
  }

  override apply(): void {
    this.builder.apply(this.state !== undefined)
    super.apply()
  }

  /** Null: too many keys to record. */
  override get touched(): readonly TouchedKey[] | null {
    return null
  }
}
