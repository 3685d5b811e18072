// What decisions ask again and again, kept outside of the database: a decision then costs the same in a large graph.
// INVARIANT: all that is kept holds at one state of the graph, the cache's. Only a snapshot of that very state reads or
// fills it, so an older one, still open, neither sees what came later nor leaves behind what has gone.
import type { SymbolId } from '../../engine/store.ts'
import type { AdjacencyKey, LabelKey, SymbolKey, UpsertKey } from '../keys.ts'
import type { Databases } from './databases.ts'
import type { Stamp } from './header.ts'
import { HotBlocks } from './hot-blocks.ts'
import { HotKeys } from './hot-keys.ts'
import type { Database } from './native.ts'
import type { Touched } from './operations.ts'

/**
 * Of one environment, and taken only as far as its graph is asked. It holds the keys of 150,000 nodes and 150,000 lists
 * of up to fifteen words: beyond the people and things that are active at one time, and little beside the database.
 */
export const HOT_BYTES = 64 * 2 ** 20

/** Half for keys, which are the larger part of what a check reads; blocks of label bits are few. */
const SHARE_OF_KEYS = 1 / 2
const SHARE_OF_LABELS = 1 / 32

/** A batch of this environment that may be committed by now. */
interface OwnBatch {
  readonly before: Stamp
  readonly touched: readonly Touched[]
}

/** Own batches that no snapshot has seen yet are remembered up to so many keys; beyond, all that is kept is forgotten. */
const TOUCHED_MAX = 4096

/** The epoch of a snapshot that has no part in the cache. */
const NO_EPOCH = 0

export class HotCache {
  readonly keys: HotKeys
  readonly lists: HotBlocks
  readonly labels: HotBlocks
  /** The counters that planner and seeks ask for: as many as there are names. */
  readonly counts = new Map<number, number>()
  /** Another one for each state: a snapshot of the same epoch may read and fill. */
  epoch = NO_EPOCH + 1

  private readonly databases: Databases
  private readonly on: boolean
  /** The part of a stamp that names this environment. */
  private readonly own: number
  private writer = 0
  private commit = 0
  private readonly batches = new Map<number, OwnBatch>()
  private touched = 0
  private writing = false

  constructor(databases: Databases, own: number, bytesMax: number) {
    this.databases = databases
    this.own = own
    this.on = bytesMax > 0
    this.keys = new HotKeys(bytesMax * SHARE_OF_KEYS)
    this.labels = new HotBlocks(bytesMax * SHARE_OF_LABELS)
    this.lists = new HotBlocks(bytesMax * (1 - SHARE_OF_KEYS - SHARE_OF_LABELS))
  }

  /** For a new snapshot, with the state that it found: its epoch. */
  enter(writer: number, commit: number): number {
    if (!this.on || this.writing) return NO_EPOCH
    if (commit !== this.commit || writer !== this.writer) this.moveTo(writer, commit)
    return this.epoch
  }

  /** A later snapshot never finds an earlier state, so this leads forwards only. */
  private moveTo(writer: number, commit: number): void {
    if (!this.follow(writer, commit)) this.forgetAll()
    this.writer = writer
    this.commit = commit
    this.epoch += 1
    if (writer !== this.own) return
    // Own batches up to this one are committed and followed, or have failed.
    for (const [number, { touched }] of this.batches) {
      if (number > commit) break
      this.touched -= touched.length
      this.batches.delete(number)
    }
  }

  /** Forgets what own batches touched, where they alone lead from the cache's state to that one; else false. */
  private follow(writer: number, commit: number): boolean {
    const way: OwnBatch[] = []
    let stamp: Stamp = { writer, commit }
    while (stamp.commit !== this.commit || stamp.writer !== this.writer) {
      const batch = stamp.writer === this.own ? this.batches.get(stamp.commit) : undefined
      if (batch === undefined) return false
      way.push(batch)
      stamp = batch.before
    }
    for (const { touched } of way) for (const { database, key } of touched) this.forget(database, key)
    return true
  }

  private forget(database: Database<unknown>, key: unknown): void {
    const { databases } = this
    if (database === databases.adjacency) {
      const { node, side } = key as AdjacencyKey
      this.lists.forget(node, side)
    } else if (database === databases.upsertKeys) {
      const { type, externalId } = key as UpsertKey
      this.keys.forget(type, externalId)
    } else if (database === databases.labels) {
      const { label, block } = key as LabelKey
      this.labels.forget(label, block)
    } else if (database === databases.meta) {
      const { kind, symbol } = key as SymbolKey
      this.counts.delete(countKey(kind, symbol))
    }
  }

  forgetAll(): void {
    this.keys.forgetAll()
    this.lists.forgetAll()
    this.labels.forgetAll()
    this.counts.clear()
  }

  // -- own batches

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
  expect(commit: number, before: Stamp, touched: readonly Touched[]): void {
    if (!this.on) return
    this.touched += touched.length
    if (this.touched > TOUCHED_MAX) {
      this.batches.clear()
      this.touched = 0
      return
    }
    this.batches.set(commit, { before, touched })
  }
}

/** There are fewer than eight kinds of counts. */
export function countKey(kind: number, symbol: SymbolId): number {
  return symbol * 8 + kind
}
