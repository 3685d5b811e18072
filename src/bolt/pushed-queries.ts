// Executes whole queries on the server: prints each once, and keeps the answers for the attempts of one request. A query that cannot
// be printed, or that the server refuses, is executed by the engine.

import type { Slot } from '../engine/bind/bound.ts'
import { unlimitedBudget } from '../engine/budget.ts'
import { ExecutionError } from '../engine/errors.ts'
import { PreparedQuery } from '../engine/prepared-query.ts'
import { type PushedQuery, valuesQuery } from '../engine/pushdown.ts'
import { allRows } from '../engine/relation-query.ts'
import type { PushedRun, QueryPushdown, Snapshot } from '../engine/store.ts'
import { NodeValue, PathValue, RelationshipValue, type Value } from '../engine/value/value.ts'
import type { ExecutionTime, ExecutionTimes } from '../kernel/request/execution-times.ts'
import { type BoltRecord, isTimeError, RefusedQueryError } from './bolt-server.ts'
import { type BoltDriver, scalarOfDriver, toDriver } from './driver-values.ts'
import type { FetchedGraph, FetchRequests } from './fetched-graph.ts'
import { STATE_QUERY, stateOf } from './graph-state.ts'
import { STATE_LABEL } from './print/names.ts'
import { acceptsValue } from './print/parameter.ts'
import { type PrintedQuery, printQuery } from './print/print-query.ts'
import { mapInSlices } from './slices.ts'
import type { DriverNode, DriverRelationship } from './stored-elements.ts'
import { valueKey } from './value-key.ts'

/** Why the engine executes queries, for the operator. */
interface PushdownCounts {
  /** Queries that the server answered. */
  pushed: number
  /** Queries that the engine executed, by reason. */
  readonly executed: Map<string, number>
}

/** A query with its text for the server. */
interface PushedPlan {
  readonly printed: PrintedQuery
  /** The text with the limit, and with the state of the database where it is read in the same statement. */
  readonly text: string
  readonly values: PreparedQuery | null
}

/** The printed forms of queries. */
export class PushedPlans {
  readonly counts: PushdownCounts = { pushed: 0, executed: new Map() }
  /** A text: the reason why the query has no plan. */
  private readonly plans = new WeakMap<PushedQuery, PushedPlan | string>()

  of(query: PushedQuery): PushedPlan | string {
    let plan = this.plans.get(query)
    if (plan === undefined) {
      plan = this.make(query)
      this.plans.set(query, plan)
    }
    return plan
  }

  private make(query: PushedQuery): PushedPlan | string {
    const printed = printQuery(query)
    if (!printed.ok) return printed.error
    const expressions = [...printed.value.parameters.values()].map(({ expression }) => expression)
    const values =
      expressions.length === 0
        ? null
        : new PreparedQuery(valuesQuery(expressions, query.query.frameSize), allRows, { rules: 'on' })
    return { printed: printed.value, text: textOf(query, printed.value), values }
  }

  /** Counts a query that the engine executes. */
  executed(reason: string): null {
    const { executed } = this.counts
    if (executed.size < 1_000 || executed.has(reason)) executed.set(reason, (executed.get(reason) ?? 0) + 1)
    return null
  }
}

const FOUND = 'RETURN count(*) > 0 AS found'

function textOf({ query, returns }: PushedQuery, { text, columns, propertyNames }: PrintedQuery): string {
  if (returns === 'exists') {
    if (propertyNames.length === 0) return text
    // The aggregation ends before the state is read: a resolver that the query met is in it.
    return `${text.slice(0, text.lastIndexOf(FOUND))}WITH count(*) > 0 AS found\nMATCH (s:${STATE_LABEL} {key: 'state'})\nRETURN found, s.version AS version, s.external_names AS externalNames`
  }
  if (returns !== 'rows') return text
  const last = query.clauses.at(-1)
  const isOrdered = last?.kind === 'projection' && last.projection.orderBy.length > 0
  // Pages of the same query must agree on the order.
  const order = isOrdered || columns.length === 0 ? '' : `\nORDER BY ${columns.join(', ')}`
  return `${text}${order}\nLIMIT $enough`
}

