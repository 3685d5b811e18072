// Walks of which only the ends matter become chains: whether two known nodes hang together is a question that can be met
// in the middle, and what hangs at the end of a chain needs each node on the way only once.
import type { BoundExpression, Slot } from '../bind/bound.ts'
import { slotsOf } from '../bind/expression-tree.ts'
import { isSafePredicate } from '../bind/may-fail.ts'
import type { BidirectionalExpandIntoPlan, ChainLink, Plan, WalkDirection } from '../plan/operators.ts'
import { type Demand, withDemand } from './demand.ts'
import { slotsFilledBy, slotsProvidedBy } from './plan-tree.ts'

type ChainStep = Extract<Plan, { op: 'expand' | 'expand-into' | 'reach' }>
type ChainableWalk = ChainStep | Extract<Plan, { op: 'filter' }>

/** Steps and predicates that hang together by slots that they fill in, and by no others. */
interface ConnectedPart {
  readonly filled: ReadonlySet<number>
  readonly steps: readonly ChainStep[]
  readonly predicates: readonly BoundExpression[]
}

type ChainFactory = (input: Plan) => Plan

/** Two known ends, nothing between them read above. */
export function bidirectionalExpand(plan: Plan): Plan {
  return withDemand(plan, (walks, demand) => replaceParts(walks, demand, (part) => bidirectionalChain(part, demand)))
}

/** One known end, and of the rest only the other end read above. */
export function pruningExpand(plan: Plan): Plan {
  return withDemand(plan, (walks, demand) => {
    // Who may stop at the first row is better served row by row.
    return demand.firstRowOnly ? walks : replaceParts(walks, demand, (part) => pruningChain(part, demand))
  })
}

/** The walks on top of a plan, part by part; those for which `chained` has an answer are replaced, and come first. */
function replaceParts(plan: Plan, demand: Demand, chained: (part: ConnectedPart) => ChainFactory | null): Plan {
  if (!demand.duplicateInsensitive || !isWalk(plan)) return plan
  const walks: ChainableWalk[] = []
  let base: Plan = plan
  while (isWalk(base)) {
    walks.push(base)
    base = base.input
  }
  if (walks.filter((walk) => walk.op !== 'filter').length < 2) return plan
  walks.reverse()
  const parts = partsOf(walks)
  const replaced = new Map(
    parts.flatMap((part) => {
      const chain = chained(part)
      return chain ? [[part, chain] as const] : []
    }),
  )
  if (replaced.size === 0) return plan
  const stays = (reads: readonly number[]): boolean =>
    ![...replaced.keys()].some((part) => reads.some((slot) => part.filled.has(slot)))

  let built: Plan = base
  const others = walks.flatMap((walk): ChainableWalk[] => {
    if (walk.op !== 'filter') return stays(slotsTouchedBy(walk)) ? [walk] : []
    const predicates = walk.predicates.filter((predicate) => stays(readsOfPredicate(predicate)))
    return predicates.length > 0 ? [{ ...walk, predicates }] : []
  })
  // What needs nothing of the walks at all was below them and stays there.
  const known = slotsProvidedBy(base)
  const isEarly = (walk: ChainableWalk): boolean =>
    walk.op === 'filter' &&
    walk.predicates.every((predicate) => readsOfPredicate(predicate).every((slot) => known.has(slot)))
  for (const walk of others) if (isEarly(walk)) built = { ...walk, input: built }
  for (const chain of replaced.values()) built = chain(built)
  for (const walk of others) if (!isEarly(walk)) built = { ...walk, input: built }
  return built
}

/** What may fault is not moved, so it ends the walks: it would look at other nodes than the text has it look at. */
function isWalk(plan: Plan): plan is ChainableWalk {
  switch (plan.op) {
    case 'expand':
    case 'expand-into':
      return true
    case 'reach':
      return !plan.each || isSafePredicate(plan.each.predicate)
    case 'filter':
      return plan.predicates.every(isSafePredicate)
    default:
      return false
  }
}

function partsOf(walks: readonly ChainableWalk[]): readonly ConnectedPart[] {
  const filled = new Set<number>()
  for (const walk of walks) for (const slot of slotsFilledBy(walk)) filled.add(slot.index)
  const partOf = new Map<number, MutablePart>()
  for (const walk of walks) {
    if (walk.op !== 'filter') partContaining(slotsTouchedBy(walk), filled, partOf)?.steps.push(walk)
    else for (const one of walk.predicates) partContaining(readsOfPredicate(one), filled, partOf)?.predicates.push(one)
  }
  return [...new Set(partOf.values())]
}

interface MutablePart extends ConnectedPart {
  readonly filled: Set<number>
  readonly steps: ChainStep[]
  readonly predicates: BoundExpression[]
}

