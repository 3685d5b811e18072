// How far an import has come in a graph, kept with the data: of which import, up to which byte of its file, and the hash of all that stands
// before it. Whoever goes on reads those bytes again, and goes on when they are the same ones, whatever became of the rest.
import { OperationalError } from '../kernel/errors.ts'
import type { BulkBatch } from '../store/graph/bulk-batch.ts'
import type { LmdbEnvironment } from '../store/graph/environment.ts'
import { type ImportMark, sourceName } from './import-markers.ts'
import type { LineBatch } from './line-batches.ts'

interface Checkpoint {
  /** Of the import; it goes on under the same one. */
  readonly import: string
  /** Bytes of it whose lines are all in this graph. */
  readonly offset: number
  readonly hash: string
}

export class Checkpoints {
  private readonly own: ImportMark
  /** Of the graphs that were met, those whose bytes are still to be read again. */
  private unverified: readonly Checkpoint[] = []

  constructor(own: ImportMark) {
    this.own = own
  }

  /** Up to which byte the file is in this graph, whose lines begin at `from`. Throws OperatorFault. */
  resumeOffset(environment: LmdbEnvironment, from: number): number {
    const text = environment.checkpoint()
    const found = text === null ? null : (JSON.parse(text) as Checkpoint)
    if (found === null || found.import !== this.own.id) return 0
    // A second part of the file goes into the same graph: what is behind has been looked at, or was written just now.
    if (found.offset <= from) return found.offset
    this.unverified = [...this.unverified, found].sort((a, b) => a.offset - b.offset)
    return found.offset
  }

  /** Before anything is done with these lines. Throws OperatorFault where they are not those that were imported. */
  verify(lines: LineBatch, to: number): void {
    while (this.unverified.length > 0 && this.unverified[0]!.offset <= lines.offsetOf(to)) {
      const [{ offset, hash }, ...others] = this.unverified as [Checkpoint, ...Checkpoint[]]
      const at = lines.lineAt(offset)
      if (at === null || lines.prefixHash(at) !== hash) throw this.prefixMismatch(offset)
      this.unverified = others
    }
  }

  /** When everything has been read. Throws OperatorFault. */
  verifyEnd(): void {
    const [missed] = this.unverified
    if (missed !== undefined) throw this.prefixMismatch(missed.offset)
  }

  private prefixMismatch(offset: number): OperationalError {
    return new OperationalError(
      `${sourceName(this.own.file)} does not begin with the ${offset} bytes that were imported when it was cut off, so there is nothing to go on with: import it without \`--resume\`, and all of it is merged into what is there`,
    )
  }

  /** With the lines themselves: both are on disk, or neither is. */
  set(batch: BulkBatch, lines: LineBatch, to: number): void {
    const checkpoint: Checkpoint = { import: this.own.id, offset: lines.offsetOf(to), hash: lines.prefixHash(to) }
    batch.setCheckpoint(JSON.stringify(checkpoint))
  }
}
