// Counts the stored nodes and relationships that declared types do not allow, with examples. The graph is read in short slices, each on a
// snapshot of its own, with other requests between the slices, and within a budget of elements and time.
import { readGraph, readGraphNow } from '../engine/read-graph.ts'
import {
  type Chunk,
  createChunk,
  type GraphStore,
  type NodeId,
  type RelationshipId,
  type Snapshot,
} from '../engine/store.ts'
import { nodeFaults, relationshipFaults } from './element-faults.ts'
import type { GraphTypes } from './graph-types.ts'

/** Milliseconds after which a slice yields. One node with its relationships is read in one slice, up to `NEIGHBOURS_MAX`. */
const SLICE_MS = 3

/** Relationships of one node that are compared: more of a node would keep a slice busy. */
const NEIGHBOURS_MAX = 1_000

/** Examples of one fault. */
const EXAMPLES_MAX = 3

/** Different faults: more would not be read. */
const FAULTS_MAX = 100

/** One way in which stored elements do not fit the types. */
interface Misfit {
  /** As for a captured element: `` `(:User)` has no property `emial` ``. */
  readonly fault: string
  readonly count: number
  /** Such as `User:ann` or `(User:ann)-[:MEMBER]->(Group:staff)`. */
  readonly examples: readonly string[]
}

/** What of a graph does not fit. */
interface Misfits {
  /** The most frequent first. */
  readonly misfits: readonly Misfit[]
  /** Nodes and relationships that were compared. */
  readonly compared: number
  /** False: the budget ended before the graph, or a node has too many relationships, or there are too many different faults. */
  readonly isComplete: boolean
}

/** How much of a graph is compared at most. */
export interface MisfitBudget {
  /** Nodes and relationships. */
  readonly elements: number
  readonly timeMs: number
}

/** Compares a graph with declared types. Rejects if the graph cannot be read. */
export async function findMisfits(graph: GraphStore, types: GraphTypes, budget: MisfitBudget): Promise<Misfits> {
  const search = new MisfitSearch(budget)
  for (;;) {
    const { from, left } = search
    if (search.add(await readGraph(graph, (snapshot) => new MisfitSlice(types, left).read(snapshot, from))))
      return search.result()
    await new Promise((resolve) => setImmediate(resolve))
  }
}

/** As `findMisfits`, for a caller that cannot wait. The graph is one of this process. */
export function findMisfitsNow(graph: GraphStore, types: GraphTypes, budget: MisfitBudget): Misfits {
  const search = new MisfitSearch(budget)
  for (;;) {
    const { from, left } = search
    if (search.add(readGraphNow(graph, (snapshot) => new MisfitSlice(types, left).read(snapshot, from))))
      return search.result()
  }
}

type FoundFaults = Map<string, { count: number; readonly examples: string[] }>

/** The sum of the slices. */
class MisfitSearch {
  /** The node with which the next slice begins. */
  from = 0
  /** Elements of the budget. */
  left: number
  private readonly elementsMax: number
  private readonly endMs: number
  private readonly found: FoundFaults = new Map()
  private isComplete = true

  constructor({ elements, timeMs }: MisfitBudget) {
    this.left = elements
    this.elementsMax = elements
    this.endMs = performance.now() + timeMs
  }

  /** Returns whether the search has ended. */
  add(slice: MisfitSlice): boolean {
    this.left -= slice.compared
    this.isComplete &&= slice.isComplete
    for (const [fault, { count, examples }] of slice.found) {
      const known = this.found.get(fault)
      if (known === undefined && this.found.size >= FAULTS_MAX) {
        this.isComplete = false
        continue
      }
      const misfit = known ?? { count: 0, examples: [] }
      misfit.count += count
      misfit.examples.push(...examples.slice(0, EXAMPLES_MAX - misfit.examples.length))
      this.found.set(fault, misfit)
    }
    this.from = slice.next
    if (slice.next === 0) return true
    if (performance.now() < this.endMs) return false
    this.isComplete = false
    return true
  }

  result(): Misfits {
    const misfits = [...this.found].map(([fault, { count, examples }]) => ({ fault, count, examples }))
    return {
      misfits: misfits.sort((a, b) => b.count - a.count || (a.fault < b.fault ? -1 : 1)),
      compared: this.elementsMax - this.left,
      isComplete: this.isComplete,
    }
  }
}

