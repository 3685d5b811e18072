// A file that lines are appended to in the background: a bounded buffer in front of it, so that nobody waits for the disk,
// and a count of what did not fit. Opened for appending, so that it may be rotated under us and shared by processes.
import { closeSync, fstatSync, openSync, readSync, write } from 'node:fs'
import { OperationalError } from '../kernel/errors.ts'
import type { LineSink } from '../pdp/decision-log.ts'

/** Lines of so long go to the disk together. */
const GATHER_MS = 20

const NEWLINE = 0x0a

export interface LogFileOptions {
  /** Of lines that are not on their way to the disk yet. */
  readonly bufferBytesMax: number
  /** Told once when lines begin to get lost, and once when they no longer do. */
  readonly report: (message: string) => void
}

export class LogFile implements LineSink {
  private readonly path: string
  private readonly options: LogFileOptions
  private descriptor: number
  private buffered: string[] = []
  private bufferedBytes = 0
  private lost = 0
  private losing = false
  /** The file ends within a line, ours or another process's: a full disk or a crash cut it off. */
  private isCut: boolean
  private timer: ReturnType<typeof setTimeout> | null = null
  private writing: Promise<void> | null = null

  /** Throws OperatorFault. */
  constructor(path: string, options: LogFileOptions) {
    this.path = path
    this.options = options
    this.descriptor = openForAppending(path)
    this.isCut = this.endsWithinLine()
  }

  /** Lines that were never written, since the start. */
  get dropped(): number {
    return this.lost
  }

  write(line: string): void {
    // As many bytes as characters for nearly every line, and counting them costs more than they do.
    const bytes = line.length + 1
    if (this.bufferedBytes + bytes > this.options.bufferBytesMax) {
      this.lose(1, 'its buffer is full')
      return
    }
    this.buffered.push(line)
    this.bufferedBytes += bytes
    if (this.timer === null && this.writing === null) this.gather()
  }

  /** For a rotation that renamed the file: goes on in a new one of the same name. */
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
    this.isCut = this.endsWithinLine()
    const close = (): void => closeSync(old)
    if (this.writing === null) close()
    else this.writing.then(close)
  }

  /** Writes what is there. */
  async close(): Promise<void> {
    await this.writing
    if (this.timer !== null) clearTimeout(this.timer)
    this.timer = null
    await this.drain()
    closeSync(this.descriptor)
  }

  private gather(): void {
    this.timer = setTimeout(() => {
      this.timer = null
      this.writing = this.drain().then(() => {
        this.writing = null
        if (this.buffered.length > 0) this.gather()
      })
    }, GATHER_MS)
    this.timer.unref()
  }

  private async drain(): Promise<void> {
    if (this.buffered.length === 0) return
    const { buffered: lines, descriptor } = this
    const bytes = this.bufferedBytes
    this.buffered = []
    // What follows half a line would be lost with it.
    const start = this.isCut || (this.losing && this.endsWithinLine()) ? '\n' : ''
    const text = Buffer.from(`${start}${lines.join('\n')}\n`, 'utf8')
    const { failure, written } = await appended(descriptor, text)
    // Unless it goes on in another file meanwhile.
    if (descriptor === this.descriptor) this.isCut = written === 0 ? start !== '' : text[written - 1] !== NEWLINE
    this.bufferedBytes -= bytes
    if (failure !== null) this.lose(lines.length - linesIn(text.subarray(start.length, written)), failure)
    else if (this.losing) {
      this.losing = false
      this.options.report(`${this.path} is written again; ${this.lost} lines were lost since the start`)
    }
  }

  /** As far as it can be looked at: it may be no file, or have another name by now. */
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

  private lose(lines: number, why: string): void {
    this.lost += lines
    if (this.losing) return
    this.losing = true
    this.options.report(`lines for ${this.path} are lost: ${why}`)
  }
}

function linesIn(bytes: Uint8Array): number {
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

/** How much of it was, and why not all. */
function appended(descriptor: number, bytes: Uint8Array): Promise<{ failure: string | null; written: number }> {
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
