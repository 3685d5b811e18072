// One batch of writes: everything changes in memory first, reading through to the database, and is put at the end.
// So a batch that throws has touched nothing, though it shares its transaction with others (rulings G1, G2, G3, G8).
import {
  type BatchView,
  externalMark,
  type MetadataFields,
  type NodeId,
  type NodeInput,
  type NodeKey,
  type PropertyInput,
  type RelationshipId,
  type RelationshipInput,
  type RelationshipKey,
  type StoredProperty,
  type SymbolId,
  type SymbolKind,
  type WriteBatch,
  type Written,
} from '../../engine/store.ts'
import { assert } from '../../kernel/assert.ts'
import type { Clock } from '../../kernel/clock.ts'
import { mintGid } from '../../kernel/ids.ts'
import { Sink } from '../bytes.ts'
import { EXTERNAL_ID_UNITS_MAX } from '../keys.ts'
import { withoutMetadata, withoutProperties } from '../properties.ts'
import {
  type NodeRecord,
  type RelationshipRecord,
  readNode,
  readRelationship,
  type StoredProperties,
  writeNode,
  writeRelationship,
} from '../records.ts'
import { AdjacencyEdits } from './adjacency-edits.ts'
import { type Databases, HEADER_KEY, lackOfSymbols, type Mark, META } from './databases.ts'
import { type Header, readHeader, type Stamp, type SymbolCounts, writeHeader } from './header.ts'
import { LabelEdits } from './label-edits.ts'
import { Operations, type Touched } from './operations.ts'
import { kindNumber, type SymbolTable } from './symbols.ts'

/** Ids are 32 bits; the greatest stands for the end of a range. */
const ID_MAX = 0xfffffffe

export const NO_PROPERTIES: StoredProperties = new Map()
const NO_SYMBOLS: readonly SymbolId[] = []

/** An element as the database has it and as the batch leaves it; null where there is none. */
interface Edited<R> {
  readonly before: R | null
  now: R | null
}

/** What an element keeps of where it was before, when it is moved here: an import is no new fact. */
export interface Given {
  readonly gid?: string
  readonly createdMs?: number
  readonly updatedMs?: number
}

export interface GivenProperty extends PropertyInput {
  readonly updatedMs?: number
}

/** Whom a key names now; 0: nobody. */
export interface ChangedKey {
  readonly type: SymbolId
  readonly externalId: string
  readonly node: NodeId
}

interface NewSymbol {
  readonly kind: number
  readonly symbol: SymbolId
  readonly name: string
}

export class LmdbWriteBatch implements WriteBatch {
  /** The state that the batch builds on. */
  readonly before: Stamp
  readonly countsBefore: SymbolCounts
  protected readonly databases: Databases
  protected readonly symbols: SymbolTable
  protected readonly clock: Clock
  protected readonly header: Header
  protected readonly adjacency: AdjacencyEdits
  protected readonly firstNewNode: NodeId
  private readonly newSymbols: NewSymbol[] = []
  private readonly newSymbolIds = new Map<string, SymbolId>()
  private readonly nodes = new Map<NodeId, Edited<NodeRecord>>()
  private readonly relationships = new Map<RelationshipId, Edited<RelationshipRecord>>()
  /** By type and external id; 0 where the node was deleted. */
  private readonly keys = new Map<string, ChangedKey>()
  /** Of nodes that have no other label than their type. */
  private readonly ownLabels = new Map<SymbolId, readonly SymbolId[]>()
  protected readonly sink: Sink
  protected readonly operations = new Operations()
  /** By number; null removes. */
  private readonly notes = new Map<number, string | null>()
  private readonly marks = new Map<Mark, boolean>()
  private open = true
  /** Given by the environment, which opens what is read. */
  viewer: (() => BatchView | null) | null = null

