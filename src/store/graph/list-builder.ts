// Builds the edge lists of a load from their sorted entries. Each list is written once, at the end of its database. Long lists
// are written chunk by chunk, so memory does not depend on the length of a list.
import type { NodeId, RelationshipId, SymbolId } from '../../engine/store.ts'
import { ByteWriter } from '../format/bytes.ts'
import type { EnvironmentHeader } from '../format/header.ts'
import { allocateId } from '../format/header.ts'
import { edgeListDirection, edgeListType, typeListId } from '../format/keys.ts'
import type { Databases } from '../lmdb/databases.ts'
import type { EdgeEntry } from '../sorting/edge-runs.ts'

const BATCH_BYTES = 8 * 2 ** 20
const BATCH_DUPLICATES = 100_000

/** Relationships with the same ends and type: the first one, and a later one, which is merged with it. */
export interface DuplicateRelationship {
  readonly first: RelationshipId
  readonly duplicate: RelationshipId
}

interface ListWrite {
  readonly node: NodeId
  readonly edgeList: number
  start: number
  end: number
}

interface ChunkWrite {
  readonly id: number
  readonly start: number
  readonly end: number
  /** Null for the value of the chunk itself; otherwise the write of its index entry. */
  readonly low: { node: NodeId; edgeList: number; neighbour: NodeId; relationship: RelationshipId } | null
}

/** The edge lists that wait for the next transaction. */
export class ListBuilder {
  /** The relationships to merge. */
  duplicates: DuplicateRelationship[] = []
  private readonly databases: Databases
  private readonly entriesMax: number
  private readonly ids: Pick<EnvironmentHeader, 'nextChunk'>
  private readonly listWriter = new ByteWriter(1 << 20)
  private readonly chunkWriter = new ByteWriter(1 << 20)
  private lists: ListWrite[] = []
  private chunks: ChunkWrite[] = []

  // The current list.
  private node = 0
  private edgeList = 0
  private neighbours: Uint32Array
  private relationships: Uint32Array
  private length = 0
  private count = 0
  private firstChunk = 0
  private chunk = 0
  private lowNeighbour = 0
  private lowRelationship = 0
  private lastNeighbour = 0
  private lastRelationship = 0
  /** The list of types of the current node and direction, and its place among the writes. */
  private typeList: ListWrite | null = null
  private types: SymbolId[] = []

  private readonly bytesMax: number

  /** `entriesMax`: entries per chunk. `nextChunk`: the id of the first chunk. `bytesMax`: bytes per transaction. */
  constructor(databases: Databases, entriesMax: number, nextChunk: number, bytesMax = BATCH_BYTES) {
    this.bytesMax = bytesMax
    this.databases = databases
    this.entriesMax = entriesMax
    this.ids = { nextChunk }
    this.neighbours = new Uint32Array(entriesMax)
    this.relationships = new Uint32Array(entriesMax)
  }

  /** The id of the next chunk. */
  get nextChunk(): number {
    return this.ids.nextChunk
  }

  /** The node of the last entry. Its lists are not complete. */
  get currentNode(): NodeId {
    return this.node
  }

  /** Whether enough waits for a transaction. */
  get isFull(): boolean {
    return (
      this.listWriter.length + this.chunkWriter.length >= this.bytesMax || this.duplicates.length >= BATCH_DUPLICATES
    )
  }

  /** Adds an entry. Entries must be in order. */
  add({ node, edgeList, neighbour, relationship }: EdgeEntry): void {
    if (node !== this.node || edgeList !== this.edgeList) {
      this.endList()
      this.beginList(node, edgeList)
    } else if (neighbour === this.lastNeighbour) {
      if (edgeListDirection(edgeList) === 'out')
        this.duplicates.push({ first: this.lastRelationship, duplicate: relationship })
      return
    }
    if (this.length === this.entriesMax) this.endChunk(neighbour, relationship)
    this.neighbours[this.length] = neighbour
    this.relationships[this.length] = relationship
    this.length += 1
    this.count += 1
    this.lastNeighbour = neighbour
    this.lastRelationship = relationship
  }

