// The key layout: the only file that knows the byte order of keys. Integers are big-endian, so keys sort as their fields do.
// Each codec writes directly into the key buffer of lmdb-js. A key object may be reused from call to call.
import { createHash } from 'node:crypto'
import type { Direction, NodeId, RelationshipId, SymbolId } from '../../engine/store.ts'
import { Float } from '../../kernel/float.ts'
import { seedWithBytes, seedWithText, seedWithWords } from './checksum.ts'

/** Encodes and decodes the keys of one database. */
export interface KeyCodec<K> {
  /** The seed of the checksum of the value stored under the key. It differs by key and by database. */
  seed(key: K): number
  /** Writes the key at `position` and returns the position after it. */
  writeKey(key: K, target: Uint8Array, position: number): number
  readKey(source: Uint8Array, start: number, end: number): K
}

/** One seed for each database. */
const KEY_SEED = { adjacency: 1, chunkIndex: 2, labels: 3, symbols: 4, upsertKeys: 5, index: 6, documents: 7 }
/** Seeds of the databases whose keys are numbers. They continue KEY_SEED. */
export const NUMERIC_KEY_SEED = { nodes: 8, relationships: 9, chunks: 10 }
const OUTBOX_KEY_SEED = 11
const AUDIT_KEY_SEED = { entries: 12, postings: 13 }

/** Codec of 32-bit integer keys in native byte order (little-endian). lmdb-js writes such keys itself (`uint32`). */
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

// -- adjacency: node, then direction and type in one word, so that all lists of a node are adjacent

const INCOMING = 0x80000000

/** Direction and relationship type of an edge list in one word. Type 0: the list of types of the node in that direction. */
export function edgeListId(direction: Direction, type: SymbolId): number {
  return (direction === 'out' ? type : INCOMING | type) >>> 0
}

/** The direction of an edge list. */
export function edgeListDirection(edgeList: number): Direction {
  return edgeList < INCOMING ? 'out' : 'in'
}

/** The relationship type of an edge list; 0 for the list of types. */
export function edgeListType(edgeList: number): SymbolId {
  return edgeList & 0x7fffffff
}

/** The id of the edge list that holds the same relationships at the other end. */
export function oppositeEdgeListId(edgeList: number): number {
  return (edgeList ^ INCOMING) >>> 0
}

/** The id of the list of types for the direction of an edge list. */
export function typeListId(edgeList: number): number {
  return (edgeList & INCOMING) >>> 0
}

/** Key of an edge list, or of a list of types. */
export interface AdjacencyKey {
  node: NodeId
  edgeList: number
}

/** Codec of AdjacencyKey. */
export const adjacencyKeys: KeyCodec<AdjacencyKey> = {
  seed: ({ node, edgeList }) => seedWithWords(KEY_SEED.adjacency, node, edgeList),
  writeKey(key, target, at) {
    writeWord(key.node, target, at)
    writeWord(key.edgeList, target, at + 4)
    return at + 8
  },
  readKey: (source, at) => ({ node: readWord(source, at), edgeList: readWord(source, at + 4) }),
}

/** Key of a chunk of a long list: the lowest entry the chunk may hold. The greatest key at or below an entry names its chunk. */
export interface ChunkKey {
  node: NodeId
  edgeList: number
  neighbour: NodeId
  relationship: RelationshipId
}

/** Codec of ChunkKey. */
export const chunkKeys: KeyCodec<ChunkKey> = {
  seed: ({ node, edgeList, neighbour, relationship }) =>
    seedWithWords(seedWithWords(KEY_SEED.chunkIndex, node, edgeList), neighbour, relationship),
  writeKey(key, target, at) {
    writeWord(key.node, target, at)
    writeWord(key.edgeList, target, at + 4)
    writeWord(key.neighbour, target, at + 8)
    writeWord(key.relationship, target, at + 12)
    return at + 16
  },
  readKey: (source, at) => ({
    node: readWord(source, at),
    edgeList: readWord(source, at + 4),
    neighbour: readWord(source, at + 8),
    relationship: readWord(source, at + 12),
  }),
}

