// Explains a decision. For a permit: the elements of the pattern that matched. For a denial: the deepest step of the plan that
// still had rows, and the step that left none.
import { assertNever } from '../kernel/assert.ts'
import type { BoundQuery, Slot } from './bind/bound.ts'
import type { DefinitionTables, Derivation, DerivedPair } from './definitions/tables.ts'
import type { ExecutionContext } from './exec/execution-context.ts'
import { Profiler } from './exec/profiler.ts'
import { type FailedComparison, failedComparisons } from './failed-comparisons.ts'
import { pathErasingRules } from './optimize/optimize.ts'
import { describe, explain, type PlanNode } from './plan/explain.ts'
import { descriptorOf, inputOf, type PlanInput } from './plan/operator-descriptors.ts'
import type { Plan, PlanOf } from './plan/operators.ts'
import type { EngineOptions, QueryContext } from './planned-query.ts'
import { nodeByKey, PreparedQuery } from './prepared-query.ts'
import { readableElements, readableUnions } from './readable-slots.ts'
import type { AccessQuery } from './relation-query.ts'
import type { NodeId, RelationshipId, Snapshot } from './store.ts'

/** Type and external id of a node; null for a field that the node does not have. */
export interface ElementKey {
  readonly type: string | null
  readonly externalId: string | null
}

/** A node that a pattern matched. */
export interface MatchedNode extends ElementKey {
  /** Null for an element that the text does not name. */
  readonly variable: string | null
}

/** A relationship that a pattern matched. */
export interface MatchedRelationship {
  /** Null for an element that the text does not name. */
  readonly variable: string | null
  readonly type: string
  readonly source: ElementKey
  readonly target: ElementKey
}

/** A relationship that a definition derives. */
export interface DerivedRelationship {
  /** The name of the definition. */
  readonly type: string
  readonly source: ElementKey
  readonly target: ElementKey
}

/** A derived relationship with the relationships that it follows from. */
export interface ExplainedDerivation extends DerivedRelationship {
  /** The number of the alternative of the definition that has a row for it, from 1. */
  readonly alternative: number
  /** The stored relationships of this row. */
  readonly relationships: readonly MatchedRelationship[]
  /** The derived relationships of this row. They have entries of their own, later in the list. */
  readonly derived: readonly DerivedRelationship[]
}

/** The elements of one match, each once. */
export interface MatchedPattern {
  readonly nodes: readonly MatchedNode[]
  readonly relationships: readonly MatchedRelationship[]
  /** The derived relationships of the match and all that they follow from, each once, at most DERIVATIONS_MAX. */
  readonly derived: readonly ExplainedDerivation[]
}

/** How far one alternative of a definition came for a pair that it does not derive. */
export interface MissedAlternative {
  /** The number of the alternative in the definition, from 1. */
  readonly alternative: number
  readonly reached: { readonly step: string; readonly rows: number; readonly sample: MatchedPattern } | null
  readonly stopped: { readonly step: string; readonly says: string; readonly comparisons: readonly FailedComparison[] }
}

/** Derived relationships of one explanation: more than people read, and a chain of folders is far shorter. */
const DERIVATIONS_MAX = 100

/** A decision with the reason for it. */
export interface DecisionTrace {
  readonly decision: boolean
  /** Variables whose given node does not exist in any graph of the condition. */
  readonly unknown: readonly string[]
  /** For a permit: one match of the pattern. */
  readonly matched: MatchedPattern | null
  /** For a denial. `reached` is null if even the first step found nothing. */
  readonly nearestMiss: {
    readonly reached: { readonly step: string; readonly rows: number; readonly sample: MatchedPattern } | null
    readonly stopped: {
      readonly step: string
      readonly rows: 0
      /** The reason why the step returned no row, as a sentence. */
      readonly says: string
      /** For an excluded pattern (`NOT EXISTS`): one match of it. */
      readonly found: MatchedPattern | null
      /** For predicates: the comparisons that are not true for `reached.sample`, with their values. */
      readonly comparisons: readonly FailedComparison[]
      /** For a step over a definition: each of its alternatives. */
      readonly alternatives: readonly MissedAlternative[]
    }
  } | null
  /** The plan with the rows and the store reads of each operator. */
  readonly profile: ProfileNode
}

