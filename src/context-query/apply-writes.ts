// Applies the writes of a query to the rows that it matched: first all nodes, then all relationships, then all
// deletions, so that a write for one row cannot restore what another row deletes. Each element is checked as it really
// is in its row; one that the policy does not allow to be written fails the whole call. See
// docs/decisions/0011-context-query-writes.md.
import type {
  BatchView,
  NodeId,
  NodeInput,
  NodeKey,
  RelationshipId,
  RelationshipInput,
  RelationshipKey,
  WriteBatch,
} from '../engine/store.ts'
import { NodeValue, PathValue, RelationshipValue, type Value } from '../engine/value/value.ts'
import { assert } from '../kernel/assert.ts'
import type { ServiceError } from '../kernel/errors.ts'
import { asWarnings, type DeclaredTypes, type TypeComparison } from '../model/declared-types.ts'
import type { CompiledQuery } from './compile-query.ts'
import type { MaterializedRow } from './materialize-rows.ts'
import type { BoundNodeWrite, BoundPropertyWrite, BoundRelationshipWrite, BoundWrites, Deletion } from './write-plan.ts'
import { WrittenElements } from './written-elements.ts'

/** Thrown inside the transaction, so that the whole call is rolled back. */
export class WriteRejectedError extends Error {
  override readonly name = 'WriteRejectedError'
  readonly error: ServiceError
  constructor(error: ServiceError) {
    super(error.kind)
    this.error = error
  }
}

function forbiddenError(at: string, what: string): WriteRejectedError {
  return new WriteRejectedError({ kind: 'forbidden', message: `${at}: ${what}` })
}

function invalidError(at: string, what: string): WriteRejectedError {
  return new WriteRejectedError({ kind: 'invalid', issues: [`${at}: ${what}`] })
}

/**
 * Writes all rows to `batch`. Rows receive the elements written under names of the query's own and lose deleted
 * elements. Returns what was written. Throws WriteRejectedError.
 */
export function applyWrites(
  query: CompiledQuery,
  bound: BoundWrites,
  rows: readonly MaterializedRow[],
  batch: WriteBatch,
  view: BatchView,
  comparison: TypeComparison | null = null,
): WrittenElements {
  const { writes } = query
  assert(writes !== null, 'only called for a query that writes')
  const writer = new WriteApplier(query, batch, view, comparison?.types ?? null)
  for (const row of rows) for (const node of bound.nodes) writer.upsertNode(node, row)
  // Only now do all nodes have their final labels, which decide whether a relationship may join them.
  for (const row of rows) for (const one of bound.relationships) writer.upsertRelationship(one, row)
  const { deletedNodes, deletedRelationships } = writes
  for (const row of rows) {
    for (const deletion of deletedRelationships) writer.deleteRelationship(deletion, row)
    for (const deletion of deletedNodes) writer.deleteNode(deletion, row)
  }
  if (comparison !== null) writer.written.unfit = compareTypes(batch, writer.changed, comparison)
  if (deletedNodes.length + deletedRelationships.length === 0) return writer.written
  for (const row of rows) row.change((value) => withoutDeleted(value, view))
  return writer.written
}

/** The number of changed elements that the declared types do not allow. Throws WriteRejectedError if the types are closed. */
function compareTypes(batch: WriteBatch, changed: WriteApplier['changed'], { types }: TypeComparison): number {
  const unfit = [...changed.values()].flatMap(({ at, key }) => {
    const faults = types.written(batch, key)
    return faults.length === 0 ? [] : [`${at}: ${faults.join('; ')}`]
  })
  if (unfit.length > 0 && types.isClosed) throw new WriteRejectedError({ kind: 'invalid', issues: asWarnings(unfit) })
  return unfit.length
}

class WriteApplier {
  readonly written = new WrittenElements()
  /** Each element that an upsert or the deletion of a property has changed; empty without declared types. */
  readonly changed = new Map<string, { readonly at: string; readonly key: NodeKey | RelationshipKey }>()
  private readonly query: CompiledQuery
  private readonly batch: WriteBatch
  private readonly view: BatchView
  private readonly types: DeclaredTypes | null

