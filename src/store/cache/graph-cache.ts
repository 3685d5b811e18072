// Cache of what decisions read repeatedly, outside of LMDB, so that a decision costs the same in a large graph.
// INVARIANT: all cached data belongs to one version of the graph. Only a snapshot of that version reads or fills the cache, so
// an older snapshot that is still open neither sees newer data nor adds outdated data.
import type { NodeId, RelationshipId, SymbolId } from '../../engine/store.ts'
import type { PropertyValue } from '../../engine/value/value.ts'
import type { GraphVersion } from '../format/header.ts'
import type { AdjacencyKey, LabelKey, SymbolKey, UpsertKey } from '../format/keys.ts'
import type { Database } from '../lmdb/database.ts'
import type { Databases } from '../lmdb/databases.ts'
import type { TouchedKey } from '../lmdb/pending-writes.ts'
import { ValueCache } from './value-cache.ts'
import { WordCache } from './word-cache.ts'

/**
 * Maximum size for one environment; memory is allocated as it is needed. It holds about 250,000 node keys, 250,000 edge
 * lists of up to ten relationships, and 150,000 properties each of nodes and of relationships. That exceeds the set of
 * subjects and resources in use at one time.
 */
export const DEFAULT_CACHE_BYTES = 96 * 2 ** 20

/** Keys are the larger part of what a check reads; label blocks are few. Edge lists get the remainder. */
const SHARE_OF_KEYS = 12 / 32
const SHARE_OF_PROPERTIES = 8 / 32
const SHARE_OF_LABELS = 1 / 32
/** External ids that do not exist. Any caller can ask for those, so they only evict each other. */
const SHARE_OF_ABSENT = 1 / 32

/** Measured size of a map entry with a string key, with spare capacity, rounded up. */
const BYTES_PER_KEY = 112
const BYTES_PER_PROPERTY = 64
const BYTES_PER_ITEM = 64
/** Upper bound: a string has one or two bytes per UTF-16 code unit. */
const BYTES_PER_UNIT = 2

/** Columns of elements: two fields of nodes, then the properties by symbol. */
export const COLUMN = { externalId: 0, type: 1, firstProperty: 2 } as const

/** A batch of this environment that may be committed by now. */
interface OwnBatch {
  readonly before: GraphVersion
  readonly touched: readonly TouchedKey[]
}

/** Maximum number of keys remembered of own batches that no snapshot has seen. Beyond it the cache is cleared. */
const TOUCHED_KEYS_MAX = 4096

/** The epoch of a snapshot that does not use the cache. */
const NO_EPOCH = 0

/** The cache of one environment. */
export class GraphCache {
  /** Node ids by type and external id. */
  readonly keys: ValueCache<string, NodeId>
  /** 0 for each type and external id that verifiably has no node. */
  readonly absent: ValueCache<string, 0>
  /** Field and property values of nodes by column; null if the node has none. */
  readonly nodes: ValueCache<NodeId, PropertyValue | null>
  readonly relationships: ValueCache<RelationshipId, PropertyValue | null>
  readonly lists: WordCache
  readonly labels: WordCache
  /** Counts for the planner and for seeks, one per symbol. */
  readonly counts = new Map<number, number>()
  /** Changes with each version. A snapshot with the same epoch may read and fill the cache. */
  epoch = NO_EPOCH + 1

  private readonly databases: Databases
  private readonly isEnabled: boolean
  /** The writer number of this environment in a version. */
  private readonly ownWriter: number
  private writer = 0
  private commit = 0
  private readonly batches = new Map<number, OwnBatch>()
  private touchedCount = 0
  private writing = false

  constructor(databases: Databases, own: number, bytesMax: number) {
    this.databases = databases
    this.ownWriter = own
    this.isEnabled = bytesMax > 0
    this.keys = new ValueCache(bytesMax * SHARE_OF_KEYS, sizeOfKey)
    this.absent = new ValueCache(bytesMax * SHARE_OF_ABSENT, sizeOfKey)
    this.nodes = new ValueCache((bytesMax * SHARE_OF_PROPERTIES) / 2, sizeOfProperty)
    this.relationships = new ValueCache((bytesMax * SHARE_OF_PROPERTIES) / 2, sizeOfProperty)
    this.labels = new WordCache(bytesMax * SHARE_OF_LABELS)
    const rest = 1 - SHARE_OF_KEYS - SHARE_OF_PROPERTIES - SHARE_OF_LABELS - SHARE_OF_ABSENT
    this.lists = new WordCache(bytesMax * rest)
  }