// -- labels: bit blocks, one bit per node, for 1,024 consecutive node ids

/** Nodes per block of label bits. */
export const NODES_PER_BLOCK = 1024

/** Key of a block of label bits. */
export interface LabelKey {
  /** 0: all nodes. */
  label: SymbolId
  block: number
}

/** Codec of LabelKey. */
export const labelKeys: KeyCodec<LabelKey> = {
  seed: ({ label, block }) => seedWithWords(KEY_SEED.labels, label, block),
  writeKey(key, target, at) {
    writeWord(key.label, target, at)
    writeWord(key.block, target, at + 4)
    return at + 8
  },
  readKey: (source, at) => ({ label: readWord(source, at), block: readWord(source, at + 4) }),
}

// -- symbols, and the entries of `meta`

/** Key of a symbol, or of an entry of `meta`. */
export interface SymbolKey {
  /** In `symbols` the kind of symbol, in `meta` a META_KIND. */
  kind: number
  symbol: SymbolId
}

/** Codec of SymbolKey. */
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

/** In UTF-16 code units: 1,024 characters of at most two units. */
export const EXTERNAL_ID_UNITS_MAX = 2048

/** In UTF-16 code units: at three bytes per unit a key stays below LMDB's limit. The key of a longer external id has its hash. */
const KEY_TEXT_UNITS_MAX = 512

/** No external id begins with a lone surrogate, so the text for a hash differs from that of every external id. */
const HASH_MARK = '\udfff'
const HASH_TEXT = new RegExp(`^${HASH_MARK}[\\da-f]{64}$`)

/** Whether the key of an external id has its hash, which only programs that know long external ids look for. */
export function hasHashedKey(externalId: string): boolean {
  return externalId.length > KEY_TEXT_UNITS_MAX
}

/** The text of an external id in upsert keys, caches of keys and batches: itself, or a hash if it is long. */
export function upsertKeyText(externalId: string): string {
  // A caller who asks for the text of a hash must not find the node that has the hash.
  const isHashed = hasHashedKey(externalId) || (externalId.startsWith(HASH_MARK) && HASH_TEXT.test(externalId))
  return isHashed ? HASH_MARK + createHash('sha256').update(externalId, 'utf16le').digest('hex') : externalId
}

/** Key that maps node type and external id to a node. `externalId`: as `upsertKeyText` returns it. */
export interface UpsertKey {
  type: SymbolId
  externalId: string
}

/** Codec of UpsertKey. */
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

/** Writes UTF-8. A lone surrogate is written as its code point, so bytes sort by code point and distinct texts stay distinct. */
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

/** Longer strings share an index entry with all strings of the same prefix. The index returns candidates; the caller checks. */
export const INDEXED_STRING_BYTES = 200

const BOOLEAN_TAG = 1
const NUMBER_TAG = 2
const STRING_TAG = 3

const scalarBytes = new Uint8Array(1024)
const scalarView = new DataView(scalarBytes.buffer)
const textBytes = new Uint8Array((INDEXED_STRING_BYTES + 4) * 4)

/**
 * Encodes a property value as order-preserving bytes, none of which is a prefix of another. Returns null for values that
 * are not indexed: lists and NaN. Integers and floats share one encoding, so that 1 and 1.0 are equal.
 */
export function scalarKey(value: unknown): Uint8Array | null {
  if (typeof value === 'string') return stringKey(value)
  if (typeof value === 'boolean') return Uint8Array.of(BOOLEAN_TAG, value ? 1 : 0)
  const number = value instanceof Float ? value.value : typeof value === 'bigint' ? Number(value) : value
  if (typeof number !== 'number' || Number.isNaN(number)) return null
  scalarBytes[0] = NUMBER_TAG
  // Adding zero turns -0 into 0. The bits of negative numbers are inverted, so that bytes sort as numbers do.
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
  // A code unit yields at least one byte, so the part cut off here is beyond INDEXED_STRING_BYTES.
  const length = Math.min(
    writeCodePoints(text.length > INDEXED_STRING_BYTES ? text.slice(0, INDEXED_STRING_BYTES + 1) : text, textBytes, 0),
    INDEXED_STRING_BYTES,
  )
  let at = 0
  scalarBytes[at++] = STRING_TAG
  for (let i = 0; i < length; i++) {
    const byte = textBytes[i]!
    // A zero byte ends the string. Bytes 0 and 1 are escaped as 1 and another byte, which keeps the order.
    if (byte > 1) scalarBytes[at++] = byte
    else {
      scalarBytes[at++] = 1
      scalarBytes[at++] = byte + 1
    }
  }
  scalarBytes[at++] = 0
  return scalarBytes.slice(0, at)
}

