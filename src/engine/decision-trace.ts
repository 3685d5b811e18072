// Why a check says what it says: for a permit the elements of the pattern that were matched; for a denial the deepest step
// that still had rows, and the step that left none.
import type { BoundQuery, Slot } from './bind/bound.ts'
import { Profiler } from './exec/profiler.ts'
import { pathErasingRules } from './optimize/optimize.ts'
import { describe, explain, type PlanNode } from './plan/explain.ts'
import type { Plan } from './plan/operators.ts'
import type { EngineOptions, QueryContext } from './planned-query.ts'
import { readableElements, readableUnions } from './readable-slots.ts'
import { type AccessQuery, nodeByKey, PreparedQuery } from './relation-query.ts'
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

export interface MatchedPattern {
  readonly nodes: readonly MatchedNode[]
  readonly relationships: readonly MatchedRelationship[]
}

export interface DecisionTrace {
  readonly decision: boolean
  /** Given nodes that do not exist, by variable. */
  readonly unknown: readonly string[]
  /** For a permit: one way in which the pattern is satisfied. */
  readonly matched: MatchedPattern | null
  /** For a denial. `reached` is null where even the first step found nothing. */
  readonly nearestMiss: {
    readonly reached: { readonly step: string; readonly rows: number; readonly sample: MatchedPattern } | null
    readonly stopped: {
      readonly step: string
      readonly rows: 0
      /** The same as a sentence. */
      readonly says: string
      /** Of a forbidden pattern: one way in which it is there. */
      readonly found: MatchedPattern | null
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

export class DecisionTracer {
  private readonly accessQuery: AccessQuery
  private readonly preparedQuery: PreparedQuery

  constructor(query: BoundQuery, question: AccessQuery, options: EngineOptions) {
    this.accessQuery = question
    // What lies on the way is part of an answer to why.
    this.preparedQuery = new PreparedQuery(query, question, { ...options, disabledRules: pathErasingRules })
  }

  /** `given`: external ids in the order of the question. */
  trace(asking: QueryContext, given: readonly string[]): DecisionTrace {
    const profiler = new Profiler()
    const { plan, execution } = this.preparedQuery.openProfiled(asking, given, profiler)
    const decision = execution?.root.next(execution.run) ?? false
    const names = this.accessQuery.fixed
    const { types } = this.accessQuery
    // A node is known where any graph of the condition has it.
    const graphs = execution?.run.graphs ?? [asking.snapshot]
    return {
      decision,
      unknown: names.filter((name, i) => graphs.every((graph) => nodeByKey(graph, types.get(name)!, given[i]!) === 0)),
      matched:
        decision && execution ? matchedElements(plan, execution.run.frame, execution.run.graphs, profiler) : null,
      nearestMiss: decision || !execution ? null : nearestMiss(plan, profiler, execution.run.graphs),
      profile: profileOf(describe(plan), profiler),
    }
  }
}

/** Plan text with the rows and reads of each operator behind it. */
export function explainProfile(plan: Plan, profiler: Profiler): string {
  return explain(plan, (operator) => {
    const { rows, reads } = profiler.profileOf(operator)
    return `  (rows ${rows}, reads ${reads})`
  })
}

export function profileOf(node: PlanNode, profiler: Profiler): ProfileNode {
  const { rows, reads, timeMs } = profiler.profileOf(node.plan)
  const children = node.children.map((child) => ({ role: child.role, node: profileOf(child.node, profiler) }))
  return { operator: node.operator, detail: node.detail, rows, reads, timeMs, children }
}

function nearestMiss(plan: Plan, profiler: Profiler, graphs: readonly Snapshot[]): DecisionTrace['nearestMiss'] {
  let stopped = plan
  for (let at: Plan | null = plan; at; at = sourceOfRows(at, profiler)) {
    const { rows, lastRow } = profiler.profileOf(at)
    if (rows > 0 && lastRow) {
      const reached = { step: describeStep(at), rows, sample: matchedElements(at, lastRow, graphs, profiler) }
      return { reached, stopped: blockingStep(stopped, profiler, graphs) }
    }
    // `First` asks and adds nothing: what it asked is what stopped.
    stopped = at
  }
  return { reached: null, stopped: blockingStep(stopped, profiler, graphs) }
}

function describeStep(plan: Plan): string {
  const { operator, detail } = describe(plan)
  return `${operator} ${detail}`.trimEnd()
}

type BlockingStep = NonNullable<DecisionTrace['nearestMiss']>['stopped']

function blockingStep(plan: Plan, profiler: Profiler, graphs: readonly Snapshot[]): BlockingStep {
  const step = describeStep(plan)
  const { operator, detail } = describe(plan)
  const stopped = (says: string, found: MatchedPattern | null = null): BlockingStep => ({ step, rows: 0, says, found })
  switch (plan.op) {
    case 'filter':
      return stopped(`the predicate does not hold: ${detail}`)
    case 'semi-apply': {
      if (!plan.negated) return stopped(`the pattern is not there: ${describePattern(plan.inner)}`)
      const { lastRow } = profiler.profileOf(plan.inner)
      const found = lastRow ? matchedElements(plan.inner, lastRow, graphs, profiler) : null
      return stopped(`a forbidden pattern is there: ${describePattern(plan.inner)}`, found)
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
function describePattern(plan: Plan): string {
  const steps: string[] = []
  for (let at: Plan | null = plan; at; at = 'input' in at ? at.input : null) {
    const { detail } = describe(at)
    if (detail !== '' && at.op !== 'argument') steps.unshift(detail)
  }
  return steps.join(', ')
}

/** The plan from which an operator without rows should have got them. */
function sourceOfRows(plan: Plan, profiler: Profiler): Plan | null {
  switch (plan.op) {
    case 'argument':
      return null
    case 'union':
      return furthestBranch(plan.branches, profiler)
    case 'apply':
    case 'semi-apply':
      // The outer row was there, so it is the inner plan that had none (or, negated, that had one).
      return profiler.profileOf(plan.input).rows > 0 && !(plan.op === 'semi-apply' && plan.negated)
        ? plan.inner
        : plan.input
    default:
      return plan.input
  }
}

/** The first of those that came as far as any: what it lacks is what was missing least. */
function furthestBranch(branches: readonly Plan[], profiler: Profiler): Plan {
  const steps = branches.map((branch) => stepsWithRows(branch, profiler))
  return branches[steps.indexOf(Math.max(...steps))]!
}

function stepsWithRows(plan: Plan, profiler: Profiler): number {
  let steps = 0
  for (let at: Plan | null = plan; at; at = sourceOfRows(at, profiler)) {
    if (at.op !== 'argument' && profiler.profileOf(at).rows > 0) steps += 1
  }
  return steps
}

function matchedElements(
  plan: Plan,
  frame: readonly unknown[],
  graphs: readonly Snapshot[],
  profiler: Profiler,
): MatchedPattern {
  const found: MatchCollector = { nodes: new Map(), relationships: new Map() }
  collectMatched(plan, frame, graphs, profiler, found)
  return { nodes: [...found.nodes.values()], relationships: [...found.relationships.values()] }
}

/** By graph and id. */
interface MatchCollector {
  readonly nodes: Map<string, MatchedNode>
  readonly relationships: Map<string, MatchedRelationship>
}

function collectMatched(
  plan: Plan,
  frame: readonly unknown[],
  graphs: readonly Snapshot[],
  profiler: Profiler,
  found: MatchCollector,
): void {
  const { nodes, relationships } = found
  for (const slot of readableElements(plan)) {
    const snapshot = graphs[slot.graph]!
    const held = frame[slot.index]
    if (slot.kind === 'node') {
      if (held === 0 || held === null) continue
      const id = `${slot.graph} ${held}`
      const variable = nodes.get(id)?.variable ?? variableOf(slot)
      nodes.set(id, { variable, ...elementKeyOf(snapshot, held as NodeId) })
      continue
    }
    for (const id of Array.isArray(held) ? (held as RelationshipId[]) : [held as RelationshipId]) {
      if (id !== 0 && id !== null) relationships.set(`${slot.graph} ${id}`, matchedRelationship(slot, id, snapshot))
    }
  }
  for (const { branches } of readableUnions(plan)) {
    const [latest] = branches.toSorted(
      (a, b) => profiler.profileOf(b).lastRowNumber - profiler.profileOf(a).lastRowNumber,
    )
    const lastRow = latest && profiler.profileOf(latest).lastRow
    if (lastRow) collectMatched(latest, lastRow, graphs, profiler, found)
  }
}

function matchedRelationship(slot: Slot, id: RelationshipId, snapshot: Snapshot): MatchedRelationship {
  return {
    variable: variableOf(slot),
    type: snapshot.symbolName('type', snapshot.relationshipType(id)),
    source: elementKeyOf(snapshot, snapshot.relationshipSource(id)),
    target: elementKeyOf(snapshot, snapshot.relationshipTarget(id)),
  }
}

function elementKeyOf(snapshot: Snapshot, node: NodeId): ElementKey {
  const text = (field: 'type' | 'external_id'): string | null => snapshot.nodeField(node, field) as string | null
  return { type: text('type'), externalId: text('external_id') }
}

/** The planner's own names hold a character that no variable of a text has unquoted. */
function variableOf(slot: Slot): string | null {
  return slot.name.startsWith('anon_') || slot.name.endsWith("'") ? null : slot.name
}
