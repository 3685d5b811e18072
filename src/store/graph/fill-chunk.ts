// Fills the chunks that the store returns, from edge lists and label bits.
import type { Chunk, NodeId } from '../../engine/store.ts'
import { BLOCK_WORDS, lowerBound } from '../format/packed-lists.ts'

/** Empties a chunk. */
export function clearChunk(chunk: Chunk): void {
  chunk.length = 0
  chunk.more = false
  chunk.next = 0
}

/** Grows the arrays of a chunk to at least `size` entries, keeping its contents. */
export function ensureCapacity(chunk: Chunk, size: number): void {
  if (chunk.ids.length >= size && chunk.relationships.length >= size) return
  const capacity = Math.max(size, chunk.ids.length * 2)
  const ids = new Uint32Array(capacity)
  ids.set(chunk.ids.subarray(0, Math.min(chunk.length, chunk.ids.length)))
  const relationships = new Uint32Array(capacity)
  relationships.set(chunk.relationships.subarray(0, Math.min(chunk.length, chunk.relationships.length)))
  chunk.ids = ids
  chunk.relationships = relationships
}

/** Appends `base` plus the index of each set bit of a label block. */
export function appendBits(words: Uint32Array, base: number, chunk: Chunk): void {
  let length = chunk.length
  ensureCapacity(chunk, length + BLOCK_WORDS * 32)
  const { ids } = chunk
  for (let i = 0; i < BLOCK_WORDS; i++) {
    let word = words[i]!
    while (word !== 0) {
      const bit = 31 - Math.clz32(word & -word)
      ids[length++] = base + i * 32 + bit
      word &= word - 1
    }
  }
  chunk.length = length
}

/** Replaces the contents of a chunk with the `count` entries at word `start` of an edge list. */
export function copyEntries(words: Uint32Array, start: number, count: number, chunk: Chunk): void {
  if (chunk.ids.length < count || chunk.relationships.length < count) ensureCapacity(chunk, count)
  const { ids, relationships } = chunk
  for (let i = 0; i < count; i++) {
    ids[i] = words[start + i]!
    relationships[i] = words[start + count + i]!
  }
  chunk.length = count
}

/** Appends the entries with that neighbour. */
export function copyMatches(words: Uint32Array, start: number, count: number, neighbour: NodeId, chunk: Chunk): void {
  let length = chunk.length
  for (let i = lowerBound(words, start, count, neighbour); i < count && words[start + i] === neighbour; i++) {
    if (length === chunk.ids.length || length === chunk.relationships.length) {
      chunk.length = length
      ensureCapacity(chunk, length + 1)
    }
    chunk.ids[length] = neighbour
    chunk.relationships[length++] = words[start + count + i]!
  }
  chunk.length = length
}

/** Removes the ids below `first` from a chunk with ascending ids. */
export function dropBelow(first: NodeId, chunk: Chunk): void {
  const below = lowerBound(chunk.ids, 0, chunk.length, first)
  chunk.ids.copyWithin(0, below, chunk.length)
  chunk.relationships.copyWithin(0, below, chunk.length)
  chunk.length -= below
}
