// One condition, many questions. A condition is the relation of the nodes that its variables take over all its rows;
// a question fixes some of the variables and asks for another, or only whether there is a row. Every question asks the
// same relation, so a search finds a node exactly when the check with that node is true.
import { assert } from '../kernel/assert.ts'
import type { BoundClause, BoundExpression, BoundMatch, BoundQuery, Slot } from './bind/bound.ts'
import { declaredIn } from './bind/walk.ts'
import { explain } from './plan/explain.ts'
import type { Plan } from './plan/operators.ts'
import { type Counts, unknownCounts } from './plan/order-expands.ts'
import { type Asking, type EngineOptions, PlannedQuery } from './planned-query.ts'
import type { NodeId, Snapshot } from './store.ts'

export interface Question {
  /** Variables whose node the caller gives. */
  readonly given: readonly string[]
  /** The variable that is asked for; null asks whether there is a row. */
  readonly sought: string | null
  /** Node types that variables must have; a given node of that type is the caller's promise. */
  readonly types: Readonly<Record<string, string>>
}

/** A question, planned. */
export interface Answerer {
  /** `given` in the order of the question's. False when one is 0. */
  exists(asking: Asking, given: readonly NodeId[]): boolean
  /** Each node once, ascending. */
  find(asking: Asking, given: readonly NodeId[]): NodeId[]
  explain(counts?: Counts): string
}

/** The slot of a variable that a condition must bind to a node; or what is wrong with it. */
export function nodeVariable(query: BoundQuery, name: string): Slot | string {
  const slot = query.columns.find((column) => column.name === name)?.slot
  if (!slot) return `the condition must bind \`${name}\` and keep it in scope to its end`
  if (slot.kind !== 'node') return `\`${name}\` must be a node that a pattern binds`
  const introduced = query.clauses[introduction(query, slot)]
  if (introduced?.kind === 'match' && introduced.match.optional) {
    // A row without the node would still be a row, and so grant.
    return `\`${name}\` must first be bound by MATCH, not by OPTIONAL MATCH`
  }
  return slot
}

function introduction(query: BoundQuery, slot: Slot): number {
  return query.clauses.findIndex(
    (clause) => clause.kind === 'match' && declaredIn(clause.match).some((s) => s.index === slot.index),
  )
}

/** A question put in the planner's terms. */
export interface PosedQuestion {
  readonly query: BoundQuery
  /** Slots that the caller fills in, in the order of the question's `given`. */
  readonly given: readonly Slot[]
  readonly sought: Slot | null
  /** Puts the question on top of the query's own plan. */
  readonly finish: (plan: Plan) => Plan
  readonly frameSize: number
}

/** Every variable named must be one that `nodeVariable` accepts. */
export function poseQuestion(query: BoundQuery, question: Question): PosedQuestion {
  let clauses = query.clauses
  let frameSize = query.frameSize
  const given = new Map<string, Slot>()
  const atEnd: BoundExpression[] = []
  const { sought, types } = question
  for (const name of new Set([...question.given, ...(sought === null ? [] : [sought]), ...Object.keys(types)])) {
    const slot = acceptedVariable(query, name)
    const isGiven = question.given.includes(name)
    const type = types[name]
    if (keepsRows(query, slot)) {
      // Fixing the node first keeps exactly the rows that fixing it last would keep.
      if (isGiven) given.set(name, slot)
      if (type !== undefined) clauses = narrow(clauses, slot, type, !isGiven)
    } else if (isGiven) {
      const fixed: Slot = { ...slot, index: frameSize++, name: `given ${name}` }
      given.set(name, fixed)
      atEnd.push({ kind: 'comparison', operator: '=', left: slotValue(slot), right: slotValue(fixed) })
    } else if (type !== undefined) atEnd.push(hasType(slot, type))
  }
  const soughtSlot = sought === null ? null : acceptedVariable(query, sought)
  return {
    query: { ...query, clauses },
    given: question.given.map((name) => given.get(name)!),
    sought: soughtSlot,
    finish: (plan) => {
      const kept: Plan = atEnd.length > 0 ? { op: 'filter', input: plan, predicates: atEnd } : plan
      return soughtSlot ? { op: 'distinct', input: kept, slots: [soughtSlot] } : { op: 'first', input: kept }
    },
    frameSize,
  }
}

