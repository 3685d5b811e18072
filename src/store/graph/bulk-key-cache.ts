// Caches the ids of the nodes that a bulk load has seen, so that their keys are not read from the database again. The cache is
// flat memory, because a million strings in maps would cost more garbage collection than the load itself.

import type { NodeId, SymbolId } from '../../engine/store.ts'
import { seedWithText } from '../format/checksum.ts'
import type { GraphVersion } from '../format/header.ts'

/**
 * Words per generation. Two generations keep recent keys and bound the memory of a load of any size: 430 MB for the keys of about
 * ten million nodes with short external ids.
 */
const WORDS_MAX = 36_000_000
/** A generation grows by segments, so that it is never copied. An entry lies within one segment. */
const SEGMENT_BITS = 16
const SEGMENT_WORDS = 1 << SEGMENT_BITS

/** Words of an entry before its text: type, id, length of the text with WIDE. */
const HEAD_WORDS = 3
/** The text has two code units per word; without it four, because all are below 256. */
const WIDE = 0x80000000

/** Node ids by type and external id. A load deletes no node, so entries stay valid from batch to batch. */
export class BulkKeyCache {
  private version: GraphVersion = { writer: 0, commit: 0 }
  private readonly wordsMax: number
  private young = new KeyGeneration()
  private old = new KeyGeneration()
  /** True: the cache contains all nodes, so a missing key does not exist. */
  private isWhole = false

  /** A smaller bound is for tests. A single batch may exceed it, because its own keys are never dropped. */
  constructor(wordsMax = WORDS_MAX) {
    this.wordsMax = wordsMax
  }

  /** Clears the cache unless the batch builds on the previous batch of the load: if that failed, or others have written since. */
  beginBatch(before: GraphVersion, own: GraphVersion, isEmpty: boolean): void {
    if (before.writer !== this.version.writer || before.commit !== this.version.commit) {
      this.young.clear()
      this.old.clear()
      this.isWhole = isEmpty
    } else if (this.young.length >= this.wordsMax) {
      const { old } = this
      if (old.length > 0) this.isWhole = false
      old.clear()
      this.old = this.young
      this.young = old
    }
    this.version = own
  }

  /** 0: the node does not exist; null: unknown, read the database. */
  find(type: SymbolId, externalId: string): NodeId | null {
    const hash = seedWithText(type, externalId)
    const id = this.young.find(hash, type, externalId)
    if (id !== 0) return id
    const kept = this.old.find(hash, type, externalId)
    if (kept === 0) return this.isWhole ? 0 : null
    // As long as all keys fit, copies of old ones would only push others out.
    if (!this.isWhole) this.add(type, externalId, kept, hash)
    return kept
  }

  /** Adds a key. An existing entry is not changed. */
  add(type: SymbolId, externalId: string, id: NodeId, hash = seedWithText(type, externalId)): void {
    this.young.add(hash, type, externalId, id)
  }
}

class KeyGeneration {
  length = 0
  private readonly segments: Uint32Array[] = []
  /** Open addressing: hash, and offset of the entry plus 1; 0: free. */
  private slots = new Uint32Array(1 << 12)
  private count = 0

  clear(): void {
    if (this.count > 0) this.slots.fill(0)
    this.count = 0
    this.length = 0
  }

  find(hash: number, type: SymbolId, text: string): NodeId {
    const { slots } = this
    const mask = slots.length - 1
    for (let at = slotOf(hash, mask); ; at = (at + 2) & mask) {
      const place = slots[at + 1]!
      if (place === 0) return 0
      if (slots[at] === hash >>> 0 && this.holds(place - 1, type, text)) return this.idAt(place - 1)
    }
  }

  private idAt(place: number): NodeId {
    return this.segments[place >>> SEGMENT_BITS]![(place & (SEGMENT_WORDS - 1)) + 1]!
  }

  private holds(place: number, type: SymbolId, text: string): boolean {
    const words = this.segments[place >>> SEGMENT_BITS]!
    const at = place & (SEGMENT_WORDS - 1)
    const { length } = text
    const isWide = words[at + 2] === (length | WIDE) >>> 0
    if (words[at] !== type || (words[at + 2] !== length && !isWide)) return false
    const from = at + HEAD_WORDS
    if (isWide) {
      for (let i = 0; i < length; i++)
        if (((words[from + (i >>> 1)]! >>> ((i & 1) << 4)) & 0xffff) !== text.charCodeAt(i)) return false
    } else {
      for (let i = 0; i < length; i++)
        if (((words[from + (i >>> 2)]! >>> ((i & 3) << 3)) & 0xff) !== text.charCodeAt(i)) return false
    }
    return true
  }

  add(hash: number, type: SymbolId, text: string, id: NodeId): void {
    const { length } = text
    const isWide = hasWideUnits(text)
    const size = HEAD_WORDS + (isWide ? (length + 1) >>> 1 : (length + 3) >>> 2)
    const place = this.reserve(size)
    const words = this.segments[place >>> SEGMENT_BITS]!
    const start = place & (SEGMENT_WORDS - 1)
    const first = start + HEAD_WORDS
    words[start] = type
    words[start + 1] = id
    words[start + 2] = isWide ? (length | WIDE) >>> 0 : length
    words.fill(0, first, start + size)
    if (isWide) for (let i = 0; i < length; i++) words[first + (i >>> 1)]! |= text.charCodeAt(i) << ((i & 1) << 4)
    else for (let i = 0; i < length; i++) words[first + (i >>> 2)]! |= text.charCodeAt(i) << ((i & 3) << 3)
    this.count += 1
    if (this.count * 3 > this.slots.length) this.growSlots()
    insertSlot(this.slots, hash >>> 0, place + 1)
  }

  /** Returns the place of the next entry. */
  private reserve(size: number): number {
    const left = SEGMENT_WORDS - (this.length & (SEGMENT_WORDS - 1))
    const place = size > left ? this.length + left : this.length
    const segment = place >>> SEGMENT_BITS
    if (segment === this.segments.length) this.segments.push(new Uint32Array(SEGMENT_WORDS))
    this.length = place + size
    return place
  }

  private growSlots(): void {
    const { slots } = this
    const wider = new Uint32Array(slots.length * 2)
    for (let at = 0; at < slots.length; at += 2) if (slots[at + 1] !== 0) insertSlot(wider, slots[at]!, slots[at + 1]!)
    this.slots = wider
  }
}

function hasWideUnits(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 0xff) return true
  return false
}

/** The low bits of `seedWithText` are as well distributed as the high ones, because it multiplies by odd numbers. */
function slotOf(hash: number, mask: number): number {
  return (hash << 1) & mask
}

function insertSlot(slots: Uint32Array, hash: number, entry: number): void {
  const mask = slots.length - 1
  let at = slotOf(hash, mask)
  while (slots[at + 1] !== 0) at = (at + 2) & mask
  slots[at] = hash
  slots[at + 1] = entry
}
