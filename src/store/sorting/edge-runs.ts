// Sorts the entries of all edge lists of a load that is larger than memory. Entries are collected, sorted and written to files
// (runs), which are then merged. Each block of a run has a checksum. A run is complete once it has its name; it records which
// relationships it covers, so that a resumed load reads the others from the database.
import {
  closeSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readdirSync,
  readSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs'
import { join } from 'node:path'
import type { NodeId, RelationshipId } from '../../engine/store.ts'
import { OperationalError } from '../../kernel/errors.ts'
import { checksum } from '../format/checksum.ts'
import { edgeListId, oppositeEdgeListId } from '../format/keys.ts'
import { growWords } from '../format/packed-lists.ts'

/** Entries in memory: 32 MiB, and half as much again to sort them. A relationship has two. */
const ENTRIES_PER_RUN = 1 << 21
const FIRST_CAPACITY = 1 << 14
const ENTRY_WORDS = 4
const BLOCK_ENTRIES = 1 << 14
const BLOCK_WORDS = BLOCK_ENTRIES * ENTRY_WORDS

const MAGIC = 0x31475645
/** Magic, two words of the id of the load, first relationship, relationship after the last, count of entries, two zero words, checksum. */
const HEAD_WORDS = 9
const HEAD_SEED = 0x5eed
const RUN_NAME = /^\d{8}\.run$/

/** Folder of the runs, in the folder of the environment. */
const RUNS_FOLDER = 'sorting'

/** Relationships in columns. The relationship at index `i` has the id `firstId + i`. */
export interface RelationshipColumns {
  readonly sources: Uint32Array
  readonly types: Uint32Array
  readonly targets: Uint32Array
  readonly length: number
  readonly firstId: RelationshipId
}

/** A random id, which connects the runs of a load with the graph. */
export type LoadId = readonly [number, number]

/** The entry of one end of a relationship in its edge list. */
export interface EdgeEntry {
  readonly node: NodeId
  readonly edgeList: number
  readonly neighbour: NodeId
  readonly relationship: RelationshipId
}

/** Whether an entry comes before another one: by node, edge list, neighbour, relationship. */
function isBefore(a: EdgeEntry, b: EdgeEntry): boolean {
  if (a.node !== b.node) return a.node < b.node
  if (a.edgeList !== b.edgeList) return a.edgeList < b.edgeList
  if (a.neighbour !== b.neighbour) return a.neighbour < b.neighbour
  return a.relationship < b.relationship
}

/** Collects the entries of a load and writes them as runs. */
export class EdgeRuns {
  private readonly folder: string
  private readonly load: LoadId
  private readonly entriesPerRun: number
  private nodes = new Uint32Array(FIRST_CAPACITY)
  private edgeLists = new Uint32Array(FIRST_CAPACITY)
  private neighbours = new Uint32Array(FIRST_CAPACITY)
  private relationships = new Uint32Array(FIRST_CAPACITY)
  private keys = new BigUint64Array(0)
  private length = 0
  /** The relationships from `from` to `next`, exclusive, are in memory. */
  private from: RelationshipId
  private next: RelationshipId
  private runCount: number

  /**
   * Continues with the complete runs in the folder of an environment. Files of another load, and runs after a
   * gap, are removed. `entriesPerRun`: a smaller number is for tests.
   */
  constructor(environmentFolder: string, load: LoadId, entriesPerRun = ENTRIES_PER_RUN) {
    this.folder = join(environmentFolder, RUNS_FOLDER)
    this.load = load
    this.entriesPerRun = entriesPerRun
    const { folder } = this
    mkdirSync(folder, { recursive: true, mode: 0o700 })
    this.from = 0
    this.runCount = 0
    for (const name of readdirSync(folder).sort()) {
      const head = RUN_NAME.test(name) && name === runName(this.runCount) ? readHead(join(folder, name), load) : null
      if (head !== null && (this.runCount === 0 || head.from === this.from)) {
        this.from = head.to
        this.runCount += 1
      } else rmSync(join(folder, name), { recursive: true, force: true })
    }
    this.next = this.from
  }

  /** The first relationship that is neither in a run nor in memory; 0: none was added. */
  get nextRelationship(): RelationshipId {
    return this.next
  }

  /** Adds both entries of each relationship. Ids must ascend from call to call. */
  add({ sources, types, targets, length, firstId }: RelationshipColumns): void {
    if (length === 0) return
    if (this.next === 0) this.from = firstId
    for (let start = 0; start < length; ) {
      if (this.length + 2 > this.entriesPerRun) {
        this.next = firstId + start
        this.writeRun()
      }
      while (this.length + 2 > this.nodes.length) this.grow()
      const room = (Math.min(this.nodes.length, this.entriesPerRun) - this.length) >>> 1
      const end = Math.min(length, start + room)
      this.push(sources, types, targets, start, end, firstId)
      start = end
    }
    this.next = firstId + length
  }

  private push(
    sources: Uint32Array,
    types: Uint32Array,
    targets: Uint32Array,
    start: number,
    end: number,
    firstId: RelationshipId,
  ): void {
    const { nodes, edgeLists, neighbours, relationships } = this
    let to = this.length
    for (let at = start; at < end; at++) {
      const source = sources[at]!
      const target = targets[at]!
      const type = types[at]!
      nodes[to] = source
      const edgeList = edgeListId('out', type)
      edgeLists[to] = edgeList
      neighbours[to] = target
      relationships[to] = firstId + at
      nodes[to + 1] = target
      edgeLists[to + 1] = oppositeEdgeListId(edgeList)
      neighbours[to + 1] = source
      relationships[to + 1] = firstId + at
      to += 2
    }
    this.length = to
  }

  private grow(): void {
    const capacity = Math.min(this.nodes.length * 4, Math.max(this.entriesPerRun, this.nodes.length + 2))
    this.nodes = growWords(this.nodes, capacity)
    this.edgeLists = growWords(this.edgeLists, capacity)
    this.neighbours = growWords(this.neighbours, capacity)
    this.relationships = growWords(this.relationships, capacity)
  }

  private writeRun(): void {
    if (this.length === 0) return
    const path = join(this.folder, runName(this.runCount))
    const file = openSync(`${path}.part`, 'w', 0o600)
    try {
      const head = new Uint32Array(HEAD_WORDS)
      head.set([MAGIC, this.load[0], this.load[1], this.from, this.next, this.length])
      head[HEAD_WORDS - 1] = checksum(head, 0, HEAD_WORDS - 1, HEAD_SEED)
      writeWords(file, head, HEAD_WORDS)
      this.writeEntries(file)
      fsyncSync(file)
    } finally {
      closeSync(file)
    }
    renameSync(`${path}.part`, path)
    this.runCount += 1
    this.from = this.next
    this.length = 0
  }

  private writeEntries(file: number): void {
    const order = this.sorted()
    const { nodes, edgeLists, neighbours, relationships, length } = this
    const block = new Uint32Array(BLOCK_WORDS + 1)
    for (let start = 0, index = 0; start < length; start += BLOCK_ENTRIES, index++) {
      const end = Math.min(length, start + BLOCK_ENTRIES)
      let to = 0
      for (let i = start; i < end; i++) {
        const at = order[i * 2]!
        block[to] = nodes[at]!
        block[to + 1] = edgeLists[at]!
        block[to + 2] = neighbours[at]!
        block[to + 3] = relationships[at]!
        to += ENTRY_WORDS
      }
      block[to] = checksum(block, 0, to, index)
      writeWords(file, block, to + 1)
    }
  }

  /** Pairs of (index, node) in the order of the entries. */
  private sorted(): Uint32Array {
    const { nodes, length } = this
    // Allocated once: the memory of earlier runs would not be free yet.
    if (this.keys.length < length) this.keys = new BigUint64Array(length)
    const keys = this.keys.subarray(0, length)
    const order = new Uint32Array(keys.buffer)
    for (let i = 0; i < length; i++) {
      order[i * 2] = i
      order[i * 2 + 1] = nodes[i]!
    }
    keys.sort()
    for (let start = 0; start < length; ) {
      const node = order[start * 2 + 1]!
      let end = start + 1
      while (end < length && order[end * 2 + 1] === node) end += 1
      if (end - start > 1) this.sortGroup(order, start, end)
      start = end
    }
    return order
  }

  /** Sorts the entries of one node. They are in the order of their relationships, and the sort is stable. */
  private sortGroup(order: Uint32Array, start: number, end: number): void {
    if (end - start > INSERTION_MAX) {
      const group = new Uint32Array(end - start)
      for (let i = start; i < end; i++) group[i - start] = order[i * 2]!
      group.sort((a, b) => this.compareInNode(a, b))
      for (let i = start; i < end; i++) order[i * 2] = group[i - start]!
      return
    }
    for (let i = start + 1; i < end; i++) {
      const moved = order[i * 2]!
      let at = i
      for (; at > start && this.compareInNode(order[at * 2 - 2]!, moved) > 0; at--) order[at * 2] = order[at * 2 - 2]!
      order[at * 2] = moved
    }
  }

  private compareInNode(a: number, b: number): number {
    const { edgeLists, neighbours } = this
    return edgeLists[a]! - edgeLists[b]! || neighbours[a]! - neighbours[b]! || a - b
  }

  /**
   * Writes what is in memory, and returns all entries from a node on, in order. `entry` of the merge is reused. No entry may be
   * added after that.
   */
  merge(firstNode: NodeId): EdgeMerge {
    this.writeRun()
    // Not needed any more; the merge needs memory of its own.
    this.keys = new BigUint64Array(0)
    this.nodes = new Uint32Array(0)
    this.edgeLists = new Uint32Array(0)
    this.neighbours = new Uint32Array(0)
    this.relationships = new Uint32Array(0)
    const paths = Array.from({ length: this.runCount }, (_, run) => join(this.folder, runName(run)))
    return new EdgeMerge(paths, this.load, firstNode)
  }

  /** Removes all files. */
  remove(): void {
    rmSync(this.folder, { recursive: true, force: true })
  }
}

/** Up to this many entries insertion sort is faster than a sort with a comparator. */
const INSERTION_MAX = 24

function runName(run: number): string {
  return `${String(run).padStart(8, '0')}.run`
}

function writeWords(file: number, words: Uint32Array, count: number): void {
  const bytes = new Uint8Array(words.buffer, words.byteOffset, count * 4)
  for (let at = 0; at < bytes.length; ) at += writeSync(file, bytes, at, bytes.length - at)
}

interface RunHead {
  readonly from: RelationshipId
  readonly to: RelationshipId
  readonly count: number
}

/** Null if the file is no run of the load. */
function readHead(path: string, load: LoadId): RunHead | null {
  const file = openSync(path, 'r')
  try {
    const head = new Uint32Array(HEAD_WORDS)
    const isWhole = readSync(file, new Uint8Array(head.buffer), 0, HEAD_WORDS * 4, 0) === HEAD_WORDS * 4
    const isValid = isWhole && head[HEAD_WORDS - 1] === checksum(head, 0, HEAD_WORDS - 1, HEAD_SEED)
    if (!isValid || head[0] !== MAGIC || head[1] !== load[0] || head[2] !== load[1]) return null
    return { from: head[3]!, to: head[4]!, count: head[5]! }
  } finally {
    closeSync(file)
  }
}

/** Reads the entries of one run in order. */
class EdgeRun implements EdgeEntry {
  node = 0
  edgeList = 0
  neighbour = 0
  relationship = 0
  private readonly path: string
  private readonly file: number
  private readonly block = new Uint32Array(BLOCK_WORDS + 1)
  private readonly bytes = new Uint8Array(this.block.buffer)
  private index = 0
  /** Entries after the current block. */
  private rest: number
  private at = 0
  private end = 0

  constructor(path: string, count: number) {
    this.path = path
    this.rest = count
    this.file = openSync(path, 'r')
  }

  /** Moves to the next entry. Returns false at the end. Throws OperationalError if the file is damaged. */
  next(): boolean {
    if (this.at === this.end && !this.nextBlock()) return false
    const { block, at } = this
    this.node = block[at]!
    this.edgeList = block[at + 1]!
    this.neighbour = block[at + 2]!
    this.relationship = block[at + 3]!
    this.at = at + ENTRY_WORDS
    return true
  }

  private nextBlock(): boolean {
    if (this.rest === 0) return false
    const count = Math.min(this.rest, BLOCK_ENTRIES)
    const words = count * ENTRY_WORDS
    const offset = (HEAD_WORDS + this.index * (BLOCK_WORDS + 1)) * 4
    const isWhole = readSync(this.file, this.bytes, 0, (words + 1) * 4, offset) === (words + 1) * 4
    if (!isWhole || this.block[words] !== checksum(this.block, 0, words, this.index))
      throw new OperationalError(`${this.path} is damaged: delete it and run \`verdigraph import --resume\` again`)
    this.rest -= count
    this.index += 1
    this.at = 0
    this.end = words
    return true
  }

  close(): void {
    closeSync(this.file)
  }
}

/** The entries of all runs in order. */
class EdgeMerge {
  /** Number of entries of all runs. */
  readonly total: number
  private readonly runs: EdgeRun[] = []
  /** A binary heap. The first run has the next entry. */
  private readonly heap: EdgeRun[] = []
  private current: EdgeRun | null = null

  /** Throws OperationalError if a file is damaged. */
  constructor(paths: readonly string[], load: LoadId, firstNode: NodeId) {
    let total = 0
    for (const path of paths) {
      const head = readHead(path, load)
      if (head === null) throw new OperationalError(`${path} is damaged`)
      total += head.count
      const run = new EdgeRun(path, head.count)
      this.runs.push(run)
      let hasNext = run.next()
      while (hasNext && run.node < firstNode) hasNext = run.next()
      if (hasNext) this.heap.push(run)
    }
    this.total = total
    for (let at = (this.heap.length >>> 1) - 1; at >= 0; at--) this.siftDown(at)
  }

  /** Returns the next entry, valid until the next call, or null at the end. */
  next(): EdgeEntry | null {
    const { heap, current } = this
    if (current !== null) {
      if (!current.next()) {
        const last = heap.pop()!
        if (last !== current) heap[0] = last
      }
      if (heap.length > 1) this.siftDown(0)
    }
    this.current = heap[0] ?? null
    return this.current
  }

  private siftDown(from: number): void {
    const { heap } = this
    const moved = heap[from]!
    let at = from
    for (;;) {
      let child = at * 2 + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && isBefore(heap[child + 1]!, heap[child]!)) child += 1
      if (!isBefore(heap[child]!, moved)) break
      heap[at] = heap[child]!
      at = child
    }
    heap[at] = moved
  }

  close(): void {
    for (const run of this.runs) run.close()
  }
}
