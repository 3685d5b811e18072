// A named database whose values have checksums. All values are sealed and verified here. A value that does not match its key is
// never returned: the read throws DataCorruptionError, so that no decision is based on it.
import { assert } from '../../kernel/assert.ts'
import { DataCorruptionError } from '../../kernel/errors.ts'
import { type ByteWriter, copyToView, type ValueView, viewOfRead, writerWith } from '../format/bytes.ts'
import { checksum } from '../format/checksum.ts'
import type { KeyCodec } from '../format/keys.ts'
import { appendSlice, putSlice, type RangeOptions, type RawDatabase, type ReadOptions } from './raw-database.ts'

/** Size of a checksum. It follows the value, which is padded to whole words. */
const CHECKSUM_BYTES = 4

/** Longer than any key. */
export const KEY_BUFFER_BYTES = 4096

const keyBuffer = new Uint8Array(KEY_BUFFER_BYTES)

/** Describes a damaged value. Follows its key in a message. */
export const CHECKSUM_MISMATCH = 'has a wrong checksum'

/** A named database with typed keys and checksummed values. */
export class Database<K> {
  readonly name: string
  /** The lmdb-js database, with checksums: for code that handles bytes. */
  readonly raw: RawDatabase<K>
  readonly codec: KeyCodec<K>
  /** Names the content of the database in an error for a caller of the service. */
  private readonly holds: string

  constructor(name: string, raw: RawDatabase<K>, codec: KeyCodec<K>, holds: string) {
    this.name = name
    this.raw = raw
    this.codec = codec
    this.holds = holds
  }

  /**
   * Reads a value; null if the key does not exist. Valid until the next read of any database. Within a write transaction the
   * read sees its uncommitted writes. Throws DataCorruptionError.
   */
  get(key: K, readOptions?: ReadOptions): ValueView | null {
    let bytes: Uint8Array | undefined
    try {
      bytes = this.raw.getBinaryFast(key, readOptions)
    } catch (failure) {
      throw this.asDamage(failure)
    }
    if (bytes === undefined) return null
    const valueView = viewOfRead(bytes)
    this.verifyAndStrip(key, valueView)
    return valueView
  }

  /** As `get`; throws DataCorruptionError if the key does not exist. */
  getRequired(key: K, readOptions?: ReadOptions): ValueView {
    const valueView = this.get(key, readOptions)
    if (valueView === null) throw this.damageError(key, 'is missing')
    return valueView
  }

  /** Iterates over a range. Each entry has its own view. Throws DataCorruptionError. */
  *entries(range: RangeOptions<K>): Iterable<{ key: K; valueView: ValueView }> {
    try {
      for (const { key, value } of this.raw.getRange(range)) {
        const valueView = copyToView(value)
        this.verifyAndStrip(key, valueView)
        yield { key, valueView }
      }
    } catch (failure) {
      throw this.asDamage(failure)
    }
  }

  /** As `entries`, but yields null for a value with a wrong checksum and continues. For checkers. */
  *scanUnchecked(range: RangeOptions<K>): Iterable<{ key: K; valueView: ValueView | null }> {
    try {
      for (const { key, value } of this.raw.getRange(range)) {
        const valueView = copyToView(value)
        yield { key, valueView: this.matchesChecksum(key, valueView) ? withoutChecksum(valueView) : null }
      }
    } catch (failure) {
      throw this.asDamage(failure)
    }
  }

  private verifyAndStrip(key: K, valueView: ValueView): void {
    if (!this.matchesChecksum(key, valueView)) throw this.damageError(key, CHECKSUM_MISMATCH)
    withoutChecksum(valueView)
  }

  private matchesChecksum(key: K, { words, byteLength }: ValueView): boolean {
    const count = (byteLength >>> 2) - 1
    return (byteLength & 3) === 0 && count >= 0 && words[count] === checksum(words, 0, count, this.codec.seed(key))
  }

  /** Pads the value that starts at `start` in the writer to whole words and appends its checksum. */
  seal(key: K, writer: ByteWriter, start: number): void {
    assert((start & 3) === 0, 'a value begins at a word')
    const rest = -writer.length & 3
    if (rest > 0) writer.zeros(rest)
    const first = start >>> 2
    writer.u32(checksum(writer.words(), first, (writer.length >>> 2) - first, this.codec.seed(key)))
  }

  /** Within a write transaction: puts a value sealed in the writer, from `start` to `end`. */
  putSealed(key: K, writer: ByteWriter, start: number, end: number): void {
    putSlice(this.raw, key, writer.bytes, start, end)
  }

  /** As `putSealed`, for a key that is most likely greater than all others. */
  appendSealed(key: K, writer: ByteWriter, start: number, end: number): void {
    appendSlice(this.raw, key, writer.bytes, start, end)
  }

  /** Within a write transaction: seals and puts a value. */
  put(key: K, value: Uint8Array): void {
    const writer = writerWith(value)
    this.seal(key, writer, 0)
    this.raw.put(key, writer.written())
  }

  /** Within a write transaction: removes a key. */
  remove(key: K): void {
    this.raw.remove(key)
  }

  /** The encoded key. */
  keyBytes(key: K): Uint8Array {
    return keyBuffer.slice(0, this.codec.writeKey(key, keyBuffer, 0))
  }

  /** Whether the stored value matches its checksum under the encoded key. */
  hasValidChecksum(bytes: Uint8Array, value: Uint8Array): boolean {
    try {
      return this.matchesChecksum(this.codec.readKey(bytes, 0, bytes.length), copyToView(value))
    } catch (failure) {
      if (failure instanceof RangeError) return false
      throw failure
    }
  }

  /** An error that names the key. `what` completes the sentence, for example `is missing`. */
  damageError(key: K, what: string): DataCorruptionError {
    return new DataCorruptionError(this.holds, `${this.name} ${formatKey(key)} ${what}`)
  }

  /** Errors of lmdb-js for a page, and RangeErrors for an invalid key, are data corruption as well. */
  private asDamage(failure: unknown): unknown {
    const isOfPage = failure instanceof RangeError || typeof (failure as { code?: unknown }).code === 'number'
    return isOfPage ? new DataCorruptionError(this.holds, `${this.name}: ${(failure as Error).message}`) : failure
  }
}

function withoutChecksum(valueView: ValueView): ValueView {
  valueView.byteLength -= CHECKSUM_BYTES
  return valueView
}

/** Formats a key for a message to an operator. */
export function formatKey(key: unknown): string {
  if (typeof key === 'number') return String(key)
  const parts = Object.entries(key as object).map(([name, part]) => {
    const text = part instanceof Uint8Array ? Buffer.from(part).toString('hex') : JSON.stringify(part)
    return `${name} ${text}`
  })
  return parts.join(', ')
}