type PushedAnswer =
  | { readonly kind: 'rows'; readonly rows: readonly (readonly unknown[])[] }
  | { readonly kind: 'executed'; readonly reason: string }
  | { readonly kind: 'failed'; readonly error: ExecutionError }

/** Collaborators of the pushdown of one request. */
interface PushdownDeps {
  readonly plans: PushedPlans
  readonly fetched: FetchedGraph
  readonly requests: FetchRequests
  /** For the values of parameters, which read no graph. */
  readonly snapshot: Snapshot
  readonly executions: ExecutionTimes
  /** False: the engine executes all queries. */
  readonly isUsed?: boolean
}

/** The pushdown of one request. */
export class Pushdown implements QueryPushdown {
  private readonly plans: PushedPlans
  private readonly fetched: FetchedGraph
  private readonly requests: FetchRequests
  private readonly snapshot: Snapshot
  private readonly executions: ExecutionTimes
  private readonly isUsed: boolean

  constructor({ plans, fetched, requests, snapshot, executions, isUsed = true }: PushdownDeps) {
    this.plans = plans
    this.fetched = fetched
    this.requests = requests
    this.snapshot = snapshot
    this.executions = executions
    this.isUsed = isUsed
  }

  begin(timeMs: number): ExecutionTime {
    return this.executions.begin(timeMs)
  }

  rows(pushed: object, run: PushedRun): readonly (readonly unknown[])[] | null {
    if (!this.isUsed) return null
    const query = pushed as PushedQuery
    const plan = this.plans.of(query)
    if (typeof plan === 'string') return this.plans.executed(plan)
    const values = this.valuesOf(plan, run)
    if (typeof values === 'string') return this.plans.executed(values)
    // A request may bind its query anew in each attempt, so the text identifies it.
    const key = `${plan.text} ${run.after} ${run.rowsMax} ${[...values].map(([name, value]) => `${name}=${valueKey(value)}`).join(';')}`
    const answer = this.fetched.answers.get(key) as PushedAnswer | undefined
    if (answer === undefined)
      return this.requests.require((ask, driver) => this.fetch(key, query, plan, values, run, ask, driver))
    if (answer.kind === 'failed') throw answer.error
    return answer.kind === 'rows' ? answer.rows : this.plans.executed(answer.reason)
  }

  /** The values of the parameters of the text; a text: the reason why the engine has to execute the query. */
  private valuesOf(
    { printed, values }: PushedPlan,
    { parameters, timeMs }: PushedRun,
  ): ReadonlyMap<string, Value> | string {
    const found = new Map<string, Value>()
    if (values === null) return found
    let row: readonly Value[]
    try {
      const limits = { stepsMax: 1_000_000, timeMs }
      const cursor = values.rows({ snapshot: this.snapshot, parameters, limits, budget: unlimitedBudget() })
      cursor.next()
      row = cursor.values()
    } catch (error) {
      if (!(error instanceof ExecutionError)) throw error
      return `a parameter fails: ${error.code}`
    }
    let at = 0
    for (const [name, { takes }] of printed.parameters) {
      const value = row[at++] ?? null
      if (!acceptsValue(takes, value)) return `a parameter is no ${takes}`
      found.set(name, value)
    }
    return found
  }

