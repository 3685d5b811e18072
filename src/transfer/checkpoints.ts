// How far an import has come in a graph, kept with the data: of which import, up to which byte of its file, and the hash of all that stands
// before it. Whoever goes on reads those bytes again, and goes on when they are the same ones, whatever became of the rest.
import { OperatorFault } from '../kernel/errors.ts'
import type { BulkBatch } from '../store/lmdb/bulk-batch.ts'
import type { LmdbEnvironment } from '../store/lmdb/environment.ts'
import type { Batch } from './line-batches.ts'
import { shownSource, type Unfinished } from './unfinished.ts'

interface Checkpoint {
  /** Of the import; it goes on under the same one. */
  readonly import: string
  /** Bytes of it whose lines are all in this graph. */
  readonly offset: number
  readonly hash: string
}

export class Checkpoints {
  private readonly own: Unfinished
  /** Of the graphs that were met, those whose bytes are still to be read again. */
  private awaited: readonly Checkpoint[] = []

  constructor(own: Unfinished) {
    this.own = own
  }

  /** Up to which byte the file is in this graph, whose lines begin at `from`. Throws OperatorFault. */
  of(environment: LmdbEnvironment, from: number): number {
    const text = environment.checkpoint()
    const found = text === null ? null : (JSON.parse(text) as Checkpoint)
    if (found === null || found.import !== this.own.id) return 0
    // A second part of the file goes into the same graph: what is behind has been looked at, or was written just now.
    if (found.offset <= from) return found.offset
    this.awaited = [...this.awaited, found].sort((a, b) => a.offset - b.offset)
    return found.offset
  }

  /** Before anything is done with these lines. Throws OperatorFault where they are not those that were imported. */
  compare(lines: Batch, to: number): void {
    while (this.awaited.length > 0 && this.awaited[0]!.offset <= lines.offsetOf(to)) {
      const [{ offset, hash }, ...others] = this.awaited as [Checkpoint, ...Checkpoint[]]
      const at = lines.lineAt(offset)
      if (at === null || lines.hashBefore(at) !== hash) throw this.otherBytes(offset)
      this.awaited = others
    }
  }

  /** When everything has been read. Throws OperatorFault. */
  compareEnd(): void {
    const [missed] = this.awaited
    if (missed !== undefined) throw this.otherBytes(missed.offset)
  }

  private otherBytes(offset: number): OperatorFault {
    return new OperatorFault(
      `${shownSource(this.own.file)} does not begin with the ${offset} bytes that were imported when it was cut off, so there is nothing to go on with: import it without \`--resume\`, and all of it is merged into what is there`,
    )
  }

  /** With the lines themselves: both are on disk, or neither is. */
  set(batch: BulkBatch, lines: Batch, to: number): void {
    const checkpoint: Checkpoint = { import: this.own.id, offset: lines.offsetOf(to), hash: lines.hashBefore(to) }
    batch.setCheckpoint(JSON.stringify(checkpoint))
  }
}
