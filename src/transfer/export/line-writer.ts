// Writes text to a file or to the standard output, with backpressure. The reader of the standard output may exit early.
import { once } from 'node:events'
import type { WriteStream } from 'node:fs'
import { OperationalError } from '../../kernel/errors.ts'
import { withPath } from '../../kernel/folder/file-issue.ts'

/** Writes to a stream that the caller has opened. */
export class LineWriter {
  private readonly stream: WriteStream | typeof process.stdout
  private readonly path: string
  private error: unknown = null

  /** `path`: for messages. */
  constructor(stream: WriteStream | typeof process.stdout, path: string) {
    this.stream = stream
    this.path = path
    stream.on('error', (error: unknown) => {
      this.error = error
    })
  }

  async write(text: string): Promise<void> {
    if (text === '') return
    if (!this.stream.write(text)) await this.waitFor('drain')
    this.throwIfFailed()
  }

  async end(close: boolean): Promise<void> {
    if (close) {
      this.stream.end()
      await this.waitFor('close')
    }
    this.throwIfFailed()
  }

  /** Resolves after an error too; `throwIfFailed` reports it. */
  private async waitFor(event: 'drain' | 'close'): Promise<void> {
    await once(this.stream, event).catch((error: unknown) => {
      this.error ??= error
    })
  }

  private throwIfFailed(): void {
    if (this.error === null) return
    if ((this.error as { code?: string }).code === 'EPIPE')
      throw new OperationalError('the reader of the standard output closed it: the export is incomplete')
    throw withPath(this.error, this.path)
  }
}
