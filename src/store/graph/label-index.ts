// Finds nodes by label, from the label bits, and by property value, from the property index.
import type { Chunk, NodeId, SymbolId } from '../../engine/store.ts'
import type { PropertyValue } from '../../engine/value/value.ts'
import { NODES_PER_BLOCK, scalarKey } from '../format/keys.ts'
import { BLOCK_WORDS } from '../format/packed-lists.ts'
import { appendBits, clearChunk, dropBelow, ensureCapacity } from './fill-chunk.ts'
import type { VersionReader } from './version-reader.ts'

/** Minimum number of ids per chunk, if there are as many. */
const IDS_PER_CHUNK = 256

// Reused by all snapshots: reads are synchronous, and no key is kept after the call.
const labelKey = { label: 0, block: 0 }
const NO_WORDS = new Uint32Array(0)

/** Implements Snapshot.nodesWithLabel. Label 0: all nodes. */
export function nodesWithLabel(state: VersionReader, label: SymbolId, from: number, chunk: Chunk): void {
  clearChunk(chunk)
  const start = { label, block: Math.floor(from / NODES_PER_BLOCK) }
  const end = { label: label + 1, block: 0 }
  const { labels } = state.databases
  let found = 0
  for (const { key, valueView } of labels.entries({ start, end, ...state.readOptions })) {
    const base = key.block * NODES_PER_BLOCK
    if (chunk.length >= IDS_PER_CHUNK) {
      state.verifyCount(labels, start, key, found)
      chunk.more = true
      chunk.next = base
      return
    }
    appendBits(valueView.words, base, chunk)
    if (found === 0 && base < from) dropBelow(from, chunk)
    found += 1
  }
  state.verifyCount(labels, start, end, found)
}

/** Implements Snapshot.nodesWithProperty. */
export function nodesWithProperty(
  state: VersionReader,
  label: SymbolId,
  property: SymbolId,
  value: PropertyValue,
  from: number,
  chunk: Chunk,
): void {
  const { readOptions } = state
  clearChunk(chunk)
  const scalar = scalarKey(value)
  if (scalar === null || label === 0 || property === 0) return
  ensureCapacity(chunk, IDS_PER_CHUNK)
  const start = { label, property, scalar, node: from }
  // The greatest id is never assigned, so the end can be exclusive.
  const end = { label, property, scalar, node: 0xffffffff }
  const { index } = state.databases
  for (const { key } of index.entries({ start, end, limit: IDS_PER_CHUNK + 1, ...readOptions })) {
    if (chunk.length === IDS_PER_CHUNK) {
      state.verifyCount(index, start, key, chunk.length)
      chunk.more = true
      chunk.next = key.node
      return
    }
    chunk.ids[chunk.length++] = key.node
  }
  state.verifyCount(index, start, end, chunk.length)
}

/** Implements Snapshot.hasLabel. Reads the label bits, which occupy few pages, instead of the record. */
export function hasLabel(state: VersionReader, node: NodeId, label: SymbolId): boolean {
  const block = Math.floor(node / NODES_PER_BLOCK)
  const bit = node % NODES_PER_BLOCK
  const hot = state.isCacheCurrent
  const { labels } = state.cache
  if (hot && labels.find(label, block)) return labels.size !== 0 && isSet(labels.words, labels.at, bit)
  labelKey.label = label
  labelKey.block = block
  const valueView = state.read(state.databases.labels, labelKey)
  if (hot)
    labels.put(label, block, valueView === null ? NO_WORDS : valueView.words, valueView === null ? 0 : BLOCK_WORDS)
  return valueView !== null && isSet(valueView.words, 0, bit)
}

function isSet(words: Uint32Array, start: number, bit: number): boolean {
  return (words[start + (bit >>> 5)]! & (1 << (bit & 31))) !== 0
}
