// One batch of a bulk load. Unlike other batches it keeps relationships in columns instead of objects, adds them to the edge
// lists at the end, and writes everything in key order. No other process may write to the environment during a load.

import type { NodeId, NodeInput, NodeKey, RelationshipId, SymbolId } from '../../engine/store.ts'
import { type ByteWriter, copyToView } from '../format/bytes.ts'
import { allocateId } from '../format/header.ts'
import type { IndexKey, UpsertKey } from '../format/keys.ts'
import { growWords } from '../format/packed-lists.ts'
import {
  type RelationshipRecord,
  readRelationship,
  writeNewRelationship,
  writeRelationship,
} from '../format/records.ts'
import { type Databases, META_KIND } from '../lmdb/databases.ts'
import type { TouchedKey } from '../lmdb/pending-writes.ts'
import type { LoadId, RelationshipColumns } from '../sorting/edge-runs.ts'
import { BulkAdjacency } from './bulk-adjacency.ts'
import type { BulkKeyCache } from './bulk-key-cache.ts'
import { BulkKeyEdits } from './bulk-key-edits.ts'
import { checkName, relationshipText } from './element-checks.ts'
import type { PreservedFields } from './element-edits.ts'
import { DuplicateRelationshipError, eachRepeated, type LoadDuplicates } from './load-duplicates.ts'
import { type BulkProperty, NO_PROPERTIES, withProperties } from './property-edits.ts'
import { putUnsorted } from './unsorted-state.ts'
import { LmdbWriteBatch, type WriteBatchOptions } from './write-batch.ts'

/** The progress of a load. It is stored with the data, so that both are on disk or neither. */
const CHECKPOINT_KEY = { kind: META_KIND.checkpoint, symbol: 0 }

export type { BulkProperty } from './property-edits.ts'

/** A relationship to load. */
export interface BulkRelationship extends PreservedFields {
  readonly source: NodeKey
  readonly target: NodeKey
  readonly type: string
  readonly properties?: readonly BulkProperty[]
}

/** A node to load. */
export interface BulkNode extends NodeInput, PreservedFields {}

const NO_WORDS = new Uint32Array(0)

/** A batch of a bulk load, created by `LmdbEnvironment.bulkLoad`. */
export class BulkBatch extends LmdbWriteBatch {
  private readonly entriesPerChunk: number
  private readonly firstNewNode: NodeId
  private readonly firstRelationship: RelationshipId
  private sources = new Uint32Array(4096)
  private types = new Uint32Array(4096)
  private targets = new Uint32Array(4096)
  private length = 0
  /** Offsets of the sealed records in the writer by column index, and the end of the last one. */
  private starts = new Float64Array(4097)
  /** By column index: the id of the relationship that it is merged into, or 0. */
  private same = NO_WORDS
  /** The last source that was found. */
  private lastKey: NodeKey = { type: '', externalId: '' }
  private lastSource: NodeId = 0
  private checkpoint: string | null | undefined = undefined

  /** Set: the edge lists are written at the end of the load with this id (SortedLoad). */
  private readonly sortedLoad: LoadId | null

  private readonly duplicates: LoadDuplicates

  constructor(
    start: WriteBatchOptions,
    keyCache: BulkKeyCache,
    writer: ByteWriter,
    sortedLoad: LoadId | null,
    duplicates: LoadDuplicates,
  ) {
    // All elements of the batch get the same time.
    const now = start.clock.now()
    const { databases, entriesPerChunk, version } = start
    super({ ...start, clock: { now: () => now } }, writer, new BulkKeyEdits(databases.upsertKeys, keyCache))
    keyCache.beginBatch(this.baseVersion, version, this.header.nodes === 0)
    this.entriesPerChunk = entriesPerChunk
    this.sortedLoad = sortedLoad
    this.firstNewNode = this.header.nextNode
    this.firstRelationship = this.header.nextRelationship
    this.duplicates = duplicates
    duplicates.firstId ??= this.firstRelationship
  }

  /** Stores a checkpoint with this batch; null removes it. */
  setCheckpoint(text: string | null): void {
    this.checkpoint = text
  }

  /** The relationships loaded so far. */
  get columns(): RelationshipColumns {
    const { sources, types, targets, length } = this
    return { sources, types, targets, length, firstId: this.firstRelationship }
  }

  /** Number of relationships loaded so far. */
  get items(): number {
    return this.length
  }

  /**
   * Loads a relationship; one with the same end nodes and type is merged with it. Returns null, or which end node does not
   * exist.
   */
  loadRelationship(input: BulkRelationship): 'source' | 'target' | null {
    const source = this.findSource(input.source)
    if (source === 0) return 'source'
    const target = this.findNode(input.target)
    if (target === 0) return 'target'
    const now = input.updatedMs ?? input.createdMs ?? this.clock.now()
    const at = this.length
    if (at === this.sources.length) this.grow()
    checkName(input.type, () => `${relationshipText(input)}: the type`)
    const type = this.symbols.intern('type', input.type)
    this.sources[at] = source
    this.types[at] = type
    this.targets[at] = target
    this.length = at + 1
    const id = allocateId(this.header, 'nextRelationship')
    const start = this.writer.length
    this.starts[at] = start
    const { gid } = input
    const createdMs = input.createdMs ?? now
    const properties = withProperties(NO_PROPERTIES, input.properties, now, this.symbols, () => relationshipText(input))
    const record = { type, source, target, createdMs, updatedMs: now, properties }
    if (gid === undefined) writeNewRelationship(this.writer, record)
    else writeRelationship(this.writer, { ...record, gid })
    this.databases.relationships.seal(id, this.writer, start)
    this.starts[at + 1] = this.writer.length
    return null
  }

