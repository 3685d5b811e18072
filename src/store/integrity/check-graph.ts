// Checks that everything stored about a graph is consistent: records, upsert keys, edge lists in both directions, label bits,
// property index, counts. Counters go up for one side and down for the other, so a large graph is checked in little memory.
import type { NodeId, SymbolId } from '../../engine/store.ts'
import { TRUST_SCORE_LABEL } from '../../kernel/element-rules.ts'
import { DataCorruptionError } from '../../kernel/errors.ts'
import { copyToView, type ValueView } from '../format/bytes.ts'
import { type EnvironmentHeader, emptyHeader, readHeader } from '../format/header.ts'
import {
  type AdjacencyKey,
  edgeListDirection,
  edgeListId,
  edgeListType,
  NODES_PER_BLOCK,
  scalarKey,
  upsertKeyText,
} from '../format/keys.ts'
import { BLOCK_BYTES, CHUNK_HEAD_BYTES, isEntryBefore, LONG_LIST_HEAD_BYTES } from '../format/packed-lists.ts'
import { type NodeRecord, type RelationshipRecord, readNode, readRelationship } from '../format/records.ts'
import { SYMBOL_KINDS, symbolText } from '../format/symbol-names.ts'
import { CHECKSUM_MISMATCH, type Database, formatKey } from '../lmdb/database.ts'
import { type Databases, META_KIND } from '../lmdb/databases.ts'
import type { ReadOptions } from '../lmdb/raw-database.ts'
import { checkOutbox } from '../outbox/check-outbox.ts'

/** More findings than this do not help an operator. */
const FINDINGS_MAX = 100

const UNSORTED_FINDING =
  'the lists of relationships are not complete, because an import was interrupted: finish it with `verdigraph import --resume`'

/** A graph environment, as far as it is checked here. */
interface InspectableGraph {
  /** Calls `read` with the databases and one read transaction, and returns its result. */
  inspect<T>(read: (databases: Databases, readOptions: ReadOptions) => T): T
}

/** Called now and then with the number of entries that have been checked. */
type EntriesProgress = (entries: number) => void

/** `EntriesProgress` is called once for this many entries. */
const ENTRIES_PER_REPORT = 16_384

/** Returns every inconsistency as a sentence; empty if the graph is sound. */
export function checkGraph(graph: InspectableGraph, progress: EntriesProgress = () => {}): string[] {
  return graph.inspect((databases, readOptions) => new GraphCheck(databases, readOptions, progress).run())
}

/** Entries found minus entries expected, by name. */
class CountBalance {
  private readonly counts = new Map<string, number>()

  add(name: string, step: number): void {
    this.counts.set(name, (this.counts.get(name) ?? 0) + step)
  }

  *uneven(): Iterable<[string, number]> {
    for (const entry of this.counts) if (entry[1] !== 0) yield entry
  }
}

class GraphCheck {
  private readonly databases: Databases
  private readonly readOptions: ReadOptions
  private readonly findings: string[] = []
  private readonly balance = new CountBalance()
  private header: EnvironmentHeader = emptyHeader()
  private readonly progress: EntriesProgress
  private checked = 0
  /** The label whose nodes are not in the index. */
  private unindexed: SymbolId = 0
  /** An interrupted load has not written its edge lists. */
  private isUnsorted = false

  constructor(databases: Databases, readOptions: ReadOptions, progress: EntriesProgress) {
    this.databases = databases
    this.readOptions = readOptions
    this.progress = progress
  }

  run(): string[] {
    this.meta()
    if (this.isUnsorted) return [UNSORTED_FINDING, ...this.findings]
    this.symbols()
    this.nodes()
    this.upsertKeys()
    this.labels()
    this.index()
    this.relationships()
    this.adjacency()
    this.chunks()
    for (const finding of checkOutbox(this.databases.outbox, this.readOptions)) this.report(finding)
    for (const [name, difference] of this.balance.uneven()) {
      this.report(`${name}: ${Math.abs(difference)} ${difference > 0 ? 'too many' : 'too few'}`)
    }
    return this.findings
  }

  private report(finding: string): void {
    if (this.findings.length < FINDINGS_MAX) this.findings.push(finding)
  }

