// Compares two records: the level of similarity of each mapping.
import type { LinkageData } from './blocking.ts'
import { type KindLevels, levelOf, levelsByKind } from './levels.ts'
import { ABSENT } from './record-table.ts'
import { Similarity } from './similarity.ts'
import type { ValueKind } from './types.ts'
import type { ValueDictionary } from './value-dictionary.ts'

/** The level of a mapping if one of the records does not have the property, or its values are used by another mapping. */
export const NOT_COMPARED = 255
/** Kinds whose values are entered into the wrong property at times: given name and surname, two lines of an address. */
const exchangeableKinds: ReadonlySet<ValueKind> = new Set(['name', 'address', 'text'])
const CACHE_SIZE = 1 << 16
/** With more values than this a pair of them hardly ever occurs again while it is in the cache. */
const CACHED_VALUES = 1 << 13
/** A level that is not computed yet. */
const PENDING = 254
/** From the cheapest similarity to the most expensive one. */
const kindsByCost: readonly ValueKind[] = [
  'exact',
  'date',
  'code',
  'phone',
  'name',
  'email',
  'number',
  'address',
  'tokens',
  'text',
]

/** The weights that bound the bits of a pair. */
export interface BitBounds {
  /** The bits of the prior. */
  readonly prior: number
  /** By mapping, the highest weight of different values that are not exchanged. */
  readonly highest: Float64Array
  /** The weight of equal values. */
  equal(mapping: number, value: number): number
  /** The weight of a level of different values. */
  different(mapping: number, level: number): number
}

/** Two mappings whose values may be exchanged. */
interface ValueExchange {
  readonly first: number
  readonly second: number
}

/** Compares records of a linkage. */
export class PairComparison {
  /** The levels of the last comparison by mapping. */
  readonly levels: Uint8Array
  readonly #data: LinkageData
  readonly #cutoffs: readonly number[]
  readonly #kinds: readonly KindLevels[]
  readonly #similarity = new Similarity()
  readonly #caches: readonly (LevelCache | null)[]
  readonly #exchanges: readonly ValueExchange[]
  readonly #cheapestFirst: readonly number[]

