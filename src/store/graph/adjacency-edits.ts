// Edits the edge lists that a batch changes, in memory. A short list is one value; a long list is a linked list of chunks, of
// which only the changed ones are loaded: adding a relationship to a node with a million rewrites one chunk and the head.
// INVARIANTS: a stored list, chunk or list of types is never empty. The first chunk of a list has the lowest possible key.
// A long list has more than half a chunk of entries.
import type { NodeId, RelationshipId, SymbolId } from '../../engine/store.ts'
import type { ByteWriter } from '../format/bytes.ts'
import { type AdjacencyKey, type ChunkKey, edgeListId, edgeListType, typeListId } from '../format/keys.ts'
import { CHUNK_HEAD_BYTES, EntryList, isEntryBefore, LONG_LIST_HEAD_BYTES, lowerBound } from '../format/packed-lists.ts'
import type { Databases } from '../lmdb/databases.ts'
import type { PendingWrites } from '../lmdb/pending-writes.ts'
import { requireStored } from './stored-rules.ts'

interface ChunkStart {
  readonly neighbour: NodeId
  readonly relationship: RelationshipId
}

interface EditedChunk {
  readonly id: number
  readonly low: ChunkStart
  next: number
  pairs: EntryList
  dirty: boolean
  removed: boolean
  /** Whether the chunk is in the database. */
  readonly stored: boolean
}

interface EditedList {
  readonly node: NodeId
  readonly edgeList: number
  count: number
  /** The entries of a short list; null for a long list. */
  short: EntryList | null
  firstChunk: number
  /** The loaded chunks of a long list, ascending by `low`, with the removed ones. */
  readonly loaded: EditedChunk[]
  dirty: boolean
}

interface EditedTypeList {
  readonly node: NodeId
  readonly edgeList: number
  types: SymbolId[]
  dirty: boolean
}

const LOWEST: ChunkStart = { neighbour: 0, relationship: 0 }

function isBefore(a: ChunkStart, b: ChunkStart): boolean {
  return isEntryBefore(a.neighbour, a.relationship, b.neighbour, b.relationship)
}

function getOrCreate<K, V>(map: Map<K, V>, key: K, create: () => V): V {
  let value = map.get(key)
  if (value === undefined) {
    value = create()
    map.set(key, value)
  }
  return value
}

/** The edge lists and lists of types that a batch edits. */
export class AdjacencyEdits {
  private readonly databases: Databases
  private readonly entriesMax: number
  /** Nodes from this id on were created by this batch, so the database contains nothing about them. */
  private readonly firstNewNode: NodeId
  private readonly takeChunkId: () => number
  private readonly lists = new Map<NodeId, Map<number, EditedList>>()
  private readonly types = new Map<NodeId, Map<number, EditedTypeList>>()

  constructor(databases: Databases, entriesMax: number, firstNewNode: NodeId, takeChunkId: () => number) {
    this.databases = databases
    this.entriesMax = entriesMax
    this.firstNewNode = firstNewNode
    this.takeChunkId = takeChunkId
  }

  /** Adds a relationship to the lists of both end nodes. */
  add(source: NodeId, type: SymbolId, target: NodeId, relationship: RelationshipId): void {
    this.insert(this.list(source, edgeListId('out', type)), target, relationship)
    this.insert(this.list(target, edgeListId('in', type)), source, relationship)
  }

  /** Removes a relationship from the lists of both end nodes. */
  remove(source: NodeId, type: SymbolId, target: NodeId, relationship: RelationshipId): void {
    this.delete(this.list(source, edgeListId('out', type)), target, relationship)
    this.delete(this.list(target, edgeListId('in', type)), source, relationship)
  }

  /** Ids of the relationships source -[type]-> target, ascending. Searches the end node with a short list, if one has. */
  between(source: NodeId, type: SymbolId, target: NodeId): RelationshipId[] {
    const outgoing = this.list(source, edgeListId('out', type))
    if (outgoing.short !== null) return this.matches(outgoing, target)
    const incoming = this.list(target, edgeListId('in', type))
    return incoming.short !== null ? this.matches(incoming, source) : this.matches(outgoing, target)
  }

