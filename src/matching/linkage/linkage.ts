// One run of record linkage: nodes are added, and `run` finds the pairs that are the same entity.
// docs/explanation/entity-matching.md describes the method.
import { type Assignment, assign, Groups } from './assignment.ts'
import { Blocking, type LinkageData } from './blocking.ts'
import { PairComparison } from './comparison.ts'
import { estimateModel, LinkageModel } from './estimation.ts'
import { detectKind } from './kinds.ts'
import { normalise } from './normalise.ts'
import { ABSENT, RecordTable } from './record-table.ts'
import { ScoredPairs } from './scored-pairs.ts'
import type {
  DecidedPairs,
  EntityMatch,
  LinkageMapping,
  LinkageOptions,
  LinkageProgress,
  LinkageResult,
  LinkageValue,
  LinkageValues,
  MatchConflict,
  MatchList,
  PropertyEvidence,
  ValueKind,
} from './types.ts'
import { ValueDictionary } from './value-dictionary.ts'

/** Kinds that are not given are detected from this many nodes. */
const DETECTION_NODES = 500
/** Pairs with a lower score are never matches, also with a cutoff of 0. */
const LOWEST_SCORE = 0.01
/** After this many pairs a step ends, after at most a few milliseconds. */
const STEP_PAIRS = 256

/** Finds the nodes that are the same entity. The same nodes, mappings and options give the same result. */
export class Linkage {
  readonly #mappings: readonly LinkageMapping[]
  readonly #options: LinkageOptions
  readonly #sources: RecordTable
  readonly #targets: RecordTable
  readonly #dictionaries: readonly ValueDictionary[]
  /** Null until the kinds are known. */
  #kinds: readonly ValueKind[] | null = null
  /** Nodes added before the kinds are known. */
  #waiting: { table: RecordTable; node: number; values: LinkageValues }[] = []
  #isRun = false

  /** Throws a RangeError if there is no mapping, or if a cutoff is not from 0 to 1. */
  constructor(mappings: readonly LinkageMapping[], options: LinkageOptions) {
    if (mappings.length === 0) throw new RangeError('a linkage needs at least one property mapping')
    for (const cutoff of [options.cutoff, ...mappings.map((mapping) => mapping.cutoff ?? 0)]) {
      if (!(cutoff >= 0 && cutoff <= 1)) throw new RangeError(`cutoff ${cutoff} is not a number from 0 to 1`)
    }
    this.#mappings = mappings
    this.#options = options
    this.#sources = new RecordTable(mappings.length)
    this.#targets = options.isSameType ? this.#sources : new RecordTable(mappings.length)
    this.#dictionaries = mappings.map(() => new ValueDictionary())
    const given = mappings.flatMap(({ kind }) => (kind === undefined || kind === null ? [] : [kind]))
    if (given.length === mappings.length) this.#kinds = given
  }

  /** Adds a node of the source type. `node` is a number of the caller's choice, unique among the sources. */
  addSource(node: number, values: LinkageValues): void {
    this.#add(this.#sources, node, values)
  }

