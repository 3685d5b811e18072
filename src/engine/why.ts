// Why a check says what it says: for a permit the elements of the pattern that were matched; for a denial the deepest step
// that still had rows, and the step that left none.
import type { BoundQuery, Slot } from './bind/bound.ts'
import { Profiler } from './exec/profile.ts'
import { forgetting } from './optimize/optimize.ts'
import { describe, explain, type PlanNode } from './plan/explain.ts'
import type { Plan } from './plan/operators.ts'
import type { Asking, EngineOptions } from './planned-query.ts'
import { Answerer, nodeByKey, type Question } from './questions.ts'
import { readableElements, readableUnions } from './readable.ts'
import type { NodeId, RelationshipId, Snapshot } from './store.ts'

export interface ElementKey {
  readonly type: string | null
  readonly externalId: string | null
}

export interface MatchedNode extends ElementKey {
  /** Null for an element that the text does not name. */
  readonly variable: string | null
}

export interface MatchedRelationship {
  readonly variable: string | null
  readonly type: string
  readonly source: ElementKey
  readonly target: ElementKey
}

export interface Matched {
  readonly nodes: readonly MatchedNode[]
  readonly relationships: readonly MatchedRelationship[]
}

export interface Why {
  readonly decision: boolean
  /** Given nodes that do not exist, by variable. */
  readonly unknown: readonly string[]
  /** For a permit: one way in which the pattern is satisfied. */
  readonly matched: Matched | null
  /** For a denial. `reached` is null where even the first step found nothing. */
  readonly nearestMiss: {
    readonly reached: { readonly step: string; readonly rows: number; readonly sample: Matched } | null
    readonly stopped: {
      readonly step: string
      readonly rows: 0
      /** The same as a sentence. */
      readonly says: string
      /** Of a forbidden pattern: one way in which it is there. */
      readonly found: Matched | null
    }
  } | null
  /** The plan with the rows and the store reads of each operator. */
  readonly profile: ProfileNode
}

export interface ProfileNode {
  readonly operator: string
  readonly detail: string
  readonly rows: number
  readonly reads: number
  /** Its own, in milliseconds. */
  readonly timeMs: number
  readonly children: readonly { readonly role: 'input' | 'inner' | 'branch'; readonly node: ProfileNode }[]
}

export class Explainer {
  private readonly question: Question
  private readonly answerer: Answerer

  constructor(query: BoundQuery, question: Question, options: EngineOptions) {
    this.question = question
    // What lies on the way is part of an answer to why.
    this.answerer = new Answerer(query, question, { ...options, except: forgetting })
  }

  /** `given`: external ids in the order of the question. */
  why(asking: Asking, given: readonly string[]): Why {
    const profiler = new Profiler()
    const { plan, execution } = this.answerer.beginObserved(asking, given, profiler)
    const decision = execution?.root.next(execution.run) ?? false
    const names = this.question.given
    const { types } = this.question
    // A node is known where any graph of the condition has it.
    const graphs = execution?.run.graphs ?? [asking.snapshot]
    return {
      decision,
      unknown: names.filter((name, i) => graphs.every((graph) => nodeByKey(graph, types.get(name)!, given[i]!) === 0)),
      matched: decision && execution ? matched(plan, execution.run.frame, execution.run.graphs, profiler) : null,
      nearestMiss: decision || !execution ? null : nearestMiss(plan, profiler, execution.run.graphs),
      profile: profileOf(describe(plan), profiler),
    }
  }
}

/** Plan text with the rows and reads of each operator behind it. */
export function explainProfile(plan: Plan, profiler: Profiler): string {
  return explain(plan, (operator) => {
    const { rows, reads } = profiler.of(operator)
    return `  (rows ${rows}, reads ${reads})`
  })
}

export function profileOf(node: PlanNode, profiler: Profiler): ProfileNode {
  const { rows, reads, timeMs } = profiler.of(node.plan)
  const children = node.children.map((child) => ({ role: child.role, node: profileOf(child.node, profiler) }))
  return { operator: node.operator, detail: node.detail, rows, reads, timeMs, children }
}

function nearestMiss(plan: Plan, profiler: Profiler, graphs: readonly Snapshot[]): Why['nearestMiss'] {
  let stopped = plan
  for (let at: Plan | null = plan; at; at = next(at, profiler)) {
    const { rows, lastRow } = profiler.of(at)
    if (rows > 0 && lastRow) {
      const reached = { step: stepOf(at), rows, sample: matched(at, lastRow, graphs, profiler) }
      return { reached, stopped: stoppedAt(stopped, profiler, graphs) }
    }
    // `First` asks and adds nothing: what it asked is what stopped.
    stopped = at
  }
  return { reached: null, stopped: stoppedAt(stopped, profiler, graphs) }
}

function stepOf(plan: Plan): string {
  const { operator, detail } = describe(plan)
  return `${operator} ${detail}`.trimEnd()
}

type Stopped = NonNullable<Why['nearestMiss']>['stopped']

