// Evaluates a context query in the service oracle: the records that it returns, and the graph that it leaves.
import {
  isElement,
  type NaiveCell,
  type NaiveGraph,
  type NaiveNode,
  type NaiveProperty,
  type NaiveRelationship,
  type NaiveStoredValue,
  type Scalar,
} from './graph.ts'
import { type NaiveClause, NaiveTooManyRowsError, nodesIn, relationshipsIn, rowsOf } from './match.ts'
import { type NaiveCondition, type NaiveParameters, type NaiveRow, type Term, termValue, truthOf } from './terms.ts'

export interface NaivePropertyWrite {
  readonly name: string
  readonly term: Term
  readonly metadata: readonly { readonly name: string; readonly term: Term }[]
}

export interface NaiveNodeWrite {
  readonly name: string
  /** Null if the pattern binds it. */
  readonly key: { readonly type: string; readonly externalId: Term } | null
  readonly labels: readonly string[] | null
  readonly properties: readonly NaivePropertyWrite[]
}

export interface NaiveRelationshipWrite {
  readonly name: string
  readonly key: { readonly type: string; readonly source: string; readonly target: string } | null
  readonly properties: readonly NaivePropertyWrite[]
}

export interface JoinRule {
  readonly type: string
  readonly source_node_label: string
  readonly target_node_label: string
}

export interface NaiveContextCase {
  readonly subjectType: string
  readonly clauses: readonly NaiveClause[]
  readonly policyFilters: readonly NaiveCondition[]
  readonly queryFilter: NaiveCondition | null
  readonly allowedReads: { nodes: string[]; relationships: string[]; aggregate_values: string[] }
  readonly joinRules: readonly JoinRule[]
  readonly nodeTypes: readonly string[]
  readonly existingNodes: readonly string[]
  readonly existingRelationships: readonly string[]
  readonly allowedDeletes: { nodes: string[]; relationships: string[] }
  /** Requested paths. */
  readonly nodes: readonly string[]
  readonly relationships: readonly string[]
  readonly aggregates: readonly string[]
  readonly nodeWrites: readonly NaiveNodeWrite[]
  readonly relationshipWrites: readonly NaiveRelationshipWrite[]
  readonly deleteNodes: readonly string[]
  readonly deleteRelationships: readonly string[]
}

/** The possible status codes of such a response. */
export interface NaiveRefusal {
  readonly statuses: readonly number[]
}

export interface NaiveRecord {
  readonly nodes: Record<string, unknown>
  readonly relationships: Record<string, unknown>
  readonly aggregate_values: Record<string, unknown>
}

/** Within one call; exceeding it is tested elsewhere. */
const WRITES_MAX = 10_000

/** For each row. */
export function writesOf(one: NaiveContextCase): number {
  return one.nodeWrites.length + one.relationshipWrites.length + one.deleteNodes.length + one.deleteRelationships.length
}

/** Changes the graph as the query would, even if it is refused: the caller passes a copy. */
export function naiveAnswer(
  one: NaiveContextCase,
  graph: NaiveGraph,
  parameters: NaiveParameters,
): NaiveRecord[] | NaiveRefusal {
  const rows = rowsOf(one.clauses, graph, parameters).filter((row) => {
    const subject = row.get('subject') ?? null
    if (subject === null || !isElement(subject) || subject.type !== one.subjectType) return false
    const filters = [...one.policyFilters, ...(one.queryFilter === null ? [] : [one.queryFilter])]
    return filters.every((filter) => truthOf(filter, row, parameters) === true)
  })
  // Values are known before the graph is read.
  const terms = [...one.nodeWrites, ...one.relationshipWrites].flatMap(({ properties }) =>
    properties.flatMap(({ term, metadata }) => [term, ...metadata.map((entry) => entry.term)]),
  )
  const keys = one.nodeWrites.flatMap(({ key }) => (key === null ? [] : [key.externalId]))
  if ([...terms, ...keys].some((term) => termValue(term, new Map(), parameters) === null)) return { statuses: [422] }
  if (rows.length * writesOf(one) > WRITES_MAX) throw new NaiveTooManyRowsError()
  const mutable = rows.map((row) => new Map(row))
  const refused = new NaiveWriter(one, graph, parameters).write(mutable)
  if (refused.size > 0) return { statuses: [...refused] }
  return mutable.map((row) => recordOf(one, row, graph))
}