/** Key of an index entry: one node with that label and property value. The entry has no value. */
export interface IndexKey {
  label: SymbolId
  property: SymbolId
  /** From `scalarKey`. */
  scalar: Uint8Array
  node: NodeId
}

/** Codec of IndexKey. */
export const indexKeys: KeyCodec<IndexKey> = {
  seed: ({ label, property, scalar, node }) =>
    seedWithWords(seedWithBytes(seedWithWords(KEY_SEED.index, label, property), scalar), node, 0),
  writeKey(key, target, at) {
    writeWord(key.label, target, at)
    writeWord(key.property, target, at + 4)
    target.set(key.scalar, at + 8)
    const offset = at + 8 + key.scalar.length
    writeWord(key.node, target, offset)
    return offset + 4
  },
  readKey: (source, start, end) => ({
    label: readWord(source, start),
    property: readWord(source, start + 4),
    // Copied, because lmdb-js reads every key into the same memory, and `slice` of a Buffer would be a view of it.
    scalar: Buffer.from(source.subarray(start + 8, end - 4)),
    node: readWord(source, end - 4),
  }),
}

// -- documents

/** In UTF-16 code units, collection and document name together, so that a key stays below LMDB's limit. */
export const DOCUMENT_KEY_UNITS_MAX = 600

/** Key of a document. */
export interface DocumentKey {
  collection: string
  key: string
}

/** Codec of DocumentKey. */
export const documentKeys: KeyCodec<DocumentKey> = {
  seed: ({ collection, key }) => seedWithText(seedWithText(KEY_SEED.documents, collection), key),
  writeKey(key, target, at) {
    const offset = writeCodePoints(key.collection, target, at)
    // Collection names contain no zero character, so the first zero byte ends the name.
    target[offset] = 0
    return writeCodePoints(key.key, target, offset + 1)
  },
  readKey(source, start, end) {
    const offset = endOfText(source, start, end)
    return { collection: readCodePoints(source, start, offset), key: readCodePoints(source, offset + 1, end) }
  },
}

// -- the outbox of events

/** Kinds of entries of an outbox. Stored: never renumber them. Records come near the end, so that most appends are there. */
export const OUTBOX_ENTRY = {
  status: 0,
  head: 1,
  cursor: 2,
  deadLetter: 3,
  request: 4,
  record: 5,
  follow: 6,
  loss: 7,
  deadLetterTotals: 8,
} as const

/** Key of an entry of an outbox. */
export interface OutboxKey {
  /** An OUTBOX_ENTRY. */
  kind: number
  /** Without zero characters. */
  stream: string
  /** Empty for heads and records. Without zero characters. */
  provider: string
  /** Sequence of the event, or of the first event of the record; 0 for the other entries. At most 2^53. */
  sequence: number
}

const WORD = 2 ** 32