function stoppedAt(plan: Plan, profiler: Profiler, graphs: readonly Snapshot[]): Stopped {
  const step = stepOf(plan)
  const { operator, detail } = describe(plan)
  const stopped = (says: string, found: Matched | null = null): Stopped => ({ step, rows: 0, says, found })
  switch (plan.op) {
    case 'filter':
      return stopped(`the predicate does not hold: ${detail}`)
    case 'semi-apply': {
      if (!plan.negated) return stopped(`the pattern is not there: ${patternOf(plan.inner)}`)
      const { lastRow } = profiler.of(plan.inner)
      const found = lastRow ? matched(plan.inner, lastRow, graphs, profiler) : null
      return stopped(`a forbidden pattern is there: ${patternOf(plan.inner)}`, found)
    }
    case 'expand':
    case 'expand-into':
    case 'var-expand':
    case 'reach':
    case 'connect':
    case 'spread':
    case 'ascend':
    case 'relationship-ends':
    case 'trail-ends':
    case 'shortest-path':
      return stopped(`no relationship matches ${detail}`)
    case 'node-by-key':
    case 'node-by-property':
    case 'label-scan':
    case 'all-nodes':
      return stopped(`no node matches ${detail}`)
    case 'argument':
      return stopped('a given node does not have the type or the properties of the pattern')
    default:
      return stopped(`no row came of ${operator}${detail === '' ? '' : ` ${detail}`}`)
  }
}

/** What a subplan looks for, step by step in the order of its walk. */
function patternOf(plan: Plan): string {
  const steps: string[] = []
  for (let at: Plan | null = plan; at; at = 'input' in at ? at.input : null) {
    const { detail } = describe(at)
    if (detail !== '' && at.op !== 'argument') steps.unshift(detail)
  }
  return steps.join(', ')
}

/** The plan from which an operator without rows should have got them. */
function next(plan: Plan, profiler: Profiler): Plan | null {
  switch (plan.op) {
    case 'argument':
      return null
    case 'union':
      return furthest(plan.branches, profiler)
    case 'apply':
    case 'semi-apply':
      // The outer row was there, so it is the inner plan that had none (or, negated, that had one).
      return profiler.of(plan.input).rows > 0 && !(plan.op === 'semi-apply' && plan.negated) ? plan.inner : plan.input
    default:
      return plan.input
  }
}

/** The first of those that came as far as any: what it lacks is what was missing least. */
function furthest(branches: readonly Plan[], profiler: Profiler): Plan {
  const steps = branches.map((branch) => stepsWithRows(branch, profiler))
  return branches[steps.indexOf(Math.max(...steps))]!
}

function stepsWithRows(plan: Plan, profiler: Profiler): number {
  let steps = 0
  for (let at: Plan | null = plan; at; at = next(at, profiler)) {
    if (at.op !== 'argument' && profiler.of(at).rows > 0) steps += 1
  }
  return steps
}

function matched(plan: Plan, frame: readonly unknown[], graphs: readonly Snapshot[], profiler: Profiler): Matched {
  const found: Found = { nodes: new Map(), relationships: new Map() }
  gather(plan, frame, graphs, profiler, found)
  return { nodes: [...found.nodes.values()], relationships: [...found.relationships.values()] }
}

/** By graph and id. */
interface Found {
  readonly nodes: Map<string, MatchedNode>
  readonly relationships: Map<string, MatchedRelationship>
}

function gather(
  plan: Plan,
  frame: readonly unknown[],
  graphs: readonly Snapshot[],
  profiler: Profiler,
  found: Found,
): void {
  const { nodes, relationships } = found
  for (const slot of readableElements(plan)) {
    const snapshot = graphs[slot.graph]!
    const held = frame[slot.index]
    if (slot.kind === 'node') {
      if (held === 0 || held === null) continue
      const id = `${slot.graph} ${held}`
      const variable = nodes.get(id)?.variable ?? variableOf(slot)
      nodes.set(id, { variable, ...keyOf(snapshot, held as NodeId) })
      continue
    }
    for (const id of Array.isArray(held) ? (held as RelationshipId[]) : [held as RelationshipId]) {
      if (id !== 0 && id !== null) relationships.set(`${slot.graph} ${id}`, relationshipOf(slot, id, snapshot))
    }
  }
  for (const { branches } of readableUnions(plan)) {
    const [latest] = branches.toSorted((a, b) => profiler.of(b).lastAt - profiler.of(a).lastAt)
    const lastRow = latest && profiler.of(latest).lastRow
    if (lastRow) gather(latest, lastRow, graphs, profiler, found)
  }
}

function relationshipOf(slot: Slot, id: RelationshipId, snapshot: Snapshot): MatchedRelationship {
  return {
    variable: variableOf(slot),
    type: snapshot.symbolName('type', snapshot.relationshipType(id)),
    source: keyOf(snapshot, snapshot.relationshipSource(id)),
    target: keyOf(snapshot, snapshot.relationshipTarget(id)),
  }
}

function keyOf(snapshot: Snapshot, node: NodeId): ElementKey {
  const text = (field: 'type' | 'external_id'): string | null => snapshot.nodeOwn(node, field) as string | null
  return { type: text('type'), externalId: text('external_id') }
}

/** The planner's own names hold a character that no variable of a text has unquoted. */
function variableOf(slot: Slot): string | null {
  return slot.name.startsWith('anon_') || slot.name.endsWith("'") ? null : slot.name
}
