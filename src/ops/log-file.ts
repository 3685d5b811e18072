// A log file that is written in the background, with a bounded buffer: writers never wait for the disk, and lines that
// do not fit are counted. Opened for appending, so it can be rotated and shared by several processes.
import { closeSync, fstatSync, openSync, readSync, write } from 'node:fs'
import { OperationalError } from '../kernel/errors.ts'

/** Lines of this period are written together. */
const WRITE_DELAY_MS = 20

const NEWLINE = 0x0a

/** Options of a log file. */
export interface LogFileOptions {
  /** Limit of lines that are not written yet, bytes. */
  readonly bufferBytesMax: number
  /** Called once when lines begin to be lost, and once when writing works again. */
  readonly report: (message: string) => void
}

/** A log file. */
export class LogFile {
  private readonly path: string
  private readonly options: LogFileOptions
  private descriptor: number
  private buffered: string[] = []
  private bufferedBytes = 0
  private lostLines = 0
  private isLosing = false
  /** The file ends with an incomplete line of any process, after a full disk or a crash. */
  private endsIncomplete: boolean
  private timer: ReturnType<typeof setTimeout> | null = null
  private writing: Promise<void> | null = null

  /** Opens the file. Throws OperationalError if it cannot be written. */
  constructor(path: string, options: LogFileOptions) {
    this.path = path
    this.options = options
    this.descriptor = openForAppending(path)
    this.endsIncomplete = this.endsWithinLine()
  }

  /** Lines that were lost since the start. */
  get dropped(): number {
    return this.lostLines
  }

  /** Buffers one line (without line feed), or counts it as lost if the buffer is full. */
  write(line: string): void {
    // Characters instead of bytes: equal for nearly every line, and counting bytes costs more.
    const bytes = line.length + 1
    if (this.bufferedBytes + bytes > this.options.bufferBytesMax) {
      this.recordLoss(1, 'the buffer is full')
      return
    }
    this.buffered.push(line)
    this.bufferedBytes += bytes
    if (this.timer === null && this.writing === null) this.scheduleWrite()
  }

  /** Continues in a new file of the same name, after a rotation renamed the old one. */
  reopen(): void {
    let fresh: number
    try {
      fresh = openForAppending(this.path)
    } catch (fault) {
      this.options.report((fault as Error).message)
      return
    }
    const old = this.descriptor
    this.descriptor = fresh
    this.endsIncomplete = this.endsWithinLine()
    const close = (): void => closeSync(old)
    if (this.writing === null) close()
    else this.writing.then(close)
  }

  /** Writes all buffered lines and closes the file. */
  async close(): Promise<void> {
    await this.writing
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
    await this.drain()
    closeSync(this.descriptor)
  }

  private scheduleWrite(): void {
    this.timer = setTimeout(() => {
      this.timer = null
      this.writing = this.drain().then(() => {
        this.writing = null
        if (this.buffered.length > 0) this.scheduleWrite()
      })
    }, WRITE_DELAY_MS)
    this.timer.unref()
  }

  private async drain(): Promise<void> {
    if (this.buffered.length === 0) return
    const { buffered: lines, descriptor } = this
    const bytes = this.bufferedBytes
    this.buffered = []
    // A line after an incomplete line would be lost with it.
    const start = this.endsIncomplete || (this.isLosing && this.endsWithinLine()) ? '\n' : ''
    const text = Buffer.from(`${start}${lines.join('\n')}\n`, 'utf8')
    const { failure, written } = await append(descriptor, text)
    // If the file was reopened in the meantime, the result is about the old file.
    if (descriptor === this.descriptor)
      this.endsIncomplete = written === 0 ? start !== '' : text[written - 1] !== NEWLINE
    this.bufferedBytes -= bytes
    if (failure !== null) this.recordLoss(lines.length - countLines(text.subarray(start.length, written)), failure)
    else if (this.isLosing) {
      this.isLosing = false
      this.options.report(`writing to ${this.path} works again; ${this.lostLines} lines were lost since the start`)
    }
  }

  /** Whether the file ends within a line. False if it is not a regular file or was renamed. */
  private endsWithinLine(): boolean {
    const written = fstatSync(this.descriptor)
    if (!written.isFile() || written.size === 0) return false
    try {
      const descriptor = openSync(this.path, 'r')
      try {
        const last = Buffer.alloc(1)
        readSync(descriptor, last, 0, 1, written.size - 1)
        return fstatSync(descriptor).ino === written.ino && last[0] !== NEWLINE
      } finally {
        closeSync(descriptor)
      }
    } catch {
      return false
    }
  }

  private recordLoss(lines: number, why: string): void {
    this.lostLines += lines
    if (this.isLosing) return
    this.isLosing = true
    this.options.report(`lines for ${this.path} are being lost: ${why}`)
  }
}

function countLines(bytes: Uint8Array): number {
  let count = 0
  for (const byte of bytes) if (byte === NEWLINE) count += 1
  return count
}

function openForAppending(path: string): number {
  try {
    return openSync(path, 'a', 0o600)
  } catch (failure) {
    throw new OperationalError(`${path} cannot be written: ${(failure as Error).message}`)
  }
}

/** Writes all bytes. Resolves with the number of written bytes, and the error if not all were written. */
function append(descriptor: number, bytes: Uint8Array): Promise<{ failure: string | null; written: number }> {
  return new Promise((resolve) => {
    const from = (offset: number): void =>
      write(descriptor, bytes, offset, bytes.length - offset, null, (failure, written) => {
        if (failure !== null) resolve({ failure: failure.message, written: offset })
        else if (offset + written < bytes.length) from(offset + written)
        else resolve({ failure: null, written: bytes.length })
      })
    from(0)
  })
}