  private async fetch(
    key: string,
    query: PushedQuery,
    { printed, text }: PushedPlan,
    values: ReadonlyMap<string, Value>,
    { after, rowsMax }: PushedRun,
    ask: Parameters<Parameters<FetchRequests['require']>[0]>[0],
    driver: BoltDriver,
  ): Promise<void> {
    const { returns } = query
    const parameters = new Map<string, unknown>([...values].map(([name, value]) => [name, toDriver(driver, value)]))
    if (returns !== 'exists') parameters.set('enough', BigInt(Math.min(rowsMax, Number.MAX_SAFE_INTEGER)))
    // The engine's id of a node is one more than that of the server.
    if (typeof returns === 'object') parameters.set('after', BigInt(after - 1))
    const { answers } = this.fetched
    try {
      const records = await ask(text, Object.fromEntries(parameters))
      if (printed.propertyNames.length > 0) {
        const { externalNames } = stateOf(returns === 'exists' ? records : await ask(STATE_QUERY, {}))
        const external = printed.propertyNames.find((name) => externalNames.has(name))
        if (external !== undefined) {
          answers.set(key, { kind: 'executed', reason: 'a property that a resolver supplies' } satisfies PushedAnswer)
          return
        }
      }
      this.plans.counts.pushed += 1
      const rows =
        returns === 'exists'
          ? records[0]?.found === true
            ? [[]]
            : []
          : await mapInSlices(records, (record) => this.rowOf(record, query, printed, driver))
      answers.set(key, { kind: 'rows', rows } satisfies PushedAnswer)
    } catch (error) {
      if (isTimeError(error)) throw error
      if (error instanceof ExecutionError && error.code === 'budget')
        answers.set(key, { kind: 'failed', error } satisfies PushedAnswer)
      else if (error instanceof ExecutionError || error instanceof RefusedQueryError) {
        answers.set(key, {
          kind: 'executed',
          reason: `the server: ${error.message.slice(0, 200)}`,
        } satisfies PushedAnswer)
      } else throw error
    }
  }

  private rowOf(
    record: BoltRecord,
    { query, returns }: PushedQuery,
    { columns, graph }: PrintedQuery,
    driver: BoltDriver,
  ): unknown[] {
    const slots: readonly Slot[] =
      typeof returns === 'object' ? [returns.nodesOf] : query.columns.map(({ slot }) => slot)
    return columns.map((column, at) => this.contentOf(record[column], slots[at]!, graph, driver))
  }

  /** A value in the form of its slot. */
  private contentOf(value: unknown, { kind }: Slot, graph: number, driver: BoltDriver): unknown {
    switch (kind) {
      case 'node':
        return value === null ? 0 : this.fetched.addNode(driver, value as DriverNode)
      case 'relationship':
        return value === null ? 0 : this.fetched.addRelationship(driver, value as DriverRelationship)
      case 'relationships':
        if (value === null) return null
        return (value as DriverRelationship[]).map((one) => this.fetched.addRelationship(driver, one))
      case 'path':
      case 'value':
        return this.valueOf(value, graph, driver)
    }
  }

  private valueOf(value: unknown, graph: number, driver: BoltDriver): Value {
    const node = (one: unknown): NodeValue => new NodeValue(graph, this.fetched.addNode(driver, one as DriverNode))
    const relationship = (one: unknown): RelationshipValue =>
      new RelationshipValue(graph, this.fetched.addRelationship(driver, one as DriverRelationship))
    if (typeof value !== 'object' || value === null) return scalarOfDriver(driver, value)
    if (Array.isArray(value)) return value.map((item) => this.valueOf(item, graph, driver))
    if (driver.isNode(value)) return node(value)
    if (driver.isRelationship(value)) return relationship(value)
    if (driver.isPath(value)) {
      const { start, segments } = value as unknown as {
        readonly start: unknown
        readonly segments: readonly { readonly end: unknown; readonly relationship: unknown }[]
      }
      return new PathValue(
        [node(start), ...segments.map(({ end }) => node(end))],
        segments.map((segment) => relationship(segment.relationship)),
      )
    }
    const scalar = scalarOfDriver(driver, value)
    if (scalar !== null) return scalar
    return new Map(Object.entries(value).map(([key, item]) => [key, this.valueOf(item, graph, driver)]))
  }
}
