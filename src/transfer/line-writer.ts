// Writes text as fast as it is taken: to a file, or to whoever reads the standard output, who may end before it is whole.
import { once } from 'node:events'
import type { WriteStream } from 'node:fs'
import { OperatorFault } from '../kernel/errors.ts'

export class LineWriter {
  private readonly stream: WriteStream | typeof process.stdout
  private fault: unknown = null

  constructor(stream: WriteStream | typeof process.stdout) {
    this.stream = stream
    stream.on('error', (fault: unknown) => {
      this.fault = fault
    })
  }

  async write(text: string): Promise<void> {
    if (text === '') return
    if (!this.stream.write(text)) await this.heard('drain')
    this.expectReader()
  }

  async end(close: boolean): Promise<void> {
    if (close) {
      this.stream.end()
      await this.heard('close')
    }
    this.expectReader()
  }

  /** Resolves after a fault too, which is told where all are told. */
  private async heard(event: 'drain' | 'close'): Promise<void> {
    await once(this.stream, event).catch((fault: unknown) => {
      this.fault ??= fault
    })
  }

  private expectReader(): void {
    if (this.fault === null) return
    if ((this.fault as { code?: string }).code === 'EPIPE')
      throw new OperatorFault('whoever read the export ended before it did: it is not whole')
    throw this.fault
  }
}
