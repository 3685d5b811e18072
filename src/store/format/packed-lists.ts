// Packed lists. An edge list holds all neighbours, then all relationship ids, sorted by (neighbour, relationship). A short list
// is one value; a long list is a head and a linked list of chunks. Label bits are stored in blocks of 1,024 bits.
import type { NodeId, RelationshipId } from '../../engine/store.ts'

/** Entries per chunk. A chunk of 508 entries fills one LMDB page of 4 KiB; a larger value would need two pages. */
export const ENTRIES_PER_CHUNK = 508

/** Bytes of the head of a long list: entry count, first chunk id, and a zero word. 12 is not a multiple of an entry's 8 bytes. */
export const LONG_LIST_HEAD_BYTES = 12

/** Bytes before the entries of a chunk: the id of the next chunk, 0 for the last. */
export const CHUNK_HEAD_BYTES = 4

/** Bytes of one block of label bits. */
export const BLOCK_BYTES = 128
/** Words of one block of label bits. */
export const BLOCK_WORDS = BLOCK_BYTES / 4

/** Binary search: index, counted from `start`, of the first of `count` ascending words that is not below `value`. */
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

/** Whether an entry of an edge list comes before another one. */
export function isEntryBefore(
  neighbour: NodeId,
  relationship: RelationshipId,
  otherNeighbour: NodeId,
  otherRelationship: RelationshipId,
): boolean {
  return neighbour < otherNeighbour || (neighbour === otherNeighbour && relationship < otherRelationship)
}

/** Copies words into an array of the given capacity. */
export function growWords(words: Uint32Array, capacity: number): Uint32Array<ArrayBuffer> {
  const grown = new Uint32Array(capacity)
  grown.set(words)
  return grown
}

/** A sorted list of entries that a batch edits in memory. */
export class EntryList {
  neighbours: Uint32Array
  relationships: Uint32Array
  length: number

  constructor(capacity: number) {
    this.neighbours = new Uint32Array(capacity)
    this.relationships = new Uint32Array(capacity)
    this.length = 0
  }

  /** Copies `count` entries that begin at word `start` of a stored list. */
  static from(words: Uint32Array, start: number, count: number): EntryList {
    const pairs = new EntryList(count + 4)
    for (let i = 0; i < count; i++) {
      pairs.neighbours[i] = words[start + i]!
      pairs.relationships[i] = words[start + count + i]!
    }
    pairs.length = count
    return pairs
  }

  /** Index of the first entry that is not below (neighbour, relationship). */
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

  /** Removes the entries from index `at` and returns them. */
  splitAt(at: number): EntryList {
    const rest = new EntryList(this.length - at + 4)
    rest.neighbours.set(this.neighbours.subarray(at, this.length))
    rest.relationships.set(this.relationships.subarray(at, this.length))
    rest.length = this.length - at
    this.length = at
    return rest
  }

  private resize(capacity: number): void {
    this.neighbours = growWords(this.neighbours, capacity)
    this.relationships = growWords(this.relationships, capacity)
  }
}