/** The part of these slots; parts that share one of them become one. Null when the walks fill in none of them. */
function partContaining(
  slots: readonly number[],
  filled: ReadonlySet<number>,
  partOf: Map<number, MutablePart>,
): MutablePart | null {
  let part: MutablePart | null = null
  for (const slot of slots) {
    const known = partOf.get(slot)
    if (!known || known === part) continue
    if (!part) {
      part = known
      continue
    }
    for (const other of known.filled) {
      part.filled.add(other)
      partOf.set(other, part)
    }
    part.steps.push(...known.steps)
    part.predicates.push(...known.predicates)
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
  if (step.op === 'reach') return step.each ? [...touched, ...readsOfPredicate(step.each.predicate)] : touched
  touched.push(step.relationship.index)
  for (const slot of step.differs) touched.push(slot.index)
  return touched
}

function readsOfPredicate(predicate: BoundExpression): readonly number[] {
  return slotsOf(predicate).map((slot) => slot.index)
}

function bidirectionalChain(part: ConnectedPart, demand: Demand): ChainFactory | null {
  if (part.steps.length < 2 || [...part.filled].some((slot) => demand.reads.has(slot))) return null
  const ends = part.steps.flatMap((step) => [step.from, step.to]).filter((slot) => !part.filled.has(slot.index))
  if (ends.length !== 2) return null
  const [from, to] = ends[0]!.index <= ends[1]!.index ? [ends[0]!, ends[1]!] : [ends[1]!, ends[0]!]
  const path = pathFrom(from, part)
  if (!path || path.end.index !== to.index || path.links.length !== part.steps.length) return null
  const { links, stops } = path
  return (input) => ({ op: 'connect', input, from, to, links, stops })
}

function pruningChain(part: ConnectedPart, demand: Demand): ChainFactory | null {
  if (part.steps.length < 2) return null
  const known = part.steps.flatMap((step) => [step.from, step.to]).filter((slot) => !part.filled.has(slot.index))
  if (known.length !== 1) return null
  const from = known[0]!
  const path = pathFrom(from, part)
  if (!path || path.links.length !== part.steps.length) return null
  const to = path.end
  // The end must be what is asked for, and nothing else may be.
  if (!demand.reads.has(to.index)) return null
  if ([...part.filled].some((slot) => slot !== to.index && demand.reads.has(slot))) return null
  const { links, stops } = path
  const onEnd = part.predicates.filter((predicate) => readsOfPredicate(predicate).includes(to.index))
  return (input) => {
    const spread: Plan = { op: 'spread', input, from, to, links, stops }
    return onEnd.length > 0 ? { op: 'filter', input: spread, predicates: onEnd } : spread
  }
}

interface ChainPath {
  readonly end: Slot
  readonly links: readonly ChainLink[]
  readonly stops: BidirectionalExpandIntoPlan['stops']
}

/** The steps of a part as one path from a known node; null where they are none, or where more than the nodes matters. */
function pathFrom(from: Slot, part: ConnectedPart): ChainPath | null {
  if (!part.steps.every((step) => isPlainStep(step, part)) || !part.predicates.every((p) => readsOneNode(p, part)))
    return null
  const left = [...part.steps]
  const links: ChainLink[] = []
  const stops: { slot: Slot; predicates: readonly BoundExpression[] }[] = []
  const places = new Set([from.index])
  let at = from
  for (;;) {
    const found = left.filter((step) => step.from.index === at.index || step.to.index === at.index)
    if (found.length > 1) return null
    const step = found[0]
    if (!step) return { end: at, links, stops: stops.slice(0, -1) }
    left.splice(left.indexOf(step), 1)
    const forward = step.from.index === at.index
    links.push(linkOf(step, forward))
    at = forward ? step.to : step.from
    // A node that the path comes to twice is more than a place on the way.
    if (at.graph !== from.graph || places.has(at.index)) return null
    places.add(at.index)
    const { index } = at
    stops.push({
      slot: at,
      predicates: part.predicates.filter((predicate) => readsOfPredicate(predicate).includes(index)),
    })
  }
}

/** Nobody looks at the relationship, and no other of the pattern must differ from it. */
function isPlainStep(step: ChainStep, part: ConnectedPart): boolean {
  if (step.op === 'reach')
    return !step.each || !slotsOf(step.each.predicate).some((slot) => part.filled.has(slot.index))
  return step.differs.length === 0
}

function readsOneNode(predicate: BoundExpression, part: ConnectedPart): boolean {
  const inside = readsOfPredicate(predicate).filter((slot) => part.filled.has(slot))
  return inside.length === 1 && part.steps.some((step) => step.from.index === inside[0] || step.to.index === inside[0])
}

function linkOf(step: ChainStep, forward: boolean): ChainLink {
  const { types } = step
  const direction = forward ? step.direction : opposite(step.direction)
  return step.op === 'reach'
    ? { direction, types, min: step.min, max: step.max, each: step.each }
    : { direction, types, min: 1, max: 1, each: null }
}

function opposite(direction: WalkDirection): WalkDirection {
  return direction === 'out' ? 'in' : direction === 'in' ? 'out' : 'both'
}
