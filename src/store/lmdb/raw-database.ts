// A named database as the package has it: keys and bytes, the moment that a reading is of, and values put as parts of a
// buffer.

export interface ReadOptions {
  readonly transaction: object | undefined
}

export interface RangeOptions<K> extends Partial<ReadOptions> {
  /** Always given: the package's own default is no key of ours. */
  readonly start: K
  /** Exclusive; when reading in reverse, the lower end. */
  readonly end: K | undefined
  readonly limit?: number
  readonly reverse?: boolean
}

/**
 * A named database. Inside a write transaction single reads see that transaction, whatever `reading` says; ranges do so
 * only where they are given no reading.
 */
export interface RawDatabase<K> {
  /** One buffer for all: valid until the next read of any database. */
  getBinaryFast(key: K, reading?: ReadOptions): Uint8Array | undefined
  getRange(range: RangeOptions<K>): Iterable<{ key: K; value: Uint8Array }>
  getKeys(range: RangeOptions<K>): Iterable<K>
  put(key: K, value: Uint8Array, options?: { readonly append: boolean }): unknown
  remove(key: K): unknown
}

/**
 * Puts a part of the bytes, of which the package takes `start` and `end` for its own: a view made for each value would cost
 * as much as the put. Within a write transaction alone, where the value is copied at once; the bytes begin their memory.
 */
export function putSlice<K>(database: RawDatabase<K>, key: K, bytes: Uint8Array, start: number, end: number): void {
  database.put(key, sliceOptions(bytes, start, end))
}

/**
 * As `putPiece`, for a key that is above all others: it needs no search, and leaves its page full. Where it is not above
 * them, it is put in its place.
 */
export function appendSlice<K>(database: RawDatabase<K>, key: K, bytes: Uint8Array, start: number, end: number): void {
  const piece = sliceOptions(bytes, start, end)
  const { result } = database.put(key, piece, APPEND) as { result?: boolean }
  if (result === false) database.put(key, piece)
}

const APPEND = { append: true }

function sliceOptions(bytes: Uint8Array, start: number, end: number): Uint8Array {
  const piece = bytes as Uint8Array & { start: number; end: number }
  piece.start = start
  piece.end = end
  return piece
}
