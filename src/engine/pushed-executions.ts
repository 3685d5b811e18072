// Runs an access query on the server of a graph, and presents its rows as those of a plan of the engine.
import type { BoundQuery, Slot } from './bind/bound.ts'
import { Budget } from './budget.ts'
import { ExecutionError } from './errors.ts'
import type { ExecutionContext } from './exec/execution-context.ts'
import type { PhysicalOperator } from './exec/physical-operator.ts'
import type { Execution, PlannedQuery, QueryContext } from './planned-query.ts'
import { type PushedQuery, pushedQueryOf } from './pushdown.ts'
import { type AccessQuery, externalIdParameter } from './relation-query.ts'
import type { NodeId } from './store.ts'
import { StatementClock } from './value/expression-context.ts'
import type { Value } from './value/value.ts'

/** Rows that one run may bring into memory if the caller names no number. */
const ROWS_MAX = 1_000_000

/** The rows that a server has found. */
class PushedRowsOperator implements PhysicalOperator {
  private readonly slots: readonly Slot[]
  private readonly rows: readonly (readonly unknown[])[]
  private at = 0

  constructor(slots: readonly Slot[], rows: readonly (readonly unknown[])[]) {
    this.slots = slots
    this.rows = rows
  }

  open(): void {
    this.at = 0
  }

  next({ frame }: ExecutionContext): boolean {
    const row = this.rows[this.at]
    if (row === undefined) return false
    this.at += 1
    for (let i = 0; i < this.slots.length; i++) frame[this.slots[i]!.index] = row[i]
    return true
  }
}

/** The pushed form of one access query. */
export class PushedExecutions {
  private readonly pushed: PushedQuery
  /** The slots of a row. */
  private readonly slots: readonly Slot[]
  /** The index of the only graph that the query reads; null: it reads several. */
  private readonly graph: number | null
  private readonly fixed: readonly string[]
  private readonly planned: Pick<PlannedQuery, 'locate'>

  constructor(source: BoundQuery, accessQuery: AccessQuery, planned: Pick<PlannedQuery, 'locate'>) {
    this.pushed = pushedQueryOf(source, accessQuery)
    const { query, returns } = this.pushed
    this.slots =
      returns === 'exists' ? [] : returns === 'rows' ? query.columns.map(({ slot }) => slot) : [returns.nodesOf]
    this.fixed = accessQuery.fixed
    this.planned = planned
    const graphs = graphsOf(query)
    this.graph = graphs.size > 1 ? null : ([...graphs][0] ?? 0)
  }

  /** Null: the server cannot execute the query as the engine does. */
  open(context: QueryContext, externalIds: readonly string[], after: NodeId, rowsMax: number): Execution | null {
    const { graph } = this
    if (graph === null) return null
    const graphs = this.pushed.query.graphs.length === 1 ? [context.snapshot] : [...this.planned.locate(context)]
    const { pushdown } = graphs[graph]!
    if (pushdown === null) return null
    const { limits } = context
    const budget = context.budget ?? new Budget()
    if (context.budget === undefined) budget.start(limits)
    const held = Math.min(limits.rowsHeldMax ?? ROWS_MAX, ROWS_MAX)
    const parameters = this.fixed.length === 0 ? context.parameters : this.withFixed(context.parameters, externalIds)
    const rows = pushdown.rows(this.pushed, {
      parameters,
      timeMs: limits.timeMs,
      after,
      rowsMax: Math.min(rowsMax, held + 1),
    })
    if (rows === null) return null
    if (rows.length > held) throw new ExecutionError('budget', `more than ${held} rows are found`, 'rowsHeldMax')
    budget.chargeSteps(1 + rows.length)
    const clock = new StatementClock()
    clock.start(context.snapshot.statementMs)
    const run: ExecutionContext = {
      frame: new Array(this.pushed.query.frameSize).fill(null),
      parameters,
      graphs,
      budget,
      clock,
      unknownProperty: null,
      derived: null,
      resumeAfter: after,
      isIncremental: true,
    }
    return { root: new PushedRowsOperator(this.slots, rows), run, isOrdered: this.slots[0]?.kind === 'node' }
  }

  private withFixed(parameters: ReadonlyMap<string, Value>, externalIds: readonly string[]): Map<string, Value> {
    const all = new Map(parameters)
    for (const [at, name] of this.fixed.entries()) all.set(externalIdParameter(name), externalIds[at]!)
    return all
  }
}

/** The indexes of the graphs whose elements a query reads. */
function graphsOf(query: BoundQuery): ReadonlySet<number> {
  const graphs = new Set<number>()
  const visit = (part: unknown): void => {
    if (typeof part !== 'object' || part === null) return
    if (Array.isArray(part)) {
      for (const item of part) visit(item)
      return
    }
    const { kind, index, graph } = part as Partial<Slot>
    if (typeof index === 'number' && typeof graph === 'number' && kind !== undefined && kind !== 'value')
      graphs.add(graph)
    for (const member of Object.values(part)) visit(member)
  }
  visit(query.clauses)
  return graphs
}
