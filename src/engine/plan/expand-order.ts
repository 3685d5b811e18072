// Chooses where the expansion of a pattern starts and in which order its relationships are expanded. The caller passes the
// counts of the graph. Ties are broken by the order of the text, so plans are stable.
import type { BoundDerived, BoundExpression, BoundMatch, BoundRelationship } from '../bind/bound.ts'
import { slotsOf } from '../bind/expression-tree.ts'
import { hopsOf } from '../bind/step-predicates.ts'

/** The counts that cost estimates use. */
export interface GraphCounts {
  /** The number of nodes with a label; null: of all nodes. */
  nodes(label: string | null): number
  /** The number of relationships of a type; null: of all relationships. */
  relationships(type: string | null): number
}

/** The counts that explain assumes without a graph: the same for every label and every type. */
export const assumedCounts: GraphCounts = {
  nodes: (label) => (label === null ? 10_000 : 1_000),
  relationships: (type) => (type === null ? 50_000 : 5_000),
}

/** A step of an order: begin at a node, or expand a relationship or a derived one. Numbers are indexes into the match. */
export type WalkStep =
  | { readonly kind: 'start'; readonly node: number }
  | { readonly kind: 'walk'; readonly relationship: number; readonly from: number; readonly to: number }
  | { readonly kind: 'derive'; readonly derived: number; readonly from: number; readonly to: number }

/**
 * Orders the steps of a match. `known` are the indexes of the slots that have a value before the match. `onWork`: called for
 * each step; throws to end the planning.
 */
export type ExpandOrder = (
  match: BoundMatch,
  known: ReadonlySet<number>,
  counts: GraphCounts,
  onWork?: () => void,
) => readonly WalkStep[]

/** The order of the text, from left to right: for runs without optimizer rules. */
export const textOrder: ExpandOrder = (match, known, _counts, onWork) =>
  orderSteps(
    match,
    known,
    (candidates) => candidates[0]!,
    (nodes) => nodes[0]!,
    () => false,
    onWork,
  )

/** Starts at the cheapest node. Then prefers expansions between known nodes, then the smallest fan-out. */
export const costOrder: ExpandOrder = (match, known, counts, onWork) => {
  const hints = nodeHints(match)
  const walkCosts = new Map<number, number>()
  const startCosts = hints.map((hint) => startCost(hint, counts))
  return orderSteps(
    match,
    known,
    (candidates) =>
      least(candidates, (step) => {
        if (step.kind === 'derive') return step.closes ? DERIVED_TEST_COST : DERIVED_FAN_OUT
        const key = (step.relationship * match.nodes.length + step.from) * 2 + (step.closes ? 1 : 0)
        let cost = walkCosts.get(key)
        if (cost === undefined) {
          cost = walkCost(match, step, hints, counts)
          walkCosts.set(key, cost)
        }
        return cost
      }),
    (nodes) => least(nodes, (node) => startCosts[node]!),
    // A path to a node that a key finds is searched from both ends, not to every node within reach.
    (step) =>
      !step.closes &&
      startCosts[step.to]! <= FEW_STARTS &&
      (step.kind === 'derive' || match.relationships[step.relationship]!.selection !== null),
    onWork,
  )
}

/** Starts up to which a path with a selector is searched for each of them. */
const FEW_STARTS = 4

/** The assumed cost of testing one pair of a definition: that of a short search. */
const DERIVED_TEST_COST = 8

/** The assumed number of nodes that a definition reaches from one node. */
const DERIVED_FAN_OUT = 64

type ExpandChoice = Extract<WalkStep, { kind: 'walk' | 'derive' }>
type ExpandCandidate = ExpandChoice & { readonly closes: boolean }
type WalkCandidate = Extract<ExpandCandidate, { kind: 'walk' }>

function orderSteps(
  match: BoundMatch,
  known: ReadonlySet<number>,
  chooseWalk: (candidates: readonly ExpandCandidate[]) => ExpandCandidate,
  chooseStart: (nodes: readonly number[]) => number,
  startsAtEnd: (step: ExpandCandidate) => boolean,
  onWork?: () => void,
): WalkStep[] {
  const reached = match.nodes.map((node) => node.bound || known.has(node.slot.index))
  /** Relationships that are not walked yet, in the order of the text. */
  let left = match.relationships.map((_, i) => i)
  let leftDerived = match.derived.map((_, i) => i)
  const steps: WalkStep[] = []
  for (;;) {
    onWork?.()
    const candidates: readonly ExpandCandidate[] = [
      ...left.flatMap((i) => directions(match.relationships[i]!, i, reached)),
      ...leftDerived.flatMap((i) => derivedDirections(match.derived[i]!, i, reached)),
    ]
    if (candidates.length > 0) {
      const chosen = chooseWalk(candidates)
      if (startsAtEnd(chosen)) {
        steps.push({ kind: 'start', node: chosen.to })
        reached[chosen.to] = true
        continue
      }
      const { closes: _, ...step } = chosen
      steps.push(step)
      if (step.kind === 'walk') left = left.filter((i) => i !== step.relationship)
      else leftDerived = leftDerived.filter((i) => i !== step.derived)
      reached[step.from] = true
      reached[step.to] = true
      continue
    }
    const open = match.nodes.flatMap((_, i) => (reached[i] ? [] : [i]))
    if (open.length === 0) return steps
    const node = chooseStart(open)
    steps.push({ kind: 'start', node })
    reached[node] = true
  }
}

