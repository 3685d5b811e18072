// Applies what a query writes to the rows that it matched: first the nodes of all, then the relationships, then all
// deletions, so that what is deleted is gone whatever another row says. Every element is looked at as it really is in its
// row, and one that the policy does not let be written refuses the whole call.
import type { BatchView, NodeId, NodeKey, RelationshipId, RelationshipKey, WriteBatch } from '../engine/store.ts'
import { NodeValue, PathValue, RelationshipValue, type Value } from '../engine/value/value.ts'
import { assert } from '../kernel/assert.ts'
import type { ServiceError } from '../kernel/errors.ts'
import type { CompiledQuery } from './compile-query.ts'
import type { MaterializedRow } from './materialize-rows.ts'
import type { BoundNodeWrite, BoundRelationshipWrite, BoundWrites, Deletion } from './write-plan.ts'

/** Thrown inside the transaction, so that nothing of the call is written. */
export class WriteRejectedError extends Error {
  override readonly name = 'Refusal'
  readonly error: ServiceError
  constructor(error: ServiceError) {
    super(error.kind)
    this.error = error
  }
}

function forbidden(at: string, what: string): WriteRejectedError {
  return new WriteRejectedError({ kind: 'forbidden', message: `${at}: ${what}` })
}

function invalid(at: string, what: string): WriteRejectedError {
  return new WriteRejectedError({ kind: 'invalid', issues: [`${at}: ${what}`] })
}

/** Rows get what was written under a name of the query's own, and lose what was deleted. */
export function applyWrites(
  query: CompiledQuery,
  bound: BoundWrites,
  rows: readonly MaterializedRow[],
  batch: WriteBatch,
  view: BatchView,
): void {
  const { writes } = query
  assert(writes !== null, 'only a query that writes gets here')
  const writer = new WriteApplier(query, batch, view)
  for (const row of rows) for (const node of bound.nodes) writer.upsertNode(node, row)
  // Only now do all nodes have the labels by which relationships may join them.
  for (const row of rows) for (const one of bound.relationships) writer.upsertRelationship(one, row)
  const { deletedNodes, deletedRelationships } = writes
  if (deletedNodes.length + deletedRelationships.length === 0) return
  for (const row of rows) {
    for (const deletion of deletedRelationships) writer.deleteRelationship(deletion, row)
    for (const deletion of deletedNodes) writer.deleteNode(deletion, row)
  }
  for (const row of rows) row.change((value) => remaining(value, view))
}

class WriteApplier {
  private readonly query: CompiledQuery
  private readonly batch: WriteBatch
  private readonly view: BatchView
  private readonly madeNodes = new Set<NodeId>()
  private readonly madeRelationships = new Set<RelationshipId>()

  constructor(query: CompiledQuery, batch: WriteBatch, view: BatchView) {
    this.query = query
    this.batch = batch
    this.view = view
  }

  upsertNode({ name, at, key, labels, properties }: BoundNodeWrite, row: MaterializedRow): void {
    const change = {
      ...(labels === null ? {} : { labels }),
      ...(properties.length === 0 ? {} : { properties: properties.map(({ input }) => input) }),
    }
    if (key === null) {
      for (const id of nodesIn(row.value(name), at, name))
        this.batch.upsertNode({ ...this.writable(id, at, name), ...change })
      return
    }
    const { id, created } = this.batch.upsertNode({ ...key, ...change })
    if (created) this.madeNodes.add(id)
    else if (!this.madeNodes.has(id)) this.mayTell(name, at)
    row.set(name, new NodeValue(0, id))
  }

  upsertRelationship({ name, at, key, properties }: BoundRelationshipWrite, row: MaterializedRow): void {
    const change = properties.length === 0 ? {} : { properties: properties.map(({ input }) => input) }
    if (key === null) {
      for (const id of relationshipsIn(row.value(name), at, name)) {
        this.batch.upsertRelationship({ ...this.writableRelationship(id, at, name), ...change })
      }
      return
    }
    const source = this.end(row, key.source, `${at}.source`)
    const target = this.end(row, key.target, `${at}.target`)
    if (!this.mayJoin(source, key.type, target)) {
      throw forbidden(
        at,
        `the policy does not let a \`${key.type}\` join \`${key.source}\` and \`${key.target}\` of every row`,
      )
    }
    const ends = { source: this.keyOf(source, at, key.source), target: this.keyOf(target, at, key.target) }
    const written = this.batch.upsertRelationship({ ...ends, type: key.type, ...change })
    assert(written !== null, 'both ends are there until something is deleted')
    if (written.created) this.madeRelationships.add(written.id)
    else if (!this.madeRelationships.has(written.id)) this.mayTell(name, at)
    row.set(name, new RelationshipValue(0, written.id))
  }