/** An operator of an executed plan with what it cost. */
export interface ProfileNode {
  readonly operator: string
  readonly detail: string
  /** Rows that the operator returned. */
  readonly rows: number
  /** Store reads of the operator itself. */
  readonly reads: number
  /** Time of the operator itself, in milliseconds. */
  readonly timeMs: number
  readonly children: readonly { readonly role: PlanInput['role']; readonly node: ProfileNode }[]
}

/** Runs an access query with a profiler and derives the reason for its result. */
export class DecisionTracer {
  private readonly accessQuery: AccessQuery
  private readonly preparedQuery: PreparedQuery
  private readonly written: AnonymousElements

  /** `text`: the text of the query, for elements without names. */
  constructor(query: BoundQuery, accessQuery: AccessQuery, options: EngineOptions, text: string) {
    this.accessQuery = accessQuery
    this.written = new AnonymousElements(query, text)
    // A trace shows the elements on the way, so no rule may drop them from the plan.
    this.preparedQuery = new PreparedQuery(query, accessQuery, { ...options, disabledRules: pathErasingRules })
  }

  /**
   * Decides once more and explains. `externalIds`: those of the fixed nodes, in the order of the access query. Throws
   * ExecutionError.
   */
  trace(context: QueryContext, externalIds: readonly string[]): DecisionTrace {
    const profiler = new Profiler()
    const { plan, execution, tables } = this.preparedQuery.openProfiled(context, externalIds, profiler)
    const decision = execution?.root.next(execution.run) ?? false
    const graphs = execution?.run.graphs ?? [context.snapshot]
    return {
      decision,
      unknown: this.unknownNodes(graphs, externalIds),
      matched:
        decision && execution ? matchedElements(plan, execution.run.frame, execution.run, profiler, tables) : null,
      nearestMiss: decision || !execution ? null : this.missOf(plan, profiler, execution.run, tables),
      profile: this.written.inProfile(profileOf(describe(plan), profiler)),
    }
  }

  private missOf(
    plan: Plan,
    profiler: Profiler,
    run: ExecutionContext,
    tables: DefinitionTables | null,
  ): DecisionTrace['nearestMiss'] {
    const { at, miss } = nearestMiss(plan, profiler, run, tables)
    const written = this.written.inMiss(miss)
    if (written === null || tables === null) return written
    return { ...written, stopped: { ...written.stopped, alternatives: missedAlternatives(at, run, tables) } }
  }

  /** A node is known if any graph of the condition has it. */
  private unknownNodes(graphs: readonly Snapshot[], externalIds: readonly string[]): string[] {
    const { fixed, types } = this.accessQuery
    const isUnknown = (name: string, i: number): boolean =>
      graphs.every((graph) => nodeByKey(graph, types.get(name)!, externalIds[i]!) === 0)
    return fixed.filter(isUnknown)
  }
}

/** The text of a plan, with the rows and reads of each operator at the end of its line. */
export function explainProfile(plan: Plan, profiler: Profiler): string {
  return explain(plan, (operator) => {
    const { rows, reads } = profiler.profileOf(operator)
    return `  (rows ${rows}, reads ${reads})`
  })
}

/** A described plan with what the profiler measured. */
export function profileOf(node: PlanNode, profiler: Profiler): ProfileNode {
  const { rows, reads, timeMs } = profiler.profileOf(node.plan)
  const children = node.children.map((child) => ({ role: child.role, node: profileOf(child.node, profiler) }))
  return { operator: node.operator, detail: node.detail, rows, reads, timeMs, children }
}

/** Shows elements without names as the author wrote them, instead of by the names of their slots. */
class AnonymousElements {
  private readonly texts = new Map<string, string>()

  constructor(query: BoundQuery, text: string) {
    this.collect(query, text)
  }

  inMiss(miss: DecisionTrace['nearestMiss']): DecisionTrace['nearestMiss'] {
    if (miss === null) return null
    const { reached, stopped } = miss
    const { step, says, comparisons } = stopped
    return {
      reached: reached && { ...reached, step: this.inText(reached.step) },
      stopped: {
        ...stopped,
        step: this.inText(step),
        says: this.inText(says),
        comparisons: comparisons.map(({ text, values }) => ({
          text: this.inText(text),
          values: values.map((value) => ({ ...value, text: this.inText(value.text) })),
        })),
      },
    }
  }

