// The Fellegi-Sunter model: how probable each level of similarity is among pairs of the same entity (m) and of different
// entities (u), and how probable it is that two nodes are the same entity. Estimated by expectation maximisation.
import type { Blocking, LinkageData } from './blocking.ts'
import { type BitBounds, NOT_COMPARED, type PairComparison } from './comparison.ts'
import { levelsByKind } from './levels.ts'
import { ABSENT, type RecordTable, randomIntegers } from './record-table.ts'
import type { MappingEstimate, ValueKind } from './types.ts'

/** Pairs of candidates that the estimation uses at most, about. */
const TRAINING_PAIRS = 500_000
/** Random pairs for u, and how many of them for each record. */
const RANDOM_PAIRS = 300_000
const RANDOM_PAIRS_PER_RECORD = 100
/** Fewer pairs than this are all compared. */
const FEW_PAIRS = 20_000
const MAX_ITERATIONS = 100
const CONVERGED = 1e-5
/** How many pairs the assumed m and u count for. */
const M_STRENGTH = 10
const U_STRENGTH = 100
/** How many other nodes have a value that was seen on no other node: at most, at least, and how many values the assumption counts for. */
const UNSEEN_MOST = 0.5
const UNSEEN_LEAST = 0.02
const UNSEEN_STRENGTH = 10
/** Assumed probability that values of the same entity are exchanged between two properties, and of different entities. */
const EXCHANGED_M = 0.005
const EXCHANGED_U = 0.00001
/** Within one type, as many counterparts of a node are possible on average. */
const SAME_TYPE_COUNTERPARTS = 4
/** Similar values of the same entity are at most this many times as frequent, relative to equal ones, as is assumed. */
const SIMILAR_LIMIT = 2
/** Matches without an agreeing property are at most this many times as frequent as m predicts. */
const DISAGREEMENT_LIMIT = 2
/** Values of the same entity are different at most this often. */
const DIFFERENT_LIMIT = 0.3
/** Levels that are at least this frequent among different entities are not an agreement. */
const AGREEMENT_U = 0.05
/** Kinds that compare words, and whose values are rarely equal. */
const wordKinds: ReadonlySet<ValueKind> = new Set(['text', 'address', 'tokens'])
/**
 * Related entities, such as twins, are different and have values in common. For each pair of the same entity with one bit
 * against a match, so many pairs are related; more bits raise the number as they do for strangers. With the highest m of
 * different values, DIFFERENT_LIMIT, the score is below 0.95.
 */
const RELATED_ODDS = 1 / 40
/** At most so many: what differs may also be an error, however rare errors are. The score is at least 2/3. */
const RELATED_MOST = 1 / 2
/** Related entities do not share identifiers: equal values of these kinds that are rarer among strangers than so many bits. */
const identifierKinds: ReadonlySet<ValueKind> = new Set(['code', 'exact'])
const IDENTIFIER_BITS = 10
const STEP = 256

/** A score, and the bits of the prior and the weights. */
interface PairScore {
  readonly score: number
  readonly bits: number
}

/** Estimates of one mapping by level. The last level is `exchanged`, the one before it `different`. */
interface LevelProbabilities {
  m: Float64Array
  u: Float64Array
}

/** The weights of the values of a mapping, by number of the value. */
interface ValueWeights {
  /** log2(m / frequency) of equal values. */
  readonly equal: Float32Array
  /** The highest weight of a value that is similar to this one. */
  readonly similar: Float32Array
  readonly unseen: number
}

/** An estimated model. */
export class LinkageModel {
  /** Probability that a random pair is the same entity. */
  readonly prior: number
  readonly #data: LinkageData
  readonly #levels: readonly LevelProbabilities[]
  /** By mapping and level, log2(m / u). */
  readonly #weights: readonly Float64Array[]
  readonly #values: readonly ValueWeights[]
  /** By mapping, the bits of equal values against related entities. */
  readonly #identifying: readonly number[]

