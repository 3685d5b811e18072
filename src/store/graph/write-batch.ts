// One batch of writes. All changes are made in memory, reading through to the database, and are written at the end. So a batch
// that throws changes nothing, although it shares its transaction with other batches. See docs/decisions/0003-capture-semantics.md.
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
} from '../../engine/store.ts'
import { assert } from '../../kernel/assert.ts'
import { externalIdLength } from '../../kernel/element-rules.ts'
import { longIdsFeature } from '../../kernel/folder/folder-features.ts'
import type { Clock } from '../../kernel/time/clock.ts'
import type { ByteWriter } from '../format/bytes.ts'
import {
  type EnvironmentHeader,
  type GraphVersion,
  readHeader,
  type SymbolCounts,
  writeHeader,
} from '../format/header.ts'
import { EXTERNAL_ID_UNITS_MAX, hasHashedKey } from '../format/keys.ts'
import type { NodeRecord, RelationshipRecord } from '../format/records.ts'
import { type Databases, HEADER_KEY, META_KIND, missingSymbolsError } from '../lmdb/databases.ts'
import { requireProgram } from '../lmdb/layout.ts'
import { PendingWrites, type TouchedKey } from '../lmdb/pending-writes.ts'
import type { OutboxEdits } from '../outbox/outbox-edits.ts'
import type { BatchEdits } from './batch-view.ts'
import { checkLabels, checkName, checkNodeKey, nodeText, relationshipText } from './element-checks.ts'
import type { EditedRecord, PreservedFields } from './element-edits.ts'
import { NodeRecordImage, RelationshipRecordImage } from './element-images.ts'
import { FlagEdits } from './flags.ts'
import { IntentEdits } from './intents.ts'
import { KeyEdits } from './key-edits.ts'
import { NewSymbols } from './new-symbols.ts'
import { NodeEdits } from './node-edits.ts'
import { withoutMetadata, withoutProperties } from './property-edits.ts'
import { RelationshipEdits } from './relationship-edits.ts'
import type { SymbolTable } from './symbols.ts'

/** The stream of the events of a graph in its outbox. */
export const GRAPH_STREAM = 'graph'

/** Inputs of a batch. */
export interface WriteBatchOptions {
  readonly databases: Databases
  readonly outbox: OutboxEdits
  /** The symbols of the version that the batch builds on. New ones are added when the batch is applied. */
  readonly symbols: SymbolTable
  readonly clock: Clock
  readonly entriesPerChunk: number
  /** The version that the batch creates. */
  readonly version: GraphVersion
}

/** Without this, the key of `exists` and `find` (`['Person', 'ann']`) would be the key of a node that does not exist. */
function checkKey(end: string, key: NodeKey): void {
  if (typeof key?.type !== 'string' || typeof key.externalId !== 'string') {
    throw new TypeError(`${end}: expected { type, externalId } of the end node`)
  }
}

/** A batch of writes to an LmdbEnvironment. The methods are documented at the port (`WriteBatch`). */
export class LmdbWriteBatch implements WriteBatch, WrittenBatch {
  /** The version that the batch builds on. */
  readonly baseVersion: GraphVersion
  readonly baseSymbolCounts: SymbolCounts
  /** The edits that `view` shows. */
  readonly edits: BatchEdits
  readonly flags: FlagEdits
  readonly intents: IntentEdits
  protected readonly databases: Databases
  protected readonly clock: Clock
  protected readonly header: EnvironmentHeader
  protected readonly symbols: NewSymbols
  protected readonly writer: ByteWriter
  protected readonly pending = new PendingWrites()
  private readonly keys: KeyEdits
  private readonly nodes: NodeEdits
  private readonly relationships: RelationshipEdits
  private readonly outbox: OutboxEdits
  private open = true
  private needsLongIds = false
  /**
   * Called for each node that the batch upserts or deletes by key. `moved`: the node was created, deleted, or given a location.
   */
  onNodeTouched: ((key: NodeKey, moved: boolean) => void) | null = null
  /** Set by the environment: opens the view. */
  openView: (() => BatchView | null) | null = null

