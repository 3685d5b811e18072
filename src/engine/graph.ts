// The library's entry point: a graph to write to, to check conditions on and to query, synchronously and in this process.

import type { BoundQuery } from './bind/bound.ts'
import { type Definitions, noDefinitions } from './bind/definitions.ts'
import { Budget, type BudgetLimits } from './budget.ts'
import { compileModel } from './definitions/model.ts'
import { CompileError, ExecutionError } from './errors.ts'
import { defaultOptions, type QueryContext } from './planned-query.ts'
import { compileText, findUnboundVariables, type NodeReference, PreparedQuery } from './prepared-query.ts'
import type { AccessQuery } from './relation-query.ts'
import { compileRowsQuery, type QueryResult } from './rows-query.ts'
import type { GraphStore, WriteBatch } from './store.ts'
import { type TextWarning, UnknownSymbols, unknownSymbolWarnings } from './unknown-symbols.ts'
import { fromJson } from './value/json-conversion.ts'
import type { Value } from './value/value.ts'

/**
 * Type and external id of a node.
 *
 * @example
 * const ann: EntityKey = ['Person', 'ann']
 */
export type EntityKey = readonly [type: string, externalId: string]

/**
 * Values for the parameters of a query, by name without `$`. Values are JSON values.
 *
 * @example
 * const parameters: QueryParameters = { minimum: 4, colours: ['red', 'blue'] }
 */
export type QueryParameters = Readonly<Record<string, unknown>>

/** Options of a graph. */
interface GraphOptions {
  /** The text of a model: definitions of derived relationships. */
  readonly model?: string
}

function definitionsOf(text: string): Definitions {
  const model = compileModel(text)
  if (!model.ok) throw new CompileError(model.error, text)
  return model.value
}

const defaultLimits: BudgetLimits = { stepsMax: 100_000_000, timeMs: 10_000 }

/**
 * A graph over a store. Reads run on one snapshot each.
 *
 * ```ts
 * const graph = new Graph(openStore('my-graph'))
 * const [ann, car] = [{ type: 'Person', externalId: 'ann' }, { type: 'Car', externalId: 'c-1' }]
 * await graph.write((batch) => {
 *   for (const node of [ann, car]) batch.upsertNode(node)
 *   batch.upsertRelationship({ source: ann, type: 'OWNS', target: car })
 * })
 * const owns = graph.prepare('MATCH (subject:Person)-[:OWNS]->(resource:Car)')
 * owns.exists({ subject: ['Person', 'ann'], resource: ['Car', 'c-1'] }) // true
 * owns.find('resource', { subject: ['Person', 'ann'] }) // [['Car', 'c-1']]
 * ```
 */
export class Graph {
  private readonly store: GraphStore
  private readonly limits: BudgetLimits
  private readonly definitions: Definitions

  /**
   * `limits`: for each run, steps and milliseconds. Default: 100 million steps and 10 seconds. `model`: the text with the definitions
   * of derived relationships that conditions and queries can use. Throws CompileError for a model that is not valid.
   *
   * @example
   * const model = 'DEFINE (u:User)-[:in]->(g:Group) AS { MATCH (u)-[:MEMBER]->(g) UNION MATCH (u)-[:in]->(x:Group)-[:MEMBER]->(g) }'
   * new Graph(openStore('my-graph'), undefined, { model }).prepare('MATCH (subject:User)-[:in]->(resource:Group)')
   */
  constructor(store: GraphStore, limits: BudgetLimits = defaultLimits, { model }: GraphOptions = {}) {
    this.store = store
    this.limits = limits
    this.definitions = model === undefined ? noDefinitions : definitionsOf(model)
  }

  /**
   * Runs `change` in one transaction. Resolves with its result when the transaction is on disk. Rejects with what `change`
   * throws; then nothing is written.
   */
  write<T>(change: (batch: WriteBatch) => T): Promise<T> {
    return this.store.write(change)
  }

  /**
   * Compiles a condition, such as `MATCH (subject:Person)-[:OWNS]->(resource:Car)`. Any variable that the pattern binds to a
   * node can be fixed or searched for. Throws CompileError.
   */
  prepare(condition: string): PreparedCondition {
    const compiled = compileText(condition, 'open', 'condition', this.definitions)
    if (!compiled.ok) throw new CompileError(compiled.error, condition)
    return new PreparedCondition(condition, compiled.value.bound, (run) => this.read(run))
  }

  /**
   * The rows of a query that ends with RETURN. Throws CompileError, and ExecutionError if the run fails.
   *
   * @example
   * graph.query('MATCH (p:Person)-[:OWNS]->(c) RETURN p.external_id AS owner, count(c) AS cars').rows
   */
  query(text: string, parameters: QueryParameters = {}): QueryResult {
    const query = compileRowsQuery(text, defaultOptions, 'open', this.definitions)
    if (!query.ok) throw new CompileError(query.error, text)
    return this.read((contextFor) => query.value.run(contextFor(parameters)))
  }

