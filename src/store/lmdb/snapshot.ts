// A snapshot over one read view: every question of the port is one or two reads of packed values, most of which the hot
// cache spares a snapshot of its own state.
import type {
  Chunk,
  Direction,
  NodeId,
  OwnField,
  RelationshipId,
  Snapshot,
  StoredProperty,
  SymbolId,
  SymbolKind,
} from '../../engine/store.ts'
import type { PropertyValue } from '../../engine/value/value.ts'
import { assert } from '../../kernel/assert.ts'
import { timestamp } from '../../kernel/clock.ts'
import { appendBits, BLOCK_WORDS, CHUNK_HEAD_BYTES, growChunk, LONG_HEAD_BYTES, lowerBound } from '../blocks.ts'
import type { Window } from '../bytes.ts'
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
import type { Database } from './database.ts'
import { type Databases, HEADER_KEY, META } from './databases.ts'
import { type Header, readHeader, type Stamp } from './header.ts'
import { COLUMN, countKey, type HotCache } from './hot-cache.ts'
import type { ReadView } from './native.ts'
import type { SymbolTable } from './symbols.ts'

/** What opened the snapshot. */
export interface Opener {
  readonly databases: Databases
  readonly symbols: SymbolTable
  readonly hot: HotCache
  release(view: ReadView): void
  /** Throws DamageFault when the database does not hold so many entries from `start` on to `end`, or the one key `start`. */
  prove<K>(database: Database<K>, start: K, end: K | null, count: number, stamp: Stamp): void
}

/** Ids that one fill of a chunk gathers from labels or index, at least, where there are as many. */
const IDS_PER_FILL = 256

// Reused by every snapshot: reading is synchronous, and no key outlives the call that it is made for.
const upsertKey: UpsertKey = { type: 0, externalId: '' }
const listKey: AdjacencyKey = { node: 0, side: 0 }
const chunkKey: ChunkKey = { node: 0, side: 0, neighbour: 0, relationship: 0 }
const labelKey = { label: 0, block: 0 }
const metaKey: SymbolKey = { kind: 0, symbol: 0 }

/** The packed list found last: `size` words from `at` on. Valid until the next list is asked for. */
const found: { words: Uint32Array; at: number; size: number } = { words: new Uint32Array(0), at: 0, size: 0 }
const LONG_HEAD_WORDS = LONG_HEAD_BYTES / 4

export class LmdbSnapshot implements Snapshot {
  readonly symbolEpoch: number
  readonly stamp: Stamp
  private readonly opener: Opener
  private readonly databases: Databases
  private readonly view: ReadView
  private readonly hot: HotCache
  private readonly epoch: number
  private open = true

  /** The opener is the environment. */
  get environment(): object {
    return this.opener
  }

  constructor(opener: Opener, view: ReadView, epoch: number, stamp: Stamp) {
    this.opener = opener
    this.databases = opener.databases
    this.view = view
    this.hot = opener.hot
    this.epoch = epoch
    this.stamp = stamp
    this.symbolEpoch = opener.symbols.epoch
  }

  close(): void {
    if (!this.open) return
    this.open = false
    this.opener.release(this.view)
  }

  private read<K>(database: Database<K>, key: K): Window | null {
    assert(this.open, 'a snapshot is not used after it is closed')
    const window = database.get(key, this.view)
    if (window === null) this.opener.prove(database, key, null, 0, this.stamp)
    return window
  }

  private expect<K>(database: Database<K>, key: K): Window {
    assert(this.open, 'a snapshot is not used after it is closed')
    return database.expect(key, this.view)
  }

  /** Whether the hot cache still stands where this snapshot does. */
  private get isHot(): boolean {
    assert(this.open, 'a snapshot is not used after it is closed')
    return this.epoch === this.hot.epoch
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
    const hot = this.isHot
    if (hot) {
      const known = this.hot.keys.find(label, externalId)
      if (known !== undefined) return known
    }
    upsertKey.type = label
    upsertKey.externalId = externalId
    const node = this.read(this.databases.upsertKeys, upsertKey)?.words[0] ?? 0
    // What does not exist is not kept: anybody could ask for any number of such names.
    if (hot && node !== 0) this.hot.keys.put(label, externalId, node)
    return node
  }

