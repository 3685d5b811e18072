// Runs a query that reads the graph of a project. The dialect has no clause that writes, and a run reads snapshots only.

import { positionOf } from '../../grammar/diagnostic.ts'
import { Budget, type BudgetLimits } from '../engine/conditions.ts'
import { ExecutionError } from '../engine/errors.ts'
import { readGraphsNow } from '../engine/read-graph.ts'
import {
  compileRowsQuery,
  type GraphCounts,
  type PlanNode,
  type ProfileNode,
  type RowCursor,
  type RowsQuery,
} from '../engine/rows-query.ts'
import type { GraphStore, Snapshot } from '../engine/store.ts'
import { UnknownSymbols, unknownSymbolWarnings } from '../engine/unknown-symbols.ts'
import { fromJson } from '../engine/value/json-conversion.ts'
import type { Value } from '../engine/value/value.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { JSON_CELL, jsonSize } from '../kernel/json/json-size.ts'
import { err, ok, type Result } from '../kernel/result.ts'
import { modelSymbols, noModel, type StoredModel, typesOf } from '../model/stored-model.ts'
import { textProblems } from '../model/type-problems.ts'
import type { ProjectGraphs } from '../store/tenancy/project-graphs.ts'
import { type ValueCharges, valueToJson } from './element-json.ts'
import { type GraphQuery, type GraphQueryAnswer, type QueryStep, ROWS_DEFAULT } from './schema.ts'

/** The limits of a query. */
export interface GraphQueryLimits extends BudgetLimits {
  /** Maximum characters of the values in an answer. */
  readonly answerMax: number
}

/** The limits by the settings of the process: those of knowledge queries. */
export function graphQueryLimits(settings: GraphQuerySettings): GraphQueryLimits {
  return {
    stepsMax: settings.traversalStepsMax,
    timeMs: settings.executeTimeMs,
    rowsHeldMax: settings.rowsHeldMax,
    bytesHeldMax: settings.questionBytesMax,
    answerMax: settings.executeAnswerMax,
  }
}

/** The settings that limit queries. */
type GraphQuerySettings = Readonly<
  Record<'traversalStepsMax' | 'executeTimeMs' | 'rowsHeldMax' | 'questionBytesMax' | 'executeAnswerMax', number>
>

/** Steps charged for each value, because an element is read with all its properties. */
const STEPS_PER_VALUE = 4

/**
 * Runs a query. `model`: that of the project. The answer has the rows up to the limit of rows or of characters, whichever comes first, and names the limit.
 * Errors: `invalid` for a text or a value that cannot be executed, with line and column; `budget` and `timed-out` for a limit;
 * `unavailable`. Throws ThrownServiceError if a graph cannot be read.
 */
export function runGraphQuery(
  graphs: ProjectGraphs,
  { query: text, parameters = {}, limit = ROWS_DEFAULT, mode = 'rows' }: GraphQuery,
  limits: GraphQueryLimits,
  model: StoredModel = noModel,
): Result<GraphQueryAnswer, ServiceError> {
  const startMs = performance.now()
  if (!model.ok) return err({ kind: 'invalid', issues: model.error })
  const compiled = compileRowsQuery(text, undefined, 'query', model.value?.definitions ?? undefined)
  if (!compiled.ok) {
    return err({
      kind: 'invalid',
      issues: compiled.error.map(({ message, span }) => {
        const { line, column } = positionOf(text, span.start)
        return `query: line ${line}, column ${column}: ${message}`
      }),
    })
  }
  const query = compiled.value
  const values = readParameters(query, parameters, mode)
  if (!values.ok) return values
  try {
    return readGraphsNow((views) => {
      const main = views.of(graphs.default)
      const budget = new Budget()
      budget.start(limits)
      const context = {
        snapshot: main,
        parameters: values.value,
        limits,
        budget,
        locate: (location: string) => views.of(graphAt(graphs, location)),
      }
      const rows = mode === 'plan' ? noRows(query, main) : readRows(query, context, limit, limits.answerMax, mode)
      // A run has opened the graphs that the text names; without one, it is unknown which of them have a name.
      const isChecked = mode !== 'plan' || !query.usesLocations
      const warnings = isChecked
        ? unknownSymbolWarnings(text, query.symbols, new UnknownSymbols([...views.opened(), modelSymbols(model)]))
        : []
      const types = typesOf(model)
      // A name that neither the graph nor the model has is one warning.
      const places = new Set(warnings.map(({ span }) => span.start))
      const unfit =
        types === null ? [] : textProblems(text, types).problems.filter(({ span }) => !places.has(span.start))
      const all = [...warnings, ...unfit.map((one) => ({ ...one, ...positionOf(text, one.span.start) }))]
      return ok({
        columns: [...query.columns],
        ...rows,
        ...(all.length > 0 && {
          warnings: all.map(({ code, message, line, column }) => ({ code, message, line, column })),
        }),
        duration_ms: Math.round((performance.now() - startMs) * 1000) / 1000,
      })
    })
  } catch (error) {
    if (error instanceof ExecutionError) return err(errorOf(error, limits))
    throw error
  }
}

