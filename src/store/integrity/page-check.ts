// Decides in one pass over the pages whether a graph environment is sound. Each entry is read once, in key order, from copies of
// the pages. References between the databases are compared as sums of hashes (MultisetHash) instead of one lookup for each.
// The pass does not name what is wrong: for that, check-graph.ts looks up each reference.
import type { SymbolId } from '../../engine/store.ts'
import { TRUST_SCORE_LABEL } from '../../kernel/element-rules.ts'
import { ValueView } from '../format/bytes.ts'
import { checksum } from '../format/checksum.ts'
import { type EnvironmentHeader, emptyHeader, readHeader } from '../format/header.ts'
import {
  adjacencyKeys,
  chunkKeys,
  edgeListDirection,
  edgeListId,
  edgeListType,
  indexKeys,
  type KeyCodec,
  labelKeys,
  NODES_PER_BLOCK,
  NUMERIC_KEY_SEED,
  scalarKey,
  symbolKeys,
  uint32Keys,
  upsertKeys,
  upsertKeyText,
} from '../format/keys.ts'
import {
  BLOCK_BYTES,
  CHUNK_HEAD_BYTES,
  growWords,
  isEntryBefore,
  LONG_LIST_HEAD_BYTES,
} from '../format/packed-lists.ts'
import {
  checkVersion,
  externalIdOf,
  labelsOf,
  propertyCountOf,
  readNode,
  readRelationship,
  sourceOf,
  targetOf,
  typeOf,
} from '../format/records.ts'
import { SYMBOL_KINDS, symbolText } from '../format/symbol-names.ts'
import { META_KIND } from '../lmdb/databases.ts'
import type { PageFile, TreePage } from '../pages/page-file.ts'
import { hasUsualProperties, isUsualId, isUsualName } from './earlier-values.ts'
import { MultisetHash } from './multiset-hash.ts'

/** The databases that the pass must read before the others: they name the label whose nodes are not in the index. */
export const READ_FIRST: readonly string[] = ['meta', 'symbols']

/** Larger values are looked up one by one instead. */
const VALUE_BYTES_MAX = 64 * 2 ** 20
const FIRST_CAPACITY_BYTES = 64 * 1024
/** A graph with a greater symbol is looked up instead: counts are stored by symbol. */
const SYMBOL_MAX = 1 << 24
const NODES_PER_SEGMENT = 1 << 20

/** Ends the pass: something is wrong, or is better checked by lookups. */
class UnsoundError extends Error {}

function check(condition: boolean): asserts condition {
  if (!condition) throw new UnsoundError()
}

/** Checks the pages of one version of a graph environment, leaf by leaf. */
export class PageCheck {
  private readonly file: PageFile
  private isUnsound = false
  /** Whether elements were found that `earlierValues` names. */
  hasEarlierValues = false
  private words = new Uint32Array(FIRST_CAPACITY_BYTES / 4)
  private view = viewOf(this.words)
  private header: EnvironmentHeader = emptyHeader()
  private unindexed: SymbolId = 0

  private readonly upsertKeysFound = new MultisetHash()
  private readonly upsertKeysExpected = new MultisetHash()
  private readonly bitsFound = new MultisetHash()
  private readonly bitsExpected = new MultisetHash()
  private readonly indexFound = new MultisetHash()
  private readonly indexExpected = new MultisetHash()
  private readonly outgoing = new MultisetHash()
  private readonly incoming = new MultisetHash()
  private readonly relationships = new MultisetHash()

  private readonly names: string[][] = [[], [], []]
  /** Counts of `meta` minus counts found. */
  private readonly labelCounts = new SymbolCounter()
  private readonly typeCounts = new SymbolCounter()
  private readonly typedCounts = new SymbolCounter()
  /** The greatest symbol that an element refers to, by kind. */
  private readonly greatest: [number, number, number] = [0, 0, 0]
  private greatestNode = 0
  private greatestRelationship = 0
  private nodeCount = 0
  /** One bit for each node that exists, by segments. */
  private readonly nodeBits: (Uint32Array | undefined)[] = []

  // The edge lists of the current node, and those that its lists of types name.
  private node = 0
  private readonly listed: number[] = []
  private readonly found: number[] = []
  private readonly chunks = new ChunkCheck()

  constructor(file: PageFile) {
    this.file = file
  }