  nodesWithLabel(label: SymbolId, from: number, chunk: Chunk): void {
    if (label === 0) clear(chunk)
    else this.blocks(label, from, chunk)
  }

  allNodes(from: number, chunk: Chunk): void {
    this.blocks(0, from, chunk)
  }

  private blocks(label: SymbolId, from: number, chunk: Chunk): void {
    assert(this.open, 'a snapshot is not used after it is closed')
    clear(chunk)
    const start = { label, block: Math.floor(from / NODES_PER_BLOCK) }
    const end = { label: label + 1, block: 0 }
    const { labels } = this.databases
    let found = 0
    for (const { key, window } of labels.entries({ start, end, ...this.view })) {
      const base = key.block * NODES_PER_BLOCK
      if (chunk.length >= IDS_PER_FILL) {
        this.opener.prove(labels, start, key, found, this.stamp)
        chunk.more = true
        chunk.next = base
        return
      }
      appendBits(window.words, base, chunk)
      if (found === 0 && base < from) dropBelow(from, chunk)
      found += 1
    }
    this.opener.prove(labels, start, end, found, this.stamp)
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
    const { index } = this.databases
    for (const { key } of index.entries({ start, end, limit: IDS_PER_FILL + 1, ...this.view })) {
      if (chunk.length === IDS_PER_FILL) {
        this.opener.prove(index, start, key, chunk.length, this.stamp)
        chunk.more = true
        chunk.next = key.node
        return
      }
      chunk.ids[chunk.length++] = key.node
    }
    this.opener.prove(index, start, end, chunk.length, this.stamp)
  }

  // -- walking

  /** Points `found` at the list; it is empty where there is none. */
  private find(node: NodeId, side: number): void {
    const hot = this.isHot
    const { lists } = this.hot
    if (hot && lists.find(node, side)) {
      found.words = lists.words
      found.at = lists.at
      found.size = lists.size
      return
    }
    listKey.node = node
    listKey.side = side
    const window = this.read(this.databases.adjacency, listKey)
    found.at = 0
    found.size = window === null ? 0 : window.bytes >>> 2
    if (window !== null) found.words = window.words
    if (hot) lists.put(node, side, found.words, found.size)
  }

  neighbours(node: NodeId, direction: Direction, type: SymbolId, from: number, chunk: Chunk): void {
    if (from !== 0) {
      this.copyChunk(from, chunk)
      return
    }
    clear(chunk)
    if (type === 0) return
    this.find(node, sideOf(direction, type))
    const { words, at, size } = found
    if (size === LONG_HEAD_WORDS) this.copyChunk(words[at + 1]!, chunk)
    else if (size !== 0) copyEntries(words, at, size >>> 1, chunk)
  }

  neighboursFrom(node: NodeId, direction: Direction, type: SymbolId, first: NodeId, chunk: Chunk): void {
    clear(chunk)
    if (type === 0) return
    const side = sideOf(direction, type)
    this.find(node, side)
    const { words, at, size } = found
    if (size === 0) return
    if (size !== LONG_HEAD_WORDS) copyEntries(words, at, size >>> 1, chunk)
    else this.copyChunk(first <= 1 ? words[at + 1]! : this.chunkAt(node, side, first), chunk)
    dropBelow(first, chunk)
    // All of a chunk may lie before the place, which is then the beginning of the next.
    if (chunk.length === 0 && chunk.more) this.copyChunk(chunk.next, chunk)
  }

  private copyChunk(id: number, chunk: Chunk): void {
    clear(chunk)
    const window = this.expect(this.databases.chunks, id)
    const next = window.words[0]!
    copyEntries(window.words, 1, (window.bytes - CHUNK_HEAD_BYTES) >>> 3, chunk)
    chunk.more = next !== 0
    chunk.next = next
  }

  /** Exact for every node. */
  degree(node: NodeId, direction: Direction, type: SymbolId): number {
    if (type === 0) return 0
    this.find(node, sideOf(direction, type))
    return found.size === LONG_HEAD_WORDS ? found.words[found.at]! : found.size >>> 1
  }

