// Bounded cache of values by column and key: node ids by type and external id, properties by symbol and element. It has two
// generations: a hit moves an entry to the young one; when that is full, the old one is dropped and the young one becomes old.

type MapGeneration<K, V> = (Map<K, V> | undefined)[]

/** Bounded cache of values by column and key. Columns are small non-negative integers. */
export class ValueCache<K, V extends string | number | boolean | object | bigint | null> {
  private readonly bytesPerGeneration: number
  private readonly sizeOf: (key: K, value: V) => number
  private young: MapGeneration<K, V> = []
  private old: MapGeneration<K, V> = []
  private bytes = 0
  private oldBytes = 0

  /** The size of both generations, at most: an entry that was moved to the young one may count twice. */
  get size(): number {
    return this.bytes + this.oldBytes
  }

  /** `bytesMax`: bound of both generations. `sizeOf`: size of an entry in bytes, with the overhead of the map. */
  constructor(bytesMax: number, sizeOf: (key: K, value: V) => number) {
    this.bytesPerGeneration = bytesMax / 2
    this.sizeOf = sizeOf
  }

  /** Returns undefined if the entry is not cached. */
  find(column: number, key: K): V | undefined {
    const value = this.young[column]?.get(key)
    if (value !== undefined) return value
    const before = this.old[column]?.get(key)
    if (before !== undefined) this.put(column, key, before)
    return before
  }

  /** Adds an entry. An entry larger than an eighth of a generation is not cached. */
  put(column: number, key: K, value: V): void {
    const size = this.sizeOf(key, value)
    // One entry must not evict a large part of the others.
    if (size * 8 > this.bytesPerGeneration) {
      this.delete(column, key)
      return
    }
    if (this.bytes + size > this.bytesPerGeneration) {
      this.old = this.young
      this.young = []
      this.oldBytes = this.bytes
      this.bytes = 0
    }
    this.bytes += size
    let values = this.young[column]
    if (values === undefined) {
      values = new Map()
      this.young[column] = values
    }
    values.set(key, value)
  }

  /** Removes an entry. */
  delete(column: number, key: K): void {
    this.young[column]?.delete(key)
    this.old[column]?.delete(key)
  }

  /** Removes the key from all columns. */
  deleteFromAllColumns(key: K): void {
    for (const values of this.young) values?.delete(key)
    for (const values of this.old) values?.delete(key)
  }

  /** Removes everything. */
  clear(): void {
    if (this.bytes === 0) return
    this.young = []
    this.old = []
    this.bytes = 0
    this.oldBytes = 0
  }
}
