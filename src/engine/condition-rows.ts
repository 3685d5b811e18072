// The rows of a condition, read out one by one: what context queries are made of. A reading is the condition with a filter
// over its variables behind it; the planner sees both as one, so a filter chooses where the walk begins.
import type { Expression, Query, SingleQuery } from '../../grammar/ast.ts'
import type { Diagnostic } from '../../grammar/diagnostic.ts'
import { parse } from '../../grammar/index.ts'
import { assert } from '../kernel/assert.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { bindQuery } from './bind/bind-query.ts'
import type { BoundQuery, Slot, SlotKind } from './bind/bound.ts'
import { type DialectName, dialects } from './bind/dialect.ts'
import { pushDownWhere } from './bind/push-down-where.ts'
import { restrictAtEnd, restrictAtIntroduction } from './bind/restrict-variable.ts'
import { assumedCounts } from './plan/expand-order.ts'
import { explain } from './plan/explain.ts'
import { defaultOptions, type EngineOptions, type Execution, PlannedQuery, type QueryContext } from './planned-query.ts'
import { resolveNodeVariable } from './relation-query.ts'
import type { NodeId, RelationshipId } from './store.ts'
import { NodeValue, RelationshipValue, type Value } from './value/value.ts'

export type { Expression } from '../../grammar/ast.ts'

export interface ConditionRowsInput {
  readonly text: string
  readonly dialect: DialectName
  /** The text must bind `subject`, and every WITH must carry it on; only nodes of this type are it. */
  readonly subjectType: string
}

/** How a variable is held at the end of a text; a `value` may be anything, an element too. */
export type VariableKind = SlotKind

/** A condition that was read and bound, still without a filter. */
export interface FilterableCondition {
  /** What is in scope at the end of the text. */
  readonly variables: ReadonlyMap<string, VariableKind>
  /** Without `$`, in the order of the text. */
  readonly parameters: readonly string[]
  /** The rows for which the filter is true; null: all of them. Issues are the filter's: its spans mean nothing. */
  filtered(filter: Expression | null): Result<ConditionRows, readonly Diagnostic[]>
}

export interface ConditionRows {
  readonly variables: ReadonlyMap<string, VariableKind>
  /** Of text and filter. */
  readonly parameters: readonly string[]
  /**
   * Begins a run; rows come in an order that is stable while the graph is unchanged, in this process and in others, and only
   * as they are asked for.
   * One run at a time. Throws RunFault (missing parameter, type, budget), as `next` does.
   */
  open(asking: QueryContext): RowCursor
  /** Stable text of the plan. */
  explain(): string
}

/** Stands on one row at a time; what it gives is read from the snapshot that it was opened with. */
export interface RowCursor {
  /** False after the last row. */
  next(): boolean
  /** The node that the variable stands for in this row; 0: none. */
  node(variable: string): NodeId
  /** 0: none. */
  relationship(variable: string): RelationshipId
  /** What the variable stands for, whatever its kind; elements of it are of the snapshot that the run was opened with. */
  value(variable: string): Value
}

export function compileConditionRows(
  input: ConditionRowsInput,
  options: EngineOptions = defaultOptions,
): Result<FilterableCondition, readonly Diagnostic[]> {
  const parsed = parse(input.text)
  if (!parsed.ok) return err(parsed.diagnostics)
  const { query } = parsed
  const bound = bindQuery(query, dialects[input.dialect], 'condition')
  if (!bound.ok) return bound
  const subject = resolveNodeVariable(bound.value, 'subject')
  const dropping = query.parts[0]!.clauses.find(
    (clause) => clause.kind === 'with' && !carriesVariable(clause, 'subject'),
  )
  if (dropping) {
    const message = 'missing required variables in WITH statement: `subject` must stay in scope'
    return err([{ code: 'MissingVariable', message, span: dropping.span }])
  }
  if (typeof subject === 'string') return err([{ code: 'UnboundVariable', message: subject, span: query.span }])
  return ok({
    variables: kindsOf(bound.value),
    parameters: bound.value.parameters,
    filtered(filter) {
      const whole =
        filter === null ? bound : bindQuery(appendFilter(query, filter), dialects[input.dialect], 'condition')
      return whole.ok ? ok(new CompiledConditionRows(whole.value, input.subjectType, options)) : whole
    },
  })
}

