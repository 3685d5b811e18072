// Packed lists. Adjacency: all neighbours, then all relationship ids, sorted by (neighbour, relationship).
// A short list is one such block; a long one is a head that points to a chain of chunks. Labels: blocks of 1,024 bits.
import type { NodeId, RelationshipId } from '../../engine/store.ts'

/**
 * Entries of one block: a chunk of 508 fills one page of the database. A larger value would take two.
 */
export const ENTRIES_PER_CHUNK = 508

/** Bytes of the head of a long list: count of entries, first chunk, and a word that makes it no multiple of eight. */
export const LONG_LIST_HEAD_BYTES = 12

/** Bytes before the entries of a chunk: the id of the next chunk, 0 at the end. */
export const CHUNK_HEAD_BYTES = 4

export const BLOCK_BYTES = 128
export const BLOCK_WORDS = BLOCK_BYTES / 4

/** The first of `count` ascending words from `start` that is not below `value`, as an index from 0. */
export function lowerBound(words: Uint32Array, start: number, count: number, value: number): number {
  let low = 0
  let high = count
  while (low < high) {
    const middle = (low + high) >>> 1
    if (words[start + middle]! < value) low = middle + 1
    else high = middle
  }
  return low
}

/** A sorted run of entries that a batch edits in memory. */
export class EntryList {
  neighbours: Uint32Array
  relationships: Uint32Array
  length: number

  constructor(capacity: number) {
    this.neighbours = new Uint32Array(capacity)
    this.relationships = new Uint32Array(capacity)
    this.length = 0
  }

  /** Copies `count` entries that start at a word of a stored block. */
  static from(words: Uint32Array, start: number, count: number): EntryList {
    const pairs = new EntryList(count + 4)
    for (let i = 0; i < count; i++) {
      pairs.neighbours[i] = words[start + i]!
      pairs.relationships[i] = words[start + count + i]!
    }
    pairs.length = count
    return pairs
  }

  /** The first entry that is not below (neighbour, relationship). */
  search(neighbour: NodeId, relationship: RelationshipId): number {
    let at = lowerBound(this.neighbours, 0, this.length, neighbour)
    if (at === this.length || this.neighbours[at] !== neighbour || this.relationships[at]! >= relationship) return at
    let high = this.length
    while (at < high) {
      const middle = (at + high) >>> 1
      if (this.neighbours[middle] === neighbour && this.relationships[middle]! < relationship) at = middle + 1
      else high = middle
    }
    return at
  }

  insert(at: number, neighbour: NodeId, relationship: RelationshipId): void {
    if (this.length === this.neighbours.length) this.resize(this.length * 2 + 4)
    this.neighbours.copyWithin(at + 1, at, this.length)
    this.relationships.copyWithin(at + 1, at, this.length)
    this.neighbours[at] = neighbour
    this.relationships[at] = relationship
    this.length += 1
  }

  removeAt(at: number): void {
    this.neighbours.copyWithin(at, at + 1, this.length)
    this.relationships.copyWithin(at, at + 1, this.length)
    this.length -= 1
  }

  append(more: EntryList): void {
    const length = this.length + more.length
    if (length > this.neighbours.length) this.resize(length)
    this.neighbours.set(more.neighbours.subarray(0, more.length), this.length)
    this.relationships.set(more.relationships.subarray(0, more.length), this.length)
    this.length = length
  }

  /** Cuts the entries from `at` on off and returns them. */
  splitAt(at: number): EntryList {
    const rest = new EntryList(this.length - at + 4)
    rest.neighbours.set(this.neighbours.subarray(at, this.length))
    rest.relationships.set(this.relationships.subarray(at, this.length))
    rest.length = this.length - at
    this.length = at
    return rest
  }

  private resize(capacity: number): void {
    const { neighbours, relationships } = this
    this.neighbours = new Uint32Array(capacity)
    this.neighbours.set(neighbours)
    this.relationships = new Uint32Array(capacity)
    this.relationships.set(relationships)
  }
}
