// Adds many relationships to edge lists at once. They are sorted by node, so that a batch touches each list and each page once
// and in key order. Entries are merged with the stored ones chunk by chunk. Keeps the invariants of AdjacencyEdits.
import type { Direction, NodeId, RelationshipId, SymbolId } from '../../engine/store.ts'
import type { ByteWriter, ValueView } from '../format/bytes.ts'
import { type ChunkKey, edgeListId } from '../format/keys.ts'
import { CHUNK_HEAD_BYTES, growWords, isEntryBefore, LONG_LIST_HEAD_BYTES } from '../format/packed-lists.ts'
import type { Databases } from '../lmdb/databases.ts'
import type { PendingWrites } from '../lmdb/pending-writes.ts'
import type { RelationshipColumns } from '../sorting/edge-runs.ts'

/** Up to this many entries insertion sort is faster than sorting an array of keys. */
const INSERTION_MAX = 24

/** Adds the relationships of a bulk batch to the edge lists. */
export class BulkAdjacency {
  private readonly databases: Databases
  private readonly entriesMax: number
  private readonly firstNewNode: NodeId
  private readonly takeChunkId: () => number
  private readonly writer: ByteWriter
  private readonly operations: PendingWrites
  /** Entries of the current list: those to add, then the merged ones. */
  private added = new EntryColumns(1024)
  private merged = new EntryColumns(1024)
  private order = new BigUint64Array(1024)

  constructor(
    databases: Databases,
    entriesMax: number,
    firstNewNode: NodeId,
    takeChunkId: () => number,
    writer: ByteWriter,
    operations: PendingWrites,
  ) {
    this.databases = databases
    this.entriesMax = entriesMax
    this.firstNewNode = firstNewNode
    this.takeChunkId = takeChunkId
    this.writer = writer
    this.operations = operations
  }

  /**
   * Adds the relationships at one end. `same[i]` is set to the id of an existing relationship between the same nodes, in the
   * database or earlier in the batch. Relationships with a non-zero `same[i]` are not added.
   */
  add(columns: RelationshipColumns, direction: Direction, same: Uint32Array): void {
    const { length, firstId, types } = columns
    const [near, far] = direction === 'out' ? [columns.sources, columns.targets] : [columns.targets, columns.sources]
    const order = sortByNode(near, length)
    for (let start = 0; start < length; ) {
      const node = order[start * 2 + 1]!
      let end = start + 1
      while (end < length && order[end * 2 + 1] === node) end += 1
      const mine = typesInRange(order, types, start, end)
      // Read only if a list is missing: a node with a list has its type in the list of types.
      let listed: readonly SymbolId[] | null = null
      let union: readonly SymbolId[] = NONE
      for (const type of mine) {
        const { added } = this
        added.length = 0
        for (let i = start; i < end; i++) {
          const at = order[i * 2]!
          if (types[at] === type && same[at] === 0) added.push(far[at]!, firstId + at)
        }
        if (added.length === 0) continue
        this.sort(added)
        const edgeList = edgeListId(direction, type)
        const stored = node < this.firstNewNode ? this.databases.adjacency.get({ node, edgeList }) : null
        if (stored !== null) {
          this.addToList(node, edgeList, stored, same, firstId)
          continue
        }
        if (listed === null) {
          listed = this.storedTypes(node, direction)
          union = listed
        }
        if (listed.includes(type)) throw this.databases.adjacency.damageError({ node, edgeList }, 'is missing')
        this.addToList(node, edgeList, null, same, firstId)
        union = [...union, type]
      }
      if (listed !== null && union !== listed) this.putTypes(node, direction, union)
      start = end
    }
  }

  private storedTypes(node: NodeId, direction: Direction): readonly SymbolId[] {
    if (node >= this.firstNewNode) return NONE
    const valueView = this.databases.adjacency.get({ node, edgeList: edgeListId(direction, 0) })
    return valueView === null ? NONE : [...valueView.words.subarray(0, valueView.byteLength >>> 2)]
  }

  private putTypes(node: NodeId, direction: Direction, types: readonly SymbolId[]): void {
    const { operations, writer } = this
    operations.begin(writer)
    if (types.length === 1) writer.u32(types[0]!)
    else for (const type of types.toSorted((a, b) => a - b)) writer.u32(type)
    operations.put(this.databases.adjacency, { node, edgeList: edgeListId(direction, 0) }, writer)
  }

