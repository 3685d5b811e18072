// A set of grouping keys. The runtime copies a Set in one call when it grows, which takes milliseconds for 100,000 keys: a large set
// consists of parts that grow one by one, so that the work between two reads of the clock stays small.
import type { GroupingKey } from './compare.ts'

/** Keys of the first part. The copy of so many takes a fraction of a millisecond. */
const FIRST_MAX = 1 << 14
const PART_BITS = 6

/** Keys, each of them once. */
export class GroupingKeySet {
  private readonly first = new Set<GroupingKey>()
  /** The keys after the first ones, by `partOf`. */
  private parts: readonly Set<GroupingKey>[] | null = null

  /** Returns false if the set has the key already. */
  add(key: GroupingKey): boolean {
    if (this.first.has(key)) return false
    if (this.first.size < FIRST_MAX) {
      this.first.add(key)
      return true
    }
    this.parts ??= Array.from({ length: 1 << PART_BITS }, () => new Set())
    const part = this.parts[partOf(key)]!
    if (part.has(key)) return false
    part.add(key)
    return true
  }

  clear(): void {
    this.first.clear()
    this.parts = null
  }
}

/** Equal keys are in the same part. Keys that differ only in what is not read here share one, which is slower to grow and not wrong. */
function partOf(key: GroupingKey): number {
  let mixed = 0
  if (typeof key === 'number') mixed = key
  else if (typeof key === 'bigint') mixed = Number(BigInt.asIntN(32, key))
  else if (typeof key === 'string') {
    mixed = key.length
    for (let at = Math.max(0, key.length - 8); at < key.length; at++) mixed = Math.imul(mixed, 31) + key.charCodeAt(at)
  }
  return Math.imul(mixed, 0x9e3779b1) >>> (32 - PART_BITS)
}
