// A chain of links between two nodes, walked frontier by frontier: of each place only the distinct nodes are kept, because
// whoever uses a chain asks which nodes hang together and not in how many ways.
import { emptyChunk, type NodeId, type RelationshipId } from '../store.ts'
import type { Run } from './context.ts'
import { NeighbourWalk, opposite, type Walkable } from './neighbours.ts'
import { NodeList } from './node-set.ts'
import type { Hops } from './var-expand.ts'

/** One hop, or `min` (0 or 1) to `max` hops. */
export interface Link {
  readonly walkable: Walkable
  readonly hops: Hops
}

/** A place between two links: its node is put into `slot` for the tests. */
export interface Stop {
  readonly slot: number
  readonly tests: readonly ((run: Run) => boolean)[]
}

/** Walks over the relationships of a node that satisfy the link's predicate. */
export class Steps {
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
      if (each && !this.admits(run, each, walk.relationship)) continue
      return walk.neighbour
    }
    return 0
  }

  /** More than one chunk of neighbours. */
  get isLong(): boolean {
    return this.walk.isLong
  }

  private admits(run: Run, each: NonNullable<Hops['each']>, relationship: RelationshipId): boolean {
    run.frame[each.slot] = relationship
    return each.test(run)
  }
}

/** Whether the node may stand at that place. The ends of a chain are tested by whoever gives them. */
function passes(run: Run, stop: Stop | null, node: NodeId): boolean {
  if (stop === null) return true
  const { tests } = stop
  run.frame[stop.slot] = node
  for (let i = 0; i < tests.length; i++) if (!tests[i]!(run)) return false
  return true
}

/** Several hops are best left to the last link, where they are met in the middle. */
const COST_OF_HOPS = 128
const COST_OF_HOP = 8
const COST_OF_READ = 2

/** Asking for two nodes costs about as much as reading through so many entries of a long list. */
const ENTRIES_PER_PROBE = 128

/** One link, between the places before and behind it. */
export class Span {
  private readonly ahead: Steps
  private readonly back: Steps
  private readonly before: Stop | null
  private readonly behind: Stop | null
  private readonly min: number
  private readonly max: number
  private readonly walkable: Walkable
  private readonly isHop: boolean
  /** A hop that the store can be asked for by both its ends. */
  private readonly isPlain: boolean
  private readonly chunk = emptyChunk()

  constructor({ walkable, hops }: Link, before: Stop | null, behind: Stop | null) {
    this.ahead = new Steps(walkable, hops.each)
    this.back = new Steps({ ...walkable, direction: opposite(walkable.direction) }, hops.each)
    this.before = before
    this.behind = behind
    this.min = hops.min
    this.max = hops.max ?? Number.POSITIVE_INFINITY
    this.walkable = walkable
    this.isHop = this.min === 1 && this.max === 1
    this.isPlain = this.isHop && hops.each === null && walkable.direction !== 'both' && walkable.types !== null
  }

  /** A guess at the work of walking on from these nodes, to be compared with another's: entries, more or less. */
  cost(run: Run, starts: NodeList, forward: boolean): number {
    if (!this.isHop) return starts.length * COST_OF_HOPS
    if (this.isPlain && starts.length === 1) return COST_OF_READ + this.fanOut(run, starts.ids[0]!, forward)
    return starts.length * COST_OF_HOP
  }

  /** How many relationships a walk from the node begins with, for a plain hop. */
  private fanOut(run: Run, node: NodeId, forward: boolean): number {
    const { direction, types, graph } = this.walkable
    const out = (direction === 'out') === forward
    const snapshot = run.graphs[graph]!
    let fanOut = 0
    for (const type of types!) fanOut += snapshot.degree(node, out ? 'out' : 'in', type)
    return fanOut
  }

  /** Fills `reached` with what lies at the other end of the link. Nodes are tested when they are walked from. */
  grow(run: Run, starts: NodeList, reached: NodeList, forward: boolean): void {
    const steps = forward ? this.ahead : this.back
    const stop = forward ? this.before : this.behind
    reached.clear()
    if (!this.isHop && this.min === 0) {
      for (let i = 0; i < starts.length; i++) {
        const node = starts.ids[i]!
        if (passes(run, stop, node)) keep(run, reached, node)
      }
      if (this.max > 0) growLevels(run, steps, reached, 0, this.max)
      return
    }
    for (let i = 0; i < starts.length; i++) {
      const node = starts.ids[i]!
      if (passes(run, stop, node)) walkFrom(run, steps, node, reached)
    }
    if (!this.isHop) growLevels(run, steps, reached, 0, this.max - 1)
  }

  /** Whether a node of one set is linked to a node of the other. */
  meets(run: Run, near: NodeList, far: NodeList): boolean {
    if (!this.isHop) return this.meetsWithinHops(run, near, far)
    const forward = near.length <= far.length
    return forward ? this.probe(run, near, far, this.ahead, true) : this.probe(run, far, near, this.back, false)
  }

