// Caches the ids of the nodes that a bulk load has seen, so that their keys are not read from the database again. The cache is
// flat memory, because a million strings in maps would cost more garbage collection than the load itself.

import type { NodeId, SymbolId } from '../../engine/store.ts'
import { seedWithText } from '../format/checksum.ts'
import type { GraphVersion } from '../format/header.ts'
import { growWords } from '../format/packed-lists.ts'

/** Words per generation. Two generations keep recent keys and bound the memory of a load of any size. */
const WORDS_MAX = 1 << 24

/** Words of an entry before its text: type, id, length of the text. The text has two code units per word. */
const HEAD_WORDS = 3

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
    this.add(type, externalId, kept, hash)
    return kept
  }

  /** Adds a key. An existing entry is not changed. */
  add(type: SymbolId, externalId: string, id: NodeId, hash = seedWithText(type, externalId)): void {
    this.young.add(hash, type, externalId, id)
  }
}

class KeyGeneration {
  length = 0
  private words = new Uint32Array(1 << 14)
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
      if (slots[at] === hash >>> 0 && this.holds(place - 1, type, text)) return this.words[place]!
    }
  }

  private holds(at: number, type: SymbolId, text: string): boolean {
    const { words } = this
    const { length } = text
    if (words[at] !== type || words[at + 2] !== length) return false
    let from = at + HEAD_WORDS
    for (let i = 0; i + 1 < length; i += 2) if (words[from++] !== pairAt(text, i)) return false
    return (length & 1) === 0 || words[from] === text.charCodeAt(length - 1)
  }

  add(hash: number, type: SymbolId, text: string, id: NodeId): void {
    const { length } = text
    const start = this.length
    const end = start + HEAD_WORDS + ((length + 1) >>> 1)
    if (end > this.words.length) this.words = growWords(this.words, Math.max(end, this.words.length * 2))
    const { words } = this
    words[start] = type
    words[start + 1] = id
    words[start + 2] = length
    let at = start + HEAD_WORDS
    for (let i = 0; i + 1 < length; i += 2) words[at++] = pairAt(text, i)
    if ((length & 1) === 1) words[at] = text.charCodeAt(length - 1)
    this.length = end
    this.count += 1
    if (this.count * 3 > this.slots.length) this.growSlots()
    insertSlot(this.slots, hash >>> 0, start + 1)
  }

  private growSlots(): void {
    const { slots } = this
    const wider = new Uint32Array(slots.length * 2)
    for (let at = 0; at < slots.length; at += 2) if (slots[at + 1] !== 0) insertSlot(wider, slots[at]!, slots[at + 1]!)
    this.slots = wider
  }
}

function pairAt(text: string, at: number): number {
  return (text.charCodeAt(at) | (text.charCodeAt(at + 1) << 16)) >>> 0
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
