// Bound query + known slots → first plan, clause by clause: plain scans and expands with the filters on top.
// Where a walk starts and how it goes is asked of an OrderExpands; everything cleverer is a rule in ../optimize.
import { assertNever } from '../../kernel/assert.ts'
import type {
  BoundClause,
  BoundExpression,
  BoundMatch,
  BoundPart,
  BoundProjection,
  BoundRelationship,
  BoundUnion,
  Slot,
} from '../bind/bound.ts'
import { slotsDeclaredBy, slotsOf } from '../bind/expression-tree.ts'
import type { ExpandOrder, GraphCounts, WalkStep } from './expand-order.ts'
import type { Plan, WalkDirection } from './operators.ts'

/** The expressions that hold a query of their own. */
export type SubqueryExpression = Extract<BoundExpression, { kind: 'exists' | 'subquery' }>

/** Hands out slots beyond the bound query's own: for planning only. */
export class PlannerSlots {
  size: number
  private readonly first: number
  constructor(size: number) {
    this.size = size
    this.first = size
  }
  /** Nothing but the plan itself reads such a slot. */
  isExtra(slot: Slot): boolean {
    return slot.index >= this.first
  }
  take(name: string, kind: Slot['kind']): Slot {
    return { index: this.size++, name, kind, graph: 0 }
  }
}

export interface PlanningContext {
  readonly counts: GraphCounts
  readonly order: ExpandOrder
  readonly extra: PlannerSlots
}

/** `given`: slots that the caller fills in before each run. */
export function buildPlan(query: BoundPart, given: readonly Slot[], site: PlanningContext): Plan {
  return buildClauses(query.clauses, given, site)
}

/** `known`: slots that have a value in the argument row. */
function buildClauses(clauses: readonly BoundClause[], argument: readonly Slot[], site: PlanningContext): Plan {
  let plan: Plan = { op: 'Argument', slots: argument }
  const known = new Map(argument.map((slot) => [slot.index, slot]))
  const learn = (slots: readonly Slot[]): void => {
    for (const slot of slots) known.set(slot.index, slot)
  }
  for (const clause of clauses) {
    switch (clause.kind) {
      case 'match': {
        const { match } = clause
        plan = withCasts(match, plan)
        learn(match.casts.map((cast) => cast.to))
        const keys = new Set(known.keys())
        if (match.optional) {
          const inner = buildMatch(match, { op: 'Argument', slots: [...known.values()] }, keys, site)
          plan = { op: 'Optional', input: plan, inner, nulls: slotsDeclaredBy(match) }
        } else plan = buildMatch(match, plan, keys, site)
        learn(slotsDeclaredBy(match))
        break
      }
      case 'unwind':
        plan = { op: 'Unwind', input: plan, list: clause.list, slot: clause.slot }
        learn([clause.slot])
        break
      case 'projection':
        plan = buildProjection(clause.projection, plan)
        learn(clause.projection.columns.map((column) => column.slot))
        break
      case 'union':
        plan = buildUnion(clause.union, [...known.values()], site)
        learn(clause.union.columns.map((column) => column.slot))
        break
      case 'call': {
        const inner = buildClauses(clause.part.clauses, [...known.values()], site)
        plan = { op: 'Apply', input: plan, inner }
        learn(clause.part.columns.map((column) => column.slot))
        break
      }
      default:
        assertNever(clause)
    }
  }
  return plan
}

function buildUnion(union: BoundUnion, argument: readonly Slot[], site: PlanningContext): Plan {
  const branches = union.parts.map((part): Plan => {
    const items = union.columns.map(({ slot }, i) => ({
      slot,
      expression: { kind: 'slot' as const, slot: part.columns[i]!.slot },
    }))
    return { op: 'Projection', input: buildClauses(part.clauses, argument, site), items }
  })
  const plan: Plan = { op: 'Union', branches }
  return union.distinct ? { op: 'Distinct', input: plan, slots: union.columns.map((column) => column.slot) } : plan
}