  /** Walks from every node of `starts` and looks for what it finds among `wanted`. */
  private probe(run: Run, starts: NodeList, wanted: NodeList, steps: Steps, forward: boolean): boolean {
    const startStop = forward ? this.before : this.behind
    const wantedStop = forward ? this.behind : this.before
    for (let i = 0; i < starts.length; i++) {
      const start = starts.ids[i]!
      if (!passes(run, startStop, start)) continue
      if (this.isPlain && wanted.length === 1) {
        if (this.isLinkedToAny(run, start, wanted, wantedStop, forward)) return true
        continue
      }
      steps.begin(start)
      let next = steps.next(run)
      if (this.isPlain && steps.isLong && this.fanOut(run, start, forward) > wanted.length * ENTRIES_PER_PROBE) {
        if (this.isLinkedToAny(run, start, wanted, wantedStop, forward)) return true
        continue
      }
      for (; next !== 0; next = steps.next(run)) if (wanted.has(next) && passes(run, wantedStop, next)) return true
    }
    return false
  }

  private isLinkedToAny(run: Run, start: NodeId, wanted: NodeList, stop: Stop | null, forward: boolean): boolean {
    for (let i = 0; i < wanted.length; i++) {
      const node = wanted.ids[i]!
      if (this.areLinked(run, start, node, forward) && passes(run, stop, node)) return true
    }
    return false
  }

  private areLinked(run: Run, start: NodeId, end: NodeId, forward: boolean): boolean {
    const { direction, types, graph } = this.walkable
    const out = (direction === 'out') === forward
    const snapshot = run.graphs[graph]!
    for (let i = 0; i < types!.length; i++) {
      run.budget.touch(1)
      snapshot.relationshipsBetween(out ? start : end, types![i]!, out ? end : start, this.chunk)
      if (this.chunk.length > 0) return true
    }
    return false
  }

  // -- several hops

  private readonly nearReached = new NodeList()
  private readonly farReached = new NodeList()

  /** Level by level from both sides, the smaller frontier first. A shortest way touches the sets at its ends only. */
  private meetsWithinHops(run: Run, near: NodeList, far: NodeList): boolean {
    const { nearReached, farReached } = this
    copyPassing(run, near, this.before, nearReached)
    copyPassing(run, far, this.behind, farReached)
    if (this.min === 0 && overlap(nearReached, farReached)) return true
    let nearDone = 0
    let farDone = 0
    for (let hop = 0; hop < this.max; hop++) {
      const nearOpen = nearReached.length - nearDone
      const farOpen = farReached.length - farDone
      // Beyond an empty frontier there is nothing: all that can be reached has been.
      if (nearOpen === 0 || farOpen === 0) return false
      if (nearOpen <= farOpen) {
        const level = nearReached.length
        if (growUntilMet(run, this.ahead, nearReached, nearDone, farReached)) return true
        nearDone = level
      } else {
        const level = farReached.length
        if (growUntilMet(run, this.back, farReached, farDone, nearReached)) return true
        farDone = level
      }
    }
    return false
  }
}

function keep(run: Run, list: NodeList, node: NodeId): void {
  if (list.add(node)) run.budget.hold()
}

function walkFrom(run: Run, steps: Steps, node: NodeId, reached: NodeList): void {
  steps.begin(node)
  for (let next = steps.next(run); next !== 0; next = steps.next(run)) keep(run, reached, next)
}

/** Up to `hops` levels further, from the node at `start` on. */
function growLevels(run: Run, steps: Steps, reached: NodeList, start: number, hops: number): void {
  let done = start
  for (let hop = 0; hop < hops && done < reached.length; hop++) {
    const level = reached.length
    for (; done < level; done++) walkFrom(run, steps, reached.ids[done]!, reached)
  }
}

/** One level further from the nodes behind `start`; true as soon as the other side is met. */
function growUntilMet(run: Run, steps: Steps, reached: NodeList, start: number, other: NodeList): boolean {
  const level = reached.length
  for (let i = start; i < level; i++) {
    steps.begin(reached.ids[i]!)
    for (let next = steps.next(run); next !== 0; next = steps.next(run)) {
      // Known on this side, it may be one of the other side's first nodes all the same.
      if (other.has(next)) return true
      keep(run, reached, next)
    }
  }
  return false
}

function copyPassing(run: Run, from: NodeList, stop: Stop | null, into: NodeList): void {
  into.clear()
  for (let i = 0; i < from.length; i++) if (passes(run, stop, from.ids[i]!)) into.add(from.ids[i]!)
}

function overlap(one: NodeList, other: NodeList): boolean {
  const [few, many] = one.length <= other.length ? [one, other] : [other, one]
  for (let i = 0; i < few.length; i++) if (many.has(few.ids[i]!)) return true
  return false
}
