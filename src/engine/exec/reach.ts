// Variable length, ends only: breadth-first over visited nodes.
import type { NodeId } from '../store.ts'
import { Steps } from './chain.ts'
import type { Run } from './context.ts'
import type { Walkable } from './neighbours.ts'
import { NodeSet } from './node-set.ts'
import type { Operator } from './operator.ts'
import type { Hops } from './var-expand.ts'

export interface ReachSlots {
  readonly from: number
  readonly to: number
}

/** Every node within reach, once each, nearest first. `min` is 0 or 1. */
export class ReachOperator implements Operator {
  private readonly input: Operator
  private readonly slots: ReachSlots
  private readonly hops: Hops
  private readonly max: number
  private readonly steps: Steps
  private readonly visited = new NodeSet()
  private queue: NodeId[] = []
  private nextQueue: NodeId[] = []
  private position = 0
  private depth = 0
  private start = 0

  constructor(input: Operator, slots: ReachSlots, walkable: Walkable, hops: Hops) {
    this.input = input
    this.slots = slots
    this.hops = hops
    this.max = hops.max ?? Number.POSITIVE_INFINITY
    this.steps = new Steps(walkable, hops.each)
  }

  open(run: Run): void {
    this.input.open(run)
    this.queue.length = 0
    this.nextQueue.length = 0
    this.position = 0
    this.steps.begin(0)
  }

  next(run: Run): boolean {
    for (;;) {
      const neighbour = this.steps.next(run)
      if (neighbour !== 0) {
        if (this.visited.has(neighbour)) continue
        this.visited.add(neighbour)
        run.budget.hold()
        // The start was walked from already; it is an end when a cycle leads back to it.
        if (neighbour !== this.start) this.nextQueue.push(neighbour)
        run.frame[this.slots.to] = neighbour
        return true
      }
      if (this.position < this.queue.length) {
        this.steps.begin(this.queue[this.position++]!)
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
      if (!this.begin(run)) return false
      if (this.hops.min === 0) {
        this.visited.add(this.start)
        run.frame[this.slots.to] = this.start
        return true
      }
    }
  }

  private begin(run: Run): boolean {
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