  private matches(list: EditedList, neighbour: NodeId): RelationshipId[] {
    const found: RelationshipId[] = []
    for (let chunk = list.short === null ? this.chunkFor(list, neighbour, 0) : null; ; ) {
      const pairs = chunk === null ? list.short! : chunk.pairs
      let at = lowerBound(pairs.neighbours, 0, pairs.length, neighbour)
      for (; at < pairs.length && pairs.neighbours[at] === neighbour; at++) found.push(pairs.relationships[at]!)
      if (chunk === null || at < pairs.length || chunk.next === 0) return found
      chunk = this.loadNext(list, chunk)
    }
  }

  /** Removes all lists of a node and returns their relationships. The caller removes the entries at the other end nodes. */
  detachAll(node: NodeId): RelationshipId[] {
    const relationships = new Set<RelationshipId>()
    for (const direction of ['out', 'in'] as const) {
      const types = this.typesOf(node, edgeListId(direction, 0))
      for (const type of types.types) {
        const list = this.list(node, edgeListId(direction, type))
        for (const pairs of this.entryRuns(list)) {
          for (let i = 0; i < pairs.length; i++) relationships.add(pairs.relationships[i]!)
        }
        for (const chunk of list.loaded) chunk.removed = true
        list.short = new EntryList(0)
        list.count = 0
        list.dirty = true
      }
      types.types = []
      types.dirty = true
    }
    return [...relationships]
  }

  /** Removes a relationship of the node `near`, whose lists were removed, from the list of the other end node. */
  removeFarEnd(near: NodeId, source: NodeId, type: SymbolId, target: NodeId, relationship: RelationshipId): void {
    if (source !== near) this.delete(this.list(source, edgeListId('out', type)), target, relationship)
    if (target !== near) this.delete(this.list(target, edgeListId('in', type)), source, relationship)
  }

  private *entryRuns(list: EditedList): Iterable<EntryList> {
    if (list.short !== null) {
      yield list.short
      return
    }
    let chunk = this.loadChunk(list, LOWEST, list.firstChunk)
    for (;;) {
      yield chunk.pairs
      if (chunk.next === 0) return
      chunk = this.loadNext(list, chunk)
    }
  }

  // -- loading

  private list(node: NodeId, edgeList: number): EditedList {
    const lists = getOrCreate(this.lists, node, () => new Map<number, EditedList>())
    return getOrCreate(lists, edgeList, () => this.load(node, edgeList))
  }

  private load(node: NodeId, edgeList: number): EditedList {
    const list: EditedList = { node, edgeList, count: 0, short: null, firstChunk: 0, loaded: [], dirty: false }
    const valueView = node >= this.firstNewNode ? null : this.databases.adjacency.get({ node, edgeList })
    if (valueView === null) {
      list.short = new EntryList(2)
      return list
    }
    const { words, byteLength } = valueView
    if (byteLength === LONG_LIST_HEAD_BYTES) {
      list.count = words[0]!
      list.firstChunk = words[1]!
    } else {
      list.count = byteLength >>> 3
      list.short = EntryList.from(words, 0, list.count)
    }
    return list
  }

  private loadChunk(list: EditedList, low: ChunkStart, id: number): EditedChunk {
    for (const chunk of list.loaded) if (chunk.id === id) return chunk
    const { words, byteLength } = this.databases.chunks.getRequired(id)
    const pairs = EntryList.from(words, 1, (byteLength - CHUNK_HEAD_BYTES) >>> 3)
    return this.keep(list, { id, low, next: words[0]!, pairs, dirty: false, removed: false, stored: true })
  }

  private keep(list: EditedList, chunk: EditedChunk): EditedChunk {
    let at = list.loaded.length
    while (at > 0 && !isBefore(list.loaded[at - 1]!.low, chunk.low)) at -= 1
    list.loaded.splice(at, 0, chunk)
    return chunk
  }

  private loadNext(list: EditedList, chunk: EditedChunk): EditedChunk {
    const id = chunk.next
    for (const loaded of list.loaded) if (loaded.id === id) return loaded
    // The chunk is stored: its index key is the next one after this chunk's that is not removed.
    let low: ChunkStart = chunk.low
    const start: ChunkKey = { node: list.node, edgeList: list.edgeList, ...low }
    const end = { node: list.node, edgeList: list.edgeList, neighbour: 0xffffffff, relationship: 0xffffffff }
    for (const { key, valueView } of this.databases.chunkIndex.entries({ start, end })) {
      low = { neighbour: key.neighbour, relationship: key.relationship }
      if (valueView.words[0] === id) break
    }
    return this.loadChunk(list, low, id)
  }

