// The shortest paths of a pattern between two nodes, by their length. A breadth-first search over pairs of a node and a
// state of the pattern begins at one end and gives each pair its distance from there. It stops as soon as the other end is
// reached. The paths are then enumerated from that end, depth-first, only when they are asked for, and only over pairs
// whose distance fits into the length that is left. So the pairs with their distances stand for all paths.
//
// The distances are those of walks in a pattern that is relaxed where its counts are large, so they are lower bounds: the
// enumeration counts repetitions exactly, uses no relationship twice, and tests the predicates that read several hops.
import type { NodeId, RelationshipId } from '../store.ts'
import type { CompiledTest } from './boolean-logic.ts'
import type { ExecutionContext } from './execution-context.ts'
import { type CompiledHop, NeighbourCursor, reverseHop, satisfiesHop } from './neighbour-cursor.ts'
import { type CompiledGroup, fillGroups, PathBuilder } from './path-values.ts'
import { type CompiledRepetition, holdsRepetition } from './repetition.ts'

/** A node of the path, and the predicates that read only this node. */
interface SearchedNode {
  readonly slot: number
  readonly tests: readonly CompiledTest[]
}

/** A step of the path, from left to right: one hop, or a repetition of hops. */
interface SearchedStep {
  readonly slot: number
  /** Whether the slot holds a list of relationships. */
  readonly isList: boolean
  readonly min: number
  readonly max: number | null
  readonly hops: readonly CompiledHop[]
  readonly repetition: CompiledRepetition | null
  readonly groups: readonly CompiledGroup[]
}

/** A path pattern and its selector. */
export interface PathSearchSpec {
  readonly graph: number
  readonly from: number
  readonly to: number
  /** Whether `to` is known before. */
  readonly into: boolean
  /** `from` is the right end of the pattern. */
  readonly backwards: boolean
  readonly repeatable: boolean
  readonly keep: 'shortest' | 'groups'
  readonly count: number
  readonly relationship: number
  readonly path: number | null
  /** One more than steps. */
  readonly nodes: readonly SearchedNode[]
  readonly steps: readonly SearchedStep[]
  readonly predicates: readonly CompiledTest[]
}

/** Up to this maximum the states of a step count its repetitions; a larger minimum is relaxed to it. */
const COUNTED_MAX = 16

/** A step in the order of the enumeration, with its states: `first + count * hops + place`. */
interface SearchStage {
  readonly step: SearchedStep
  /** In the order of the enumeration. */
  readonly hops: readonly CompiledHop[]
  readonly repetition: CompiledRepetition | null
  readonly max: number
  readonly first: number
  /** The largest count of a state. */
  readonly counts: number
  /** Whether the states count exactly; otherwise the last count stands for all larger ones. */
  readonly isCounted: boolean
  /** The tests of the node at which the stage begins. */
  readonly tests: SearchedNode
  /** Index of the step in the text. */
  readonly index: number
}

/** The hops that lead to a state, taken against the enumeration, and the states from which they come. */
interface ArrivingHop {
  readonly hop: CompiledHop
  readonly states: readonly number[]
}

/** A place at which the enumeration is: before hop `place` of the repetition after `count` complete ones. */
interface SearchPlace {
  readonly stage: number
  readonly count: number
  readonly place: number
}

/** Searches the paths from one node at a time. `next` returns them one by one, in the slots of the frame. */
export class PathSearch {
  private readonly spec: PathSearchSpec
  private readonly stages: readonly SearchStage[]
  private readonly states: number
  private readonly lengthMax: number
  private readonly arriving: readonly (readonly ArrivingHop[])[]
  /** By state: the index of the stage that begins there, -1 for other states. */
  private readonly stageBeginningAt: number[]
  private readonly searchCursors: readonly (readonly NeighbourCursor[])[]

  /** Distances of pairs by `node * (states + 1) + state`. */
  private readonly distances = new Map<number, number>()
  private frontier: number[] = []
  private level = 0
  private root: NodeId = 0
  /** Nodes from which a path may begin, in the order in which the search has found them. */
  private readonly begins: NodeId[] = []

