// Merges several expansions into one chain if only the ends of the chain matter. Whether two known nodes are connected can be
// tested by a search from both ends; the nodes at the end of a chain can be found with each intermediate node visited once.
import type { BoundExpression, Slot } from '../bind/bound.ts'
import { slotsOf } from '../bind/expression-tree.ts'
import { isSafePredicate } from '../bind/may-fail.ts'
import type { PlanningContext } from '../plan/build-plan.ts'
import { type ChainLink, type Plan, type PlannedHop, type PlanOf, reverseDirection } from '../plan/operators.ts'
import { type Demand, withDemand } from './demand.ts'
import { slotsFilledBy, slotsProvidedBy } from './plan-tree.ts'

/** A chain of one link is a repeated step, which may be part of a longer chain. */
type ChainStep = PlanOf<'ExpandAll' | 'ExpandInto' | 'PruningExpand' | 'BidirectionalExpandInto'>
type ChainableWalk = ChainStep | PlanOf<'Filter'>

/** A predicate with the indexes of the slots that it reads: a long chain needs them for each of its nodes. */
interface PredicateReads {
  readonly predicate: BoundExpression
  readonly reads: readonly number[]
}

/** Steps and predicates that are connected by slots that they fill, and by no other slots. */
interface ConnectedPart {
  readonly filled: ReadonlySet<number>
  readonly steps: readonly ChainStep[]
  readonly predicates: readonly PredicateReads[]
}

/** Walks in one run above which parts of the run are not tried if the whole has no chain. */
const LONG_RUN = 24

/** Puts a chain on top of a plan. */
type ChainFactory = (input: Plan) => Plan

/** Steps between two known nodes → BidirectionalExpandInto, if nothing above reads what lies between. */
export function bidirectionalExpand(plan: Plan, context: PlanningContext): Plan {
  const tried = new WeakSet<Plan>()
  return withDemand(plan, context, (walks, demand) =>
    replaceParts(walks, demand, tried, (part) => bidirectionalChain(part, demand)),
  )
}

/** Steps from one known node → PruningExpand, if operators above read only the node at the other end. */
export function pruningExpand(plan: Plan, context: PlanningContext): Plan {
  const tried = new WeakSet<Plan>()
  return withDemand(plan, context, (walks, demand) =>
    // If one row is enough, expanding row by row finds it earlier.
    demand.firstRowOnly ? walks : replaceParts(walks, demand, tried, (part) => pruningChain(part, demand)),
  )
}

/**
 * Replaces parts of the walks on top of a plan by chains: the parts for which `toChain` returns one. The chains run before
 * the remaining walks.
 */
function replaceParts(
  plan: Plan,
  demand: Demand,
  tried: WeakSet<Plan>,
  toChain: (part: ConnectedPart) => ChainFactory | null,
): Plan {
  if (!demand.duplicateInsensitive || tried.has(plan) || !isChainable(plan)) return plan
  const walks: ChainableWalk[] = []
  let base: Plan = plan
  while (isChainable(base)) {
    walks.push(base)
    base = base.input
  }
  if (walks.filter((walk) => walk.op !== 'Filter').length < 2) return plan
  walks.reverse()
  const replaced = new Map(
    partsOf(walks).flatMap((part) => {
      const chain = toChain(part)
      return chain ? [[part, chain] as const] : []
    }),
  )
  if (replaced.size === 0) {
    // Below, the run is tried again without its first walks. In a long one this would cost the square of its length.
    if (walks.length > LONG_RUN) for (const walk of walks) tried.add(walk)
    return plan
  }
  const remains = (reads: readonly number[]): boolean =>
    ![...replaced.keys()].some((part) => reads.some((slot) => part.filled.has(slot)))

  let built: Plan = base
  const others = walks.flatMap((walk): ChainableWalk[] => {
    if (walk.op !== 'Filter') return remains(slotsTouchedBy(walk)) ? [walk] : []
    const predicates = walk.predicates.filter((predicate) => remains(readsOfPredicate(predicate)))
    return predicates.length > 0 ? [{ ...walk, predicates }] : []
  })
  // A filter that needs none of the walks was below them and stays there.
  const known = slotsProvidedBy(base)
  const isEarly = (walk: ChainableWalk): boolean =>
    walk.op === 'Filter' &&
    walk.predicates.every((predicate) => readsOfPredicate(predicate).every((slot) => known.has(slot)))
  for (const walk of others) if (isEarly(walk)) built = { ...walk, input: built }
  for (const chain of replaced.values()) built = chain(built)
  for (const walk of others) if (!isEarly(walk)) built = { ...walk, input: built }
  return built
}

