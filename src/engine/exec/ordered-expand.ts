// OrderedExpand: the neighbours of nodes in ascending order of ids. Adjacency lists are sorted. Long lists are merged
// while they are read, so that a consumer that stops early saves the rest. Short lists, or very many lists, are faster
// to collect and sort.
import { type Chunk, createChunk, type Direction, type NodeId, type Snapshot, type SymbolId } from '../store.ts'
import { firstIds, sortIds } from '../value/sort-ids.ts'
import type { ExecutionContext } from './execution-context.ts'
import type { EndpointPair } from './expand-slots.ts'
import { directionsToRead, type TraversalSpec } from './neighbour-cursor.ts'
import { OrderedNodeSet } from './node-set.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** Lists with at most this many entries in total are collected: that takes no longer than one page of results. */
const COLLECTED_ENTRIES_MAX = 16_384

/** Each merged list needs a chunk in memory. */
const MERGED_LISTS_MAX = 256

interface AdjacencyList {
  readonly node: NodeId
  readonly direction: Direction
  readonly type: SymbolId
}

/** The distinct neighbours of the nodes of all input rows, in ascending order. Resumes after `run.resumeAfter`. */
export class OrderedExpandOperator extends UnaryOperator {
  private readonly slots: EndpointPair
  private readonly traversal: TraversalSpec
  private readonly collectedMax: number
  private readonly starts = new OrderedNodeSet()
  /** Null until the lists are known. */
  private neighbours: { next(run: ExecutionContext): NodeId } | null = null

  constructor(
    input: PhysicalOperator,
    slots: EndpointPair,
    traversal: TraversalSpec,
    collectedMax = COLLECTED_ENTRIES_MAX,
  ) {
    super(input)
    this.slots = slots
    this.traversal = traversal
    this.collectedMax = collectedMax
  }

  override open(run: ExecutionContext): void {
    this.input.open(run)
    this.neighbours = null
  }

  next(run: ExecutionContext): boolean {
    this.neighbours ??= this.startNeighbours(run)
    const node = this.neighbours.next(run)
    if (node === 0) {
      this.neighbours = exhausted
      return false
    }
    run.frame[this.slots.to] = node
    return true
  }

  private startNeighbours(run: ExecutionContext): { next(run: ExecutionContext): NodeId } {
    const { starts } = this
    starts.clear()
    while (this.input.next(run)) {
      const node = run.frame[this.slots.from] as NodeId
      if (node !== 0 && starts.add(node, run.budget)) run.budget.retainRow()
    }
    const snapshot = run.graphs[this.traversal.graph]!
    const lists: AdjacencyList[] = []
    let entries = 0
    for (let i = 0; i < starts.length; i++) {
      const node = starts.ids[i]!
      for (const direction of directionsToRead(this.traversal.direction)) {
        for (const type of this.traversal.types ?? snapshot.relationshipTypesAt(node, direction)) {
          const degree = snapshot.degree(node, direction, type)
          run.budget.chargeSteps(1)
          if (degree === 0) continue
          entries += degree
          lists.push({ node, direction, type })
        }
      }
    }
    if (entries <= this.collectedMax || lists.length > MERGED_LISTS_MAX)
      return new CollectedNeighbours(run, snapshot, lists)
    run.isIncremental = true
    return new MergedNeighbours(run, snapshot, lists)
  }
}

const exhausted = { next: (): NodeId => 0 }

/** Reads all lists first, then sorts. */
class CollectedNeighbours {
  private readonly ids: Uint32Array
  private position = 0

  constructor(run: ExecutionContext, snapshot: Snapshot, lists: readonly AdjacencyList[]) {
    const ends = new OrderedNodeSet()
    const chunk = createChunk()
    for (const { node, direction, type } of lists) {
      snapshot.neighboursFrom(node, direction, type, run.resumeAfter + 1, chunk)
      for (;;) {
        run.budget.chargeSteps(chunk.length + 1)
        for (let i = 0; i < chunk.length; i++) if (ends.add(chunk.ids[i]!, run.budget)) run.budget.retainRow()
        if (!chunk.more) break
        snapshot.neighbours(node, direction, type, chunk.next, chunk)
      }
    }
    this.ids = sortIds(run.budget, firstIds(ends.ids, ends.length))
  }

  next(): NodeId {
    return this.ids[this.position++] ?? 0
  }
}

interface ListHead {
  readonly list: AdjacencyList
  readonly chunk: Chunk
  position: number
  /** The next node of the list. */
  node: NodeId
}

/** Merges the lists with a heap whose top is the list with the lowest next node. */
class MergedNeighbours {
  private readonly snapshot: Snapshot
  private readonly heap: ListHead[] = []
  private last: NodeId = 0

  constructor(run: ExecutionContext, snapshot: Snapshot, lists: readonly AdjacencyList[]) {
    this.snapshot = snapshot
    for (const list of lists) {
      const head: ListHead = { list, chunk: createChunk(), position: 0, node: 0 }
      snapshot.neighboursFrom(list.node, list.direction, list.type, run.resumeAfter + 1, head.chunk)
      run.budget.chargeSteps(head.chunk.length + 1)
      if (head.chunk.length === 0) continue
      head.node = head.chunk.ids[0]!
      this.heap.push(head)
    }
    for (let index = (this.heap.length >>> 1) - 1; index >= 0; index--) this.siftDown(index)
  }

  next(run: ExecutionContext): NodeId {
    const { heap } = this
    for (let head = heap[0]; head !== undefined; head = heap[0]) {
      const { node } = head
      if (!this.advance(run, head)) {
        const end = heap.pop()!
        if (end !== head) heap[0] = end
      }
      this.siftDown(0)
      if (node === this.last) continue
      this.last = node
      return node
    }
    return 0
  }

  private advance(run: ExecutionContext, head: ListHead): boolean {
    const { chunk, list } = head
    head.position += 1
    if (head.position === chunk.length) {
      if (!chunk.more) return false
      this.snapshot.neighbours(list.node, list.direction, list.type, chunk.next, chunk)
      run.budget.chargeSteps(chunk.length + 1)
      head.position = 0
    }
    head.node = chunk.ids[head.position]!
    return true
  }

  private siftDown(from: number): void {
    const { heap } = this
    const moved = heap[from]
    if (moved === undefined) return
    let index = from
    for (;;) {
      let below = 2 * index + 1
      if (below >= heap.length) break
      if (below + 1 < heap.length && heap[below + 1]!.node < heap[below]!.node) below += 1
      if (heap[below]!.node >= moved.node) break
      heap[index] = heap[below]!
      index = below
    }
    heap[index] = moved
  }
}
