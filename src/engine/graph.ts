// The library's façade: a graph that can be written to, asked conditions and queried, all in process and synchronous.
import { parse } from '../../grammar/index.ts'
import { bindQuery } from './bind/bind-query.ts'
import type { BoundQuery } from './bind/bound.ts'
import { dialects } from './bind/dialect.ts'
import { CompileFault } from './errors.ts'
import type { BudgetLimits } from './exec/context.ts'
import { type Asking, defaultOptions } from './planned-query.ts'
import { type Answerer, nodeByKey, nodeVariable, planQuestion } from './questions.ts'
import { compileRowsQuery, type Rows } from './rows.ts'
import type { GraphStore, NodeId, Snapshot, WriteBatch } from './store.ts'
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
    try {
      return ask(snapshot, (parameters) => this.asking(snapshot, parameters))
    } finally {
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
    const names = Object.keys(given)
    return this.read((snapshot, asking) =>
      this.answerer(names, null).exists(asking(parameters), keysOf(snapshot, names, given)),
    )
  }

  /** Every node that the variable takes, once each, in a stable order. */
  find(sought: string, given: Readonly<Record<string, Key>>, parameters: Parameters = {}): Key[] {
    const names = Object.keys(given)
    return this.read((snapshot, asking) =>
      this.answerer(names, sought)
        .find(asking(parameters), keysOf(snapshot, names, given))
        .map((node): Key => [String(snapshot.nodeOwn(node, 'type')), String(snapshot.nodeOwn(node, 'external_id'))]),
    )
  }

  /** The plan as text. */
  explain(question: { readonly given: readonly string[]; readonly sought?: string }): string {
    return this.answerer(question.given, question.sought ?? null).explain()
  }

  private answerer(given: readonly string[], sought: string | null): Answerer {
    const names = [...given].sort()
    const key = JSON.stringify([given, sought])
    let answerer = this.answerers.get(key)
    if (!answerer) {
      for (const name of sought === null ? names : [...names, sought]) {
        const slot = nodeVariable(this.query, name)
        if (typeof slot === 'string') {
          throw new CompileFault([{ code: 'UnboundVariable', message: slot, span: { start: 0, end: 0 } }])
        }
      }
      answerer = planQuestion(this.query, { given, sought, types: {} }, defaultOptions)
      this.answerers.set(key, answerer)
    }
    return answerer
  }
}

function keysOf(snapshot: Snapshot, names: readonly string[], given: Readonly<Record<string, Key>>): NodeId[] {
  return names.map((name) => nodeByKey(snapshot, given[name]![0], given[name]![1]))
}

function toParameters(parameters: Parameters): ReadonlyMap<string, Value> {
  return new Map(Object.entries(parameters).map(([name, value]) => [name, fromJson(value)]))
}
