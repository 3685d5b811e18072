// Reads the neighbours of a node, chunk by chunk, over the types and directions of a step. All operators that expand
// share it.
import { reverseDirection, type WalkDirection } from '../plan/operators.ts'
import {
  createChunk,
  type Direction,
  type NodeId,
  type RelationshipId,
  type Snapshot,
  type SymbolId,
} from '../store.ts'
import type { CompiledTest } from './boolean-logic.ts'
import type { ExecutionContext } from './execution-context.ts'

const OUT_ONLY: readonly Direction[] = ['out']
const IN_ONLY: readonly Direction[] = ['in']
const OUT_AND_IN: readonly Direction[] = ['out', 'in']

/** Returns the lists of relationships that a direction reads. */
export function directionsToRead(direction: WalkDirection): readonly Direction[] {
  return direction === 'out' ? OUT_ONLY : direction === 'in' ? IN_ONLY : OUT_AND_IN
}

/**
 * Which relationships a step may traverse. `types` null: any type. Types that the graph does not know are left out, so an
 * empty list matches nothing.
 */
export interface TraversalSpec {
  /** Index of the graph in the execution. */
  readonly graph: number
  readonly direction: WalkDirection
  readonly types: readonly SymbolId[] | null
}

/** A cursor over the relationships of one node, one by one or chunk by chunk. Charges a step per relationship. */
export class NeighbourCursor {
  neighbour: NodeId = 0
  relationship: RelationshipId = 0
  /** The chunk that `readChunk` has read. */
  readonly chunk = createChunk()
  private readonly graph: number
  private readonly directions: readonly Direction[]
  private readonly fixedTypes: readonly SymbolId[] | null
  /** Whether only one list is read: of one direction and one type. */
  private readonly isSingle: boolean
  private node: NodeId = 0
  private direction: Direction
  private type: SymbolId
  /** Null until the first chunk is read. */
  private types: readonly SymbolId[] | null = null
  private typeAt = 0
  private directionAt = 0
  private position = 0

  constructor(traversal: TraversalSpec) {
    this.graph = traversal.graph
    this.directions = directionsToRead(traversal.direction)
    this.fixedTypes = traversal.types
    this.isSingle = this.directions.length === 1 && this.fixedTypes?.length === 1
    this.direction = this.directions[0]!
    this.type = this.fixedTypes?.[0] ?? 0
  }

  /** Moves the cursor before the first neighbour of a node. Node 0 (null) has no neighbours. */
  start(node: NodeId): void {
    this.node = node
    this.position = 0
    this.chunk.length = 0
    this.chunk.more = false
    this.typeAt = -1
    this.directionAt = node === 0 ? this.directions.length : 0
    this.types = null
  }

  /** Moves to the next neighbour and sets `neighbour` and `relationship`. Returns false at the end. */
  advance(run: ExecutionContext): boolean {
    const chunk = this.chunk
    for (;;) {
      while (this.position < chunk.length) {
        const index = this.position++
        const neighbour = chunk.ids[index]!
        // A self-loop is in both lists of its node but is one relationship: it is returned as an outgoing one.
        if (this.directionAt === 1 && neighbour === this.node) continue
        this.neighbour = neighbour
        this.relationship = chunk.relationships[index]!
        return true
      }
      if (!this.readChunk(run)) return false
    }
  }

  /** Reads the next chunk, which may be empty. Returns false at the end. An undirected step reads a self-loop twice. */
  readChunk(run: ExecutionContext): boolean {
    const { chunk } = this
    const snapshot = run.graphs[this.graph]!
    let from = 0
    if (chunk.more) from = chunk.next
    else if (!this.startNextList(snapshot)) return false
    this.position = 0
    snapshot.neighbours(this.node, this.direction, this.type, from, chunk)
    run.budget.chargeSteps(chunk.length + 1)
    return true
  }

  /** Starts the list of the next type, or of the first type of the next direction. */
  private startNextList(snapshot: Snapshot): boolean {
    if (this.directionAt >= this.directions.length) return false
    this.typeAt += 1
    if (this.isSingle) return this.typeAt === 0
    this.types ??= this.typesIn(snapshot)
    while (this.typeAt >= this.types.length) {
      this.directionAt += 1
      if (this.directionAt >= this.directions.length) return false
      this.typeAt = 0
      this.types = this.typesIn(snapshot)
    }
    this.direction = this.directions[this.directionAt]!
    this.type = this.types[this.typeAt]!
    return true
  }

  private typesIn(snapshot: Snapshot): readonly SymbolId[] {
    return this.fixedTypes ?? snapshot.relationshipTypesAt(this.node, this.directions[this.directionAt]!)
  }
}

/** The predicate of a hop: the test reads the relationship in `slot`, and the nodes of the hop in `near` and `far`. */
export interface HopPredicate {
  readonly slot: number
  /** The slot of the node from which the hop is taken; -1 if the test does not read it. */
  readonly near: number
  /** The slot of the node to which the hop leads; -1 if the test does not read it. */
  readonly far: number
  readonly test: CompiledTest
  /** Whether the test cannot fail, so that it may be left out for a hop that leads to nothing new. Default: it may fail. */
  readonly isSafe?: boolean
  /** Whether the test reads only labels of the two nodes. Default: it may read more. */
  readonly isLabelTest?: boolean
}

/** One hop of a repeated step. */
export interface CompiledHop {
  readonly traversal: TraversalSpec
  readonly predicate: HopPredicate | null
}

/** How often a step repeats, and the hops of one repetition: the predicate of the first, and the others. */
export interface HopLimits {
  readonly min: number
  /** Null: no limit. */
  readonly max: number | null
  readonly hopPredicate: HopPredicate | null
  readonly further: readonly CompiledHop[]
}

/** The hop from its other end. */
export function reverseHop({ traversal, predicate }: CompiledHop): CompiledHop {
  return {
    traversal: { ...traversal, direction: reverseDirection(traversal.direction) },
    predicate: predicate && { ...predicate, near: predicate.far, far: predicate.near },
  }
}

/** Whether the hop from one node over a relationship to another satisfies the predicate. */
export function satisfiesHop(
  run: ExecutionContext,
  predicate: HopPredicate,
  near: NodeId,
  relationship: RelationshipId,
  far: NodeId,
): boolean {
  const { frame } = run
  frame[predicate.slot] = relationship
  if (predicate.near >= 0) frame[predicate.near] = near
  if (predicate.far >= 0) frame[predicate.far] = far
  return predicate.test(run)
}
