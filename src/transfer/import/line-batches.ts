// Splits a file or a stream into batches of lines with line numbers and offsets. The size of a batch is limited by the memory
// that it needs. Lines stay bytes until their text is needed.
import { isUtf8 } from 'node:buffer'
import { createReadStream, statSync } from 'node:fs'
import { OperationalError } from '../../kernel/errors.ts'

/**
 * In a graph with relationships each batch rewrites many adjacency lists, so large batches write less. Weights estimate memory: a
 * relationship waits in columns, while a node, or any other line, needs about ten times as much until its batch is written.
 */
export const BATCH_WEIGHT = 1_000_000
/** The lists of a sorted load are written once, so its batches may be small. */
export const SORTED_BATCH_WEIGHT = 125_000
const NODE_WEIGHT = 10
const BATCH_BYTES = 160 * 1024 * 1024
/** Larger than a request body, because several captures may have added properties to one node. */
const LINE_BYTES_MAX = 256 * 1024 * 1024
const CHUNK_BYTES = 1024 * 1024
const NEWLINE = 10
const END_OF_LINE = Buffer.from([NEWLINE])
const BRACE = 0x7b
/** Only relationships start with `{"r`. */
const RELATIONSHIP_BYTE = 0x72

/**
 * A running hash of all bytes from the start of the file: each block is hashed with the previous hash as seed (xxHash64). It
 * detects accidental changes, not forgery; a cryptographic hash would add about 2.5 % to the time of an import.
 */
class PrefixHash {
  private hash = 0n
  private readonly block = Buffer.allocUnsafeSlow(CHUNK_BYTES)
  private filled = 0
  /** Offset in the file up to which bytes are hashed. */
  private offset = 0

  /** Adds the part of `bytes` that is not hashed yet. `offset`: where `bytes` begin in the file. */
  update(bytes: Buffer, offset: number): void {
    let at = this.offset - offset
    this.offset = offset + bytes.length
    while (at < bytes.length) {
      if (this.filled === 0 && bytes.length - at >= CHUNK_BYTES) {
        this.hash = Bun.hash.xxHash64(bytes.subarray(at, at + CHUNK_BYTES), this.hash)
        at += CHUNK_BYTES
        continue
      }
      const copied = bytes.copy(this.block, this.filled, at)
      at += copied
      this.filled += copied
      if (this.filled < CHUNK_BYTES) continue
      this.hash = Bun.hash.xxHash64(this.block, this.hash)
      this.filled = 0
    }
  }

  toString(): string {
    return Bun.hash.xxHash64(this.block.subarray(0, this.filled), this.hash).toString(16)
  }
}

/** Consecutive lines of the file. Valid until the reader yields the next batch. */
export class LineBatch {
  readonly bytes: Buffer
  readonly count: number
  /** Number of the first line, from 1. */
  readonly firstLine: number
  /** Offset of the first byte in the file. */
  readonly offset: number
  private readonly starts: Uint32Array
  private readonly prefix: PrefixHash

  /** `starts` has `count + 1` entries; the last one is where the next line would begin. */
  constructor(bytes: Buffer, starts: Uint32Array, count: number, line: number, offset: number, prefix: PrefixHash) {
    this.bytes = bytes
    this.starts = starts
    this.prefix = prefix
    this.count = count
    this.firstLine = line
    this.offset = offset
  }

  /** Index in `bytes` of the first byte of a line. */
  startOf(at: number): number {
    return this.starts[at]!
  }

  /** Index in `bytes` of the newline after a line. */
  endOf(at: number): number {
    return this.starts[at + 1]! - 1
  }

  /** Offset in the file of the first byte of a line. */
  offsetOf(at: number): number {
    return this.offset + this.starts[at]!
  }

  /** The line that begins at an offset of the file, or null. May return `count`, which is the line after the last one. */
  lineAt(offset: number): number | null {
    for (let at = 0; at <= this.count; at++) if (this.offsetOf(at) === offset) return at
    return null
  }

  /** The hash of all bytes before a line. Must be called with ascending lines. */
  prefixHash(at: number): string {
    this.prefix.update(this.bytes.subarray(0, this.startOf(at)), this.offset)
    return this.prefix.toString()
  }

