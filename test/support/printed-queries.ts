// Runs queries of the engine over the embedded store and, as printed text, on Neo4j with the same graph, and compares the
// answers. The graph of the server has the mapping of decision record 0067: labels, plain properties and hidden properties.
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { acceptsValue } from '../../src/bolt/print/parameter.ts'
import { type PrintedQuery, printQuery } from '../../src/bolt/print/print-query.ts'
import type { BoundQuery } from '../../src/engine/bind/bound.ts'
import { ExecutionError } from '../../src/engine/errors.ts'
import { PreparedQuery } from '../../src/engine/prepared-query.ts'
import { pushedQueryOf, valuesQuery } from '../../src/engine/pushdown.ts'
import { type AccessQuery, allRows, externalIdParameter } from '../../src/engine/relation-query.ts'
import type { NodeId, Snapshot } from '../../src/engine/store.ts'
import type { PropertyValue, Value } from '../../src/engine/value/value.ts'
import { systemClock } from '../../src/kernel/time/clock.ts'
import { openEnvironment } from '../../src/store/graph/environment.ts'
import { ofResult } from '../judge/engine-side.ts'
import { type ElementNumbers, type JudgedGraph, writeJudgedGraph } from '../judge/judge-graph.ts'
import { BeyondLimits, differenceOf, type JudgedOutcome, type JudgedQuery } from '../judge/judged-outcome.ts'
import { ElementNumber } from '../judge/judged-value.ts'
import type { Neo4jConnection } from '../judge/neo4j-side.ts'

/** A bound query with its use. `externalIds` are those of the fixed variables. */
export interface PrintedCase {
  readonly text: string
  readonly bound: BoundQuery
  readonly access: AccessQuery
  readonly externalIds: readonly string[]
  readonly parameters: ReadonlyMap<string, Value>
  readonly orderedBy: readonly string[]
  readonly bags: readonly string[] | 'all'
}

/**
 * - `equal`, `different`: both answered. `different` also if the engine fails and the server has an answer.
 * - `not printable`: with the reason.
 * - `executed`: a parameter cannot be computed or has another kind than the text needs, so the engine executes the query.
 * - `failed`: the server fails, so the engine executes the query.
 */
export type PrintedVerdict =
  | { readonly kind: 'equal'; readonly hasRows: boolean }
  | {
      readonly kind: 'different' | 'not printable' | 'executed' | 'failed' | 'beyond limits'
      readonly why: string
      readonly printed?: string
    }

export interface PrintedBench {
  judge(cases: readonly PrintedCase[]): Promise<PrintedVerdict[]>
  close(): Promise<void>
}

const LIMITS = { stepsMax: 200_000, timeMs: 20_000 }

/** Opens a store in a temporary folder with the graph; Neo4j gets the mapped graph with each call. */
export async function openPrintedBench(graph: JudgedGraph, connection: Neo4jConnection): Promise<PrintedBench> {
  const folder = await mkdtemp(join(tmpdir(), 'verdigraph-printed-'))
  const environment = openEnvironment(folder, { clock: systemClock, sync: false, entriesPerChunk: 3 })
  const numbers = await environment.write((batch) => writeJudgedGraph(graph, batch))
  const snapshot = environment.snapshot()
  const mapped = mappedGraph(graph, numbers, snapshot)
  const server = connection.open(mapped)
  return {
    judge: async (cases) => {
      const prepared = cases.map((item) => prepare(item, snapshot, numbers))
      const asked = prepared.flatMap((one) => ('query' in one ? [one] : []))
      const answers = (await server.answers(asked.map(({ query }) => query))).values()
      return prepared.map((one): PrintedVerdict => {
        if (!('query' in one)) return one
        const theirs = answers.next().value!
        const printed = one.query.text
        if (theirs instanceof BeyondLimits) return { kind: 'beyond limits', why: theirs.message }
        if (theirs.error !== null) return { kind: 'failed', why: theirs.error.message.split('\n')[0]!, printed }
        const difference = differenceOf({ ...one.query, text: one.source }, one.ours, theirs)
        if (difference !== null) return { kind: 'different', why: difference, printed }
        return { kind: 'equal', hasRows: theirs.rows.length > 0 }
      })
    },
    close: async () => {
      snapshot.close()
      await environment.close()
      await rm(folder, { recursive: true, force: true })
    },
  }
}

interface PreparedCase {
  /** The text of the author. */
  readonly source: string
  readonly query: JudgedQuery
  readonly ours: JudgedOutcome
}