class NaiveWriter {
  private readonly one: NaiveContextCase
  private readonly graph: NaiveGraph
  private readonly parameters: NaiveParameters
  private readonly refused = new Set<number>()
  private readonly made = new Set<NaiveNode | NaiveRelationship>()

  constructor(one: NaiveContextCase, graph: NaiveGraph, parameters: NaiveParameters) {
    this.one = one
    this.graph = graph
    this.parameters = parameters
  }

  write(rows: readonly Map<string, NaiveCell>[]): Set<number> {
    const { nodeWrites, relationshipWrites, deleteNodes, deleteRelationships } = this.one
    for (const row of rows) for (const write of nodeWrites) this.node(write, row)
    for (const row of rows) for (const write of relationshipWrites) this.relationship(write, row)
    for (const row of rows) {
      for (const path of deleteRelationships) this.remove(path, row)
      for (const path of deleteNodes) this.remove(path, row)
    }
    return this.refused
  }

  private node({ name, key, labels, properties }: NaiveNodeWrite, row: Map<string, NaiveCell>): void {
    let nodes: NaiveNode[]
    if (key === null) {
      nodes = nodesIn(row.get(name) ?? null)
      if (nodes.some(({ type }) => type.startsWith('_'))) this.refused.add(403)
    } else {
      const { node, created } = this.graph.putNode(key.type, termValue(key.externalId, row, this.parameters) as string)
      this.met(node, created, name, properties, this.one.nodes, this.one.allowedReads.nodes)
      row.set(name, node)
      nodes = [node]
    }
    for (const node of nodes) {
      if (labels !== null) node.labels = new Set([node.type, ...labels])
      for (const property of properties) node.properties.set(property.name, this.property(property))
    }
  }

  /** Existing data is returned only if the policy allows it to be read, or if it was just written. */
  private met(
    element: NaiveNode | NaiveRelationship,
    created: boolean,
    name: string,
    properties: readonly NaivePropertyWrite[],
    asked: readonly string[],
    readable: readonly string[],
  ): void {
    if (created) this.made.add(element)
    if (created || this.made.has(element)) return
    const written = new Set(properties.map((property) => property.name))
    const isNode = element.kind === 'node'
    const tells = asked.some((path) => {
      const [variable, first, second] = path.split('.')
      if (variable !== name || readable.some((one) => naiveCovers(one, path))) return false
      if (first === 'external_id' || first === 'type') return !isNode && !written.has(first)
      const property = first === 'property' ? second : isNode ? undefined : first
      return property === undefined || property === '*' || !written.has(property)
    })
    if (tells) this.refused.add(403)
  }

  private relationship({ name, key, properties }: NaiveRelationshipWrite, row: Map<string, NaiveCell>): void {
    let found: NaiveRelationship[]
    if (key === null) {
      found = relationshipsIn(row.get(name) ?? null)
      if (found.some(({ type }) => type.startsWith('_'))) this.refused.add(403)
    } else {
      const [source, target] = [row.get(key.source) ?? null, row.get(key.target) ?? null]
      if (!isNode(source) || !isNode(target)) {
        this.refused.add(422)
        return
      }
      const isAllowed = this.one.joinRules.some(
        (rule) =>
          rule.type === key.type &&
          source.labels.has(rule.source_node_label) &&
          target.labels.has(rule.target_node_label),
      )
      if (!isAllowed) {
        this.refused.add(403)
        return
      }
      const { relationship, created } = this.graph.putRelationship(source, key.type, target)
      this.met(relationship, created, name, properties, this.one.relationships, this.one.allowedReads.relationships)
      row.set(name, relationship)
      found = [relationship]
    }
    for (const one of found) {
      for (const property of properties) one.properties.set(property.name, this.property(property))
    }
  }