/** The plan of a query inside an expression, with the outer row as its argument. */
export function buildSubquery(expression: SubqueryExpression, site: PlanningContext): Plan {
  if (expression.kind === 'subquery') return buildClauses(expression.part.clauses, expression.reads, site)
  const { match } = expression
  const known = slotsOf(expression)
  const keys = new Set([...known, ...match.casts.map((cast) => cast.to)].map((slot) => slot.index))
  return buildMatch(match, withCasts(match, { op: 'Argument', slots: known }), keys, site)
}

/** The casts of a match stand before it: an optional match that fails leaves them as they are. */
export function withCasts(match: BoundMatch, input: Plan): Plan {
  return match.casts.length > 0 ? { op: 'Cast', input, casts: match.casts } : input
}

export function buildMatch(match: BoundMatch, input: Plan, known: ReadonlySet<number>, site: PlanningContext): Plan {
  const steps = site.order(match, known, site.counts)
  const reached = new Set(match.nodes.filter((n) => n.bound || known.has(n.slot.index)).map((n) => n.slot.index))
  const walked: BoundRelationship[] = []
  let plan = input
  for (const step of steps) {
    if (step.kind === 'start') {
      const { slot } = match.nodes[step.node]!
      plan = { op: 'AllNodesScan', input: plan, slot }
      reached.add(slot.index)
    } else {
      plan = buildWalk(match, step, plan, reached, walked, site.extra)
      walked.push(match.relationships[step.relationship]!)
      reached.add(match.nodes[step.from]!.slot.index)
      reached.add(match.nodes[step.to]!.slot.index)
    }
  }
  for (const path of match.paths) {
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
  const { types, range, slot, each } = relationship
  const distinctFrom = walked.filter((other) => mayBeSame(other, relationship)).map((other) => other.slot)
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
  if (relationship.shortest && range) {
    const all = relationship.shortest === 'all'
    return {
      op: 'ShortestPath',
      input,
      from,
      to,
      relationship: slot,
      direction,
      types,
      distinctFrom: [],
      ...range,
      each,
      all,
    }
  }
  // The far end is known: walk to a fresh node and compare. A rule turns the pair into a walk between two known nodes.
  const closes = reached.has(to.index)
  const end = closes ? extra.take(`${to.name}'`, 'node') : to
  const shared = { input, from, to: end, relationship: slot, direction, types, distinctFrom }
  const walk: Plan = range
    ? { op: 'VarLengthExpand', ...shared, min: range.min, max: range.max, into: false, backwards, each }
    : { op: 'ExpandAll', ...shared }
  return closes ? { op: 'Filter', input: walk, predicates: [sameNode(end, to)] } : walk
}

function sameNode(left: Slot, right: Slot): Extract<Plan, { op: 'Filter' }>['predicates'][number] {
  return {
    kind: 'comparison',
    operator: '=',
    left: { kind: 'slot', slot: left },
    right: { kind: 'slot', slot: right },
  }
}

function walkDirection(relationship: BoundRelationship, forward: boolean): WalkDirection {
  if (relationship.direction === 'both') return 'both'
  return (relationship.direction === 'right') === forward ? 'out' : 'in'
}

/** Two relationships of one MATCH can only be the same one when they share a type. */
function mayBeSame(a: BoundRelationship, b: BoundRelationship): boolean {
  if (a.shortest || b.shortest) return false
  if (a.types.length === 0 || b.types.length === 0) return true
  return a.types.some((type) => b.types.includes(type))
}

function buildProjection(projection: BoundProjection, input: Plan): Plan {
  const { grouping, aggregates, computed, columns, where } = projection
  let plan = input
  if (grouping) plan = { op: 'EagerAggregation', input: plan, grouping, aggregates }
  if (computed.length > 0) plan = { op: 'Projection', input: plan, items: computed }
  const slots = columns.map((column) => column.slot)
  if (projection.distinct) plan = { op: 'Distinct', input: plan, slots }
  if (projection.orderBy.length > 0) {
    // WHERE may still read what the projection dropped, so that must survive the sort too.
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