type Rows = Pick<GraphQueryAnswer, 'rows' | 'truncated' | 'truncated_by' | 'plan'>

function noRows(query: RowsQuery, snapshot: Snapshot): Rows {
  return { rows: [], truncated: false, plan: stepOf(query.describe(countsOf(snapshot))) }
}

/** The counts of a graph, for its plans. */
export function countsOf(snapshot: Snapshot): GraphCounts {
  return {
    nodes: (label) => countOf(snapshot, 'label', label),
    relationships: (type) => countOf(snapshot, 'type', type),
  }
}

function countOf(snapshot: Snapshot, kind: 'label' | 'type', name: string | null): number {
  const symbol = name === null ? null : snapshot.symbol(kind, name)
  if (symbol === 0) return 0
  return kind === 'label' ? snapshot.nodeCount(symbol) : snapshot.relationshipCount(symbol)
}

function readRows(
  query: RowsQuery,
  context: Parameters<RowsQuery['open']>[0] & { readonly budget: Budget },
  limit: number,
  answerMax: number,
  mode: 'rows' | 'profile',
): Rows {
  const profiled = mode === 'profile' ? query.openProfiled(context) : null
  const cursor = profiled?.cursor ?? query.open(context)
  const found = collect(cursor, context.budget, limit, answerMax)
  return { ...found, ...(profiled !== null && { plan: stepOf(profiled.profile()) }) }
}

function collect(cursor: RowCursor, budget: Budget, limit: number, answerMax: number): Rows {
  const rows: unknown[][] = []
  let size = 0
  let read = 0
  // One list may hold millions of references to the same elements or lists, and each is read and written in full.
  const charges: ValueCharges = {
    element(json) {
      const characters = jsonSize(json)
      budget.chargeSteps(STEPS_PER_VALUE)
      budget.chargeText(characters)
      // The list that has it counts its cell.
      read += characters - JSON_CELL
      return size + read <= answerMax
    },
    items(count) {
      budget.chargeCopies(count)
      read += count * JSON_CELL
      return size + read <= answerMax
    },
  }
  while (cursor.next()) {
    if (rows.length === limit) return { rows, truncated: true, truncated_by: 'limit' }
    read = 0
    const row: unknown[] = []
    for (const value of cursor.values()) {
      budget.chargeSteps(STEPS_PER_VALUE)
      row.push(valueToJson(value, (element) => cursor.snapshotOf(element), charges))
      if (size + read > answerMax) return { rows, truncated: true, truncated_by: 'size' }
    }
    const added = jsonSize(row)
    budget.chargeText(added * 2)
    size += added
    if (size > answerMax) return { rows, truncated: true, truncated_by: 'size' }
    rows.push(row)
  }
  return { rows, truncated: false }
}

/** A plan as JSON. */
export function stepOf(node: PlanNode | ProfileNode): QueryStep {
  const { operator, detail, children } = node
  const measures = 'rows' in node ? { rows: node.rows, reads: node.reads, time_ms: node.timeMs } : {}
  const inputs = (children as readonly { role: 'input' | 'inner' | 'branch'; node: PlanNode | ProfileNode }[]).map(
    ({ role, node: child }) => ({ role, ...stepOf(child) }),
  )
  return { operator, detail, ...measures, children: inputs }
}

/** The values of the parameters; error: those that the query reads and the request does not have. */
function readParameters(
  query: RowsQuery,
  given: Readonly<Record<string, unknown>>,
  mode: GraphQuery['mode'],
): Result<ReadonlyMap<string, Value>, ServiceError> {
  const values = new Map<string, Value>()
  const issues: string[] = []
  for (const [name, value] of Object.entries(given)) {
    try {
      values.set(name, fromJson(value))
    } catch (error) {
      if (!(error instanceof ExecutionError)) throw error
      issues.push(`parameters.${name}: ${error.message}`)
    }
  }
  const missing = mode === 'plan' ? [] : query.parameters.filter((name) => !Object.hasOwn(given, name))
  issues.push(...missing.map((name) => `parameters.${name}: the query reads $${name}, and no value is given`))
  return issues.length > 0 ? err({ kind: 'invalid', issues }) : ok(values)
}

function graphAt(graphs: ProjectGraphs, location: string): GraphStore {
  const graph = graphs.at(location)
  if (graph === null) throw new ExecutionError('argument', `unknown location ${location}`, location)
  return graph
}

function errorOf(error: ExecutionError, { timeMs }: BudgetLimits): ServiceError {
  if (error.code !== 'budget') return { kind: 'invalid', issues: [`query: ${error.message}`] }
  if (error.subject === 'decisionTimeMs') {
    return { kind: 'timed-out', message: `the time limit of ${timeMs} ms is reached` }
  }
  return { kind: 'budget', limit: error.subject ?? '', message: error.message }
}