  /** Completes the lists of the current node. Call it before the next entry if that has another node, and at the end. */
  endNode(): void {
    this.endList()
    this.endDirection()
    this.node = 0
    this.edgeList = 0
  }

  private beginList(node: NodeId, edgeList: number): void {
    const typeList = typeListId(edgeList)
    if (node !== this.node || this.typeList?.edgeList !== typeList) {
      this.endDirection()
      // The list of types comes before the lists that it names.
      this.typeList = { node, edgeList: typeList, start: 0, end: 0 }
      this.lists.push(this.typeList)
    }
    this.types.push(edgeListType(edgeList))
    this.node = node
    this.edgeList = edgeList
    this.length = 0
    this.count = 0
    this.chunk = 0
    this.firstChunk = 0
  }

  private endDirection(): void {
    const { typeList, listWriter } = this
    if (typeList === null) return
    typeList.start = listWriter.length
    for (const type of this.types) listWriter.u32(type)
    this.databases.adjacency.seal(typeList, listWriter, typeList.start)
    typeList.end = listWriter.length
    this.typeList = null
    this.types = []
  }

  private endList(): void {
    const { node, edgeList, listWriter, length } = this
    if (node === 0) return
    const start = listWriter.length
    if (this.chunk === 0) {
      listWriter.wordRun(this.neighbours, length)
      listWriter.wordRun(this.relationships, length)
    } else {
      this.writeChunk(0)
      listWriter.u32(this.count)
      listWriter.u32(this.firstChunk)
      listWriter.u32(0)
    }
    const write: ListWrite = { node, edgeList, start, end: 0 }
    this.databases.adjacency.seal(write, listWriter, start)
    write.end = listWriter.length
    this.lists.push(write)
  }

  /** The chunk is full; the next one begins with the given entry. */
  private endChunk(neighbour: NodeId, relationship: RelationshipId): void {
    if (this.chunk === 0) {
      this.chunk = allocateId(this.ids as EnvironmentHeader, 'nextChunk')
      this.firstChunk = this.chunk
      // The first chunk of a list has the lowest key.
      this.lowNeighbour = 0
      this.lowRelationship = 0
    }
    const next = allocateId(this.ids as EnvironmentHeader, 'nextChunk')
    this.writeChunk(next)
    this.chunk = next
    this.lowNeighbour = neighbour
    this.lowRelationship = relationship
    this.length = 0
  }

  private writeChunk(next: number): void {
    const { chunkWriter, chunk, node, edgeList, length } = this
    const { chunks, chunkIndex } = this.databases
    let start = chunkWriter.length
    chunkWriter.u32(next)
    chunkWriter.wordRun(this.neighbours, length)
    chunkWriter.wordRun(this.relationships, length)
    chunks.seal(chunk, chunkWriter, start)
    this.chunks.push({ id: chunk, start, end: chunkWriter.length, low: null })
    start = chunkWriter.length
    chunkWriter.u32(chunk)
    const low = { node, edgeList, neighbour: this.lowNeighbour, relationship: this.lowRelationship }
    chunkIndex.seal(low, chunkWriter, start)
    this.chunks.push({ id: chunk, start, end: chunkWriter.length, low })
  }

  /**
   * Within a write transaction: writes the chunks that wait and, if the last node is complete (`endNode`), all lists. Afterwards
   * they wait no more.
   */
  apply(isNodeComplete: boolean): void {
    const { adjacency, chunks, chunkIndex } = this.databases
    const { chunkWriter, listWriter } = this
    for (const { id, start, end, low } of this.chunks) {
      if (low === null) chunks.appendSealed(id, chunkWriter, start, end)
      else chunkIndex.appendSealed(low, chunkWriter, start, end)
    }
    this.chunks = []
    chunkWriter.length = 0
    this.duplicates = []
    if (!isNodeComplete) return
    for (const write of this.lists) adjacency.appendSealed(write, listWriter, write.start, write.end)
    this.lists = []
    listWriter.length = 0
  }
}
