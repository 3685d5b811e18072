// One batch of writes: everything changes in memory first, reading through to the database, and is put at the end.
// So a batch that throws has touched nothing, though it shares its transaction with others (rulings G1, G2, G3, G8).
import type {
  BatchView,
  MetadataFields,
  NodeId,
  NodeInput,
  NodeKey,
  PropertyInput,
  RelationshipId,
  RelationshipInput,
  RelationshipKey,
  SymbolId,
  WriteBatch,
  Written,
} from '../../engine/store.ts'
import { assert } from '../../kernel/assert.ts'
import type { Clock } from '../../kernel/clock.ts'
import { Sink } from '../bytes.ts'
import { EXTERNAL_ID_UNITS_MAX } from '../keys.ts'
import { withoutMetadata, withoutProperties } from '../properties.ts'
import type { Edits } from './batch-view.ts'
import { type Databases, HEADER_KEY, lackOfSymbols, META } from './databases.ts'
import type { Given } from './element-edits.ts'
import { type Header, readHeader, type Stamp, type SymbolCounts, writeHeader } from './header.ts'
import { KeyEdits } from './key-edits.ts'
import { MarkEdits, NoteEdits } from './marks-and-notes.ts'
import { NewSymbols } from './new-symbols.ts'
import { NodeEdits } from './node-edits.ts'
import { Operations, type Touched } from './operations.ts'
import { RelationshipEdits } from './relationship-edits.ts'
import type { SymbolTable } from './symbols.ts'

/** What a batch begins with. */
export interface BatchStart {
  readonly databases: Databases
  /** Those of the state that the batch builds on; what is new is added when the batch is put. */
  readonly symbols: SymbolTable
  readonly clock: Clock
  readonly entriesPerChunk: number
  /** The batch's own. */
  readonly stamp: Stamp
}

export class LmdbWriteBatch implements WriteBatch {
  /** The state that the batch builds on. */
  readonly before: Stamp
  readonly countsBefore: SymbolCounts
  /** What a view of it asks. */
  readonly edits: Edits
  readonly marks: MarkEdits
  readonly notes: NoteEdits
  protected readonly databases: Databases
  protected readonly clock: Clock
  protected readonly header: Header
  protected readonly symbols: NewSymbols
  protected readonly sink: Sink
  protected readonly operations = new Operations()
  private readonly keys: KeyEdits
  private readonly nodes: NodeEdits
  private readonly relationships: RelationshipEdits
  private open = true
  /** Given by the environment, which opens what is read. */
  viewer: (() => BatchView | null) | null = null

  constructor(
    { databases, symbols, clock, entriesPerChunk, stamp }: BatchStart,
    keys = new KeyEdits(databases.upsertKeys),
    sink = new Sink(),
  ) {
    const header = readHeader(databases.meta.expect(HEADER_KEY))
    const counts = header.symbols
    if (!symbols.isComplete(counts) && !symbols.complete(counts, databases.symbols)) throw lackOfSymbols(databases)
    this.countsBefore = [...counts]
    this.before = { writer: header.writer, commit: header.commit }
    header.writer = stamp.writer
    header.commit = stamp.commit
    this.databases = databases
    this.clock = clock
    this.header = header
    this.sink = sink
    this.symbols = new NewSymbols(databases.symbols, symbols, header)
    this.keys = keys
    this.nodes = new NodeEdits(databases, header, this.symbols, keys)
    this.relationships = new RelationshipEdits(databases, header, this.symbols, entriesPerChunk)
    this.marks = new MarkEdits(databases.meta)
    this.notes = new NoteEdits(databases.meta)
    this.edits = { before: this.before, symbols: this.symbols, nodes: this.nodes, relationships: this.relationships }
  }

  /** The batch is of no use outside of the function that it was handed to. */
  close(): void {
    this.open = false
  }

  private assertOpen(): void {
    assert(this.open, 'a write batch is not used after its function has returned')
  }

  // -- what it reads

  findNode({ type, externalId }: NodeKey): NodeId {
    this.assertOpen()
    return this.keys.find(this.symbols.find('label', type), externalId)
  }

  /** Null when there is none. */
  identityOf(key: NodeKey): { readonly gid: string; readonly location: string | null } | null {
    const id = this.findNode(key)
    return id === 0 ? null : this.nodes.at(id).now
  }

  view(): BatchView | null {
    assert(this.open && this.viewer !== null, 'a write batch is not used after its function has returned')
    return this.viewer()
  }

  // -- nodes

  upsertNode(input: NodeInput, given: Given = {}): Written {
    this.assertOpen()
    assert(input.externalId.length <= EXTERNAL_ID_UNITS_MAX, 'an external id has at most 256 characters')
    return this.nodes.upsert(input, given, given.updatedMs ?? given.createdMs ?? this.clock.now())
  }

