// A query that is parsed and bound once and used in one way: to test whether a row exists, to find nodes, or to read rows. The
// entry points of the library (graph.ts) and of the service (conditions.ts, condition-rows.ts, rows-query.ts) are thin
// layers over it.
import type { Query, Span } from '../../grammar/ast.ts'
import type { Diagnostic } from '../../grammar/diagnostic.ts'
import { parse } from '../../grammar/index.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { bindQuery, type QueryForm } from './bind/bind-query.ts'
import type { BoundQuery, GraphReference } from './bind/bound.ts'
import { type Definitions, noDefinitions } from './bind/definitions.ts'
import { type DialectName, dialects } from './bind/dialect.ts'
import { DefinitionProgram, type DefinitionTables, Derivations } from './definitions/tables.ts'
import type { Profiler } from './exec/profiler.ts'
import { assumedCounts, type GraphCounts } from './plan/expand-order.ts'
import { describe, explain, type PlanNode } from './plan/explain.ts'
import type { Plan } from './plan/operators.ts'
import { type EngineOptions, type Execution, type PlanBasis, PlannedQuery, type QueryContext } from './planned-query.ts'
import { PushedExecutions } from './pushed-executions.ts'
import {
  type AccessQuery,
  type BoundAccessQuery,
  bindAccessQuery,
  externalIdParameter,
  resolveNodeVariable,
} from './relation-query.ts'
import { RowCursor } from './row-cursor.ts'
import type { NodeId, Snapshot } from './store.ts'
import { sortWithCharges } from './value/list-operations.ts'
import { firstIds, sortIds } from './value/sort-ids.ts'
import type { NodeValue, Value } from './value/value.ts'

/** A text with its syntax tree and its bound form. */
interface CompiledText {
  readonly query: Query
  readonly bound: BoundQuery
}

/** Parses and binds a text. The error holds its diagnostics. `definitions`: the derived relationship types that it can use. */
export function compileText(
  text: string,
  dialect: DialectName,
  form: QueryForm,
  definitions: Definitions = noDefinitions,
): Result<CompiledText, readonly Diagnostic[]> {
  const parsed = parse(text)
  if (!parsed.ok) return err(parsed.diagnostics)
  const bound = bindQuery(parsed.query, dialects[dialect], form, definitions)
  return bound.ok ? ok({ query: parsed.query, bound: bound.value }) : bound
}

/** A diagnostic for each variable that the condition does not bind to a node. `span`: the place to report. */
export function findUnboundVariables(query: BoundQuery, names: readonly string[], span: Span): Diagnostic[] {
  return names.flatMap((name) => {
    const slot = resolveNodeVariable(query, name)
    const { start, end } = span
    return typeof slot === 'string' ? [{ code: 'UnboundVariable', message: slot, span: { start, end } }] : []
  })
}

/** A node that was found, with the snapshot through which to read it. */
export interface NodeReference {
  readonly snapshot: Snapshot
  readonly node: NodeId
}

/** Nodes of one graph, after a node in the order of their ids. */
export interface NodePage {
  /** Ascending by id, each once. */
  readonly nodes: Uint32Array
  /** There are no further nodes. */
  readonly isComplete: boolean
}

const emptyNodePage: NodePage = { nodes: new Uint32Array(0), isComplete: true }

/** Charge for the read of a node that was not read before, which takes some microseconds. */
const STEPS_PER_NODE_READ = 2

/** Options of a prepared query in addition to those of the engine. */
interface PreparedQueryOptions {
  /** On what the plan may depend; see PlanBasis. Default: `history`. */
  readonly basis?: PlanBasis
  /** Called if `exists` is false, but could be true with the value of this property, which an external resolver supplies. */
  readonly onUnknownProperty?: ((property: string) => void) | null
}

/**
 * One access query on a bound query. Plans are made for the graphs of a run and are kept. `externalIds` are always those of
 * the fixed variables, in the order of the access query. All methods that run the query throw ExecutionError.
 */
export class PreparedQuery {
  private readonly planned: PlannedQuery
  private readonly program: DefinitionProgram | null
  private readonly accessQuery: AccessQuery
  private readonly bound: BoundAccessQuery
  /** Made when the query first runs on a graph in a database server. */
  private pushed: PushedExecutions | null = null
  private readonly source: BoundQuery
  private readonly onUnknownProperty: ((property: string) => void) | null

