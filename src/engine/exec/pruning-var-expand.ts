// Variable length, ends only: breadth-first over visited nodes.
import type { NodeId } from '../store.ts'
import type { ExecutionContext } from './execution-context.ts'
import { FilteredNeighbourCursor } from './link-traversal.ts'
import type { TraversalSpec } from './neighbour-cursor.ts'
import { NodeSet } from './node-set.ts'
import type { PhysicalOperator } from './physical-operator.ts'
import type { HopLimits } from './var-length-expand.ts'

export interface PruningVarExpandSlots {
  readonly from: number
  readonly to: number
}

/** Every node within reach, once each, nearest first. `min` is 0 or 1. */
export class PruningVarExpandOperator implements PhysicalOperator {
  private readonly input: PhysicalOperator
  private readonly slots: PruningVarExpandSlots
  private readonly hops: HopLimits
  private readonly max: number
  private readonly cursor: FilteredNeighbourCursor
  private readonly visited = new NodeSet()
  private queue: NodeId[] = []
  private nextQueue: NodeId[] = []
  private position = 0
  private depth = 0
  private start = 0

  constructor(input: PhysicalOperator, slots: PruningVarExpandSlots, walkable: TraversalSpec, hops: HopLimits) {
    this.input = input
    this.slots = slots
    this.hops = hops
    this.max = hops.max ?? Number.POSITIVE_INFINITY
    this.cursor = new FilteredNeighbourCursor(walkable, hops.hopPredicate)
  }

  open(run: ExecutionContext): void {
    this.input.open(run)
    this.queue.length = 0
    this.nextQueue.length = 0
    this.position = 0
    this.cursor.begin(0)
  }

  next(run: ExecutionContext): boolean {
    for (;;) {
      const neighbour = this.cursor.next(run)
      if (neighbour !== 0) {
        if (this.visited.has(neighbour)) continue
        this.visited.add(neighbour, run.budget)
        run.budget.retainRow()
        // The start was walked from already; it is an end when a cycle leads back to it.
        if (neighbour !== this.start) this.nextQueue.push(neighbour)
        run.frame[this.slots.to] = neighbour
        return true
      }
      if (this.position < this.queue.length) {
        this.cursor.begin(this.queue[this.position++]!)
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
