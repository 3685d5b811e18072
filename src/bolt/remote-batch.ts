// The writes of one batch to a graph in a database server, made in memory over what was fetched. A write of an element that was not
// fetched notes what is missing and continues as if the element did not exist; the result of such an attempt is discarded, everything
// that it missed is fetched at once, and the batch runs again.

import type {
  BatchView,
  ElementChange,
  MetadataFields,
  NodeId,
  NodeImage,
  NodeInput,
  NodeKey,
  PropertyInput,
  RelationshipId,
  RelationshipImage,
  RelationshipInput,
  RelationshipKey,
  SymbolId,
  UpsertResult,
  WriteBatch,
  WrittenBatch,
} from '../engine/store.ts'
import { assert } from '../kernel/assert.ts'
import { ThrownServiceError } from '../kernel/errors.ts'
import { mintGid } from '../kernel/ids.ts'
import type { NodeRecord, RelationshipRecord, StoredProperties } from '../store/format/records.ts'
import { checkLabels, checkName, checkNodeKey, nodeText, relationshipText } from '../store/graph/element-checks.ts'
import type { EditedRecord, PreservedFields } from '../store/graph/element-edits.ts'
import { NodeRecordImage, RelationshipRecordImage } from '../store/graph/element-images.ts'
import { NO_PROPERTIES, withoutMetadata, withoutProperties, withProperties } from '../store/graph/property-edits.ts'
import { isHiddenName } from './print/names.ts'
import type { SharedSymbols } from './shared-symbols.ts'
import type { TouchedElements } from './touched-elements.ts'

/** Ids of elements that a batch creates begin here: the database has not assigned theirs. */
const FIRST_NEW_ID = 2 ** 40

/** An event record of a batch. */
interface AppendedEvents {
  readonly record: Uint8Array | string
  readonly count: number
  readonly stream: string | undefined
}

/**
 * What a batch assigned to the elements that it created, and to those of other tools, which have no id, in that order; a batch that runs
 * again assigns the same.
 */
export interface AssignedIdentity {
  readonly id: number
  readonly gid: string
}

/** A batch of writes. The methods are documented at the port (`WriteBatch`). */
export class RemoteBatch implements WriteBatch, WrittenBatch {
  /** Whether the batch read an element that was not fetched. */
  isIncomplete = false
  readonly nodes = new Map<NodeId, EditedRecord<NodeRecord>>()
  readonly relationships = new Map<RelationshipId, EditedRecord<RelationshipRecord>>()
  readonly events: AppendedEvents[] = []
  private readonly symbols: SharedSymbols
  private readonly touched: TouchedElements
  private readonly nowMs: number
  private readonly openView: (batch: RemoteBatch) => BatchView
  /** Nodes by key that the batch has created or deleted; 0: deleted. */
  private readonly keys = new Map<string, NodeId>()
  /** Relationships of the batch by ends and type. */
  private readonly created = new Map<string, RelationshipId[]>()
  private lastId = FIRST_NEW_ID
  readonly assigned: AssignedIdentity[] = []
  /** Whether the batch has read its view, through which it sees the ids of what it creates. */
  isViewed = false
  private readonly repeated: readonly AssignedIdentity[]

  constructor(
    symbols: SharedSymbols,
    touched: TouchedElements,
    nowMs: number,
    openView: (batch: RemoteBatch) => BatchView,
    repeated: readonly AssignedIdentity[] = [],
  ) {
    this.repeated = repeated
    this.symbols = symbols
    this.touched = touched
    this.nowMs = nowMs
    this.openView = openView
  }

  // -- reading

  findNode({ type, externalId }: NodeKey): NodeId {
    const own = this.keys.get(`${type}\u0000${externalId}`)
    if (own !== undefined) return own
    const found = this.touched.node(type, externalId)
    if (found === undefined) {
      this.isIncomplete = true
      return 0
    }
    if (found === null) return 0
    if (!this.nodes.has(found.id)) this.nodes.set(found.id, { before: found.record, now: found.record })
    return this.nodes.get(found.id)!.now === null ? 0 : found.id
  }