  private end: NodeId = 0
  private length = -1
  private kept = 0
  private groups = 0
  private hasPathOfLength = false
  /** Whether a longer path may exist. */
  private isCut = false
  private depth = -1
  private readonly nodes: NodeId[] = []
  private readonly trail: RelationshipId[] = []
  private readonly choices: (readonly SearchPlace[])[] = []
  private readonly chosen: number[] = []
  /** By depth: the place from which the hop to it was taken, and the place after it. */
  private readonly taken: SearchPlace[] = []
  /** By depth, and by the first state of a stage plus the place of the hop. */
  private readonly cursors: (NeighbourCursor | undefined)[][] = []

  constructor(spec: PathSearchSpec) {
    this.spec = spec
    // The enumeration begins at the end that is found, and the search at the other one.
    const order = spec.steps.map((_, i) => (spec.backwards ? i : spec.steps.length - 1 - i))
    let first = 0
    this.stages = order.map((index): SearchStage => {
      const step = spec.steps[index]!
      const isCounted = step.max !== null && step.max <= COUNTED_MAX
      const counts = isCounted ? step.max! : Math.min(step.min, COUNTED_MAX)
      const stage: SearchStage = {
        step,
        hops: spec.backwards ? step.hops : step.hops.map(reverseHop).reverse(),
        repetition: spec.backwards ? step.repetition : reversedRepetition(step.repetition),
        max: step.max ?? Number.POSITIVE_INFINITY,
        first,
        counts,
        isCounted,
        tests: spec.nodes[spec.backwards ? index : index + 1]!,
        index,
      }
      first += (counts + 1) * step.hops.length
      return stage
    })
    this.states = first
    this.lengthMax = this.stages.reduce((sum, stage) => sum + stage.max * stage.hops.length, 0)
    const stageAt = new Map(this.stages.map((stage, i) => [stage.first, i]))
    this.stageBeginningAt = Array.from({ length: first + 1 }, (_, state) => stageAt.get(state) ?? -1)
    this.stageBeginningAt[first] = this.stages.length
    this.arriving = Array.from({ length: first + 1 }, (_, state) => this.hopsTo(state))
    this.searchCursors = this.arriving.map((hops) => hops.map(({ hop }) => new NeighbourCursor(hop.traversal)))
  }

  // ---------------------------------------------------------------- states

  private stateOf({ stage, count, place }: SearchPlace): number {
    const { first, counts, hops, isCounted } = this.stages[stage]!
    return first + (isCounted ? count : Math.min(count, counts)) * hops.length + place
  }

  private stageOf(state: number): SearchStage {
    let at = this.stages.length - 1
    while (this.stages[at]!.first > state) at -= 1
    return this.stages[at]!
  }

  private hopsTo(state: number): readonly ArrivingHop[] {
    if (state === this.states) return []
    const { first, hops, counts, isCounted } = this.stageOf(state)
    const size = hops.length
    const count = Math.floor((state - first) / size)
    const place = (state - first) % size
    if (place > 0) return [{ hop: reverseHop(hops[place - 1]!), states: [state - 1] }]
    const before: number[] = []
    if (count > 0) before.push(count - 1)
    if (!isCounted && count === counts) before.push(count)
    if (before.length === 0) return []
    return [{ hop: reverseHop(hops[size - 1]!), states: before.map((c) => first + c * size + size - 1) }]
  }

  /** Whether a state is one at which its stage may end. */
  private exitStates({ first, hops, counts, isCounted, step }: SearchStage): readonly number[] {
    const size = hops.length
    if (!isCounted) return [first + counts * size]
    const exits: number[] = []
    for (let count = step.min; count <= counts; count++) exits.push(first + count * size)
    return exits
  }

  // ---------------------------------------------------------------- search

  /** Begins the search at a node. */
  start(run: ExecutionContext, root: NodeId): void {
    this.distances.clear()
    this.level = 0
    this.root = root
    this.begins.length = 0
    this.depth = -1
    this.end = 0
    const found: number[] = []
    this.reach(run, root, this.states, found)
    this.frontier = found
  }

  private key(node: NodeId, state: number): number {
    return node * (this.states + 1) + state
  }

  private reach(run: ExecutionContext, node: NodeId, state: number, found: number[]): void {
    const key = this.key(node, state)
    if (this.distances.has(key)) return
    run.budget.retainRow()
    this.distances.set(key, this.level)
    found.push(key)
    if (state === 0) this.begins.push(node)
    const at = this.stageBeginningAt[state]!
    // Where a stage begins, the one before it may end.
    if (at <= 0) return
    if (at < this.stages.length && !this.passes(run, this.stages[at]!.tests, node)) return
    for (const exit of this.exitStates(this.stages[at - 1]!)) this.reach(run, node, exit, found)
  }