  constructor(
    query: BoundQuery,
    accessQuery: AccessQuery,
    options: EngineOptions,
    { basis = 'history', onUnknownProperty = null }: PreparedQueryOptions = {},
  ) {
    this.onUnknownProperty = onUnknownProperty
    this.accessQuery = accessQuery
    this.source = query
    this.bound = bindAccessQuery(query, accessQuery)
    const { query: restricted, fixedSlots, addRoot } = this.bound
    const argument = fixedSlots.filter((slot) => slot !== null)
    const columns = accessQuery.returns === 'rows' ? restricted.columns.map((column) => column.slot) : null
    this.planned = new PlannedQuery(restricted, argument, addRoot, options, basis, columns)
    this.program = query.tabled.length === 0 ? null : new DefinitionProgram(query.tabled, options, basis)
  }

  /** An execution with tables for the definitions of the query, if it needs any. */
  private prepare(context: QueryContext): Execution {
    return this.planned.prepare(context, this.program?.open(context) ?? null)
  }

  /** Whether there is a row. False if a fixed node does not exist. */
  exists(context: QueryContext, externalIds: readonly string[]): boolean {
    const execution = this.open(context, externalIds)
    return execution !== null && this.hasRow(execution)
  }

  /** Whether `existsAt` and `seekAfterAt` can be called: each fixed variable is filled with a node of the default graph. */
  get isFixedByNode(): boolean {
    return this.bound.fixedSlots.every((slot) => slot !== null)
  }

  /** As `exists`, with nodes of the default graph that have the types of the fixed variables. Only if `isFixedByNode`. */
  existsAt(context: QueryContext, nodes: readonly NodeId[]): boolean {
    return this.hasRow(this.openAt(context, nodes, 0))
  }

  /** As `seekAfter`, with nodes as `existsAt` takes them. */
  seekAfterAt(context: QueryContext, nodes: readonly NodeId[], after: NodeId, enough: number): NodePage {
    return this.readIds(this.openAt(context, nodes, after), enough)
  }

  private openAt(context: QueryContext, nodes: readonly NodeId[], after: NodeId): Execution {
    includeFetches(context)
    const execution = this.prepare(context)
    const { run, root } = execution
    run.resumeAfter = after
    const { fixedSlots } = this.bound
    for (let i = 0; i < fixedSlots.length; i++) run.frame[fixedSlots[i]!.index] = nodes[i]!
    root.open(run)
    return execution
  }

  private hasRow({ root, run }: Execution): boolean {
    if (root.next(run)) return true
    if (run.unknownProperty !== null) this.onUnknownProperty?.(run.unknownProperty)
    return false
  }

  /** The nodes of the target variable, each once, ordered by graph and id: stable while the graph does not change. */
  findNodes(context: QueryContext, externalIds: readonly string[]): NodeReference[] {
    const execution = this.open(context, externalIds)
    if (!execution) return []
    const { run } = execution
    const { kind, graph } = this.bound.targetSlot!
    if (kind === 'node') {
      const snapshot = run.graphs[graph]!
      return Array.from(this.readIds(execution).nodes, (node) => ({ snapshot, node }))
    }
    return this.readValues(execution).map((node) => ({ snapshot: run.graphs[node.graph]!, node: node.id }))
  }

  /** The external ids of these nodes, in the same order. A node that exists in several graphs is found once. */
  findExternalIds(context: QueryContext, externalIds: readonly string[]): string[] {
    const execution = this.open(context, externalIds)
    if (!execution) return []
    const { run } = execution
    const { graphs } = run
    const { kind, graph } = this.bound.targetSlot!
    if (kind === 'node') {
      const snapshot = graphs[graph]!
      return Array.from(this.readIds(execution).nodes, (node) => {
        run.budget.chargeSteps(STEPS_PER_NODE_READ)
        return snapshot.nodeField(node, 'external_id') as string
      })
    }
    const read = ({ graph, id }: NodeValue): string => {
      run.budget.chargeSteps(STEPS_PER_NODE_READ)
      return graphs[graph]!.nodeField(id, 'external_id') as string
    }
    return [...new Set(this.readValues(execution).map(read))]
  }

  /** The graph of the target variable. Null if its nodes are values, which may belong to several graphs. */
  get targetGraph(): GraphReference | null {
    const { query, targetSlot } = this.bound
    return targetSlot?.kind === 'node' ? query.graphs[targetSlot.graph]! : null
  }

  /**
   * The nodes of the target variable with ids greater than `after`, only if `targetGraph` is not null. Stops after `enough`
   * nodes if the plan finds them in order; the page may hold more.
   */
  seekAfter(context: QueryContext, externalIds: readonly string[], after: NodeId, enough: number): NodePage {
    const execution = this.open(context, externalIds, after, enough)
    return execution === null ? emptyNodePage : this.readIds(execution, enough)
  }