  constructor(
    databases: Databases,
    symbols: SymbolTable,
    clock: Clock,
    entriesPerChunk: number,
    stamp: Stamp,
    sink = new Sink(),
  ) {
    this.sink = sink
    this.databases = databases
    this.symbols = symbols
    this.clock = clock
    this.header = readHeader(databases.meta.expect(HEADER_KEY))
    const counts = this.header.symbols
    if (!symbols.isComplete(counts) && !symbols.complete(counts, databases.symbols)) throw lackOfSymbols(databases)
    this.countsBefore = [...counts]
    this.before = { writer: this.header.writer, commit: this.header.commit }
    this.header.writer = stamp.writer
    this.header.commit = stamp.commit
    this.firstNewNode = this.header.nextNode
    this.adjacency = new AdjacencyEdits(databases, entriesPerChunk, this.firstNewNode, () => this.takeId('nextChunk'))
  }

  /** The batch is of no use outside of the function that it was handed to. */
  close(): void {
    this.open = false
  }

  protected takeId(counter: 'nextNode' | 'nextRelationship' | 'nextChunk'): number {
    const id = this.header[counter]
    assert(id <= ID_MAX, `the ids of an environment are not used up: ${counter}`)
    this.header[counter] = id + 1
    return id
  }

  // -- symbols

  private find(kind: SymbolKind, name: string): SymbolId {
    return this.symbols.id(kind, name) || (this.newSymbolIds.get(`${kind} ${name}`) ?? 0)
  }

  /** New names become the environment's only when the batch is put. */
  protected intern(kind: SymbolKind, name: string): SymbolId {
    const known = this.find(kind, name)
    if (known !== 0) return known
    const number = kindNumber(kind)
    this.header.symbols[number]! += 1
    const symbol = this.header.symbols[number]!
    this.newSymbols.push({ kind: number, symbol, name })
    this.newSymbolIds.set(`${kind} ${name}`, symbol)
    return symbol
  }

  // -- nodes

  findNode(key: NodeKey): NodeId {
    assert(this.open, 'a write batch is not used after its function has returned')
    return this.nodeByKey(this.find('label', key.type), key.externalId)
  }

  protected nodeByKey(type: SymbolId, externalId: string): NodeId {
    if (type === 0 || externalId.length > EXTERNAL_ID_UNITS_MAX) return 0
    const pending = this.keys.get(`${type} ${externalId}`)
    if (pending !== undefined) return pending.node
    return this.databases.upsertKeys.get({ type, externalId })?.words[0] ?? 0
  }

  view(): BatchView | null {
    assert(this.open && this.viewer !== null, 'a write batch is not used after its function has returned')
    return this.viewer()
  }

  // For the view: elements as the batch leaves them so far (null: gone), and undefined for what it has not come near.

  nodeNow(id: NodeId): NodeRecord | null | undefined {
    return this.nodes.get(id)?.now
  }

  relationshipNow(id: RelationshipId): RelationshipRecord | null | undefined {
    return this.relationships.get(id)?.now
  }

  symbolId(kind: SymbolKind, name: string): SymbolId {
    return this.find(kind, name)
  }

  symbolName(kind: SymbolKind, id: SymbolId): string {
    const number = kindNumber(kind)
    const added = this.newSymbols.find((one) => one.kind === number && one.symbol === id)
    return added?.name ?? this.symbols.name(kind, id)
  }

  /** Null when there is none. */
  identityOf(key: NodeKey): { readonly gid: string; readonly location: string | null } | null {
    const id = this.findNode(key)
    return id === 0 ? null : this.node(id).now
  }

  protected changedKeys(): Iterable<ChangedKey> {
    return this.keys.values()
  }

  protected setKey(type: SymbolId, externalId: string, node: NodeId): void {
    this.keys.set(`${type} ${externalId}`, { type, externalId, node })
  }

  private node(id: NodeId): Edited<NodeRecord> {
    let edited = this.nodes.get(id)
    if (edited === undefined) {
      const window = this.databases.nodes.get(id)
      const record = window === null ? null : readNode(window)
      edited = { before: record, now: record }
      this.nodes.set(id, edited)
    }
    return edited
  }

