// The ends of the streams that this process has appended to. An append finds them here as long as no other process writes.
import type { EnvironmentFile } from '../lmdb/environment-file.ts'
import type { StreamHead } from './outbox-format.ts'

/** Ends of streams by name. Use it only within write transactions. */
export class KnownHeads {
  private readonly file: EnvironmentFile
  private readonly heads = new Map<string, StreamHead>()
  private epoch: object | null = null

  constructor(file: EnvironmentFile) {
    this.file = file
  }

  /** The end of a stream; undefined: unknown. */
  get(stream: string): StreamHead | undefined {
    const epoch = this.file.writeEpoch()
    if (epoch !== this.epoch) this.heads.clear()
    this.epoch = epoch
    return this.heads.get(stream)
  }

  /** The transaction has written records that end there. Call `get` before, in the same transaction. */
  set(stream: string, head: StreamHead): void {
    this.heads.set(stream, head)
  }

  /** The head of the stream is stored or removed. */
  delete(stream: string): void {
    this.heads.delete(stream)
  }
}