  hasNode(node: NodeId): boolean {
    const edited = this.nodes.get(node)
    if (edited !== undefined) return edited.now !== null
    const found = this.touched.nodeById(node)
    if (found === undefined) this.isIncomplete = true
    return found != null
  }

  nameOfType(type: SymbolId): string {
    return this.symbols.name('label', type)
  }

  view(): BatchView | null {
    this.isViewed = true
    return this.openView(this)
  }

  private nodeAt(id: NodeId): EditedRecord<NodeRecord> {
    const edited = this.nodes.get(id)
    assert(edited !== undefined, 'a batch has read the nodes that it writes')
    return edited
  }

  private between(source: NodeId, type: string, target: NodeId): readonly RelationshipId[] {
    const key = `${source} ${type} ${target}`
    const own = this.created.get(key) ?? []
    if (this.isNew(source) || this.isNew(target)) return this.existing(own)
    const found = this.touched.between(source, type, target)
    if (found === undefined) {
      this.isIncomplete = true
      return this.existing(own)
    }
    for (const { id, record } of found) {
      if (!this.relationships.has(id)) this.relationships.set(id, { before: record, now: record })
    }
    return this.existing([...found.map(({ id }) => id), ...own])
  }

  private isNew(node: NodeId): boolean {
    return this.nodes.get(node)?.before === null
  }

  private existing(ids: readonly RelationshipId[]): readonly RelationshipId[] {
    return ids.filter((id) => this.relationships.get(id)?.now != null)
  }

  // -- nodes

  upsertNode(input: NodeInput, preserved: PreservedFields = {}): UpsertResult {
    checkNodeKey(input)
    checkLabels(input.labels, () => nodeText(input))
    checkNames(input.properties)
    const now = this.nowMs
    const id = this.findNode(input)
    const type = this.symbols.intern('label', input.type)
    if (id === 0) return this.insert(type, input, preserved, now)
    const edited = this.nodeAt(id)
    const old = edited.now!
    edited.now = {
      ...old,
      labels: input.labels === undefined ? old.labels : this.labels(type, input.labels),
      isIdentity: input.isIdentity ?? old.isIdentity,
      location: input.location ?? old.location,
      // A node of another tool gets the fields of a captured one.
      gid: old.gid === '' ? this.assign(mintGid(now)).gid : old.gid,
      createdMs: Number.isNaN(old.createdMs) ? now : old.createdMs,
      updatedMs: now,
      properties: withProperties(old.properties, input.properties, now, this.symbols, () => nodeText(input)),
    }
    return { id, gid: edited.now.gid, created: false }
  }

  private assign(gid: string): AssignedIdentity {
    const identity = this.repeated[this.assigned.length] ?? { id: ++this.lastId, gid }
    this.assigned.push(identity)
    return identity
  }

  private insert(type: SymbolId, input: NodeInput, preserved: PreservedFields, now: number): UpsertResult {
    const { id, gid } = this.assign(preserved.gid ?? mintGid(now))
    this.nodes.set(id, {
      before: null,
      now: {
        type,
        externalId: input.externalId,
        labels: this.labels(type, input.labels ?? []),
        isIdentity: input.isIdentity ?? false,
        location: input.location ?? null,
        gid,
        createdMs: preserved.createdMs ?? now,
        updatedMs: preserved.updatedMs ?? now,
        properties: withProperties(NO_PROPERTIES, input.properties, now, this.symbols, () => nodeText(input)),
      },
    })
    this.keys.set(`${input.type}\u0000${input.externalId}`, id)
    return { id, gid, created: true }
  }

  private labels(type: SymbolId, names: readonly string[]): readonly SymbolId[] {
    const labels = new Set(names.map((name) => this.symbols.intern('label', name)))
    if (type !== 0) labels.add(type)
    return [...labels].sort((a, b) => a - b)
  }

