// One run of record linkage: nodes are added, and `run` finds the pairs that are the same entity.
import { normalise } from './normalise.ts'
import type {
  ConflictReason,
  DecidedPairs,
  EntityMatch,
  LinkageMapping,
  LinkageOptions,
  LinkageProgress,
  LinkageResult,
  LinkageValues,
  MatchConflict,
  MatchGroup,
  ValueKind,
} from './types.ts'

/** Finds the nodes that are the same entity. The same nodes, mappings and options give the same result. */
export class Linkage {
  readonly #mappings: readonly LinkageMapping[]
  readonly #options: LinkageOptions
  readonly #sources: { node: number; values: (string | null)[] }[] = []
  readonly #targets: { node: number; values: (string | null)[] }[] = []

  constructor(mappings: readonly LinkageMapping[], options: LinkageOptions) {
    this.#mappings = mappings
    this.#options = options
  }

  /** Adds a node of the source type. `node` is a number of the caller's choice, unique among the sources. */
  addSource(node: number, values: LinkageValues): void {
    this.#sources.push({ node, values: this.#normalised(values) })
  }

  /** Adds a node of the target type. `node` is unique among the targets. */
  addTarget(node: number, values: LinkageValues): void {
    this.#targets.push({ node, values: this.#normalised(values) })
  }

  /** Compares the nodes. Each step takes a few milliseconds; the caller may pause between steps. */
  *run(decided: DecidedPairs): Generator<LinkageProgress, LinkageResult> {
    const targets = this.#options.isSameType ? this.#sources : this.#targets
    const index = new Map<string, number[]>()
    for (const [at, { values }] of targets.entries()) {
      for (const [mapping, value] of values.entries()) {
        if (value === null) continue
        const key = `${mapping}:${value}`
        const block = index.get(key)
        if (block === undefined) index.set(key, [at])
        else block.push(at)
      }
    }
    yield { phase: 'block', done: 0.5, comparedPairs: 0 }
    const different = new Set(decided.different.map(([source, target]) => `${source}:${target}`))
    const matches: EntityMatch[] = decided.same.map(([source, target]) => ({
      source,
      target,
      score: 1,
      isDecided: true,
      properties: [],
    }))
    const conflicts: MatchConflict[] = []
    let comparedPairs = 0
    for (const [at, { node, values }] of this.#sources.entries()) {
      const seen = new Set<number>()
      for (const [mapping, value] of values.entries()) {
        if (value === null) continue
        for (const other of (index.get(`${mapping}:${value}`) ?? []).slice(0, 100)) {
          if (seen.has(other) || (this.#options.isSameType && other <= at)) continue
          seen.add(other)
          comparedPairs += 1
          const target = targets[other]!
          let equal = 0
          let present = 0
          const properties = values.map((mine, i) => {
            const theirs = target.values[i] ?? null
            const similarity = mine === null || theirs === null ? null : mine === theirs ? 1 : 0
            if (similarity !== null) present += 1
            equal += similarity ?? 0
            return { mapping: i, similarity, weight: similarity === null ? 0 : similarity * 2 - 1 }
          })
          const score = equal / present
          if (score < this.#options.cutoff || different.has(`${node}:${target.node}`)) continue
          matches.push({ source: node, target: target.node, score, isDecided: false, properties })
        }
      }
    }
    matches.sort((a, b) => a.source - b.source || a.target - b.target)
    yield { phase: 'compare', done: 1, comparedPairs }
    const groups: MatchGroup[] = []
    return {
      matches: {
        length: matches.length,
        at: (i) => matches[i]!,
        [Symbol.iterator]: () => matches[Symbol.iterator](),
      },
      groups,
      conflicts,
      mappings: this.#mappings.map(({ kind }) => ({ kind: kind ?? 'text', levels: [] })),
      prior: 0,
      comparedPairs,
      isOneToOne: { source: false, target: false },
    }
  }

  #normalised(values: LinkageValues): (string | null)[] {
    return this.#mappings.map(({ kind }, at) => {
      const value = values[at] ?? null
      return value === null ? null : normalise((kind ?? 'text') as ValueKind, value)
    })
  }
}

/** The reasons of conflicts. */
export type { ConflictReason }