  /** Relationships of one source often follow each other, and a load deletes no node. */
  private findSource(key: NodeKey): NodeId {
    const { lastKey } = this
    if (key.externalId === lastKey.externalId && key.type === lastKey.type) return this.lastSource
    const source = this.findNode(key)
    if (source !== 0) {
      this.lastKey = key
      this.lastSource = source
    }
    return source
  }

  private grow(): void {
    this.sources = growWords(this.sources, this.sources.length * 2)
    this.types = growWords(this.types, this.types.length * 2)
    this.targets = growWords(this.targets, this.targets.length * 2)
    const starts = new Float64Array(this.sources.length + 1)
    starts.set(this.starts)
    this.starts = starts
  }

  protected override prepareRelationships(): Map<SymbolId, number> {
    const counts = super.prepareRelationships()
    this.same = new Uint32Array(this.length)
    const { databases, pending, writer, length, same, sortedLoad } = this
    if (sortedLoad !== null) this.refuseRepeated()
    if (sortedLoad === null) this.addToLists()
    else if (length > 0) putUnsorted(databases, { load: sortedLoad, nextNode: 1 }, writer, pending)
    const merged = new Map<RelationshipId, RelationshipRecord>()
    for (let at = 0; at < length; at++) {
      if (same[at] !== 0) {
        this.mergeInto(same[at]!, at, merged)
        continue
      }
      const type = this.types[at]!
      counts.set(type, (counts.get(type) ?? 0) + 1)
    }
    // Applied after the records that they replace, if both are of this batch.
    for (const [id, record] of merged) {
      pending.begin(writer)
      writeRelationship(writer, record)
      pending.put(databases.relationships, id, writer)
    }
    this.prepareCheckpoint()
    return counts
  }

  private addToLists(): void {
    const lists = new BulkAdjacency(
      this.databases,
      this.entriesPerChunk,
      this.firstNewNode,
      () => allocateId(this.header, 'nextChunk'),
      this.writer,
      this.pending,
    )
    lists.add(this.columns, 'out', this.same)
    lists.add(this.columns, 'in', this.same)
  }

  private recordAt(at: number): RelationshipRecord {
    return readRelationship(copyToView(this.writer.bytes.subarray(this.starts[at], this.starts[at + 1])))
  }

  /** A sorted load finds duplicates at its end. Those of one batch are refused before the batch is written. */
  private refuseRepeated(): void {
    const { duplicates } = this
    if (!duplicates.mayRefuse) return
    eachRepeated(this.columns, (at, first) => {
      if (duplicates.refuses(this.recordAt(first), this.recordAt(at)))
        duplicates.refuse(new DuplicateRelationshipError(at, first, null))
    })
  }

  private mergeInto(id: RelationshipId, at: number, merged: Map<number, RelationshipRecord>): void {
    const firstAt = id - this.firstRelationship
    const before = merged.get(id) ?? (firstAt >= 0 ? this.recordAt(firstAt) : this.stored(id))
    const combined = this.duplicates.combine(id, before, this.recordAt(at))
    if (combined !== null) {
      merged.set(id, combined)
      return
    }
    const earlier = firstAt >= 0 ? firstAt : this.same.indexOf(id)
    this.duplicates.refuse(new DuplicateRelationshipError(at, earlier >= 0 && earlier < at ? earlier : null, null))
  }

  private stored(id: RelationshipId): RelationshipRecord {
    return readRelationship(this.databases.relationships.getRequired(id))
  }

  private prepareCheckpoint(): void {
    const { databases, pending, writer, checkpoint } = this
    if (checkpoint === undefined) return
    if (checkpoint === null) pending.remove(databases.meta, CHECKPOINT_KEY)
    else {
      pending.begin(writer)
      writer.text(checkpoint)
      pending.put(databases.meta, CHECKPOINT_KEY, writer)
    }
  }

  override apply(): void {
    const { upsertKeys, index, relationships } = this.databases
    const { firstRelationship, length, same, writer, starts } = this
    for (let at = 0; at < length; at++)
      if (same[at] === 0) relationships.appendSealed(firstRelationship + at, writer, starts[at]!, starts[at + 1]!)
    this.pending.sort(upsertKeys, compareUpsertKeys)
    this.pending.sort(index, compareIndexKeys)
    super.apply()
  }

  /** Null: a load changes too many keys to record them, so the cache is cleared. */
  override get touched(): readonly TouchedKey[] | null {
    return null
  }
}

/** The checkpoint of the last load, or null. */
export function readCheckpoint({ meta }: Databases): string | null {
  const valueView = meta.get(CHECKPOINT_KEY)
  return valueView === null ? null : valueView.text.toString('utf8', 4, 4 + valueView.words[0]!)
}

/** Approximates the order of the encoded keys. A deviation costs time and nothing else. */
function compareUpsertKeys(a: UpsertKey, b: UpsertKey): number {
  return a.type - b.type || (a.externalId < b.externalId ? -1 : 1)
}

function compareIndexKeys(a: IndexKey, b: IndexKey): number {
  return a.label - b.label || a.property - b.property || Buffer.compare(a.scalar, b.scalar) || a.node - b.node
}
