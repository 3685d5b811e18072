// A file or a stream as batches of lines, each with its number and with where it begins. A batch is as large as the memory
// that it may take, and no line may be larger.
import { createHash } from 'node:crypto'
import { createReadStream, statSync } from 'node:fs'
import { OperatorFault } from '../kernel/errors.ts'

export interface RawLine {
  readonly text: string
  /** From 1. */
  readonly line: number
  /** Of its first byte. */
  readonly offset: number
}

export interface Batch {
  readonly lines: readonly RawLine[]
  /** Behind its last line. */
  readonly offset: number
  readonly line: number
}

/**
 * Each batch writes a good part of the lists anew, so a large one saves writing. A relationship waits in columns; a node, or
 * whatever else it is, needs more memory until its batch is written, and counts as several.
 */
const BATCH_WEIGHT = 400_000
const NODE_WEIGHT = 4
const BATCH_BYTES = 64 * 1024 * 1024
/** A node may have been given several bodies' worth of properties, one after the other. */
const LINE_BYTES_MAX = 256 * 1024 * 1024
const HEAD_BYTES = 64 * 1024
const NEWLINE = 10

export class LineReader {
  /** Null when nobody knows. */
  readonly bytes: number | null
  lines = 0
  private readonly batchWeight: number
  private readonly stream: AsyncIterable<Buffer> & { destroy?(): void }
  private readonly source: AsyncIterator<Buffer>
  private head: Buffer = Buffer.alloc(0)

  constructor(path: string, batchWeight = BATCH_WEIGHT) {
    this.batchWeight = batchWeight
    this.bytes = path === '-' ? null : statSync(path).size
    this.stream = path === '-' ? process.stdin : createReadStream(path, { highWaterMark: 1 << 20 })
    this.source = this.stream[Symbol.asyncIterator]()
  }

  /** What the file begins with, and its length: another file is not taken for the one that was cut off. */
  async identity(): Promise<string> {
    while (this.head.length < HEAD_BYTES) {
      const { value, done } = await this.source.next()
      if (done === true) break
      this.head = Buffer.concat([this.head, value])
    }
    const hash = createHash('sha256').update(this.head.subarray(0, HEAD_BYTES)).digest('hex').slice(0, 32)
    return `${hash} ${this.bytes ?? 'stream'}`
  }

  async *batches(): AsyncGenerator<Batch> {
    let lines: RawLine[] = []
    let held = 0
    let weight = 0
    let offset = 0
    let rest: Buffer = Buffer.alloc(0)
    const take = (bytes: Buffer): void => {
      this.lines += 1
      // A byte order mark, and the carriage returns of other systems, are no part of a line.
      let text = bytes.toString('utf8')
      if (this.lines === 1 && text.startsWith('\ufeff')) text = text.slice(1)
      if (text.endsWith('\r')) text = text.slice(0, -1)
      lines.push({ text: text.trim() === '' ? '' : text, line: this.lines, offset })
      held += bytes.length
      weight += text.startsWith('{"relationship"') ? 1 : NODE_WEIGHT
      offset += bytes.length + 1
    }
    for await (const chunk of this.chunks()) {
      const bytes = rest.length === 0 ? chunk : Buffer.concat([rest, chunk])
      let start = 0
      for (let end = bytes.indexOf(NEWLINE, start); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
        take(bytes.subarray(start, end))
        start = end + 1
        if (weight < this.batchWeight && held < BATCH_BYTES) continue
        yield { lines, offset, line: this.lines }
        lines = []
        held = 0
        weight = 0
      }
      rest = bytes.subarray(start)
      if (rest.length > LINE_BYTES_MAX)
        throw new OperatorFault(`line ${this.lines + 1}: longer than ${LINE_BYTES_MAX} bytes`)
    }
    if (rest.length > 0) take(rest)
    if (lines.length > 0) yield { lines, offset, line: this.lines }
  }

  private async *chunks(): AsyncGenerator<Buffer> {
    const { head } = this
    this.head = Buffer.alloc(0)
    if (head.length > 0) yield head
    for (;;) {
      const { value, done } = await this.source.next()
      if (done === true) return
      yield value
    }
  }

  close(): void {
    this.stream.destroy?.()
  }
}