  /** Returns a copy, because reads continue while it is used. Null also for a damaged value, which is reported elsewhere. */
  private read<K>(database: Database<K>, key: K): ValueView | null {
    try {
      const valueView = database.get(key, this.readOptions)
      if (valueView === null) return null
      return copyToView(valueView.source.subarray(0, valueView.byteLength))
    } catch (error) {
      if (error instanceof DataCorruptionError) return null
      throw error
    }
  }

  private *entries<K>(database: Database<K>, start: K): Iterable<{ key: K; valueView: ValueView }> {
    const range = { start, end: undefined, ...this.readOptions }
    try {
      for (const { key, valueView } of database.scanUnchecked(range)) {
        this.checked += 1
        if (this.checked % ENTRIES_PER_REPORT === 0) this.progress(this.checked)
        if (valueView === null) this.report(`${database.name} ${formatKey(key)} ${CHECKSUM_MISMATCH}`)
        else yield { key, valueView }
      }
    } catch (error) {
      if (!(error instanceof DataCorruptionError)) throw error
      this.report(`${database.name} cannot be read completely: ${error.message}`)
    }
  }

  private meta(): void {
    // The layout entry, which comes first, has no checksum.
    for (const { key, valueView } of this.entries(this.databases.meta, { kind: META_KIND.header, symbol: 0 })) {
      const { words } = valueView
      switch (key.kind) {
        case META_KIND.header:
          this.header = readHeader(valueView)
          this.balance.add('count of nodes', this.header.nodes)
          this.balance.add('count of relationships', this.header.relationships)
          break
        case META_KIND.labelCount:
          this.balance.add(`count of label ${key.symbol}`, words[0]!)
          break
        case META_KIND.typeCount:
          this.balance.add(`count of relationship type ${key.symbol}`, words[0]!)
          break
        case META_KIND.typedCount:
          this.balance.add(`count of node type ${key.symbol}`, words[0]!)
          break
        case META_KIND.unsorted:
          this.isUnsorted = true
          break
      }
    }
  }

  private symbols(): void {
    const namesByKind: string[][] = [[], [], []]
    for (const { key, valueView } of this.entries(this.databases.symbols, { kind: 0, symbol: 0 })) {
      const names = namesByKind[key.kind]
      if (names === undefined) this.report(`symbol ${key.symbol} has an unknown kind`)
      else {
        const name = symbolText(valueView)
        names.push(name)
        if (key.kind === 0 && name === TRUST_SCORE_LABEL) this.unindexed = key.symbol
        if (key.symbol !== names.length) this.report(`${SYMBOL_KINDS[key.kind]} symbol ${names.length} is missing`)
      }
    }
    for (const [kind, names] of namesByKind.entries()) {
      if (new Set(names).size !== names.length) this.report(`two ${SYMBOL_KINDS[kind]} symbols have the same name`)
      if (names.length !== this.header.symbols[kind]) this.report(`the count of ${SYMBOL_KINDS[kind]} symbols is wrong`)
    }
  }

  private checkSymbol(kind: number, symbol: SymbolId, where: string): void {
    if (symbol < 1 || symbol > this.header.symbols[kind]!) {
      this.report(`${where} has the unknown ${SYMBOL_KINDS[kind]} symbol ${symbol}`)
    }
  }

  private nodes(): void {
    for (const { key: id, valueView } of this.entries(this.databases.nodes, 1)) {
      const node = this.decode(`node ${id}`, () => readNode(valueView))
      if (node === null) continue
      if (id >= this.header.nextNode) this.report(`node ${id} has an id that was never assigned`)
      this.balance.add('count of nodes', -1)
      this.balance.add('entries of all nodes', -1)
      this.nodeKey(id, node)
      for (const [at, label] of node.labels.entries()) {
        this.checkSymbol(0, label, `node ${id}`)
        if (at > 0 && node.labels[at - 1]! >= label) this.report(`labels of node ${id} are out of order`)
        this.balance.add(`count of label ${label}`, -1)
        this.balance.add(`entries of label ${label}`, -1)
        if (!this.hasBit(label, id)) this.report(`node ${id} is missing in the bits of its label ${label}`)
      }
      if (!this.hasBit(0, id)) this.report(`node ${id} is missing in the bits of all nodes`)
      this.nodeIndex(id, node)
    }
  }

  private decode<T>(what: string, decode: () => T): T | null {
    try {
      return decode()
    } catch (error) {
      this.report(`${what} cannot be read: ${error instanceof Error ? error.message : String(error)}`)
      return null
    }
  }