  upsertNode(input: NodeInput, given: Given = {}): Written {
    assert(this.open, 'a write batch is not used after its function has returned')
    assert(input.externalId.length <= EXTERNAL_ID_UNITS_MAX, 'an external id has at most 256 characters')
    const now = given.updatedMs ?? given.createdMs ?? this.clock.now()
    const type = this.intern('label', input.type)
    const id = this.nodeByKey(type, input.externalId)
    if (id === 0) return this.insertNode(type, input, now, given)
    const edited = this.node(id)
    const old = edited.now
    assert(old !== null, 'an upsert key names a node')
    edited.now = {
      ...old,
      labels: input.labels === undefined ? old.labels : this.labels(type, input.labels),
      isIdentity: input.isIdentity ?? old.isIdentity,
      location: input.location ?? old.location,
      updatedMs: now,
      properties: this.merge(old.properties, input.properties, now),
    }
    return { id, gid: old.gid, created: false }
  }

  private insertNode(type: SymbolId, input: NodeInput, now: number, given: Given): Written {
    const id = this.takeId('nextNode')
    const gid = given.gid ?? mintGid(now)
    const record: NodeRecord = {
      type,
      externalId: input.externalId,
      labels: this.labels(type, input.labels ?? []),
      isIdentity: input.isIdentity ?? false,
      location: input.location ?? null,
      gid,
      createdMs: given.createdMs ?? now,
      updatedMs: now,
      properties: this.merge(NO_PROPERTIES, input.properties, now),
    }
    this.nodes.set(id, { before: null, now: record })
    this.setKey(type, input.externalId, id)
    return { id, gid, created: true }
  }

  createNode(labels: readonly string[], properties: readonly PropertyInput[]): NodeId {
    assert(this.open, 'a write batch is not used after its function has returned')
    const now = this.clock.now()
    const id = this.takeId('nextNode')
    const record: NodeRecord = {
      type: 0,
      externalId: '',
      labels: this.labels(0, labels),
      isIdentity: false,
      location: null,
      gid: mintGid(now),
      createdMs: now,
      updatedMs: now,
      properties: this.merge(NO_PROPERTIES, properties, now),
    }
    this.nodes.set(id, { before: null, now: record })
    return id
  }

  private labels(type: SymbolId, names: readonly string[]): readonly SymbolId[] {
    if (names.length === 0) return this.labelsOfType(type)
    const labels = new Set(names.map((name) => this.intern('label', name)))
    if (type !== 0) labels.add(type)
    return [...labels].sort((a, b) => a - b)
  }

  private labelsOfType(type: SymbolId): readonly SymbolId[] {
    if (type === 0) return NO_SYMBOLS
    const labels = this.ownLabels.get(type) ?? [type]
    this.ownLabels.set(type, labels)
    return labels
  }

  protected merge(
    old: StoredProperties,
    inputs: readonly GivenProperty[] | undefined,
    updatedMs: number,
  ): StoredProperties {
    if (inputs === undefined || inputs.length === 0) return old
    const merged = new Map(old)
    for (const input of inputs) {
      const given = (input.value === undefined ? 0 : 1) + (input.externalValue === undefined ? 0 : 1)
      assert(given === 1, 'a property has either a value or a resolver')
      if (input.externalValue !== undefined) {
        for (const name of [input.name, '']) this.intern('property', externalMark(name))
      }
      const property: StoredProperty = {
        value: input.value ?? null,
        externalValue: input.externalValue ?? null,
        updatedMs: input.updatedMs ?? updatedMs,
        metadata: input.metadata ?? null,
      }
      merged.set(this.intern('property', input.name), property)
    }
    return merged
  }

  deleteNode(key: NodeKey): string | null {
    assert(this.open, 'a write batch is not used after its function has returned')
    const type = this.find('label', key.type)
    const id = this.nodeByKey(type, key.externalId)
    if (id === 0) return null
    for (const relationship of this.adjacency.takeAll(id)) {
      const edited = this.relationship(relationship)
      assert(edited.now !== null, 'a list names relationships that exist')
      const { source, target } = edited.now
      this.adjacency.removeFarEnd(id, source, edited.now.type, target, relationship)
      edited.now = null
    }
    const edited = this.node(id)
    const { gid } = edited.now!
    edited.now = null
    this.setKey(type, key.externalId, 0)
    return gid
  }

  deleteNodeProperties(key: NodeKey, names: readonly string[]): string | null {
    return this.changeNode(key, (properties) => withoutProperties(properties, this.propertySymbols(names)))
  }

