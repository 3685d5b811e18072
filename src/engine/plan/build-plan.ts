// Builds the first plan of a bound query, clause by clause: scans and expansions with the filters on top. An ExpandOrder
// chooses where a pattern starts and in which order it is expanded. Every other improvement is a rule in ../optimize.
import { assertNever } from '../../kernel/assert.ts'
import type {
  BoundClause,
  BoundExpression,
  BoundHop,
  BoundMatch,
  BoundPart,
  BoundProjection,
  BoundQuantifiedPath,
  BoundRelationship,
  BoundSelection,
  BoundUnion,
  Slot,
} from '../bind/bound.ts'
import { slotsDeclaredBy, slotsOf } from '../bind/expression-tree.ts'
import { hopsOf } from '../bind/step-predicates.ts'
import type { ExpandOrder, GraphCounts, WalkStep } from './expand-order.ts'
import type { Plan, PlannedHop, RepetitionTest, SelectedStep, WalkDirection } from './operators.ts'

/** The expressions that contain a query. */
export type SubqueryExpression = Extract<BoundExpression, { kind: 'exists' | 'subquery' }>

/** Allocates slots that the planner needs beyond those of the bound query. */
export class PlannerSlots {
  /** The number of slots, those of the query included. */
  size: number
  private readonly first: number
  constructor(size: number) {
    this.size = size
    this.first = size
  }
  /** Whether the planner made the slot: only the plan itself reads it. */
  isExtra(slot: Slot): boolean {
    return slot.index >= this.first
  }
  /** A new slot. */
  take(name: string, kind: Slot['kind']): Slot {
    return { index: this.size++, name, kind, graph: 0 }
  }
}

/** The inputs of planning in addition to the query. */
export interface PlanningContext {
  readonly counts: GraphCounts
  readonly order: ExpandOrder
  readonly extra: PlannerSlots
  /** Called for each part of the work, in all phases of planning. Throws to end it. Absent: planning is not limited. */
  readonly onWork?: () => void
}

/** The first plan of a query. `given` are the slots that the caller fills before each run. */
export function buildPlan(query: BoundPart, given: readonly Slot[], context: PlanningContext): Plan {
  return buildClauses(query.clauses, given, context)
}

/** The plan of some clauses. `argument` are the slots that have a value in the argument row. */
function buildClauses(clauses: readonly BoundClause[], argument: readonly Slot[], context: PlanningContext): Plan {
  let plan: Plan = { op: 'Argument', slots: argument }
  const known = new Map(argument.map((slot) => [slot.index, slot]))
  const addKnown = (slots: readonly Slot[]): void => {
    for (const slot of slots) known.set(slot.index, slot)
  }
  for (const clause of clauses) {
    context.onWork?.()
    switch (clause.kind) {
      case 'match': {
        const { match } = clause
        plan = withCasts(match, plan)
        addKnown(match.casts.map((cast) => cast.to))
        const keys = new Set(known.keys())
        if (match.optional) {
          const inner = buildMatch(match, { op: 'Argument', slots: [...known.values()] }, keys, context)
          plan = { op: 'Optional', input: plan, inner, nulls: slotsDeclaredBy(match) }
        } else plan = buildMatch(match, plan, keys, context)
        addKnown(slotsDeclaredBy(match))
        break
      }
      case 'unwind':
        plan = { op: 'Unwind', input: plan, list: clause.list, slot: clause.slot }
        addKnown([clause.slot])
        break
      case 'projection':
        plan = buildProjection(clause.projection, plan)
        addKnown(clause.projection.columns.map((column) => column.slot))
        break
      case 'union':
        plan = buildUnion(clause.union, [...known.values()], context)
        addKnown(clause.union.columns.map((column) => column.slot))
        break
      case 'call': {
        const inner = buildClauses(clause.part.clauses, [...known.values()], context)
        const columns = clause.part.columns.map((column) => column.slot)
        plan = clause.optional
          ? { op: 'Optional', input: plan, inner, nulls: columns }
          : { op: 'Apply', input: plan, inner }
        addKnown(columns)
        break
      }
      default:
        assertNever(clause)
    }
  }
  return plan
}

function buildUnion(union: BoundUnion, argument: readonly Slot[], context: PlanningContext): Plan {
  const branches = union.parts.map((part): Plan => {
    const items = union.columns.map(({ slot }, i) => ({
      slot,
      expression: { kind: 'slot' as const, slot: part.columns[i]!.slot },
    }))
    return { op: 'Projection', input: buildClauses(part.clauses, argument, context), items }
  })
  const plan: Plan = { op: 'Union', branches }
  return union.distinct ? { op: 'Distinct', input: plan, slots: union.columns.map((column) => column.slot) } : plan
}

/** The plan of a query inside an expression. The outer row is its argument. */
export function buildSubquery(expression: SubqueryExpression, context: PlanningContext): Plan {
  if (expression.kind === 'subquery') return buildClauses(expression.part.clauses, expression.reads, context)
  const { match } = expression
  const known = slotsOf(expression)
  const keys = new Set([...known, ...match.casts.map((cast) => cast.to)].map((slot) => slot.index))
  return buildMatch(match, withCasts(match, { op: 'Argument', slots: known }), keys, context)
}