function carriesVariable(clause: Extract<SingleQuery['clauses'][number], { kind: 'with' }>, name: string): boolean {
  const isIt = ({ expression, alias }: (typeof clause.items)[number]): boolean =>
    expression.kind === 'variable' && expression.name === name && (alias === null || alias.text === name)
  return clause.star || clause.items.some(isIt)
}

const noSpan = { start: 0, end: 0 }

/** `… WITH * WHERE filter`. */
function appendFilter(query: Query, where: Expression): Query {
  const [only] = query.parts
  assert(only !== undefined && query.parts.length === 1, 'a condition has no UNION')
  const last = {
    kind: 'with',
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
  private readonly slots: ReadonlyMap<string, Slot>
  private readonly planned: PlannedQuery

  constructor(query: BoundQuery, subjectType: string, options: EngineOptions) {
    this.variables = kindsOf(query)
    this.parameters = query.parameters
    this.slots = new Map(query.columns.map(({ name, slot }) => [name, slot]))
    const subject = resolveNodeVariable(query, 'subject')
    assert(typeof subject !== 'string', 'the subject was accepted before')
    const wanted = { type: subjectType, externalIdParameter: null }
    const clauses = pushDownWhere(query.clauses)
    const narrowed = restrictAtIntroduction(clauses, subject, wanted, false)
    const atEnd = narrowed ? [] : restrictAtEnd(subject, wanted)
    this.planned = new PlannedQuery(
      { ...query, clauses: narrowed ?? clauses },
      [],
      (plan) => (atEnd.length > 0 ? { op: 'Filter', input: plan, predicates: atEnd } : plan),
      options,
      'graph',
    )
  }

  open(asking: QueryContext): RowCursor {
    const execution = this.planned.prepare(asking)
    execution.root.open(execution.run)
    return new PlanRowCursor(execution, this.slots)
  }

  explain(): string {
    return explain(this.planned.plan(assumedCounts).plan)
  }
}

class PlanRowCursor implements RowCursor {
  private readonly execution: Execution
  private readonly slots: ReadonlyMap<string, Slot>

  constructor(execution: Execution, slots: ReadonlyMap<string, Slot>) {
    this.execution = execution
    this.slots = slots
  }

  next(): boolean {
    const { root, run } = this.execution
    if (!root.next(run)) return false
    run.budget.chargeSteps(1)
    return true
  }

  node(variable: string): NodeId {
    const slot = this.slot(variable)
    const held = this.execution.run.frame[slot.index]
    if (slot.kind === 'node') return held as NodeId
    return held instanceof NodeValue ? held.id : 0
  }

  relationship(variable: string): RelationshipId {
    const slot = this.slot(variable)
    const held = this.execution.run.frame[slot.index]
    if (slot.kind === 'relationship') return held as RelationshipId
    return held instanceof RelationshipValue ? held.id : 0
  }

  value(variable: string): Value {
    const { index, kind, graph } = this.slot(variable)
    const held = this.execution.run.frame[index]
    switch (kind) {
      case 'node':
        return held === 0 ? null : new NodeValue(graph, held as NodeId)
      case 'relationship':
        return held === 0 ? null : new RelationshipValue(graph, held as RelationshipId)
      case 'relationships':
        return held === null ? null : (held as RelationshipId[]).map((id) => new RelationshipValue(graph, id))
      case 'path':
      case 'value':
        return held as Value
    }
  }

  private slot(variable: string): Slot {
    const slot = this.slots.get(variable)
    assert(slot !== undefined, 'a variable that is read is one of the reading')
    return slot
  }
}