  createNode(labels: readonly string[], properties: readonly PropertyInput[]): NodeId {
    this.assertOpen()
    return this.nodes.create(labels, properties, this.clock.now())
  }

  deleteNode({ type, externalId }: NodeKey): string | null {
    this.assertOpen()
    const symbol = this.symbols.find('label', type)
    const id = this.keys.find(symbol, externalId)
    if (id === 0) return null
    this.relationships.deleteAt(id)
    this.keys.set(symbol, externalId, 0)
    return this.nodes.delete(id)
  }

  deleteNodeProperties(key: NodeKey, names: readonly string[]): string | null {
    const id = this.findNode(key)
    if (id === 0) return null
    const symbols = this.propertySymbols(names)
    return this.nodes.change(id, this.clock.now(), (properties) => withoutProperties(properties, symbols))
  }

  deleteNodePropertyMetadata(key: NodeKey, property: string, fields: MetadataFields): string | null {
    const id = this.findNode(key)
    if (id === 0) return null
    const symbol = this.symbols.find('property', property)
    const now = this.clock.now()
    return this.nodes.change(id, now, (properties) => withoutMetadata(properties, symbol, fields, now))
  }

  private propertySymbols(names: readonly string[]): SymbolId[] {
    return names.map((name) => this.symbols.find('property', name))
  }

  // -- relationships

  upsertRelationship(input: RelationshipInput): Written | null {
    const source = this.findNode(input.source)
    const target = this.findNode(input.target)
    if (source === 0 || target === 0) return null
    const type = this.symbols.intern('type', input.type)
    return this.relationships.upsert(source, type, target, input.properties, this.clock.now())
  }

  createRelationship(
    source: NodeId,
    type: string,
    target: NodeId,
    properties: readonly PropertyInput[],
  ): RelationshipId {
    this.assertOpen()
    assert(this.nodes.exists(source) && this.nodes.exists(target), 'both ends of a relationship exist')
    const symbol = this.symbols.intern('type', type)
    return this.relationships.create(source, symbol, target, properties, this.clock.now()).id
  }

  /** All of them, where createRelationship has made parallel ones. */
  deleteRelationship(key: RelationshipKey): string | null {
    const gids = this.relationshipsByKey(key).map((id) => this.relationships.delete(id))
    return gids[0] ?? null
  }

  deleteRelationshipProperties(key: RelationshipKey, names: readonly string[]): string | null {
    const symbols = this.propertySymbols(names)
    const now = this.clock.now()
    const gids = this.relationshipsByKey(key).map((id) =>
      this.relationships.change(id, now, (properties) => withoutProperties(properties, symbols)),
    )
    return gids[0] ?? null
  }

  private relationshipsByKey(key: RelationshipKey): readonly RelationshipId[] {
    const source = this.findNode(key.source)
    const target = this.findNode(key.target)
    const type = this.symbols.find('type', key.type)
    return source === 0 || target === 0 || type === 0 ? [] : this.relationships.between(source, type, target)
  }

  // -- putting

  /** Once it is prepared: every key that it changes; null where nobody should ask. */
  get touched(): readonly Touched[] | null {
    return this.operations.touched
  }

  /** Encodes everything; the database is still untouched. */
  prepare(): void {
    const { databases, header, operations, sink } = this
    this.symbols.encode(sink, operations)
    this.keys.encode(sink, operations)
    const nodes = this.nodes.encode(sink, operations)
    this.marks.encode(sink, operations)
    this.notes.encode(sink, operations)
    const relationships = this.prepareRelationships()
    header.nodes += sum(nodes.byType)
    header.relationships += sum(relationships)
    this.prepareCounts(META.labelCount, nodes.byLabel)
    this.prepareCounts(META.typeCount, relationships)
    this.prepareCounts(META.typedCount, nodes.byType)
    operations.begin(sink)
    writeHeader(sink, header)
    operations.put(databases.meta, HEADER_KEY, sink)
  }

  /** Returns by type how many more there are now. */
  protected prepareRelationships(): Map<SymbolId, number> {
    return this.relationships.encode(this.sink, this.operations)
  }

  private prepareCounts(kind: number, changes: ReadonlyMap<SymbolId, number>): void {
    const { databases, operations, sink } = this
    for (const [symbol, change] of changes) {
      // Under no symbol are those that the header counts.
      if (change === 0 || symbol === 0) continue
      const key = { kind, symbol }
      const before = databases.meta.get(key)?.words[0] ?? 0
      operations.begin(sink)
      sink.u32(before + change)
      operations.put(databases.meta, key, sink)
    }
  }

  apply(): void {
    this.operations.apply(this.sink)
    this.symbols.makeKnown()
  }
}

function sum(changes: ReadonlyMap<SymbolId, number>): number {
  let all = 0
  for (const change of changes.values()) all += change
  return all
}