/** Codec of OutboxKey. */
export const outboxKeys: KeyCodec<OutboxKey> = {
  seed: ({ kind, stream, provider, sequence }) =>
    seedWithWords(
      seedWithText(seedWithText(seedWithWords(OUTBOX_KEY_SEED, kind, 0), stream), provider),
      Math.floor(sequence / WORD),
      sequence >>> 0,
    ),
  writeKey({ kind, stream, provider, sequence }, target, start) {
    target[start] = kind
    let at = writeCodePoints(stream, target, start + 1)
    target[at++] = 0
    at = writeCodePoints(provider, target, at)
    target[at++] = 0
    writeWord(Math.floor(sequence / WORD), target, at)
    writeWord(sequence >>> 0, target, at + 4)
    return at + 8
  },
  readKey(source, start, end) {
    const streamEnd = endOfText(source, start + 1, end)
    const providerEnd = endOfText(source, streamEnd + 1, end)
    return {
      kind: source[start]!,
      stream: readCodePoints(source, start + 1, streamEnd),
      provider: readCodePoints(source, streamEnd + 1, providerEnd),
      sequence: readWord(source, end - 8) * WORD + readWord(source, end - 4),
    }
  },
}

// -- the index of the audit logs

/** Kinds of entries of the audit index. Stored: never renumber them. Kinds that grow with the logs come last. */
export const AUDIT_ENTRY = {
  log: 0,
  cursor: 1,
  key: 2,
  source: 3,
  checkpoint: 4,
  batch: 5,
  bundle: 6,
  sealed: 7,
  signature: 8,
} as const

/** Key of an entry of the audit index. */
export interface AuditKey {
  /** An AUDIT_ENTRY. */
  kind: number
  /** The log, the signing key, the source or the signing configuration. Without zero characters. */
  name: string
  /** The stream of a cursor, or which entry of a signing configuration; empty for the others. Without zero characters. */
  part: string
  /** Sequence of a batch or a checkpoint; generation × 2^32 + bundle; 0 for the other entries. At most 2^53. */
  number: number
}

/** Codec of AuditKey. */
export const auditKeys: KeyCodec<AuditKey> = {
  seed: ({ kind, name, part, number }) =>
    seedWithWords(
      seedWithText(seedWithText(seedWithWords(AUDIT_KEY_SEED.entries, kind, 0), name), part),
      Math.floor(number / WORD),
      number >>> 0,
    ),
  writeKey({ kind, name, part, number }, target, start) {
    target[start] = kind
    let at = writeCodePoints(name, target, start + 1)
    target[at++] = 0
    at = writeCodePoints(part, target, at)
    target[at++] = 0
    writeWord(Math.floor(number / WORD), target, at)
    writeWord(number >>> 0, target, at + 4)
    return at + 8
  },
  readKey(source, start, end) {
    const nameEnd = endOfText(source, start + 1, end)
    const partEnd = endOfText(source, nameEnd + 1, end)
    return {
      kind: source[start]!,
      name: readCodePoints(source, start + 1, nameEnd),
      part: readCodePoints(source, nameEnd + 1, partEnd),
      number: readWord(source, end - 8) * WORD + readWord(source, end - 4),
    }
  },
}

/** Key of a posting: an entry bundle of a log has an entry with the value. It has no value of its own. */
export interface AuditPostingKey {
  /** Number of the generation of the log. */
  generation: number
  dimension: number
  /** The hash of the value, 64 bits. */
  high: number
  low: number
  bundle: number
}

/** Codec of AuditPostingKey. */
export const auditPostingKeys: KeyCodec<AuditPostingKey> = {
  seed: ({ generation, dimension, high, low, bundle }) =>
    seedWithWords(seedWithWords(seedWithWords(AUDIT_KEY_SEED.postings, generation, dimension), high, low), bundle, 0),
  writeKey({ generation, dimension, high, low, bundle }, target, at) {
    writeWord(generation, target, at)
    target[at + 4] = dimension
    writeWord(high, target, at + 5)
    writeWord(low, target, at + 9)
    writeWord(bundle, target, at + 13)
    return at + 17
  },
  readKey: (source, at) => ({
    generation: readWord(source, at),
    dimension: source[at + 4]!,
    high: readWord(source, at + 5),
    low: readWord(source, at + 9),
    bundle: readWord(source, at + 13),
  }),
}

/** The offset of the zero byte that ends a text. */
function endOfText(source: Uint8Array, start: number, end: number): number {
  let at = start
  while (at < end && source[at] !== 0) at += 1
  return at
}
