// A snapshot over one read view: every question of the port is one or two reads of packed values.
// A bounded cache of decoded blocks, if one is ever wanted, belongs into `list` and `record`, keyed by the view.
import type {
  Chunk,
  Direction,
  NodeId,
  OwnField,
  RelationshipId,
  Snapshot,
  SymbolId,
  SymbolKind,
} from '../../engine/store.ts'
import type { PropertyValue } from '../../engine/value/value.ts'
import { assert } from '../../kernel/assert.ts'
import { timestamp } from '../../kernel/clock.ts'
import { appendBits, CHUNK_HEAD_BYTES, growChunk, LONG_HEAD_BYTES, lowerBound } from '../blocks.ts'
import { type Window, windowOn, windowOnRead } from '../bytes.ts'
import {
  type AdjacencyKey,
  type ChunkKey,
  EXTERNAL_ID_UNITS_MAX,
  NODES_PER_BLOCK,
  type SymbolKey,
  scalarKey,
  sideOf,
  type UpsertKey,
} from '../keys.ts'
import * as records from '../records.ts'
import { type Databases, HEADER_KEY, META } from './databases.ts'
import { type Header, readHeader } from './header.ts'
import type { Database, ReadView } from './native.ts'
import type { SymbolTable } from './symbols.ts'

/** What opened the snapshot. */
export interface Opener {
  readonly databases: Databases
  readonly symbols: SymbolTable
  release(view: ReadView): void
}

/** Ids that one fill of a chunk gathers from labels or index, at least, where there are as many. */
const IDS_PER_FILL = 256

// Reused by every snapshot: reading is synchronous, and no key outlives the call that it is made for.
const upsertKey: UpsertKey = { type: 0, externalId: '' }
const listKey: AdjacencyKey = { node: 0, side: 0 }
const chunkKey: ChunkKey = { node: 0, side: 0, neighbour: 0, relationship: 0 }
const labelKey = { label: 0, block: 0 }
const countKey: SymbolKey = { kind: 0, symbol: 0 }

export class LmdbSnapshot implements Snapshot {
  readonly symbolEpoch: number
  private readonly opener: Opener
  private readonly databases: Databases
  private readonly view: ReadView
  private open = true

  /** The opener is the environment. */
  get environment(): object {
    return this.opener
  }

  constructor(opener: Opener, view: ReadView) {
    this.opener = opener
    this.databases = opener.databases
    this.view = view
    this.symbolEpoch = opener.symbols.epoch
  }

  close(): void {
    if (!this.open) return
    this.open = false
    this.opener.release(this.view)
  }

  private read<K>(database: Database<K>, key: K): Window | null {
    assert(this.open, 'a snapshot is not used after it is closed')
    const bytes = database.getBinaryFast(key, this.view)
    return bytes === undefined ? null : windowOnRead(bytes)
  }

  symbol(kind: SymbolKind, name: string): SymbolId {
    return this.opener.symbols.id(kind, name)
  }

  symbolName(kind: SymbolKind, id: SymbolId): string {
    return this.opener.symbols.name(kind, id)
  }

  // -- finding

  findNode(label: SymbolId, externalId: string): NodeId {
    if (label === 0 || externalId.length > EXTERNAL_ID_UNITS_MAX) return 0
    upsertKey.type = label
    upsertKey.externalId = externalId
    return this.read(this.databases.upsertKeys, upsertKey)?.words[0] ?? 0
  }

  nodesWithLabel(label: SymbolId, from: number, chunk: Chunk): void {
    if (label === 0) clear(chunk)
    else this.blocks(label, from, chunk)
  }

  allNodes(from: number, chunk: Chunk): void {
    this.blocks(0, from, chunk)
  }

  /** `from` is the first id that may come next. */
  private blocks(label: SymbolId, from: number, chunk: Chunk): void {
    assert(this.open, 'a snapshot is not used after it is closed')
    clear(chunk)
    const start = { label, block: Math.floor(from / NODES_PER_BLOCK) }
    const end = { label: label + 1, block: 0 }
    for (const { key, value } of this.databases.labels.getRange({ start, end, ...this.view })) {
      const base = key.block * NODES_PER_BLOCK
      if (chunk.length >= IDS_PER_FILL) {
        chunk.more = true
        chunk.next = base
        return
      }
      appendBits(windowOn(value).words, base, chunk)
    }
  }

  nodesWithProperty(label: SymbolId, property: SymbolId, value: PropertyValue, from: number, chunk: Chunk): void {
    assert(this.open, 'a snapshot is not used after it is closed')
    clear(chunk)
    const scalar = scalarKey(value)
    if (scalar === null || label === 0 || property === 0) return
    growChunk(chunk, IDS_PER_FILL)
    const start = { label, property, scalar, node: from }
    // No node has the greatest id, so the end may be exclusive.
    const end = { label, property, scalar, node: 0xffffffff }
    for (const { node } of this.databases.index.getKeys({ start, end, limit: IDS_PER_FILL + 1, ...this.view })) {
      if (chunk.length === IDS_PER_FILL) {
        chunk.more = true
        chunk.next = node
        return
      }
      chunk.ids[chunk.length++] = node
    }
  }

