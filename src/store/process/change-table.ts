// Which names of a graph the last transactions changed, in memory that all processes of a service share. A name is hashed to a slot;
// the slot holds the number of the last transaction that changed it. Writers note a change before they commit it, so a reader that
// sees a commit sees its notes. Two names in one slot are reported together: a reader may learn too much and never too little.
// Nothing is noted while nothing watches the graph (docs/decisions/0052-change-and-decision-streams.md).
import { existsSync, mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { openSharedWords } from './shared-counter.ts'

/** Index of the word with the time until which changes are noted, in seconds since the machine started. */
const UNTIL = 0
/** Index of the word with the number after which all transactions are noted, plus 1. 0: unknown. */
const SINCE = 1
const HEADER_WORDS = 2
/** Number of slots. 16 KiB of a watched graph. */
export const CHANGE_SLOTS = 4096

/** Writers note changes for this much longer than watchers rely on it, because clocks are read at different times. */
const GRACE_S = 30

/** The parts of a graph that have slots of their own. */
export const changeSlots = {
  /** A node was created or deleted. */
  nodes: 0,
  /** A relationship was created or deleted. */
  relationships: 1,
  /** An element was changed and was neither created nor deleted. */
  updates: 2,
} as const
const FIRST_NAMED_SLOT = 3

const FNV_OFFSET = 0x811c9dc5
const FNV_PRIME = 0x01000193

/** The slot of a name: FNV-1a over its characters. */
export function slotOfName(kind: 'label' | 'type' | 'property', name: string): number {
  let hash = Math.imul(FNV_OFFSET ^ kind.charCodeAt(0), FNV_PRIME)
  for (let i = 0; i < name.length; i++) hash = Math.imul(hash ^ name.charCodeAt(i), FNV_PRIME)
  return FIRST_NAMED_SLOT + ((hash >>> 0) % (CHANGE_SLOTS - FIRST_NAMED_SLOT))
}

/** The slots that changed after a transaction; null: unknown, so anything may have changed. */
type ChangedSlots = readonly number[] | null

/** The notes of one graph. */
export class ChangeTable {
  private readonly words: Uint32Array

  private constructor(path: string) {
    this.words = openSharedWords(path, HEADER_WORDS + CHANGE_SLOTS)
  }

  /** Opens the table in the file at `path`, and creates it. Throws the error of the system. */
  static open(path: string): ChangeTable {
    mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
    return new ChangeTable(path)
  }

  /** Opens the table in the file at `path`; null if no process has created it. */
  static openIfPresent(path: string): ChangeTable | null {
    return existsSync(path) ? new ChangeTable(path) : null
  }

  // -- for writers

  /** Whether changes must be noted. `nowS`: seconds since the machine started. */
  isWatched(nowS: number): boolean {
    return Atomics.load(this.words, UNTIL) + GRACE_S >= nowS
  }

  /** Notes that the transaction changes these slots. Call it within the transaction. */
  note(slots: Iterable<number>, transaction: number): void {
    for (const slot of slots) Atomics.store(this.words, HEADER_WORDS + slot, transaction)
  }

  // -- for watchers

  /** Has changes noted until `untilS`. Returns false if some may have been missed: then call `beComplete`. */
  renew(nowS: number, untilS: number): boolean {
    const isContinued = Atomics.load(this.words, UNTIL) >= nowS
    // In this order: a watcher in another process must not take the old start for that of this period.
    if (!isContinued) Atomics.store(this.words, SINCE, 0)
    Atomics.store(this.words, UNTIL, untilS)
    return isContinued && Atomics.load(this.words, SINCE) !== 0
  }

  /** From now on all transactions after this one are noted. */
  beComplete(transaction: number): void {
    Atomics.store(this.words, SINCE, transaction + 1)
  }

  /**
   * The slots that transactions after `last`, up to `current`, have changed. A slot that a later transaction is changing may have
   * been changed before: it is returned, too, once. `pending` holds these, and is changed. `nowS`: read after `current`. If nothing
   * has to be noted at that time, writers may have stopped before: the machine was suspended, for example.
   */
  changedSince(last: number, current: number, pending: Map<number, number>, nowS: number): ChangedSlots {
    const since = Atomics.load(this.words, SINCE)
    const isNoted = since !== 0 && last >= since - 1 && Atomics.load(this.words, UNTIL) >= nowS
    if (last !== current && !isNoted) return null
    const changed: number[] = []
    for (let slot = 0; slot < CHANGE_SLOTS; slot++) {
      const noted = Atomics.load(this.words, HEADER_WORDS + slot)
      if (noted <= last) continue
      if (noted > current) {
        if (pending.get(slot) === noted) continue
        pending.set(slot, noted)
      } else pending.delete(slot)
      changed.push(slot)
    }
    return changed
  }
}
