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
  const writer = new NaiveWriter(one, graph, parameters)
  const refused = writer.write(mutable)
  if (refused.size > 0) return { statuses: [...refused] }
  return mutable.map((row) => recordOf(one, row, graph, writer.written))
}

/** The parts of an element that the upserts of one call wrote. */
interface NaiveWrittenParts {
  readonly properties: Set<string>
  labels: boolean
}

type NaiveWrittenElements = Map<NaiveNode | NaiveRelationship, NaiveWrittenParts>

class NaiveWriter {
  readonly written: NaiveWrittenElements = new Map()
  private readonly one: NaiveContextCase
  private readonly graph: NaiveGraph
  private readonly parameters: NaiveParameters
  private readonly refused = new Set<number>()

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
      const { node } = this.graph.putNode(key.type, termValue(key.externalId, row, this.parameters) as string)
      row.set(name, node)
      nodes = [node]
    }
    for (const node of nodes) {
      this.note(node, properties, labels !== null)
      if (labels !== null) node.labels = new Set([node.type, ...labels])
      for (const property of properties) node.properties.set(property.name, this.property(property))
    }
  }

  private note(
    element: NaiveNode | NaiveRelationship,
    properties: readonly NaivePropertyWrite[],
    labels: boolean,
  ): void {
    const parts = this.written.get(element) ?? { properties: new Set<string>(), labels: false }
    this.written.set(element, parts)
    for (const { name } of properties) parts.properties.add(name)
    parts.labels ||= labels
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
      const { relationship } = this.graph.putRelationship(source, key.type, target)
      row.set(name, relationship)
      found = [relationship]
    }
    for (const one of found) {
      this.note(one, properties, false)
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

function recordOf(one: NaiveContextCase, row: NaiveRow, graph: NaiveGraph, written: NaiveWrittenElements): NaiveRecord {
  const present = (cell: NaiveCell): NaiveCell => {
    if (Array.isArray(cell)) return cell.map((item: NaiveCell) => present(item))
    return cell !== null && isElement(cell) && !graph.has(cell) ? null : cell
  }
  const newNames = new Set([...one.nodeWrites, ...one.relationshipWrites].flatMap((of) => (of.key ? [of.name] : [])))
  const paths = (asked: readonly string[], allowed: readonly string[]) =>
    Object.fromEntries(
      asked.flatMap((path) => {
        const [name = '', ...rest] = path.split('.')
        const cell = present(row.get(name) ?? null)
        const isRestricted = newNames.has(name) && !allowed.some((readable) => naiveCovers(readable, path))
        if (!isRestricted || cell === null || !isElement(cell)) return [[path, at(cell, rest)]]
        const isReadable = (property: string) => allowed.some((of) => naiveCovers(of, `${name}.property.${property}`))
        const value = writtenAt(cell, rest, written.get(cell), isReadable)
        return value === undefined ? [] : [[path, value]]
      }),
    )
  return {
    nodes: paths(one.nodes, one.allowedReads.nodes),
    relationships: paths(one.relationships, one.allowedReads.relationships),
    aggregate_values: Object.fromEntries(one.aggregates.map((name) => [name, whole(present(row.get(name) ?? null))])),
  }
}

/**
 * A path of an element that the query writes under a name of its own, where the policy does not allow the path: own fields,
 * and the properties and labels that the call wrote or that the policy allows. Undefined: the record leaves the path out.
 */
function writtenAt(
  element: NaiveNode | NaiveRelationship,
  path: readonly string[],
  parts: NaiveWrittenParts | undefined,
  isReadable: (property: string) => boolean,
): unknown {
  const wrote = (name: string) => parts?.properties.has(name) === true
  const isShown = (name: string) => wrote(name) || isReadable(name)
  const properties = new Map([...element.properties].filter(([name]) => isShown(name)))
  const shown =
    element.kind === 'node'
      ? { ...element, properties, labels: parts?.labels === true ? element.labels : new Set([element.type]) }
      : { ...element, properties }
  const [first, second, third] = path
  if (first === 'trust_score') return undefined
  const property = first === 'property' ? second : element.kind === 'relationship' ? first : undefined
  if (third === 'metadata') return wrote(property ?? '') ? at(shown, path) : undefined
  const isOneProperty = property !== undefined && property !== '*' && !isOwnField(element, path)
  return isOneProperty && !isShown(property) ? undefined : at(shown, path)
}

function isOwnField(element: NaiveNode | NaiveRelationship, [first]: readonly string[]): boolean {
  return first === 'type' || (first === 'external_id' && element.kind === 'node')
}

function at(cell: NaiveCell, path: readonly string[]): unknown {
  if (cell === null) return null
  if (Array.isArray(cell)) return cell.map((item: NaiveCell) => at(item, path))
  if (!isElement(cell)) return null
  const [first, second, third, fourth = ''] = path
  if (first === undefined) return whole(cell)
  const named = (name: string | undefined) => (name === undefined ? undefined : cell.properties.get(name))
  const listed = [...cell.properties].map(([type, { value }]) => ({ type, value: value as unknown }))
  if (first === '*') return [...(cell.kind === 'node' ? ownOf(cell) : [{ type: 'type', value: cell.type }]), ...listed]
  if (first === 'property' && second === '*') return listed
  if (third === 'metadata') return named(second)?.metadata[fourth] ?? null
  if (first === 'property') return named(second)?.value ?? null
  if (first === 'trust_score') return second === '*' ? [] : null
  if (cell.kind === 'relationship') return first === 'type' ? cell.type : (named(first)?.value ?? null)
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