  /** Checks the entries of a leaf page of a named database. */
  addLeaf(database: string, page: TreePage): void {
    if (this.isUnsound) return
    try {
      for (let i = 0; i < page.count; i++) this.entry(database, page, i)
    } catch {
      // A value that cannot be decoded is reported by the lookups.
      this.isUnsound = true
    }
  }

  /** After the last page: whether everything fits together. False: look up each reference to learn what is wrong. */
  isSound(): boolean {
    if (this.isUnsound) return false
    try {
      this.finish()
      return true
    } catch (error) {
      if (error instanceof UnsoundError) return false
      throw error
    }
  }

  private entry(database: string, page: TreePage, i: number): void {
    switch (database) {
      case 'meta':
        this.meta(page, i)
        break
      case 'symbols':
        this.symbol(page, i)
        break
      case 'nodes':
        this.nodeRecord(page, i)
        break
      case 'relationships':
        this.relationshipRecord(page, i)
        break
      case 'adjacency':
        this.edgeList(page, i)
        break
      case 'chunks':
        this.chunk(page, i)
        break
      case 'chunk-index':
        this.chunkEntry(page, i)
        break
      case 'labels':
        this.bits(page, i)
        break
      case 'index':
        this.indexEntry(page, i)
        break
      case 'upsert-keys':
        this.upsertKey(page, i)
        break
      // The outbox has its own check.
    }
  }

  /** Reads a value with its checksum into `words`, verifies it, and returns its length in words without the checksum. */
  private value(page: TreePage, i: number, seed: number): number {
    const bytes = page.lengthOf(i)
    if (bytes > this.words.byteLength) {
      check(bytes <= VALUE_BYTES_MAX)
      this.words = new Uint32Array(2 ** Math.ceil(Math.log2(bytes)) / 4)
      this.view = viewOf(this.words)
    }
    const length = page.copyWords(i, this.file, this.words)
    check(length !== null && length >= 1)
    const count = length - 1
    check(this.words[count] === checksum(this.words, 0, count, seed))
    this.view.byteLength = count * 4
    return count
  }

  private numericKey(codec: KeyCodec<number>, page: TreePage, i: number): number {
    check(page.keyEnd(i) - page.keyStart(i) === 4)
    return codec.readKey(page.bytes, page.keyStart(i), page.keyEnd(i))
  }

  private meta(page: TreePage, i: number): void {
    const key = symbolKeys.readKey(page.bytes, page.keyStart(i), page.keyEnd(i))
    // The layout entry has no checksum.
    if (key.kind === META_KIND.layout) return
    check(key.kind !== META_KIND.unsorted)
    this.value(page, i, symbolKeys.seed(key))
    const [count] = this.words as unknown as [number]
    if (key.kind === META_KIND.header) this.header = readHeader(this.view)
    else if (key.kind === META_KIND.labelCount) this.labelCounts.add(key.symbol, count)
    else if (key.kind === META_KIND.typeCount) this.typeCounts.add(key.symbol, count)
    else if (key.kind === META_KIND.typedCount) this.typedCounts.add(key.symbol, count)
  }

  private symbol(page: TreePage, i: number): void {
    const key = symbolKeys.readKey(page.bytes, page.keyStart(i), page.keyEnd(i))
    this.value(page, i, symbolKeys.seed(key))
    const names = this.names[key.kind]
    check(names !== undefined)
    const name = symbolText(this.view)
    names.push(name)
    check(key.symbol === names.length)
    if (key.kind === 0 && name === TRUST_SCORE_LABEL) this.unindexed = key.symbol
    if (key.kind !== 2 && !isUsualName(name)) this.hasEarlierValues = true
  }

  private use(kind: 0 | 1 | 2, symbol: SymbolId): void {
    check(symbol >= 1 && symbol <= SYMBOL_MAX)
    if (symbol > this.greatest[kind]) this.greatest[kind] = symbol
  }