  private nodeKey(id: NodeId, node: NodeRecord): void {
    if (node.type === 0) return
    this.balance.add(`count of node type ${node.type}`, -1)
    this.balance.add('upsert keys', -1)
    if (!node.labels.includes(node.type)) this.report(`node ${id} does not have its type as a label`)
    const key = { type: node.type, externalId: upsertKeyText(node.externalId) }
    const found = this.read(this.databases.upsertKeys, key)
    if (found?.words[0] !== id) this.report(`the upsert key of node ${id} does not refer to it`)
  }

  private nodeIndex(id: NodeId, node: NodeRecord): void {
    for (const [property, { value }] of node.properties) {
      this.checkSymbol(2, property, `node ${id}`)
      const scalar = value === null ? null : scalarKey(value)
      if (scalar === null) continue
      for (const label of node.labels) {
        if (label === this.unindexed) continue
        this.balance.add(`index entries of label ${label}`, -1)
        if (this.read(this.databases.index, { label, property, scalar, node: id }) === null) {
          this.report(`property ${property} of node ${id} is missing in the index of label ${label}`)
        }
      }
    }
  }

  private hasBit(label: SymbolId, node: NodeId): boolean {
    const found = this.read(this.databases.labels, { label, block: Math.floor(node / NODES_PER_BLOCK) })
    const bit = node % NODES_PER_BLOCK
    return found !== null && (found.words[bit >>> 5]! & (1 << (bit & 31))) !== 0
  }

  private upsertKeys(): void {
    for (const { key } of this.entries(this.databases.upsertKeys, { type: 0, externalId: '' })) {
      this.balance.add('upsert keys', 1)
      this.checkSymbol(0, key.type, 'an upsert key')
    }
  }

  private labels(): void {
    for (const { key, valueView } of this.entries(this.databases.labels, { label: 0, block: 0 })) {
      let bits = 0
      for (const word of valueView.words.subarray(0, valueView.byteLength >>> 2))
        for (let rest = word; rest !== 0; rest &= rest - 1) bits += 1
      if (valueView.byteLength !== BLOCK_BYTES || bits === 0)
        this.report(`block ${key.block} of label ${key.label} is empty`)
      this.balance.add(key.label === 0 ? 'entries of all nodes' : `entries of label ${key.label}`, bits)
    }
  }

  private index(): void {
    const start = { label: 0, property: 0, scalar: new Uint8Array(0), node: 0 }
    for (const { key } of this.entries(this.databases.index, start)) {
      if (key.label !== this.unindexed) this.balance.add(`index entries of label ${key.label}`, 1)
    }
  }

  private relationships(): void {
    for (const { key: id, valueView } of this.entries(this.databases.relationships, 1)) {
      const relationship = this.decode(`relationship ${id}`, () => readRelationship(valueView))
      if (relationship === null) continue
      const { type, source, target } = relationship
      if (id >= this.header.nextRelationship) this.report(`relationship ${id} has an id that was never assigned`)
      this.checkSymbol(1, type, `relationship ${id}`)
      for (const property of relationship.properties.keys()) this.checkSymbol(2, property, `relationship ${id}`)
      for (const node of [source, target]) {
        if (this.read(this.databases.nodes, node) === null) this.report(`an end node of relationship ${id} is missing`)
      }
      this.balance.add('count of relationships', -1)
      this.balance.add(`count of relationship type ${type}`, -1)
      this.balance.add('outgoing entries', -1)
      this.balance.add('incoming entries', -1)
    }
  }

  private adjacency(): void {
    let node = 0
    // Listed types and existing edge lists of the current node: must be equal at its end.
    let listed = new Set<number>()
    let found = new Set<number>()
    const close = (): void => {
      if (listed.size !== found.size || [...listed].some((edgeList) => !found.has(edgeList))) {
        this.report(`the list of types at node ${node} does not match its edge lists`)
      }
      listed = new Set()
      found = new Set()
    }
    for (const { key, valueView } of this.entries(this.databases.adjacency, { node: 0, edgeList: 0 })) {
      if (key.node !== node) {
        close()
        node = key.node
      }
      if (edgeListType(key.edgeList) !== 0) {
        found.add(key.edgeList)
        if (valueView.byteLength === LONG_LIST_HEAD_BYTES) this.longList(key, valueView.words)
        else this.entriesOf(key, valueView.words, 0, valueView.byteLength / 8, null)
        continue
      }
      const types = [...valueView.words.subarray(0, valueView.byteLength / 4)]
      for (const [at, type] of types.entries()) {
        listed.add(edgeListId(edgeListDirection(key.edgeList), type))
        if (at > 0 && types[at - 1]! >= type) this.report(`the types at node ${node} are out of order`)
      }
    }
    close()
  }

