// Rows of a condition in the oracle: tries every assignment of its patterns to the graph.
import { isElement, type NaiveCell, type NaiveGraph, type NaiveNode, type NaiveRelationship } from './graph.ts'
import {
  identity,
  type NaiveCondition,
  type NaiveParameters,
  type NaiveRow,
  type PathExists,
  same,
  type Term,
  termValue,
  truthOf,
} from './terms.ts'

export interface NaiveNodePattern {
  readonly name: string | null
  readonly label: string | null
  readonly properties: readonly (readonly [name: string, term: Term])[]
}

export interface StepPattern {
  readonly name: string | null
  /** Empty: any. */
  readonly types: readonly string[]
  readonly direction: 'out' | 'in' | 'both'
  /** Null: one relationship. */
  readonly range: readonly [min: number, max: number] | null
  readonly properties: readonly (readonly [name: string, term: Term])[]
}

export interface ChainPattern {
  readonly nodes: readonly NaiveNodePattern[]
  readonly steps: readonly StepPattern[]
}

export type NaiveAggregate = 'count' | 'count distinct' | 'collect' | 'collect distinct' | 'min' | 'max' | 'sum' | 'avg'

export type NaiveClause =
  | {
      readonly kind: 'match'
      readonly optional: boolean
      readonly chains: readonly ChainPattern[]
      readonly where: NaiveCondition | null
    }
  /** The subjects, each once, by external id and type, and some of them. */
  | SomeSubjects
  | {
      readonly kind: 'with'
      readonly distinct: boolean
      readonly keys: readonly { readonly alias: string; readonly term: Term }[]
      /** `of` null: of rows. */
      readonly aggregates: readonly { readonly alias: string; readonly how: NaiveAggregate; readonly of: Term | null }[]
      readonly where: NaiveCondition | null
    }

export interface SomeSubjects {
  readonly kind: 'some-subjects'
  readonly skip: number
  readonly limit: number
  /** Filters those that are left. */
  readonly where: NaiveCondition | null
}

const ROWS_MAX = 3000

export class NaiveTooManyRowsError extends Error {}

export function rowsOf(clauses: readonly NaiveClause[], graph: NaiveGraph, parameters: NaiveParameters): NaiveRow[] {
  let rows: NaiveRow[] = [new Map()]
  for (const clause of clauses) {
    if (clause.kind === 'some-subjects') rows = someSubjects(clause, rows, graph, parameters)
    else if (clause.kind === 'with') rows = projected(clause, rows, graph, parameters)
    else rows = rows.flatMap((row) => matched(clause, row, graph, parameters))
    if (rows.length > ROWS_MAX) throw new NaiveTooManyRowsError()
  }
  return rows
}

function matched(
  clause: Extract<NaiveClause, { kind: 'match' }>,
  row: NaiveRow,
  graph: NaiveGraph,
  parameters: NaiveParameters,
): NaiveRow[] {
  const { chains, where, optional } = clause
  let found: Laid[] = [{ row, used: new Set() }]
  for (const chain of chains) {
    found = found.flatMap((laid) => new NaiveChain(chain, graph, parameters).lay(laid))
    if (found.length > 20 * ROWS_MAX) throw new NaiveTooManyRowsError()
  }
  const kept = found
    .map((laid) => laid.row)
    .filter((one) => where === null || truthOf(where, one, parameters, waysOf(graph, parameters)) === true)
  if (kept.length > 0 || !optional) return kept
  const empty = new Map(row)
  for (const { nodes, steps } of chains) {
    for (const { name } of [...nodes, ...steps]) if (name !== null && !empty.has(name)) empty.set(name, null)
  }
  return [empty]
}

interface Laid {
  readonly row: NaiveRow
  /** No relationship is used twice in one MATCH. */
  readonly used: ReadonlySet<NaiveRelationship>
}

class NaiveChain {
  private readonly pattern: ChainPattern
  private readonly graph: NaiveGraph
  private readonly parameters: NaiveParameters

  constructor(pattern: ChainPattern, graph: NaiveGraph, parameters: NaiveParameters) {
    this.pattern = pattern
    this.graph = graph
    this.parameters = parameters
  }

  lay(laid: Laid): Laid[] {
    const [first] = this.pattern.nodes
    return [...this.graph.nodes.values()].flatMap((node) => {
      const row = this.withNode(first as NaiveNodePattern, node, laid.row)
      return row === null ? [] : this.from(0, node, { ...laid, row })
    })
  }

  private from(at: number, node: NaiveNode, laid: Laid): Laid[] {
    const step = this.pattern.steps[at]
    if (step === undefined) return [laid]
    const next = this.pattern.nodes[at + 1] as NaiveNodePattern
    const [min, max] = step.range ?? [1, 1]
    const trails = this.trails(step, node, min, max, laid, [])
    return trails.flatMap(({ relationships, end, used }) => {
      const row = this.withNode(next, end, laid.row)
      if (row === null) return []
      const cell: NaiveCell = step.range === null ? (relationships[0] as NaiveRelationship) : relationships
      const named = step.name === null ? row : new Map([...row, [step.name, cell]])
      return this.from(at + 1, end, { row: named, used })
    })
  }