  private nodeRecord(page: TreePage, i: number): void {
    const id = this.numericKey(nodeKeys, page, i)
    check(id >= 1)
    this.value(page, i, nodeKeys.seed(id))
    const { view } = this
    checkVersion(view)
    this.nodeCount += 1
    if (id > this.greatestNode) this.greatestNode = id
    this.setExists(id)
    const hasProperties = propertyCountOf(view) > 0
    const record = hasProperties ? readNode(view) : null
    const type = typeOf(view)
    let isTyped = type === 0
    let last = 0
    this.bitsExpected.add(0, id, 0, 0)
    for (const label of labelsOf(view)) {
      check(label > last)
      last = label
      this.use(0, label)
      this.labelCounts.add(label, -1)
      this.bitsExpected.add(label, id, 0, 0)
      if (label === type) isTyped = true
    }
    check(isTyped)
    if (type !== 0) {
      this.typedCounts.add(type, -1)
      const externalId = externalIdOf(view)
      if (!isUsualId(externalId)) this.hasEarlierValues = true
      const length = upsertKeys.writeKey({ type, externalId: upsertKeyText(externalId) }, keyBytes, 0)
      addBytes(this.upsertKeysExpected, keyBytes, 0, length, id)
    }
    if (record === null) return
    if (!hasUsualProperties(view, record.properties)) this.hasEarlierValues = true
    for (const [property, { value }] of record.properties) {
      this.use(2, property)
      const scalar = value === null ? null : scalarKey(value)
      if (scalar === null) continue
      for (const label of record.labels) {
        if (label === this.unindexed) continue
        const length = indexKeys.writeKey({ label, property, scalar, node: id }, keyBytes, 0)
        addBytes(this.indexExpected, keyBytes, 0, length, 0)
      }
    }
  }

  private setExists(node: number): void {
    const segment = Math.floor(node / NODES_PER_SEGMENT)
    const bits = this.nodeBits[segment] ?? new Uint32Array(NODES_PER_SEGMENT / 32)
    this.nodeBits[segment] = bits
    const bit = node % NODES_PER_SEGMENT
    bits[bit >>> 5]! |= 1 << (bit & 31)
  }

  private exists(node: number): boolean {
    const bits = this.nodeBits[Math.floor(node / NODES_PER_SEGMENT)]
    const bit = node % NODES_PER_SEGMENT
    return bits !== undefined && (bits[bit >>> 5]! & (1 << (bit & 31))) !== 0
  }

  /** Nodes come before relationships in the order of the names of their databases. */
  private relationshipRecord(page: TreePage, i: number): void {
    const id = this.numericKey(relationshipKeys, page, i)
    check(id >= 1)
    this.value(page, i, relationshipKeys.seed(id))
    const { view } = this
    checkVersion(view)
    const type = typeOf(view)
    const source = sourceOf(view)
    const target = targetOf(view)
    if (id > this.greatestRelationship) this.greatestRelationship = id
    this.use(1, type)
    check(this.exists(source) && this.exists(target))
    this.typeCounts.add(type, -1)
    this.relationships.add(id, type, source, target)
    if (propertyCountOf(view) === 0) return
    const { properties } = readRelationship(view)
    for (const property of properties.keys()) this.use(2, property)
    if (!hasUsualProperties(view, properties)) this.hasEarlierValues = true
  }

  private edgeList(page: TreePage, i: number): void {
    adjacencyKey.node = wordAt(page.bytes, page.keyStart(i))
    adjacencyKey.edgeList = wordAt(page.bytes, page.keyStart(i) + 4)
    const { node, edgeList } = adjacencyKey
    const length = this.value(page, i, adjacencyKeys.seed(adjacencyKey))
    const { words } = this
    if (node !== this.node) {
      this.endNode()
      this.node = node
    }
    const type = edgeListType(edgeList)
    if (type === 0) {
      for (let at = 0, last = 0; at < length; at++) {
        const listed = words[at]!
        check(listed > last || at === 0)
        last = listed
        this.listed.push(edgeListId(edgeListDirection(edgeList), listed))
      }
      return
    }
    this.found.push(edgeList)
    if (length * 4 === LONG_LIST_HEAD_BYTES) this.chunks.addHead(node, edgeList, words[0]!, words[1]!)
    else {
      check((length & 1) === 0)
      this.edges(node, edgeList, 0, length >>> 1)
    }
  }

  /** Both are in ascending order. */
  private endNode(): void {
    const { listed, found } = this
    check(listed.length === found.length)
    for (let at = 0; at < found.length; at++) check(listed[at] === found[at])
    listed.length = 0
    found.length = 0
  }

  /** Entries of one list in `words`: all neighbours, then all relationships. */
  private edges(node: number, edgeList: number, start: number, count: number): void {
    const { words } = this
    const type = edgeListType(edgeList)
    const isOutgoing = edgeListDirection(edgeList) === 'out'
    const sum = isOutgoing ? this.outgoing : this.incoming
    let lastNeighbour = 0
    let lastRelationship = 0
    for (let at = start; at < start + count; at++) {
      const neighbour = words[at]!
      const relationship = words[at + count]!
      check(at === start || isEntryBefore(lastNeighbour, lastRelationship, neighbour, relationship))
      lastNeighbour = neighbour
      lastRelationship = relationship
      if (isOutgoing) sum.add(relationship, type, node, neighbour)
      else sum.add(relationship, type, neighbour, node)
    }
  }

