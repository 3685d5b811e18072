// Variable length, ends only: breadth-first over visited nodes; from both sides when both ends are known.
import type { NodeId } from '../store.ts'
import type { Run } from './context.ts'
import { NeighbourWalk, opposite, type Walkable } from './neighbours.ts'
import type { Operator } from './operator.ts'
import type { Hops } from './var-expand.ts'

export interface ReachSlots {
  readonly from: number
  readonly to: number
}

/** Walks over the relationships of a node that satisfy the step's predicate. */
class Steps {
  private readonly walk: NeighbourWalk
  private readonly each: Hops['each']

  constructor(walkable: Walkable, each: Hops['each']) {
    this.walk = new NeighbourWalk(walkable)
    this.each = each
  }

  begin(node: NodeId): void {
    this.walk.begin(node)
  }

  /** The next neighbour, 0 at the end. */
  next(run: Run): NodeId {
    const { walk, each } = this
    while (walk.advance(run)) {
      if (each) {
        run.frame[each.slot] = walk.relationship
        if (!each.test(run)) continue
      }
      return walk.neighbour
    }
    return 0
  }
}

/** Every node within reach, once each, nearest first. `min` is 0 or 1. */
export class ReachOperator implements Operator {
  private readonly input: Operator
  private readonly slots: ReachSlots
  private readonly hops: Hops
  private readonly max: number
  private readonly steps: Steps
  private readonly visited = new Set<NodeId>()
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

interface Side {
  readonly steps: Steps
  readonly visited: Set<NodeId>
  frontier: NodeId[]
}

/** Whether one known node reaches another within `min` (0 or 1) to `max` steps: the smaller frontier grows first. */
export class ReachIntoOperator implements Operator {
  private readonly input: Operator
  private readonly slots: ReachSlots
  private readonly hops: Hops
  private readonly max: number
  private readonly ahead: Side
  private readonly back: Side

  constructor(input: Operator, slots: ReachSlots, walkable: Walkable, hops: Hops) {
    this.input = input
    this.slots = slots
    this.hops = hops
    this.max = hops.max ?? Number.POSITIVE_INFINITY
    const reversed: Walkable = { ...walkable, direction: opposite(walkable.direction) }
    this.ahead = { steps: new Steps(walkable, hops.each), visited: new Set(), frontier: [] }
    this.back = { steps: new Steps(reversed, hops.each), visited: new Set(), frontier: [] }
  }

  open(run: Run): void {
    this.input.open(run)
  }

  next(run: Run): boolean {
    for (;;) {
      if (!this.input.next(run)) return false
      const from = run.frame[this.slots.from] as number
      const to = run.frame[this.slots.to] as number
      if (from !== 0 && to !== 0 && this.connected(run, from, to)) return true
    }
  }

  private connected(run: Run, from: NodeId, to: NodeId): boolean {
    if (from === to && this.hops.min === 0) return true
    const { ahead, back } = this
    restart(ahead, from)
    restart(back, to)
    // A way from a node to itself is a cycle: the two sides would meet before they start.
    const fromItself = from === to
    if (fromItself) ahead.visited.clear()
    for (let depth = 0; depth < this.max; depth++) {
      const forward = fromItself || ahead.frontier.length <= back.frontier.length
      const side = forward ? ahead : back
      if (side.frontier.length === 0) return false
      if (grow(run, side, forward ? back : ahead)) return true
    }
    return false
  }
}

function restart(side: Side, node: NodeId): void {
  side.visited.clear()
  side.visited.add(node)
  side.frontier = [node]
}

/** One level further; true as soon as the other side is met. */
function grow(run: Run, side: Side, other: Side): boolean {
  const grown: NodeId[] = []
  for (const node of side.frontier) {
    side.steps.begin(node)
    for (let next = side.steps.next(run); next !== 0; next = side.steps.next(run)) {
      if (other.visited.has(next)) return true
      if (side.visited.has(next)) continue
      side.visited.add(next)
      run.budget.hold()
      grown.push(next)
    }
  }
  side.frontier = grown
  return false
}