  /** Opens a snapshot for the time of `run`. All that `run` executes shares one budget. */
  private read<T>(run: Run<T>): T {
    const snapshot = this.store.snapshot()
    try {
      const budget = new Budget()
      budget.start(this.limits)
      return run((parameters) => ({ snapshot, parameters: toParameters(parameters), limits: this.limits, budget }))
    } finally {
      snapshot.close()
    }
  }
}

type Run<T> = (contextFor: (parameters: QueryParameters) => QueryContext) => T
type ReadOnce = <T>(run: Run<T>) => T

/**
 * A compiled condition. It is planned once for each combination of fixed variables, their types and the target.
 *
 * @example
 * const owns = graph.prepare('MATCH (subject:Person)-[:OWNS]->(resource:Car)')
 * if (owns.exists({ subject: ['Person', 'ann'], resource: ['Car', 'c-1'] })) console.log('permit')
 */
export class PreparedCondition {
  private readonly text: string
  private readonly query: BoundQuery
  private readonly read: ReadOnce
  private readonly prepared = new Map<string, PreparedQuery>()

  /** Use `Graph.prepare`. */
  constructor(text: string, query: BoundQuery, read: ReadOnce) {
    this.text = text
    this.query = query
    this.read = read
  }

  /**
   * A warning for each label, relationship type and property of the condition that the graph has never seen: most are spelling
   * mistakes. Empty while the graph is empty. Each call reads the graph as it is.
   *
   * @example
   * graph.prepare('MATCH (subject:Person)-[:OWN]->(resource:Car)').warnings[0]?.message
   * // no relationship of type `OWN` was ever captured; did you mean `[:OWNS]`?
   */
  get warnings(): readonly TextWarning[] {
    return this.read((contextFor) => {
      const unknown = new UnknownSymbols([contextFor({}).snapshot])
      return unknownSymbolWarnings(this.text, this.query.symbols, unknown)
    })
  }

  /**
   * Whether there is a row in which the variables are the given nodes. False if one of the nodes does not exist. Throws
   * CompileError for a variable that the condition does not bind to a node, and ExecutionError if the run fails.
   */
  exists(fixed: Readonly<Record<string, EntityKey>>, parameters: QueryParameters = {}): boolean {
    return this.read((contextFor) => this.queryFor(fixed, null).exists(contextFor(parameters), idsOf(fixed)))
  }

  /**
   * Every node that the variable `target` has in a row with the given nodes, each once, in an order that is stable while the
   * graph does not change. Throws as `exists` does.
   */
  find(target: string, fixed: Readonly<Record<string, EntityKey>>, parameters: QueryParameters = {}): EntityKey[] {
    return this.read((contextFor) =>
      this.queryFor(fixed, target).findNodes(contextFor(parameters), idsOf(fixed)).map(entityKeyOf),
    )
  }

  /**
   * The plan as text. `fixed`: the type of the node of each fixed variable. `target`: the variable to search for; without it,
   * the plan of `exists`. Throws CompileError.
   */
  explain(use: { readonly fixed: Readonly<Record<string, string>>; readonly target?: string }): string {
    const fixed = Object.entries(use.fixed).map(([name, type]): [string, EntityKey] => [name, [type, '']])
    return this.queryFor(Object.fromEntries(fixed), use.target ?? null).explain()
  }

  private queryFor(fixed: Readonly<Record<string, EntityKey>>, target: string | null): PreparedQuery {
    const names = Object.keys(fixed)
    const types = new Map(names.map((name) => [name, fixed[name]![0]]))
    const key = JSON.stringify([[...types], target])
    let prepared = this.prepared.get(key)
    if (!prepared) {
      const variables = target === null ? names : [...names, target]
      const [unbound] = findUnboundVariables(this.query, variables, { start: 0, end: 0 })
      if (unbound) throw new CompileError([unbound], null)
      const returns: AccessQuery['returns'] = target === null ? 'exists' : { nodesOf: target }
      prepared = new PreparedQuery(this.query, { fixed: names, returns, types }, defaultOptions)
      this.prepared.set(key, prepared)
    }
    return prepared
  }
}

function idsOf(fixed: Readonly<Record<string, EntityKey>>): string[] {
  return Object.values(fixed).map(([, externalId]) => externalId)
}

function entityKeyOf({ snapshot, node }: NodeReference): EntityKey {
  return [String(snapshot.nodeField(node, 'type')), String(snapshot.nodeField(node, 'external_id'))]
}

function toParameters(parameters: QueryParameters): ReadonlyMap<string, Value> {
  return new Map(Object.entries(parameters).map(([name, value]) => [name, parameterValue(name, value)]))
}

function parameterValue(name: string, value: unknown): Value {
  try {
    return fromJson(value)
  } catch (error) {
    if (!(error instanceof ExecutionError)) throw error
    throw new ExecutionError(error.code, `the parameter $${name}: ${error.message}`)
  }
}
