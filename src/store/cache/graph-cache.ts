// What decisions ask again and again, kept outside of the database: a decision then costs the same in a large graph.
// INVARIANT: all that is kept holds at one state of the graph, the cache's. Only a snapshot of that very state reads or
// fills it, so an older one, still open, neither sees what came later nor leaves behind what has gone.
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
 * Of one environment, and taken only as far as its graph is asked. It holds the keys of some 250,000 nodes, 250,000 lists
 * of up to ten relationships and 150,000 properties of each kind of element: beyond the people and things that are active
 * at one time, and little beside a database for which it matters.
 */
export const DEFAULT_CACHE_BYTES = 96 * 2 ** 20

/** Keys are the larger part of what a check reads; blocks of label bits are few. Lists have the rest. */
const SHARE_OF_KEYS = 12 / 32
const SHARE_OF_PROPERTIES = 8 / 32
const SHARE_OF_LABELS = 1 / 32
/** Names that do not exist, which anybody can ask for: they only ever take the place of one another. */
const SHARE_OF_ABSENT = 1 / 32

/** What a map takes for an entry with a string for its key, spare room included; measured, and rounded up. */
const BYTES_PER_KEY = 112
const BYTES_PER_PROPERTY = 64
const BYTES_PER_ITEM = 64
/** At worst. */
const BYTES_PER_UNIT = 2

/** The columns of elements: two own fields of nodes, then the properties. */
export const COLUMN = { externalId: 0, type: 1, firstProperty: 2 } as const

/** A batch of this environment that may be committed by now. */
interface OwnBatch {
  readonly before: GraphVersion
  readonly touched: readonly TouchedKey[]
}

/** Own batches that no snapshot has seen yet are remembered up to so many keys; beyond, all that is kept is forgotten. */
const TOUCHED_KEYS_MAX = 4096

/** The epoch of a snapshot that has no part in the cache. */
const NO_EPOCH = 0

export class GraphCache {
  /** Nodes, by type and external id. */
  readonly keys: ValueCache<string, NodeId>
  /** 0 for each type and external id that was proved to be of no node. */
  readonly absent: ValueCache<string, 0>
  /** By column; null where there is none. */
  readonly nodes: ValueCache<NodeId, PropertyValue | null>
  readonly relationships: ValueCache<RelationshipId, PropertyValue | null>
  readonly lists: WordCache
  readonly labels: WordCache
  /** The counters that planner and seeks ask for: as many as there are names. */
  readonly counts = new Map<number, number>()
  /** Another one for each state: a snapshot of the same epoch may read and fill. */
  epoch = NO_EPOCH + 1

  private readonly databases: Databases
  private readonly isEnabled: boolean
  /** The part of a stamp that names this environment. */
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

  /** For a new snapshot, with the state that it found: its epoch. */
  epochOf(writer: number, commit: number): number {
    if (!this.isEnabled || this.writing) return NO_EPOCH
    if (commit !== this.commit || writer !== this.writer) this.advanceTo(writer, commit)
    return this.epoch
  }

  /** A later snapshot never finds an earlier state, so this leads forwards only. */
  private advanceTo(writer: number, commit: number): void {
    if (!this.invalidateOwnBatches(writer, commit)) this.clear()
    this.writer = writer
    this.commit = commit
    this.epoch += 1
    if (writer !== this.ownWriter) return
    // Own batches up to this one are committed and followed, or have failed.
    for (const [number, { touched }] of this.batches) {
      if (number > commit) break
      this.touchedCount -= touched.length
      this.batches.delete(number)
    }
  }

  /** Forgets what own batches touched, where they alone lead from the cache's state to that one; else false. */
  private invalidateOwnBatches(writer: number, commit: number): boolean {
    const way: OwnBatch[] = []
    let stamp: GraphVersion = { writer, commit }
    while (stamp.commit !== this.commit || stamp.writer !== this.writer) {
      const batch = stamp.writer === this.ownWriter ? this.batches.get(stamp.commit) : undefined
      if (batch === undefined) return false
      way.push(batch)
      stamp = batch.before
    }
    for (const { touched } of way) for (const { database, key } of touched) this.invalidate(database, key)
    return true
  }

  private invalidate(database: Database<unknown>, key: unknown): void {
    const { databases } = this
    if (database === databases.adjacency) {
      const { node, side } = key as AdjacencyKey
      this.lists.delete(node, side)
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

  /** A batch is under way in this very turn. */
  get isWriting(): boolean {
    return this.writing
  }

  /** Every reading of the database sees the batch from now on, finished or not: nobody may read or fill. */
  beginWriting(): number {
    this.writing = true
    const { epoch } = this
    this.epoch = -1
    return epoch
  }

  endWriting(epoch: number): void {
    this.writing = false
    this.epoch = epoch
  }

  /** What a batch of that number will have touched when it is committed, and on what it builds. */
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

/** There are fewer than eight kinds of counts. */
export function countKey(kind: number, symbol: SymbolId): number {
  return symbol * 8 + kind
}
