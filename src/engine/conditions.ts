// The service's entry point for policy conditions: a text that binds `subject` and `resource` is compiled once, then used for
// checks, for searches in both directions, and for explanations.
import type { Diagnostic } from '../../grammar/diagnostic.ts'
import { assert } from '../kernel/assert.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import type { BoundQuery, GraphReference, NamedSymbol } from './bind/bound.ts'
import type { Definitions } from './bind/definitions.ts'
import { type DialectName, dialects } from './bind/dialect.ts'
import { propertyNamesIn } from './bind/expression-tree.ts'
import { type GraphDependencies, graphDependencies } from './bind/graph-dependencies.ts'
import { partMayFail } from './bind/may-fail.ts'
import { possibleRows } from './bind/possible-rows.ts'
import { type DecisionTrace, DecisionTracer } from './decision-trace.ts'
import { ExecutionError } from './errors.ts'
import type { GraphCounts } from './plan/expand-order.ts'
import type { PlanNode } from './plan/explain.ts'
import { defaultOptions, type EngineOptions, type QueryContext } from './planned-query.ts'
import { compileText, findUnboundVariables, type NodePage, PreparedQuery } from './prepared-query.ts'
import { type AccessQuery, resolveNodeVariable } from './relation-query.ts'
import type { NodeId, Snapshot } from './store.ts'

export type { GraphReference } from './bind/bound.ts'
export type { Definitions } from './bind/definitions.ts'
export { type DialectName, platformParameters } from './bind/dialect.ts'
export type { GraphDependencies } from './bind/graph-dependencies.ts'
export { Budget, type BudgetLimits } from './budget.ts'
export type { DecisionTrace, MatchedPattern, ProfileNode } from './decision-trace.ts'
export { KnownGoals } from './exec/known-goals.ts'
export type { FailedComparison } from './failed-comparisons.ts'
export { PlanUses } from './plan-uses.ts'
export type { EngineOptions, QueryContext } from './planned-query.ts'
export type { NodePage } from './prepared-query.ts'

/** A graph that a condition names by USE. */
type LocationReference = Exclude<GraphReference, { readonly kind: 'default' }>

/** The text of a condition, and the types of its two nodes. */
interface ConditionInput {
  readonly text: string
  readonly dialect: DialectName
  readonly subjectType: string
  readonly resourceType: string
  /** The derived relationship types that the text can use; absent: none. */
  readonly definitions?: Definitions
  /** True: a pair is in the relation unless a condition of the text is definitely false. Default: only if all are true. */
  readonly keepsUnknown?: boolean
}

/**
 * A compiled condition: the relation of all (subject, resource) pairs of the given types for which the pattern has a row. The
 * check and both searches read this one relation, so a search contains x exactly if the check with x is true.
 * All methods that run the condition are synchronous and throw ExecutionError (type, missing parameter, budget).
 */
