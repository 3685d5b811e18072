// Writes text as fast as it is taken: to a file, or to whoever reads the standard output, who may end before it is whole.
import { once } from 'node:events'
import type { WriteStream } from 'node:fs'
import { OperationalError } from '../kernel/errors.ts'

export class LineWriter {
  private readonly stream: WriteStream | typeof process.stdout
  private error: unknown = null

  constructor(stream: WriteStream | typeof process.stdout) {
    this.stream = stream
    stream.on('error', (fault: unknown) => {
      this.error = fault
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

  /** Resolves after a fault too, which is told where all are told. */
  private async waitFor(event: 'drain' | 'close'): Promise<void> {
    await once(this.stream, event).catch((fault: unknown) => {
      this.error ??= fault
    })
  }

  private throwIfFailed(): void {
    if (this.error === null) return
    if ((this.error as { code?: string }).code === 'EPIPE')
      throw new OperationalError('whoever read the export ended before it did: it is not whole')
    throw this.error
  }
}
