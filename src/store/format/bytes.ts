// Bytes on their way in and out: a growing sink that a batch writes to, and a window through which a stored value is read.
import { textBytes } from './text.ts'

/** One growing run of bytes; little-endian. A batch encodes everything into one sink before it touches the database. */
export class ByteWriter {
  bytes: Buffer
  length = 0
  private view: DataView
  private wordView: Uint32Array | null = null

  constructor(capacity = 16 * 1024) {
    this.bytes = Buffer.allocUnsafeSlow(capacity)
    this.view = new DataView(this.bytes.buffer, this.bytes.byteOffset, capacity)
  }

  /** Room to be filled by whoever takes it. */
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

  /** `count` words of an array, from `from` on. */
  wordRun(words: Uint32Array, count: number, from = 0): void {
    const at = this.reserve(count * 4)
    if ((at & 3) === 0) {
      const own = this.words()
      for (let i = 0, to = at >>> 2; i < count; i++) own[to + i] = words[from + i]!
    } else for (let i = 0; i < count; i++) this.view.setUint32(at + i * 4, words[from + i]!, true)
  }

  /** Byte length, then the text. */
  text(text: string): void {
    const at = this.reserve(4)
    this.patch(at, this.textWithoutLength(text))
  }

  /** Answers the length in bytes. */
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

  /** Room to be filled by `patch`, with zeros in it. */
  zeros(size: number): number {
    const at = this.reserve(size)
    for (let i = at; i < at + size; i++) this.bytes[i] = 0
    return at
  }

  patch(at: number, value: number): void {
    this.view.setUint32(at, value, true)
  }

  patchF64(at: number, value: number): void {
    this.view.setFloat64(at, value, true)
  }

  /** All of its memory as words, until it grows. */
  words(): Uint32Array {
    this.wordView ??= new Uint32Array(this.bytes.buffer, this.bytes.byteOffset, this.bytes.byteLength >>> 2)
    return this.wordView
  }

  /** What was written; valid until more is. */
  written(): Uint8Array {
    return this.bytes.subarray(0, this.length)
  }
}

/** A stored value as bytes, words and text at once; all from its first byte, which is aligned to a word. */
export class ValueView {
  readonly view: DataView
  readonly words: Uint32Array
  readonly text: Buffer
  readonly source: Uint8Array
  /** Length of the value. */
  byteLength: number

  /** `capacity` is the size of the memory behind `source`, which may be larger than the value that it holds now. */
  constructor(source: Uint8Array, capacity: number) {
    this.source = source
    this.byteLength = source.length
    const { buffer, byteOffset } = source
    this.view = new DataView(buffer, byteOffset, capacity)
    this.words = new Uint32Array(buffer, byteOffset, capacity >>> 2)
    this.text = Buffer.from(buffer as ArrayBuffer, byteOffset, capacity)
  }
}

/** A window on bytes of their own, wherever they lie. */
export function copyToView(bytes: Uint8Array): ValueView {
  const capacity = Math.max(4, (bytes.length + 3) & ~3)
  const own = new Uint8Array(new ArrayBuffer(capacity), 0, bytes.length)
  own.set(bytes)
  return new ValueView(own, capacity)
}

let sharedView: ValueView | null = null

/**
 * A window on what `getBinaryFast` returned: valid until the next read of any database.
 * The database hands out one buffer again and again, whose `length` is that of the value and whose memory is larger.
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

/** A sink that holds these bytes. */
export function writerWith(bytes: Uint8Array): ByteWriter {
  const sink = new ByteWriter(bytes.length + 8)
  sink.raw(bytes)
  return sink
}