/** A predicate that may fail ends the walks: if it moved, it would be evaluated for nodes that the text drops first. */
function isChainable(plan: Plan): plan is ChainableWalk {
  if (plan.op === 'ExpandAll' || plan.op === 'ExpandInto') return true
  if (isChain(plan)) return plan.links.length === 1 && hopPredicates(plan.links[0]!).every(isSafePredicate)
  return plan.op === 'Filter' && plan.predicates.every(isSafePredicate)
}

function partsOf(walks: readonly ChainableWalk[]): readonly ConnectedPart[] {
  const filled = new Set<number>()
  for (const walk of walks) for (const slot of slotsFilledBy(walk)) filled.add(slot.index)
  const partOf = new Map<number, MutablePart>()
  for (const walk of walks) {
    if (walk.op !== 'Filter') {
      partContaining(slotsTouchedBy(walk), filled, partOf)?.steps.push(walk)
      continue
    }
    for (const predicate of walk.predicates) {
      const reads = readsOfPredicate(predicate)
      partContaining(reads, filled, partOf)?.predicates.push({ predicate, reads })
    }
  }
  return [...new Set(partOf.values())]
}

interface MutablePart extends ConnectedPart {
  readonly filled: Set<number>
  readonly steps: ChainStep[]
  readonly predicates: PredicateReads[]
}

/** The part of these slots. Parts that share one of the slots are merged. Null if the walks fill none of the slots. */
function partContaining(
  slots: readonly number[],
  filled: ReadonlySet<number>,
  partOf: Map<number, MutablePart>,
): MutablePart | null {
  let part: MutablePart | null = null
  for (const slot of slots) {
    const other = partOf.get(slot)
    if (!other || other === part) continue
    if (!part) {
      part = other
      continue
    }
    for (const moved of other.filled) {
      part.filled.add(moved)
      partOf.set(moved, part)
    }
    part.steps.push(...other.steps)
    part.predicates.push(...other.predicates)
  }
  for (const slot of slots) {
    if (!filled.has(slot)) continue
    part ??= { filled: new Set(), steps: [], predicates: [] }
    part.filled.add(slot)
    partOf.set(slot, part)
  }
  return part
}

function slotsTouchedBy(step: ChainStep): readonly number[] {
  const touched = [step.from.index, step.to.index]
  if (isChain(step)) return [...touched, ...hopPredicates(step.links[0]!).flatMap(readsOfPredicate)]
  touched.push(step.relationship.index)
  for (const slot of step.distinctFrom) touched.push(slot.index)
  return touched
}

function readsOfPredicate(predicate: BoundExpression): readonly number[] {
  return slotsOf(predicate).map((slot) => slot.index)
}

function bidirectionalChain(part: ConnectedPart, demand: Demand): ChainFactory | null {
  if (part.steps.length < 2 || [...part.filled].some((slot) => demand.reads.has(slot))) return null
  const ends = knownEnds(part)
  if (ends.length !== 2) return null
  const [from, to] = ends[0]!.index <= ends[1]!.index ? [ends[0]!, ends[1]!] : [ends[1]!, ends[0]!]
  const path = pathFrom(from, part)
  if (!path || path.end.index !== to.index || path.links.length !== part.steps.length) return null
  const { links, intermediates } = path
  return (input) => ({ op: 'BidirectionalExpandInto', input, from, to, links, intermediates })
}