  inProfile(node: ProfileNode): ProfileNode {
    const children = node.children.map((child) => ({ ...child, node: this.inProfile(child.node) }))
    return { ...node, detail: this.inText(node.detail), children }
  }

  /** `(anon_1)` is the pattern of a node, and `anon_1` alone an element of a predicate. */
  private inText(text: string): string {
    return text.replace(
      /\((anon_\d+)\)|\banon_\d+\b/g,
      (found, inside?: string) => this.texts.get(inside ?? found) ?? found,
    )
  }

  private collect(tree: unknown, text: string): void {
    if (tree === null || typeof tree !== 'object') return
    const { kind, name, span } = tree as Partial<Slot>
    if (span !== undefined && name?.startsWith('anon_')) {
      const pattern = text.slice(span.start, span.end).replace(/\s+/g, ' ')
      // Of a relationship only the brackets: its arrows lead to other elements.
      this.texts.set(name, kind === 'node' ? pattern : (/\[.*\]/s.exec(pattern)?.[0] ?? '[]'))
    }
    for (const child of Object.values(tree)) this.collect(child, text)
  }
}

type MissedPattern = NonNullable<DecisionTrace['nearestMiss']>

/** The step that removed all rows, and the last row before it; null if no step had one. */
interface BlockedAt {
  readonly blocking: Plan
  readonly row: readonly unknown[] | null
}

function nearestMiss(
  plan: Plan,
  profiler: Profiler,
  run: ExecutionContext,
  tables: DefinitionTables | null,
): { readonly at: BlockedAt; readonly miss: MissedPattern } {
  // `First` only passes a row on, so the blocking step is at least one operator below the root.
  let blocking = plan
  const stopped = { comparisons: [] as readonly FailedComparison[], alternatives: [] }
  for (let at: Plan | null = plan; at; at = sourceOfRows(at, profiler)) {
    const { rows, lastRow } = profiler.profileOf(at)
    if (rows > 0 && lastRow) {
      const reached = { step: describeStep(at), rows, sample: matchedElements(at, lastRow, run, profiler, tables) }
      const comparisons = blocking.op === 'Filter' ? failedComparisons(blocking.predicates, lastRow, run) : []
      const step = blockingStep(blocking, profiler, run, tables)
      return { at: { blocking, row: lastRow }, miss: { reached, stopped: { ...stopped, ...step, comparisons } } }
    }
    blocking = at
  }
  const step = blockingStep(blocking, profiler, run, tables)
  return { at: { blocking, row: null }, miss: { reached: null, stopped: { ...stopped, ...step } } }
}

/** How far each alternative came, if the step is one over a definition. */
function missedAlternatives(
  { blocking, row }: BlockedAt,
  run: ExecutionContext,
  tables: DefinitionTables,
): readonly MissedAlternative[] {
  if (blocking.op !== 'DerivedExpand' || row === null) return []
  const { from, to, into, direction, derived } = blocking
  const near = row[from.index] as NodeId
  const far = into ? (row[to.index] as NodeId) : 0
  if (near === 0 || (into && far === 0)) return []
  const ends = direction === 'out' ? { source: near, target: far } : { source: far, target: near }
  const missed: MissedAlternative[] = []
  tables.profileAlternatives(
    derived,
    run,
    run.graphs[from.graph]!,
    ends,
    ({ alternative, plan, run: own }, profiler) => {
      const { reached, stopped } = nearestMiss(plan, profiler, own, tables).miss
      const { step, says, comparisons } = stopped
      missed.push({
        alternative,
        reached: reached && { ...reached, step: withoutNames(reached.step) },
        stopped: {
          step: withoutNames(step),
          says: withoutNames(says),
          comparisons: comparisons.map(({ text, values }) => ({
            text: withoutNames(text),
            values: values.map((value) => ({ ...value, text: withoutNames(value.text) })),
          })),
        },
      })
    },
  )
  return missed
}