  deleteNodePropertyMetadata(key: NodeKey, property: string, fields: MetadataFields): string | null {
    const symbol = this.find('property', property)
    const now = this.clock.now()
    return this.changeNode(key, (properties) => withoutMetadata(properties, symbol, fields, now))
  }

  private propertySymbols(names: readonly string[]): SymbolId[] {
    return names.map((name) => this.find('property', name))
  }

  /** The same properties: nothing has changed. */
  private changeNode(key: NodeKey, change: (properties: StoredProperties) => StoredProperties): string | null {
    const id = this.findNode(key)
    if (id === 0) return null
    const edited = this.node(id)
    const old = edited.now!
    const properties = change(old.properties)
    if (properties !== old.properties) edited.now = { ...old, properties, updatedMs: this.clock.now() }
    return old.gid
  }

  // -- relationships

  private relationship(id: RelationshipId): Edited<RelationshipRecord> {
    let edited = this.relationships.get(id)
    if (edited === undefined) {
      const window = this.databases.relationships.get(id)
      const record = window === null ? null : readRelationship(window)
      edited = { before: record, now: record }
      this.relationships.set(id, edited)
    }
    return edited
  }

  upsertRelationship(input: RelationshipInput): Written | null {
    const source = this.findNode(input.source)
    const target = this.findNode(input.target)
    if (source === 0 || target === 0) return null
    const now = this.clock.now()
    const type = this.intern('type', input.type)
    const [id] = this.adjacency.between(source, type, target)
    if (id === undefined) {
      return this.insertRelationship(source, type, target, this.merge(NO_PROPERTIES, input.properties, now), now)
    }
    const edited = this.relationship(id)
    const old = edited.now
    assert(old !== null, 'a list names relationships that exist')
    edited.now = { ...old, updatedMs: now, properties: this.merge(old.properties, input.properties, now) }
    return { id, gid: old.gid, created: false }
  }

  private insertRelationship(
    source: NodeId,
    type: SymbolId,
    target: NodeId,
    properties: StoredProperties,
    now: number,
  ): Written {
    const id = this.takeId('nextRelationship')
    const gid = mintGid(now)
    const record = { type, source, target, gid, createdMs: now, updatedMs: now, properties }
    this.relationships.set(id, { before: null, now: record })
    this.adjacency.add(source, type, target, id)
    return { id, gid, created: true }
  }

  createRelationship(
    source: NodeId,
    type: string,
    target: NodeId,
    properties: readonly PropertyInput[],
  ): RelationshipId {
    assert(this.open, 'a write batch is not used after its function has returned')
    assert(this.exists(source) && this.exists(target), 'both ends of a relationship exist')
    const now = this.clock.now()
    const stored = this.merge(NO_PROPERTIES, properties, now)
    return this.insertRelationship(source, this.intern('type', type), target, stored, now).id
  }

  private exists(node: NodeId): boolean {
    const edited = this.nodes.get(node)
    return edited === undefined ? this.databases.nodes.get(node) !== null : edited.now !== null
  }

  /** All of them, where createRelationship has made parallel ones. */
  deleteRelationship(key: RelationshipKey): string | null {
    let first: string | null = null
    for (const id of this.relationshipsByKey(key)) {
      const edited = this.relationship(id)
      const { source, type, target, gid } = edited.now!
      this.adjacency.remove(source, type, target, id)
      edited.now = null
      first ??= gid
    }
    return first
  }

  deleteRelationshipProperties(key: RelationshipKey, names: readonly string[]): string | null {
    const symbols = this.propertySymbols(names)
    let first: string | null = null
    for (const id of this.relationshipsByKey(key)) {
      const edited = this.relationship(id)
      const old = edited.now!
      const properties = withoutProperties(old.properties, symbols)
      if (properties !== old.properties) edited.now = { ...old, properties, updatedMs: this.clock.now() }
      first ??= old.gid
    }
    return first
  }

  private relationshipsByKey(key: RelationshipKey): readonly RelationshipId[] {
    const source = this.findNode(key.source)
    const target = this.findNode(key.target)
    const type = this.find('type', key.type)
    return source === 0 || target === 0 || type === 0 ? [] : this.adjacency.between(source, type, target)
  }

  // -- beside the graph

  hasMark(mark: Mark): boolean {
    return this.marks.get(mark) ?? this.databases.meta.get({ kind: META.mark, symbol: mark }) !== null
  }

