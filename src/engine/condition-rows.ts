// The service's entry point for context queries: the rows of a condition, read one by one. A filter over the variables of the
// condition is bound together with it, so the planner sees both and the filter can decide where the plan starts.
import type { Expression, Query, SingleQuery } from '../../grammar/ast.ts'
import type { Diagnostic } from '../../grammar/diagnostic.ts'
import { assert } from '../kernel/assert.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { bindQuery } from './bind/bind-query.ts'
import type { BoundQuery, NamedSymbol, SlotKind } from './bind/bound.ts'
import type { Definitions } from './bind/definitions.ts'
import { type DialectName, dialects } from './bind/dialect.ts'
import { pushDownWhere } from './bind/push-down-where.ts'
import type { GraphCounts } from './plan/expand-order.ts'
import type { PlanNode } from './plan/explain.ts'
import { defaultOptions, type EngineOptions, type QueryContext } from './planned-query.ts'
import { compileText, findUnboundVariables, PreparedQuery } from './prepared-query.ts'
import type { RowCursor } from './row-cursor.ts'

export type { Expression } from '../../grammar/ast.ts'
export { scoreExpression } from './bind/score-expression.ts'
export type { RowCursor } from './row-cursor.ts'

/** The text of a condition whose rows are read. */
export interface ConditionRowsInput {
  readonly text: string
  readonly dialect: DialectName
  /** The type of the node `subject`. The text must bind `subject`, and every WITH must keep it in scope. */
  readonly subjectType: string
  /** The derived relationship types that the text can use; absent: none. */
  readonly definitions?: Definitions
}

/** How a variable is held at the end of a text. A `value` can be anything, also an element. */
export type VariableKind = SlotKind

/** A condition that is bound, but has no filter yet. */
export interface FilterableCondition {
  /** The variables in scope at the end of the text. */
  readonly variables: ReadonlyMap<string, VariableKind>
  /** The names of the parameters that the text reads, without `$`, in the order of the text. */
  readonly parameters: readonly string[]
  /** The labels, relationship types and properties that the text names. */
  readonly symbols: readonly NamedSymbol[]
  /**
   * The rows for which the filter is true; all rows for null. Diagnostics are about the filter, and their spans have no
   * meaning.
   */
  withFilter(filter: Expression | null): Result<ConditionRows, readonly Diagnostic[]>
}

/** A condition with its filter, ready to be read. */
export interface ConditionRows {
  readonly variables: ReadonlyMap<string, VariableKind>
  /** The names of the parameters that the text and the filter read, without `$`. */
  readonly parameters: readonly string[]
  /**
   * Starts a run. Rows come one by one, in an order that is stable while the graph does not change, in every process. Only
   * one run at a time. Throws ExecutionError (type, missing parameter, budget), as the cursor does.
   */
  open(context: QueryContext): RowCursor
  /** Stable text of the plan. */
  explain(): string
  /** The same plan as data, for a graph with these counts. */
  describe(counts: GraphCounts): PlanNode
}

/** Compiles a condition whose rows are read. The error holds the diagnostics of the text. */
export function compileConditionRows(
  input: ConditionRowsInput,
  options: EngineOptions = defaultOptions,
): Result<FilterableCondition, readonly Diagnostic[]> {
  const compiled = compileText(input.text, input.dialect, 'condition', input.definitions)
  if (!compiled.ok) return compiled
  const { query, bound } = compiled.value
  const dropping = query.parts[0]!.clauses.find(
    (clause) => clause.kind === 'with' && !carriesVariable(clause, 'subject'),
  )
  if (dropping) {
    const message = 'missing required variables in WITH statement: `subject` must stay in scope'
    return err([{ code: 'MissingVariable', message, span: dropping.span }])
  }
  const unbound = findUnboundVariables(bound, ['subject'], query.span)
  if (unbound.length > 0) return err(unbound)
  return ok({
    variables: kindsOf(bound),
    parameters: bound.parameters,
    symbols: bound.symbols,
    withFilter(filter) {
      const whole =
        filter === null
          ? ok(bound)
          : bindQuery(appendFilter(query, filter), dialects[input.dialect], 'condition', input.definitions)
      return whole.ok ? ok(new CompiledConditionRows(whole.value, input.subjectType, options)) : whole
    },
  })
}

function carriesVariable(clause: Extract<SingleQuery['clauses'][number], { kind: 'with' }>, name: string): boolean {
  const isVariable = ({ expression, alias }: (typeof clause.items)[number]): boolean =>
    expression.kind === 'variable' && expression.name === name && (alias === null || alias.text === name)
  return clause.star || clause.items.some(isVariable)
}

const noSpan = { start: 0, end: 0 }

/** The query followed by `WITH * WHERE filter`. */
function appendFilter(query: Query, where: Expression): Query {
  const [only] = query.parts
  assert(only !== undefined && query.parts.length === 1, 'a condition has no UNION')
  const last = {
    kind: 'with',
    keyword: 'WITH',
    distinct: false,
    star: true,
    items: [],
    orderBy: [],
    skip: null,
    limit: null,
    where,
    span: noSpan,
  } as const
  return { ...query, parts: [{ ...only, clauses: [...only.clauses, last] }] }
}

function kindsOf(query: BoundQuery): Map<string, VariableKind> {
  return new Map(query.columns.map(({ name, slot }) => [name, slot.kind]))
}

class CompiledConditionRows implements ConditionRows {
  readonly variables: ReadonlyMap<string, VariableKind>
  readonly parameters: readonly string[]
  private readonly prepared: PreparedQuery

  constructor(query: BoundQuery, subjectType: string, options: EngineOptions) {
    this.variables = kindsOf(query)
    this.parameters = query.parameters
    this.prepared = new PreparedQuery(
      { ...query, clauses: pushDownWhere(query.clauses) },
      { fixed: [], returns: 'rows', types: new Map([['subject', subjectType]]) },
      options,
      { basis: 'graph' },
    )
  }

  open(context: QueryContext): RowCursor {
    return this.prepared.rows(context)
  }

  explain(): string {
    return this.prepared.explain()
  }

  describe(counts: GraphCounts): PlanNode {
    return this.prepared.describe(counts)
  }
}
