// The hash of a value by which entries of an audit log are found. It need not be secret or unique: the reader compares the entries.
import { seedWithText, seedWithWords } from '../format/checksum.ts'
import type { AuditPostingKey } from '../format/keys.ts'
import type { AuditTerm } from './audit-types.ts'

/** Stored: never change them. */
const SEEDS = [0x2545f491, 0x6c078965] as const

/** The part of a posting that depends on the value. */
export function hashOfTerm({ dimension, value }: AuditTerm): Omit<AuditPostingKey, 'generation' | 'bundle'> {
  const [high, low] = SEEDS.map((seed) => seedWithWords(seedWithText(seed, value), dimension, seed) >>> 0)
  return { dimension, high: high!, low: low! }
}
