// Compares two large multisets of number tuples without storing them: the sum of the hashes of all members does not depend on
// their order. Two different multisets have the same sums with a probability of about 2^-64.

const P1 = 0x9e3779b1
const P2 = 0x85ebca77
const P3 = 0xc2b2ae3d
const P4 = 0x27d4eb2f

/** A random seed for each process, so that no stored data can be made to collide. */
const [SEED_A, SEED_B] = crypto.getRandomValues(new Uint32Array(2)) as unknown as [number, number]

/** The sums of the hashes of the members added so far. */
export class MultisetHash {
  /** Number of members. */
  count = 0
  private a = 0
  private b = 0

  /** Adds a tuple of four words. */
  add(w: number, x: number, y: number, z: number): void {
    this.count += 1
    this.a = (this.a + hashOf(SEED_A, w, x, y, z)) | 0
    this.b = (this.b + hashOf(SEED_B, z, y, x, w)) | 0
  }

  /** Whether both have the same members, as often. */
  equals(other: MultisetHash): boolean {
    return this.count === other.count && this.a === other.a && this.b === other.b
  }
}

function hashOf(seed: number, w: number, x: number, y: number, z: number): number {
  let sum = mixIn(mixIn(mixIn(mixIn(seed, w), x), y), z)
  sum = Math.imul(sum ^ (sum >>> 16), P2)
  sum = Math.imul(sum ^ (sum >>> 13), P3)
  return sum ^ (sum >>> 16)
}

function mixIn(sum: number, word: number): number {
  let mixed = Math.imul(word, P1)
  mixed = Math.imul((mixed << 15) | (mixed >>> 17), P4)
  const next = sum ^ mixed
  return (Math.imul((next << 13) | (next >>> 19), 5) + 0x52dce729) | 0
}
