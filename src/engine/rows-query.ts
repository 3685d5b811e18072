// A query that ends in RETURN: compiled once, run for rows. Elements in the rows are read out before the snapshot closes.

import type { Diagnostic } from '../../grammar/diagnostic.ts'
import { parse } from '../../grammar/index.ts'
import { Float } from '../kernel/float.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { bindQuery } from './bind/bind-query.ts'
import type { BoundQuery, Slot } from './bind/bound.ts'
import { dialects } from './bind/dialect.ts'
import { explainProfile, type ProfileNode, profileOf } from './decision-trace.ts'
import type { ExecutionContext } from './exec/execution-context.ts'
import { Profiler } from './exec/profiler.ts'
import { cellBytes } from './exec/row-key.ts'
import { assumedCounts, type GraphCounts } from './plan/expand-order.ts'
import { describe, explain, type PlanNode } from './plan/explain.ts'
import { defaultOptions, type EngineOptions, type Execution, PlannedQuery, type QueryContext } from './planned-query.ts'
import { type AnyTemporal, isTemporal } from './value/temporal/temporal.ts'
import { NodeValue, PathValue, type PropertyValue, RelationshipValue, type Value } from './value/value.ts'

export interface NodeResult {
  readonly kind: 'node'
  readonly id: number
  readonly labels: readonly string[]
  readonly properties: ReadonlyMap<string, PropertyValue>
}

export interface RelationshipResult {
  readonly kind: 'relationship'
  readonly id: number
  readonly type: string
  readonly source: number
  readonly target: number
  readonly properties: ReadonlyMap<string, PropertyValue>
}

export interface PathResult {
  readonly kind: 'path'
  readonly nodes: readonly NodeResult[]
  readonly relationships: readonly RelationshipResult[]
}

/** A cell of a result: a value whose elements have been read. Integers and floats stay apart as in Value. */
export type ResultValue =
  | null
  | boolean
  | number
  | bigint
  | Float
  | string
  | readonly ResultValue[]
  | ReadonlyMap<string, ResultValue>
  | AnyTemporal
  | NodeResult
  | RelationshipResult
  | PathResult

export interface QueryResult {
  readonly columns: readonly string[]
  readonly rows: readonly (readonly ResultValue[])[]
}

export interface RowsQuery {
  readonly columns: readonly string[]
  readonly parameters: readonly string[]
  /** Synchronous; may throw RunFault. */
  run(asking: QueryContext): QueryResult
  explain(counts?: GraphCounts): string
  /** The same plan as data. */
  describe(counts?: GraphCounts): PlanNode
  /** Runs it and tells the rows and the store reads of each operator. */
  profile(asking: QueryContext): { readonly rows: QueryResult; readonly text: string; readonly root: ProfileNode }
}

export function compileRowsQuery(
  text: string,
  options: EngineOptions = defaultOptions,
): Result<RowsQuery, readonly Diagnostic[]> {
  const parsed = parse(text)
  if (!parsed.ok) return err(parsed.diagnostics)
  const bound = bindQuery(parsed.query, dialects.open, 'rows')
  return bound.ok ? ok(new CompiledRowsQuery(bound.value, options)) : bound
}

class CompiledRowsQuery implements RowsQuery {
  readonly columns: readonly string[]
  readonly parameters: readonly string[]
  private readonly slots: readonly Slot[]
  private readonly planned: PlannedQuery

  constructor(query: BoundQuery, options: EngineOptions) {
    this.columns = query.columns.map((column) => column.name)
    this.slots = query.columns.map((column) => column.slot)
    this.parameters = query.parameters
    this.planned = new PlannedQuery(query, [], (plan) => plan, options)
  }

  run(asking: QueryContext): QueryResult {
    return this.read(this.planned.prepare(asking))
  }

  describe(counts: GraphCounts = assumedCounts): PlanNode {
    return describe(this.planned.plan(counts).plan)
  }

  profile(asking: QueryContext): { rows: QueryResult; text: string; root: ProfileNode } {
    const profiler = new Profiler()
    const prepared = this.planned.prepareProfiled(asking, profiler)
    const rows = this.read(prepared)
    const { plan } = prepared
    return { rows, text: explainProfile(plan, profiler), root: profileOf(describe(plan), profiler) }
  }

  private read({ root, run }: Execution): QueryResult {
    const rows: ResultValue[][] = []
    root.open(run)
    while (root.next(run)) {
      run.budget.chargeSteps(1)
      rows.push(this.slots.map((slot) => readSlot(slot, run)))
      for (const slot of this.slots) run.budget.retainBytes(cellBytes(run.budget, run.frame[slot.index]))
    }
    return { columns: this.columns, rows }
  }

  explain(counts: GraphCounts = assumedCounts): string {
    return explain(this.planned.plan(counts).plan)
  }
}

function readSlot(slot: Slot, run: ExecutionContext): ResultValue {
  const content = run.frame[slot.index]
  switch (slot.kind) {
    case 'node':
      return content === 0 ? null : readNode(run, slot.graph, content as number)
    case 'relationship':
      return content === 0 ? null : readRelationship(run, slot.graph, content as number)
    case 'relationships':
      return content === null ? null : (content as number[]).map((id) => readRelationship(run, slot.graph, id))
    case 'path':
    case 'value':
      return readValue(run, content as Value)
  }
}

function readValue(run: ExecutionContext, value: Value): ResultValue {
  if (value instanceof NodeValue) return readNode(run, value.graph, value.id)
  if (value instanceof RelationshipValue) return readRelationship(run, value.graph, value.id)
  if (value instanceof PathValue) {
    return {
      kind: 'path',
      nodes: value.nodes.map(({ graph, id }) => readNode(run, graph, id)),
      relationships: value.relationships.map(({ graph, id }) => readRelationship(run, graph, id)),
    }
  }
  if (value === null || typeof value !== 'object' || value instanceof Float || isTemporal(value)) return value
  if (value instanceof Map) return new Map([...value].map(([key, item]) => [key, readValue(run, item as Value)]))
  return (value as readonly Value[]).map((item) => readValue(run, item))
}

/** An element with its properties takes some microseconds to read. */
const STEPS_PER_ELEMENT_READ = 4

function readNode(run: ExecutionContext, graph: number, id: number): NodeResult {
  run.budget.chargeSteps(STEPS_PER_ELEMENT_READ)
  const snapshot = run.graphs[graph]!
  const labels = snapshot.labels(id).map((label) => snapshot.symbolName('label', label))
  return { kind: 'node', id, labels, properties: snapshot.nodeProperties(id) }
}

function readRelationship(run: ExecutionContext, graph: number, id: number): RelationshipResult {
  run.budget.chargeSteps(STEPS_PER_ELEMENT_READ)
  const snapshot = run.graphs[graph]!
  return {
    kind: 'relationship',
    id,
    type: snapshot.symbolName('type', snapshot.relationshipType(id)),
    source: snapshot.relationshipSource(id),
    target: snapshot.relationshipTarget(id),
    properties: snapshot.relationshipProperties(id),
  }
}
