// The library's façade: a graph that can be written to, asked conditions and queried, all in process and synchronous.
import { parse } from '../../grammar/index.ts'
import { bindQuery } from './bind/bind-query.ts'
import type { BoundQuery } from './bind/bound.ts'
import { dialects } from './bind/dialect.ts'
import { CompileFault } from './errors.ts'
import { Budget, type BudgetLimits } from './exec/context.ts'
import { explain } from './plan/explain.ts'
import { unknownCounts } from './plan/order-expands.ts'
import { type Asking, defaultOptions } from './planned-query.ts'
import { Answerer, type Found, nodeVariable } from './questions.ts'
import { compileRowsQuery, type Rows } from './rows.ts'
import type { GraphStore, Snapshot, WriteBatch } from './store.ts'
import { fromJson } from './value/convert.ts'
import type { Value } from './value/value.ts'

/** Type and external id of a node. */
export type Key = readonly [type: string, externalId: string]
export type Parameters = Readonly<Record<string, unknown>>

const generous: BudgetLimits = { stepsMax: 100_000_000, timeMs: 10_000 }

export class Graph {
  private readonly store: GraphStore
  private readonly limits: BudgetLimits

  constructor(store: GraphStore, limits: BudgetLimits = generous) {
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
    if (!parsed.ok) throw new CompileFault(parsed.issues)
    const bound = bindQuery(parsed.query, dialects.open, 'condition')
    if (!bound.ok) throw new CompileFault(bound.error)
    return new PreparedCondition(bound.value, (ask) => this.read(ask))
  }

  /** Rows of a query that ends in RETURN. Throws CompileFault, RunFault. */
  query(text: string, parameters: Parameters = {}): Rows {
    const query = compileRowsQuery(text)
    if (!query.ok) throw new CompileFault(query.error)
    return this.read((snapshot) => query.value.run(this.asking(snapshot, parameters)))
  }

  private asking(snapshot: Snapshot, parameters: Parameters): Asking {
    return { snapshot, parameters: toParameters(parameters), limits: this.limits }
  }

  private read<T>(ask: (snapshot: Snapshot, asking: (parameters: Parameters) => Asking) => T): T {
    const snapshot = this.store.snapshot()
    const budget = new Budget()
    try {
      budget.start(this.limits)
      return ask(snapshot, (parameters) => ({ ...this.asking(snapshot, parameters), budget }))
    } finally {
      budget.end()
      snapshot.close()
    }
  }
}

type Read = <T>(ask: (snapshot: Snapshot, asking: (parameters: Parameters) => Asking) => T) => T

/** A condition and the questions it has been asked, each planned once. */
export class PreparedCondition {
  private readonly query: BoundQuery
  private readonly read: Read
  private readonly answerers = new Map<string, Answerer>()

  constructor(query: BoundQuery, read: Read) {
    this.query = query
    this.read = read
  }

  /** Whether there is a row in which the given variables are the given nodes. */
  exists(given: Readonly<Record<string, Key>>, parameters: Parameters = {}): boolean {
    return this.read((_, asking) => this.answerer(given, null).exists(asking(parameters), idsOf(given)))
  }

  /** Every node that the variable takes, once each, in a stable order. */
  find(sought: string, given: Readonly<Record<string, Key>>, parameters: Parameters = {}): Key[] {
    return this.read((_, asking) => this.answerer(given, sought).find(asking(parameters), idsOf(given)).map(keyOf))
  }

  /** The plan as text; the given variables with the types of their nodes. */
  explain(question: { readonly given: Readonly<Record<string, string>>; readonly sought?: string }): string {
    const given = Object.entries(question.given).map(([name, type]): [string, Key] => [name, [type, '']])
    const { planned } = this.answerer(Object.fromEntries(given), question.sought ?? null)
    return explain(planned.plan(unknownCounts).plan)
  }

  private answerer(given: Readonly<Record<string, Key>>, sought: string | null): Answerer {
    const names = Object.keys(given)
    const types = new Map(names.map((name) => [name, given[name]![0]]))
    const key = JSON.stringify([[...types], sought])
    let answerer = this.answerers.get(key)
    if (!answerer) {
      for (const name of sought === null ? names : [...names, sought]) {
        const slot = nodeVariable(this.query, name)
        if (typeof slot === 'string') {
          throw new CompileFault([{ code: 'UnboundVariable', message: slot, span: { start: 0, end: 0 } }])
        }
      }
      answerer = new Answerer(this.query, { given: names, sought, types }, defaultOptions)
      this.answerers.set(key, answerer)
    }
    return answerer
  }
}

function idsOf(given: Readonly<Record<string, Key>>): string[] {
  return Object.values(given).map(([, externalId]) => externalId)
}

function keyOf({ snapshot, node }: Found): Key {
  return [String(snapshot.nodeOwn(node, 'type')), String(snapshot.nodeOwn(node, 'external_id'))]
}

function toParameters(parameters: Parameters): ReadonlyMap<string, Value> {
  return new Map(Object.entries(parameters).map(([name, value]) => [name, fromJson(value)]))
}
