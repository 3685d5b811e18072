// Bounded cache of runs of 32-bit words under keys of two words: edge lists, label blocks. A hit allocates nothing. It has two
// generations: a hit moves a run to the young one; when that is full, the old one is dropped and the young one becomes old.

/** Words of a slot: two of the key, the offset of the run, and its generation. */
const SLOT_WORDS = 4
/** Slots per bucket: a key may occupy any slot of its bucket. */
const WAYS = 4
const BUCKET_WORDS = SLOT_WORDS * WAYS
const BYTES_PER_SLOT = SLOT_WORDS * 4

/** Minimum size: one bucket and a short run. */
const BYTES_MIN = 1024
/** Initial size. The cache grows in steps up to its bound, so that a graph with little traffic needs little memory. */
const FIRST_BYTES = 16 * 1024
const GROWTH = 4

const FREE_SLOT = 0

/** Bounded cache of runs of words. */
export class WordCache {
  /** The run of the last hit: `size` words from index `at`. Valid until the next call. */
  words: Uint32Array
  at = 0
  size = 0

  private readonly bytesMax: number
  private bytes: number
  private slots: Uint32Array
  private bucketMask: number
  private young: Uint32Array
  private old: Uint32Array
  /** Number of the young generation; the old one has the number before. Slots of other generations are free. */
  private generation = 2
  /** Words and number of runs in the young generation. */
  private used = 0
  private runs = 0
  /** Rotates the slot that is overwritten in a full bucket. */
  private victim = 0

  /** The allocated size. */
  get allocatedBytes(): number {
    return this.bytes
  }

  constructor(bytesMax: number) {
    this.bytesMax = Math.max(bytesMax, BYTES_MIN)
    this.bytes = Math.min(this.bytesMax, FIRST_BYTES)
    const { slots, words } = sizesFor(this.bytes)
    this.slots = new Uint32Array(slots * SLOT_WORDS)
    this.bucketMask = slots / WAYS - 1
    this.young = new Uint32Array(words)
    this.old = new Uint32Array(words)
    this.words = this.young
  }

  /** Looks up a run. On a hit sets `words`, `at` and `size` and returns true. */
  find(high: number, low: number): boolean {
    const { slots, generation } = this
    const bucket = this.bucket(high, low)
    for (let slot = bucket; slot < bucket + BUCKET_WORDS; slot += SLOT_WORDS) {
      if (slots[slot] !== high || slots[slot + 1] !== low) continue
      const at = slots[slot + 2]!
      if (slots[slot + 3] === generation) this.pointTo(this.young, at)
      else if (slots[slot + 3] === generation - 1) this.promote(slot, at)
      else return false
      return true
    }
    return false
  }

  private pointTo(words: Uint32Array, at: number): void {
    this.words = words
    this.size = words[at]!
    this.at = at + 1
  }

  /** Moves a run to the young generation. If that is full, the run is read where it is. */
  private promote(slot: number, at: number): void {
    const { old } = this
    this.pointTo(old, at)
    if (this.isFull(this.size)) return
    this.append(slot, old, at + 1, this.size)
    this.pointTo(this.young, this.slots[slot + 2]!)
  }

  /** Caches the first `size` words of `source`. An empty run is cached too. */
  put(high: number, low: number, source: Uint32Array, size: number): void {
    // One run must not evict a large part of the others.
    if ((size + 1) * 8 > sizesFor(this.bytesMax).words) return
    while (this.isFull(size)) this.nextGenerationOrGrow()
    const slot = this.slotFor(high, low)
    this.slots[slot] = high
    this.slots[slot + 1] = low
    this.append(slot, source, 0, size)
  }

  private isFull(size: number): boolean {
    // A hash table that is more than half full has too many full buckets.
    return this.used + size + 1 > this.young.length || this.runs * 4 * SLOT_WORDS >= this.slots.length
  }

  private append(slot: number, source: Uint32Array, from: number, size: number): void {
    const { young, slots } = this
    const at = this.used
    young[at] = size
    for (let i = 0; i < size; i++) young[at + 1 + i] = source[from + i]!
    this.used = at + 1 + size
    this.runs += 1
    slots[slot + 2] = at
    slots[slot + 3] = this.generation
  }

  /** Returns the slot of the key, or else a free one, or one of the old generation, or any of the bucket. */
  private slotFor(high: number, low: number): number {
    const { slots, generation } = this
    const bucket = this.bucket(high, low)
    let best = bucket + (this.victim++ & (WAYS - 1)) * SLOT_WORDS
    let bestGeneration = generation
    for (let slot = bucket; slot < bucket + BUCKET_WORDS; slot += SLOT_WORDS) {
      if (slots[slot] === high && slots[slot + 1] === low) return slot
      if (slots[slot + 3]! < bestGeneration) {
        best = slot
        bestGeneration = slots[slot + 3]!
      }
    }
    return best
  }

  /** Grows up to the bound and starts empty; at the bound the young generation becomes the old one. */
  private nextGenerationOrGrow(): void {
    if (this.bytes < this.bytesMax) {
      this.bytes = Math.min(this.bytesMax, this.bytes * GROWTH)
      const { slots, words } = sizesFor(this.bytes)
      this.slots = new Uint32Array(slots * SLOT_WORDS)
      this.bucketMask = slots / WAYS - 1
      this.young = new Uint32Array(words)
      this.old = new Uint32Array(words)
      this.generation = 2
    } else {
      const { young } = this
      this.young = this.old
      this.old = young
      this.nextGeneration(1)
    }
    this.used = 0
    this.runs = 0
  }

  /** Removes a run. */
  delete(high: number, low: number): void {
    const { slots } = this
    const bucket = this.bucket(high, low)
    for (let slot = bucket; slot < bucket + BUCKET_WORDS; slot += SLOT_WORDS) {
      if (slots[slot] === high && slots[slot + 1] === low) slots[slot + 3] = FREE_SLOT
    }
  }

  /** Removes everything. */
  clear(): void {
    if (this.runs === 0 && this.generation === 2) return
    this.nextGeneration(2)
    this.used = 0
    this.runs = 0
  }

  private nextGeneration(steps: number): void {
    this.generation += steps
    if (this.generation <= 0xffffffff) return
    this.slots.fill(FREE_SLOT)
    this.generation = 2
  }

  private bucket(high: number, low: number): number {
    let mixed = Math.imul(high, 0x9e3779b1) ^ Math.imul(low, 0x85ebca6b)
    mixed = Math.imul(mixed ^ (mixed >>> 15), 0x2c1b3c6d)
    return ((mixed ^ (mixed >>> 13)) & this.bucketMask) * BUCKET_WORDS
  }
}

/** A third for slots, the rest for two generations. Runs of 15 words (seven relationships) fill both evenly. */
function sizesFor(bytes: number): { slots: number; words: number } {
  const slots = 2 ** Math.floor(Math.log2(bytes / 3 / BYTES_PER_SLOT))
  return { slots, words: Math.floor((bytes - slots * BYTES_PER_SLOT) / 8) }
}