  relationshipsBetween(source: NodeId, type: SymbolId, target: NodeId, chunk: Chunk): void {
    clear(chunk)
    if (type === 0) return
    this.find(source, sideOf('out', type))
    if (found.size !== LONG_HEAD_WORDS) {
      copyMatches(found.words, found.at, found.size >>> 1, target, chunk)
      return
    }
    this.find(target, sideOf('in', type))
    if (found.size !== LONG_HEAD_WORDS) {
      copyMatches(found.words, found.at, found.size >>> 1, source, chunk)
      // What is found at the target are its sources; asked for are the targets.
      for (let i = 0; i < chunk.length; i++) chunk.ids[i] = target
      return
    }
    this.betweenHubs(source, sideOf('out', type), target, chunk)
  }

  /** The last chunk of a long list that does not begin behind the neighbour. */
  private chunkAt(node: NodeId, side: number, neighbour: NodeId): number {
    chunkKey.node = node
    chunkKey.side = side
    chunkKey.neighbour = neighbour
    chunkKey.relationship = 0
    const { chunkIndex } = this.databases
    let id = 0
    let floor: ChunkKey | null = null
    for (const { key, window } of chunkIndex.entries({
      start: chunkKey,
      end: undefined,
      limit: 1,
      reverse: true,
      ...this.view,
    })) {
      floor = key
      id = window.words[0]!
    }
    if (floor === null || floor.node !== node || floor.side !== side) throw chunkIndex.damage(chunkKey, 'is missing')
    // Nothing stands between the two.
    this.opener.prove(chunkIndex, floor, { node, side, neighbour, relationship: 1 }, 1, this.stamp)
    return id
  }

  /** Reads the one chunk that may hold the neighbour, and those behind it only while parallel relationships run on. */
  private betweenHubs(node: NodeId, side: number, neighbour: NodeId, chunk: Chunk): void {
    let id = this.chunkAt(node, side, neighbour)
    while (id !== 0) {
      const { words, bytes } = this.expect(this.databases.chunks, id)
      const count = (bytes - CHUNK_HEAD_BYTES) >>> 3
      copyMatches(words, 1, count, neighbour, chunk)
      id = count > 0 && words[count]! <= neighbour ? words[0]! : 0
    }
  }

  typesAt(node: NodeId, direction: Direction): readonly SymbolId[] {
    this.find(node, sideOf(direction, 0))
    const types: SymbolId[] = []
    for (let i = 0; i < found.size; i++) types.push(found.words[found.at + i]!)
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
    const block = Math.floor(node / NODES_PER_BLOCK)
    const bit = node % NODES_PER_BLOCK
    const hot = this.isHot
    const { labels } = this.hot
    if (hot && labels.find(label, block)) return labels.size !== 0 && isSet(labels.words, labels.at, bit)
    labelKey.label = label
    labelKey.block = block
    const window = this.read(this.databases.labels, labelKey)
    if (hot) labels.put(label, block, window === null ? found.words : window.words, window === null ? 0 : BLOCK_WORDS)
    return window !== null && isSet(window.words, 0, bit)
  }

  labels(node: NodeId): readonly SymbolId[] {
    const window = this.record(this.databases.nodes, node)
    return window === null ? [] : records.labelsOf(window)
  }

  nodeProperty(node: NodeId, property: SymbolId): PropertyValue | null {
    return property === 0 ? null : this.nodeCell(node, COLUMN.firstProperty + property)
  }

  private nodeCell(node: NodeId, column: number): PropertyValue | null {
    const hot = this.isHot
    const { nodes } = this.hot
    if (hot) {
      const known = nodes.find(column, node)
      if (known !== undefined) return known
    }
    const window = this.record(this.databases.nodes, node)
    const value = window === null ? null : this.readCell(window, column)
    if (hot) nodes.put(column, node, value)
    return value
  }

  private readCell(window: Window, column: number): PropertyValue | null {
    if (column >= COLUMN.firstProperty) return records.propertyOf(window, column - COLUMN.firstProperty)
    const type = records.typeOf(window)
    if (type === 0) return null
    return column === COLUMN.type ? this.symbolName('label', type) : records.externalIdOf(window)
  }