  /** The chunk of a long list that may hold the entry. */
  private chunkFor(list: EditedList, neighbour: NodeId, relationship: RelationshipId): EditedChunk {
    let own: EditedChunk | null = null
    for (const chunk of list.loaded) {
      if (isBefore({ neighbour, relationship }, chunk.low)) break
      if (!chunk.removed) own = chunk
    }
    let start: ChunkKey = { node: list.node, edgeList: list.edgeList, neighbour, relationship }
    for (;;) {
      const stored = this.storedChunkAtOrBelow(start)
      // A list that became long in this batch has no stored chunk.
      if (stored === null) break
      const { low } = stored
      const loaded = list.loaded.find((chunk) => chunk.id === stored.id)
      if (loaded?.removed === true) {
        if (low.neighbour === 0 && low.relationship === 0) break
        start = { node: list.node, edgeList: list.edgeList, ...below(low) }
        continue
      }
      if (own !== null && !isBefore(own.low, low)) break
      return this.loadChunk(list, low, stored.id)
    }
    requireStored(own !== null, 'a long list has a first chunk')
    return own
  }

  private storedChunkAtOrBelow(start: ChunkKey): { low: ChunkStart; id: number } | null {
    for (const { key, valueView } of this.databases.chunkIndex.entries({
      start,
      end: undefined,
      limit: 1,
      reverse: true,
    })) {
      if (key.node !== start.node || key.edgeList !== start.edgeList) return null
      return { low: { neighbour: key.neighbour, relationship: key.relationship }, id: valueView.words[0]! }
    }
    return null
  }

  // -- editing

  private insert(list: EditedList, neighbour: NodeId, relationship: RelationshipId): void {
    if (list.count === 0) this.addType(list)
    list.count += 1
    list.dirty = true
    if (list.short !== null) {
      const { short } = list
      short.insert(short.search(neighbour, relationship), neighbour, relationship)
      if (short.length > this.entriesMax) this.convertToLong(list, short)
      return
    }
    const chunk = this.chunkFor(list, neighbour, relationship)
    const at = chunk.pairs.search(neighbour, relationship)
    chunk.pairs.insert(at, neighbour, relationship)
    chunk.dirty = true
    if (chunk.pairs.length > this.entriesMax) this.split(list, chunk, at)
  }

  private convertToLong(list: EditedList, pairs: EntryList): void {
    list.short = null
    // Removed chunks of an earlier long form in this batch keep their ids and stay removed.
    const chunk: EditedChunk = {
      id: this.takeChunkId(),
      low: LOWEST,
      next: 0,
      pairs,
      dirty: true,
      removed: false,
      stored: false,
    }
    this.keep(list, chunk)
    list.firstChunk = chunk.id
    this.split(list, chunk, pairs.length >>> 1)
  }

  /** Entries mostly arrive in ascending order: then the full chunk stays full, and the next one starts with the new entry. */
  private split(list: EditedList, chunk: EditedChunk, insertedAt: number): void {
    const { pairs } = chunk
    const atEnd = chunk.next === 0 && insertedAt === pairs.length - 1
    const rest = pairs.splitAt(atEnd ? pairs.length - 1 : pairs.length >>> 1)
    const low = { neighbour: rest.neighbours[0]!, relationship: rest.relationships[0]! }
    const id = this.takeChunkId()
    this.keep(list, { id, low, next: chunk.next, pairs: rest, dirty: true, removed: false, stored: false })
    chunk.next = id
    chunk.dirty = true
  }

  private delete(list: EditedList, neighbour: NodeId, relationship: RelationshipId): void {
    list.count -= 1
    list.dirty = true
    const chunk = list.short === null ? this.chunkFor(list, neighbour, relationship) : null
    const pairs = chunk === null ? list.short! : chunk.pairs
    const at = pairs.search(neighbour, relationship)
    requireStored(
      at < pairs.length && pairs.neighbours[at] === neighbour && pairs.relationships[at] === relationship,
      'a relationship is in the lists of both its end nodes',
    )
    pairs.removeAt(at)
    if (chunk !== null) {
      chunk.dirty = true
      if (list.count <= this.entriesMax >>> 1) this.convertToShort(list)
      else if (pairs.length === 0) this.dropEmpty(list, chunk)
    }
    if (list.count === 0) this.removeType(list)
  }