  createNode(labels: readonly string[], properties: readonly PropertyInput[]): NodeId {
    checkNames(properties)
    checkLabels(labels, () => 'a node without external id')
    const now = this.nowMs
    const { id, gid } = this.assign(mintGid(now))
    const record: NodeRecord = {
      type: 0,
      externalId: '',
      labels: this.labels(0, labels),
      isIdentity: false,
      location: null,
      gid,
      createdMs: now,
      updatedMs: now,
      properties: withProperties(NO_PROPERTIES, properties, now, this.symbols, () => 'a node without external id'),
    }
    this.nodes.set(id, { before: null, now: record })
    return id
  }

  deleteNode(key: NodeKey): string | null {
    const id = this.findNode(key)
    if (id === 0) return null
    const edited = this.nodeAt(id)
    const { gid } = edited.now!
    edited.now = null
    this.keys.set(`${key.type}\u0000${key.externalId}`, 0)
    if (edited.before !== null) {
      const found = this.touched.relationshipsAt(id)
      if (found === undefined) this.isIncomplete = true
      else {
        for (const { id: relationship, record } of found) {
          if (!this.relationships.has(relationship))
            this.relationships.set(relationship, { before: record, now: record })
        }
      }
    }
    for (const edge of this.relationships.values()) {
      if (edge.now?.source === id || edge.now?.target === id) edge.now = null
    }
    return gid
  }

  deleteNodeProperties(key: NodeKey, names: readonly string[]): string | null {
    const symbols = this.propertySymbols(names)
    return this.changeNode(key, (properties) => withoutProperties(properties, symbols))
  }

  deleteNodePropertyMetadata(key: NodeKey, property: string, fields: MetadataFields): string | null {
    const symbol = this.symbols.intern('property', property)
    return this.changeNode(key, (properties, now) => withoutMetadata(properties, symbol, fields, now))
  }

  private changeNode(
    key: NodeKey,
    change: (properties: StoredProperties, now: number) => StoredProperties,
  ): string | null {
    const id = this.findNode(key)
    if (id === 0) return null
    const edited = this.nodeAt(id)
    changeProperties(edited, this.nowMs, change)
    return edited.now!.gid
  }

  private propertySymbols(names: readonly string[]): SymbolId[] {
    return names.map((name) => this.symbols.intern('property', name))
  }

  // -- relationships

  upsertRelationship(input: RelationshipInput): UpsertResult | null {
    checkName(input.type, () => 'the type of a relationship')
    const element = (): string => relationshipText(input)
    checkNames(input.properties)
    const source = this.findNode(input.source)
    const target = this.findNode(input.target)
    if (source === 0 || target === 0) return this.isIncomplete ? { id: 0, gid: '', created: false } : null
    const [id] = this.between(source, input.type, target)
    const now = this.nowMs
    if (id === undefined) return this.insertRelationship(source, input.type, target, input.properties, now, element)
    const edited = this.relationships.get(id)!
    const old = edited.now!
    edited.now = {
      ...old,
      gid: old.gid === '' ? this.assign(mintGid(now)).gid : old.gid,
      createdMs: Number.isNaN(old.createdMs) ? now : old.createdMs,
      updatedMs: now,
      properties: withProperties(old.properties, input.properties, now, this.symbols, element),
    }
    return { id, gid: edited.now.gid, created: false }
  }

  private insertRelationship(
    source: NodeId,
    type: string,
    target: NodeId,
    inputs: readonly PropertyInput[] | undefined,
    now: number,
    element: () => string,
  ): UpsertResult {
    const { id, gid } = this.assign(mintGid(now))
    const record: RelationshipRecord = {
      type: this.symbols.intern('type', type),
      source,
      target,
      gid,
      createdMs: now,
      updatedMs: now,
      properties: withProperties(NO_PROPERTIES, inputs, now, this.symbols, element),
    }
    this.relationships.set(id, { before: null, now: record })
    const key = `${source} ${type} ${target}`
    this.created.set(key, [...(this.created.get(key) ?? []), id])
    return { id, gid, created: true }
  }

  createRelationship(
    source: NodeId,
    type: string,
    target: NodeId,
    properties: readonly PropertyInput[],
  ): RelationshipId {
    checkNames(properties)
    checkName(type, () => 'the type of a relationship')
    return this.insertRelationship(source, type, target, properties, this.nowMs, () => `a relationship \`${type}\``).id
  }

