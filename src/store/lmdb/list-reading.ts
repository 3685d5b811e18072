// How the lists of a node's relationships are read: a short one whole, of a long one the chunks that are asked for.
// It lies below the snapshot and not beside it, because a check of two hops feels one more call for each list (3 %).
import type { Chunk, Direction, NodeId, SymbolId } from '../../engine/store.ts'
import { CHUNK_HEAD_BYTES, LONG_HEAD_BYTES } from '../blocks.ts'
import { clearChunk, copyEntries, copyMatches, dropBelow } from '../chunk-filling.ts'
import { type AdjacencyKey, type ChunkKey, sideOf } from '../keys.ts'
import { StateReading } from './state-reading.ts'

const LONG_HEAD_WORDS = LONG_HEAD_BYTES / 4

// Reused by every snapshot: reading is synchronous, and no key outlives the call that it is made for.
const listKey: AdjacencyKey = { node: 0, side: 0 }
const chunkKey: ChunkKey = { node: 0, side: 0, neighbour: 0, relationship: 0 }

/** The packed list found last: `size` words from `at` on. Valid until the next list is asked for. */
const found: { words: Uint32Array; at: number; size: number } = { words: new Uint32Array(0), at: 0, size: 0 }

export class ListReading extends StateReading {
  /** Points `found` at the list; it is empty where there is none. */
  private find(node: NodeId, side: number): void {
    const hot = this.isHot
    const { lists } = this.hot
    if (hot && lists.find(node, side)) {
      found.words = lists.words
      found.at = lists.at
      found.size = lists.size
      return
    }
    listKey.node = node
    listKey.side = side
    const window = this.read(this.databases.adjacency, listKey)
    found.at = 0
    found.size = window === null ? 0 : window.bytes >>> 2
    if (window !== null) found.words = window.words
    if (hot) lists.put(node, side, found.words, found.size)
  }

  neighbours(node: NodeId, direction: Direction, type: SymbolId, from: number, chunk: Chunk): void {
    if (from !== 0) {
      this.copyChunk(from, chunk)
      return
    }
    clearChunk(chunk)
    if (type === 0) return
    this.find(node, sideOf(direction, type))
    const { words, at, size } = found
    if (size === LONG_HEAD_WORDS) this.copyChunk(words[at + 1]!, chunk)
    else if (size !== 0) copyEntries(words, at, size >>> 1, chunk)
  }

  neighboursFrom(node: NodeId, direction: Direction, type: SymbolId, first: NodeId, chunk: Chunk): void {
    clearChunk(chunk)
    if (type === 0) return
    const side = sideOf(direction, type)
    this.find(node, side)
    const { words, at, size } = found
    if (size === 0) return
    if (size !== LONG_HEAD_WORDS) copyEntries(words, at, size >>> 1, chunk)
    else this.copyChunk(first <= 1 ? words[at + 1]! : this.chunkAt(node, side, first), chunk)
    dropBelow(first, chunk)
    // All of a chunk may lie before the place, which is then the beginning of the next.
    if (chunk.length === 0 && chunk.more) this.copyChunk(chunk.next, chunk)
  }

  private copyChunk(id: number, chunk: Chunk): void {
    clearChunk(chunk)
    const window = this.expect(this.databases.chunks, id)
    const next = window.words[0]!
    copyEntries(window.words, 1, (window.bytes - CHUNK_HEAD_BYTES) >>> 3, chunk)
    chunk.more = next !== 0
    chunk.next = next
  }

  /** Exact for every node. */
  degree(node: NodeId, direction: Direction, type: SymbolId): number {
    if (type === 0) return 0
    this.find(node, sideOf(direction, type))
    return found.size === LONG_HEAD_WORDS ? found.words[found.at]! : found.size >>> 1
  }

  relationshipsBetween(source: NodeId, type: SymbolId, target: NodeId, chunk: Chunk): void {
    clearChunk(chunk)
    if (type === 0) return
    this.find(source, sideOf('out', type))
    if (found.size !== LONG_HEAD_WORDS) {
      copyMatches(found.words, found.at, found.size >>> 1, target, chunk)
      return
    }
    this.find(target, sideOf('in', type))
    if (found.size !== LONG_HEAD_WORDS) {
      copyMatches(found.words, found.at, found.size >>> 1, source, chunk)
      // What is found at the target are its sources; asked for are the targets.
      for (let i = 0; i < chunk.length; i++) chunk.ids[i] = target
      return
    }
    this.betweenHubs(source, sideOf('out', type), target, chunk)
  }

  /** The last chunk of a long list that does not begin behind the neighbour. */
  private chunkAt(node: NodeId, side: number, neighbour: NodeId): number {
    chunkKey.node = node
    chunkKey.side = side
    chunkKey.neighbour = neighbour
    chunkKey.relationship = 0
    const { chunkIndex } = this.databases
    let id = 0
    let floor: ChunkKey | null = null
    const range = { start: chunkKey, end: undefined, limit: 1, reverse: true, ...this.reading }
    for (const { key, window } of chunkIndex.entries(range)) {
      floor = key
      id = window.words[0]!
    }
    if (floor === null || floor.node !== node || floor.side !== side) throw chunkIndex.damage(chunkKey, 'is missing')
    // Nothing stands between the two.
    this.prove(chunkIndex, floor, { node, side, neighbour, relationship: 1 }, 1)
    return id
  }

  /** Reads the one chunk that may hold the neighbour, and those behind it only while parallel relationships run on. */
  private betweenHubs(node: NodeId, side: number, neighbour: NodeId, chunk: Chunk): void {
    let id = this.chunkAt(node, side, neighbour)
    while (id !== 0) {
      const { words, bytes } = this.expect(this.databases.chunks, id)
      const count = (bytes - CHUNK_HEAD_BYTES) >>> 3
      copyMatches(words, 1, count, neighbour, chunk)
      id = count > 0 && words[count]! <= neighbour ? words[0]! : 0
    }
  }

  typesAt(node: NodeId, direction: Direction): readonly SymbolId[] {
    this.find(node, sideOf(direction, 0))
    const types: SymbolId[] = []
    for (let i = 0; i < found.size; i++) types.push(found.words[found.at + i]!)
    return types
  }
}