  constructor(
    data: LinkageData,
    prior: number,
    levels: readonly LevelProbabilities[],
    values: readonly ValueWeights[],
  ) {
    this.#data = data
    this.prior = prior
    this.#levels = levels
    this.#weights = levels.map(({ m, u }) => m.map((value, level) => Math.log2(value / u[level]!)))
    this.#values = values
    this.#identifying = levels.map(({ u }, mapping) =>
      identifierKinds.has(data.kinds[mapping]!) ? Math.max(0, -Math.log2(u[0]!) - IDENTIFIER_BITS) : 0,
    )
  }

  /** The weight of a mapping in bits. */
  weight(mapping: number, level: number, source: number, target: number): number {
    if (level === NOT_COMPARED) return 0
    const { sources, targets } = this.#data
    const value = sources.value(source, mapping)
    if (level === 0) return this.#values[mapping]!.equal[value]!
    const weight = this.#weights[mapping]![level]!
    if (weight <= 0 || level === this.#weights[mapping]!.length - 1) return weight
    // A similar value weighs at most as much as an equal one: otherwise a misspelt frequent name would weigh more than the name.
    const highest = this.#values[mapping]!.similar
    return Math.max(0, Math.min(weight, highest[value]!, highest[targets.value(target, mapping)]!))
  }

  /** The probability that two records with these levels are the same entity, and neither strangers nor related entities. */
  score(levels: Uint8Array, source: number, target: number): PairScore {
    let bits = LinkageModel.bitsOf(this.prior)
    let differing = 0
    let identifying = 0
    for (let mapping = 0; mapping < levels.length; mapping += 1) {
      const level = levels[mapping]!
      const weight = this.weight(mapping, level, source, target)
      bits += weight
      if (weight < 0) differing -= weight
      else if (level === 0) identifying = Math.max(identifying, this.#identifying[mapping]!)
    }
    // Agreements are evidence only against strangers: related entities have them, too.
    const related = Math.min(RELATED_MOST, RELATED_ODDS * 2 ** -identifying * (2 ** differing - 1))
    return { score: 1 / (1 + Math.max(2 ** -bits, related)), bits }
  }

  /** The bits of a score. */
  static bitsOf(score: number): number {
    return Math.log2(score / (1 - score))
  }

  /** The weights that bound the bits of a pair. */
  bounds(): BitBounds {
    return {
      prior: LinkageModel.bitsOf(this.prior),
      highest: Float64Array.from(this.#weights, (weights) => Math.max(...weights.subarray(1, -1))),
      equal: (mapping, value) => this.#values[mapping]!.equal[value]!,
      different: (mapping, level) => this.#weights[mapping]![level]!,
    }
  }

  /** The estimates by mapping. */
  estimates(): MappingEstimate[] {
    return this.#levels.map(({ m, u }, mapping) => {
      const kind = this.#data.kinds[mapping]!
      const { labels, thresholds } = levelsByKind[kind]
      return {
        kind,
        unseen: this.#values[mapping]!.unseen,
        levels: [...labels, 'exchanged'].map((label, level) => ({
          label,
          similarity: thresholds[level] ?? 0,
          m: m[level]!,
          u: u[level]!,
        })),
      }
    })
  }
}

/** Estimates the model. Yields between short steps, with the share that is done. */
export function* estimateModel(
  data: LinkageData,
  blocking: Blocking,
  comparison: PairComparison,
  seed: number,
): Generator<number, LinkageModel> {
  const frequencies: ValueFrequencies[] = []
  for (let mapping = 0; mapping < data.kinds.length; mapping += 1) {
    frequencies.push(yield* valueFrequencies(data, mapping))
  }
  const random = yield* randomPatterns(data, comparison, seed)
  const trained = yield* candidatePatterns(data, blocking, comparison)
  const estimation = new Estimation(data, comparison, frequencies, random, trained)
  for (let iteration = 0; iteration < MAX_ITERATIONS; iteration += 1) {
    const change = yield* estimation.iterate()
    if (change < CONVERGED) break
  }
  const values: ValueWeights[] = []
  for (const [mapping, { m }] of estimation.levels.entries()) {
    const assumed = levelsByKind[data.kinds[mapping]!].u[0]!
    const frequency = frequencies[mapping]!
    const unseen = frequency.unseen(assumed, estimation.equalMatches[mapping]!)
    const equal = frequency.weights(m[0]!, assumed, unseen)
    yield 0.95
    values.push({ unseen, equal, similar: frequency.weights(m[0]!, assumed, frequency.assumedUnseen(assumed)) })
    yield 0.95
  }
  return new LinkageModel(data, estimation.prior, estimation.levels, values)
}