  private chunkEntry(page: TreePage, i: number): void {
    const key = chunkKeys.readKey(page.bytes, page.keyStart(i), page.keyEnd(i))
    check(this.value(page, i, chunkKeys.seed(key)) === 1)
    this.chunks.addEntry(key.node, key.edgeList, key.neighbour, key.relationship, this.words[0]!)
  }

  private chunk(page: TreePage, i: number): void {
    const id = this.numericKey(chunkIdKeys, page, i)
    const length = this.value(page, i, chunkIdKeys.seed(id))
    check(length >= CHUNK_HEAD_BYTES / 4 && (length & 1) === 1)
    const count = length >>> 1
    const [node, edgeList] = this.chunks.addChunk(id, this.words, count)
    this.edges(node, edgeList, 1, count)
  }

  private bits(page: TreePage, i: number): void {
    const { label, block } = labelKeys.readKey(page.bytes, page.keyStart(i), page.keyEnd(i))
    check(this.value(page, i, labelKeys.seed({ label, block })) * 4 === BLOCK_BYTES)
    let bits = 0
    for (let word = 0; word < BLOCK_BYTES / 4; word++) {
      for (let rest = this.words[word]!; rest !== 0; rest &= rest - 1) {
        this.bitsFound.add(label, block * NODES_PER_BLOCK + word * 32 + (31 - Math.clz32(rest & -rest)), 0, 0)
        bits += 1
      }
    }
    check(bits > 0)
  }

  private upsertKey(page: TreePage, i: number): void {
    const [start, end] = [page.keyStart(i), page.keyEnd(i)]
    const key = upsertKeys.readKey(page.bytes, start, end)
    check(this.value(page, i, upsertKeys.seed(key)) >= 1)
    this.use(0, key.type)
    addBytes(this.upsertKeysFound, page.bytes, start, end, this.words[0]!)
  }

  private indexEntry(page: TreePage, i: number): void {
    const [start, end] = [page.keyStart(i), page.keyEnd(i)]
    const key = indexKeys.readKey(page.bytes, start, end)
    this.value(page, i, indexKeys.seed(key))
    if (key.label !== this.unindexed) addBytes(this.indexFound, page.bytes, start, end, 0)
  }

  private finish(): void {
    const { header, names, greatest } = this
    this.endNode()
    for (const kind of SYMBOL_KINDS.keys() as Iterable<0 | 1 | 2>) {
      const found = names[kind]!
      check(new Set(found).size === found.length && found.length === header.symbols[kind])
      check(greatest[kind] <= header.symbols[kind]!)
    }
    check(this.greatestNode < header.nextNode && this.greatestRelationship < header.nextRelationship)
    check(header.nodes === this.nodeCount && header.relationships === this.relationships.count)
    check(this.labelCounts.isZero() && this.typeCounts.isZero() && this.typedCounts.isZero())
    check(this.upsertKeysFound.equals(this.upsertKeysExpected))
    check(this.bitsFound.equals(this.bitsExpected))
    check(this.indexFound.equals(this.indexExpected))
    check(this.relationships.equals(this.outgoing) && this.relationships.equals(this.incoming))
    check(this.chunks.isComplete(header.nextChunk))
  }
}

/**
 * Checks the chunks of long lists. The pass reads heads of lists, then chunk keys, then chunks: the order of the names of their
 * databases. Memory: 32 bytes per chunk of some 500 entries.
 */
class ChunkCheck {
  /** Node, edge list, count of entries, first chunk of each long list, in key order. */
  private heads = new Uint32Array(1024)
  private headCount = 0
  /** Index in `heads` of the list, low neighbour, low relationship, chunk id of each chunk, in key order. */
  private entries = new Uint32Array(1024)
  private entryCount = 0
  /** Entry by chunk id. */
  private readonly byId = new Map<number, number>()
  /** Entries of each list found in its chunks. */
  private readonly counts: number[] = []
  private list = -1
  private chunksFound = 0
  private greatestId = 0

  addHead(node: number, edgeList: number, count: number, first: number): void {
    this.heads = withRow(this.heads, this.headCount, node, edgeList, count, first)
    this.headCount += 1
    this.counts.push(0)
  }

