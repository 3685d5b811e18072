// The nodes that a batch writes and deletes: records, label bits and index entries.
import type { NodeId, NodeInput, PropertyInput, SymbolId, UpsertResult } from '../../engine/store.ts'
import { TRUST_SCORE_LABEL } from '../../kernel/element-rules.ts'
import { mintGid } from '../../kernel/ids.ts'
import type { ByteWriter } from '../format/bytes.ts'
import { allocateId, type EnvironmentHeader } from '../format/header.ts'
import { type NodeRecord, readNode, writeNode } from '../format/records.ts'
import type { Databases } from '../lmdb/databases.ts'
import type { PendingWrites } from '../lmdb/pending-writes.ts'
import { nodeText } from './element-checks.ts'
import { ElementEdits, type PreservedFields } from './element-edits.ts'
import type { KeyEdits } from './key-edits.ts'
import { LabelEdits } from './label-edits.ts'
import type { NewSymbols } from './new-symbols.ts'
import { NO_PROPERTIES, withProperties } from './property-edits.ts'
import { requireStored } from './stored-rules.ts'

const NO_SYMBOLS: readonly SymbolId[] = []

/** Change of the node counts by the batch. */
interface NodeCounts {
  readonly byLabel: ReadonlyMap<SymbolId, number>
  /** Type 0: nodes without upsert key. */
  readonly byType: ReadonlyMap<SymbolId, number>
}

/** The edited nodes of a batch. */
export class NodeEdits extends ElementEdits<NodeRecord> {
  private readonly databases: Databases
  private readonly header: EnvironmentHeader
  private readonly symbols: NewSymbols
  private readonly keys: KeyEdits
  /** The label list of nodes whose only label is their type, shared by all of them. */
  private readonly ownLabels = new Map<SymbolId, readonly SymbolId[]>()

  constructor(databases: Databases, header: EnvironmentHeader, symbols: NewSymbols, keys: KeyEdits) {
    super(databases.nodes, readNode, writeNode)
    this.databases = databases
    this.header = header
    this.symbols = symbols
    this.keys = keys
  }

  upsert(input: NodeInput, preserved: PreservedFields, now: number): UpsertResult {
    const type = this.symbols.intern('label', input.type)
    const id = this.keys.find(type, input.externalId)
    if (id === 0) return this.insert(type, input, preserved, now)
    const edited = this.at(id)
    const old = edited.now
    requireStored(old !== null, 'an upsert key names a node')
    edited.now = {
      ...old,
      labels: input.labels === undefined ? old.labels : this.labels(type, input.labels),
      isIdentity: input.isIdentity ?? old.isIdentity,
      location: input.location ?? old.location,
      updatedMs: now,
      properties: withProperties(old.properties, input.properties, now, this.symbols, () => nodeText(input)),
    }
    return { id, gid: old.gid, created: false }
  }

  private insert(type: SymbolId, input: NodeInput, preserved: PreservedFields, now: number): UpsertResult {
    const id = allocateId(this.header, 'nextNode')
    const gid = preserved.gid ?? mintGid(now)
    this.add(id, {
      type,
      externalId: input.externalId,
      labels: this.labels(type, input.labels ?? []),
      isIdentity: input.isIdentity ?? false,
      location: input.location ?? null,
      gid,
      createdMs: preserved.createdMs ?? now,
      updatedMs: now,
      properties: withProperties(NO_PROPERTIES, input.properties, now, this.symbols, () => nodeText(input)),
    })
    this.keys.set(type, input.externalId, id)
    return { id, gid, created: true }
  }

  /** Creates a node without upsert key. */
  create(labels: readonly string[], properties: readonly PropertyInput[], now: number): NodeId {
    const id = allocateId(this.header, 'nextNode')
    this.add(id, {
      type: 0,
      externalId: '',
      labels: this.labels(0, labels),
      isIdentity: false,
      location: null,
      gid: mintGid(now),
      createdMs: now,
      updatedMs: now,
      properties: withProperties(NO_PROPERTIES, properties, now, this.symbols, () => 'a node without external id'),
    })
    return id
  }

  private labels(type: SymbolId, names: readonly string[]): readonly SymbolId[] {
    if (names.length === 0) return this.labelsOfType(type)
    const labels = new Set(names.map((name) => this.symbols.intern('label', name)))
    if (type !== 0) labels.add(type)
    return [...labels].sort((a, b) => a - b)
  }

  private labelsOfType(type: SymbolId): readonly SymbolId[] {
    if (type === 0) return NO_SYMBOLS
    const labels = this.ownLabels.get(type) ?? [type]
    this.ownLabels.set(type, labels)
    return labels
  }

  /** Deletes the node and returns its global id. */
  delete(id: NodeId): string {
    const edited = this.at(id)
    const { gid } = edited.now!
    edited.now = null
    return gid
  }

  encode(writer: ByteWriter, operations: PendingWrites): NodeCounts {
    const labels = new LabelEdits(this.databases, this.symbols.find('label', TRUST_SCORE_LABEL))
    const byType = this.encodeRecords(writer, operations, (id, before, now) => {
      labels.change(id, before, now, writer, operations)
    })
    labels.encode(writer, operations)
    return { byLabel: labels.counts, byType }
  }
}