  /** The size of everything in the cache, at most. */
  get bytes(): number {
    const { keys, absent, nodes, relationships, lists, labels } = this
    const values = keys.size + absent.size + nodes.size + relationships.size
    return values + lists.allocatedBytes + labels.allocatedBytes
  }

  /** The epoch for a new snapshot of that version. 0 if it must not use the cache. */
  epochOf(writer: number, commit: number): number {
    if (!this.isEnabled || this.writing) return NO_EPOCH
    if (commit !== this.commit || writer !== this.writer) this.advanceTo(writer, commit)
    return this.epoch
  }

  /** A later snapshot never has an earlier version, so the cache only moves forward. */
  private advanceTo(writer: number, commit: number): void {
    if (!this.invalidateOwnBatches(writer, commit)) this.clear()
    this.writer = writer
    this.commit = commit
    this.epoch += 1
    if (writer !== this.ownWriter) return
    // Own batches up to this one are committed and invalidated, or have failed.
    for (const [number, { touched }] of this.batches) {
      if (number > commit) break
      this.touchedCount -= touched.length
      this.batches.delete(number)
    }
  }

  /** Invalidates the keys of own batches if only those lead from the cached version to the given one. Else returns false. */
  private invalidateOwnBatches(writer: number, commit: number): boolean {
    const way: OwnBatch[] = []
    let version: GraphVersion = { writer, commit }
    while (version.commit !== this.commit || version.writer !== this.writer) {
      const batch = version.writer === this.ownWriter ? this.batches.get(version.commit) : undefined
      if (batch === undefined) return false
      way.push(batch)
      version = batch.before
    }
    for (const { touched } of way) for (const { database, key } of touched) this.invalidate(database, key)
    return true
  }

  private invalidate(database: Database<unknown>, key: unknown): void {
    const { databases } = this
    if (database === databases.adjacency) {
      const { node, edgeList } = key as AdjacencyKey
      this.lists.delete(node, edgeList)
    } else if (database === databases.upsertKeys) {
      const { type, externalId } = key as UpsertKey
      this.keys.delete(type, externalId)
      this.absent.delete(type, externalId)
    } else if (database === databases.nodes) {
      this.nodes.deleteFromAllColumns(key as NodeId)
    } else if (database === databases.relationships) {
      this.relationships.deleteFromAllColumns(key as RelationshipId)
    } else if (database === databases.labels) {
      const { label, block } = key as LabelKey
      this.labels.delete(label, block)
    } else if (database === databases.meta) {
      const { kind, symbol } = key as SymbolKey
      this.counts.delete(countKey(kind, symbol))
    }
  }

  /** Removes everything. */
  clear(): void {
    this.keys.clear()
    this.absent.clear()
    this.nodes.clear()
    this.relationships.clear()
    this.lists.clear()
    this.labels.clear()
    this.counts.clear()
  }

  // -- own batches

  /** Whether a batch is running, within the current turn of the event loop. */
  get isWriting(): boolean {
    return this.writing
  }

  /** Disables the cache while a batch runs, because every read sees its uncommitted writes. Returns the epoch to restore. */
  beginWriting(): number {
    this.writing = true
    const { epoch } = this
    this.epoch = -1
    return epoch
  }

  /** Restores the epoch after a batch. */
  endWriting(epoch: number): void {
    this.writing = false
    this.epoch = epoch
  }

  /** Records the keys that a batch changes and the version that it builds on. They are invalidated once it is visible. */
  addOwnBatch(commit: number, before: GraphVersion, touched: readonly TouchedKey[]): void {
    if (!this.isEnabled) return
    this.touchedCount += touched.length
    if (this.touchedCount > TOUCHED_KEYS_MAX) {
      this.batches.clear()
      this.touchedCount = 0
      return
    }
    this.batches.set(commit, { before, touched })
  }
}

function sizeOfKey(externalId: string): number {
  return BYTES_PER_KEY + externalId.length * BYTES_PER_UNIT
}

function sizeOfProperty(_: number, value: PropertyValue | null): number {
  return BYTES_PER_PROPERTY + sizeOf(value)
}

function sizeOf(value: unknown): number {
  if (typeof value === 'string') return value.length * BYTES_PER_UNIT
  if (Array.isArray(value)) return value.reduce<number>((size, item) => size + BYTES_PER_ITEM + sizeOf(item), 0)
  return typeof value === 'object' && value !== null ? BYTES_PER_ITEM : 0
}

/** Key of a count. There are fewer than eight kinds. */
export function countKey(kind: number, symbol: SymbolId): number {
  return symbol * 8 + kind
}