function prepare(item: PrintedCase, snapshot: Snapshot, numbers: ElementNumbers): PreparedCase | PrintedVerdict {
  const { bound, access } = item
  const printed = printQuery(pushedQueryOf(bound, access))
  if (!printed.ok) return { kind: 'not printable', why: printed.error }
  const { text, columns } = printed.value
  let ours: JudgedOutcome
  try {
    ours = { error: null, columns, rows: ourRows(item, snapshot, numbers) }
  } catch (fault) {
    if (!(fault instanceof ExecutionError)) throw fault
    if (fault.code === 'budget') return { kind: 'beyond limits', why: fault.message }
    ours = { error: { phase: 'run', kind: fault.code, message: fault.message } }
  }
  const parameters = textParameters(printed.value, item, snapshot)
  if (typeof parameters === 'string') return { kind: 'executed', why: parameters }
  const renamed = new Map(bound.columns.map(({ name }, i) => [name, `c${i}`]))
  const orderedBy = item.orderedBy.map((name) => renamed.get(name)!)
  const bags = item.bags === 'all' ? item.bags : item.bags.flatMap((name) => renamed.get(name) ?? [])
  return { source: item.text, query: { text, parameters, orderedBy, bags }, ours }
}

function ourRows(
  item: PrintedCase,
  snapshot: Snapshot,
  numbers: ElementNumbers,
): (readonly ReturnType<typeof ofResult>[])[] {
  const context = { snapshot, parameters: item.parameters, limits: LIMITS }
  const query = new PreparedQuery(item.bound, item.access, { rules: 'on' })
  const { returns } = item.access
  if (returns === 'exists') return [[query.exists(context, item.externalIds)]]
  if (returns !== 'rows') {
    return query
      .findNodes(context, item.externalIds)
      .map(({ node }) => [new ElementNumber('node', numbers.nodes.get(node)!)])
  }
  const cursor = query.rows(context)
  const rows: ReturnType<typeof ofResult>[][] = []
  while (cursor.next()) rows.push(cursor.materialize().map((cell) => ofResult(cell, numbers)))
  return rows
}

/** The parameters of the text, or the reason why the engine must execute the query. */
function textParameters(
  { parameters }: PrintedQuery,
  { bound, access, externalIds, parameters: given }: PrintedCase,
  snapshot: Snapshot,
): Map<string, Value> | string {
  const all = new Map(given)
  for (const [i, name] of access.fixed.entries()) all.set(externalIdParameter(name), externalIds[i]!)
  const names = [...parameters.keys()]
  const query = valuesQuery(
    [...parameters.values()].map(({ expression }) => expression),
    bound.frameSize,
  )
  let values: readonly Value[]
  try {
    const cursor = new PreparedQuery(query, allRows, { rules: 'on' }).rows({
      snapshot,
      parameters: all,
      limits: LIMITS,
    })
    cursor.next()
    values = cursor.values()
  } catch (fault) {
    if (!(fault instanceof ExecutionError)) throw fault
    return `a parameter fails: ${fault.code}`
  }
  const found = new Map<string, Value>([
    ['after', -1],
    ['enough', 1_000_000],
  ])
  for (const [i, value] of values.entries()) {
    const { takes } = parameters.get(names[i]!)!
    if (!acceptsValue(takes, value)) return `a parameter is no ${takes}`
    found.set(names[i]!, value)
  }
  return found
}

/** The graph as a server stores it, with the fields that the embedded store gave to the elements, and the state node. */
function mappedGraph(graph: JudgedGraph, numbers: ElementNumbers, snapshot: Snapshot): JudgedGraph {
  const ids = new Map([...numbers.nodes].map(([id, number]) => [number, id as NodeId]))
  const nodes = graph.nodes.map((node, index) => {
    const id = ids.get(index)!
    const properties = new Map<string, PropertyValue>(node.properties)
    const add = (name: string, value: Value): void => {
      if (value !== null) properties.set(name, value as PropertyValue)
    }
    add('external_id', snapshot.nodeField(id, 'external_id'))
    add('_verdigraph_type', snapshot.nodeField(id, 'type'))
    add('_verdigraph_created', snapshot.nodeField(id, 'create_time'))
    add('_verdigraph_updated', snapshot.nodeField(id, 'update_time'))
    add('_verdigraph_id', snapshot.nodeField(id, 'id'))
    if (node.isIdentity) properties.set('_verdigraph_identity', true)
    return { key: null, isIdentity: false, labels: node.labels, properties }
  })
  const state = {
    key: null,
    isIdentity: false,
    labels: ['_VerdigraphState'],
    properties: new Map<string, PropertyValue>([['version', 1]]),
  }
  return { nodes: [...nodes, state], relationships: graph.relationships }
}