  private passes(run: ExecutionContext, { slot, tests }: SearchedNode, node: NodeId): boolean {
    if (tests.length === 0) return true
    run.frame[slot] = node
    return tests.every((test) => test(run))
  }

  /** Expands one level. */
  private expandLevel(run: ExecutionContext): void {
    const open = this.frontier
    const found: number[] = []
    this.level += 1
    const size = this.states + 1
    for (const key of open) {
      const state = key % size
      const node = (key - state) / size
      const hops = this.arriving[state]!
      for (let i = 0; i < hops.length; i++) {
        const { hop, states } = hops[i]!
        const cursor = this.searchCursors[state]![i]!
        cursor.start(node)
        while (cursor.advance(run)) {
          const { neighbour, relationship } = cursor
          let isNew = false
          for (const before of states) isNew ||= !this.distances.has(this.key(neighbour, before))
          if (!isNew) continue
          if (hop.predicate && !satisfiesHop(run, hop.predicate, node, relationship, neighbour)) continue
          for (const before of states) this.reach(run, neighbour, before, found)
        }
      }
    }
    this.frontier = found
  }

  private get isExhausted(): boolean {
    return this.frontier.length === 0 || this.level >= this.lengthMax
  }

  /** All nodes that a path may reach, a superset of those that one does. */
  reachable(run: ExecutionContext): readonly NodeId[] {
    while (!this.isExhausted) this.expandLevel(run)
    return this.begins
  }

  // ---------------------------------------------------------------- enumeration

  /** Begins the enumeration of the paths to a node. */
  enumerate(end: NodeId): void {
    this.end = end
    this.length = -1
    this.kept = 0
    this.groups = 0
    this.depth = -1
  }

  /** Fills the slots with the next path to the node; false if the selector keeps no further one. */
  next(run: ExecutionContext): boolean {
    const { keep, count } = this.spec
    if (this.end === 0) return false
    if (this.length < 0 && !this.findLength(run)) return false
    for (;;) {
      while (this.depth >= 0) {
        if (!this.advance(run)) continue
        if (!this.emit(run)) continue
        this.hasPathOfLength = true
        this.kept += 1
        if (keep === 'shortest' && this.kept === count) this.end = 0
        return true
      }
      if (this.hasPathOfLength) this.groups += 1
      const isDone = (keep === 'groups' && this.groups === count) || !this.isCut || this.length >= this.lengthMax
      if (isDone) {
        this.end = 0
        return false
      }
      this.beginLength(run, this.length + 1)
    }
  }

  /** Searches until the end is reached. */
  private findLength(run: ExecutionContext): boolean {
    const key = this.key(this.end, 0)
    while (!this.distances.has(key)) {
      if (this.isExhausted) return false
      this.expandLevel(run)
    }
    this.beginLength(run, this.distances.get(key)!)
    return true
  }

  private beginLength(run: ExecutionContext, length: number): void {
    while (this.level < length && !this.isExhausted) this.expandLevel(run)
    this.length = length
    this.hasPathOfLength = false
    this.isCut = false
    this.depth = 0
    this.nodes[0] = this.end
    this.arrive(run, { stage: 0, count: 0, place: 0 })
  }

  /** Lists the hops that may follow at the current depth; a place after the last stage is the end of a path. */
  private arrive(run: ExecutionContext, place: SearchPlace): void {
    this.chosen[this.depth] = -1
    this.choices[this.depth] = place.place > 0 ? [place] : this.placesFrom(run, place, [])
  }

  private placesFrom(run: ExecutionContext, place: SearchPlace, places: SearchPlace[]): SearchPlace[] {
    const stage = this.stages[place.stage]
    if (stage === undefined) {
      places.push(place)
      return places
    }
    if (place.count < stage.max) places.push(place)
    if (place.count < stage.step.min) return places
    const next = this.stages[place.stage + 1]
    if (next && !this.passes(run, next.tests, this.nodes[this.depth]!)) return places
    return this.placesFrom(run, { stage: place.stage + 1, count: 0, place: 0 }, places)
  }