  constructor(query: CompiledQuery, batch: WriteBatch, view: BatchView, types: DeclaredTypes | null) {
    this.query = query
    this.batch = batch
    this.view = view
    this.types = types
  }

  private nodeChanged(at: string, key: NodeKey): void {
    if (this.types !== null) this.changed.set(JSON.stringify([key.type, key.externalId]), { at, key })
  }

  private relationshipChanged(at: string, key: RelationshipKey): void {
    const { source, type, target } = key
    if (this.types !== null) this.changed.set(JSON.stringify([source, type, target]), { at, key })
  }

  upsertNode({ name, at, key, labels, properties }: BoundNodeWrite, row: MaterializedRow): void {
    const change = {
      ...(labels === null ? {} : { labels }),
      ...(properties.length === 0 ? {} : { properties: properties.map(({ input }) => input) }),
    }
    if (key === null) {
      for (const id of nodesIn(row.value(name), at, name)) {
        const stored = this.writableNode(id, at, name)
        const updated = this.batch.upsertNode(this.typedNode({ ...stored, ...change }))
        this.nodeChanged(at, stored)
        this.written.addNode(updated.id, properties.map(nameOf), labels !== null)
      }
      return
    }
    const { id } = this.batch.upsertNode(this.typedNode({ ...key, ...change }))
    this.nodeChanged(at, key)
    this.written.addNode(id, properties.map(nameOf), labels !== null)
    row.set(name, new NodeValue(0, id))
  }

  upsertRelationship({ name, at, key, properties }: BoundRelationshipWrite, row: MaterializedRow): void {
    const change = properties.length === 0 ? {} : { properties: properties.map(({ input }) => input) }
    if (key === null) {
      for (const id of relationshipsIn(row.value(name), at, name)) {
        const stored = this.writableRelationship(id, at, name)
        const updated = this.batch.upsertRelationship(this.typedRelationship({ ...stored, ...change }))
        this.relationshipChanged(at, stored)
        if (updated !== null) this.written.addRelationship(updated.id, properties.map(nameOf))
      }
      return
    }
    const source = this.end(row, key.source, `${at}.source`)
    const target = this.end(row, key.target, `${at}.target`)
    if (!this.canJoin(source, key.type, target)) {
      throw forbiddenError(
        at,
        `the policy does not allow a \`${key.type}\` between \`${key.source}\` and \`${key.target}\` in every row`,
      )
    }
    const ends = { source: this.keyOf(source, at, key.source), target: this.keyOf(target, at, key.target) }
    const written = this.batch.upsertRelationship(this.typedRelationship({ ...ends, type: key.type, ...change }))
    this.relationshipChanged(at, { ...ends, type: key.type })
    assert(written !== null, 'both end nodes exist until something is deleted')
    this.written.addRelationship(written.id, properties.map(nameOf))
    row.set(name, new RelationshipValue(0, written.id))
  }

  private typedNode(input: NodeInput): NodeInput {
    return this.types === null ? input : this.types.node(input)
  }

  private typedRelationship(input: RelationshipInput): RelationshipInput {
    return this.types === null ? input : this.types.relationship(input)
  }

  private end(row: MaterializedRow, name: string, at: string): NodeId {
    const value = row.value(name)
    if (value instanceof NodeValue) return value.id
    throw invalidError(at, `\`${name}\` is not a node in one of the rows`)
  }

  /** Decides by the labels that both nodes have after all nodes are written. */
  private canJoin(source: NodeId, type: string, target: NodeId): boolean {
    const { view } = this
    const has = (node: NodeId, label: string): boolean => view.hasLabel(node, view.symbol('label', label))
    const rules = this.query.policy.document.allowed_upserts?.relationships?.relationship_types ?? []
    return rules.some(
      (rule) => rule.type === type && has(source, rule.source_node_label) && has(target, rule.target_node_label),
    )
  }

