// Intents: work in another environment that a crash may interrupt. They are stored with the batch that causes the work.
import type { ByteWriter } from '../format/bytes.ts'
import type { SymbolKey } from '../format/keys.ts'
import type { Database } from '../lmdb/database.ts'
import { META_KIND } from '../lmdb/databases.ts'
import type { PendingWrites } from '../lmdb/pending-writes.ts'

/** The intents that a batch writes or removes. */
export class IntentEdits {
  private readonly meta: Database<SymbolKey>
  /** By number; null: removed. */
  private readonly intents = new Map<number, string | null>()

  constructor(meta: Database<SymbolKey>) {
    this.meta = meta
  }

  /** Stores an intent. The number is drawn at random. */
  put(number: number, text: string): void {
    this.intents.set(number, text)
  }

  /** Whether an intent is stored, as this batch has found it. */
  has(number: number): boolean {
    return this.meta.get({ kind: META_KIND.intent, symbol: number }) !== null
  }

  remove(number: number): void {
    this.intents.set(number, null)
  }

  encode(writer: ByteWriter, operations: PendingWrites): void {
    for (const [number, text] of this.intents) {
      const key = { kind: META_KIND.intent, symbol: number }
      if (text === null) operations.remove(this.meta, key)
      else {
        operations.begin(writer)
        writer.text(text)
        operations.put(this.meta, key, writer)
      }
    }
  }
}