  setMark(mark: Mark, isSet = true): void {
    this.marks.set(mark, isSet)
  }

  /** Left with the batch, for whoever must go on where a crash may come in between. Numbers are drawn at random. */
  putNote(number: number, text: string): void {
    this.notes.set(number, text)
  }

  removeNote(number: number): void {
    this.notes.set(number, null)
  }

  // -- putting

  /** Once it is prepared: every key that it changes; null where nobody should ask. */
  get touched(): readonly Touched[] | null {
    return this.operations.touched
  }

  /** Encodes everything; the database is still untouched. */
  prepare(): void {
    const { databases, header, operations, sink } = this
    for (const { kind, symbol, name } of this.newSymbols) {
      operations.begin(sink)
      sink.text(name)
      operations.put(databases.symbols, { kind, symbol }, sink)
    }
    for (const { type, externalId, node } of this.changedKeys()) {
      if (node === 0) operations.remove(databases.upsertKeys, { type, externalId })
      else {
        operations.begin(sink)
        sink.u32(node)
        operations.put(databases.upsertKeys, { type, externalId }, sink)
      }
    }
    const labels = new LabelEdits(databases)
    const typed = new Map<SymbolId, number>()
    for (const [id, { before, now }] of this.nodes) {
      if (before === now) continue
      const { type } = (now ?? before)!
      const step = (now === null ? 0 : 1) - (before === null ? 0 : 1)
      if (type !== 0) typed.set(type, (typed.get(type) ?? 0) + step)
      labels.change(id, before, now, sink, operations)
      if (now === null) operations.remove(databases.nodes, id)
      else {
        operations.begin(sink)
        writeNode(sink, now)
        operations.put(databases.nodes, id, sink)
      }
    }
    labels.encode(sink, operations)
    this.prepareNotes()
    const types = this.prepareRelationships()
    this.adjacency.encode(sink, operations)
    header.nodes += labels.counts.get(0) ?? 0
    labels.counts.delete(0)
    this.prepareCounts(META.labelCount, labels.counts)
    this.prepareCounts(META.typeCount, types)
    this.prepareCounts(META.typedCount, typed)
    operations.begin(sink)
    writeHeader(sink, header)
    operations.put(databases.meta, HEADER_KEY, sink)
  }

  protected prepareRelationships(): Map<SymbolId, number> {
    const { databases, header, operations, sink } = this
    const counts = new Map<SymbolId, number>()
    for (const [id, { before, now }] of this.relationships) {
      if (before === now) continue
      const step = (now === null ? 0 : 1) - (before === null ? 0 : 1)
      const type = (now ?? before)!.type
      header.relationships += step
      if (step !== 0) counts.set(type, (counts.get(type) ?? 0) + step)
      if (now === null) operations.remove(databases.relationships, id)
      else {
        operations.begin(sink)
        writeRelationship(sink, now)
        operations.put(databases.relationships, id, sink)
      }
    }
    return counts
  }

  private prepareNotes(): void {
    const { databases, operations, sink } = this
    for (const [mark, isSet] of this.marks) {
      const key = { kind: META.mark, symbol: mark }
      if (!isSet) operations.remove(databases.meta, key)
      else {
        operations.begin(sink)
        sink.u32(1)
        operations.put(databases.meta, key, sink)
      }
    }
    for (const [number, text] of this.notes) {
      const key = { kind: META.note, symbol: number }
      if (text === null) operations.remove(databases.meta, key)
      else {
        operations.begin(sink)
        sink.text(text)
        operations.put(databases.meta, key, sink)
      }
    }
  }

  private prepareCounts(kind: number, changes: ReadonlyMap<SymbolId, number>): void {
    const { databases, operations, sink } = this
    for (const [symbol, change] of changes) {
      if (change === 0) continue
      const key = { kind, symbol }
      const before = databases.meta.get(key)?.words[0] ?? 0
      operations.begin(sink)
      sink.u32(before + change)
      operations.put(databases.meta, key, sink)
    }
  }

  apply(): void {
    this.operations.apply(this.sink)
    for (const { kind, name } of this.newSymbols) this.symbols.add(kind, name)
  }
}