  deleteNode({ variable, at, what }: Deletion, row: MaterializedRow): void {
    for (const id of nodesIn(row.value(variable), at, variable)) {
      if (!this.view.hasNode(id)) continue
      const key = this.writableNode(id, at, variable)
      if (what === 'element') this.batch.deleteNode(key)
      else this.batch.deleteNodeProperties(key, namesOf(what, this.view.nodeStoredProperties(id)))
      this.nodeChanged(at, key)
    }
  }

  deleteRelationship({ variable, at, what }: Deletion, row: MaterializedRow): void {
    for (const id of relationshipsIn(row.value(variable), at, variable)) {
      if (!this.view.hasRelationship(id)) continue
      const key = this.writableRelationship(id, at, variable)
      if (what === 'element') this.batch.deleteRelationship(key)
      else this.batch.deleteRelationshipProperties(key, namesOf(what, this.view.relationshipStoredProperties(id)))
      this.relationshipChanged(at, key)
    }
  }

  /** As in a capture, nodes and relationships of the service itself cannot be written. */
  private writableNode(id: NodeId, at: string, name: string): NodeKey {
    const key = this.keyOf(id, at, name)
    if (key.type.startsWith('_')) throw forbiddenError(at, `\`${name}\` is a node of the service in one of the rows`)
    return key
  }

  private writableRelationship(id: RelationshipId, at: string, name: string): RelationshipKey {
    const { view } = this
    const type = view.symbolName('type', view.relationshipType(id))
    if (type.startsWith('_'))
      throw forbiddenError(at, `\`${name}\` is a relationship of the service in one of the rows`)
    return {
      source: this.keyOf(view.relationshipSource(id), at, name),
      target: this.keyOf(view.relationshipTarget(id), at, name),
      type,
    }
  }

  private keyOf(id: NodeId, at: string, name: string): NodeKey {
    const type = this.view.nodeField(id, 'type')
    const externalId = this.view.nodeField(id, 'external_id')
    if (typeof type === 'string' && typeof externalId === 'string') return { type, externalId }
    throw invalidError(at, `\`${name}\` has no external id in one of the rows`)
  }
}

function nameOf({ input }: BoundPropertyWrite): string {
  return input.name
}

function namesOf(what: Exclude<Deletion['what'], 'element'>, stored: ReadonlyMap<string, unknown>): string[] {
  return what === 'all' ? [...stored.keys()] : [what.property]
}

/** Returns the nodes of a value: none for null (an optional match without a result), each item of a list. */
function nodesIn(value: Value, at: string, name: string): NodeId[] {
  if (value === null) return []
  if (value instanceof NodeValue) return [value.id]
  if (Array.isArray(value)) return value.flatMap((item: Value) => nodesIn(item, at, name))
  throw invalidError(at, `\`${name}\` is not a node in one of the rows`)
}

function relationshipsIn(value: Value, at: string, name: string): RelationshipId[] {
  if (value === null) return []
  if (value instanceof RelationshipValue) return [value.id]
  if (Array.isArray(value)) return value.flatMap((item: Value) => relationshipsIn(item, at, name))
  throw invalidError(at, `\`${name}\` is not a relationship in one of the rows`)
}

/** Replaces deleted elements by null, at any depth. */
function withoutDeleted(value: Value, view: BatchView): Value {
  if (value instanceof NodeValue) return view.hasNode(value.id) ? value : null
  if (value instanceof RelationshipValue) return view.hasRelationship(value.id) ? value : null
  if (value instanceof PathValue) {
    const { nodes, relationships } = value
    const isWhole =
      nodes.every(({ id }) => view.hasNode(id)) && relationships.every(({ id }) => view.hasRelationship(id))
    return isWhole ? value : null
  }
  if (Array.isArray(value)) return value.map((item: Value) => withoutDeleted(item, view))
  if (value instanceof Map) {
    return new Map(
      [...(value as ReadonlyMap<string, Value>)].map(([key, member]) => [key, withoutDeleted(member, view)]),
    )
  }
  return value
}
