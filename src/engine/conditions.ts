// A policy condition: compiled once, asked three questions.
import type { Query, Span } from '../../grammar/ast.ts'
import type { Diagnostic } from '../../grammar/diagnostic.ts'
import { parse } from '../../grammar/index.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { bindQuery } from './bind/bind-query.ts'
import type { BoundQuery, GraphReference } from './bind/bound.ts'
import { type DialectName, dialects } from './bind/dialect.ts'
import { propertyNamesIn } from './bind/expression-tree.ts'
import { partMayFail } from './bind/may-fail.ts'
import { type DecisionTrace, DecisionTracer } from './decision-trace.ts'
import { ExecutionError } from './errors.ts'
import { assumedCounts } from './plan/expand-order.ts'
import { explain } from './plan/explain.ts'
import { defaultOptions, type EngineOptions, type QueryContext } from './planned-query.ts'
import { type AccessQuery, type NodePage, PreparedQuery, resolveNodeVariable } from './relation-query.ts'
import type { NodeId, Snapshot } from './store.ts'
import { mayHaveExternal } from './value/external-properties.ts'

export type { GraphReference } from './bind/bound.ts'
export { type DialectName, platformParameters } from './bind/dialect.ts'
export { Budget, type BudgetLimits } from './budget.ts'
export type { DecisionTrace, MatchedPattern, ProfileNode } from './decision-trace.ts'
export type { EngineOptions, QueryContext } from './planned-query.ts'
export type { NodePage } from './relation-query.ts'

export type LocationReference = Exclude<GraphReference, { readonly kind: 'default' }>

export interface ConditionInput {
  readonly text: string
  readonly dialect: DialectName
  readonly subjectType: string
  readonly resourceType: string
}

/**
 * A condition that binds `subject` and `resource`: the relation of all (subject, resource) pairs of the given types for
 * which the pattern has a row. Each question asks that one relation, so a search contains x exactly when the check is true.
 * All methods are synchronous and may throw RunFault (missing parameter, type, budget).
 */
export interface PolicyCondition {
  /** Without `$`, in the order of the text. */
  readonly parameters: readonly string[]
  /** What the text names by USE, each once: a location, or the parameter that brings one (it is not among `parameters`). */
  readonly locations: readonly LocationReference[]
  /**
   * Some runs on these graphs may end in a RunFault other than a limit. A search and a check walk different ways and need not meet the
   * same faults, so what a search finds is then to be confirmed by the check.
   */
  mayFail(graphs: Iterable<Snapshot>): boolean
  /** False when a node is unknown. */
  check(asking: QueryContext, subjectId: string, resourceId: string): boolean
  /** External ids of all resources for the subject, each once, ascending by node id (stable while the graph is unchanged). */
  resources(asking: QueryContext, subjectId: string): string[]
  subjects(asking: QueryContext, resourceId: string): string[]
  /** The graph whose nodes a search for that end finds; null: nodes of several. */
  targetGraph(end: 'resource' | 'subject'): GraphReference | null
  /**
   * For an end of which `soughtIn` tells: what the search finds behind a node of that graph, `enough` of it or more where
   * there is as much. Without `isComplete` there may be more, and none of it was looked for.
   */
  resourcesAfter(asking: QueryContext, subjectId: string, after: NodeId, enough: number): NodePage
  subjectsAfter(asking: QueryContext, resourceId: string, after: NodeId, enough: number): NodePage
  /** Why the check says what it says. */
  trace(asking: QueryContext, subjectId: string, resourceId: string): DecisionTrace
  /** Stable text of the plan for a question. */
  explain(question: 'check' | 'resources' | 'subjects'): string
}

