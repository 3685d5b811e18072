// A file or a stream as batches of lines, each with its number and with where it begins. A batch is as large as the memory
// that it may take, and no line may be larger. Lines stay bytes until somebody asks for their text.
import { isUtf8 } from 'node:buffer'
import { createReadStream, statSync } from 'node:fs'
import { OperationalError } from '../kernel/errors.ts'

/**
 * Each batch writes a good part of the lists anew, so a large one saves writing. A relationship waits in columns; a node, or
 * whatever else it is, needs more memory until its batch is written, and counts as several.
 */
const BATCH_WEIGHT = 1_000_000
const NODE_WEIGHT = 10
const BATCH_BYTES = 160 * 1024 * 1024
/** A node may have been given several bodies' worth of properties, one after the other. */
const LINE_BYTES_MAX = 256 * 1024 * 1024
const CHUNK_BYTES = 1024 * 1024
const NEWLINE = 10
const END_OF_LINE = Buffer.from([NEWLINE])
const BRACE = 0x7b
/** What tells a relationship from all other lines: `{"r`. */
const RELATIONSHIP_BYTE = 0x72

/**
 * Of all bytes from the first one on, however they come: each block is hashed with the hash of those before it. It tells
 * apart what was mended or mixed up, not what somebody forged; a hash against that would take a fortieth of an import.
 */
class PrefixHash {
  private hash = 0n
  private readonly block = Buffer.allocUnsafeSlow(CHUNK_BYTES)
  private filled = 0
  /** Up to which byte of the file. */
  private offset = 0

  /** Takes in what it has not had of `bytes`, which begin at `offset` of the file. */
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

/** Valid until the next one is asked for. */
export class LineBatch {
  readonly bytes: Buffer
  readonly count: number
  /** Number of its first line, from 1. */
  readonly firstLine: number
  /** Of its first byte, in the file. */
  readonly offset: number
  private readonly starts: Uint32Array
  private readonly prefix: PrefixHash

  /** `starts` has one more: where the line behind the last one would begin. */
  constructor(bytes: Buffer, starts: Uint32Array, count: number, line: number, offset: number, prefix: PrefixHash) {
    this.bytes = bytes
    this.starts = starts
    this.prefix = prefix
    this.count = count
    this.firstLine = line
    this.offset = offset
  }

  /** Where a line begins among the bytes. */
  startOf(at: number): number {
    return this.starts[at]!
  }

  /** Where it ends: the byte behind it is no part of any line. */
  endOf(at: number): number {
    return this.starts[at + 1]! - 1
  }

  /** Where it begins in the file. */
  offsetOf(at: number): number {
    return this.offset + this.starts[at]!
  }

  /** The line that begins there in the file; null when none does. `count` is the line behind the last one. */
  lineAt(offset: number): number | null {
    for (let at = 0; at <= this.count; at++) if (this.offsetOf(at) === offset) return at
    return null
  }

  /** Of everything that stands before a line in the file. Asked from line to line, never backwards. */
  prefixHash(at: number): string {
    this.prefix.update(this.bytes.subarray(0, this.startOf(at)), this.offset)
    return this.prefix.toString()
  }

  isBlank(at: number): boolean {
    return this.bytes[this.startOf(at)] !== BRACE && this.text(at) === ''
  }

  /** Of a line without anything in it, nothing. Throws OperatorFault. */
  text(at: number): string {
    // A byte order mark, and the carriage returns of other systems, are no part of a line.
    const [start, end] = [this.startOf(at), this.endOf(at)]
    let text = this.bytes.toString('utf8', start, end)
    // What stands in the place of bytes that are no text would make two names one; it may also be what was written.
    if (text.includes('\ufffd') && !isUtf8(this.bytes.subarray(start, end)))
      throw new OperationalError(`line ${this.firstLine + at}: expected UTF-8 text`)
    if (this.firstLine + at === 1 && text.startsWith('\ufeff')) text = text.slice(1)
    if (text.endsWith('\r')) text = text.slice(0, -1)
    return text.trim() === '' ? '' : text
  }
}

export class LineReader {
  /** Null when nobody knows. */
  readonly bytes: number | null
  /** How many there were so far. */
  lines = 0
  private readonly batchWeight: number
  private readonly stream: AsyncIterable<Buffer> & { destroy?(): void }
  private readonly prefix = new PrefixHash()
  /** What has been read and not been taken, from its first byte on. */
  private block: Buffer
  private filled = 0
  private starts = new Uint32Array(1 << 16)

  constructor(path: string, batchWeight = BATCH_WEIGHT) {
    this.batchWeight = batchWeight
    this.bytes = path === '-' ? null : statSync(path).size
    // Of a file it is known how large it will be; only a very long line asks for more.
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
        throw new OperationalError(`line ${this.lines + count + 1}: longer than ${LINE_BYTES_MAX} bytes`)
    }
    if (this.filled > start) {
      // Every line ends: one more that is written behind this one later begins where it would have begun.
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