  /** Walks the chunk chain and the chunk index in parallel. */
  private longList(key: AdjacencyKey, head: Uint32Array): void {
    const name = `the list of type ${edgeListType(key.edgeList)} at node ${key.node}`
    let id = head[1]!
    let count = 0
    let last: [number, number] | null = null
    const start = { ...key, neighbour: 0, relationship: 0 }
    for (const { key: low, valueView } of this.entries(this.databases.chunkIndex, start)) {
      if (low.node !== key.node || low.edgeList !== key.edgeList) break
      if (valueView.words[0] !== id) {
        this.report(`${name} has a chain that differs from its index`)
        return
      }
      const chunk = this.read(this.databases.chunks, id)
      if (chunk === null) {
        this.report(`${name} refers to chunk ${id}, which is missing`)
        return
      }
      this.balance.add('chunks', -1)
      this.balance.add('chunk index entries', -1)
      const { words } = chunk
      const entries = (chunk.byteLength - CHUNK_HEAD_BYTES) / 8
      if (entries === 0) this.report(`${name} has an empty chunk`)
      if (count === 0 && (low.neighbour !== 0 || low.relationship !== 0))
        this.report(`${name} has no chunk for its start`)
      if (last !== null && !isBefore(last, [low.neighbour, low.relationship]))
        this.report(`${name} has overlapping chunks`)
      this.entriesOf(key, words, 1, entries, [low.neighbour, low.relationship])
      last = [words[entries]!, words[entries * 2]!]
      count += entries
      id = words[0]!
    }
    if (id !== 0) this.report(`${name} continues after its last indexed chunk`)
    if (count !== head[0]) this.report(`${name} has ${count} entries and a recorded count of ${head[0]}`)
  }

  private entriesOf(
    key: AdjacencyKey,
    words: Uint32Array,
    start: number,
    count: number,
    low: [number, number] | null,
  ): void {
    const type = edgeListType(key.edgeList)
    const outgoing = edgeListDirection(key.edgeList) === 'out'
    let last = low
    for (let i = 0; i < count; i++) {
      const entry: [number, number] = [words[start + i]!, words[start + count + i]!]
      const mayBeEqual = i === 0 && low !== null
      if (last !== null && !isBefore(last, entry) && !(mayBeEqual && last[0] === entry[0] && last[1] === entry[1])) {
        this.report(`the list of type ${type} at node ${key.node} is out of order`)
      }
      last = entry
      this.balance.add(outgoing ? 'outgoing entries' : 'incoming entries', 1)
      const relationship = this.relationshipAt(entry[1])
      const [source, target] = outgoing ? [key.node, entry[0]] : [entry[0], key.node]
      if (relationship?.type !== type || relationship.source !== source || relationship.target !== target) {
        this.report(`relationship ${entry[1]} does not match its entry in the list at node ${key.node}`)
      }
    }
  }

  private relationshipAt(id: number): RelationshipRecord | null {
    const found = this.read(this.databases.relationships, id)
    return found === null ? null : this.decode(`relationship ${id}`, () => readRelationship(found))
  }

  /** Counts all chunks, so that chunks which no list refers to are reported. */
  private chunks(): void {
    for (const { key } of this.entries(this.databases.chunks, 1)) {
      this.balance.add('chunks', 1)
      if (key >= this.header.nextChunk) this.report(`chunk ${key} has an id that was never assigned`)
    }
    const start = { node: 0, edgeList: 0, neighbour: 0, relationship: 0 }
    for (const _ of this.entries(this.databases.chunkIndex, start)) {
      this.balance.add('chunk index entries', 1)
    }
  }
}

function isBefore(a: readonly [number, number], b: readonly [number, number]): boolean {
  return isEntryBefore(a[0], a[1], b[0], b[1])
}