  constructor(
    { databases, outbox, symbols, clock, entriesPerChunk, version }: WriteBatchOptions,
    writer: ByteWriter,
    keys = new KeyEdits(databases.upsertKeys),
  ) {
    const header = readHeader(databases.meta.getRequired(HEADER_KEY))
    const counts = header.symbols
    if (!symbols.isComplete(counts) && !symbols.complete(counts, (key) => databases.symbols.get(key)))
      throw missingSymbolsError(databases)
    this.baseSymbolCounts = [...counts]
    this.baseVersion = { writer: header.writer, commit: header.commit }
    header.writer = version.writer
    header.commit = version.commit
    this.databases = databases
    this.clock = clock
    this.header = header
    this.writer = writer
    this.symbols = new NewSymbols(databases.symbols, symbols, header)
    this.keys = keys
    this.nodes = new NodeEdits(databases, header, this.symbols, keys)
    this.relationships = new RelationshipEdits(databases, header, this.symbols, entriesPerChunk)
    this.flags = new FlagEdits(databases.meta)
    this.intents = new IntentEdits(databases.meta)
    this.outbox = outbox
    this.edits = {
      before: this.baseVersion,
      symbols: this.symbols,
      nodes: this.nodes,
      relationships: this.relationships,
    }
  }

  /** Ends the batch: later calls fail an assertion. */
  close(): void {
    this.open = false
  }

  private assertOpen(): void {
    assert(this.open, 'a write batch is not used after its function has returned')
  }

  // -- reading

  findNode({ type, externalId }: NodeKey): NodeId {
    this.assertOpen()
    return this.keys.find(this.symbols.find('label', type), externalId)
  }

  hasNode(node: NodeId): boolean {
    this.assertOpen()
    return this.nodes.exists(node)
  }

  /** Global id and location of a node, or null if it does not exist. */
  identityOf(key: NodeKey): { readonly gid: string; readonly location: string | null } | null {
    const id = this.findNode(key)
    return id === 0 ? null : this.nodes.at(id).now
  }

  view(): BatchView | null {
    assert(this.open && this.openView !== null, 'a write batch is not used after its function has returned')
    return this.openView()
  }

  // -- nodes

  upsertNode(input: NodeInput, preserved: PreservedFields = {}): UpsertResult {
    this.assertOpen()
    checkNodeKey(input)
    checkLabels(input.labels, () => nodeText(input))
    assert(
      input.externalId.length <= EXTERNAL_ID_UNITS_MAX,
      `an external id has at most ${externalIdLength.max} characters`,
    )
    if (hasHashedKey(input.externalId)) this.needsLongIds = true
    const upserted = this.nodes.upsert(input, preserved, preserved.updatedMs ?? preserved.createdMs ?? this.clock.now())
    this.onNodeTouched?.(input, upserted.created || input.location !== undefined)
    return upserted
  }

  createNode(labels: readonly string[], properties: readonly PropertyInput[]): NodeId {
    this.assertOpen()
    checkLabels(labels, () => 'a node without external id')
    return this.nodes.create(labels, properties, this.clock.now())
  }

