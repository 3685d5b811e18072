// The key layout: the only file that knows byte order. Integers stand big-endian, so that keys sort as their fields do.
// Each codec writes straight into the database's key buffer; a key object may be reused from call to call.
import type { Direction, NodeId, RelationshipId, SymbolId } from '../../engine/store.ts'
import { Float } from '../../kernel/float.ts'
import { seedWithBytes, seedWithText, seedWithWords } from './checksum.ts'

export interface KeyCodec<K> {
  /** Where the checksum of the value under a key begins: another one for each key and each kind of keys. */
  seed(key: K): number
  /** Returns the position behind the key. */
  writeKey(key: K, target: Uint8Array, position: number): number
  readKey(source: Uint8Array, start: number, end: number): K
}

/** One for each kind of keys. */
const KEY_SEED = { adjacency: 1, chunkIndex: 2, labels: 3, symbols: 4, upsertKeys: 5, index: 6, documents: 7 }
/** Of databases whose keys are numbers; these count on. */
export const NUMERIC_KEY_SEED = { nodes: 8, relationships: 9, chunks: 10 }

/** Plain numbers up to 32 bits, as the machine has them: the package writes them by itself. */
export function uint32Keys(seed: number): KeyCodec<number> {
  return {
    seed: (id) => seedWithWords(seed, id, 0),
    writeKey(id, target, at) {
      for (let i = 0; i < 4; i++) target[at + i] = id >>> (8 * i)
      return at + 4
    },
    readKey: (source, at) =>
      (source[at]! | (source[at + 1]! << 8) | (source[at + 2]! << 16) | (source[at + 3]! << 24)) >>> 0,
  }
}

function writeWord(value: number, target: Uint8Array, at: number): void {
  target[at] = value >>> 24
  target[at + 1] = value >>> 16
  target[at + 2] = value >>> 8
  target[at + 3] = value
}

function readWord(source: Uint8Array, at: number): number {
  return ((source[at]! << 24) | (source[at + 1]! << 16) | (source[at + 2]! << 8) | source[at + 3]!) >>> 0
}

// -- adjacency: node, then direction and type in one word, so that all lists of a node lie together

const INCOMING = 0x80000000

/** Direction and type of a list in one word. Type 0 holds the list of types that the node has in that direction. */
export function edgeListId(direction: Direction, type: SymbolId): number {
  return (direction === 'out' ? type : INCOMING | type) >>> 0
}

export function edgeListDirection(side: number): Direction {
  return side < INCOMING ? 'out' : 'in'
}

export function edgeListType(side: number): SymbolId {
  return side & 0x7fffffff
}

/** The other end's side of the same relationships. */
export function oppositeEdgeListId(side: number): number {
  return (side ^ INCOMING) >>> 0
}

/** The side under which the types of a side's direction are listed. */
export function typeListId(side: number): number {
  return (side & INCOMING) >>> 0
}

export interface AdjacencyKey {
  node: NodeId
  side: number
}

export const adjacencyKeys: KeyCodec<AdjacencyKey> = {
  seed: ({ node, side }) => seedWithWords(KEY_SEED.adjacency, node, side),
  writeKey(key, target, at) {
    writeWord(key.node, target, at)
    writeWord(key.side, target, at + 4)
    return at + 8
  },
  readKey: (source, at) => ({ node: readWord(source, at), side: readWord(source, at + 4) }),
}

/** Finds the chunk of a long list: the greatest key at or below an entry names the chunk that holds it. */
export interface ChunkKey {
  node: NodeId
  side: number
  neighbour: NodeId
  relationship: RelationshipId
}

export const chunkKeys: KeyCodec<ChunkKey> = {
  seed: ({ node, side, neighbour, relationship }) =>
    seedWithWords(seedWithWords(KEY_SEED.chunkIndex, node, side), neighbour, relationship),
  writeKey(key, target, at) {
    writeWord(key.node, target, at)
    writeWord(key.side, target, at + 4)
    writeWord(key.neighbour, target, at + 8)
    writeWord(key.relationship, target, at + 12)
    return at + 16
  },
  readKey: (source, at) => ({
    node: readWord(source, at),
    side: readWord(source, at + 4),
    neighbour: readWord(source, at + 8),
    relationship: readWord(source, at + 12),
  }),
}