function pruningChain(part: ConnectedPart, demand: Demand): ChainFactory | null {
  if (part.steps.length < 2) return null
  const ends = knownEnds(part)
  if (ends.length !== 1) return null
  const from = ends[0]!
  const path = pathFrom(from, part)
  if (!path || path.links.length !== part.steps.length) return null
  const to = path.end
  // Operators above must read the end, and no other slot of the part.
  if (!demand.reads.has(to.index)) return null
  if ([...part.filled].some((slot) => slot !== to.index && demand.reads.has(slot))) return null
  const { links, intermediates } = path
  const predicates = predicatesReading(to, part)
  return (input) => {
    const expand: Plan = { op: 'PruningExpand', input, from, to, links, intermediates }
    return predicates.length > 0 ? { op: 'Filter', input: expand, predicates } : expand
  }
}

/** The ends of steps that are known before the part. */
function knownEnds({ steps, filled }: ConnectedPart): Slot[] {
  return steps.flatMap((step) => [step.from, step.to]).filter((slot) => !filled.has(slot.index))
}

interface ChainPath {
  readonly end: Slot
  readonly links: readonly ChainLink[]
  readonly intermediates: PlanOf<'PruningExpand'>['intermediates']
}

/** The steps of a part as one path from a known node. Null if they are no path, or if more than its nodes matters. */
function pathFrom(from: Slot, part: ConnectedPart): ChainPath | null {
  if (!part.steps.every((step) => isPlainStep(step, part))) return null
  if (!part.predicates.every(({ reads }) => readsOneNode(reads, part))) return null
  const left = [...part.steps]
  const links: ChainLink[] = []
  const nodes: { slot: Slot; predicates: readonly BoundExpression[] }[] = []
  const visited = new Set([from.index])
  let at = from
  for (;;) {
    const next = left.filter((step) => step.from.index === at.index || step.to.index === at.index)
    if (next.length > 1) return null
    const step = next[0]
    if (!step) return { end: at, links, intermediates: nodes.slice(0, -1) }
    left.splice(left.indexOf(step), 1)
    const forward = step.from.index === at.index
    links.push(linkOf(step, forward))
    at = forward ? step.to : step.from
    // A node that the path visits twice is a condition, not only a node on the way.
    if (at.graph !== from.graph || visited.has(at.index)) return null
    visited.add(at.index)
    nodes.push({ slot: at, predicates: predicatesReading(at, part) })
  }
}

function predicatesReading({ index }: Slot, part: ConnectedPart): BoundExpression[] {
  return part.predicates.flatMap(({ predicate, reads }) => (reads.includes(index) ? [predicate] : []))
}

/** Nothing reads the relationship, and no other relationship of the pattern must differ from it. */
function isPlainStep(step: ChainStep, part: ConnectedPart): boolean {
  if (isChain(step)) {
    const reads = hopPredicates(step.links[0]!).flatMap(readsOfPredicate)
    return !reads.some((slot) => part.filled.has(slot))
  }
  return step.distinctFrom.length === 0
}

function readsOneNode(reads: readonly number[], part: ConnectedPart): boolean {
  const inside = reads.filter((slot) => part.filled.has(slot))
  return inside.length === 1 && part.steps.some((step) => step.from.index === inside[0] || step.to.index === inside[0])
}

function linkOf(step: ChainStep, forward: boolean): ChainLink {
  if (!isChain(step)) {
    const direction = forward ? step.direction : reverseDirection(step.direction)
    return { direction, types: step.types, min: 1, max: 1, each: null, further: [] }
  }
  const link = step.links[0]!
  if (forward) return link
  const { min, max, further, direction, types, each } = link
  const [first, ...others] = [{ direction, types, each }, ...further].reverse().map(reverseHop)
  return { ...first!, further: others, min, max }
}

function reverseHop({ direction, types, each }: PlannedHop): PlannedHop {
  const reversed = each && { ...each, near: each.far, far: each.near }
  return { direction: reverseDirection(direction), types, each: reversed }
}

function isChain(plan: Plan): plan is PlanOf<'PruningExpand' | 'BidirectionalExpandInto'> {
  return plan.op === 'PruningExpand' || plan.op === 'BidirectionalExpandInto'
}

function hopPredicates({ each, further }: ChainLink): readonly BoundExpression[] {
  return [each, ...further.map((hop) => hop.each)].flatMap((test) => (test ? [test.predicate] : []))
}