  isBlank(at: number): boolean {
    return this.bytes[this.startOf(at)] !== BRACE && this.text(at) === ''
  }

  /** The text of a line; empty if it is blank. Throws OperationalError if it is not UTF-8. */
  text(at: number): string {
    // A byte order mark and carriage returns are not part of a line.
    const [start, end] = [this.startOf(at), this.endOf(at)]
    let text = this.bytes.toString('utf8', start, end)
    // U+FFFD replaces invalid bytes, which could make two names equal; but the character may also be in the file itself.
    if (text.includes('\ufffd') && !isUtf8(this.bytes.subarray(start, end)))
      throw new OperationalError(`line ${this.firstLine + at}: expected UTF-8 text`)
    if (this.firstLine + at === 1 && text.startsWith('\ufeff')) text = text.slice(1)
    if (text.endsWith('\r')) text = text.slice(0, -1)
    return text.trim() === '' ? '' : text
  }
}

/** Reads a file in batches of lines. */
export class LineReader {
  /** Length of the file; null for the standard input. */
  readonly bytes: number | null
  /** Lines read so far. */
  lines = 0
  /** The weight of the next batches. */
  batchWeight: number
  private readonly stream: AsyncIterable<Buffer> & { destroy?(): void }
  private readonly prefix = new PrefixHash()
  /** Bytes that were read and not yet yielded. */
  private block: Buffer
  private filled = 0
  private starts = new Uint32Array(1 << 16)

  constructor(path: string, batchWeight: number) {
    this.batchWeight = batchWeight
    const found = path === '-' ? null : statSync(path)
    if (found?.isDirectory()) throw new OperationalError(`${path} is a folder: name a file`)
    this.bytes = found === null ? null : found.size
    // Sized by the length of the file; only a very long line makes it grow.
    this.block = Buffer.allocUnsafeSlow(Math.min(this.bytes ?? 0, BATCH_BYTES) + 2 * CHUNK_BYTES)
    this.stream = path === '-' ? process.stdin : createReadStream(path, { highWaterMark: CHUNK_BYTES })
  }

  async *batches(): AsyncGenerator<LineBatch> {
    let offset = 0
    let count = 0
    let weight = 0
    let start = 0
    const take = (end: number): void => {
      if (count + 2 > this.starts.length) this.starts = doubled(this.starts)
      this.starts[count++] = start
      this.starts[count] = end + 1
      weight += this.block[start] === BRACE && this.block[start + 2] === RELATIONSHIP_BYTE ? 1 : NODE_WEIGHT
      start = end + 1
    }
    const batch = (): LineBatch => {
      const taken = new LineBatch(this.block, this.starts, count, this.lines + 1, offset, this.prefix)
      this.lines += count
      return taken
    }
    for await (const chunk of this.stream) {
      let base = this.filled
      this.append(chunk)
      for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, at + 1)) {
        take(base + at)
        if (weight < this.batchWeight && start < BATCH_BYTES) continue
        yield batch()
        this.prefix.update(this.block.subarray(0, start), offset)
        this.block.copyWithin(0, start, this.filled)
        this.filled -= start
        offset += start
        base -= start
        count = 0
        weight = 0
        start = 0
      }
      if (this.filled - start > LINE_BYTES_MAX)
        throw new OperationalError(`line ${this.lines + count + 1}: the line is longer than ${LINE_BYTES_MAX} bytes`)
    }
    if (this.filled > start) {
      // Terminates the last line, so that lines appended to the file later begin at the same offset.
      this.append(END_OF_LINE)
      take(this.filled - 1)
    }
    if (count > 0) yield batch()
  }

  private append(chunk: Buffer): void {
    const length = this.filled + chunk.length
    if (length > this.block.length) {
      const larger = Buffer.allocUnsafeSlow(Math.max(length, this.block.length * 2))
      this.block.copy(larger, 0, 0, this.filled)
      this.block = larger
    }
    chunk.copy(this.block, this.filled)
    this.filled = length
  }

  close(): void {
    this.stream.destroy?.()
  }
}

function doubled(starts: Uint32Array): Uint32Array<ArrayBuffer> {
  const larger = new Uint32Array(starts.length * 2)
  larger.set(starts)
  return larger
}
