// Keys in ascending order, in blocks of bounded length: an insertion moves the keys of one block only.

/** A block with more keys is split in halves. */
const BLOCK_KEYS_MAX = 512

/** A sorted set. Strings are compared by UTF-16 code units. */
export class SortedKeys<K extends string | number> {
  /** Not empty, and each key is less than all keys of the next block. */
  private readonly blocks: K[][] = []

  /** Adds a key. A key that is present stays. */
  add(key: K): void {
    const at = this.blockOf(key)
    const block = this.blocks[at]
    if (block === undefined) {
      this.blocks.push([key])
      return
    }
    const position = positionIn(block, key)
    if (block[position] === key) return
    block.splice(position, 0, key)
    if (block.length > BLOCK_KEYS_MAX) this.blocks.splice(at + 1, 0, block.splice(BLOCK_KEYS_MAX / 2))
  }

  /** Removes a key, if it is present. */
  remove(key: K): void {
    const at = this.blockOf(key)
    const block = this.blocks[at]
    if (block === undefined) return
    const position = positionIn(block, key)
    if (block[position] !== key) return
    block.splice(position, 1)
    if (block.length === 0) this.blocks.splice(at, 1)
  }

  /** The least key that is at least `key`, or greater than it if `beyond`; null if there is no such key. */
  atOrAfter(key: K, beyond: boolean): K | null {
    let at = this.blockOf(key)
    const block = this.blocks[at]
    if (block === undefined) return null
    let position = positionIn(block, key)
    if (beyond && block[position] === key) position++
    if (position >= block.length) {
      at++
      position = 0
    }
    return this.blocks[at]?.[position] ?? null
  }

  /** The greatest key that is at most `key`, or less than it if `beyond`; null if there is no such key. */
  atOrBefore(key: K, beyond: boolean): K | null {
    const at = this.blockOf(key)
    const block = this.blocks[at] ?? []
    let position = positionIn(block, key)
    if (beyond || block[position] !== key) position--
    return (position < 0 ? this.blocks[at - 1]?.at(-1) : block[position]) ?? null
  }

  /** The block that contains the key or would contain it: the last one whose first key is not greater, or the first. */
  private blockOf(key: K): number {
    let [low, high] = [0, this.blocks.length]
    while (low < high) {
      const middle = (low + high) >>> 1
      if (this.blocks[middle]![0]! <= key) low = middle + 1
      else high = middle
    }
    return Math.max(0, low - 1)
  }
}

/** Index of the first key that is not less than `key`. */
function positionIn<K extends string | number>(block: readonly K[], key: K): number {
  let [low, high] = [0, block.length]
  while (low < high) {
    const middle = (low + high) >>> 1
    if (block[middle]! < key) low = middle + 1
    else high = middle
  }
  return low
}
