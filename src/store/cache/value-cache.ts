// A bounded memory of values by column and key: nodes by type and external id, properties by name and element.
// Two generations: what is asked for moves to the young one; when that is full, the old one is forgotten as a whole.

type MapGeneration<K, V> = (Map<K, V> | undefined)[]

export class ValueCache<K, V extends string | number | boolean | object | bigint | null> {
  private readonly bytesPerGeneration: number
  private readonly sizeOf: (key: K, value: V) => number
  private young: MapGeneration<K, V> = []
  private old: MapGeneration<K, V> = []
  private bytes = 0

  /** `sizeOf` tells what an entry takes, the map's own part included. */
  constructor(bytesMax: number, sizeOf: (key: K, value: V) => number) {
    this.bytesPerGeneration = bytesMax / 2
    this.sizeOf = sizeOf
  }

  /** Undefined when it is not known here: the database may have it. Columns are small numbers. */
  find(column: number, key: K): V | undefined {
    const value = this.young[column]?.get(key)
    if (value !== undefined) return value
    const before = this.old[column]?.get(key)
    if (before !== undefined) this.put(column, key, before)
    return before
  }

  put(column: number, key: K, value: V): void {
    const size = this.sizeOf(key, value)
    // One entry must not push out a large part of the others.
    if (size * 8 > this.bytesPerGeneration) {
      this.delete(column, key)
      return
    }
    if (this.bytes + size > this.bytesPerGeneration) {
      this.old = this.young
      this.young = []
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

  delete(column: number, key: K): void {
    this.young[column]?.delete(key)
    this.old[column]?.delete(key)
  }

  /** Out of all columns. */
  deleteFromAllColumns(key: K): void {
    for (const values of this.young) values?.delete(key)
    for (const values of this.old) values?.delete(key)
  }

  clear(): void {
    if (this.bytes === 0) return
    this.young = []
    this.old = []
    this.bytes = 0
  }
}
