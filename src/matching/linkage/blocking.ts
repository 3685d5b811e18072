// Blocking: which pairs are compared. A record is compared with the records that share one of its keys, except keys that too
// many records share; records that share two such keys of different properties are compared, too. So the number of
// compared pairs grows with the number of records, not with its square.
import { blockingTokens, keyMakers, keyOf, NO_KEY } from './block-keys.ts'
import { ABSENT, type RecordTable } from './record-table.ts'
import type { ValueKind } from './types.ts'
import type { ValueDictionary } from './value-dictionary.ts'

/** Mean number of pairs for each record, for keys and for pairs of keys. */
const PAIRS_PER_RECORD = 30
/** Pairs that are always affordable. */
const AFFORDABLE_PAIRS = 500_000
/** The block sizes that are tried, descending. */
const BLOCK_SIZES = [96, 64, 48, 32, 24, 16, 12, 8, 6, 4, 3, 2, 1]
/** At most this many pairs of properties are combined. */
const MAX_COMBINATIONS = 66
/** Steps end after so many records or values, and after so many texts. */
const STEP = 1 << 12
const TEXT_STEP = 1 << 9

/** Blocks of one key: the target records of each block. */
interface KeyIndex {
  readonly mapping: number
  /** By number of the value: its block, or NO_BLOCK, or LARGE_BLOCK. */
  readonly blockOf: Int32Array
  /** By block, where its records begin; the next block's start is its end. */
  readonly starts: Uint32Array
  readonly records: Uint32Array
}

/** Blocks of the combination of two keys. */
interface CombinedIndex {
  readonly first: LooseKeys
  readonly second: LooseKeys
  readonly slots: Int32Array
  readonly keys: Uint32Array
  readonly starts: Uint32Array
  readonly records: Uint32Array
}

/** The keys of the first key maker of a mapping, where the blocks are too large. */
interface LooseKeys {
  readonly mapping: number
  /** By number of the value: its key, or NO_KEY if its block is small enough. */
  readonly keys: Uint32Array
}

const NO_BLOCK = -1

/** The sides of a linkage. `targets` is `sources` if duplicates within one type are searched. */
export interface LinkageData {
  readonly kinds: readonly ValueKind[]
  readonly dictionaries: readonly ValueDictionary[]
  readonly sources: RecordTable
  readonly targets: RecordTable
  readonly isSameType: boolean
}

/** Finds the pairs that are compared. */
export class Blocking {
  readonly #data: LinkageData
  readonly #indexes: KeyIndex[] = []
  readonly #combined: CombinedIndex[] = []
  /** By target, the last call of candidatesOf that has met it. */
  readonly #metBy: Uint32Array
  #calls = 0
  #candidates = new Uint32Array(1 << 10)
  #pairs = 0

  private constructor(data: LinkageData) {
    this.#data = data
    this.#metBy = new Uint32Array(data.targets.size)
  }

  /** Builds the blocks. Yields between short steps, with the share that is done. */
  static *build(data: LinkageData): Generator<number, Blocking> {
    const blocking = new Blocking(data)
    yield* blocking.#build()
    return blocking
  }

  /** At most this many pairs are compared; pairs that share several keys count several times. */
  get estimatedPairs(): number {
    return this.#data.isSameType ? this.#pairs / 2 : this.#pairs
  }

  /** The targets that a source is compared with: a view that is valid until the next call. */
  candidatesOf(source: number): Uint32Array {
    this.#calls += 1
    let count = 0
    const { sources } = this.#data
    for (const { mapping, blockOf, starts, records } of this.#indexes) {
      const value = sources.value(source, mapping)
      if (value === ABSENT) continue
      const block = blockOf[value]!
      if (block !== NO_BLOCK) count = this.#meet(source, records, starts[block]!, starts[block + 1]!, count)
    }
    for (const index of this.#combined) {
      const key = combinedKey(index.first, index.second, sources, source)
      if (key === NO_KEY) continue
      const block = findSlot(index.slots, index.keys, key)
      if (block >= 0) {
        count = this.#meet(source, index.records, index.starts[block]!, index.starts[block + 1]!, count)
      }
    }
    return this.#candidates.subarray(0, count)
  }