/** Puts the casts of a match before it: an optional match without a row does not change them. */
function withCasts(match: BoundMatch, input: Plan): Plan {
  return match.casts.length > 0 ? { op: 'Cast', input, casts: match.casts } : input
}

/** The plan of a match on top of `input`. `known` are the indexes of the slots that have a value before. */
function buildMatch(match: BoundMatch, input: Plan, known: ReadonlySet<number>, context: PlanningContext): Plan {
  const steps = context.order(match, known, context.counts, context.onWork)
  const reached = new Set(match.nodes.filter((n) => n.bound || known.has(n.slot.index)).map((n) => n.slot.index))
  const walked: BoundRelationship[] = []
  let plan = input
  for (const step of steps) {
    if (step.kind === 'start') {
      const { slot } = match.nodes[step.node]!
      plan = { op: 'AllNodesScan', input: plan, slot }
      reached.add(slot.index)
    } else if (step.kind === 'derive') {
      plan = buildDerived(match, step, plan, reached, context)
      reached.add(match.nodes[step.to]!.slot.index)
    } else {
      plan = buildWalk(match, step, plan, reached, walked, context.extra)
      walked.push(match.relationships[step.relationship]!)
      reached.add(match.nodes[step.from]!.slot.index)
      reached.add(match.nodes[step.to]!.slot.index)
    }
  }
  for (const { slot, left, quantified } of match.relationships) {
    if (quantified === null || quantified.groups.length === 0) continue
    const { groups, further } = quantified
    const start = match.nodes[left]!.slot
    plan = { op: 'GroupVariables', input: plan, start, relationship: slot, hops: 1 + further.length, groups }
  }
  for (const path of match.paths) {
    // The search fills a path that its predicates read.
    if (match.relationships.some(({ selection }) => selection?.path === path.slot)) continue
    plan = {
      op: 'MakePath',
      input: plan,
      slot: path.slot,
      nodes: path.nodes.map((i) => match.nodes[i]!.slot),
      relationships: path.relationships.map((i) => match.relationships[i]!.slot),
    }
  }
  return match.predicates.length > 0 ? { op: 'Filter', input: plan, predicates: match.predicates } : plan
}

/** A step over a derived relationship: a test if both nodes are known; otherwise each node at the other end once. */
function buildDerived(
  match: BoundMatch,
  step: Extract<WalkStep, { kind: 'derive' }>,
  input: Plan,
  reached: ReadonlySet<number>,
  context: PlanningContext,
): Plan {
  const derived = match.derived[step.derived]!
  const { name, branches, source } = derived
  const from = match.nodes[step.from]!.slot
  const to = match.nodes[step.to]!.slot
  const into = reached.has(to.index)
  if (branches === null) {
    return { op: 'DerivedExpand', input, from, to, into, name, direction: step.from === source ? 'out' : 'in', derived }
  }
  const argument = into && from.index !== to.index ? [from, to] : [from]
  const plans = branches.map(({ clauses }) => buildClauses(clauses, argument, context))
  const inner: Plan = plans.length === 1 ? plans[0]! : { op: 'Union', branches: plans }
  return into
    ? { op: 'SemiApply', input, inner, negated: false }
    : { op: 'Apply', input, inner: { op: 'Distinct', input: inner, slots: [to] } }
}

function buildWalk(
  match: BoundMatch,
  step: Extract<WalkStep, { kind: 'walk' }>,
  input: Plan,
  reached: ReadonlySet<number>,
  walked: readonly BoundRelationship[],
  extra: PlannerSlots,
): Plan {
  const relationship = match.relationships[step.relationship]!
  const from = match.nodes[step.from]!.slot
  const to = match.nodes[step.to]!.slot
  const backwards = step.from !== relationship.left
  const direction = walkDirection(relationship, !backwards)
  const { types, range, slot, selection } = relationship
  const distinctFrom = match.repeatable
    ? []
    : walked.filter((other) => mayBeSame(other, relationship)).map((other) => other.slot)
  if (relationship.bound) {
    const ends = {
      input,
      relationship: slot,
      from: { slot: from, known: reached.has(from.index) },
      to: { slot: to, known: reached.has(to.index) || from.index === to.index },
      direction,
      types,
      distinctFrom,
    }
    return range ? { op: 'ProjectVarLengthEndpoints', ...ends, ...range } : { op: 'ProjectEndpoints', ...ends }
  }
  if (selection) return buildSelection(selection, { input, from, to, backwards, reached, slot, ...match })
  // If the far end is known, expand to a new node and compare. A rule turns the pair into an expansion between known nodes.
  const closes = reached.has(to.index)
  const end = closes ? extra.take(`${to.name}'`, 'node') : to
  const shared = { input, from, to: end, relationship: slot, direction, types, distinctFrom }
  const walk: Plan = range
    ? {
        op: 'VarLengthExpand',
        ...shared,
        ...repeatedHops(relationship, backwards),
        min: range.min,
        max: range.max,
        into: false,
        backwards,
        repeatable: match.repeatable,
      }
    : { op: 'ExpandAll', ...shared }
  return closes ? { op: 'Filter', input: walk, predicates: [sameNode(end, to)] } : walk
}