  private trails(
    step: StepPattern,
    node: NaiveNode,
    min: number,
    max: number,
    { used, row }: Laid,
    walked: readonly NaiveRelationship[],
  ): { relationships: readonly NaiveRelationship[]; end: NaiveNode; used: ReadonlySet<NaiveRelationship> }[] {
    const here = walked.length >= min ? [{ relationships: walked, end: node, used }] : []
    if (walked.length === max) return here
    const further = [...this.graph.relationships.values()].flatMap((one) => {
      if (used.has(one) || !this.fits(step, one, row)) return []
      const ends = new Set([
        ...(step.direction !== 'in' && one.source === node ? [one.target] : []),
        ...(step.direction !== 'out' && one.target === node ? [one.source] : []),
      ])
      return [...ends].flatMap((end) =>
        this.trails(step, end, min, max, { row, used: new Set([...used, one]) }, [...walked, one]),
      )
    })
    return [...here, ...further]
  }

  private fits({ types, properties }: StepPattern, one: NaiveRelationship, row: NaiveRow): boolean {
    if (types.length > 0 && !types.includes(one.type)) return false
    return properties.every(
      ([name, term]) => same(one.properties.get(name)?.value ?? null, termValue(term, row, this.parameters)) === true,
    )
  }

  /** Null if it cannot match. */
  private withNode({ name, label, properties }: NaiveNodePattern, node: NaiveNode, row: NaiveRow): NaiveRow | null {
    if (name !== null && row.has(name) && row.get(name) !== node) return null
    if (label !== null && !node.labels.has(label)) return null
    const fits = properties.every(([property, term]) => {
      const own = property === 'external_id' ? node.externalId : property === 'type' ? node.type : null
      return same(own ?? node.properties.get(property)?.value ?? null, termValue(term, row, this.parameters)) === true
    })
    if (!fits) return null
    return name === null ? row : new Map([...row, [name, node]])
  }
}

function projected(
  clause: Extract<NaiveClause, { kind: 'with' }>,
  rows: readonly NaiveRow[],
  graph: NaiveGraph,
  parameters: NaiveParameters,
): NaiveRow[] {
  const { keys, aggregates, distinct, where } = clause
  const groups = new Map<string, { readonly row: Map<string, NaiveCell>; readonly rows: NaiveRow[] }>()
  const isGrouped = distinct || aggregates.length > 0
  for (const [i, row] of rows.entries()) {
    const cells = keys.map(({ alias, term }) => [alias, termValue(term, row, parameters)] as const)
    const key = isGrouped ? cells.map(([, cell]) => identity(cell)).join(' ') : String(i)
    const group = groups.get(key) ?? { row: new Map(cells), rows: [] }
    groups.set(key, group)
    group.rows.push(row)
  }
  const all = [...groups.values()].map(({ row, rows: members }) => {
    for (const { alias, how, of } of aggregates) row.set(alias, aggregated(how, of, members, parameters))
    return row
  })
  return all.filter((row) => where === null || truthOf(where, row, parameters, waysOf(graph, parameters)) === true)
}

function someSubjects(
  { skip, limit, where }: SomeSubjects,
  rows: readonly NaiveRow[],
  graph: NaiveGraph,
  parameters: NaiveParameters,
): NaiveRow[] {
  const subjects = new Map(
    rows.flatMap((row) => nodesIn(row.get('subject') ?? null)).map((node) => [`${node.externalId} ${node.type}`, node]),
  )
  const inOrder = [...subjects].sort(([a], [b]) => (a < b ? -1 : 1)).slice(skip, skip + limit)
  return inOrder
    .map(([, subject]): NaiveRow => new Map([['subject', subject]]))
    .filter((row) => where === null || truthOf(where, row, parameters, waysOf(graph, parameters)) === true)
}

function waysOf(graph: NaiveGraph, parameters: NaiveParameters): PathExists {
  return (chain, row) => {
    // A node that an optional match did not find has no relationships.
    if (chain.nodes.some(({ name }) => name !== null && (row.get(name) ?? null) === null)) return false
    return new NaiveChain(chain, graph, parameters).lay({ row, used: new Set() }).length > 0
  }
}

function aggregated(
  how: NaiveAggregate,
  of: Term | null,
  rows: readonly NaiveRow[],
  parameters: NaiveParameters,
): NaiveCell {
  if (of === null) return rows.length
  const all = rows.map((row) => termValue(of, row, parameters)).filter((cell) => cell !== null)
  const distinct = [...new Map(all.map((cell) => [identity(cell), cell])).values()]
  const numbers = all as number[]
  const sum = numbers.reduce((total, number) => total + number, 0)
  switch (how) {
    case 'count':
      return all.length
    case 'count distinct':
      return distinct.length
    case 'collect':
      return all
    case 'collect distinct':
      return distinct
    case 'min':
      return ascending(all)[0] ?? null
    case 'max':
      return ascending(all).at(-1) ?? null
    case 'sum':
      return sum
    case 'avg':
      return all.length === 0 ? null : sum / all.length
  }
}

/** All of one kind. */
function ascending(cells: readonly NaiveCell[]): NaiveCell[] {
  return cells.toSorted((a, b) => ((a as number) < (b as number) ? -1 : 1))
}

export function nodesIn(cell: NaiveCell): NaiveNode[] {
  if (Array.isArray(cell)) return cell.flatMap((item: NaiveCell) => nodesIn(item))
  return cell !== null && isElement(cell) && cell.kind === 'node' ? [cell] : []
}

export function relationshipsIn(cell: NaiveCell): NaiveRelationship[] {
  if (Array.isArray(cell)) return cell.flatMap((item: NaiveCell) => relationshipsIn(item))
  return cell !== null && isElement(cell) && cell.kind === 'relationship' ? [cell] : []
}