/** The text of a definition is not at hand: an element without a name is shown without one. */
function withoutNames(text: string): string {
  return text.replace(/\banon_\d+\b/g, '')
}

function describeStep(plan: Plan): string {
  const { operator, detail } = describe(plan)
  return `${operator} ${detail}`.trimEnd()
}

type BlockingStep = Omit<MissedPattern['stopped'], 'comparisons' | 'alternatives'>

function blockingStep(
  plan: Plan,
  profiler: Profiler,
  run: ExecutionContext,
  tables: DefinitionTables | null,
): BlockingStep {
  const step = describeStep(plan)
  if (plan.op !== 'SemiApply') return { step, rows: 0, says: blockedText(plan), found: null }
  const pattern = describePattern(plan.inner)
  if (!plan.negated) return { step, rows: 0, says: `no match for the pattern: ${pattern}`, found: null }
  const { lastRow } = profiler.profileOf(plan.inner)
  const found = lastRow ? matchedElements(plan.inner, lastRow, run, profiler, tables) : null
  return { step, rows: 0, says: `the excluded pattern matches: ${pattern}`, found }
}

function blockedText(plan: Exclude<Plan, PlanOf<'SemiApply'>>): string {
  const { detail } = describe(plan)
  const { missing } = descriptorOf<Plan>(plan)
  switch (missing) {
    case 'predicate':
      return `the predicate is not true: ${detail}`
    case 'relationship':
      return `no relationship matches ${detail}`
    case 'node':
      return `no node matches ${detail}`
    case 'given-node':
      return 'a given node does not have the type or the properties of the pattern'
    case 'row':
      return `no rows from ${describeStep(plan)}`
    default:
      return assertNever(missing)
  }
}

/** The pattern of a subplan: the details of its operators, in the order in which they run. */
function describePattern(plan: Plan): string {
  const steps: string[] = []
  for (let at: Plan | null = plan; at; at = inputOf(at)) {
    const { detail } = describe(at)
    if (detail !== '' && at.op !== 'Argument') steps.unshift(detail)
  }
  return steps.join(', ')
}

/** The plan that should have delivered the rows that an operator did not return. */
function sourceOfRows(plan: Plan, profiler: Profiler): Plan | null {
  if (plan.op === 'Union') return furthestBranch(plan.branches, profiler)
  if (!('inner' in plan) || descriptorOf(plan).inner === 'optional') return inputOf(plan)
  // If the outer plan had a row, the inner plan had none; or, negated, the inner plan had one and dropped the outer row.
  const negated = plan.op === 'SemiApply' && plan.negated
  return profiler.profileOf(plan.input).rows > 0 && !negated ? plan.inner : plan.input
}

/** The first of the branches in which the most steps had rows. */
function furthestBranch(branches: readonly Plan[], profiler: Profiler): Plan {
  const steps = branches.map((branch) => stepsWithRows(branch, profiler))
  return branches[steps.indexOf(Math.max(...steps))]!
}

function stepsWithRows(plan: Plan, profiler: Profiler): number {
  let steps = 0
  for (let at: Plan | null = plan; at; ) {
    if (at.op !== 'Argument' && profiler.profileOf(at).rows > 0) steps += 1
    const next = sourceOfRows(at, profiler)
    // The steps of an outer plan had rows before those of the inner one: as of the branch of WHEN that applies.
    if ('inner' in at && next === at.inner) steps += stepsWithRows(at.input, profiler)
    at = next
  }
  return steps
}

function matchedElements(
  plan: Plan,
  frame: readonly unknown[],
  run: ExecutionContext,
  profiler: Profiler,
  tables: DefinitionTables | null,
): MatchedPattern {
  const { graphs } = run
  const collector: MatchCollector = { nodes: new Map(), relationships: new Map() }
  collectMatched(plan, frame, graphs, profiler, collector)
  return {
    nodes: [...collector.nodes.values()],
    relationships: [...collector.relationships.values()],
    derived: tables === null ? [] : derivationsOf(plan, frame, run, tables),
  }
}

