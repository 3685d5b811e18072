// Flags of an environment, stored next to the graph.
import type { ByteWriter } from '../format/bytes.ts'
import type { SymbolKey } from '../format/keys.ts'
import type { Database } from '../lmdb/database.ts'
import { type EnvironmentFlag, META_KIND } from '../lmdb/databases.ts'
import type { PendingWrites } from '../lmdb/pending-writes.ts'

/** The flags of an environment as edited by a batch. */
export class FlagEdits {
  private readonly meta: Database<SymbolKey>
  private readonly flags = new Map<EnvironmentFlag, boolean>()

  constructor(meta: Database<SymbolKey>) {
    this.meta = meta
  }

  has(flag: EnvironmentFlag): boolean {
    return this.flags.get(flag) ?? this.meta.get({ kind: META_KIND.flag, symbol: flag }) !== null
  }

  set(flag: EnvironmentFlag): void {
    this.flags.set(flag, true)
  }

  remove(flag: EnvironmentFlag): void {
    this.flags.set(flag, false)
  }

  encode(writer: ByteWriter, operations: PendingWrites): void {
    for (const [flag, isSet] of this.flags) {
      const key = { kind: META_KIND.flag, symbol: flag }
      if (!isSet) operations.remove(this.meta, key)
      else {
        operations.begin(writer)
        writer.u32(1)
        operations.put(this.meta, key, writer)
      }
    }
  }
}
