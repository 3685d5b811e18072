// The upsert keys as edited by a batch, reading through to the database.
import type { NodeId, SymbolId } from '../../engine/store.ts'
import type { ByteWriter } from '../format/bytes.ts'
import { EXTERNAL_ID_UNITS_MAX, type UpsertKey, upsertKeyText } from '../format/keys.ts'
import type { Database } from '../lmdb/database.ts'
import type { PendingWrites } from '../lmdb/pending-writes.ts'

/** A changed upsert key; node 0: removed. `externalId`: as in keys. */
export interface ChangedKey {
  readonly type: SymbolId
  readonly externalId: string
  readonly node: NodeId
}

/** The upsert keys that a batch changes. */
export class KeyEdits {
  private readonly database: Database<UpsertKey>
  /** By type and external id; node 0 if the node was deleted. */
  private readonly keys = new Map<string, ChangedKey>()
  /** The last key that was found. Consecutive look-ups of a batch are often for the same node. */
  private last: ChangedKey = { type: 0, externalId: '', node: 0 }

  constructor(database: Database<UpsertKey>) {
    this.database = database
  }

  /** The node with that key, or 0. */
  find(type: SymbolId, externalId: string): NodeId {
    if (type === 0 || externalId.length > EXTERNAL_ID_UNITS_MAX) return 0
    return this.findKey(type, upsertKeyText(externalId))
  }

  protected findKey(type: SymbolId, externalId: string): NodeId {
    const { last } = this
    if (last.externalId === externalId && last.type === type) return last.node
    const pending = this.keys.get(`${type} ${externalId}`)
    const node = pending?.node ?? this.database.get({ type, externalId })?.words[0] ?? 0
    this.last = pending ?? { type, externalId, node }
    return node
  }

  set(type: SymbolId, externalId: string, node: NodeId): void {
    const changed = { type, externalId: upsertKeyText(externalId), node }
    this.keys.set(`${type} ${changed.externalId}`, changed)
    this.last = changed
  }

  protected changed(): Iterable<ChangedKey> {
    return this.keys.values()
  }

  encode(writer: ByteWriter, operations: PendingWrites): void {
    for (const { type, externalId, node } of this.changed()) {
      if (node === 0) operations.remove(this.database, { type, externalId })
      else {
        operations.begin(writer)
        writer.u32(node)
        operations.put(this.database, { type, externalId }, writer)
      }
    }
  }
}