  private relationshipsByKey({ source, type, target }: RelationshipKey): readonly RelationshipId[] {
    const from = this.findNode(source)
    const to = this.findNode(target)
    return from === 0 || to === 0 ? [] : this.between(from, type, to)
  }

  deleteRelationship(key: RelationshipKey): string | null {
    let first: string | null = null
    for (const id of this.relationshipsByKey(key)) {
      const edited = this.relationships.get(id)!
      first ??= edited.now!.gid
      edited.now = null
    }
    return first
  }

  deleteRelationshipProperties(key: RelationshipKey, names: readonly string[]): string | null {
    const symbols = this.propertySymbols(names)
    let first: string | null = null
    for (const id of this.relationshipsByKey(key)) {
      const edited = this.relationships.get(id)!
      changeProperties(edited, this.nowMs, (properties) => withoutProperties(properties, symbols))
      first ??= edited.now!.gid
    }
    return first
  }

  // -- events and images

  appendEvents(record: Uint8Array | string, count: number, stream?: string): number {
    this.events.push({ record, count, stream })
    return 0
  }

  nodeImage(key: NodeKey): NodeImage | null {
    const id = this.findNode(key)
    return id === 0 ? null : this.imageOfNode(this.nodeAt(id).now)
  }

  relationshipImage(key: RelationshipKey): RelationshipImage | null {
    const [id] = this.relationshipsByKey(key)
    return id === undefined ? null : this.imageOfRelationship(this.relationships.get(id)!.now)
  }

  *changes(): Iterable<ElementChange> {
    const nodes = [...this.nodes.values()].filter(({ before, now }) => before !== now)
    const relationships = [...this.relationships.values()].filter(({ before, now }) => before !== now)
    for (const edited of relationships) if (edited.now === null) yield this.relationshipChange(edited)
    for (const edited of nodes) if (edited.now === null) yield this.nodeChange(edited)
    for (const edited of nodes) if (edited.now !== null) yield this.nodeChange(edited)
    for (const edited of relationships) if (edited.now !== null) yield this.relationshipChange(edited)
  }

  private nodeChange({ before, now }: EditedRecord<NodeRecord>): ElementChange {
    return { element: 'node', before: this.imageOfNode(before), after: this.imageOfNode(now) }
  }

  private relationshipChange({ before, now }: EditedRecord<RelationshipRecord>): ElementChange {
    const after = this.imageOfRelationship(now)
    return { element: 'relationship', before: this.imageOfRelationship(before), after }
  }

  private imageOfNode(record: NodeRecord | null): NodeImage | null {
    return record && new NodeRecordImage(record, this.symbols)
  }

  private imageOfRelationship(record: RelationshipRecord | null): RelationshipImage | null {
    return record && new RelationshipRecordImage(record, this.symbols, (node) => this.keyOf(node))
  }

  /** Also of a node that the batch has deleted. */
  private keyOf(id: NodeId): NodeKey {
    const edited = this.nodes.get(id)
    const record = edited?.now ?? edited?.before ?? this.touched.nodeById(id)
    if (record == null || record.type === 0) return { type: '', externalId: '' }
    return { type: this.symbols.name('label', record.type), externalId: record.externalId }
  }
}

function changeProperties<R extends { readonly properties: StoredProperties; readonly updatedMs: number }>(
  edited: EditedRecord<R>,
  now: number,
  change: (properties: StoredProperties, now: number) => StoredProperties,
): void {
  const old = edited.now!
  const properties = change(old.properties, now)
  if (properties !== old.properties) edited.now = { ...old, properties, updatedMs: now }
}

/** The database keeps the fields of the service in properties with this prefix. */
function checkNames(properties: readonly PropertyInput[] | undefined): void {
  const name = properties?.find(({ name }) => isHiddenName(name) || name === '__proto__')?.name
  if (name === undefined) return
  throw new ThrownServiceError({
    kind: 'invalid',
    issues: [`a property of a graph in a database server cannot have the name \`${name}\``],
  })
}
