// Reads a log file that other processes append to: new lines as they are written, and single lines from its end. Bounded: a reader
// that cannot follow skips to the end.
import { closeSync, fstatSync, openSync, read, statSync } from 'node:fs'

const NEWLINE = 0x0a
/** Read at once. */
const CHUNK_BYTES = 256 * 1024
/** A reader that is further behind skips to the last chunk. */
const BEHIND_BYTES_MAX = 4 * 1024 * 1024
/** Searched for a line, from the end of the file. */
const SEARCHED_BYTES_MAX = 256 * 1024 * 1024

/** New lines of a file. */
interface NewLines {
  readonly lines: readonly string[]
  /** Bytes that were left out before these lines. */
  readonly skippedBytes: number
}

/** Follows a file from its present end on, also when it is replaced by a rotation. */
export class LogFollower {
  private readonly path: string
  private descriptor: number
  private position: number
  private rest: Buffer = Buffer.alloc(0)

  /** Opens the file. Throws the error of the system. */
  constructor(path: string) {
    this.path = path
    this.descriptor = openSync(path, 'r')
    this.position = fstatSync(this.descriptor).size
  }

  /** Reads what was appended since the last call, at most one chunk. */
  async next(): Promise<NewLines> {
    const { size, ino } = fstatSync(this.descriptor)
    // Truncated in place.
    if (size < this.position) this.restart(0)
    let skippedBytes = 0
    if (size - this.position > BEHIND_BYTES_MAX) {
      skippedBytes = size - CHUNK_BYTES - this.position
      this.restart(size - CHUNK_BYTES)
    }
    const bytes = await readAt(this.descriptor, this.position, Math.min(CHUNK_BYTES, size - this.position))
    this.position += bytes.length
    if (bytes.length === 0 && statSync(this.path, { throwIfNoEntry: false })?.ino !== ino) this.reopen()
    const text = Buffer.concat([this.rest, bytes])
    const end = text.lastIndexOf(NEWLINE) + 1
    this.rest = text.subarray(end)
    const lines = text.toString('utf8', 0, end).split('\n')
    // The first line after a gap is incomplete.
    if (skippedBytes > 0) lines.shift()
    return { lines: lines.filter((line) => line !== ''), skippedBytes }
  }

  close(): void {
    closeSync(this.descriptor)
  }

  private restart(position: number): void {
    this.position = position
    this.rest = Buffer.alloc(0)
  }

  private reopen(): void {
    let fresh: number
    try {
      fresh = openSync(this.path, 'r')
    } catch {
      // The rotation has not created the new file yet.
      return
    }
    closeSync(this.descriptor)
    this.descriptor = fresh
    this.restart(0)
  }
}

/**
 * Returns the last line of a file that has the text and passes the test; null if the last 256 MiB have none. Rejects with the error of
 * the system.
 */
export async function findLine(path: string, text: string, test: (line: string) => boolean): Promise<string | null> {
  const descriptor = openSync(path, 'r')
  try {
    const { size } = fstatSync(descriptor)
    const start = Math.max(0, size - SEARCHED_BYTES_MAX)
    let rest: Buffer = Buffer.alloc(0)
    for (let end = size; end > start; ) {
      const from = Math.max(start, end - CHUNK_BYTES)
      const bytes = Buffer.concat([await readAt(descriptor, from, end - from), rest])
      // The first line may continue before this chunk.
      const first = from === 0 ? 0 : bytes.indexOf(NEWLINE) + 1
      if (bytes.includes(text, first)) {
        const found = bytes
          .toString('utf8', first)
          .split('\n')
          .findLast((line) => line.includes(text) && test(line))
        if (found !== undefined) return found
      }
      rest = bytes.subarray(0, first === 0 ? bytes.length : first)
      end = from
    }
    return null
  } finally {
    closeSync(descriptor)
  }
}

function readAt(descriptor: number, position: number, length: number): Promise<Buffer> {
  if (length <= 0) return Promise.resolve(Buffer.alloc(0))
  const buffer = Buffer.allocUnsafe(length)
  return new Promise((resolve, reject) => {
    read(descriptor, buffer, 0, length, position, (failure, count) => {
      if (failure === null) resolve(buffer.subarray(0, count))
      else reject(failure)
    })
  })
}