  /** Adds a node of the target type. `node` is unique among the targets. Throws a TypeError if there is one type only. */
  addTarget(node: number, values: LinkageValues): void {
    if (this.#options.isSameType) throw new TypeError('a linkage within one type has sources only: use addSource')
    this.#add(this.#targets, node, values)
  }

  /** Replaces the numbers of the nodes, before the run: the nodes are compared, and equal scores selected, in the order of their numbers. */
  renumber(sources: Uint32Array, targets: Uint32Array): void {
    if (this.#kinds === null) this.#detectKinds()
    this.#sources.renumber(sources)
    if (!this.#options.isSameType) this.#targets.renumber(targets)
  }

  /**
   * Compares the nodes, once. Each step takes a few milliseconds; the caller may pause between steps. Decided pairs whose
   * nodes were not added are ignored. Throws a TypeError when it is called again.
   */
  *run(decided: DecidedPairs): Generator<LinkageProgress, LinkageResult> {
    if (this.#isRun) throw new TypeError('a linkage runs once: create another one')
    this.#isRun = true
    if (this.#kinds === null) this.#detectKinds()
    const { isSameType, cutoff, seed } = this.#options
    const data: LinkageData = {
      kinds: this.#kinds!,
      dictionaries: this.#dictionaries,
      sources: this.#sources,
      targets: this.#targets,
      isSameType,
    }
    yield progress('prepare', 0, 0)
    for (const _ of data.sources.sort()) yield progress('prepare', 0.02, 0)
    if (!isSameType) for (const _ of data.targets.sort()) yield progress('prepare', 0.04, 0)
    const decisions = new Decisions(data, decided)
    const blocking = yield* reported(Blocking.build(data), 'block', 0.05, 0.2)
    const cutoffs = this.#mappings.map((mapping) => mapping.cutoff ?? 0)
    const comparison = new PairComparison(data, cutoffs)
    const model = yield* reported(estimateModel(data, blocking, comparison, seed), 'train', 0.2, 0.4)

    const pairs = new ScoredPairs()
    decisions.addSame(pairs)
    const lowest = Math.max(cutoff, LOWEST_SCORE)
    const bounds = model.bounds()
    // A little lower, because the order of the additions differs, and a score near 1 is rounded. From 53 bits on the score is 1.
    const exactBits = Math.min(LinkageModel.bitsOf(lowest), 52)
    const lowestBits = exactBits - 1e-6 - 2 ** (exactBits - 52)
    let comparedPairs = 0
    let stepPairs = 0
    for (let source = 0; source < data.sources.size; source += 1) {
      const candidates = blocking.candidatesOf(source)
      for (let at = 0; at < candidates.length; at += 1) {
        const target = candidates[at]!
        if (!comparison.compareAbove(source, target, bounds, lowestBits)) continue
        const { score, bits } = model.score(comparison.levels, source, target)
        if (score >= lowest && !decisions.isDecided(source, target)) pairs.add(source, target, score, bits, false)
      }
      comparedPairs += candidates.length
      stepPairs += candidates.length + 16
      if (stepPairs >= STEP_PAIRS) {
        stepPairs = 0
        yield progress('compare', 0.4 + (0.5 * source) / data.sources.size, comparedPairs)
      }
    }

    const assigning = assign(data, pairs, this.#options.cardinality ?? 'auto')
    const assignment = yield* silent(assigning, 0.92, comparedPairs)
    const groups = new Groups(data)
    for (const pair of assignment.selected) groups.connect(pairs.sources[pair]!, pairs.targets[pair]!)
    yield progress('assign', 0.97, comparedPairs)
    const contradicted = decisions.contradicted(groups)
    return {
      matches: new SelectedMatches(data, pairs, assignment, comparison, model),
      groups: yield* silent(groups.groups(), 0.97, comparedPairs),
      conflicts: [...contradicted, ...assignment.conflicts],
      conflictCount: contradicted.length + assignment.conflictCount,
      mappings: model.estimates(),
      prior: model.prior,
      comparedPairs,
      isOneToOne: assignment.isOneToOne,
    }
  }

  #add(table: RecordTable, node: number, values: LinkageValues): void {
    if (this.#kinds === null) {
      this.#waiting.push({ table, node, values })
      if (this.#waiting.length >= DETECTION_NODES) this.#detectKinds()
      return
    }
    const kinds = this.#kinds
    const numbers = kinds.map((kind, mapping) => {
      const value = values[mapping] ?? null
      const text = value === null ? null : normalise(kind, value)
      return text === null ? ABSENT : this.#dictionaries[mapping]!.intern(text)
    })
    table.add(node, numbers)
  }

  #detectKinds(): void {
    this.#kinds = this.#mappings.map(({ kind, sourceProperty, targetProperty }, mapping) => {
      const samples = this.#waiting.map(({ values }) => values[mapping] ?? null)
      const present = samples.filter((value): value is LinkageValue => value !== null)
      return kind ?? detectKind([sourceProperty, targetProperty], present)
    })
    const waiting = this.#waiting
    this.#waiting = []
    for (const { table, node, values } of waiting) this.#add(table, node, values)
  }
}

function progress(phase: LinkageProgress['phase'], done: number, comparedPairs: number): LinkageProgress {
  return { phase, done, comparedPairs }
}

/** Reports the share that a part of the run has done as a share of the whole run. */
function* reported<T>(
  part: Generator<number, T>,
  phase: LinkageProgress['phase'],
  from: number,
  to: number,
): Generator<LinkageProgress, T> {
  let done = 0
  for (;;) {
    const step = part.next()
    if (step.done === true) return step.value
    done = Math.max(done, step.value)
    yield progress(phase, from + (to - from) * done, 0)
  }
}

function* silent<T>(part: Generator<void, T>, done: number, comparedPairs: number): Generator<LinkageProgress, T> {
  for (;;) {
    const step = part.next()
    if (step.done === true) return step.value
    yield progress('assign', done, comparedPairs)
  }
}

/** Persons' decisions, by records. */
class Decisions {
  readonly #data: LinkageData
  readonly #same: (readonly [number, number])[] = []
  readonly #different: (readonly [number, number])[] = []
  readonly #keys = new Set<number>()

  constructor(data: LinkageData, { same, different }: DecidedPairs) {
    this.#data = data
    const nodes = new Set([...same, ...different].flat())
    const sourceAt = recordsOf(data.sources, nodes)
    const targetAt = data.isSameType ? sourceAt : recordsOf(data.targets, nodes)
    const add = (pairs: DecidedPairs['same'], into: (readonly [number, number])[]) => {
      for (const [sourceNode, targetNode] of pairs) {
        const a = sourceAt.get(sourceNode)
        const b = targetAt.get(targetNode)
        if (a === undefined || b === undefined || (data.isSameType && a === b)) continue
        const pair: [number, number] = data.isSameType && a > b ? [b, a] : [a, b]
        const key = this.#key(pair[0], pair[1])
        // The later of two contradicting decisions of a caller does not count: `different` is added first.
        if (this.#keys.has(key)) continue
        this.#keys.add(key)
        into.push(pair)
      }
    }
    add(different, this.#different)
    add(same, this.#same)
  }

  isDecided(source: number, target: number): boolean {
    return this.#keys.size > 0 && this.#keys.has(this.#key(source, target))
  }

  addSame(pairs: ScoredPairs): void {
    for (const [source, target] of this.#same) pairs.add(source, target, 1, Number.POSITIVE_INFINITY, true)
  }

  /** Pairs that a person declared different and that other matches connect. */
  contradicted(groups: Groups): MatchConflict[] {
    const { sources, targets } = this.#data
    return this.#different
      .filter(([source, target]) => groups.isConnected(source, target))
      .map(([source, target]) => ({
        source: sources.nodes[source]!,
        target: targets.nodes[target]!,
        score: 0,
        reason: 'decided_different',
      }))
  }

  #key(source: number, target: number): number {
    return source * this.#data.targets.size + target
  }
}

function recordsOf(table: RecordTable, nodes: ReadonlySet<number>): Map<number, number> {
  const records = new Map<number, number>()
  if (nodes.size === 0) return records
  for (let record = 0; record < table.size; record += 1) {
    if (nodes.has(table.nodes[record]!)) records.set(table.nodes[record]!, record)
  }
  return records
}

class SelectedMatches implements MatchList {
  readonly length: number
  readonly #data: LinkageData
  readonly #pairs: ScoredPairs
  readonly #selected: Uint32Array
  readonly #comparison: PairComparison
  readonly #model: LinkageModel

  constructor(
    data: LinkageData,
    pairs: ScoredPairs,
    { selected }: Assignment,
    comparison: PairComparison,
    model: LinkageModel,
  ) {
    this.length = selected.length
    this.#data = data
    this.#pairs = pairs
    this.#selected = selected
    this.#comparison = comparison
    this.#model = model
  }

  at(index: number): EntityMatch {
    const pair = this.#selected[index]
    if (pair === undefined) throw new RangeError(`match ${index} of ${this.length}`)
    const source = this.#pairs.sources[pair]!
    const target = this.#pairs.targets[pair]!
    return {
      source: this.#data.sources.nodes[source]!,
      target: this.#data.targets.nodes[target]!,
      score: this.#pairs.scores[pair]!,
      isDecided: this.#pairs.decided[pair] === 1,
      properties: this.#evidence(source, target),
    }
  }

  *[Symbol.iterator](): Iterator<EntityMatch> {
    for (let index = 0; index < this.length; index += 1) yield this.at(index)
  }

  #evidence(source: number, target: number): PropertyEvidence[] {
    const comparison = this.#comparison
    comparison.compare(source, target)
    return Array.from(comparison.levels, (level, mapping) => {
      const similarity = comparison.similarity(mapping, source, target)
      const weight = this.#model.weight(mapping, level, source, target)
      const isExchanged = level === comparison.levelCount(mapping) - 1
      const exchangedWith = isExchanged ? comparison.exchangedWith(mapping, source, target) : null
      return exchangedWith === null ? { mapping, similarity, weight } : { mapping, similarity, weight, exchangedWith }
    })
  }
}
