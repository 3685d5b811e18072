// How the lists of a node's relationships are read: a short one whole, of a long one the chunks that are asked for.
// It lies below the snapshot and not beside it, because a check of two hops feels one more call for each list (3 %).
import type { Chunk, Direction, NodeId, SymbolId } from '../../engine/store.ts'
import { type AdjacencyKey, type ChunkKey, edgeListId } from '../format/keys.ts'
import { CHUNK_HEAD_BYTES, LONG_LIST_HEAD_BYTES } from '../format/packed-lists.ts'
import { clearChunk, copyEntries, copyMatches, dropBelow } from './fill-chunk.ts'
import { VersionReader } from './version-reader.ts'

const LONG_LIST_HEAD_WORDS = LONG_LIST_HEAD_BYTES / 4

// Reused by every snapshot: reading is synchronous, and no key outlives the call that it is made for.
const adjacencyKey: AdjacencyKey = { node: 0, side: 0 }
const chunkKey: ChunkKey = { node: 0, side: 0, neighbour: 0, relationship: 0 }

/** The packed list found last: `size` words from `at` on. Valid until the next list is asked for. */
const foundList: { words: Uint32Array; at: number; size: number } = { words: new Uint32Array(0), at: 0, size: 0 }

export class AdjacencyReader extends VersionReader {
  /** Points `found` at the list; it is empty where there is none. */
  private find(node: NodeId, side: number): void {
    const hot = this.isCacheCurrent
    const { lists } = this.cache
    if (hot && lists.find(node, side)) {
      foundList.words = lists.words
      foundList.at = lists.at
      foundList.size = lists.size
      return
    }
    adjacencyKey.node = node
    adjacencyKey.side = side
    const window = this.read(this.databases.adjacency, adjacencyKey)
    foundList.at = 0
    foundList.size = window === null ? 0 : window.byteLength >>> 2
    if (window !== null) foundList.words = window.words
    if (hot) lists.put(node, side, foundList.words, foundList.size)
  }

  neighbours(node: NodeId, direction: Direction, type: SymbolId, from: number, chunk: Chunk): void {
    if (from !== 0) {
      this.copyChunk(from, chunk)
      return
    }
    clearChunk(chunk)
    if (type === 0) return
    this.find(node, edgeListId(direction, type))
    const { words, at, size } = foundList
    if (size === LONG_LIST_HEAD_WORDS) this.copyChunk(words[at + 1]!, chunk)
    else if (size !== 0) copyEntries(words, at, size >>> 1, chunk)
  }

  neighboursFrom(node: NodeId, direction: Direction, type: SymbolId, first: NodeId, chunk: Chunk): void {
    clearChunk(chunk)
    if (type === 0) return
    const side = edgeListId(direction, type)
    this.find(node, side)
    const { words, at, size } = foundList
    if (size === 0) return
    if (size !== LONG_LIST_HEAD_WORDS) copyEntries(words, at, size >>> 1, chunk)
    else this.copyChunk(first <= 1 ? words[at + 1]! : this.chunkAt(node, side, first), chunk)
    dropBelow(first, chunk)
    // All of a chunk may lie before the place, which is then the beginning of the next.
    if (chunk.length === 0 && chunk.more) this.copyChunk(chunk.next, chunk)
  }

  private copyChunk(id: number, chunk: Chunk): void {
    clearChunk(chunk)
    const window = this.readRequired(this.databases.chunks, id)
    const next = window.words[0]!
    copyEntries(window.words, 1, (window.byteLength - CHUNK_HEAD_BYTES) >>> 3, chunk)
    chunk.more = next !== 0
    chunk.next = next
  }

  /** Exact for every node. */
  degree(node: NodeId, direction: Direction, type: SymbolId): number {
    if (type === 0) return 0
    this.find(node, edgeListId(direction, type))
    return foundList.size === LONG_LIST_HEAD_WORDS ? foundList.words[foundList.at]! : foundList.size >>> 1
  }

  relationshipsBetween(source: NodeId, type: SymbolId, target: NodeId, chunk: Chunk): void {
    clearChunk(chunk)
    if (type === 0) return
    this.find(source, edgeListId('out', type))
    if (foundList.size !== LONG_LIST_HEAD_WORDS) {
      copyMatches(foundList.words, foundList.at, foundList.size >>> 1, target, chunk)
      return
    }
    this.find(target, edgeListId('in', type))
    if (foundList.size !== LONG_LIST_HEAD_WORDS) {
      copyMatches(foundList.words, foundList.at, foundList.size >>> 1, source, chunk)
      // What is found at the target are its sources; asked for are the targets.
      for (let i = 0; i < chunk.length; i++) chunk.ids[i] = target
      return
    }
    this.betweenLongLists(source, edgeListId('out', type), target, chunk)
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
    const range = { start: chunkKey, end: undefined, limit: 1, reverse: true, ...this.readOptions }
    for (const { key, window } of chunkIndex.entries(range)) {
      floor = key
      id = window.words[0]!
    }
    if (floor === null || floor.node !== node || floor.side !== side)
      throw chunkIndex.damageError(chunkKey, 'is missing')
    // Nothing stands between the two.
    this.verifyCount(chunkIndex, floor, { node, side, neighbour, relationship: 1 }, 1)
    return id
  }

  /** Reads the one chunk that may hold the neighbour, and those behind it only while parallel relationships run on. */
  private betweenLongLists(node: NodeId, side: number, neighbour: NodeId, chunk: Chunk): void {
    let id = this.chunkAt(node, side, neighbour)
    while (id !== 0) {
      const { words, byteLength } = this.readRequired(this.databases.chunks, id)
      const count = (byteLength - CHUNK_HEAD_BYTES) >>> 3
      copyMatches(words, 1, count, neighbour, chunk)
      id = count > 0 && words[count]! <= neighbour ? words[0]! : 0
    }
  }

  relationshipTypesAt(node: NodeId, direction: Direction): readonly SymbolId[] {
    this.find(node, edgeListId(direction, 0))
    const types: SymbolId[] = []
    for (let i = 0; i < foundList.size; i++) types.push(foundList.words[foundList.at + i]!)
    return types
  }
}
