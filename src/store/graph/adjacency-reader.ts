// Reads the edge lists of nodes: a short list completely, of a long list the requested chunks. This is a base class of the
// snapshot and not a collaborator, because one more call per list slows a check of two hops by 3 %.
import type { Chunk, Direction, NodeId, SymbolId } from '../../engine/store.ts'
import { type AdjacencyKey, type ChunkKey, edgeListId } from '../format/keys.ts'
import { CHUNK_HEAD_BYTES, LONG_LIST_HEAD_BYTES } from '../format/packed-lists.ts'
import { clearChunk, copyEntries, copyMatches, dropBelow } from './fill-chunk.ts'
import { VersionReader } from './version-reader.ts'

const LONG_LIST_HEAD_WORDS = LONG_LIST_HEAD_BYTES / 4

// Reused by all snapshots: reads are synchronous, and no key is kept after the call.
const adjacencyKey: AdjacencyKey = { node: 0, edgeList: 0 }
const chunkKey: ChunkKey = { node: 0, edgeList: 0, neighbour: 0, relationship: 0 }

const NO_WORDS = new Uint32Array(0)

/** The part of a snapshot that reads edge lists. */
export class AdjacencyReader extends VersionReader {
  /** The list found by the last `find`: `listSize` words from index `listAt`. Valid until the next read. */
  private listWords: Uint32Array = NO_WORDS
  private listAt = 0
  private listSize = 0

  /** Sets `listWords`, `listAt` and `listSize`; the size is 0 if the node has no such list. */
  private find(node: NodeId, edgeList: number): void {
    const hot = this.isCacheCurrent
    const { lists } = this.cache
    if (hot && lists.find(node, edgeList)) {
      this.listWords = lists.words
      this.listAt = lists.at
      this.listSize = lists.size
      return
    }
    adjacencyKey.node = node
    adjacencyKey.edgeList = edgeList
    const valueView = this.read(this.databases.adjacency, adjacencyKey)
    this.listAt = 0
    this.listSize = valueView === null ? 0 : valueView.byteLength >>> 2
    if (valueView !== null) this.listWords = valueView.words
    if (hot) lists.put(node, edgeList, this.listWords, this.listSize)
  }

  neighbours(node: NodeId, direction: Direction, type: SymbolId, from: number, chunk: Chunk): void {
    if (from !== 0) {
      this.copyChunk(from, chunk)
      return
    }
    clearChunk(chunk)
    if (type === 0) return
    this.find(node, edgeListId(direction, type))
    const { listWords: words, listAt: at, listSize: size } = this
    if (size === LONG_LIST_HEAD_WORDS) this.copyChunk(words[at + 1]!, chunk)
    else if (size !== 0) copyEntries(words, at, size >>> 1, chunk)
  }

  neighboursFrom(node: NodeId, direction: Direction, type: SymbolId, first: NodeId, chunk: Chunk): void {
    clearChunk(chunk)
    if (type === 0) return
    const edgeList = edgeListId(direction, type)
    this.find(node, edgeList)
    const { listWords: words, listAt: at, listSize: size } = this
    if (size === 0) return
    if (size !== LONG_LIST_HEAD_WORDS) copyEntries(words, at, size >>> 1, chunk)
    else this.copyChunk(first <= 1 ? words[at + 1]! : this.chunkAt(node, edgeList, first), chunk)
    dropBelow(first, chunk)
    // All entries of the chunk may be below `first`, which then is in the next chunk.
    if (chunk.length === 0 && chunk.more) this.copyChunk(chunk.next, chunk)
  }

  private copyChunk(id: number, chunk: Chunk): void {
    clearChunk(chunk)
    const valueView = this.readRequired(this.databases.chunks, id)
    const next = valueView.words[0]!
    copyEntries(valueView.words, 1, (valueView.byteLength - CHUNK_HEAD_BYTES) >>> 3, chunk)
    chunk.more = next !== 0
    chunk.next = next
  }

  /** Exact for every node. */
  degree(node: NodeId, direction: Direction, type: SymbolId): number {
    if (type === 0) return 0
    this.find(node, edgeListId(direction, type))
    return this.listSize === LONG_LIST_HEAD_WORDS ? this.listWords[this.listAt]! : this.listSize >>> 1
  }

  relationshipsBetween(source: NodeId, type: SymbolId, target: NodeId, chunk: Chunk): void {
    clearChunk(chunk)
    if (type === 0) return
    this.find(source, edgeListId('out', type))
    if (this.listSize !== LONG_LIST_HEAD_WORDS) {
      copyMatches(this.listWords, this.listAt, this.listSize >>> 1, target, chunk)
      return
    }
    this.find(target, edgeListId('in', type))
    if (this.listSize !== LONG_LIST_HEAD_WORDS) {
      copyMatches(this.listWords, this.listAt, this.listSize >>> 1, source, chunk)
      // The list of the target holds the sources; the caller expects the target.
      for (let i = 0; i < chunk.length; i++) chunk.ids[i] = target
      return
    }
    this.betweenLongLists(source, edgeListId('out', type), target, chunk)
  }

  /** The last chunk of a long list that does not begin after the neighbour. */
  private chunkAt(node: NodeId, edgeList: number, neighbour: NodeId): number {
    chunkKey.node = node
    chunkKey.edgeList = edgeList
    chunkKey.neighbour = neighbour
    chunkKey.relationship = 0
    const { chunkIndex } = this.databases
    let id = 0
    let floor: ChunkKey | null = null
    const range = { start: chunkKey, end: undefined, limit: 1, reverse: true, ...this.readOptions }
    for (const { key, valueView } of chunkIndex.entries(range)) {
      floor = key
      id = valueView.words[0]!
    }
    if (floor === null || floor.node !== node || floor.edgeList !== edgeList)
      throw chunkIndex.damageError(chunkKey, 'is missing')
    // Verifies that no chunk begins between the two.
    this.verifyCount(chunkIndex, floor, { node, edgeList, neighbour, relationship: 1 }, 1)
    return id
  }

  /** Reads the chunk that may hold the neighbour, and further ones while parallel relationships continue. */
  private betweenLongLists(node: NodeId, edgeList: number, neighbour: NodeId, chunk: Chunk): void {
    let id = this.chunkAt(node, edgeList, neighbour)
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
    for (let i = 0; i < this.listSize; i++) types.push(this.listWords[this.listAt + i]!)
    return types
  }
}