export interface PolicyCondition {
  /** The names of the parameters that the text reads, without `$`, in the order of the text. */
  readonly parameters: readonly string[]
  /** The graphs that the text names by USE, each once: a location, or the parameter that names one (not in `parameters`). */
  readonly locations: readonly LocationReference[]
  /** The labels, relationship types and properties that the text names. */
  readonly symbols: readonly NamedSymbol[]
  /** What decisions depend on in the graph. Computed at the first use. */
  readonly dependencies: GraphDependencies
  /**
   * Whether a run on these graphs may end with an error other than a limit. A search and a check use different plans and need
   * not meet the same errors, so results of such a search must be confirmed by the check.
   */
  mayFail(graphs: Iterable<Snapshot>): boolean
  /** Whether the pair is in the relation. False if a node does not exist. Ids are external ids. */
  check(context: QueryContext, subjectId: string, resourceId: string): boolean
  /** Whether the methods `…Node` and `…Nodes` can be called: the condition binds both variables in the default graph. */
  readonly isInDefaultGraph: boolean
  /** As `check`, with nodes of the default graph, which must have the two types. Only if `isInDefaultGraph`. */
  checkNodes(context: QueryContext, subject: NodeId, resource: NodeId): boolean
  /** External ids of all resources for the subject, each once, ordered by node id: stable while the graph does not change. */
  resources(context: QueryContext, subjectId: string): string[]
  /** External ids of all subjects for the resource, each once, ordered by node id. */
  subjects(context: QueryContext, resourceId: string): string[]
  /** The graph that holds all nodes that a search for that end finds; null if they may be in several graphs. */
  targetGraph(end: 'resource' | 'subject'): GraphReference | null
  /**
   * The resources with node ids greater than `after`; only if `targetGraph` is not null. Returns at least `enough` nodes if
   * there are as many. If `isComplete` is false there may be more.
   */
  resourcesAfter(context: QueryContext, subjectId: string, after: NodeId, enough: number): NodePage
  /** The subjects with node ids greater than `after`; as `resourcesAfter`. */
  subjectsAfter(context: QueryContext, resourceId: string, after: NodeId, enough: number): NodePage
  /** As `resourcesAfter`, with a node as `checkNodes` takes it. */
  resourcesOfNode(context: QueryContext, subject: NodeId, after: NodeId, enough: number): NodePage
  /** As `subjectsAfter`, with a node as `checkNodes` takes it. */
  subjectsOfNode(context: QueryContext, resource: NodeId, after: NodeId, enough: number): NodePage
  /** Decides once more, and explains the decision. */
  trace(context: QueryContext, subjectId: string, resourceId: string): DecisionTrace
  /** Stable text of the plan for one of the three uses. */
  explain(use: 'check' | 'resources' | 'subjects'): string
  /** The same plan as data, for a graph with these counts. */
  describe(use: 'check' | 'resources' | 'subjects', counts: GraphCounts): PlanNode
}

/** Compiles a condition. The error holds the diagnostics of the text. */
export function compileCondition(
  input: ConditionInput,
  options: EngineOptions = defaultOptions,
): Result<PolicyCondition, readonly Diagnostic[]> {
  const compiled = compileText(input.text, input.dialect, 'condition', input.definitions)
  if (!compiled.ok) return compiled
  const { bound, query } = compiled.value
  const diagnostics = findUnboundVariables(bound, ['subject', 'resource'], query.span)
  if (diagnostics.length > 0) return err(diagnostics)
  const rows = rowsOf(bound, input)
  return rows.ok ? ok(new CompiledPolicyCondition(rows.value, input, options)) : rows
}

function rowsOf(query: BoundQuery, { keepsUnknown = false }: ConditionInput): ReturnType<typeof possibleRows> {
  return keepsUnknown ? possibleRows(query) : ok(query)
}

/** The query over the definitions as their text has them, which an explanation shows. */
function asWritten(query: BoundQuery, input: ConditionInput): BoundQuery {
  const { text, dialect, definitions } = input
  if (!query.usesDefinitions || definitions === undefined) return query
  const compiled = compileText(text, dialect, 'condition', definitions.written)
  assert(compiled.ok, 'a text that was compiled before has no fault')
  const rows = rowsOf(compiled.value.bound, input)
  // Where every definition has a table, a condition in one may be refused that is kept where the definition is in place.
  return rows.ok ? rows.value : query
}

function rejectExternalProperty(property: string): never {
  const message = `external properties cannot be used in data-residency policies: \`${property}\``
  throw new ExecutionError('external', message, property)
}

class CompiledPolicyCondition implements PolicyCondition {
  readonly parameters: readonly string[]
  readonly locations: readonly LocationReference[]
  readonly symbols: readonly NamedSymbol[]
  readonly isInDefaultGraph: boolean
  private readonly readDependencies: () => GraphDependencies
  private knownDependencies: GraphDependencies | null = null
  private readonly alwaysMayFail: boolean
  private readonly propertyNames: ReadonlySet<string>
  private readonly makeTracer: () => DecisionTracer
  private tracer: DecisionTracer | null = null
  private readonly queries: Readonly<Record<'check' | 'resources' | 'subjects', PreparedQuery>>