  /** Takes the next hop, or goes back. Returns true at the end of a path of the wanted length. */
  private advance(run: ExecutionContext): boolean {
    const { depth, length } = this
    run.budget.chargeSteps(1)
    if (this.chosen[depth]! >= 0) {
      const place = this.choices[depth]![this.chosen[depth]!]!
      if (this.follow(run, place)) return false
    }
    this.chosen[depth]! += 1
    const place = this.choices[depth]![this.chosen[depth]!]
    if (place === undefined) {
      this.depth -= 1
      return false
    }
    const isEnd = place.stage === this.stages.length
    if (isEnd) return depth === length && this.nodes[depth] === this.root
    if (depth === length) this.isCut = true
    else this.cursorFor(depth, place).start(this.nodes[depth]!)
    return false
  }

  private follow(run: ExecutionContext, at: SearchPlace): boolean {
    const { depth, length, spec } = this
    if (at.stage === this.stages.length || depth === length) return false
    const stage = this.stages[at.stage]!
    const size = stage.hops.length
    const { predicate } = stage.hops[at.place]!
    const cursor = this.cursorFor(depth, at)
    const isLast = at.place === size - 1
    const after: SearchPlace = {
      stage: at.stage,
      count: isLast ? at.count + 1 : at.count,
      place: isLast ? 0 : at.place + 1,
    }
    const state = this.stateOf(after)
    while (cursor.advance(run)) {
      const { neighbour, relationship } = cursor
      const distance = this.distances.get(this.key(neighbour, state))
      if (distance === undefined || distance > length - depth - 1) {
        if (distance !== undefined || !this.isExhausted) this.isCut = true
        continue
      }
      if (!spec.repeatable) {
        run.budget.chargeSteps(depth >> 4)
        if (this.inTrail(relationship)) continue
      }
      if (predicate && !satisfiesHop(run, predicate, this.nodes[depth]!, relationship, neighbour)) continue
      this.trail[depth] = relationship
      this.taken[depth] = at
      this.nodes[depth + 1] = neighbour
      if (isLast && stage.repetition) {
        if (!holdsRepetition(run, stage.repetition, this.nodes, this.trail, depth + 1 - size)) continue
      }
      this.depth += 1
      this.arrive(run, after)
      return true
    }
    return false
  }

  private inTrail(relationship: RelationshipId): boolean {
    for (let i = 0; i < this.depth; i++) if (this.trail[i] === relationship) return true
    return false
  }

  /** The cursor of a hop at a depth. Two places of one depth may take the same hop, one after the other. */
  private cursorFor(depth: number, { stage, place }: SearchPlace): NeighbourCursor {
    const { first, hops } = this.stages[stage]!
    this.cursors[depth] ??= []
    const cursors = this.cursors[depth]!
    cursors[first + place] ??= new NeighbourCursor(hops[place]!.traversal)
    return cursors[first + place]!
  }

  // ---------------------------------------------------------------- paths

  /** Fills the slots with the current path. False if a predicate on the path is not true. */
  private emit(run: ExecutionContext): boolean {
    const { spec, depth, trail, nodes, stages } = this
    const { frame } = run
    run.budget.chargeSteps(1 + (depth >> 3))
    let at = 0
    stages.forEach((stage, i) => {
      const begin = at
      while (at < depth && this.taken[at]!.stage === i) at += 1
      const part = trail.slice(begin, at)
      if (!spec.backwards) part.reverse()
      const left = spec.backwards ? begin : at
      const right = spec.backwards ? at : begin
      frame[spec.nodes[stage.index]!.slot] = nodes[left]
      frame[spec.nodes[stage.index + 1]!.slot] = nodes[right]
      frame[stage.step.slot] = stage.step.isList ? part : part[0]
      fillGroups(run, spec.graph, stage.step.groups, nodes[left]!, part, stage.hops.length)
    })
    const whole = trail.slice(0, depth)
    if (!spec.backwards) whole.reverse()
    frame[spec.relationship] = whole
    if (spec.path !== null) {
      const path = new PathBuilder(run, spec.graph, nodes[spec.backwards ? 0 : depth]!)
      path.append(whole)
      frame[spec.path] = path.value()
    }
    return spec.predicates.every((test) => test(run))
  }
}

function reversedRepetition(repetition: CompiledRepetition | null): CompiledRepetition | null {
  if (repetition === null) return null
  const { nodes, relationships, tests } = repetition
  return { nodes: nodes.toReversed(), relationships: relationships.toReversed(), tests }
}