  /** Sorts by neighbour. Entries of one neighbour stay in the order of their ids. */
  private sort(entries: EntryColumns): void {
    const { neighbours, relationships, length } = entries
    if (length <= INSERTION_MAX) {
      for (let i = 1; i < length; i++) {
        const neighbour = neighbours[i]!
        const relationship = relationships[i]!
        let at = i
        for (; at > 0 && neighbours[at - 1]! > neighbour; at--) {
          neighbours[at] = neighbours[at - 1]!
          relationships[at] = relationships[at - 1]!
        }
        neighbours[at] = neighbour
        relationships[at] = relationship
      }
      return
    }
    if (this.order.length < length) this.order = new BigUint64Array(length * 2)
    const words = new Uint32Array(this.order.buffer)
    for (let i = 0; i < length; i++) {
      words[i * 2] = relationships[i]!
      words[i * 2 + 1] = neighbours[i]!
    }
    this.order.subarray(0, length).sort()
    for (let i = 0; i < length; i++) {
      relationships[i] = words[i * 2]!
      neighbours[i] = words[i * 2 + 1]!
    }
  }

  private addToList(
    node: NodeId,
    edgeList: number,
    valueView: ValueView | null,
    same: Uint32Array,
    firstId: RelationshipId,
  ): void {
    const { added, merged, operations, writer } = this
    const { adjacency } = this.databases
    const key = { node, edgeList }
    if (valueView?.byteLength === LONG_LIST_HEAD_BYTES) {
      const { words } = valueView
      const [count, first] = [words[0]!, words[1]!]
      const more = this.addToChunks(node, edgeList, same, firstId)
      if (more > 0) this.putHead(node, edgeList, count + more, first)
      return
    }
    const stored = valueView === null ? 0 : valueView.byteLength >>> 3
    const words = valueView === null ? NO_WORDS : valueView.words
    const more = merged.merge(words, 0, stored, added, 0, added.length, same, firstId)
    if (more === 0) return
    if (merged.length <= this.entriesMax) {
      operations.begin(writer)
      merged.write(writer, 0, merged.length)
      operations.put(adjacency, key, writer)
      return
    }
    const id = this.takeChunkId()
    this.putChunks(node, edgeList, id, 0, true)
    this.putHead(node, edgeList, merged.length, id)
  }

  private putHead(node: NodeId, edgeList: number, count: number, firstChunk: number): void {
    const { operations, writer } = this
    operations.begin(writer)
    writer.u32(count)
    writer.u32(firstChunk)
    writer.u32(0)
    operations.put(this.databases.adjacency, { node, edgeList }, writer)
  }

  /** Returns how many entries were added. */
  private addToChunks(node: NodeId, edgeList: number, same: Uint32Array, firstId: RelationshipId): number {
    const { added, merged } = this
    const { chunks } = this.databases
    let count = 0
    for (let at = 0; at < added.length; ) {
      const entry = { neighbour: added.neighbours[at]!, relationship: added.relationships[at]! }
      const { id, low, next } = this.chunkOf({ node, edgeList, ...entry })
      let end = at + 1
      while (
        end < added.length &&
        (next === null ||
          isEntryBefore(added.neighbours[end]!, added.relationships[end]!, next.neighbour, next.relationship))
      )
        end += 1
      const { words, byteLength } = chunks.getRequired(id)
      const following = words[0]!
      const stored = (byteLength - CHUNK_HEAD_BYTES) >>> 3
      const more = merged.merge(words, 1, stored, added, at, end, same, firstId)
      if (more > 0) this.putChunks(node, edgeList, id, following, false, low)
      count += more
      at = end
    }
    return count
  }

  /** The stored chunk that an entry belongs to, and the key of the next chunk. */
  private chunkOf(start: ChunkKey): { id: number; low: ChunkKey; next: ChunkKey | null } {
    const { chunkIndex } = this.databases
    let found: { id: number; low: ChunkKey } | null = null
    for (const { key, valueView } of chunkIndex.entries({ start, end: undefined, limit: 1, reverse: true }))
      found = { id: valueView.words[0]!, low: key }
    if (found === null || found.low.node !== start.node || found.low.edgeList !== start.edgeList)
      throw chunkIndex.damageError(start, 'is missing')
    let next: ChunkKey | null = null
    for (const key of chunkIndex.raw.getKeys({ start: found.low, end: undefined, limit: 2 }))
      if (
        isEntryBefore(found.low.neighbour, found.low.relationship, key.neighbour, key.relationship) ||
        key.node !== start.node
      )
        next = key.node === start.node && key.edgeList === start.edgeList ? key : null
    return { ...found, next }
  }