// -- labels: one block of bits for 1,024 neighbouring node ids

export const NODES_PER_BLOCK = 1024

export interface LabelKey {
  /** 0 stands for all nodes. */
  label: SymbolId
  block: number
}

export const labelKeys: KeyCodec<LabelKey> = {
  seed: ({ label, block }) => seedWithWords(KEY_SEED.labels, label, block),
  writeKey(key, target, at) {
    writeWord(key.label, target, at)
    writeWord(key.block, target, at + 4)
    return at + 8
  },
  readKey: (source, at) => ({ label: readWord(source, at), block: readWord(source, at + 4) }),
}

// -- symbols, and counts in `meta`

export interface SymbolKey {
  /** Which numbering the symbol belongs to; see the callers. */
  kind: number
  symbol: SymbolId
}

export const symbolKeys: KeyCodec<SymbolKey> = {
  seed: ({ kind, symbol }) => seedWithWords(KEY_SEED.symbols, kind, symbol),
  writeKey(key, target, at) {
    target[at] = key.kind
    writeWord(key.symbol, target, at + 1)
    return at + 5
  },
  readKey: (source, at) => ({ kind: source[at]!, symbol: readWord(source, at + 1) }),
}

// -- upsert keys

/** In UTF-16 units: 256 characters, each at most two units. Three bytes a unit stay below the database's key limit. */
export const EXTERNAL_ID_UNITS_MAX = 512

export interface UpsertKey {
  type: SymbolId
  externalId: string
}

export const upsertKeys: KeyCodec<UpsertKey> = {
  seed: ({ type, externalId }) => seedWithText(seedWithWords(KEY_SEED.upsertKeys, type, 0), externalId),
  writeKey(key, target, at) {
    writeWord(key.type, target, at)
    return writeCodePoints(key.externalId, target, at + 4)
  },
  readKey: (source, start, end) => ({
    type: readWord(source, start),
    externalId: readCodePoints(source, start + 4, end),
  }),
}

/** UTF-8, with a lone surrogate written like any other code point: bytes sort as code points do, and no two strings meet. */
function writeCodePoints(text: string, target: Uint8Array, start: number): number {
  let at = start
  for (let i = 0; i < text.length; i++) {
    const unit = text.charCodeAt(i)
    if (unit < 0x80) {
      target[at++] = unit
      continue
    }
    const point = text.codePointAt(i)!
    if (point < 0x800) {
      target[at++] = 0xc0 | (point >> 6)
    } else {
      if (point < 0x10000) {
        target[at++] = 0xe0 | (point >> 12)
      } else {
        i += 1
        target[at++] = 0xf0 | (point >> 18)
        target[at++] = 0x80 | ((point >> 12) & 0x3f)
      }
      target[at++] = 0x80 | ((point >> 6) & 0x3f)
    }
    target[at++] = 0x80 | (point & 0x3f)
  }
  return at
}

function readCodePoints(source: Uint8Array, start: number, end: number): string {
  let text = ''
  for (let at = start; at < end; ) {
    const lead = source[at++]!
    if (lead < 0x80) {
      text += String.fromCharCode(lead)
      continue
    }
    const more = lead < 0xe0 ? 1 : lead < 0xf0 ? 2 : 3
    let point = lead & (0x3f >> more)
    for (let i = 0; i < more; i++) point = (point << 6) | (source[at++]! & 0x3f)
    text += String.fromCodePoint(point)
  }
  return text
}

// -- the equality index

/** Longer strings share an entry with all that begin alike: the index names candidates, the caller checks. */
export const INDEXED_STRING_BYTES = 200

const BOOLEAN_TAG = 1
const NUMBER_TAG = 2
const STRING_TAG = 3

const scalarBytes = new Uint8Array(EXTERNAL_ID_UNITS_MAX * 2)
const scalarView = new DataView(scalarBytes.buffer)
const textBytes = new Uint8Array((INDEXED_STRING_BYTES + 4) * 4)

