// PruningVarExpand: the distinct end nodes of a variable-length pattern, found breadth-first (BFSPruningVarExpand in
// Neo4j).
import type { NodeId } from '../store.ts'
import type { ExecutionContext } from './execution-context.ts'
import type { EndpointPair } from './expand-slots.ts'
import { FilteredNeighbourCursor, type HopLimits, type TraversalSpec } from './neighbour-cursor.ts'
import { NodeSet } from './node-set.ts'
import { type PhysicalOperator, UnaryOperator } from './physical-operator.ts'

/** Every node within reach, once per input row, nearest first. `hops.min` is 0 or 1. */
export class PruningVarExpandOperator extends UnaryOperator {
  private readonly slots: EndpointPair
  private readonly hops: HopLimits
  private readonly max: number
  private readonly cursor: FilteredNeighbourCursor
  private readonly visited = new NodeSet()
  private queue: NodeId[] = []
  private nextQueue: NodeId[] = []
  private position = 0
  private depth = 0
  private start = 0

  constructor(input: PhysicalOperator, slots: EndpointPair, traversal: TraversalSpec, hops: HopLimits) {
    super(input)
    this.slots = slots
    this.hops = hops
    this.max = hops.max ?? Number.POSITIVE_INFINITY
    this.cursor = new FilteredNeighbourCursor({ traversal, predicate: hops.hopPredicate })
  }

  override open(run: ExecutionContext): void {
    this.input.open(run)
    this.queue.length = 0
    this.nextQueue.length = 0
    this.position = 0
    this.cursor.start(0)
  }

  next(run: ExecutionContext): boolean {
    for (;;) {
      const neighbour = this.cursor.next(run)
      if (neighbour !== 0) {
        if (this.visited.has(neighbour)) continue
        this.visited.add(neighbour, run.budget)
        run.budget.retainRow()
        // The start has been expanded; a cycle back to it makes it an end node too.
        if (neighbour !== this.start) this.nextQueue.push(neighbour)
        run.frame[this.slots.to] = neighbour
        return true
      }
      if (this.position < this.queue.length) {
        this.cursor.start(this.queue[this.position++]!)
        continue
      }
      if (this.nextQueue.length > 0 && this.depth + 1 < this.max) {
        this.depth += 1
        const done = this.queue
        this.queue = this.nextQueue
        this.nextQueue = done
        this.nextQueue.length = 0
        this.position = 0
        continue
      }
      if (!this.startNextRow(run)) return false
      if (this.hops.min === 0) {
        this.visited.add(this.start, run.budget)
        run.frame[this.slots.to] = this.start
        return true
      }
    }
  }

  private startNextRow(run: ExecutionContext): boolean {
    for (;;) {
      if (!this.input.next(run)) return false
      this.start = run.frame[this.slots.from] as number
      if (this.start === 0) continue
      this.visited.clear()
      this.nextQueue.length = 0
      this.queue.length = 0
      if (this.max > 0) this.queue.push(this.start)
      this.position = 0
      this.depth = 0
      return true
    }
  }
}
