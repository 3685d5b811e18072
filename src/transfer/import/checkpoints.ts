// Checkpoints of an import, stored in each graph: the import, an offset in its file, and the hash of all bytes before it.
// A resumed import reads the imported prefix again and continues only if the hash matches; the rest of the file may differ.
import { OperationalError } from '../../kernel/errors.ts'
import type { BulkBatch } from '../../store/graph/bulk-batch.ts'
import type { LmdbEnvironment } from '../../store/graph/environment.ts'
import type { LoadDuplicates } from '../../store/graph/load-duplicates.ts'
import { type ImportMark, sourceName } from '../files/import-markers.ts'
import type { LineBatch } from './line-batches.ts'

interface Checkpoint {
  /** The id of the import, which a resume keeps. */
  readonly import: string
  /** Offset in the file, bytes: all lines before it are in this graph. */
  readonly offset: number
  readonly hash: string
  /** The id of the first relationship of the import in this graph; absent in checkpoints of older versions. */
  readonly first_relationship?: number
}

/** Reads, verifies and writes the checkpoints of one import. */
export class Checkpoints {
  private readonly own: ImportMark
  /** Checkpoints of the graphs opened so far whose prefix is not verified yet, by offset. */
  private unverified: readonly Checkpoint[] = []

  constructor(own: ImportMark) {
    this.own = own
  }

  /** The offset up to which the file is in this graph. `from`: where the lines of the graph begin in the file. */
  resumeOffset(environment: LmdbEnvironment, duplicates: LoadDuplicates, from: number): number {
    const text = environment.checkpoint()
    const found = text === null ? null : (JSON.parse(text) as Checkpoint)
    if (found === null || found.import !== this.own.id) return 0
    duplicates.firstId ??= found.first_relationship ?? null
    // A later section of the file for the same graph: the bytes before it are verified, or were written by this run.
    if (found.offset <= from) return found.offset
    this.unverified = [...this.unverified, found].sort((a, b) => a.offset - b.offset)
    return found.offset
  }

  /** Verifies lines before they are applied. Throws OperationalError if they differ from those that were imported. */
  verify(lines: LineBatch, to: number): void {
    while (this.unverified.length > 0 && this.unverified[0]!.offset <= lines.offsetOf(to)) {
      const [{ offset, hash }, ...others] = this.unverified as [Checkpoint, ...Checkpoint[]]
      const at = lines.lineAt(offset)
      if (at === null || lines.prefixHash(at) !== hash) throw this.prefixMismatch(offset)
      this.unverified = others
    }
  }

  /** Throws OperationalError if the file ended before an imported prefix. */
  verifyEnd(): void {
    const [missed] = this.unverified
    if (missed !== undefined) throw this.prefixMismatch(missed.offset)
  }

  private prefixMismatch(offset: number): OperationalError {
    return new OperationalError(
      `${sourceName(this.own.file)} does not begin with the ${offset} bytes that were imported before the interruption, so it cannot be resumed: import it without \`--resume\` to merge all of it into the existing data`,
    )
  }

  /** Stores the checkpoint in the transaction of the lines, so that both are committed or neither. */
  set(batch: BulkBatch, { firstId }: LoadDuplicates, lines: LineBatch, to: number): void {
    const checkpoint: Checkpoint = {
      import: this.own.id,
      offset: lines.offsetOf(to),
      hash: lines.prefixHash(to),
      ...(firstId === null ? {} : { first_relationship: firstId }),
    }
    batch.setCheckpoint(JSON.stringify(checkpoint))
  }
}