  private convertToShort(list: EditedList): void {
    const pairs = new EntryList(list.count)
    for (const run of this.entryRuns(list)) pairs.append(run)
    for (const chunk of list.loaded) chunk.removed = true
    list.short = pairs
    list.firstChunk = 0
  }

  private dropEmpty(list: EditedList, chunk: EditedChunk): void {
    if (chunk.id === list.firstChunk) {
      // The first chunk keeps its key, so it takes over the entries of the next chunk.
      const next = this.loadNext(list, chunk)
      chunk.pairs = next.pairs
      chunk.next = next.next
      next.removed = true
      return
    }
    chunk.removed = true
    const { neighbour, relationship } = below(chunk.low)
    const previous = this.chunkFor(list, neighbour, relationship)
    previous.next = chunk.next
    previous.dirty = true
  }

  // -- types at a node

  private typesOf(node: NodeId, edgeList: number): EditedTypeList {
    const lists = getOrCreate(this.types, node, () => new Map<number, EditedTypeList>())
    return getOrCreate(lists, edgeList, () => {
      const valueView = node >= this.firstNewNode ? null : this.databases.adjacency.get({ node, edgeList })
      const types = valueView === null ? [] : [...valueView.words.subarray(0, valueView.byteLength >>> 2)]
      return { node, edgeList, types, dirty: false }
    })
  }

  private addType(list: EditedList): void {
    const types = this.typesOf(list.node, typeListId(list.edgeList))
    types.types.push(edgeListType(list.edgeList))
    types.types.sort((a, b) => a - b)
    types.dirty = true
  }

  private removeType(list: EditedList): void {
    const types = this.typesOf(list.node, typeListId(list.edgeList))
    const type = edgeListType(list.edgeList)
    types.types = types.types.filter((other) => other !== type)
    types.dirty = true
  }

  // -- encoding

  /** Encodes all changed lists into the writer. */
  encode(writer: ByteWriter, operations: PendingWrites): void {
    const { adjacency, chunks, chunkIndex } = this.databases
    for (const edgeLists of this.lists.values()) {
      for (const list of edgeLists.values()) {
        if (!list.dirty) continue
        const key: AdjacencyKey = { node: list.node, edgeList: list.edgeList }
        if (list.count === 0) operations.remove(adjacency, key)
        else {
          operations.begin(writer)
          if (list.short !== null) writePairs(writer, list.short)
          else {
            writer.u32(list.count)
            writer.u32(list.firstChunk)
            writer.u32(0)
          }
          operations.put(adjacency, key, writer)
        }
        // Removals first: a new first chunk may have the key of a removed one.
        for (const chunk of list.loaded) {
          if (!chunk.removed || !chunk.stored) continue
          operations.remove(chunks, chunk.id)
          operations.remove(chunkIndex, { node: list.node, edgeList: list.edgeList, ...chunk.low })
        }
        for (const chunk of list.loaded) {
          if (chunk.removed || !chunk.dirty) continue
          operations.begin(writer)
          writer.u32(chunk.next)
          writePairs(writer, chunk.pairs)
          operations.put(chunks, chunk.id, writer)
          if (chunk.stored) continue
          operations.begin(writer)
          writer.u32(chunk.id)
          operations.put(chunkIndex, { node: list.node, edgeList: list.edgeList, ...chunk.low }, writer)
        }
      }
    }
    for (const edgeLists of this.types.values()) {
      for (const { node, edgeList, types, dirty } of edgeLists.values()) {
        if (!dirty) continue
        if (types.length === 0) operations.remove(adjacency, { node, edgeList })
        else {
          operations.begin(writer)
          for (const type of types) writer.u32(type)
          operations.put(adjacency, { node, edgeList }, writer)
        }
      }
    }
  }
}

function writePairs(writer: ByteWriter, pairs: EntryList): void {
  writer.wordRun(pairs.neighbours, pairs.length)
  writer.wordRun(pairs.relationships, pairs.length)
}

/** The greatest possible entry below. */
function below(low: ChunkStart): ChunkStart {
  return low.relationship > 0
    ? { neighbour: low.neighbour, relationship: low.relationship - 1 }
    : { neighbour: low.neighbour - 1, relationship: 0xffffffff }
}