  addEntry(node: number, edgeList: number, neighbour: number, relationship: number, chunk: number): void {
    const { heads } = this
    const isSame = this.list >= 0 && heads[this.list * 4] === node && heads[this.list * 4 + 1] === edgeList
    if (!isSame) {
      this.list += 1
      const at = this.list * 4
      check(this.list < this.headCount && heads[at] === node && heads[at + 1] === edgeList)
      check(neighbour === 0 && relationship === 0 && heads[at + 3] === chunk)
    }
    check(!this.byId.has(chunk))
    this.byId.set(chunk, this.entryCount)
    this.entries = withRow(this.entries, this.entryCount, this.list, neighbour, relationship, chunk)
    this.entryCount += 1
  }

  /** Checks a chunk of `count` entries in `words`. Returns the node and the edge list that it belongs to. */
  addChunk(id: number, words: Uint32Array, count: number): [node: number, edgeList: number] {
    const entry = this.byId.get(id)
    check(entry !== undefined && count > 0)
    const { entries, heads } = this
    const at = entry * 4
    const list = entries[at]!
    const hasNext = entry + 1 < this.entryCount && entries[at + 4] === list
    check(words[0] === (hasNext ? entries[at + 7]! : 0))
    check(!isEntryBefore(words[1]!, words[count + 1]!, entries[at + 1]!, entries[at + 2]!))
    check(!hasNext || isEntryBefore(words[count]!, words[count * 2]!, entries[at + 5]!, entries[at + 6]!))
    this.counts[list]! += count
    this.chunksFound += 1
    if (id > this.greatestId) this.greatestId = id
    return [heads[list * 4]!, heads[list * 4 + 1]!]
  }

  isComplete(nextChunk: number): boolean {
    const { heads, headCount, counts } = this
    for (let list = 0; list < headCount; list++) if (counts[list] !== heads[list * 4 + 2]) return false
    return (
      this.chunksFound === this.entryCount &&
      this.list + 1 === headCount &&
      (this.greatestId < nextChunk || !this.greatestId)
    )
  }
}

function withRow(
  rows: Uint32Array<ArrayBuffer>,
  row: number,
  a: number,
  b: number,
  c: number,
  d: number,
): Uint32Array<ArrayBuffer> {
  const at = row * 4
  const target = at + 4 > rows.length ? growWords(rows, rows.length * 2) : rows
  target[at] = a
  target[at + 1] = b
  target[at + 2] = c
  target[at + 3] = d
  return target
}

/** Counts by symbol, positive and negative. */
class SymbolCounter {
  private counts = new Float64Array(64)

  add(symbol: SymbolId, step: number): void {
    if (symbol >= this.counts.length) {
      check(symbol <= SYMBOL_MAX)
      const wider = new Float64Array(2 ** Math.ceil(Math.log2(symbol + 1)))
      wider.set(this.counts)
      this.counts = wider
    }
    this.counts[symbol]! += step
  }

  isZero(): boolean {
    return this.counts.every((count) => count === 0)
  }
}

const nodeKeys = uint32Keys(NUMERIC_KEY_SEED.nodes)
const relationshipKeys = uint32Keys(NUMERIC_KEY_SEED.relationships)
const chunkIdKeys = uint32Keys(NUMERIC_KEY_SEED.chunks)
/** Longer than any key. */
const keyBytes = new Uint8Array(4096)
/** Reused for each entry. */
const adjacencyKey = { node: 0, edgeList: 0 }

function wordAt(bytes: Uint8Array, at: number): number {
  return ((bytes[at]! << 24) | (bytes[at + 1]! << 16) | (bytes[at + 2]! << 8) | bytes[at + 3]!) >>> 0
}

function viewOf(words: Uint32Array): ValueView {
  return new ValueView(new Uint8Array(words.buffer as ArrayBuffer), words.byteLength)
}

/** Adds an encoded key with a number. Two hashes of the bytes, because one of 32 bits would not distinguish many keys. */
function addBytes(set: MultisetHash, bytes: Uint8Array, start: number, end: number, word: number): void {
  let a = 0x2545f491
  let b = 0x6c078965
  for (let at = start; at < end; at++) {
    const byte = bytes[at]!
    a = Math.imul(a ^ byte, 0x01000193)
    b = (Math.imul(b, 31) + byte) | 0
    a ^= a >>> 15
    b ^= b >>> 13
  }
  set.add(a, b, end - start, word)
}