/** The ways to expand a relationship now: from each end that is reached. */
function directions(relationship: BoundRelationship, i: number, reached: readonly boolean[]): ExpandCandidate[] {
  const { left, right, bound } = relationship
  const closes = reached[left]! && reached[right]!
  const forward: WalkCandidate = { kind: 'walk', relationship: i, from: left, to: right, closes }
  const backward: WalkCandidate = { kind: 'walk', relationship: i, from: right, to: left, closes }
  if (bound || closes) return [forward]
  return [...(reached[left] ? [forward] : []), ...(reached[right] ? [backward] : [])]
}

function derivedDirections(
  { source, target }: BoundDerived,
  derived: number,
  reached: readonly boolean[],
): ExpandCandidate[] {
  const closes = reached[source]! && reached[target]!
  if (closes || reached[source]!) return [{ kind: 'derive', derived, from: source, to: target, closes }]
  return reached[target]! ? [{ kind: 'derive', derived, from: target, to: source, closes }] : []
}

interface NodeHint {
  readonly labels: readonly string[]
  readonly byKey: boolean
  readonly byProperty: boolean
}

interface OpenNodeHint extends NodeHint {
  readonly labels: string[]
  byKey: boolean
  byProperty: boolean
}

/** The hints of all nodes, from one pass over the predicates. */
function nodeHints(match: BoundMatch): readonly NodeHint[] {
  const hints = match.nodes.map((): OpenNodeHint => ({ labels: [], byKey: false, byProperty: false }))
  const bySlot = new Map(match.nodes.map(({ slot }, i) => [slot.index, hints[i]!]))
  for (const predicate of match.predicates) {
    if (predicate.kind === 'label-test') {
      const { target, labels } = predicate
      if (target.kind === 'slot' && labels.kind === 'label') bySlot.get(target.slot.index)?.labels.push(labels.name)
      continue
    }
    if (predicate.kind !== 'comparison') continue
    const slots = new Set(
      [predicate.left, predicate.right].flatMap((side) => ('slot' in side ? [side.slot.index] : [])),
    )
    for (const index of slots) {
      const hint = bySlot.get(index)
      const equality = equalityOn(predicate, index)
      if (!hint || !equality) continue
      if (equality.own === 'external_id') hint.byKey = true
      else if (equality.own === null) hint.byProperty = true
      else if (
        equality.own === 'type' &&
        equality.value.kind === 'constant' &&
        typeof equality.value.value === 'string'
      ) {
        hint.labels.push(equality.value.value)
      }
    }
  }
  return hints
}

/** `slot.key = value`, or with the sides exchanged, if the value does not depend on the slot; otherwise null. */
export function equalityOn(
  predicate: BoundExpression,
  slotIndex: number,
): {
  readonly key: string
  readonly own: string | null
  readonly value: BoundExpression
  readonly mayBeUnknown: boolean
} | null {
  if (predicate.kind !== 'comparison' || predicate.operator !== '=') return null
  for (const [side, other] of [
    [predicate.left, predicate.right],
    [predicate.right, predicate.left],
  ] as const) {
    if (side.kind !== 'element-property' || side.slot.index !== slotIndex) continue
    if (slotsOf(other).some((slot) => slot.index === slotIndex)) continue
    return { key: side.key, own: side.own, value: other, mayBeUnknown: side.mayBeUnknown === true }
  }
  return null
}

function startCost(hint: NodeHint, counts: GraphCounts): number {
  if (hint.byKey) return 1
  const carriers = Math.min(counts.nodes(null), ...hint.labels.map((label) => counts.nodes(label)))
  return hint.byProperty && hint.labels.length > 0 ? 1 + carriers / 100 : 2 + carriers
}

function walkCost(match: BoundMatch, step: WalkCandidate, hints: readonly NodeHint[], counts: GraphCounts): number {
  const relationship = match.relationships[step.relationship]!
  if (relationship.bound) return -2
  const from = hints[step.from]!
  const fanOut = hopsOf(relationship).reduce(
    (product, hop, i) => product * Math.max(hopFanOut(hop.types, i === 0 ? from : null, counts), 1e-3),
    1,
  )
  // A search visits each node at most once for each place of the pattern.
  if (relationship.selection) return step.closes ? fanOut : Math.max(counts.relationships(null), fanOut)
  const steps = relationship.range ? Math.min(relationship.range.max ?? 4, 4) : 1
  // Between known nodes, one hop is a membership test. Several hops are a search, but a search with a target.
  if (step.closes) return steps === 1 && relationship.quantified === null ? -1 : fanOut
  return fanOut ** steps
}

/** `from`: the node from which the hop is taken, if anything is known of it. */
function hopFanOut(types: readonly string[], from: NodeHint | null, counts: GraphCounts): number {
  const total =
    types.length === 0 ? counts.relationships(null) : types.reduce((sum, type) => sum + counts.relationships(type), 0)
  const labels = from?.labels ?? []
  const sources = Math.min(counts.nodes(null), ...labels.map((label) => counts.nodes(label)))
  return total / Math.max(1, sources)
}

function least<T>(items: readonly T[], cost: (item: T) => number): T {
  let best: T = items[0] as T
  let bestCost = cost(best)
  for (const item of items.slice(1)) {
    const itemCost = cost(item)
    if (itemCost < bestCost) {
      best = item
      bestCost = itemCost
    }
  }
  return best
}