  private property({ term, metadata }: NaivePropertyWrite): NaiveProperty {
    const value = (of: Term) => termValue(of, new Map(), this.parameters)
    return {
      value: value(term) as NaiveStoredValue,
      metadata: Object.fromEntries(metadata.map((entry) => [entry.name, value(entry.term) as Scalar])),
    }
  }

  private remove(path: string, row: NaiveRow): void {
    const [name = '', ...rest] = path.split('.')
    const cell = row.get(name) ?? null
    for (const element of [...nodesIn(cell), ...relationshipsIn(cell)]) {
      if (!this.graph.has(element)) continue
      if (element.type.startsWith('_')) this.refused.add(403)
      const property = rest.at(-1)
      if (property === '*') element.properties.clear()
      else if (property !== undefined) element.properties.delete(property)
      else if (element.kind === 'node') this.graph.removeNode(element)
      else this.graph.removeRelationship(element)
    }
  }
}

function isNode(cell: NaiveCell): cell is NaiveNode {
  return cell !== null && isElement(cell) && cell.kind === 'node'
}

/** `allowed_reads` of the policy (docs/decisions/0010-context-query-reads.md). */
export function naiveCovers(allowed: string, asked: string): boolean {
  if (allowed === asked) return true
  const [name, ...rest] = asked.split('.')
  const isMetadata = rest.includes('metadata')
  if (allowed === `${name}.*`) return !isMetadata && rest[0] !== 'trust_score'
  if (allowed === `${name}.trust_score.*`) return rest[0] === 'trust_score'
  return allowed === `${name}.property.*` && rest[0] === 'property' && !isMetadata
}

function recordOf(one: NaiveContextCase, row: NaiveRow, graph: NaiveGraph): NaiveRecord {
  const present = (cell: NaiveCell): NaiveCell => {
    if (Array.isArray(cell)) return cell.map((item: NaiveCell) => present(item))
    return cell !== null && isElement(cell) && !graph.has(cell) ? null : cell
  }
  const paths = (asked: readonly string[]) =>
    Object.fromEntries(
      asked.map((path) => {
        const [name = '', ...rest] = path.split('.')
        return [path, at(present(row.get(name) ?? null), rest)]
      }),
    )
  return {
    nodes: paths(one.nodes),
    relationships: paths(one.relationships),
    aggregate_values: Object.fromEntries(one.aggregates.map((name) => [name, whole(present(row.get(name) ?? null))])),
  }
}

function at(cell: NaiveCell, path: readonly string[]): unknown {
  if (cell === null) return null
  if (Array.isArray(cell)) return cell.map((item: NaiveCell) => at(item, path))
  if (!isElement(cell)) return null
  const [first, second, third, fourth = ''] = path
  if (first === undefined) return whole(cell)
  const named = (name: string | undefined) => (name === undefined ? undefined : cell.properties.get(name))
  const listed = [...cell.properties].map(([type, { value }]) => ({ type, value: value as unknown }))
  if (first === '*') return [...(cell.kind === 'node' ? ownOf(cell) : []), ...listed]
  if (first === 'property' && second === '*') return listed
  if (third === 'metadata') return named(second)?.metadata[fourth] ?? null
  if (first === 'property') return named(second)?.value ?? null
  if (first === 'trust_score') return second === '*' ? [] : null
  if (cell.kind === 'relationship') return named(first)?.value ?? null
  return ownOf(cell).find(({ type }) => type === first)?.value ?? null
}

function ownOf({ type, externalId, isIdentity }: NaiveNode): { type: string; value: unknown }[] {
  return [
    { type: 'external_id', value: externalId },
    { type: 'is_identity', value: isIdentity },
    { type: 'type', value: type },
  ]
}

function whole(cell: NaiveCell): unknown {
  if (cell === null || typeof cell !== 'object') return cell
  if (Array.isArray(cell)) return cell.map((item: NaiveCell) => whole(item))
  if (!isElement(cell)) return null
  const stored = Object.fromEntries([...cell.properties].map(([name, { value }]) => [name, value]))
  if (cell.kind === 'relationship') return { Type: cell.type, Props: stored }
  const own = Object.fromEntries(ownOf(cell).map(({ type, value }) => [type, value]))
  return { Labels: [...cell.labels], Props: { ...stored, ...own } }
}