  /** `cutoffs`: by mapping, the similarity below which values count as different. */
  constructor(data: LinkageData, cutoffs: readonly number[]) {
    this.#data = data
    this.#cutoffs = cutoffs
    this.#kinds = data.kinds.map((kind) => levelsByKind[kind])
    this.levels = new Uint8Array(data.kinds.length)
    this.#caches = data.dictionaries.map(({ size }) => (size <= CACHED_VALUES ? new LevelCache() : null))
    this.#cheapestFirst = [...data.kinds.keys()].sort(
      (a, b) => kindsByCost.indexOf(data.kinds[a]!) - kindsByCost.indexOf(data.kinds[b]!),
    )
    this.#exchanges = data.kinds.flatMap((kind, first) =>
      exchangeableKinds.has(kind)
        ? data.kinds.flatMap((other, second) => (second > first && other === kind ? [{ first, second }] : []))
        : [],
    )
  }

  /** Number of levels of a mapping. The last is `exchanged`, the one before it `different`. */
  levelCount(mapping: number): number {
    return this.#kinds[mapping]!.labels.length + 1
  }

  /** Computes the levels of two records. */
  compare(source: number, target: number): void {
    const { kinds, sources, targets, dictionaries } = this.#data
    const { levels } = this
    for (let mapping = 0; mapping < kinds.length; mapping += 1) {
      const a = sources.value(source, mapping)
      const b = targets.value(target, mapping)
      if (a === ABSENT || b === ABSENT) levels[mapping] = NOT_COMPARED
      else if (a === b) levels[mapping] = 0
      else levels[mapping] = this.#levelOfDifferent(mapping, dictionaries[mapping]!, a, b)
    }
    for (const { first, second } of this.#exchanges) this.#findExchange(first, second, source, target)
  }

  /**
   * Computes the levels of two records, unless their bits are certainly fewer than `lowest`: a mapping that is not compared yet
   * has at most its highest weight. Returns whether all levels were computed.
   */
  compareAbove(source: number, target: number, bounds: BitBounds, lowest: number): boolean {
    const { kinds, sources, targets, dictionaries } = this.#data
    const { levels } = this
    const from = source * sources.width
    const to = target * targets.width
    let bits = bounds.prior
    for (let mapping = 0; mapping < kinds.length; mapping += 1) {
      const a = sources.values[from + mapping]!
      const b = targets.values[to + mapping]!
      if (a === ABSENT || b === ABSENT) levels[mapping] = NOT_COMPARED
      else if (a === b) {
        levels[mapping] = 0
        bits += bounds.equal(mapping, a)
      } else {
        levels[mapping] = PENDING
        bits += bounds.highest[mapping]!
      }
    }
    for (const { first, second } of this.#exchanges) {
      if (levels[first] !== PENDING || levels[second] === 0 || !this.#isExchanged(first, second, source, target))
        continue
      this.compare(source, target)
      return true
    }
    for (const mapping of this.#cheapestFirst) {
      if (bits < lowest) return false
      if (levels[mapping] !== PENDING) continue
      const a = sources.values[from + mapping]!
      const b = targets.values[to + mapping]!
      const level = this.#levelOfDifferent(mapping, dictionaries[mapping]!, a, b)
      levels[mapping] = level
      bits += bounds.different(mapping, level) - bounds.highest[mapping]!
    }
    return bits >= lowest
  }

  /** The similarity of one mapping, from 0 to 1; null if it is not compared. */
  similarity(mapping: number, source: number, target: number): number | null {
    const { kinds, sources, targets, dictionaries } = this.#data
    const a = sources.value(source, mapping)
    const b = targets.value(target, mapping)
    if (a === ABSENT || b === ABSENT) return null
    return this.#similarity.of(kinds[mapping]!, dictionaries[mapping]!, a, b)
  }

  /** The mapping whose values are exchanged with those of a mapping. */
  exchangedWith(mapping: number, source: number, target: number): number | null {
    for (const { first, second } of this.#exchanges) {
      if (first === mapping && this.#isExchanged(first, second, source, target)) return second
    }
    return null
  }

  #levelOfDifferent(mapping: number, dictionary: ValueDictionary, a: number, b: number): number {
    const cache = this.#caches[mapping]!
    if (cache === null) return this.#computeLevel(mapping, dictionary, a, b)
    const low = Math.min(a, b)
    const high = Math.max(a, b)
    const slot = cache.slot(low, high)
    if (cache.low[slot] === low && cache.high[slot] === high) return cache.levels[slot]!
    const level = this.#computeLevel(mapping, dictionary, a, b)
    cache.low[slot] = low
    cache.high[slot] = high
    cache.levels[slot] = level
    return level
  }

  #computeLevel(mapping: number, dictionary: ValueDictionary, a: number, b: number): number {
    const similarity = this.#similarity.of(this.#data.kinds[mapping]!, dictionary, a, b)
    const kind = this.#kinds[mapping]!
    return similarity < this.#cutoffs[mapping]! ? kind.thresholds.length : levelOf(kind, similarity)
  }

  #findExchange(first: number, second: number, source: number, target: number): void {
    const { levels } = this
    if (levels[first] !== this.#kinds[first]!.thresholds.length) return
    if (levels[second] !== NOT_COMPARED && levels[second] !== this.#kinds[second]!.thresholds.length) return
    if (!this.#isExchanged(first, second, source, target)) return
    levels[first] = this.#kinds[first]!.labels.length
    levels[second] = NOT_COMPARED
  }

  #isExchanged(first: number, second: number, source: number, target: number): boolean {
    const { sources, targets } = this.#data
    return (
      this.#isSame(first, sources.value(source, first), second, targets.value(target, second)) &&
      this.#isSame(second, sources.value(source, second), first, targets.value(target, first))
    )
  }

  #isSame(mapping: number, value: number, other: number, otherValue: number): boolean {
    if (value === ABSENT || otherValue === ABSENT) return value === otherValue
    const { dictionaries } = this.#data
    return (
      dictionaries[mapping]!.hashes[value] === dictionaries[other]!.hashes[otherValue] &&
      dictionaries[mapping]!.text(value) === dictionaries[other]!.text(otherValue)
    )
  }
}

/** The levels of pairs of values that were compared before. A slot holds the last pair that needed it. */
class LevelCache {
  readonly low = new Int32Array(CACHE_SIZE).fill(-1)
  readonly high = new Int32Array(CACHE_SIZE)
  readonly levels = new Uint8Array(CACHE_SIZE)

  slot(low: number, high: number): number {
    return ((Math.imul(low, 0x9e3779b1) ^ Math.imul(high, 0x85ebca6b)) >>> 7) & (CACHE_SIZE - 1)
  }
}