/** The hops of one repetition in the order of the expansion. */
function repeatedHops(
  step: BoundRelationship,
  backwards: boolean,
): PlannedHop & { readonly further: readonly PlannedHop[]; readonly repetition: RepetitionTest | null } {
  const hops = [step, ...(step.quantified?.further ?? [])].map((hop) => plannedHop(hop, backwards))
  if (backwards) hops.reverse()
  const [first, ...further] = hops
  return { ...first!, further, repetition: repetitionTest(step.quantified, backwards) }
}

function plannedHop({ direction, types, each }: BoundHop, backwards: boolean): PlannedHop {
  const planned = walkDirection({ direction }, !backwards)
  if (each === null) return { direction: planned, types, each }
  const { element, left, right, predicate } = each
  const [near, far] = backwards ? [right, left] : [left, right]
  return { direction: planned, types, each: { element, near, far, predicate } }
}

/** Null if no predicate reads several hops and the text names no node of the repetition twice. */
function repetitionTest(quantified: BoundQuantifiedPath | null, backwards: boolean): RepetitionTest | null {
  if (quantified === null) return null
  const { nodes, relationships, predicates } = quantified
  const repeats = new Set(nodes.map((slot) => slot.index)).size < nodes.length
  if (predicates.length === 0 && !repeats) return null
  if (!backwards) return { nodes, relationships, predicates }
  return { nodes: nodes.toReversed(), relationships: relationships.toReversed(), predicates }
}

/** A path with a selector begins at its left end unless only the right one is known. */
function buildSelection(
  { keep, count, nodes, nodeTests, steps, predicates, path }: BoundSelection,
  at: {
    readonly input: Plan
    readonly from: Slot
    readonly to: Slot
    readonly backwards: boolean
    readonly reached: ReadonlySet<number>
    readonly slot: Slot
    readonly repeatable: boolean
  },
): Plan {
  const plannedSteps = steps.map((step): SelectedStep => {
    const { slot, range, quantified } = step
    return { ...repeatedHops(step, false), slot, range, groups: quantified?.groups ?? [] }
  })
  const { input, from, to, reached, slot: relationship, repeatable, backwards } = at
  const into = reached.has(to.index) || from.index === to.index
  const planned = nodes.map((slot, i) => ({ slot, predicates: nodeTests[i]! }))
  const shared = { input, keep, count, predicates, path, relationship, repeatable, backwards }
  return { op: 'ShortestPath', ...shared, from, to, into, nodes: planned, steps: plannedSteps }
}

function sameNode(left: Slot, right: Slot): Extract<Plan, { op: 'Filter' }>['predicates'][number] {
  return {
    kind: 'comparison',
    operator: '=',
    left: { kind: 'slot', slot: left },
    right: { kind: 'slot', slot: right },
  }
}

function walkDirection(relationship: Pick<BoundRelationship, 'direction'>, forward: boolean): WalkDirection {
  if (relationship.direction === 'both') return 'both'
  return (relationship.direction === 'right') === forward ? 'out' : 'in'
}

/** Whether two relationships of one MATCH can be the same one: only if they share a type. */
function mayBeSame(a: BoundRelationship, b: BoundRelationship): boolean {
  if (a.selection || b.selection || a.isIndependent || b.isIndependent) return false
  if (a.quantified === null && b.quantified === null) return mayShareType(a.types, b.types)
  return hopsOf(a).some((one) => hopsOf(b).some((other) => mayShareType(one.types, other.types)))
}

function mayShareType(a: readonly string[], b: readonly string[]): boolean {
  return a.length === 0 || b.length === 0 || a.some((type) => b.includes(type))
}

function buildProjection(projection: BoundProjection, input: Plan): Plan {
  const { grouping, aggregates, computed, columns, where } = projection
  let plan = input
  if (grouping) plan = { op: 'EagerAggregation', input: plan, grouping, aggregates }
  if (computed.length > 0) plan = { op: 'Projection', input: plan, items: computed }
  const slots = columns.map((column) => column.slot)
  if (projection.distinct) plan = { op: 'Distinct', input: plan, slots }
  if (projection.orderBy.length > 0) {
    // WHERE may read what the projection drops, so it must survive the sort too.
    const survivors = new Map([...slots, ...(where ? slotsOf(where) : [])].map((slot) => [slot.index, slot]))
    plan = {
      op: 'Sort',
      input: plan,
      by: projection.orderBy,
      slots: [...survivors.values()],
      skip: null,
      limit: null,
    }
  }
  if (projection.skip) plan = { op: 'Skip', input: plan, count: projection.skip }
  if (projection.limit) plan = { op: 'Limit', input: plan, count: projection.limit }
  if (where) plan = { op: 'Filter', input: plan, predicates: [where] }
  return plan
}
