// The parts of elements that the upserts of one call wrote, and which parts of an element a record may return under a name of the query's own. An
// upsert may meet an element that existed before. The call then returns its own fields, what the call wrote and what the
// policy allows to read, exactly as if the call had created the element: a caller learns nothing else of it
// (docs/decisions/0011-context-query-writes.md).
import type { NodeId, RelationshipId } from '../engine/store.ts'
import { NodeValue, type RelationshipValue } from '../engine/value/value.ts'
import { covers, type ElementPath } from '../policy/element-path.ts'

interface WrittenParts {
  readonly properties: Set<string>
  /** Whether the call replaced the labels. */
  labels: boolean
}

/** The parts of elements that the upserts of one call wrote, under any name and in any row. */
export class WrittenElements {
  /** The number of elements that the declared types do not allow. */
  unfit = 0
  private readonly nodes = new Map<NodeId, WrittenParts>()
  private readonly relationships = new Map<RelationshipId, WrittenParts>()

  /** Adds an upsert of a node. */
  addNode(node: NodeId, properties: Iterable<string>, labels: boolean): void {
    add(this.nodes, node, properties).labels ||= labels
  }

  /** Adds an upsert of a relationship. */
  addRelationship(relationship: RelationshipId, properties: Iterable<string>): void {
    add(this.relationships, relationship, properties)
  }

  /** Returns whether the call wrote the property. */
  hasProperty(element: NodeValue | RelationshipValue, name: string): boolean {
    const written = element instanceof NodeValue ? this.nodes : this.relationships
    return written.get(element.id)?.properties.has(name) === true
  }

  /** Returns whether the call wrote the labels of the node. */
  hasLabels(node: NodeId): boolean {
    return this.nodes.get(node)?.labels === true
  }
}

function add(all: Map<number, WrittenParts>, id: number, properties: Iterable<string>): WrittenParts {
  const parts = all.get(id) ?? { properties: new Set<string>(), labels: false }
  all.set(id, parts)
  for (const name of properties) parts.properties.add(name)
  return parts
}

/** How a record may return a property: `readable` by the policy, only because the call has `written` it, or not at all. */
type PropertyPermission = 'readable' | 'written' | 'hidden'

/** The parts of an element that a record may return. */
export class ElementAccess {
  private readonly written: WrittenElements
  private readonly readable: readonly ElementPath[]

  /** `readable`: the paths that the policy allows for the name of the element. */
  constructor(written: WrittenElements, readable: readonly ElementPath[]) {
    this.written = written
    this.readable = readable
  }

  /** Returns how a property may be returned. */
  property(element: NodeValue | RelationshipValue, name: string): PropertyPermission {
    const isReadable = this.readable.some((path) => covers(path, { variable: path.variable, kind: 'property', name }))
    if (isReadable) return 'readable'
    return this.written.hasProperty(element, name) ? 'written' : 'hidden'
  }

  /** Returns whether labels other than the type may be returned. */
  labels(node: NodeId): boolean {
    return this.written.hasLabels(node)
  }
}