/** How often each value of a mapping occurs. */
class ValueFrequencies {
  readonly #larger: Uint32Array
  readonly #records: number
  /** Pairs whose values are equal, and pairs that both have a value. */
  readonly equalPairs: number
  readonly pairs: number
  /** Pairs whose values are equal, if each node with an equal counterpart has one that is the same entity. */
  readonly chancePairs: number
  readonly #repetition: ValueRepetition
  readonly #ofPair: number

  constructor({ larger, records, equalPairs, samePairs, pairs, repetition }: ValueCounts, isSameType: boolean) {
    this.#larger = larger
    this.#records = records
    this.equalPairs = equalPairs
    this.chancePairs = equalPairs - samePairs
    this.pairs = pairs
    this.#repetition = repetition
    this.#ofPair = isSameType ? 2 : 1
  }

  /** How many other nodes have a value that was seen on no other node. `equalMatches`: matches with equal values. */
  unseen(assumedFrequency: number, equalMatches: number): number {
    const assumed = this.assumedUnseen(assumedFrequency)
    // Equal values that matches do not explain show that rare values are equal by chance, too.
    const unexplained = 1 - equalMatches / Math.max(this.equalPairs - this.chancePairs, Number.MIN_VALUE)
    const unseen = Math.max(this.#repetition.rate(assumed), assumed * unexplained, Math.min(assumed, UNSEEN_LEAST))
    return Math.min(UNSEEN_MOST, unseen)
  }

  /** The same without data. */
  assumedUnseen(assumedFrequency: number): number {
    return Math.min(UNSEEN_MOST, this.#records * assumedFrequency)
  }

  /** The weights of equal values in bits: a rare value weighs more than a frequent one. `unseen`: see above. */
  weights(m: number, assumedFrequency: number, unseen: number): Float32Array {
    const weights = new Float32Array(this.#larger.length)
    const assumedNodes = Math.min(U_STRENGTH, 0.5 / assumedFrequency)
    for (let value = 0; value < weights.length; value += 1) {
      // Without the pair itself.
      const others = Math.max(0, this.#larger[value]! - this.#ofPair)
      const frequency = unseen / Math.max(1, this.#records) + others / (this.#records + assumedNodes)
      weights[value] = Math.log2(m / frequency)
    }
    return weights
  }
}

interface ValueCounts {
  /** By value, the nodes that have it on the side that has more. */
  readonly larger: Uint32Array
  readonly records: number
  readonly equalPairs: number
  readonly samePairs: number
  readonly pairs: number
  readonly repetition: ValueRepetition
}

/** How often values occur once and twice within a type. */
class ValueRepetition {
  once = 0
  twice = 0

  add(count: number): void {
    if (count === 1) this.once += 1
    if (count === 2) this.twice += 1
  }

  /** How many other nodes have a value that was seen on one node, after Good and Turing: 2 × values seen twice / values seen once. */
  rate(assumed: number): number {
    return Math.max(2 * this.twice, UNSEEN_STRENGTH * assumed) / (this.once + UNSEEN_STRENGTH)
  }
}

function* valueFrequencies(data: LinkageData, mapping: number): Generator<number, ValueFrequencies> {
  const { size } = data.dictionaries[mapping]!
  const { isSameType } = data
  const sources = yield* countValues(data.sources, mapping, size)
  const targets = isSameType ? sources : yield* countValues(data.targets, mapping, size)
  const larger = new Uint32Array(size)
  const ofSources = new ValueRepetition()
  const ofTargets = new ValueRepetition()
  let equalPairs = 0
  let samePairs = 0
  let sourceRecords = 0
  let targetRecords = 0
  for (let value = 0; value < size; value += 1) {
    const s = sources[value]!
    const t = targets[value]!
    larger[value] = Math.max(s, t)
    // Within one type, a value that occurs twice may belong to one entity.
    if (!isSameType || s === 1) ofSources.add(s)
    ofTargets.add(t)
    equalPairs += isSameType ? (s * (s - 1)) / 2 : s * t
    samePairs += isSameType ? Math.floor(s / 2) : Math.min(s, t)
    sourceRecords += s
    targetRecords += t
    if (value % (STEP * STEP) === 0) yield 0
  }
  const records = Math.max(sourceRecords, targetRecords)
  // That of the type with fewer repetitions: nodes of the other one may be the same entity.
  const isBySources = isSameType || ofSources.rate(0) / sourceRecords < ofTargets.rate(0) / targetRecords
  const repetition = isBySources ? ofSources : ofTargets
  const pairs = isSameType ? (sourceRecords * (sourceRecords - 1)) / 2 : sourceRecords * targetRecords
  return new ValueFrequencies({ larger, records, equalPairs, samePairs, pairs, repetition }, isSameType)
}

function* countValues(table: RecordTable, mapping: number, size: number): Generator<number, Uint32Array> {
  const counts = new Uint32Array(size)
  for (let record = 0; record < table.size; record += 1) {
    const value = table.value(record, mapping)
    if (value !== ABSENT) counts[value]! += 1
    if (record % (STEP * STEP) === 0) yield 0
  }
  return counts
}

function pairCount({ sources, targets, isSameType }: LinkageData): number {
  return isSameType ? (sources.size * (sources.size - 1)) / 2 : sources.size * targets.size
}

function* randomPatterns(data: LinkageData, comparison: PairComparison, seed: number): Generator<number, PatternTable> {
  const patterns = new PatternTable(data.kinds.length)
  const { sources, targets, isSameType } = data
  if (pairCount(data) <= FEW_PAIRS) {
    for (let source = 0; source < sources.size; source += 1) {
      for (let target = isSameType ? source + 1 : 0; target < targets.size; target += 1) {
        comparison.compare(source, target)
        patterns.add(comparison.levels)
        if (target % STEP === 0) yield 0
      }
    }
    return patterns
  }
  const random = randomIntegers(seed)
  const count = Math.min(RANDOM_PAIRS, RANDOM_PAIRS_PER_RECORD * (sources.size + targets.size))
  for (let pair = 0; pair < count; pair += 1) {
    const source = random(sources.size)
    const target = random(targets.size)
    if (isSameType && source === target) continue
    comparison.compare(source, target)
    patterns.add(comparison.levels)
    if (pair % STEP === 0) yield (0.3 * pair) / count
  }
  return patterns
}

interface TrainedPatterns {
  readonly patterns: PatternTable
  /** How many pairs each counted pair stands for. */
  readonly scale: number
}

function* candidatePatterns(
  data: LinkageData,
  blocking: Blocking,
  comparison: PairComparison,
): Generator<number, TrainedPatterns> {
  const patterns = new PatternTable(data.kinds.length)
  const { size } = data.sources
  // Every stride-th source. Sources are ordered by node, so that the choice does not depend on the order of input.
  const estimated = blocking.estimatedPairs
  const stride = Math.max(1, Math.ceil(estimated / TRAINING_PAIRS))
  let used = 0
  for (let source = 0; source < size; source += stride) {
    for (const target of blocking.candidatesOf(source)) {
      comparison.compare(source, target)
      patterns.add(comparison.levels)
    }
    used += 1
    yield 0.3 + (0.5 * source) / size
  }
  return { patterns, scale: used === 0 ? 1 : size / used }
}

/** The state of expectation maximisation. */
class Estimation {
  prior: number
  readonly levels: LevelProbabilities[]
  /** By mapping, the expected number of matches with equal values. */
  equalMatches: number[] = []
  readonly #data: LinkageData
  readonly #frequencies: readonly ValueFrequencies[]
  readonly #random: PatternTable
  readonly #trained: TrainedPatterns
  readonly #pairs: number
  readonly #highestPrior: number

  constructor(
    data: LinkageData,
    comparison: PairComparison,
    frequencies: readonly ValueFrequencies[],
    random: PatternTable,
    trained: TrainedPatterns,
  ) {
    this.#data = data
    this.#frequencies = frequencies
    this.#random = random
    this.#trained = trained
    this.#pairs = Math.max(1, pairCount(data))
    const smaller = Math.min(data.sources.size, data.targets.size)
    this.#highestPrior = Math.min(0.9, highestMatches(data) / this.#pairs)
    this.prior = Math.min(this.#highestPrior, 0.5, ((data.isSameType ? 0.1 : 0.3) * Math.max(1, smaller)) / this.#pairs)
    this.levels = data.kinds.map((kind, mapping) => {
      const assumed = levelsByKind[kind]
      const count = comparison.levelCount(mapping)
      const m = Float64Array.from({ length: count }, (_, level) => assumed.m[level] ?? EXCHANGED_M)
      const u = Float64Array.from({ length: count }, (_, level) => assumed.u[level] ?? EXCHANGED_U)
      // Otherwise a single property never has matches: their equal values would be as frequent as is assumed of strangers.
      const { chancePairs, pairs } = frequencies[mapping]!
      u[0] = (chancePairs + U_STRENGTH * assumed.u[0]!) / (pairs + U_STRENGTH)
      return { m: normalised(m), u: normalised(u) }
    })
  }

  /** One iteration; returns the largest change of an m. */
  *iterate(): Generator<number, number> {
    const agreeing = this.levels.map(({ u }, mapping) => agreeingLevels(this.#data.kinds[mapping]!, u))
    const { agreed, differing } = yield* this.#expected(this.#trained.patterns, agreeing, (same) => same)
    // Similar numbering makes several properties of different entities similar at once. So many matches without an agreeing
    // property follow from m; the others count as different entities.
    const share = differing.disagreement / Math.max(differing.total, Number.MIN_VALUE)
    const plausible = (DISAGREEMENT_LIMIT * agreed.total * share) / Math.max(1 - share, Number.MIN_VALUE)
    const hasAgreement = agreeing.some((count) => count > 0)
    const kept = hasAgreement ? Math.min(1, plausible / Math.max(differing.total, Number.MIN_VALUE)) : 1
    const { scale } = this.#trained
    const total = scale * (agreed.total + kept * differing.total)
    const possible = Math.min(1, (this.#highestPrior * this.#pairs) / Math.max(total, Number.MIN_VALUE))
    const matched = agreed.counts.map((counts, mapping) =>
      counts.map((count, level) => possible * scale * (count + kept * differing.counts[mapping]![level]!)),
    )
    const others = yield* this.#expected(
      this.#random,
      agreeing,
      (same, isAgreed) => 1 - possible * (isAgreed ? 1 : kept) * same,
    )
    const different = others.agreed.counts.map((counts, mapping) =>
      counts.map((count, level) => count + others.differing.counts[mapping]![level]!),
    )
    // Matches that differ more often than the limit are not all matches.
    const plausibleShare = Math.min(...matched.map(plausibleMatches))
    this.equalMatches = matched.map((counts) => plausibleShare * counts[0]!)
    let change = 0
    for (const [mapping, probabilities] of this.levels.entries()) {
      const assumed = levelsByKind[this.#data.kinds[mapping]!]
      const m = blended(matched[mapping]!, assumed.m, EXCHANGED_M, M_STRENGTH)
      if (!wordKinds.has(this.#data.kinds[mapping]!)) limitSimilar(m, assumed.m)
      limitDifferent(m)
      const u = blended(different[mapping]!, assumed.u, EXCHANGED_U, U_STRENGTH)
      // The share of equal values follows from their frequencies; random pairs would meet too few of them.
      const { equalPairs, pairs } = this.#frequencies[mapping]!
      const counts = matched[mapping]!
      const equal = Math.max(0, equalPairs - counts[0]!) + U_STRENGTH * assumed.u[0]!
      const equalShare = equal / (Math.max(0, pairs - counts.reduce((sum, count) => sum + count, 0)) + U_STRENGTH)
      const rest = 1 - u[0]!
      for (let level = 1; level < u.length; level += 1) u[level] = (u[level]! * (1 - equalShare)) / rest
      u[0] = equalShare
      orderWeights(m, u)
      for (const [level, value] of m.entries()) change = Math.max(change, Math.abs(value - probabilities.m[level]!))
      this.levels[mapping] = { m, u }
    }
    const smaller = Math.max(1, Math.min(this.#data.sources.size, this.#data.targets.size))
    const assumedMatches = 0.1
    const prior = (possible * total + assumedMatches) / (this.#pairs + (assumedMatches * this.#pairs) / smaller)
    this.prior = Math.min(this.#highestPrior, prior)
    return change
  }

  /**
   * Sums a weight of each pattern, which depends on the probability that its pairs are the same, by mapping and level.
   * `agreeing`: by mapping, the number of the levels that are an agreement.
   */
  *#expected(
    patterns: PatternTable,
    agreeing: readonly number[],
    weigh: (same: number, isAgreed: boolean) => number,
  ): Generator<number, { agreed: ExpectedPairs; differing: ExpectedPairs }> {
    const empty = (): ExpectedPairs => ({
      counts: this.levels.map(({ m }) => new Float64Array(m.length)),
      total: 0,
      disagreement: 0,
    })
    const agreed = empty()
    const differing = empty()
    const logs = this.levels.map(({ m, u }) => m.map((value, level) => Math.log(value / u[level]!)))
    const disagreements = this.levels.map(({ m }, mapping) =>
      m.reduce((sum, value, level) => (level < agreeing[mapping]! ? sum : sum + value), 0),
    )
    const prior = Math.log(this.prior / (1 - this.prior))
    for (let pattern = 0; pattern < patterns.size; pattern += 1) {
      const row = pattern * logs.length
      let odds = prior
      let isAgreed = false
      let disagreement = 1
      for (let mapping = 0; mapping < logs.length; mapping += 1) {
        const level = patterns.rows[row + mapping]!
        if (level === NOT_COMPARED) continue
        odds += logs[mapping]![level]!
        if (level < agreeing[mapping]!) isAgreed = true
        disagreement *= disagreements[mapping]!
      }
      const weight = weigh(1 / (1 + Math.exp(-odds)), isAgreed) * patterns.counts[pattern]!
      const sums = isAgreed ? agreed : differing
      sums.total += weight
      sums.disagreement += weight * disagreement
      for (let mapping = 0; mapping < logs.length; mapping += 1) {
        const level = patterns.rows[row + mapping]!
        if (level !== NOT_COMPARED) sums.counts[mapping]![level]! += weight
      }
      if (pattern % (8 * STEP) === 0) yield 0.85
    }
    return { agreed, differing }
  }
}

/** The weights of pairs, by mapping and level and in total. */
interface ExpectedPairs {
  readonly counts: Float64Array[]
  total: number
  /** The sum of the weights times the probability that no property agrees, among pairs of the same entity. */
  disagreement: number
}

/** The number of levels of a mapping that are an agreement: rare among different entities. All words are rarely equal. */
function agreeingLevels(kind: ValueKind, u: Float64Array): number {
  if (u[0]! >= AGREEMENT_U) return 0
  return wordKinds.has(kind) && u[0]! + u[1]! < AGREEMENT_U ? 2 : 1
}

function normalised(values: Float64Array): Float64Array {
  const sum = values.reduce((total, value) => total + value, 0)
  return values.map((value) => value / sum)
}

/** Counts and what is assumed, as probabilities. */
function blended(counts: Float64Array, assumed: readonly number[], exchanged: number, strength: number): Float64Array {
  return normalised(counts.map((count, level) => count + strength * (assumed[level] ?? exchanged)))
}

/** The most matches that the estimation assumes: each node of the larger type has one counterpart; within one type, four. */
function highestMatches({ sources, targets, isSameType }: LinkageData): number {
  return isSameType ? (SAME_TYPE_COUNTERPARTS * sources.size) / 2 : Math.max(sources.size, targets.size)
}

/**
 * Limits the m of similar values in relation to equal ones, and keeps their sum. Without the limit the model of nodes that
 * have nothing in common, but are numbered or named alike, is that values of the same entity are always similar and never equal.
 */
function limitSimilar(m: Float64Array, assumed: readonly number[]): void {
  const different = assumed.length - 1
  let sum = m[0]!
  let similar = 0
  for (let level = 1; level < different; level += 1) {
    sum += m[level]!
    similar += m[level]!
  }
  let assumedSimilar = 0
  for (let level = 1; level < different; level += 1) assumedSimilar += assumed[level]!
  const highest = (SIMILAR_LIMIT * assumedSimilar) / assumed[0]!
  if (similar <= highest * m[0]!) return
  m[0] = sum / (1 + highest)
  const factor = (sum - m[0]!) / similar
  for (let level = 1; level < different; level += 1) m[level]! *= factor
}

/**
 * Limits the m of different values, and keeps the sum. Without the limit the model of people who share a name is that the other
 * properties of the same entity are always different.
 */
function limitDifferent(m: Float64Array): void {
  const different = m.length - 2
  const rest = 1 - m[different]!
  if (m[different]! <= DIFFERENT_LIMIT || rest <= 0) return
  const factor = (1 - DIFFERENT_LIMIT) / rest
  for (let level = 0; level < m.length; level += 1) m[level]! *= factor
  m[different] = DIFFERENT_LIMIT
}

/** The share of matches that is left if no more of them have different values than the limit allows. */
function plausibleMatches(counts: Float64Array): number {
  const total = counts.reduce((sum, count) => sum + count, 0)
  const share = counts[counts.length - 2]! / Math.max(total, Number.MIN_VALUE)
  return DIFFERENT_LIMIT / Math.max(DIFFERENT_LIMIT, share)
}

/** Merges the m of neighbouring levels until no level has a higher weight than a more similar one; keeps their sum. */
function orderWeights(m: Float64Array, u: Float64Array): void {
  const groups: { from: number; m: number; u: number }[] = []
  const levels = m.length - 1
  for (let level = 0; level < levels; level += 1) {
    let group = { from: level, m: m[level]!, u: u[level]! }
    for (let last = groups.at(-1); last !== undefined && last.m * group.u < group.m * last.u; last = groups.at(-1)) {
      groups.pop()
      group = { from: last.from, m: last.m + group.m, u: last.u + group.u }
    }
    groups.push(group)
  }
  for (const [at, group] of groups.entries()) {
    const end = groups[at + 1]?.from ?? levels
    if (end - group.from === 1) continue
    for (let level = group.from; level < end; level += 1) m[level] = (u[level]! * group.m) / group.u
  }
}

/** Counts how often each combination of levels occurs. */
class PatternTable {
  size = 0
  /** The levels of each pattern, one pattern after the other. */
  rows = new Uint8Array(1 << 12)
  counts = new Float64Array(1 << 8)
  readonly #width: number
  #slots = new Int32Array(1 << 9).fill(-1)
  #hashes = new Uint32Array(1 << 8)

  constructor(width: number) {
    this.#width = width
  }

  add(levels: Uint8Array): void {
    let hash = 0x811c9dc5
    for (let at = 0; at < this.#width; at += 1) hash = Math.imul(hash ^ levels[at]!, 0x01000193)
    hash = (hash ^ (hash >>> 15)) >>> 0
    const mask = this.#slots.length - 1
    let slot = hash & mask
    for (;;) {
      const pattern = this.#slots[slot]!
      if (pattern < 0) break
      if (this.#hashes[pattern] === hash && this.#isRow(pattern, levels)) {
        this.counts[pattern]! += 1
        return
      }
      slot = (slot + 1) & mask
    }
    this.#slots[slot] = this.size
    this.#append(levels, hash)
  }

  #isRow(pattern: number, levels: Uint8Array): boolean {
    const row = pattern * this.#width
    for (let at = 0; at < this.#width; at += 1) if (this.rows[row + at] !== levels[at]) return false
    return true
  }

  #append(levels: Uint8Array, hash: number): void {
    const row = this.size * this.#width
    if (row + this.#width > this.rows.length) {
      const rows = new Uint8Array(2 * (row + this.#width))
      rows.set(this.rows)
      this.rows = rows
    }
    this.rows.set(levels, row)
    if (this.size === this.counts.length) {
      const counts = new Float64Array(2 * this.size)
      counts.set(this.counts)
      this.counts = counts
      const hashes = new Uint32Array(2 * this.size)
      hashes.set(this.#hashes)
      this.#hashes = hashes
    }
    this.counts[this.size] = 1
    this.#hashes[this.size] = hash
    this.size += 1
    if (this.size * 2 > this.#slots.length) this.#grow()
  }

  #grow(): void {
    const slots = new Int32Array(this.#slots.length * 2).fill(-1)
    const mask = slots.length - 1
    for (let pattern = 0; pattern < this.size; pattern += 1) {
      let slot = this.#hashes[pattern]! & mask
      while (slots[slot]! >= 0) slot = (slot + 1) & mask
      slots[slot] = pattern
    }
    this.#slots = slots
  }
}
