// A policy condition: compiled once, asked three questions.
import type { Query, Span } from '../../grammar/ast.ts'
import { parse } from '../../grammar/index.ts'
import type { Issue } from '../../grammar/issue.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { bindQuery } from './bind/bind-query.ts'
import type { BoundQuery, GraphReference } from './bind/bound.ts'
import { type DialectName, dialects } from './bind/dialect.ts'
import { partMayFault, propertyNamesIn } from './bind/may-fault.ts'
import { RunFault } from './errors.ts'
import { explain } from './plan/explain.ts'
import { unknownCounts } from './plan/order-expands.ts'
import { type Asking, defaultOptions, type EngineOptions } from './planned-query.ts'
import { Answerer, type NodesBehind, nodeVariable, type Question } from './questions.ts'
import type { NodeId, Snapshot } from './store.ts'
import { mayBeExternal } from './value/external.ts'
import { Explainer, type Why } from './why.ts'

export type { GraphReference } from './bind/bound.ts'
export { type DialectName, platformParameters } from './bind/dialect.ts'
export { Budget, type BudgetLimits } from './exec/context.ts'
export type { Asking, EngineOptions } from './planned-query.ts'
export type { NodesBehind } from './questions.ts'
export type { Matched, ProfileNode, Why } from './why.ts'

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
export interface Condition {
  /** Without `$`, in the order of the text. */
  readonly parameters: readonly string[]
  /** What the text names by USE, each once: a location, or the parameter that brings one (it is not among `parameters`). */
  readonly locations: readonly LocationReference[]
  /**
   * Some runs on these graphs may end in a RunFault other than a limit. A search and a check walk different ways and need not meet the
   * same faults, so what a search finds is then to be confirmed by the check.
   */
  mayFault(graphs: Iterable<Snapshot>): boolean
  /** False when a node is unknown. */
  check(asking: Asking, subjectId: string, resourceId: string): boolean
  /** External ids of all resources for the subject, each once, ascending by node id (stable while the graph is unchanged). */
  resources(asking: Asking, subjectId: string): string[]
  subjects(asking: Asking, resourceId: string): string[]
  /** The graph whose nodes a search for that end finds; null: nodes of several. */
  soughtIn(end: 'resource' | 'subject'): GraphReference | null
  /**
   * For an end of which `soughtIn` tells: what the search finds behind a node of that graph, `enough` of it or more where
   * there is as much. Without `isAll` there may be more, and none of it was looked for.
   */
  resourcesBehind(asking: Asking, subjectId: string, after: NodeId, enough: number): NodesBehind
  subjectsBehind(asking: Asking, resourceId: string, after: NodeId, enough: number): NodesBehind
  /** Why the check says what it says. */
  why(asking: Asking, subjectId: string, resourceId: string): Why
  /** Stable text of the plan for a question. */
  explain(question: 'check' | 'resources' | 'subjects'): string
}

export function compileCondition(
  input: ConditionInput,
  options: EngineOptions = defaultOptions,
): Result<Condition, readonly Issue[]> {
  const parsed = parse(input.text)
  if (!parsed.ok) return err(parsed.issues)
  const bound = bindQuery(parsed.query, dialects[input.dialect], 'condition')
  if (!bound.ok) return bound
  const issues = unboundVariables(bound.value, parsed.query)
  return issues.length > 0 ? err(issues) : ok(new CompiledCondition(bound.value, input, options))
}

function unboundVariables(query: BoundQuery, { span }: Query): Issue[] {
  const whole: Span = { start: span.start, end: span.end }
  return ['subject', 'resource'].flatMap((name) => {
    const found = nodeVariable(query, name)
    return typeof found === 'string' ? [{ code: 'UnboundVariable', message: found, span: whole }] : []
  })
}

function refuse(property: string): never {
  const message = `external properties cannot be used in data-residency policies: \`${property}\``
  throw new RunFault('external', message, property)
}

class CompiledCondition implements Condition {
  readonly parameters: readonly string[]
  readonly locations: readonly LocationReference[]
  private readonly faultsAnywhere: boolean
  private readonly propertyNames: ReadonlySet<string>
  private readonly makeExplainer: () => Explainer
  private explainer: Explainer | null = null
  private readonly answerers: Readonly<Record<'check' | 'resources' | 'subjects', Answerer>>

  constructor(query: BoundQuery, input: ConditionInput, options: EngineOptions) {
    this.parameters = query.parameters
    this.locations = query.graphs.filter((graph) => graph.kind !== 'default')
    this.faultsAnywhere = partMayFault(query)
    this.propertyNames = propertyNamesIn(query)
    const types = new Map([
      ['subject', input.subjectType],
      ['resource', input.resourceType],
    ])
    const check: Question = { given: ['subject', 'resource'], sought: null, types }
    this.makeExplainer = () => new Explainer(query, check, options)
    this.answerers = {
      check: new Answerer(
        query,
        check,
        options,
        dialects[input.dialect].externalProperties === 'refused' ? refuse : null,
      ),
      resources: new Answerer(query, { given: ['subject'], sought: 'resource', types }, options),
      subjects: new Answerer(query, { given: ['resource'], sought: 'subject', types }, options),
    }
  }

  mayFault(graphs: Iterable<Snapshot>): boolean {
    if (this.faultsAnywhere) return true
    for (const graph of graphs) for (const name of this.propertyNames) if (mayBeExternal(graph, name)) return true
    return false
  }

  check(asking: Asking, subjectId: string, resourceId: string): boolean {
    return this.answerers.check.exists(asking, [subjectId, resourceId])
  }

  resources(asking: Asking, subjectId: string): string[] {
    return this.answerers.resources.findExternalIds(asking, [subjectId])
  }

  subjects(asking: Asking, resourceId: string): string[] {
    return this.answerers.subjects.findExternalIds(asking, [resourceId])
  }

  soughtIn(end: 'resource' | 'subject'): GraphReference | null {
    return this.answerers[end === 'resource' ? 'resources' : 'subjects'].soughtIn
  }

  resourcesBehind(asking: Asking, subjectId: string, after: NodeId, enough: number): NodesBehind {
    return this.answerers.resources.findBehind(asking, [subjectId], after, enough)
  }

  subjectsBehind(asking: Asking, resourceId: string, after: NodeId, enough: number): NodesBehind {
    return this.answerers.subjects.findBehind(asking, [resourceId], after, enough)
  }

  why(asking: Asking, subjectId: string, resourceId: string): Why {
    this.explainer ??= this.makeExplainer()
    return this.explainer.why(asking, [subjectId, resourceId])
  }

  explain(question: 'check' | 'resources' | 'subjects'): string {
    return explain(this.answerers[question].planned.plan(unknownCounts).plan)
  }
}
