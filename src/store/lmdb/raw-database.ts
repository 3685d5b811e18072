// Types of a named database of lmdb-js: keys, bytes, and the read transaction. Also puts values that are slices of a buffer.

/** Options of a read. Undefined: the read transaction of lmdb-js, or the write transaction in progress. */
export interface ReadOptions {
  readonly transaction: object | undefined
}

/** A range of keys. */
export interface RangeOptions<K> extends Partial<ReadOptions> {
  /** Required: the default of lmdb-js is no valid key of ours. */
  readonly start: K
  /** Exclusive. For a reverse range the lower end. */
  readonly end: K | undefined
  readonly limit?: number
  readonly reverse?: boolean
}

/**
 * A named database of lmdb-js. Within a write transaction, single reads see that transaction and ignore the read options;
 * ranges see it only without a read transaction in their options.
 */
export interface RawDatabase<K> {
  /** Returns a buffer that the next read of any database overwrites. */
  getBinaryFast(key: K, readOptions?: ReadOptions): Uint8Array | undefined
  getRange(range: RangeOptions<K>): Iterable<{ key: K; value: Uint8Array }>
  getKeys(range: RangeOptions<K>): Iterable<K>
  put(key: K, value: Uint8Array, options?: { readonly append: boolean }): unknown
  remove(key: K): unknown
  getStats(): object
}

/** The number of entries, duplicates included. */
export function entryCountOf(database: Pick<RawDatabase<never>, 'getStats'>): number {
  return (database.getStats() as { readonly entryCount: number }).entryCount
}

/**
 * Puts the bytes from `start` to `end`. lmdb-js reads the range from properties of the buffer; a view for each value would
 * cost as much as the put. Only within a write transaction, where the value is copied at once. `bytes` must start at the
 * beginning of its memory.
 */
export function putSlice<K>(database: RawDatabase<K>, key: K, bytes: Uint8Array, start: number, end: number): void {
  database.put(key, sliceOptions(bytes, start, end))
}

/**
 * As `putSlice`, for a key greater than all others: needs no search, and fills pages completely. Falls back to `putSlice` if
 * the key is not the greatest.
 */
export function appendSlice<K>(database: RawDatabase<K>, key: K, bytes: Uint8Array, start: number, end: number): void {
  const slice = sliceOptions(bytes, start, end)
  const { result } = database.put(key, slice, APPEND) as { result?: boolean }
  if (result === false) database.put(key, slice)
}

const APPEND = { append: true }

function sliceOptions(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const slice = bytes as Uint8Array & { start: number; end: number }
  slice.start = start
  slice.end = end
  return slice
}
