// A load into a graph without relationships. Batches write relationships without edge lists; the entries of the lists are sorted
// in files, and at the end each list is written once and in key order. A list that grows batch by batch is rewritten each time,
// which dominates the time of large loads. See docs/decisions/0063-loading-large-graphs.md.
import { readHeader } from '../format/header.ts'
import { sourceOf, targetOf, typeOf } from '../format/records.ts'
import type { Database } from '../lmdb/database.ts'
import { type Databases, HEADER_KEY } from '../lmdb/databases.ts'
import { entryCountOf } from '../lmdb/raw-database.ts'
import { type EdgeEntry, EdgeRuns, type LoadId, type RelationshipColumns } from '../sorting/edge-runs.ts'
import { ListBuilder } from './list-builder.ts'
import { readUnsorted, type UnsortedState } from './unsorted-state.ts'

const COLUMNS = 1 << 16

/** Bounds of memory. Smaller ones are for tests. */
export interface SortLimits {
  /** Entries of lists that are sorted in memory. */
  readonly entriesPerRun?: number
  /** Bytes of lists in one transaction. */
  readonly listBytes?: number
}

/** Called with the number of entries in their lists, and of all entries. */
export type ListProgress = (done: number, total: number) => void

/** The part of an environment that a sorted load uses. */
export interface ListWriter {
  readonly databases: Databases
  readonly entriesPerChunk: number
  /** Commits what waits in the builder. `state`: see ListBatch. */
  writeLists(builder: ListBuilder, state: UnsortedState | null | undefined): Promise<void>
  /** Removes keys in one transaction that changes nothing else. */
  removeKeys(each: (remove: <K>(database: Database<K>, key: K) => void) => void): Promise<void>
}

/** A load whose edge lists are not written yet. */
export class SortedLoad {
  /** Identifies the load in the graph and in its files. */
  readonly id: LoadId
  private readonly writer: ListWriter
  private readonly runs: EdgeRuns

  private readonly listBytes: number | undefined

  private constructor(writer: ListWriter, id: LoadId, folder: string, limits: SortLimits) {
    this.writer = writer
    this.id = id
    this.runs = new EdgeRuns(folder, id, limits.entriesPerRun)
    this.listBytes = limits.listBytes
  }

  /**
   * Begins a load, or continues the one that was interrupted. If its lists were being built, they are completed first. Returns
   * null if the graph has relationships, with their lists.
   */
  static async begin(folder: string, writer: ListWriter, limits: SortLimits): Promise<SortedLoad | null> {
    const { databases } = writer
    const state = readUnsorted(databases)
    if (state === null) {
      const { adjacency, relationships, chunks } = databases
      if ([adjacency, relationships, chunks].some(({ raw }) => entryCountOf(raw) > 0)) return null
      const id = crypto.getRandomValues(new Uint32Array(2)) as unknown as LoadId
      return new SortedLoad(writer, id, folder, limits)
    }
    const load = new SortedLoad(writer, state.load, folder, limits)
    load.addStored()
    if (state.nextNode === 1) return load
    await load.finish(() => {})
    return null
  }

  /** Adds the relationships of a committed batch. */
  add(columns: RelationshipColumns): void {
    this.runs.add(columns)
  }

  /** Adds the relationships of the database that are in no file. */
  private addStored(): void {
    const [sources, types, targets] = [0, 1, 2].map(() => new Uint32Array(COLUMNS)) as [
      Uint32Array,
      Uint32Array,
      Uint32Array,
    ]
    let length = 0
    let firstId = 0
    const add = (): void => {
      this.runs.add({ sources, types, targets, length, firstId })
      length = 0
    }
    const start = Math.max(1, this.runs.nextRelationship)
    for (const { key, valueView } of this.writer.databases.relationships.entries({ start, end: undefined })) {
      // Ids may have gaps: a duplicate that was merged.
      if (length === COLUMNS || key !== firstId + length) add()
      if (length === 0) firstId = key
      sources[length] = sourceOf(valueView)
      types[length] = typeOf(valueView)
      targets[length] = targetOf(valueView)
      length += 1
    }
    add()
  }

  /** Writes all lists and removes the files. No relationship may be added after that. */
  async finish(progress: ListProgress): Promise<void> {
    const { writer, runs, id } = this
    const { databases, entriesPerChunk } = writer
    const state = readUnsorted(databases)
    // No batch was committed.
    if (state === null) return runs.remove()
    const { nextChunk } = readHeader(databases.meta.getRequired(HEADER_KEY))
    const builder = new ListBuilder(databases, entriesPerChunk, nextChunk, this.listBytes)
    await this.removeIncompleteChunks(state, nextChunk)
    const merge = runs.merge(state.nextNode)
    try {
      let done = 0
      for (let entry: EdgeEntry | null = merge.next(); entry !== null; entry = merge.next()) {
        if (builder.isFull) {
          const isNodeComplete = entry.node !== builder.currentNode
          if (isNodeComplete) builder.endNode()
          await writer.writeLists(builder, isNodeComplete ? { load: id, nextNode: entry.node } : undefined)
          progress(done, merge.total)
        }
        builder.add(entry)
        done += 1
      }
    } finally {
      merge.close()
    }
    builder.endNode()
    await writer.writeLists(builder, null)
    runs.remove()
  }

  /** Removes chunks of a node whose lists were not complete when the process ended. */
  private async removeIncompleteChunks({ nextNode }: UnsortedState, nextChunk: number): Promise<void> {
    const { chunks, chunkIndex } = this.writer.databases
    const low = { node: nextNode, edgeList: 0, neighbour: 0, relationship: 0 }
    const ids = [...chunks.raw.getKeys({ start: nextChunk, end: undefined })]
    const lows = [...chunkIndex.raw.getKeys({ start: low, end: undefined })]
    if (ids.length + lows.length === 0) return
    await this.writer.removeKeys((remove) => {
      for (const id of ids) remove(chunks, id)
      for (const key of lows) remove(chunkIndex, key)
    })
  }
}
