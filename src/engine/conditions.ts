// A policy condition: compiled once, asked three questions.
import type { Query, Span } from '../../grammar/ast.ts'
import { parse } from '../../grammar/index.ts'
import type { Issue } from '../../grammar/issue.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { bindQuery } from './bind/bind-query.ts'
import type { BoundQuery } from './bind/bound.ts'
import { type DialectName, dialects } from './bind/dialect.ts'
import { type Asking, defaultOptions, type EngineOptions } from './planned-query.ts'
import { type Answerer, nodeByKey, nodeVariable, planQuestion } from './questions.ts'
import type { NodeId } from './store.ts'

export type { DialectName } from './bind/dialect.ts'
export type { BudgetLimits } from './exec/context.ts'
export type { Asking, EngineOptions } from './planned-query.ts'

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
  /** False when a node is unknown. */
  check(asking: Asking, subjectId: string, resourceId: string): boolean
  /** External ids of all resources for the subject, each once, ascending by node id (stable while the graph is unchanged). */
  resources(asking: Asking, subjectId: string): string[]
  subjects(asking: Asking, resourceId: string): string[]
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

class CompiledCondition implements Condition {
  readonly parameters: readonly string[]
  private readonly subjectType: string
  private readonly resourceType: string
  private readonly answerers: Readonly<Record<'check' | 'resources' | 'subjects', Answerer>>

  constructor(query: BoundQuery, input: ConditionInput, options: EngineOptions) {
    this.parameters = query.parameters
    this.subjectType = input.subjectType
    this.resourceType = input.resourceType
    const types = { subject: input.subjectType, resource: input.resourceType }
    this.answerers = {
      check: planQuestion(query, { given: ['subject', 'resource'], sought: null, types }, options),
      resources: planQuestion(query, { given: ['subject'], sought: 'resource', types }, options),
      subjects: planQuestion(query, { given: ['resource'], sought: 'subject', types }, options),
    }
  }

  check(asking: Asking, subjectId: string, resourceId: string): boolean {
    const subject = nodeByKey(asking.snapshot, this.subjectType, subjectId)
    if (subject === 0) return false
    const resource = nodeByKey(asking.snapshot, this.resourceType, resourceId)
    return resource !== 0 && this.answerers.check.exists(asking, [subject, resource])
  }

  resources(asking: Asking, subjectId: string): string[] {
    const subject = nodeByKey(asking.snapshot, this.subjectType, subjectId)
    return externalIds(asking, this.answerers.resources.find(asking, [subject]))
  }

  subjects(asking: Asking, resourceId: string): string[] {
    const resource = nodeByKey(asking.snapshot, this.resourceType, resourceId)
    return externalIds(asking, this.answerers.subjects.find(asking, [resource]))
  }

  explain(question: 'check' | 'resources' | 'subjects'): string {
    return this.answerers[question].explain()
  }
}

function externalIds({ snapshot }: Asking, nodes: readonly NodeId[]): string[] {
  return nodes.map((node) => snapshot.nodeOwn(node, 'external_id') as string)
}