export function compileCondition(
  input: ConditionInput,
  options: EngineOptions = defaultOptions,
): Result<PolicyCondition, readonly Diagnostic[]> {
  const parsed = parse(input.text)
  if (!parsed.ok) return err(parsed.diagnostics)
  const bound = bindQuery(parsed.query, dialects[input.dialect], 'condition')
  if (!bound.ok) return bound
  const diagnostics = findUnboundVariables(bound.value, parsed.query)
  return diagnostics.length > 0 ? err(diagnostics) : ok(new CompiledPolicyCondition(bound.value, input, options))
}

function findUnboundVariables(query: BoundQuery, { span }: Query): Diagnostic[] {
  const whole: Span = { start: span.start, end: span.end }
  return ['subject', 'resource'].flatMap((name) => {
    const found = resolveNodeVariable(query, name)
    return typeof found === 'string' ? [{ code: 'UnboundVariable', message: found, span: whole }] : []
  })
}

function rejectExternalProperty(property: string): never {
  const message = `external properties cannot be used in data-residency policies: \`${property}\``
  throw new ExecutionError('external', message, property)
}

class CompiledPolicyCondition implements PolicyCondition {
  readonly parameters: readonly string[]
  readonly locations: readonly LocationReference[]
  private readonly alwaysMayFail: boolean
  private readonly propertyNames: ReadonlySet<string>
  private readonly makeTracer: () => DecisionTracer
  private tracer: DecisionTracer | null = null
  private readonly queries: Readonly<Record<'check' | 'resources' | 'subjects', PreparedQuery>>

  constructor(query: BoundQuery, input: ConditionInput, options: EngineOptions) {
    this.parameters = query.parameters
    this.locations = query.graphs.filter((graph) => graph.kind !== 'default')
    this.alwaysMayFail = partMayFail(query)
    this.propertyNames = propertyNamesIn(query)
    const types = new Map([
      ['subject', input.subjectType],
      ['resource', input.resourceType],
    ])
    const check: AccessQuery = { fixed: ['subject', 'resource'], target: null, types }
    this.makeTracer = () => new DecisionTracer(query, check, options)
    this.queries = {
      check: new PreparedQuery(
        query,
        check,
        options,
        dialects[input.dialect].externalProperties === 'refused' ? rejectExternalProperty : null,
      ),
      resources: new PreparedQuery(query, { fixed: ['subject'], target: 'resource', types }, options),
      subjects: new PreparedQuery(query, { fixed: ['resource'], target: 'subject', types }, options),
    }
  }

  mayFail(graphs: Iterable<Snapshot>): boolean {
    if (this.alwaysMayFail) return true
    for (const graph of graphs) for (const name of this.propertyNames) if (mayHaveExternal(graph, name)) return true
    return false
  }

  check(asking: QueryContext, subjectId: string, resourceId: string): boolean {
    return this.queries.check.exists(asking, [subjectId, resourceId])
  }

  resources(asking: QueryContext, subjectId: string): string[] {
    return this.queries.resources.findExternalIds(asking, [subjectId])
  }

  subjects(asking: QueryContext, resourceId: string): string[] {
    return this.queries.subjects.findExternalIds(asking, [resourceId])
  }

  targetGraph(end: 'resource' | 'subject'): GraphReference | null {
    return this.queries[end === 'resource' ? 'resources' : 'subjects'].targetGraph
  }

  resourcesAfter(asking: QueryContext, subjectId: string, after: NodeId, enough: number): NodePage {
    return this.queries.resources.seekAfter(asking, [subjectId], after, enough)
  }

  subjectsAfter(asking: QueryContext, resourceId: string, after: NodeId, enough: number): NodePage {
    return this.queries.subjects.seekAfter(asking, [resourceId], after, enough)
  }

  trace(asking: QueryContext, subjectId: string, resourceId: string): DecisionTrace {
    this.tracer ??= this.makeTracer()
    return this.tracer.trace(asking, [subjectId, resourceId])
  }

  explain(question: 'check' | 'resources' | 'subjects'): string {
    return explain(this.queries[question].planned.plan(assumedCounts).plan)
  }
}
