// The nodes that one hop leads to, in the order of their ids. Lists of neighbours ascend, so where they are long they are
// merged as they are read, and nothing is read that nobody asks for; where they are short, or very many, it is quicker to
// gather what they hold first.
import { type Chunk, type Direction, emptyChunk, type NodeId, type Snapshot, type SymbolId } from '../store.ts'
import { sortIds } from '../value/sort-ids.ts'
import type { ChainSlots } from './connect.ts'
import type { Run } from './context.ts'
import { directionsOf, type Walkable } from './neighbours.ts'
import { NodeList } from './node-set.ts'
import type { Operator } from './operator.ts'

/** Lists with no more entries than this together are gathered: it takes no longer than a page takes to answer. */
const GATHERED_MAX = 16_384

/** Each list that is merged holds a chunk. */
const MERGED_LISTS = 256

interface List {
  readonly node: NodeId
  readonly direction: Direction
  readonly type: SymbolId
}

export class AscendOperator implements Operator {
  private readonly input: Operator
  private readonly slots: ChainSlots
  private readonly walkable: Walkable
  private readonly gatheredMax: number
  private readonly starts = new NodeList()
  /** Null: the lists are not yet looked for. */
  private ends: { next(run: Run): NodeId } | null = null

  constructor(input: Operator, slots: ChainSlots, walkable: Walkable, gatheredMax = GATHERED_MAX) {
    this.gatheredMax = gatheredMax
    this.input = input
    this.slots = slots
    this.walkable = walkable
  }

  open(run: Run): void {
    this.input.open(run)
    this.ends = null
  }

  next(run: Run): boolean {
    this.ends ??= this.begin(run)
    const node = this.ends.next(run)
    if (node === 0) {
      this.ends = nothing
      return false
    }
    run.frame[this.slots.to] = node
    return true
  }

  private begin(run: Run): { next(run: Run): NodeId } {
    const { starts } = this
    starts.clear()
    while (this.input.next(run)) {
      const node = run.frame[this.slots.from] as NodeId
      if (node !== 0 && starts.add(node)) run.budget.hold()
    }
    const snapshot = run.graphs[this.walkable.graph]!
    const lists: List[] = []
    let entries = 0
    for (let i = 0; i < starts.length; i++) {
      const node = starts.ids[i]!
      for (const direction of directionsOf(this.walkable.direction)) {
        for (const type of this.walkable.types ?? snapshot.typesAt(node, direction)) {
          const degree = snapshot.degree(node, direction, type)
          run.budget.touch(1)
          if (degree === 0) continue
          entries += degree
          lists.push({ node, direction, type })
        }
      }
    }
    if (entries <= this.gatheredMax || lists.length > MERGED_LISTS) return new Gathered(run, snapshot, lists)
    run.isLazy = true
    return new Merged(run, snapshot, lists)
  }
}

const nothing = { next: (): NodeId => 0 }

/** All ends at once, sorted. */
class Gathered {
  private readonly ids: Uint32Array
  private position = 0

  constructor(run: Run, snapshot: Snapshot, lists: readonly List[]) {
    const ends = new NodeList()
    const chunk = emptyChunk()
    for (const { node, direction, type } of lists) {
      snapshot.neighboursFrom(node, direction, type, run.after + 1, chunk)
      for (;;) {
        run.budget.touch(chunk.length + 1)
        for (let i = 0; i < chunk.length; i++) if (ends.add(chunk.ids[i]!)) run.budget.hold()
        if (!chunk.more) break
        snapshot.neighbours(node, direction, type, chunk.next, chunk)
      }
    }
    this.ids = sortIds(ends.ids.subarray(0, ends.length))
  }

  next(): NodeId {
    return this.ids[this.position++] ?? 0
  }
}

interface Head {
  readonly list: List
  readonly chunk: Chunk
  position: number
  /** The next of the list. */
  node: NodeId
}

/** A heap of lists, the one with the lowest next node on top. */
class Merged {
  private readonly snapshot: Snapshot
  private readonly heap: Head[] = []
  private last: NodeId = 0

  constructor(run: Run, snapshot: Snapshot, lists: readonly List[]) {
    this.snapshot = snapshot
    for (const list of lists) {
      const head: Head = { list, chunk: emptyChunk(), position: 0, node: 0 }
      snapshot.neighboursFrom(list.node, list.direction, list.type, run.after + 1, head.chunk)
      run.budget.touch(head.chunk.length + 1)
      if (head.chunk.length === 0) continue
      head.node = head.chunk.ids[0]!
      this.heap.push(head)
    }
    for (let at = (this.heap.length >>> 1) - 1; at >= 0; at--) this.sink(at)
  }

  next(run: Run): NodeId {
    const { heap } = this
    for (let head = heap[0]; head !== undefined; head = heap[0]) {
      const { node } = head
      if (!this.advance(run, head)) {
        const end = heap.pop()!
        if (end !== head) heap[0] = end
      }
      this.sink(0)
      if (node === this.last) continue
      this.last = node
      return node
    }
    return 0
  }

  private advance(run: Run, head: Head): boolean {
    const { chunk, list } = head
    head.position += 1
    if (head.position === chunk.length) {
      if (!chunk.more) return false
      this.snapshot.neighbours(list.node, list.direction, list.type, chunk.next, chunk)
      run.budget.touch(chunk.length + 1)
      head.position = 0
    }
    head.node = chunk.ids[head.position]!
    return true
  }

  private sink(from: number): void {
    const { heap } = this
    const moved = heap[from]
    if (moved === undefined) return
    let at = from
    for (;;) {
      let below = 2 * at + 1
      if (below >= heap.length) break
      if (below + 1 < heap.length && heap[below + 1]!.node < heap[below]!.node) below += 1
      if (heap[below]!.node >= moved.node) break
      heap[at] = heap[below]!
      at = below
    }
    heap[at] = moved
  }
}

/** Rows come in the order of the ids in a slot: those of one id stand together, and the first is given. */
export class AscendingIdsOperator implements Operator {
  private readonly input: Operator
  private readonly slot: number
  private last: NodeId = 0

  constructor(input: Operator, slot: number) {
    this.input = input
    this.slot = slot
  }

  open(run: Run): void {
    this.input.open(run)
    this.last = 0
  }

  next(run: Run): boolean {
    while (this.input.next(run)) {
      const id = run.frame[this.slot] as NodeId
      if (id === this.last) continue
      this.last = id
      run.budget.touch(1)
      return true
    }
    return false
  }
}