  /** Writes `merged` as chunks, the first with the given id. The last chunk of a list is filled, because lists grow at the end. */
  private putChunks(
    node: NodeId,
    edgeList: number,
    id: number,
    following: number,
    isNew: boolean,
    low?: ChunkKey,
  ): void {
    const { merged, entriesMax, operations, writer } = this
    const { chunks, chunkIndex } = this.databases
    const { length } = merged
    const count = Math.ceil(length / entriesMax)
    const size = following === 0 ? entriesMax : Math.ceil(length / count)
    let current = id
    for (let from = 0; from < length; from += size) {
      const to = Math.min(length, from + size)
      const next = to < length ? this.takeChunkId() : following
      operations.begin(writer)
      writer.u32(next)
      merged.write(writer, from, to)
      operations.put(chunks, current, writer)
      if (from > 0 || isNew) {
        const key =
          from === 0
            ? (low ?? { node, edgeList, neighbour: 0, relationship: 0 })
            : { node, edgeList, neighbour: merged.neighbours[from]!, relationship: merged.relationships[from]! }
        operations.begin(writer)
        writer.u32(current)
        operations.put(chunkIndex, key, writer)
      }
      current = next
    }
  }
}

const NONE: readonly SymbolId[] = []
const NO_WORDS = new Uint32Array(0)

/** Pairs of (index, node), ascending by node, then by index. */
function sortByNode(nodes: Uint32Array, length: number): Uint32Array {
  const keys = new BigUint64Array(length)
  const words = new Uint32Array(keys.buffer)
  for (let i = 0; i < length; i++) {
    words[i * 2] = i
    words[i * 2 + 1] = nodes[i]!
  }
  keys.sort()
  return words
}

/** Ascending. */
function typesInRange(order: Uint32Array, types: Uint32Array, start: number, end: number): SymbolId[] {
  const found: SymbolId[] = []
  for (let i = start; i < end; i++) {
    const type = types[order[i * 2]!]!
    if (!found.includes(type)) found.push(type)
  }
  return found.length > 1 ? found.sort((a, b) => a - b) : found
}

/** Columns of entries with a growing capacity. */
class EntryColumns {
  neighbours: Uint32Array
  relationships: Uint32Array
  length = 0

  constructor(capacity: number) {
    this.neighbours = new Uint32Array(capacity)
    this.relationships = new Uint32Array(capacity)
  }

  private ensureCapacity(length: number): void {
    if (length <= this.neighbours.length) return
    this.neighbours = growWords(this.neighbours, length * 2)
    this.relationships = growWords(this.relationships, length * 2)
  }

  push(neighbour: NodeId, relationship: RelationshipId): void {
    this.ensureCapacity(this.length + 1)
    this.neighbours[this.length] = neighbour
    this.relationships[this.length] = relationship
    this.length += 1
  }

  /**
   * Merges the stored entries with the added ones from index `from` to `to`. An added entry whose neighbour exists is left out
   * and recorded in `same`. Returns how many were added.
   */
  merge(
    words: Uint32Array,
    start: number,
    stored: number,
    added: EntryColumns,
    from: number,
    to: number,
    same: Uint32Array,
    firstId: RelationshipId,
  ): number {
    this.ensureCapacity(stored + to - from)
    const { neighbours, relationships } = this
    let length = 0
    let i = 0
    for (let at = from; at < to; at++) {
      const neighbour = added.neighbours[at]!
      while (i < stored && words[start + i]! <= neighbour) {
        neighbours[length] = words[start + i]!
        relationships[length++] = words[start + stored + i]!
        i += 1
      }
      const relationship = added.relationships[at]!
      if (length > 0 && neighbours[length - 1] === neighbour) {
        // Of parallel relationships the first one, as in an upsert of a single relationship.
        let first = length - 1
        while (first > 0 && neighbours[first - 1] === neighbour) first -= 1
        same[relationship - firstId] = relationships[first]!
        continue
      }
      neighbours[length] = neighbour
      relationships[length++] = relationship
    }
    const addedCount = length - i
    for (; i < stored; i++) {
      neighbours[length] = words[start + i]!
      relationships[length++] = words[start + stored + i]!
    }
    this.length = length
    return addedCount
  }

  write(writer: ByteWriter, from: number, to: number): void {
    writer.wordRun(this.neighbours, to - from, from)
    writer.wordRun(this.relationships, to - from, from)
  }
}
