// Updates label bits and index entries for the nodes that a batch has changed.
import type { NodeId, StoredProperty, SymbolId } from '../../engine/store.ts'
import type { ByteWriter } from '../format/bytes.ts'
import { NODES_PER_BLOCK, scalarKey } from '../format/keys.ts'
import { BLOCK_WORDS } from '../format/packed-lists.ts'
import type { NodeRecord } from '../format/records.ts'
import type { Databases } from '../lmdb/databases.ts'
import type { PendingWrites } from '../lmdb/pending-writes.ts'
import { requireStored } from './stored-rules.ts'

/** The pseudo label of all nodes. */
const ALL = 0
const NONE: ReadonlyMap<SymbolId, StoredProperty> = new Map()

/** The label bits and index entries that a batch changes. */
export class LabelEdits {
  private readonly databases: Databases
  private readonly unindexed: SymbolId
  private readonly blocks = new Map<SymbolId, Map<number, Uint32Array>>()
  /** Change of the node count by label; ALL: all nodes. */
  readonly counts = new Map<SymbolId, number>()

  /** `unindexed`: the label whose nodes are not in the index; 0: the graph does not have it. */
  constructor(databases: Databases, unindexed: SymbolId) {
    this.databases = databases
    this.unindexed = unindexed
  }

  change(
    node: NodeId,
    before: NodeRecord | null,
    now: NodeRecord | null,
    writer: ByteWriter,
    operations: PendingWrites,
  ): void {
    const labelsBefore = before?.labels ?? []
    const labelsNow = now?.labels ?? []
    if (before === null && now !== null) this.set(ALL, node, true)
    if (before !== null && now === null) this.set(ALL, node, false)
    for (const label of labelsBefore) if (!labelsNow.includes(label)) this.set(label, node, false)
    for (const label of labelsNow) if (!labelsBefore.includes(label)) this.set(label, node, true)

    const indexedBefore = this.indexedLabels(labelsBefore)
    const indexedNow = this.indexedLabels(labelsNow)
    if (indexedBefore.length === 0 && indexedNow.length === 0) return
    const propertiesBefore = before?.properties ?? NONE
    const propertiesNow = now?.properties ?? NONE
    for (const [property, old] of propertiesBefore) {
      const scalar = indexed(old)
      if (scalar === null) continue
      const next = propertiesNow.get(property)
      const stays = next === old || sameBytes(scalar, indexed(next))
      for (const label of indexedBefore) {
        if (stays && indexedNow.includes(label)) continue
        operations.remove(this.databases.index, { label, property, scalar, node })
      }
    }
    for (const [property, next] of propertiesNow) {
      const scalar = indexed(next)
      if (scalar === null) continue
      const old = propertiesBefore.get(property)
      const stood = next === old || sameBytes(scalar, indexed(old))
      for (const label of indexedNow) {
        if (stood && indexedBefore.includes(label)) continue
        // An index entry has an empty value.
        operations.begin(writer)
        operations.put(this.databases.index, { label, property, scalar, node }, writer)
      }
    }
  }

  private indexedLabels(labels: readonly SymbolId[]): readonly SymbolId[] {
    return labels.includes(this.unindexed) ? labels.filter((label) => label !== this.unindexed) : labels
  }

  private set(label: SymbolId, node: NodeId, on: boolean): void {
    this.counts.set(label, (this.counts.get(label) ?? 0) + (on ? 1 : -1))
    const words = this.block(label, Math.floor(node / NODES_PER_BLOCK))
    const bit = node % NODES_PER_BLOCK
    const mask = 1 << (bit & 31)
    const word = words[bit >>> 5]!
    requireStored(((word & mask) !== 0) !== on, 'the bits of a label are set for the nodes that carry it')
    words[bit >>> 5] = on ? word | mask : word & ~mask
  }

  private block(label: SymbolId, block: number): Uint32Array {
    let blocks = this.blocks.get(label)
    if (blocks === undefined) {
      blocks = new Map()
      this.blocks.set(label, blocks)
    }
    let words = blocks.get(block)
    if (words === undefined) {
      words = new Uint32Array(BLOCK_WORDS)
      const valueView = this.databases.labels.get({ label, block })
      if (valueView !== null) words.set(valueView.words.subarray(0, BLOCK_WORDS))
      blocks.set(block, words)
    }
    return words
  }

  encode(writer: ByteWriter, operations: PendingWrites): void {
    for (const [label, blocks] of this.blocks) {
      for (const [block, words] of blocks) {
        const key = { label, block }
        if (words.every((word) => word === 0)) {
          operations.remove(this.databases.labels, key)
          continue
        }
        operations.begin(writer)
        writer.wordRun(words, BLOCK_WORDS)
        operations.put(this.databases.labels, key, writer)
      }
    }
  }
}

function indexed(property: StoredProperty | undefined): Uint8Array | null {
  return property === undefined || property.value === null ? null : scalarKey(property.value)
}

function sameBytes(a: Uint8Array, b: Uint8Array | null): boolean {
  return b !== null && Buffer.compare(a, b) === 0
}