  deleteNode(key: NodeKey): string | null {
    this.assertOpen()
    const { type, externalId } = key
    const symbol = this.symbols.find('label', type)
    const id = this.keys.find(symbol, externalId)
    this.onNodeTouched?.(key, id !== 0)
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

  upsertRelationship(input: RelationshipInput): UpsertResult | null {
    checkName(input.type, () => 'the type of a relationship')
    checkKey('source', input.source)
    checkKey('target', input.target)
    const source = this.findNode(input.source)
    const target = this.findNode(input.target)
    if (source === 0 || target === 0) return null
    const type = this.symbols.intern('type', input.type)
    return this.relationships.upsert(source, type, target, input.properties, this.clock.now(), () =>
      relationshipText(input),
    )
  }

  createRelationship(
    source: NodeId,
    type: string,
    target: NodeId,
    properties: readonly PropertyInput[],
  ): RelationshipId {
    this.assertOpen()
    assert(this.nodes.exists(source) && this.nodes.exists(target), 'both ends of a relationship exist')
    checkName(type, () => 'the type of a relationship')
    const symbol = this.symbols.intern('type', type)
    const element = (): string => `a relationship \`${type}\``
    return this.relationships.create(source, symbol, target, properties, this.clock.now(), element).id
  }

  /** Deletes all parallel relationships. */
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

  /** Encodes records again as they are, with their times. */
  rewrite(kind: 'nodes' | 'relationships', ids: readonly number[]): void {
    this.assertOpen()
    for (const id of ids) this[kind].rewrite(id)
  }

  // -- events and images

  nodeImage(key: NodeKey): NodeImage | null {
    const id = this.findNode(key)
    return id === 0 ? null : this.imageOfNode(this.nodes.at(id).now)
  }

  relationshipImage(key: RelationshipKey): RelationshipImage | null {
    const [id] = this.relationshipsByKey(key)
    return id === undefined ? null : this.imageOfRelationship(this.relationships.at(id).now)
  }

  *changes(): Iterable<ElementChange> {
    const nodes = [...this.nodes.changes()]
    const relationships = [...this.relationships.changes()]
    for (const edited of relationships) if (edited.now === null) yield this.relationshipChange(edited)
    for (const edited of nodes) if (edited.now === null) yield this.nodeChange(edited)
    for (const edited of nodes) if (edited.now !== null) yield this.nodeChange(edited)
    for (const edited of relationships) if (edited.now !== null) yield this.relationshipChange(edited)
  }

  private nodeChange({ before, now }: EditedRecord<NodeRecord>): ElementChange {
    return { element: 'node', before: this.imageOfNode(before), after: this.imageOfNode(now) }
  }

  private relationshipChange({ before, now }: EditedRecord<RelationshipRecord>): ElementChange {
    return {
      element: 'relationship',
      before: this.imageOfRelationship(before),
      after: this.imageOfRelationship(now),
    }
  }

  private imageOfNode(record: NodeRecord | null): NodeImage | null {
    return record && new NodeRecordImage(record, this.symbols)
  }

  private imageOfRelationship(record: RelationshipRecord | null): RelationshipImage | null {
    return record && new RelationshipRecordImage(record, this.symbols, (node) => this.keyOfNode(node))
  }

  /** Also of a node that the batch has deleted. */
  private keyOfNode(id: NodeId): NodeKey {
    const { now, before } = this.nodes.at(id)
    const record = now ?? before
    if (record === null || record.type === 0) return { type: '', externalId: '' }
    return { type: this.symbols.name('label', record.type), externalId: record.externalId }
  }

  appendEvents(record: Uint8Array | string, count: number, stream: string = GRAPH_STREAM): number {
    this.assertOpen()
    return this.outbox.append(stream, record, count, this.clock.now())
  }

  // -- encoding and applying

  /** After `prepare`: all changed keys. Null: too many to record. */
  get touched(): readonly TouchedKey[] | null {
    return this.pending.touched
  }

  /** Encodes all changes. The database is not changed yet. */
  prepare(): void {
    const { databases, header, pending, writer } = this
    this.symbols.encode(writer, pending)
    this.keys.encode(writer, pending)
    const nodes = this.nodes.encode(writer, pending)
    this.flags.encode(writer, pending)
    this.intents.encode(writer, pending)
    this.outbox.encode(writer, pending)
    const relationships = this.prepareRelationships()
    header.nodes += sum(nodes.byType)
    header.relationships += sum(relationships)
    this.prepareCounts(META_KIND.labelCount, nodes.byLabel)
    this.prepareCounts(META_KIND.typeCount, relationships)
    this.prepareCounts(META_KIND.typedCount, nodes.byType)
    pending.begin(writer)
    writeHeader(writer, header)
    pending.put(databases.meta, HEADER_KEY, writer)
  }

  /** Returns the change of the relationship count by type. */
  protected prepareRelationships(): Map<SymbolId, number> {
    return this.relationships.encode(this.writer, this.pending)
  }

  private prepareCounts(kind: number, changes: ReadonlyMap<SymbolId, number>): void {
    const { databases, pending, writer } = this
    for (const [symbol, change] of changes) {
      // Elements without type are counted in the header only.
      if (change === 0 || symbol === 0) continue
      const key = { kind, symbol }
      const before = databases.meta.get(key)?.words[0] ?? 0
      pending.begin(writer)
      writer.u32(before + change)
      pending.put(databases.meta, key, writer)
    }
  }

  /** Writes all changes, within a write transaction. */
  apply(): void {
    if (this.needsLongIds) requireProgram(this.databases.meta, longIdsFeature)
    this.pending.apply(this.writer)
    this.outbox.publish()
    this.symbols.publish()
  }
}

function sum(changes: ReadonlyMap<SymbolId, number>): number {
  let all = 0
  for (const change of changes.values()) all += change
  return all
}