  /** Null: the graph is in this process, or its server cannot execute the query as the engine does. */
  private openPushed(
    context: QueryContext,
    externalIds: readonly string[],
    after: NodeId,
    rowsMax: number,
  ): Execution | null {
    if (context.snapshot.pushdown === null) return null
    includeFetches(context)
    this.pushed ??= new PushedExecutions(this.source, this.accessQuery, this.planned)
    return this.pushed.open(context, externalIds, after, rowsMax)
  }

  /** Starts a run and returns a cursor before its first row. Only one run of a prepared query at a time. */
  rows(context: QueryContext): RowCursor {
    const execution =
      this.openPushed(context, [], 0, context.rowsMax ?? Number.POSITIVE_INFINITY) ?? this.prepare(context)
    execution.root.open(execution.run)
    return new RowCursor(execution, this.bound.query.columns)
  }

  /** Stable text of the plan, for a graph with these counts. */
  explain(counts: GraphCounts = assumedCounts): string {
    return explain(this.planned.plan(counts).plan)
  }

  /** The same plan as data. */
  describe(counts: GraphCounts = assumedCounts): PlanNode {
    return describe(this.planned.plan(counts).plan)
  }

  /**
   * Starts a run that a profiler observes. `execution` is null if a fixed node does not exist, and `tables` if no definition needs one;
   * they collect how pairs are derived.
   */
  openProfiled(
    context: QueryContext,
    externalIds: readonly string[],
    profiler: Profiler,
  ): { readonly plan: Plan; readonly execution: Execution | null; readonly tables: DefinitionTables | null } {
    includeFetches(context)
    const tables = this.program?.open(context, new Derivations()) ?? null
    const prepared = this.planned.prepareProfiled(context, profiler, tables)
    return { plan: prepared.plan, execution: this.openWithFixedNodes(prepared, context, externalIds), tables }
  }

  private open(
    context: QueryContext,
    externalIds: readonly string[],
    after: NodeId = 0,
    enough: number = Number.POSITIVE_INFINITY,
  ): Execution | null {
    const pushed = this.openPushed(context, externalIds, after, enough)
    if (pushed !== null) return pushed
    const execution = this.prepare(context)
    execution.run.resumeAfter = after
    return this.openWithFixedNodes(execution, context, externalIds)
  }

  private openWithFixedNodes(
    execution: Execution,
    context: QueryContext,
    externalIds: readonly string[],
  ): Execution | null {
    const { run, root } = execution
    const { fixedSlots } = this.bound
    for (let i = 0; i < fixedSlots.length; i++) {
      const slot = fixedSlots[i]
      const name = this.accessQuery.fixed[i]!
      if (slot) {
        const node = nodeByKey(context.snapshot, this.accessQuery.types.get(name)!, externalIds[i]!)
        if (node === 0) return null
        run.frame[slot.index] = node
      } else run.parameters = new Map<string, Value>(run.parameters).set(externalIdParameter(name), externalIds[i]!)
    }
    root.open(run)
    return execution
  }

  private readIds({ root, run, isOrdered }: Execution, enough = Number.POSITIVE_INFINITY): NodePage {
    const { index } = this.bound.targetSlot!
    const { resumeAfter } = run
    let nodes = new Uint32Array(64)
    let length = 0
    while (root.next(run)) {
      const node = run.frame[index] as NodeId
      run.budget.chargeSteps(1)
      if (node <= resumeAfter) continue
      if (length === nodes.length) nodes = enlarged(nodes)
      nodes[length++] = node
      if (length >= enough && run.isIncremental) return { nodes: firstIds(nodes, length), isComplete: false }
    }
    nodes = firstIds(nodes, length)
    return { nodes: isOrdered ? nodes : sortIds(run.budget, nodes), isComplete: true }
  }

  private readValues({ root, run }: Execution): NodeValue[] {
    const { index } = this.bound.targetSlot!
    const found: NodeValue[] = []
    while (root.next(run)) {
      run.budget.chargeSteps(1)
      found.push(run.frame[index] as NodeValue)
    }
    return sortWithCharges(run.budget, found, (a, b) => a.graph - b.graph || a.id - b.id)
  }
}

/** The fetches from a database server count as time of the execution. */
function includeFetches({ snapshot, budget }: QueryContext): void {
  const { pushdown } = snapshot
  if (pushdown !== null) budget?.includeFetches((timeMs) => pushdown.begin(timeMs))
}

function enlarged(nodes: Uint32Array<ArrayBuffer>): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(nodes.length * 4)
  larger.set(nodes)
  return larger
}

/** The node with that type and external id; 0 if it does not exist. */
export function nodeByKey(snapshot: Snapshot, type: string, externalId: string): NodeId {
  const label = snapshot.symbol('label', type)
  return label === 0 ? 0 : snapshot.findNode(label, externalId)
}
