// A graph in plain objects, for the oracle of context queries. It shares no code with the engine or the reference
// interpreter, so that an error that both have in common is found.

export type Scalar = string | number | boolean
export type NaiveStoredValue = Scalar | readonly Scalar[]
export type NaiveCell = NaiveStoredValue | NaiveNode | NaiveRelationship | readonly NaiveCell[] | null

export interface NaiveProperty {
  readonly value: NaiveStoredValue
  /** Named like the fields of a capture; those of `custom_metadata` next to the others. */
  readonly metadata: Readonly<Record<string, Scalar>>
}

export interface NaiveNode {
  readonly kind: 'node'
  readonly type: string
  readonly externalId: string
  labels: ReadonlySet<string>
  isIdentity: boolean
  readonly properties: Map<string, NaiveProperty>
}

export interface NaiveRelationship {
  readonly kind: 'relationship'
  readonly type: string
  readonly source: NaiveNode
  readonly target: NaiveNode
  readonly properties: Map<string, NaiveProperty>
}

export class NaiveGraph {
  readonly nodes = new Map<string, NaiveNode>()
  readonly relationships = new Map<string, NaiveRelationship>()

  putNode(type: string, externalId: string): { node: NaiveNode; created: boolean } {
    const key = `${type}/${externalId}`
    const known = this.nodes.get(key)
    if (known !== undefined) return { node: known, created: false }
    const node: NaiveNode = {
      kind: 'node',
      type,
      externalId,
      labels: new Set([type]),
      isIdentity: false,
      properties: new Map(),
    }
    this.nodes.set(key, node)
    return { node, created: true }
  }

  putRelationship(
    source: NaiveNode,
    type: string,
    target: NaiveNode,
  ): { relationship: NaiveRelationship; created: boolean } {
    const key = `${keyOf(source)} ${type} ${keyOf(target)}`
    const known = this.relationships.get(key)
    if (known !== undefined) return { relationship: known, created: false }
    const relationship: NaiveRelationship = { kind: 'relationship', type, source, target, properties: new Map() }
    this.relationships.set(key, relationship)
    return { relationship, created: true }
  }

  removeNode(node: NaiveNode): void {
    this.nodes.delete(keyOf(node))
    for (const one of [...this.relationships.values()]) {
      if (one.source === node || one.target === node) this.removeRelationship(one)
    }
  }

  removeRelationship(one: NaiveRelationship): void {
    this.relationships.delete(relationshipKey(one))
  }

  copy(): NaiveGraph {
    const copy = new NaiveGraph()
    for (const { type, externalId, labels, isIdentity, properties } of this.nodes.values()) {
      const { node } = copy.putNode(type, externalId)
      node.labels = labels
      node.isIdentity = isIdentity
      for (const [name, property] of properties) node.properties.set(name, property)
    }
    for (const { source, type, target, properties } of this.relationships.values()) {
      const [from, to] = [source, target].map((end) => copy.nodes.get(keyOf(end)) as NaiveNode)
      const { relationship } = copy.putRelationship(from as NaiveNode, type, to as NaiveNode)
      for (const [name, property] of properties) relationship.properties.set(name, property)
    }
    return copy
  }

  has(element: NaiveNode | NaiveRelationship): boolean {
    return element.kind === 'node'
      ? this.nodes.get(keyOf(element)) === element
      : this.relationships.get(relationshipKey(element)) === element
  }

  /** Everything except ids and times, in a fixed order. */
  lines(): string[] {
    const nodes = [...this.nodes.values()].map((node) =>
      JSON.stringify([
        keyOf(node),
        [...node.labels].filter((label) => label !== node.type).sort(),
        node.isIdentity,
        propertyLines(node.properties),
      ]),
    )
    const relationships = [...this.relationships].map(([key, { properties }]) =>
      JSON.stringify([key, propertyLines(properties)]),
    )
    return [...nodes, ...relationships].sort()
  }
}

export function keyOf({ type, externalId }: NaiveNode): string {
  return `${type}/${externalId}`
}

export function relationshipKey({ source, type, target }: NaiveRelationship): string {
  return `${keyOf(source)} ${type} ${keyOf(target)}`
}

function propertyLines(properties: ReadonlyMap<string, NaiveProperty>): unknown[] {
  return [...properties]
    .map(([name, { value, metadata }]) => [name, value, Object.entries(metadata).sort()] as const)
    .sort(([a], [b]) => (a < b ? -1 : 1))
}

export function isElement(cell: NaiveCell): cell is NaiveNode | NaiveRelationship {
  return typeof cell === 'object' && cell !== null && !Array.isArray(cell)
}

/** The lines of an export, from the first graph on. */
export function readExport(text: string): NaiveGraph {
  const graph = new NaiveGraph()
  for (const line of text.split('\n')) {
    if (line === '') continue
    const { node, relationship } = JSON.parse(line) as { node?: Exported; relationship?: Exported }
    if (node !== undefined) {
      const put = graph.putNode(node.type, node.external_id as string).node
      put.labels = new Set([node.type, ...(node.labels ?? [])])
      put.isIdentity = node.is_identity === true
      for (const [name, property] of exportedProperties(node)) put.properties.set(name, property)
    }
    if (relationship !== undefined) {
      const [source, target] = [relationship.source, relationship.target].map(
        (end) => graph.nodes.get(`${end?.type}/${end?.external_id}`) as NaiveNode,
      )
      const put = graph.putRelationship(source as NaiveNode, relationship.type, target as NaiveNode).relationship
      for (const [name, property] of exportedProperties(relationship)) put.properties.set(name, property)
    }
  }
  return graph
}

interface Exported {
  readonly type: string
  readonly external_id?: string
  readonly labels?: readonly string[]
  readonly is_identity?: boolean
  readonly source?: { readonly type: string; readonly external_id: string }
  readonly target?: { readonly type: string; readonly external_id: string }
  readonly properties?: readonly { type: string; value: NaiveStoredValue; metadata?: Record<string, Scalar> }[]
}

function exportedProperties({ properties = [] }: Exported): [string, NaiveProperty][] {
  return properties.map(({ type, value, metadata = {} }) => {
    const { custom_metadata, ...own } = metadata as Record<string, Scalar> & {
      custom_metadata?: Record<string, Scalar>
    }
    return [type, { value, metadata: { ...own, ...custom_metadata } }]
  })
}