  constructor(query: BoundQuery, input: ConditionInput, options: EngineOptions) {
    this.parameters = query.parameters
    this.symbols = query.symbols
    this.locations = query.graphs.filter((graph) => graph.kind !== 'default')
    this.alwaysMayFail = partMayFail(query)
    this.propertyNames = propertyNamesIn(query)
    const types = new Map([
      ['subject', input.subjectType],
      ['resource', input.resourceType],
    ])
    this.readDependencies = () =>
      graphDependencies(
        query,
        [...types].flatMap(([name, type]) => {
          const slot = resolveNodeVariable(query, name)
          return typeof slot === 'string' ? [] : [[slot, type] as const]
        }),
      )
    const check: AccessQuery = { fixed: ['subject', 'resource'], returns: 'exists', types }
    const refusesExternal = dialects[input.dialect].externalProperties === 'refused'
    this.makeTracer = () => new DecisionTracer(asWritten(query, input), check, options, input.text)
    this.queries = {
      check: new PreparedQuery(query, check, options, {
        onUnknownProperty: refusesExternal ? rejectExternalProperty : null,
      }),
      resources: new PreparedQuery(query, { fixed: ['subject'], returns: { nodesOf: 'resource' }, types }, options),
      subjects: new PreparedQuery(query, { fixed: ['resource'], returns: { nodesOf: 'subject' }, types }, options),
    }
    const { check: checked, ...searches } = this.queries
    this.isInDefaultGraph =
      checked.isFixedByNode &&
      Object.values(searches).every(
        ({ isFixedByNode, targetGraph }) => isFixedByNode && targetGraph?.kind === 'default',
      )
  }

  get dependencies(): GraphDependencies {
    this.knownDependencies ??= this.readDependencies()
    return this.knownDependencies
  }

  mayFail(graphs: Iterable<Snapshot>): boolean {
    if (this.alwaysMayFail) return true
    for (const graph of graphs) for (const name of this.propertyNames) if (graph.mayBeSupplied(name)) return true
    return false
  }

  check(context: QueryContext, subjectId: string, resourceId: string): boolean {
    return this.queries.check.exists(context, [subjectId, resourceId])
  }

  checkNodes(context: QueryContext, subject: NodeId, resource: NodeId): boolean {
    return this.queries.check.existsAt(context, [subject, resource])
  }

  resources(context: QueryContext, subjectId: string): string[] {
    return this.queries.resources.findExternalIds(context, [subjectId])
  }

  subjects(context: QueryContext, resourceId: string): string[] {
    return this.queries.subjects.findExternalIds(context, [resourceId])
  }

  targetGraph(end: 'resource' | 'subject'): GraphReference | null {
    return this.queries[end === 'resource' ? 'resources' : 'subjects'].targetGraph
  }

  resourcesAfter(context: QueryContext, subjectId: string, after: NodeId, enough: number): NodePage {
    return this.queries.resources.seekAfter(context, [subjectId], after, enough)
  }

  subjectsAfter(context: QueryContext, resourceId: string, after: NodeId, enough: number): NodePage {
    return this.queries.subjects.seekAfter(context, [resourceId], after, enough)
  }

  resourcesOfNode(context: QueryContext, subject: NodeId, after: NodeId, enough: number): NodePage {
    return this.queries.resources.seekAfterAt(context, [subject], after, enough)
  }

  subjectsOfNode(context: QueryContext, resource: NodeId, after: NodeId, enough: number): NodePage {
    return this.queries.subjects.seekAfterAt(context, [resource], after, enough)
  }

  trace(context: QueryContext, subjectId: string, resourceId: string): DecisionTrace {
    this.tracer ??= this.makeTracer()
    return this.tracer.trace(context, [subjectId, resourceId])
  }

  explain(use: 'check' | 'resources' | 'subjects'): string {
    return this.queries[use].explain()
  }

  describe(use: 'check' | 'resources' | 'subjects', counts: GraphCounts): PlanNode {
    return this.queries[use].describe(counts)
  }
}