/** The derived relationships of a row, and all that they follow from, breadth-first. */
function derivationsOf(
  plan: Plan,
  frame: readonly unknown[],
  run: ExecutionContext,
  { derivations }: DefinitionTables,
): readonly ExplainedDerivation[] {
  const found = new Map<Derivation, ExplainedDerivation>()
  let level = readablePairs(plan, frame, run.graphs)
  while (level.length > 0) {
    const next: PairInGraph[] = []
    for (const { snapshot, pair } of level) {
      const derivation = derivations?.get(snapshot, pair)
      if (derivation === undefined || found.has(derivation)) continue
      if (found.size === DERIVATIONS_MAX) return [...found.values()]
      const { alternative, plan: own, frame: row, resumedWith } = derivation
      run.budget.chargeSteps(1 + row.length)
      const collector: MatchCollector = { nodes: new Map(), relationships: new Map() }
      collectMatched(own, row, [snapshot], new Profiler(), collector)
      const pairs = readablePairs(own, row, [snapshot])
      const premises = eachOnce(resumedWith === null ? pairs : [{ snapshot, pair: resumedWith }, ...pairs])
      found.set(derivation, {
        ...derivedRelationship(pair, snapshot),
        alternative,
        relationships: [...collector.relationships.values()].map((one) => ({ ...one, variable: null })),
        derived: premises.map((one) => derivedRelationship(one.pair, snapshot)),
      })
      next.push(...premises)
    }
    level = next
  }
  return [...found.values()]
}

function eachOnce(pairs: readonly PairInGraph[]): readonly PairInGraph[] {
  return [...new Map(pairs.map((one) => [`${one.pair.source} ${one.pair.target} ${one.pair.name}`, one])).values()]
}

interface PairInGraph {
  readonly snapshot: Snapshot
  readonly pair: DerivedPair
}

/** The pairs of the steps over definitions that produced a row. */
function readablePairs(plan: Plan, frame: readonly unknown[], graphs: readonly Snapshot[]): readonly PairInGraph[] {
  const before = descriptorOf(plan)
    .readableInputs(plan)
    .flatMap((input) => readablePairs(input, frame, graphs))
  if (plan.op !== 'DerivedExpand') return before
  const { name, from, to, direction } = plan
  const [near, far] = [frame[from.index], frame[to.index]] as [NodeId, NodeId]
  const [source, target] = direction === 'out' ? [near, far] : [far, near]
  return [...before, { snapshot: graphs[from.graph]!, pair: { name, source, target } }]
}

function derivedRelationship({ name, source, target }: DerivedPair, snapshot: Snapshot): DerivedRelationship {
  return { type: name, source: elementKeyOf(snapshot, source), target: elementKeyOf(snapshot, target) }
}

/** Matched elements by graph and id. */
interface MatchCollector {
  readonly nodes: Map<string, MatchedNode>
  readonly relationships: Map<string, MatchedRelationship>
}

function collectMatched(
  plan: Plan,
  frame: readonly unknown[],
  graphs: readonly Snapshot[],
  profiler: Profiler,
  collector: MatchCollector,
): void {
  const { nodes, relationships } = collector
  for (const slot of readableElements(plan)) {
    const snapshot = graphs[slot.graph]!
    const content = frame[slot.index]
    if (slot.kind === 'node') {
      if (content === 0 || content === null) continue
      const id = `${slot.graph} ${content}`
      const variable = nodes.get(id)?.variable ?? variableOf(slot)
      nodes.set(id, { variable, ...elementKeyOf(snapshot, content as NodeId) })
      continue
    }
    for (const id of Array.isArray(content) ? (content as RelationshipId[]) : [content as RelationshipId]) {
      if (id !== 0 && id !== null) relationships.set(`${slot.graph} ${id}`, matchedRelationship(slot, id, snapshot))
    }
  }
  for (const { branches } of readableUnions(plan)) {
    const [latest] = branches.toSorted(
      (a, b) => profiler.profileOf(b).lastRowNumber - profiler.profileOf(a).lastRowNumber,
    )
    const lastRow = latest && profiler.profileOf(latest).lastRow
    if (lastRow) collectMatched(latest, lastRow, graphs, profiler, collector)
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

/** Names of the planner's own slots contain a character that no unquoted variable has. */
function variableOf(slot: Slot): string | null {
  return slot.name.startsWith('anon_') || slot.name.endsWith("'") ? null : slot.name
}
