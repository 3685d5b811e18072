// Which node a type and an external id name, as a batch leaves it: what it has changed, and through to the database.
import type { NodeId, SymbolId } from '../../engine/store.ts'
import type { ByteWriter } from '../format/bytes.ts'
import { EXTERNAL_ID_UNITS_MAX, type UpsertKey } from '../format/keys.ts'
import type { Database } from '../lmdb/database.ts'
import type { PendingWrites } from '../lmdb/pending-writes.ts'

/** Whom a key names now; 0: nobody. */
export interface ChangedKey {
  readonly type: SymbolId
  readonly externalId: string
  readonly node: NodeId
}

export class KeyEdits {
  private readonly database: Database<UpsertKey>
  /** By type and external id; 0 where the node was deleted. */
  private readonly keys = new Map<string, ChangedKey>()

  constructor(database: Database<UpsertKey>) {
    this.database = database
  }

  /** 0: there is none. */
  find(type: SymbolId, externalId: string): NodeId {
    if (type === 0 || externalId.length > EXTERNAL_ID_UNITS_MAX) return 0
    const pending = this.keys.get(`${type} ${externalId}`)
    if (pending !== undefined) return pending.node
    return this.database.get({ type, externalId })?.words[0] ?? 0
  }

  set(type: SymbolId, externalId: string, node: NodeId): void {
    this.keys.set(`${type} ${externalId}`, { type, externalId, node })
  }

  protected changed(): Iterable<ChangedKey> {
    return this.keys.values()
  }

  encode(sink: ByteWriter, operations: PendingWrites): void {
    for (const { type, externalId, node } of this.changed()) {
      if (node === 0) operations.remove(this.database, { type, externalId })
      else {
        operations.begin(sink)
        sink.u32(node)
        operations.put(this.database, { type, externalId }, sink)
      }
    }
  }
}