  // -- walking

  private list(node: NodeId, side: number): Window | null {
    listKey.node = node
    listKey.side = side
    return this.read(this.databases.adjacency, listKey)
  }

  neighbours(node: NodeId, direction: Direction, type: SymbolId, from: number, chunk: Chunk): void {
    if (from !== 0) {
      this.copyChunk(from, chunk)
      return
    }
    clear(chunk)
    if (type === 0) return
    const window = this.list(node, sideOf(direction, type))
    if (window === null) return
    const bytes = window.source.length
    if (bytes === LONG_HEAD_BYTES) this.copyChunk(window.words[1]!, chunk)
    else copyEntries(window.words, 0, bytes >>> 3, chunk)
  }

  private copyChunk(id: number, chunk: Chunk): void {
    clear(chunk)
    const window = this.read(this.databases.chunks, id)
    assert(window !== null, 'a chunk id comes from a list')
    const next = window.words[0]!
    copyEntries(window.words, 1, (window.source.length - CHUNK_HEAD_BYTES) >>> 3, chunk)
    chunk.more = next !== 0
    chunk.next = next
  }

  /** Exact for every node. */
  degree(node: NodeId, direction: Direction, type: SymbolId): number {
    if (type === 0) return 0
    const window = this.list(node, sideOf(direction, type))
    if (window === null) return 0
    const bytes = window.source.length
    return bytes === LONG_HEAD_BYTES ? window.words[0]! : bytes >>> 3
  }

  relationshipsBetween(source: NodeId, type: SymbolId, target: NodeId, chunk: Chunk): void {
    clear(chunk)
    if (type === 0) return
    const outgoing = this.list(source, sideOf('out', type))
    if (outgoing === null) return
    if (outgoing.source.length !== LONG_HEAD_BYTES) {
      copyMatches(outgoing.words, 0, outgoing.source.length >>> 3, target, chunk)
      return
    }
    const incoming = this.list(target, sideOf('in', type))
    if (incoming === null) return
    if (incoming.source.length !== LONG_HEAD_BYTES) {
      copyMatches(incoming.words, 0, incoming.source.length >>> 3, source, chunk)
      // What is found at the target are its sources; asked for are the targets.
      for (let i = 0; i < chunk.length; i++) chunk.ids[i] = target
      return
    }
    this.betweenHubs(source, sideOf('out', type), target, chunk)
  }

  /** Reads the one chunk that may hold the neighbour, and those behind it only while parallel relationships run on. */
  private betweenHubs(node: NodeId, side: number, neighbour: NodeId, chunk: Chunk): void {
    chunkKey.node = node
    chunkKey.side = side
    chunkKey.neighbour = neighbour
    chunkKey.relationship = 0
    let id = 0
    const range = { start: chunkKey, end: undefined, limit: 1, reverse: true, ...this.view }
    for (const { key, value } of this.databases.chunkIndex.getRange(range)) {
      if (key.node === node && key.side === side) id = windowOn(value).words[0]!
    }
    while (id !== 0) {
      const window = this.read(this.databases.chunks, id)
      assert(window !== null, 'a chunk id comes from a list')
      const { words } = window
      const count = (window.source.length - CHUNK_HEAD_BYTES) >>> 3
      copyMatches(words, 1, count, neighbour, chunk)
      id = count > 0 && words[count]! <= neighbour ? words[0]! : 0
    }
  }

  typesAt(node: NodeId, direction: Direction): readonly SymbolId[] {
    const window = this.list(node, sideOf(direction, 0))
    const types: SymbolId[] = []
    if (window !== null) {
      const count = window.source.length >>> 2
      for (let i = 0; i < count; i++) types.push(window.words[i]!)
    }
    return types
  }

  // -- reading elements

  private record(database: Database<number>, id: number): Window | null {
    const window = this.read(database, id)
    if (window !== null) records.checkVersion(window)
    return window
  }

  /** Asks the label's bits, which are few pages, and leaves the record alone. */
  hasLabel(node: NodeId, label: SymbolId): boolean {
    if (label === 0) return false
    labelKey.label = label
    labelKey.block = Math.floor(node / NODES_PER_BLOCK)
    const window = this.read(this.databases.labels, labelKey)
    if (window === null) return false
    const bit = node % NODES_PER_BLOCK
    return (window.words[bit >>> 5]! & (1 << (bit & 31))) !== 0
  }

  labels(node: NodeId): readonly SymbolId[] {
    const window = this.record(this.databases.nodes, node)
    return window === null ? [] : records.labelsOf(window)
  }

  nodeProperty(node: NodeId, property: SymbolId): PropertyValue | null {
    const window = this.record(this.databases.nodes, node)
    return window === null ? null : records.propertyOf(window, property)
  }

