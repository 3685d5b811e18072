// The library's façade: a graph that can be written to, asked conditions and queried, all in process and synchronous.
import { parse } from '../../grammar/index.ts'
import { bindQuery } from './bind/bind-query.ts'
import type { BoundQuery } from './bind/bound.ts'
import { dialects } from './bind/dialect.ts'
import { Budget, type BudgetLimits } from './budget.ts'
import { CompileError } from './errors.ts'
import { assumedCounts } from './plan/expand-order.ts'
import { explain } from './plan/explain.ts'
import { defaultOptions, type QueryContext } from './planned-query.ts'
import { type NodeReference, PreparedQuery, resolveNodeVariable } from './relation-query.ts'
import { compileRowsQuery, type QueryResult } from './rows-query.ts'
import type { GraphStore, Snapshot, WriteBatch } from './store.ts'
import { fromJson } from './value/json-conversion.ts'
import type { Value } from './value/value.ts'

/** Type and external id of a node. */
export type EntityKey = readonly [type: string, externalId: string]
export type QueryParameters = Readonly<Record<string, unknown>>

const defaultLimits: BudgetLimits = { stepsMax: 100_000_000, timeMs: 10_000 }

export class Graph {
  private readonly store: GraphStore
  private readonly limits: BudgetLimits

  constructor(store: GraphStore, limits: BudgetLimits = defaultLimits) {
    this.store = store
    this.limits = limits
  }

  /** One transaction; resolves when it is on disk, rejects with what `change` threw and nothing written. */
  write<T>(change: (batch: WriteBatch) => T): Promise<T> {
    return this.store.write(change)
  }

  /** A pattern to be asked, such as `MATCH (subject:Person)-[:OWNS]->(resource:Car)`. Throws CompileFault. */
  prepare(condition: string): PreparedCondition {
    const parsed = parse(condition)
    if (!parsed.ok) throw new CompileError(parsed.diagnostics)
    const bound = bindQuery(parsed.query, dialects.open, 'condition')
    if (!bound.ok) throw new CompileError(bound.error)
    return new PreparedCondition(bound.value, (ask) => this.read(ask))
  }

  /** Rows of a query that ends in RETURN. Throws CompileFault, RunFault. */
  query(text: string, parameters: QueryParameters = {}): QueryResult {
    const query = compileRowsQuery(text)
    if (!query.ok) throw new CompileError(query.error)
    return this.read((snapshot) => query.value.run(this.asking(snapshot, parameters)))
  }

  private asking(snapshot: Snapshot, parameters: QueryParameters): QueryContext {
    return { snapshot, parameters: toParameters(parameters), limits: this.limits }
  }

  private read<T>(ask: (snapshot: Snapshot, asking: (parameters: QueryParameters) => QueryContext) => T): T {
    const snapshot = this.store.snapshot()
    const budget = new Budget()
    try {
      budget.start(this.limits)
      return ask(snapshot, (parameters) => ({ ...this.asking(snapshot, parameters), budget }))
    } finally {
      snapshot.close()
    }
  }
}

type ReadOnce = <T>(ask: (snapshot: Snapshot, asking: (parameters: QueryParameters) => QueryContext) => T) => T

/** A condition and the questions it has been asked, each planned once. */
export class PreparedCondition {
  private readonly query: BoundQuery
  private readonly read: ReadOnce
  private readonly answerers = new Map<string, PreparedQuery>()

  constructor(query: BoundQuery, read: ReadOnce) {
    this.query = query
    this.read = read
  }

  /** Whether there is a row in which the given variables are the given nodes. */
  exists(given: Readonly<Record<string, EntityKey>>, parameters: QueryParameters = {}): boolean {
    return this.read((_, asking) => this.answerer(given, null).exists(asking(parameters), idsOf(given)))
  }

  /** Every node that the variable takes, once each, in a stable order. */
  find(sought: string, given: Readonly<Record<string, EntityKey>>, parameters: QueryParameters = {}): EntityKey[] {
    return this.read((_, asking) =>
      this.answerer(given, sought).findNodes(asking(parameters), idsOf(given)).map(entityKeyOf),
    )
  }

  /** The plan as text; the given variables with the types of their nodes. */
  explain(question: { readonly given: Readonly<Record<string, string>>; readonly sought?: string }): string {
    const given = Object.entries(question.given).map(([name, type]): [string, EntityKey] => [name, [type, '']])
    const { planned } = this.answerer(Object.fromEntries(given), question.sought ?? null)
    return explain(planned.plan(assumedCounts).plan)
  }

  private answerer(given: Readonly<Record<string, EntityKey>>, sought: string | null): PreparedQuery {
    const names = Object.keys(given)
    const types = new Map(names.map((name) => [name, given[name]![0]]))
    const key = JSON.stringify([[...types], sought])
    let answerer = this.answerers.get(key)
    if (!answerer) {
      for (const name of sought === null ? names : [...names, sought]) {
        const slot = resolveNodeVariable(this.query, name)
        if (typeof slot === 'string') {
          throw new CompileError([{ code: 'UnboundVariable', message: slot, span: { start: 0, end: 0 } }])
        }
      }
      answerer = new PreparedQuery(this.query, { fixed: names, target: sought, types }, defaultOptions)
      this.answerers.set(key, answerer)
    }
    return answerer
  }
}

function idsOf(given: Readonly<Record<string, EntityKey>>): string[] {
  return Object.values(given).map(([, externalId]) => externalId)
}

function entityKeyOf({ snapshot, node }: NodeReference): EntityKey {
  return [String(snapshot.nodeField(node, 'type')), String(snapshot.nodeField(node, 'external_id'))]
}

function toParameters(parameters: QueryParameters): ReadonlyMap<string, Value> {
  return new Map(Object.entries(parameters).map(([name, value]) => [name, fromJson(value)]))
}
