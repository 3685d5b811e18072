// A named database in memory, with the order of LMDB: keys are compared by their encoded bytes, or as numbers.
import type { KeyCodec } from '../format/keys.ts'
import type { RangeOptions, RawDatabase, ReadOptions } from '../lmdb/raw-database.ts'
import { SortedKeys } from './sorted-keys.ts'

/** Longer than any key. */
const KEY_BYTES_MAX = 4096

/** State that the databases of one file share. */
export interface MemoryState {
  /** Identifies the latest commit. A read transaction holds the token of its own. */
  commit: object
  /** True while a write transaction runs. Reads then see its writes. */
  isWriting: boolean
}

type StoredKey = string | number

/** Converts keys to what a map and a sorted set can hold, in the same order. */
interface KeyConversion<K> {
  stored(key: K): StoredKey
  key(stored: StoredKey): K
}

/** Keys that are numbers. */
export const numericKeys: KeyConversion<number> = { stored: (key) => key, key: (stored) => stored as number }

/** Keys as strings of which each unit is one byte. Such strings have the order of the bytes. */
export function encodedKeys<K>(codec: KeyCodec<K>): KeyConversion<K> {
  const buffer = Buffer.alloc(KEY_BYTES_MAX)
  return {
    stored: (key) => buffer.toString('latin1', 0, codec.writeKey(key, buffer, 0)),
    key(stored) {
      const bytes = Buffer.from(stored as string, 'latin1')
      return codec.readKey(bytes, 0, bytes.length)
    },
  }
}

/** A named database of a MemoryFile. */
export class MemoryDatabase<K> implements RawDatabase<K> {
  private readonly state: MemoryState
  private readonly keys: KeyConversion<K>
  private readonly values = new Map<StoredKey, Uint8Array>()
  private readonly order = new SortedKeys<StoredKey>()

  constructor(state: MemoryState, keys: KeyConversion<K>) {
    this.state = state
    this.keys = keys
  }

  getBinaryFast(key: K, readOptions?: ReadOptions): Uint8Array | undefined {
    this.checkTransaction(readOptions)
    return this.values.get(this.keys.stored(key))
  }

  *getRange(range: RangeOptions<K>): Iterable<{ key: K; value: Uint8Array }> {
    for (const stored of this.storedKeys(range)) yield { key: this.keys.key(stored), value: this.values.get(stored)! }
  }

  *getKeys(range: RangeOptions<K>): Iterable<K> {
    for (const stored of this.storedKeys(range)) yield this.keys.key(stored)
  }

  /** Searches each key anew, so that writes during the iteration do not disturb it. */
  private *storedKeys({ start, end, limit, reverse, transaction }: RangeOptions<K>): Iterable<StoredKey> {
    const bound = end === undefined ? null : this.keys.stored(end)
    let at: StoredKey = this.keys.stored(start)
    for (let count = 0; limit === undefined || count < limit; count++) {
      this.checkTransaction({ transaction })
      const next: StoredKey | null =
        reverse === true ? this.order.atOrBefore(at, count > 0) : this.order.atOrAfter(at, count > 0)
      if (next === null || (bound !== null && (reverse === true ? next <= bound : next >= bound))) return
      yield next
      at = next
    }
  }

  getStats(): { readonly entryCount: number } {
    return { entryCount: this.values.size }
  }

  put(key: K, value: Uint8Array): unknown {
    const stored = this.keys.stored(key)
    // `putSlice` passes a range of the buffer in its properties.
    const { start = 0, end = value.length } = value as { start?: number; end?: number }
    if (!this.values.has(stored)) this.order.add(stored)
    this.values.set(stored, new Uint8Array(value.subarray(start, end)))
    return { result: true }
  }

  remove(key: K): unknown {
    const stored = this.keys.stored(key)
    if (this.values.delete(stored)) this.order.remove(stored)
    return { result: true }
  }

  /** Removes all entries. */
  clear(): void {
    this.values.clear()
  }

  /** There are no older versions, so a snapshot that was kept over a commit must not read. */
  private checkTransaction(readOptions: ReadOptions | undefined): void {
    const commit = readOptions?.transaction
    if (commit !== undefined && commit !== this.state.commit && !this.state.isWriting) {
      throw new Error(
        'the store in memory was written since the snapshot was opened: close a snapshot before an `await`',
      )
    }
  }
}
