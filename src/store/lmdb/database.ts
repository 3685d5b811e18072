// A named database whose values carry checksums: the one place that seals what is written and looks at what is read.
// A value that does not fit its key is never handed on: whoever asked gets a DamageFault, and so no decision at all.
import { assert } from '../../kernel/assert.ts'
import { DataCorruptionError } from '../../kernel/errors.ts'
import { type ByteWriter, copyToView, type ValueView, viewOfRead, writerWith } from '../format/bytes.ts'
import { checksum } from '../format/checksum.ts'
import type { KeyCodec } from '../format/keys.ts'
import { appendSlice, putSlice, type RangeOptions, type RawDatabase, type ReadOptions } from './raw-database.ts'

/** A checksum, behind the value and what fills its last word up. */
export const CHECKSUM_BYTES = 4

/** Longer than any key. */
export const KEY_BUFFER_BYTES = 4096

const keyBuffer = new Uint8Array(KEY_BUFFER_BYTES)

/** What is said of a value behind its key. */
export const CHECKSUM_MISMATCH = 'does not fit its checksum'

export class Database<K> {
  readonly name: string
  /** As the package has it, checksums and all: for what looks at bytes, not at values. */
  readonly raw: RawDatabase<K>
  readonly codec: KeyCodec<K>
  /** What the damage is called before the caller of the service. */
  private readonly holds: string

  constructor(name: string, raw: RawDatabase<K>, codec: KeyCodec<K>, holds: string) {
    this.name = name
    this.raw = raw
    this.codec = codec
    this.holds = holds
  }

  /** Null when there is none. Valid until the next read of any database. Inside a write transaction it sees that one. */
  get(key: K, reading?: ReadOptions): ValueView | null {
    let bytes: Uint8Array | undefined
    try {
      bytes = this.raw.getBinaryFast(key, reading)
    } catch (failure) {
      throw this.asDamage(failure)
    }
    if (bytes === undefined) return null
    const window = viewOfRead(bytes)
    this.verifyAndStrip(key, window)
    return window
  }

  /** As `get`, and it must be there. */
  getRequired(key: K, reading?: ReadOptions): ValueView {
    const window = this.get(key, reading)
    if (window === null) throw this.damageError(key, 'is missing')
    return window
  }

  /** Each entry with a window of its own. */
  *entries(range: RangeOptions<K>): Iterable<{ key: K; window: ValueView }> {
    try {
      for (const { key, value } of this.raw.getRange(range)) {
        const window = copyToView(value)
        this.verifyAndStrip(key, window)
        yield { key, window }
      }
    } catch (failure) {
      throw this.asDamage(failure)
    }
  }

  /** For the checker: null for a value that does not fit its checksum, and it goes on. */
  *scanUnchecked(range: RangeOptions<K>): Iterable<{ key: K; window: ValueView | null }> {
    try {
      for (const { key, value } of this.raw.getRange(range)) {
        const window = copyToView(value)
        yield { key, window: this.matchesChecksum(key, window) ? withoutChecksum(window) : null }
      }
    } catch (failure) {
      throw this.asDamage(failure)
    }
  }

  private verifyAndStrip(key: K, window: ValueView): void {
    if (!this.matchesChecksum(key, window)) throw this.damageError(key, CHECKSUM_MISMATCH)
    withoutChecksum(window)
  }

  private matchesChecksum(key: K, { words, byteLength }: ValueView): boolean {
    const count = (byteLength >>> 2) - 1
    return (byteLength & 3) === 0 && count >= 0 && words[count] === checksum(words, 0, count, this.codec.seed(key))
  }

  /** Fills what stands in the sink from `start` on up to whole words, and appends its checksum. */
  seal(key: K, sink: ByteWriter, start: number): void {
    assert((start & 3) === 0, 'a value begins at a word')
    const rest = -sink.length & 3
    if (rest > 0) sink.zeros(rest)
    const first = start >>> 2
    sink.u32(checksum(sink.words(), first, (sink.length >>> 2) - first, this.codec.seed(key)))
  }

  /** Within a write transaction, for what has been sealed in the sink. */
  putSealed(key: K, sink: ByteWriter, start: number, end: number): void {
    putSlice(this.raw, key, sink.bytes, start, end)
  }

  /** As it, for a key that is most likely above all others. */
  appendSealed(key: K, sink: ByteWriter, start: number, end: number): void {
    appendSlice(this.raw, key, sink.bytes, start, end)
  }

  put(key: K, value: Uint8Array): void {
    const sink = writerWith(value)
    this.seal(key, sink, 0)
    this.raw.put(key, sink.written())
  }

  remove(key: K): void {
    this.raw.remove(key)
  }

  keyBytes(key: K): Uint8Array {
    return keyBuffer.slice(0, this.codec.writeKey(key, keyBuffer, 0))
  }

  /** Whether the value fits the checksum that it bears, under the bytes of that key. */
  hasValidChecksum(bytes: Uint8Array, value: Uint8Array): boolean {
    try {
      return this.matchesChecksum(this.codec.readKey(bytes, 0, bytes.length), copyToView(value))
    } catch (failure) {
      if (failure instanceof RangeError) return false
      throw failure
    }
  }

  damageError(key: K, what: string): DataCorruptionError {
    return new DataCorruptionError(this.holds, `${this.name} ${formatKey(key)} ${what}`)
  }

  /** What the package says of a page, and what becomes of a key that is none, is damage as well. */
  private asDamage(failure: unknown): unknown {
    const isOfPage = failure instanceof RangeError || typeof (failure as { code?: unknown }).code === 'number'
    return isOfPage ? new DataCorruptionError(this.holds, `${this.name}: ${(failure as Error).message}`) : failure
  }
}

function withoutChecksum(window: ValueView): ValueView {
  window.byteLength -= CHECKSUM_BYTES
  return window
}

/** As an operator can read it. */
export function formatKey(key: unknown): string {
  if (typeof key === 'number') return String(key)
  const parts = Object.entries(key as object).map(([name, part]) => {
    const text = part instanceof Uint8Array ? Buffer.from(part).toString('hex') : JSON.stringify(part)
    return `${name} ${text}`
  })
  return parts.join(', ')
}
