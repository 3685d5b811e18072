// Ids of the nodes that a load has met, so that their keys need not be asked of the database again. Flat memory: a million
// strings in maps keep the garbage collector busier than the load itself.
import type { NodeId, SymbolId } from '../../engine/store.ts'
import { seedWithText } from '../format/checksum.ts'
import type { GraphVersion } from '../format/header.ts'

/** Of each of two generations: so that what is asked again stays, and a load of any size needs no more memory. */
const WORDS_MAX = 1 << 24

/** Of an entry, before its text of two units a word: type, id, length of the text. */
const HEAD_WORDS = 3

/** A load never deletes a node, so what is known stays right from one batch to the next. */
export class BulkKeyCache {
  private stamp: GraphVersion = { writer: 0, commit: 0 }
  private readonly wordsMax: number
  private young = new KeyGeneration()
  private old = new KeyGeneration()
  /** Everything since the graph was empty is here: what is not, is nowhere. */
  private isWhole = false

  /** For tests: a smaller bound. One batch may go beyond it: what it has added itself it never forgets. */
  constructor(wordsMax = WORDS_MAX) {
    this.wordsMax = wordsMax
  }

  /** Forgets everything unless the batch builds on the last one that used it: that one failed, or others wrote since. */
  beginBatch(before: GraphVersion, own: GraphVersion, isEmpty: boolean): void {
    if (before.writer !== this.stamp.writer || before.commit !== this.stamp.commit) {
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
    this.stamp = own
  }

  /** 0: there is none; null: the database must be asked. */
  find(type: SymbolId, externalId: string): NodeId | null {
    const hash = seedWithText(type, externalId)
    const id = this.young.find(hash, type, externalId)
    if (id !== 0) return id
    const kept = this.old.find(hash, type, externalId)
    if (kept === 0) return this.isWhole ? 0 : null
    this.add(type, externalId, kept, hash)
    return kept
  }

  /** What is known already stays as it is. */
  add(type: SymbolId, externalId: string, id: NodeId, hash = seedWithText(type, externalId)): void {
    this.young.add(hash, type, externalId, id)
  }
}

class KeyGeneration {
  length = 0
  private words = new Uint32Array(1 << 14)
  /** Open addressing: the hash and where the entry begins, counted from 1; 0 is free. */
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
    if (end > this.words.length) this.words = withCapacity(this.words, end)
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

/** The low bits of what `seedOfText` makes are a multiple of an odd number, and so as good as the high ones. */
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

function withCapacity(words: Uint32Array, length: number): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(Math.max(length, words.length * 2))
  larger.set(words)
  return larger
}
