// The hash of a value by which entries of an audit log are found. It need not be secret or unique: the reader compares the entries.
import { seedWithText, seedWithWords } from '../format/checksum.ts'
import type { AuditPostingKey } from '../format/keys.ts'
import type { AuditTerm } from './audit-types.ts'

/** Stored: never change them. */
const SEEDS = [0x2545f491, 0x6c078965] as const

/** The part of a posting that depends on the value. */
export function hashOfTerm({ dimension, value }: AuditTerm): Omit<AuditPostingKey, 'generation' | 'bundle'> {
  const high = seedWithWords(seedWithText(SEEDS[0], value), dimension, SEEDS[0]) >>> 0
  const low = seedWithWords(seedWithText(SEEDS[1], value), dimension, SEEDS[1]) >>> 0
  return { dimension, high, low }
}

/**
 * The value under which a resource is in the index: the last part of its path. A search for the whole path finds the bundles with
 * the last part, and compares the entries: a second posting for each entry would make sealing slower and the index larger.
 */
export function indexedResource(resource: string): string {
  const name = resource.slice(resource.lastIndexOf('/') + 1)
  return name === '' ? resource : name
}

/** The order of postings in the index. */
export function comparePostings(a: AuditPostingKey, b: AuditPostingKey): number {
  return (
    a.generation - b.generation || a.dimension - b.dimension || a.high - b.high || a.low - b.low || a.bundle - b.bundle
  )
}
