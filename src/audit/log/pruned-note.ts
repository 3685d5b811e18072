// A signed note about entries that were removed from a log that no longer grows, because of their age. A log that grows has an
// entry about it instead; after a restore, entries are written to another log.
import { err, ok, type Result } from '../../kernel/result.ts'
import { PRUNED_TYPE } from './entry-facts.ts'

/** Name of the file with the note, in the folder of the log. */
export const PRUNED_FILE = 'pruned'

/** The part that was removed from a log. */
interface PrunedEntries {
  /** Identifies the log. */
  readonly origin: string
  /** Index of the first entry that was not removed. */
  readonly firstIndex: number
}

/** The text of the note. Its first line differs from all origins, so that it cannot be taken for a checkpoint. */
export function prunedText({ origin, firstIndex }: PrunedEntries): string {
  return `${PRUNED_TYPE}\n${origin}\n${firstIndex}\n`
}

/** Reads the text of a note. The error names the line. */
export function parsePruned(text: string): Result<PrunedEntries, string> {
  const [type, origin = '', index = '', ...rest] = text.split('\n')
  if (type !== PRUNED_TYPE) return err(`line 1 of the file ${PRUNED_FILE}: expected ${PRUNED_TYPE}`)
  if (origin === '') return err(`line 2 of the file ${PRUNED_FILE}: expected the origin of the log`)
  if (!/^[1-9]\d{0,14}$/.test(index)) return err(`line 3 of the file ${PRUNED_FILE}: expected the index of an entry`)
  if (rest.length !== 1 || rest[0] !== '') return err(`the file ${PRUNED_FILE} has more than three lines`)
  return ok({ origin, firstIndex: Number(index) })
}