function acceptedVariable(query: BoundQuery, name: string): Slot {
  const slot = nodeVariable(query, name)
  assert(typeof slot !== 'string', `${name} was accepted before`)
  return slot
}

export function planQuestion(query: BoundQuery, question: Question, options: EngineOptions): Answerer {
  const posed = poseQuestion(query, question)
  const planned = new PlannedQuery(posed.query, posed.given, posed.finish, posed.frameSize, options)
  return new PlannedAnswerer(
    planned,
    posed.given.map((slot) => slot.index),
    posed.sought?.index ?? -1,
  )
}

class PlannedAnswerer implements Answerer {
  private readonly planned: PlannedQuery
  private readonly givenSlots: readonly number[]
  private readonly soughtSlot: number

  constructor(planned: PlannedQuery, givenSlots: readonly number[], soughtSlot: number) {
    this.planned = planned
    this.givenSlots = givenSlots
    this.soughtSlot = soughtSlot
  }

  exists(asking: Asking, given: readonly NodeId[]): boolean {
    const execution = this.planned.prepare(asking)
    const { root, run } = execution
    for (let i = 0; i < given.length; i++) {
      if (given[i] === 0) return false
      run.frame[this.givenSlots[i]!] = given[i]
    }
    root.open(run)
    return root.next(run)
  }

  find(asking: Asking, given: readonly NodeId[]): NodeId[] {
    const { root, run } = this.planned.prepare(asking)
    for (let i = 0; i < given.length; i++) {
      if (given[i] === 0) return []
      run.frame[this.givenSlots[i]!] = given[i]
    }
    const found: NodeId[] = []
    root.open(run)
    while (root.next(run)) found.push(run.frame[this.soughtSlot] as NodeId)
    return found.sort((a, b) => a - b)
  }

  explain(counts: Counts = unknownCounts): string {
    return explain(this.planned.plan(counts).plan)
  }
}

/** Whether choosing the node of a slot at its introduction and at the end of the query are the same choice. */
function keepsRows(query: BoundQuery, slot: Slot): boolean {
  return query.clauses.slice(introduction(query, slot) + 1).every((clause) => {
    if (clause.kind !== 'projection') return true
    const { grouping, skip, limit } = clause.projection
    if (skip || limit) return false
    return grouping === null || grouping.some((key) => key.slot.index === slot.index)
  })
}

/** Puts the type into the match that introduces the slot, and drops the label tests that it makes superfluous. */
function narrow(
  clauses: readonly BoundClause[],
  slot: Slot,
  type: string,
  addPredicate: boolean,
): readonly BoundClause[] {
  return clauses.map((clause) => {
    if (clause.kind !== 'match') return clause
    const introduces = declaredIn(clause.match).some((s) => s.index === slot.index)
    const stays = clause.match.predicates.filter((predicate) => !isTestFor(predicate, slot, type))
    const predicates = introduces && addPredicate ? [hasType(slot, type), ...stays] : stays
    const match: BoundMatch = { ...clause.match, predicates }
    return { kind: 'match', match }
  })
}

function isTestFor(predicate: BoundExpression, slot: Slot, label: string): boolean {
  return (
    predicate.kind === 'label-test' &&
    predicate.target.kind === 'slot' &&
    predicate.target.slot.index === slot.index &&
    predicate.labels.kind === 'label' &&
    predicate.labels.name === label
  )
}

function hasType(slot: Slot, type: string): BoundExpression {
  return {
    kind: 'comparison',
    operator: '=',
    left: { kind: 'element-property', slot, key: 'type', own: 'type' },
    right: { kind: 'constant', value: type },
  }
}

function slotValue(slot: Slot): BoundExpression {
  return { kind: 'slot', slot }
}

/** The node with that type and external id; 0 when there is none. */
export function nodeByKey(snapshot: Snapshot, type: string, externalId: string): NodeId {
  const label = snapshot.symbol('label', type)
  return label === 0 ? 0 : snapshot.findNode(label, externalId)
}
