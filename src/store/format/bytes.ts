// Reading and writing stored bytes: a growing writer into which a batch encodes its values, and a view on one stored value.
import { textBytes } from './text.ts'

const UTF8_BYTES_PER_UNIT = 3

/**
 * A growing run of bytes, little-endian. A batch encodes all its values into one writer before it changes the database.
 * `reserve` may replace the memory, so `bytes` and `words()` must be read again after each write.
 */
export class ByteWriter {
  bytes: Buffer
  length = 0
  private view: DataView
  private wordView: Uint32Array | null = null

  constructor(capacity = 16 * 1024) {
    this.bytes = Buffer.allocUnsafeSlow(capacity)
    this.view = new DataView(this.bytes.buffer, this.bytes.byteOffset, capacity)
  }

  /** Appends `size` bytes with undefined content and returns their offset. The caller fills them. */
  reserve(size: number): number {
    const at = this.length
    const needed = at + size
    if (needed > this.bytes.byteLength) {
      const grown = Buffer.allocUnsafeSlow(Math.max(needed, this.bytes.byteLength * 2))
      this.bytes.copy(grown, 0, 0, at)
      this.bytes = grown
      this.view = new DataView(grown.buffer, grown.byteOffset, grown.byteLength)
      this.wordView = null
    }
    this.length = needed
    return at
  }

  u8(value: number): void {
    const at = this.reserve(1)
    this.view.setUint8(at, value)
  }

  u16(value: number): void {
    const at = this.reserve(2)
    this.view.setUint16(at, value, true)
  }

  u32(value: number): void {
    const at = this.reserve(4)
    this.view.setUint32(at, value, true)
  }

  i32(value: number): void {
    const at = this.reserve(4)
    this.view.setInt32(at, value, true)
  }

  i64(value: bigint): void {
    const at = this.reserve(8)
    this.view.setBigInt64(at, value, true)
  }

  f64(value: number): void {
    const at = this.reserve(8)
    this.view.setFloat64(at, value, true)
  }

  raw(bytes: Uint8Array): void {
    if (bytes.length === 0) return
    const at = this.reserve(bytes.length)
    this.bytes.set(bytes, at)
  }

  /** Appends `count` words of an array, starting at index `from`. */
  wordRun(words: Uint32Array, count: number, from = 0): void {
    const at = this.reserve(count * 4)
    if ((at & 3) === 0) {
      const own = this.words()
      for (let i = 0, to = at >>> 2; i < count; i++) own[to + i] = words[from + i]!
    } else for (let i = 0; i < count; i++) this.view.setUint32(at + i * 4, words[from + i]!, true)
  }

  /** Appends the length in bytes (32 bits), then the text. */
  text(text: string): void {
    const at = this.reserve(4)
    this.patch(at, this.textWithoutLength(text))
  }

  /** Appends the text without its length. Returns the length in bytes. */
  textWithoutLength(text: string): number {
    const { length } = text
    const at = this.reserve(length)
    const { bytes } = this
    let i = 0
    for (; i < length; i++) {
      const unit = text.charCodeAt(i)
      if (unit >= 0x80) break
      bytes[at + i] = unit
    }
    if (i === length) return length
    this.length = at
    this.raw(textBytes(text))
    return this.length - at
  }

  /** As `textWithoutLength`, for a text of more than some 50 characters: the runtime encodes it. */
  longText(text: string): number {
    const at = this.reserve(text.length * UTF8_BYTES_PER_UNIT)
    const length = this.bytes.write(text, at)
    this.length = at + length
    return length
  }

  /** Appends `size` zero bytes and returns their offset, for `patch`. */
  zeros(size: number): number {
    const at = this.reserve(size)
    for (let i = at; i < at + size; i++) this.bytes[i] = 0
    return at
  }

  /** Overwrites the 32 bits at offset `at`. */
  patch(at: number, value: number): void {
    this.view.setUint32(at, value, true)
  }

  patchF64(at: number, value: number): void {
    this.view.setFloat64(at, value, true)
  }

  /** The whole memory as 32-bit words. Valid until the writer grows. */
  words(): Uint32Array {
    this.wordView ??= new Uint32Array(this.bytes.buffer, this.bytes.byteOffset, this.bytes.byteLength >>> 2)
    return this.wordView
  }

  /** The bytes written so far. Valid until the next write. */
  written(): Uint8Array {
    return this.bytes.subarray(0, this.length)
  }
}

/** A stored value as bytes, 32-bit words and text at once. All views start at its first byte, which is word-aligned. */
export class ValueView {
  readonly view: DataView
  readonly words: Uint32Array
  readonly text: Buffer
  readonly source: Uint8Array
  /** Length of the value in bytes. */
  byteLength: number

  /** `capacity`: size in bytes of the memory of `source`, which may be larger than its current value. */
  constructor(source: Uint8Array, capacity: number) {
    this.source = source
    this.byteLength = source.length
    const { buffer, byteOffset } = source
    this.view = new DataView(buffer, byteOffset, capacity)
    this.words = new Uint32Array(buffer, byteOffset, capacity >>> 2)
    this.text = Buffer.from(buffer as ArrayBuffer, byteOffset, capacity)
  }
}

/** Copies the bytes, wherever they are, into aligned memory and returns a view on the copy. */
export function copyToView(bytes: Uint8Array): ValueView {
  const capacity = Math.max(4, (bytes.length + 3) & ~3)
  const own = new Uint8Array(new ArrayBuffer(capacity), 0, bytes.length)
  own.set(bytes)
  return new ValueView(own, capacity)
}

let sharedView: ValueView | null = null

/**
 * Returns a view on what `getBinaryFast` returned. Valid until the next read of any database.
 * lmdb-js reuses one buffer for all reads: its `length` is that of the value, its memory is larger.
 */
export function viewOfRead(bytes: Uint8Array): ValueView {
  if (sharedView !== null && sharedView.source === bytes) {
    sharedView.byteLength = bytes.length
    return sharedView
  }
  const capacity = (bytes as { maxLength?: number }).maxLength
  if (capacity === undefined || bytes.byteOffset % 4 !== 0) return copyToView(bytes.subarray(0, bytes.length))
  sharedView = new ValueView(bytes, capacity)
  return sharedView
}

/** Returns a writer that contains these bytes. */
export function writerWith(bytes: Uint8Array): ByteWriter {
  const writer = new ByteWriter(bytes.length + 8)
  writer.raw(bytes)
  return writer
}