/** One look at the graph, which may be run again from its start. */
class MisfitSlice {
  readonly found: FoundFaults = new Map()
  compared = 0
  isComplete = true
  /** The node with which the next slice begins; 0: this is the last one. */
  next = 0
  private readonly types: GraphTypes
  private readonly elementsMax: number
  private readonly nodes: Chunk = createChunk()
  private readonly neighbours: Chunk = createChunk()

  constructor(types: GraphTypes, elementsMax: number) {
    this.types = types
    this.elementsMax = elementsMax
  }

  /** Compares nodes from an id on, and the relationships that begin at each. Returns itself. */
  read(snapshot: Snapshot, from: number): this {
    const startMs = performance.now()
    for (let begin = from; ; begin = this.nodes.next) {
      snapshot.allNodes(begin, this.nodes)
      const { length, more, next } = this.nodes
      // Copied, because the snapshot reuses the chunk.
      for (const id of this.nodes.ids.slice(0, length)) {
        // A chunk may begin before the node of a slice.
        if (id < from) continue
        if (this.compared > 0 && performance.now() - startMs > SLICE_MS) {
          this.next = id
          return this
        }
        if (this.compared >= this.elementsMax) {
          this.isComplete = false
          return this
        }
        this.node(snapshot, id)
      }
      if (!more) return this
      this.nodes.next = next
    }
  }

  private node(snapshot: Snapshot, id: NodeId): void {
    this.compared += 1
    const labels = labelsOf(snapshot, id)
    const properties = snapshot.nodeStoredProperties(id)
    this.add(nodeFaults(this.types, { labels, properties, isWhole: true }), () => nameOf(snapshot, id))
    let read = 0
    for (const type of snapshot.relationshipTypesAt(id, 'out')) {
      for (let from = 0; ; from = this.neighbours.next) {
        if (read >= NEIGHBOURS_MAX) {
          this.isComplete = false
          return
        }
        snapshot.neighbours(id, 'out', type, from, this.neighbours)
        const { length, more, next } = this.neighbours
        const ends = this.neighbours.ids.slice(0, length)
        const relationships = this.neighbours.relationships.slice(0, length)
        ends.forEach((end, i) => {
          this.relationship(snapshot, labels, id, relationships[i]!, end)
        })
        read += length
        if (!more) break
        this.neighbours.next = next
      }
    }
  }

  private relationship(
    snapshot: Snapshot,
    source: readonly string[],
    from: NodeId,
    id: RelationshipId,
    to: NodeId,
  ): void {
    this.compared += 1
    const type = snapshot.symbolName('type', snapshot.relationshipType(id))
    const faults = relationshipFaults(this.types, {
      type,
      source,
      target: labelsOf(snapshot, to),
      properties: snapshot.relationshipStoredProperties(id),
      isWhole: true,
    })
    this.add(faults, () => `(${nameOf(snapshot, from)})-[:${type}]->(${nameOf(snapshot, to)})`)
  }

  private add(faults: readonly string[], example: () => string): void {
    for (const fault of faults) {
      const known = this.found.get(fault)
      if (known === undefined && this.found.size >= FAULTS_MAX) {
        this.isComplete = false
        continue
      }
      const misfit = known ?? { count: 0, examples: [] }
      misfit.count += 1
      if (misfit.examples.length < EXAMPLES_MAX) misfit.examples.push(example())
      this.found.set(fault, misfit)
    }
  }
}

function labelsOf(snapshot: Snapshot, node: NodeId): readonly string[] {
  return snapshot.labels(node).map((label) => snapshot.symbolName('label', label))
}

function nameOf(snapshot: Snapshot, node: NodeId): string {
  return `${String(snapshot.nodeField(node, 'type') ?? '')}:${String(snapshot.nodeField(node, 'external_id') ?? '')}`
}

/** The misfits of a graph as warnings about its model. */
export function misfitWarnings({ misfits, compared, isComplete }: Misfits): readonly string[] {
  const lines = misfits.map(({ fault, count, examples }) => {
    const elements = count === 1 ? '1 stored element does not fit' : `${count} stored elements do not fit`
    return `model: ${elements}: ${fault}; such as ${examples.join(', ')}`
  })
  return isComplete ? lines : [...lines, `model: only ${compared} stored elements were compared with the types`]
}
