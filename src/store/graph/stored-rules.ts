// Rules that stored data keeps, because every batch keeps them. Data that breaks one is damaged: for example, a page was replaced by another
// one that is well-formed.
import { DataCorruptionError } from '../../kernel/errors.ts'
import { GRAPH_DESCRIPTION } from '../lmdb/databases.ts'

/** Throws DataCorruptionError if the condition does not hold. `rule`: the rule that the data breaks, as a sentence. */
export function requireStored(condition: boolean, rule: string): asserts condition {
  if (!condition) throw new DataCorruptionError(GRAPH_DESCRIPTION, `it breaks the rule that ${rule}`)
}
