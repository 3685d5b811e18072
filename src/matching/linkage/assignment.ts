// Selects the matches among the pairs with a sufficient score, and forms their transitive groups.
import { type RecordTable, sortInSteps } from './record-table.ts'
import type { ScoredPairs } from './scored-pairs.ts'
import { type Cardinality, type ConflictReason, MAX_CONFLICTS, type MatchConflict, type MatchGroup } from './types.ts'

/** Pairs with more bits, a probability of 0.95 against strangers, count as certain when the cardinality is decided from the data. */
const CERTAIN_BITS = Math.log2(0.95 / 0.05)
/** A side whose nodes have more than one certain counterpart at least this often may have several. */
const SEVERAL_SHARE = 0.1
/** The cardinality is not decided from fewer nodes. */
const DECIDING_NODES = 20
const STEP = 1 << 13

/** Whether a node of each side has at most one counterpart. */
interface OneToOne {
  readonly source: boolean
  readonly target: boolean
}

/** The selected pairs, as indexes into the pairs in ascending order of source and target, and the pairs left out. */
export interface Assignment {
  readonly selected: Uint32Array
  readonly isOneToOne: OneToOne
  readonly conflicts: readonly MatchConflict[]
  readonly conflictCount: number
}

/** Both sides: records by their index. */
interface Sides {
  readonly sources: RecordTable
  readonly targets: RecordTable
  readonly isSameType: boolean
}

/** Selects the pairs in descending order of score. Yields between short steps. */
export function* assign(sides: Sides, pairs: ScoredPairs, cardinality: Cardinality): Generator<void, Assignment> {
  const { scores, bits, decided, sources, targets } = pairs
  const isOneToOne = sides.isSameType ? { source: false, target: false } : yield* oneToOne(sides, pairs, cardinality)
  const order = yield* sortInSteps(
    pairs.size,
    (a, b) =>
      decided[b]! - decided[a]! ||
      scores[b]! - scores[a]! ||
      descending(bits[a]!, bits[b]!) ||
      sources[a]! - sources[b]! ||
      targets[a]! - targets[b]!,
  )
  const takenSources = new Uint8Array(sides.sources.size)
  const takenTargets = new Uint8Array(sides.targets.size)
  const selected: number[] = []
  const conflicts: MatchConflict[] = []
  let conflictCount = 0
  const conflict = (pair: number, reason: ConflictReason) => {
    conflictCount += 1
    if (conflicts.length >= MAX_CONFLICTS) return
    const source = sides.sources.nodes[sources[pair]!]!
    const target = sides.targets.nodes[targets[pair]!]!
    conflicts.push({ source, target, score: scores[pair]!, reason })
  }
  for (let at = 0; at < order.length; at += 1) {
    const pair = order[at]!
    const source = sources[pair]!
    const target = targets[pair]!
    const isTaken =
      (isOneToOne.source && takenSources[source] === 1) || (isOneToOne.target && takenTargets[target] === 1)
    if (isTaken) conflict(pair, decided[pair] === 1 ? 'decided_twice' : 'assigned_elsewhere')
    // A person's decision counts, also where it contradicts another one.
    if (!isTaken || decided[pair] === 1) {
      takenSources[source] = 1
      takenTargets[target] = 1
      selected.push(pair)
    }
    if (at % STEP === STEP - 1) yield
  }
  const byNode = yield* sortInSteps(selected.length, (a, b) => {
    const first = selected[a]!
    const second = selected[b]!
    return sources[first]! - sources[second]! || targets[first]! - targets[second]!
  })
  return { selected: byNode.map((at) => selected[at]!), isOneToOne, conflicts, conflictCount }
}

/** Also of infinite numbers, whose difference is no number. */
function descending(a: number, b: number): number {
  return a === b ? 0 : b > a ? 1 : -1
}

function* oneToOne(sides: Sides, pairs: ScoredPairs, cardinality: Cardinality): Generator<void, OneToOne> {
  if (cardinality !== 'auto') {
    const isOne = cardinality === 'one-to-one'
    return { source: isOne, target: isOne }
  }
  return {
    source: yield* haveOne(sides.sources.size, pairs, pairs.sources),
    target: yield* haveOne(sides.targets.size, pairs, pairs.targets),
  }
}

function* haveOne(size: number, pairs: ScoredPairs, records: Uint32Array): Generator<void, boolean> {
  const counts = new Uint8Array(size)
  let matched = 0
  let several = 0
  for (let pair = 0; pair < pairs.size; pair += 1) {
    if (pairs.bits[pair]! < CERTAIN_BITS) continue
    const record = records[pair]!
    counts[record] = Math.min(2, counts[record]! + 1)
    if (pair % STEP === 0) yield
  }
  for (let record = 0; record < size; record += 1) {
    if (counts[record]! > 0) matched += 1
    if (counts[record]! > 1) several += 1
  }
  return matched < DECIDING_NODES || several < SEVERAL_SHARE * matched
}

/** The groups of records that matches connect. */
export class Groups {
  readonly #sides: Sides
  readonly #parents: Uint32Array

  constructor(sides: Sides) {
    this.#sides = sides
    const { sources, targets, isSameType } = sides
    this.#parents = Uint32Array.from({ length: sources.size + (isSameType ? 0 : targets.size) }, (_, at) => at)
  }

  /** Connects the records of a pair. */
  connect(source: number, target: number): void {
    const first = this.#root(source)
    const second = this.#root(this.#targetAt(target))
    // The smaller index is the root, so that the result does not depend on the order.
    if (first < second) this.#parents[second] = first
    else this.#parents[first] = second
  }

  /** Whether the records of a pair are in the same group. */
  isConnected(source: number, target: number): boolean {
    return this.#root(source) === this.#root(this.#targetAt(target))
  }

  /** The groups of at least three nodes in the order of their first source. Yields between short steps. */
  *groups(): Generator<void, MatchGroup[]> {
    const sizes = new Uint32Array(this.#parents.length)
    for (let at = 0; at < sizes.length; at += 1) {
      sizes[this.#root(at)]! += 1
      if (at % STEP === 0) yield
    }
    const groups = new Map<number, { sources: number[]; targets: number[] }>()
    const { sources, targets } = this.#sides
    for (let at = 0; at < sizes.length; at += 1) {
      if (at % STEP === 0) yield
      const root = this.#root(at)
      if (sizes[root]! < 3) continue
      let group = groups.get(root)
      if (group === undefined) {
        group = { sources: [], targets: [] }
        groups.set(root, group)
      }
      if (at < sources.size) group.sources.push(sources.nodes[at]!)
      else group.targets.push(targets.nodes[at - sources.size]!)
    }
    return [...groups.values()]
  }

  #targetAt(target: number): number {
    return this.#sides.isSameType ? target : this.#sides.sources.size + target
  }

  #root(at: number): number {
    const parents = this.#parents
    let root = at
    while (parents[root] !== root) {
      parents[root] = parents[parents[root]!]!
      root = parents[root]!
    }
    return root
  }
}