  #meet(source: number, records: Uint32Array, start: number, end: number, met: number): number {
    let count = met
    if (count + end - start > this.#candidates.length) {
      const larger = new Uint32Array(Math.max(this.#candidates.length * 2, count + end - start))
      larger.set(this.#candidates)
      this.#candidates = larger
    }
    const { isSameType } = this.#data
    const call = this.#calls
    for (let at = start; at < end; at += 1) {
      const target = records[at]!
      // In one type each pair is met once, from its first record.
      if (this.#metBy[target] === call || (isSameType && target <= source)) continue
      this.#metBy[target] = call
      this.#candidates[count] = target
      count += 1
    }
    return count
  }

  *#build(): Generator<number, void> {
    const { kinds, sources, targets } = this.#data
    const affordable = Math.max(AFFORDABLE_PAIRS, PAIRS_PER_RECORD * (sources.size + targets.size))
    const makers: { mapping: number; isLoosest: boolean; keys: Uint32Array }[] = []
    for (const [mapping, kind] of kinds.entries()) {
      const tokenCount = yield* countTokens(kind, this.#data.dictionaries[mapping]!)
      for (const [at, maker] of keyMakers(kind).entries()) {
        const dictionary = this.#data.dictionaries[mapping]!
        const keys = new Uint32Array(dictionary.size)
        for (let value = 0; value < dictionary.size; value += 1) {
          keys[value] = keyOf(maker, dictionary.text(value), tokenCount)
          if (value % TEXT_STEP === 0) yield (0.4 * mapping) / kinds.length
        }
        makers.push({ mapping, isLoosest: at === 0, keys })
      }
    }
    const sizes: BlockSizes[] = []
    for (const [at, { mapping, keys }] of makers.entries()) {
      sizes.push(yield* blockSizes(keys, sources, targets, mapping))
      yield 0.4 + (0.2 * at) / makers.length
    }
    const largest = yield* this.#largestBlocks(sizes, affordable)
    const loose: LooseKeys[] = []
    for (const [at, { mapping, isLoosest, keys }] of makers.entries()) {
      this.#indexes.push(yield* keyIndex(keys, sizes[at]!, targets, mapping, largest))
      if (isLoosest) {
        const large = yield* keysOfLargeBlocks(keys, sizes[at]!, largest)
        if (large !== null) loose.push({ mapping, keys: large })
      }
      yield 0.6 + (0.2 * at) / makers.length
    }
    yield* this.#combine(loose, affordable)
  }

  *#combine(loose: readonly LooseKeys[], affordable: number): Generator<number, void> {
    const pairs = loose.flatMap((first, at) => loose.slice(at + 1).map((second) => ({ first, second })))
    const combined: { first: LooseKeys; second: LooseKeys; sizes: BlockSizes }[] = []
    for (const { first, second } of pairs.slice(0, MAX_COMBINATIONS)) {
      const sizes = yield* combinedSizes(first, second, this.#data)
      combined.push({ first, second, sizes })
      yield 0.8
    }
    const largest = yield* this.#largestBlocks(
      combined.map(({ sizes }) => sizes),
      affordable,
    )
    for (const { first, second, sizes } of combined) {
      this.#combined.push(yield* combinedIndex(first, second, sizes, this.#data.targets, largest))
      yield 0.9
    }
  }

  /** The largest block size with which all keys together give an affordable number of pairs. */
  *#largestBlocks(sizes: readonly BlockSizes[], affordable: number): Generator<number, number> {
    const pairsBySize = new Float64Array(BLOCK_SIZES.length)
    for (const { sourceCounts, targetCounts } of sizes) {
      for (let block = 0; block < targetCounts.length; block += 1) {
        if (block % STEP === 0) yield 0.6
        const size = targetCounts[block]!
        const pairs = size * sourceCounts[block]!
        for (let at = 0; at < BLOCK_SIZES.length && size <= BLOCK_SIZES[at]!; at += 1) pairsBySize[at]! += pairs
      }
    }
    const found = pairsBySize.findIndex((pairs) => pairs <= affordable)
    const at = found < 0 ? BLOCK_SIZES.length - 1 : found
    this.#pairs += pairsBySize[at]!
    return BLOCK_SIZES[at]!
  }
}

/** The sizes of blocks on both sides. */
interface BlockSizes {
  /** By number of the value; empty for combined keys. */
  readonly blockOf: Int32Array
  readonly slots: Int32Array
  readonly keys: Uint32Array
  readonly sourceCounts: Uint32Array
  readonly targetCounts: Uint32Array
}

function* countTokens(kind: ValueKind, dictionary: ValueDictionary): Generator<number, (token: string) => number> {
  const counts = new Map<string, number>()
  if (keyMakers(kind).includes('rarest token')) {
    for (let value = 0; value < dictionary.size; value += 1) {
      for (const token of blockingTokens(dictionary.text(value))) counts.set(token, (counts.get(token) ?? 0) + 1)
      if (value % TEXT_STEP === 0) yield 0
    }
  }
  return (token) => counts.get(token) ?? 0
}

function* blockSizes(
  keys: Uint32Array,
  sources: RecordTable,
  targets: RecordTable,
  mapping: number,
): Generator<number, BlockSizes> {
  const table = new KeyTable()
  const blockOf = new Int32Array(keys.length).fill(NO_BLOCK)
  for (let value = 0; value < keys.length; value += 1) {
    if (keys[value] !== NO_KEY) blockOf[value] = table.intern(keys[value]!)
    if (value % STEP === STEP - 1) yield 0
  }
  const sourceCounts = yield* countBlocks(blockOf, sources, mapping, table.size)
  const targetCounts = sources === targets ? sourceCounts : yield* countBlocks(blockOf, targets, mapping, table.size)
  return { blockOf, slots: table.slots, keys: table.keys, sourceCounts, targetCounts }
}

function* countBlocks(
  blockOf: Int32Array,
  table: RecordTable,
  mapping: number,
  blocks: number,
): Generator<number, Uint32Array> {
  const counts = new Uint32Array(blocks)
  for (let record = 0; record < table.size; record += 1) {
    const value = table.value(record, mapping)
    const block = value === ABSENT ? NO_BLOCK : blockOf[value]!
    if (block !== NO_BLOCK) counts[block] = counts[block]! + 1
    if (record % (4 * STEP) === 0) yield 0
  }
  return counts
}

/** The keys of the values whose block is too large; null if there is no such value. */
function* keysOfLargeBlocks(
  keys: Uint32Array,
  { blockOf, targetCounts }: BlockSizes,
  largest: number,
): Generator<number, Uint32Array | null> {
  const large = new Uint32Array(keys.length)
  let isFound = false
  for (let value = 0; value < keys.length; value += 1) {
    const block = blockOf[value]!
    if (block !== NO_BLOCK && targetCounts[block]! > largest) {
      large[value] = keys[value]!
      isFound = true
    }
    if (value % (4 * STEP) === 0) yield 0.6
  }
  return isFound ? large : null
}

function* keyIndex(
  keys: Uint32Array,
  sizes: BlockSizes,
  targets: RecordTable,
  mapping: number,
  largest: number,
): Generator<number, KeyIndex> {
  const { blockOf, targetCounts } = sizes
  const starts = blockStarts(targetCounts, largest)
  const blocks = new Int32Array(keys.length)
  for (let value = 0; value < keys.length; value += 1) {
    const block = blockOf[value]!
    blocks[value] = block === NO_BLOCK || targetCounts[block]! > largest ? NO_BLOCK : block
    if (value % (4 * STEP) === 0) yield 0
  }
  const records = new Uint32Array(starts[targetCounts.length]!)
  const next = starts.slice()
  for (let record = 0; record < targets.size; record += 1) {
    const value = targets.value(record, mapping)
    const block = value === ABSENT ? NO_BLOCK : blocks[value]!
    if (block !== NO_BLOCK) {
      records[next[block]!] = record
      next[block]! += 1
    }
    if (record % (4 * STEP) === 0) yield 0
  }
  return { mapping, blockOf: blocks, starts, records }
}

function blockStarts(counts: Uint32Array, largest: number): Uint32Array {
  const starts = new Uint32Array(counts.length + 1)
  for (let block = 0; block < counts.length; block += 1) {
    const count = counts[block]!
    starts[block + 1] = starts[block]! + (count > largest ? 0 : count)
  }
  return starts
}

function combinedKey(first: LooseKeys, second: LooseKeys, table: RecordTable, record: number): number {
  const one = table.value(record, first.mapping)
  const other = table.value(record, second.mapping)
  if (one === ABSENT || other === ABSENT) return NO_KEY
  const key = first.keys[one]!
  const otherKey = second.keys[other]!
  if (key === NO_KEY || otherKey === NO_KEY) return NO_KEY
  return (Math.imul(key, 0x9e3779b1) ^ otherKey) >>> 0 || 1
}

function* combinedSizes(first: LooseKeys, second: LooseKeys, data: LinkageData): Generator<number, BlockSizes> {
  const table = new KeyTable()
  const count = function* (side: RecordTable): Generator<number, Uint32Array> {
    let counts = new Uint32Array(1 << 10)
    for (let record = 0; record < side.size; record += 1) {
      const key = combinedKey(first, second, side, record)
      if (record % STEP === 0) yield 0
      if (key === NO_KEY) continue
      const block = table.intern(key)
      if (block >= counts.length) {
        const larger = new Uint32Array(Math.max(2 * counts.length, block + 1))
        larger.set(counts)
        counts = larger
      }
      counts[block]! += 1
    }
    return counts
  }
  const sourceCounts = yield* count(data.sources)
  const targetCounts = data.isSameType ? sourceCounts : yield* count(data.targets)
  const sized = (counts: Uint32Array) => {
    const exact = new Uint32Array(table.size)
    exact.set(counts.subarray(0, table.size))
    return exact
  }
  return {
    blockOf: new Int32Array(0),
    slots: table.slots,
    keys: table.keys,
    sourceCounts: sized(sourceCounts),
    targetCounts: sized(targetCounts),
  }
}

function* combinedIndex(
  first: LooseKeys,
  second: LooseKeys,
  { slots, keys, targetCounts }: BlockSizes,
  targets: RecordTable,
  largest: number,
): Generator<number, CombinedIndex> {
  const starts = blockStarts(targetCounts, largest)
  const records = new Uint32Array(starts[targetCounts.length]!)
  const next = starts.slice()
  for (let record = 0; record < targets.size; record += 1) {
    if (record % STEP === 0) yield 0
    const key = combinedKey(first, second, targets, record)
    const block = key === NO_KEY ? NO_BLOCK : findSlot(slots, keys, key)
    if (block < 0 || targetCounts[block]! > largest) continue
    records[next[block]!] = record
    next[block]! += 1
  }
  return { first, second, slots, keys, starts, records }
}

/** Numbers keys from 0. */
class KeyTable {
  keys = new Uint32Array(1 << 10)
  slots = new Int32Array(1 << 11).fill(-1)
  size = 0