  nodeOwn(node: NodeId, field: OwnField): PropertyValue | null {
    if (field === 'external_id') return this.nodeCell(node, COLUMN.externalId)
    if (field === 'type') return this.nodeCell(node, COLUMN.type)
    const window = this.record(this.databases.nodes, node)
    if (window === null) return null
    switch (field) {
      case 'is_identity':
        return records.isIdentityOf(window)
      case 'location':
        return records.locationOf(window)
      default:
        return sharedField(window, field)
    }
  }

  externalIds(nodes: Iterable<NodeId>): (string | null)[] {
    const ids: (string | null)[] = []
    const hot = this.isHot
    for (const node of nodes) {
      const known = hot ? this.hot.nodes.find(COLUMN.externalId, node) : undefined
      if (known !== undefined) ids.push(known as string | null)
      else {
        const window = this.record(this.databases.nodes, node)
        ids.push(window === null || records.typeOf(window) === 0 ? null : records.externalIdOf(window))
      }
    }
    return ids
  }

  nodeProperties(node: NodeId): ReadonlyMap<string, PropertyValue> {
    return this.named(this.record(this.databases.nodes, node))
  }

  nodeStoredProperty(node: NodeId, property: SymbolId): StoredProperty | null {
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
    if (property === 0) return null
    const hot = this.isHot
    const { relationships } = this.hot
    const column = COLUMN.firstProperty + property
    if (hot) {
      const known = relationships.find(column, relationship)
      if (known !== undefined) return known
    }
    const window = this.record(this.databases.relationships, relationship)
    const value = window === null ? null : records.propertyOf(window, property)
    if (hot) relationships.put(column, relationship, value)
    return value
  }

  relationshipOwn(relationship: RelationshipId, field: OwnField): PropertyValue | null {
    const window = this.record(this.databases.relationships, relationship)
    if (window === null) return null
    return field === 'type' ? this.symbolName('type', records.typeOf(window)) : sharedField(window, field)
  }

  relationshipProperties(relationship: RelationshipId): ReadonlyMap<string, PropertyValue> {
    return this.named(this.record(this.databases.relationships, relationship))
  }

  relationshipStoredProperty(relationship: RelationshipId, property: SymbolId): StoredProperty | null {
    const window = this.record(this.databases.relationships, relationship)
    return window === null ? null : records.storedPropertyOf(window, property)
  }

  nodeStoredProperties(node: NodeId): ReadonlyMap<string, StoredProperty> {
    return this.stored(this.record(this.databases.nodes, node))
  }

  relationshipStoredProperties(relationship: RelationshipId): ReadonlyMap<string, StoredProperty> {
    return this.stored(this.record(this.databases.relationships, relationship))
  }

  private stored(window: Window | null): ReadonlyMap<string, StoredProperty> {
    if (window === null) return new Map()
    const stored = [...records.storedPropertiesOf(window)]
    return new Map(stored.map(([symbol, property]) => [this.symbolName('property', symbol), property]))
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
    return readHeader(this.expect(this.databases.meta, HEADER_KEY))
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
    const hot = this.isHot
    const { counts } = this.hot
    const key = countKey(kind, symbol)
    if (hot) {
      const known = counts.get(key)
      if (known !== undefined) return known
    }
    metaKey.kind = kind
    metaKey.symbol = symbol
    const count = this.read(this.databases.meta, metaKey)?.words[0] ?? 0
    if (hot) counts.set(key, count)
    return count
  }
}

function isSet(words: Uint32Array, start: number, bit: number): boolean {
  return (words[start + (bit >>> 5)]! & (1 << (bit & 31))) !== 0
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

/** Takes the ids below `first` off a chunk that ascends. */
function dropBelow(first: NodeId, chunk: Chunk): void {
  const below = lowerBound(chunk.ids, 0, chunk.length, first)
  chunk.ids.copyWithin(0, below, chunk.length)
  chunk.relationships.copyWithin(0, below, chunk.length)
  chunk.length -= below
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