  nodeOwn(node: NodeId, field: OwnField): PropertyValue | null {
    const window = this.record(this.databases.nodes, node)
    if (window === null) return null
    switch (field) {
      case 'external_id':
        return records.typeOf(window) === 0 ? null : records.externalIdOf(window)
      case 'type':
        return records.typeOf(window) === 0 ? null : this.symbolName('label', records.typeOf(window))
      case 'is_identity':
        return records.isIdentityOf(window)
      case 'location':
        return records.locationOf(window)
      default:
        return sharedField(window, field)
    }
  }

  nodeProperties(node: NodeId): ReadonlyMap<string, PropertyValue> {
    return this.named(this.record(this.databases.nodes, node))
  }

  /** With its metadata and the resolver's name: more than the engine asks for. */
  nodeStoredProperty(node: NodeId, property: SymbolId): records.StoredProperty | null {
    const window = this.record(this.databases.nodes, node)
    return window === null ? null : records.storedPropertyOf(window, property)
  }

  relationshipType(relationship: RelationshipId): SymbolId {
    const window = this.record(this.databases.relationships, relationship)
    return window === null ? 0 : records.typeOf(window)
  }

  relationshipSource(relationship: RelationshipId): NodeId {
    const window = this.record(this.databases.relationships, relationship)
    return window === null ? 0 : records.sourceOf(window)
  }

  relationshipTarget(relationship: RelationshipId): NodeId {
    const window = this.record(this.databases.relationships, relationship)
    return window === null ? 0 : records.targetOf(window)
  }

  relationshipProperty(relationship: RelationshipId, property: SymbolId): PropertyValue | null {
    const window = this.record(this.databases.relationships, relationship)
    return window === null ? null : records.propertyOf(window, property)
  }

  relationshipOwn(relationship: RelationshipId, field: OwnField): PropertyValue | null {
    const window = this.record(this.databases.relationships, relationship)
    if (window === null) return null
    return field === 'type' ? this.symbolName('type', records.typeOf(window)) : sharedField(window, field)
  }

  relationshipProperties(relationship: RelationshipId): ReadonlyMap<string, PropertyValue> {
    return this.named(this.record(this.databases.relationships, relationship))
  }

  relationshipStoredProperty(relationship: RelationshipId, property: SymbolId): records.StoredProperty | null {
    const window = this.record(this.databases.relationships, relationship)
    return window === null ? null : records.storedPropertyOf(window, property)
  }

  private named(window: Window | null): ReadonlyMap<string, PropertyValue> {
    const named = new Map<string, PropertyValue>()
    if (window === null) return named
    for (const [symbol, { value }] of records.storedPropertiesOf(window)) {
      if (value !== null) named.set(this.symbolName('property', symbol), value)
    }
    return named
  }

  // -- counting

  header(): Header {
    const window = this.read(this.databases.meta, HEADER_KEY)
    assert(window !== null, 'an environment has a header')
    return readHeader(window)
  }

  nodeCount(label: SymbolId | null): number {
    return label === null ? this.header().nodes : this.count(META.labelCount, label)
  }

  typedNodeCount(label: SymbolId): number {
    return this.count(META.typedCount, label)
  }

  relationshipCount(type: SymbolId | null): number {
    return type === null ? this.header().relationships : this.count(META.typeCount, type)
  }

  private count(kind: number, symbol: SymbolId): number {
    countKey.kind = kind
    countKey.symbol = symbol
    return this.read(this.databases.meta, countKey)?.words[0] ?? 0
  }
}

function clear(chunk: Chunk): void {
  chunk.length = 0
  chunk.more = false
  chunk.next = 0
}

function copyEntries(words: Uint32Array, start: number, count: number, chunk: Chunk): void {
  if (chunk.ids.length < count || chunk.relationships.length < count) growChunk(chunk, count)
  const { ids, relationships } = chunk
  for (let i = 0; i < count; i++) {
    ids[i] = words[start + i]!
    relationships[i] = words[start + count + i]!
  }
  chunk.length = count
}

/** Appends the entries of one neighbour. */
function copyMatches(words: Uint32Array, start: number, count: number, neighbour: NodeId, chunk: Chunk): void {
  let length = chunk.length
  for (let i = lowerBound(words, start, count, neighbour); i < count && words[start + i] === neighbour; i++) {
    if (length === chunk.ids.length || length === chunk.relationships.length) {
      chunk.length = length
      growChunk(chunk, length + 1)
    }
    chunk.ids[length] = neighbour
    chunk.relationships[length++] = words[start + count + i]!
  }
  chunk.length = length
}

function sharedField(window: Window, field: OwnField): PropertyValue | null {
  switch (field) {
    case 'create_time':
      return timestamp(records.createdMsOf(window))
    case 'update_time':
      return timestamp(records.updatedMsOf(window))
    case 'id':
      return records.gidOf(window)
    default:
      return null
  }
}