/**
 * A property value as order-preserving bytes that are no prefix of another value's, or null when it is not indexed.
 * Integers and floats share an encoding, so that 1 and 1.0 meet. Lists and NaN equal nothing that an index could find.
 */
export function scalarKey(value: unknown): Uint8Array | null {
  if (typeof value === 'string') return stringKey(value)
  if (typeof value === 'boolean') return Uint8Array.of(BOOLEAN_TAG, value ? 1 : 0)
  const number = value instanceof Float ? value.value : typeof value === 'bigint' ? Number(value) : value
  if (typeof number !== 'number' || Number.isNaN(number)) return null
  scalarBytes[0] = NUMBER_TAG
  // Adding zero turns -0 into 0. Set bits of negative numbers are turned over, so that bytes sort as numbers do.
  scalarView.setFloat64(1, number + 0)
  const high = scalarView.getUint32(1)
  if (high >= 0x80000000) {
    scalarView.setUint32(1, ~high >>> 0)
    scalarView.setUint32(5, ~scalarView.getUint32(5) >>> 0)
  } else {
    scalarView.setUint32(1, (high | 0x80000000) >>> 0)
  }
  return scalarBytes.slice(0, 9)
}

function stringKey(text: string): Uint8Array {
  // A unit gives at least one byte, so what is cut off here could not have been indexed anyway.
  const length = Math.min(
    writeCodePoints(text.length > INDEXED_STRING_BYTES ? text.slice(0, INDEXED_STRING_BYTES + 1) : text, textBytes, 0),
    INDEXED_STRING_BYTES,
  )
  let at = 0
  scalarBytes[at++] = STRING_TAG
  for (let i = 0; i < length; i++) {
    const byte = textBytes[i]!
    // 0 ends the string; 0 and 1 within are written as 1 and a number, which keeps their order.
    if (byte > 1) scalarBytes[at++] = byte
    else {
      scalarBytes[at++] = 1
      scalarBytes[at++] = byte + 1
    }
  }
  scalarBytes[at++] = 0
  return scalarBytes.slice(0, at)
}

export interface IndexKey {
  label: SymbolId
  property: SymbolId
  /** From `scalarKey`. */
  scalar: Uint8Array
  node: NodeId
}

export const indexKeys: KeyCodec<IndexKey> = {
  seed: ({ label, property, scalar, node }) =>
    seedWithWords(seedWithBytes(seedWithWords(KEY_SEED.index, label, property), scalar), node, 0),
  writeKey(key, target, at) {
    writeWord(key.label, target, at)
    writeWord(key.property, target, at + 4)
    target.set(key.scalar, at + 8)
    const behind = at + 8 + key.scalar.length
    writeWord(key.node, target, behind)
    return behind + 4
  },
  readKey: (source, start, end) => ({
    label: readWord(source, start),
    property: readWord(source, start + 4),
    // Copied: the package reads every key into the same bytes, of which `slice` of a Buffer would be a view.
    scalar: Buffer.from(source.subarray(start + 8, end - 4)),
    node: readWord(source, end - 4),
  }),
}

// -- documents

/** Names of collections and documents together, so that a document's key stays below the database's limit. */
export const DOCUMENT_KEY_UNITS_MAX = 600

export interface DocumentKey {
  collection: string
  key: string
}

export const documentKeys: KeyCodec<DocumentKey> = {
  seed: ({ collection, key }) => seedWithText(seedWithText(KEY_SEED.documents, collection), key),
  writeKey(key, target, at) {
    const behind = writeCodePoints(key.collection, target, at)
    // Collection names hold no zero character, so the first zero ends the name.
    target[behind] = 0
    return writeCodePoints(key.key, target, behind + 1)
  },
  readKey(source, start, end) {
    let behind = start
    while (behind < end && source[behind] !== 0) behind += 1
    return { collection: readCodePoints(source, start, behind), key: readCodePoints(source, behind + 1, end) }
  },
}