  private end(row: MaterializedRow, name: string, at: string): NodeId {
    const value = row.value(name)
    if (value instanceof NodeValue) return value.id
    throw invalid(at, `\`${name}\` is no node in one of the rows`)
  }

  /** By the labels that the two nodes have once all nodes are written. */
  private mayJoin(source: NodeId, type: string, target: NodeId): boolean {
    const { view } = this
    const has = (node: NodeId, label: string): boolean => view.hasLabel(node, view.symbol('label', label))
    const rules = this.query.policy.document.allowed_upserts?.relationships?.relationship_types ?? []
    return rules.some(
      (rule) => rule.type === type && has(source, rule.source_node_label) && has(target, rule.target_node_label),
    )
  }

  /** Of an element that a name of the query's own has met, what the policy does not let be read is not told. */
  private mayTell(name: string, at: string): void {
    if (!this.query.restrictedNames.has(name)) return
    throw forbidden(
      at,
      `\`${name}\` existed before, and the policy does not let all be read that the query returns of it`,
    )
  }

  deleteNode({ variable, at, what }: Deletion, row: MaterializedRow): void {
    for (const id of nodesIn(row.value(variable), at, variable)) {
      if (!this.view.hasNode(id)) continue
      const key = this.writable(id, at, variable)
      if (what === 'element') this.batch.deleteNode(key)
      else this.batch.deleteNodeProperties(key, namesOf(what, this.view.nodeStoredProperties(id)))
    }
  }

  deleteRelationship({ variable, at, what }: Deletion, row: MaterializedRow): void {
    for (const id of relationshipsIn(row.value(variable), at, variable)) {
      if (!this.view.hasRelationship(id)) continue
      const key = this.writableRelationship(id, at, variable)
      if (what === 'element') this.batch.deleteRelationship(key)
      else this.batch.deleteRelationshipProperties(key, namesOf(what, this.view.relationshipStoredProperties(id)))
    }
  }

  /** As in a capture, the service's own nodes and relationships are for the service alone. */
  private writable(id: NodeId, at: string, name: string): NodeKey {
    const key = this.keyOf(id, at, name)
    if (key.type.startsWith('_')) throw forbidden(at, `\`${name}\` is a node of the service in one of the rows`)
    return key
  }

  private writableRelationship(id: RelationshipId, at: string, name: string): RelationshipKey {
    const { view } = this
    const type = view.symbolName('type', view.relationshipType(id))
    if (type.startsWith('_')) throw forbidden(at, `\`${name}\` is a relationship of the service in one of the rows`)
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
    throw invalid(at, `\`${name}\` has no external id in one of the rows`)
  }
}

function namesOf(what: Exclude<Deletion['what'], 'element'>, stored: ReadonlyMap<string, unknown>): string[] {
  return what === 'all' ? [...stored.keys()] : [what.property]
}

/** What an optional match did not find is none; a list is each of its items. */
function nodesIn(value: Value, at: string, name: string): NodeId[] {
  if (value === null) return []
  if (value instanceof NodeValue) return [value.id]
  if (Array.isArray(value)) return value.flatMap((item: Value) => nodesIn(item, at, name))
  throw invalid(at, `\`${name}\` is no node in one of the rows`)
}

function relationshipsIn(value: Value, at: string, name: string): RelationshipId[] {
  if (value === null) return []
  if (value instanceof RelationshipValue) return [value.id]
  if (Array.isArray(value)) return value.flatMap((item: Value) => relationshipsIn(item, at, name))
  throw invalid(at, `\`${name}\` is no relationship in one of the rows`)
}

/** Null for what is gone, wherever it stands. */
function remaining(value: Value, view: BatchView): Value {
  if (value instanceof NodeValue) return view.hasNode(value.id) ? value : null
  if (value instanceof RelationshipValue) return view.hasRelationship(value.id) ? value : null
  if (value instanceof PathValue) {
    const { nodes, relationships } = value
    const isWhole =
      nodes.every(({ id }) => view.hasNode(id)) && relationships.every(({ id }) => view.hasRelationship(id))
    return isWhole ? value : null
  }
  if (Array.isArray(value)) return value.map((item: Value) => remaining(item, view))
  if (value instanceof Map) {
    return new Map([...(value as ReadonlyMap<string, Value>)].map(([key, member]) => [key, remaining(member, view)]))
  }
  return value
}