  intern(key: number): number {
    const mask = this.slots.length - 1
    let slot = key & mask
    for (;;) {
      const at = this.slots[slot]!
      if (at < 0) break
      if (this.keys[at] === key) return at
      slot = (slot + 1) & mask
    }
    this.slots[slot] = this.size
    if (this.size === this.keys.length) {
      const larger = new Uint32Array(2 * this.size)
      larger.set(this.keys)
      this.keys = larger
    }
    this.keys[this.size] = key
    this.size += 1
    if (this.size * 2 > this.slots.length) this.#grow()
    return this.size - 1
  }

  #grow(): void {
    const slots = new Int32Array(this.slots.length * 2).fill(-1)
    const mask = slots.length - 1
    for (let at = 0; at < this.size; at += 1) {
      let slot = this.keys[at]! & mask
      while (slots[slot]! >= 0) slot = (slot + 1) & mask
      slots[slot] = at
    }
    this.slots = slots
  }
}

/** The number of a key, or a negative number. */
function findSlot(slots: Int32Array, keys: Uint32Array, key: number): number {
  const mask = slots.length - 1
  let slot = key & mask
  for (;;) {
    const at = slots[slot]!
    if (at < 0 || keys[at] === key) return at
    slot = (slot + 1) & mask
  }
}
