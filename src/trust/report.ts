// The report of a pass: the distribution of the scores, and the nodes with the lowest ones. It is collected while the pass scores
// the nodes, so that reading it takes the same time for every graph.
import { isFilled, judgedRules, originOf, type ScoredNode, type TrustScore, verificationOf } from './dimensions.ts'
import { type DimensionName, dimensionNames, type ScoringRules } from './scoring-rules.ts'

/** The nodes with the lowest scores that a report lists. */
const WORST_NODES = 20
/** The properties that a report lists for one dimension of a node. */
const DETAILS_MAX = 20

/** A way to raise a score. */
interface Improvement {
  readonly dimension: DimensionName
  /** How much the final score rises if the dimension becomes 1. */
  readonly gain: number
  /** Properties to add, to verify or to correct, with what is wrong. At most 20. */
  readonly details: readonly string[]
}

/** A node with a low score. */
export interface WorstNode {
  readonly external_id: string
  /** The location, in a composite project. */
  readonly location?: string
  readonly final_score: number
  /** By dimension; one that the node has nothing to judge for is absent. */
  readonly dimensions: Readonly<Partial<Record<DimensionName, number>>>
  /** The largest gain first. */
  readonly improvements: readonly Improvement[]
}

/** The numbers that a pass collects. */
export interface ReportState {
  /** Number of nodes by tenth of the final score; 1 is in the last. */
  readonly deciles: readonly number[]
  /** Nodes without final score. */
  readonly unscored: number
  readonly sum: number
  /** By dimension: the number of nodes with a value, and the sum of the values. */
  readonly dimensions: Readonly<Partial<Record<DimensionName, readonly [count: number, sum: number]>>>
  /** The lowest score first. */
  readonly worst: readonly WorstNode[]
}

/** A report without nodes. */
export const emptyReport: ReportState = {
  deciles: Array.from({ length: 10 }, () => 0),
  unscored: 0,
  sum: 0,
  dimensions: {},
  worst: [],
}

/** Collects the scores of a pass. */
export class ReportCollector {
  private readonly deciles: number[]
  private unscored: number
  private sum: number
  private readonly dimensions: Map<DimensionName, [count: number, sum: number]>
  private worst: WorstNode[]

  constructor(from: ReportState) {
    this.deciles = [...from.deciles]
    this.unscored = from.unscored
    this.sum = from.sum
    this.dimensions = new Map()
    for (const name of dimensionNames) {
      const found = from.dimensions[name]
      if (found !== undefined) this.dimensions.set(name, [...found])
    }
    this.worst = [...from.worst]
  }

  /** Adds a score. True: it is among the lowest ones, and `addWorst` is to be called with its node. */
  add({ dimensions, final }: TrustScore): boolean {
    for (const [name, value] of dimensions) {
      const sums = this.dimensions.get(name)
      if (sums === undefined) this.dimensions.set(name, [1, value])
      else {
        sums[0] += 1
        sums[1] += value
      }
    }
    if (final === null) {
      this.unscored += 1
      return false
    }
    this.sum += final
    this.deciles[Math.min(9, Math.floor(final * 10))]! += 1
    return this.worst.length < WORST_NODES || this.worst.at(-1)!.final_score > final
  }

  /** Adds a node with a low score. */
  addWorst(node: WorstNode): void {
    const { worst } = this
    const at = worst.findIndex(({ final_score }) => final_score > node.final_score)
    worst.splice(at < 0 ? worst.length : at, 0, node)
    if (worst.length > WORST_NODES) worst.pop()
  }

  /** The numbers collected so far. */
  state(): ReportState {
    const { deciles, unscored, sum, worst } = this
    return {
      deciles: [...deciles],
      unscored,
      sum,
      dimensions: Object.fromEntries([...this.dimensions].map(([name, sums]) => [name, [...sums]])),
      worst: [...worst],
    }
  }
}

/** Returns what would raise the score of a node, the largest gain first. */
export function improvementsOf(node: ScoredNode, score: TrustScore, rules: ScoringRules, nowMs: number): Improvement[] {
  const judged = rules.dimensions.filter(({ name, weight }) => weight > 0 && score.dimensions.has(name))
  const weights = judged.reduce((sum, { weight }) => sum + weight, 0)
  return judged
    .map(({ name, weight }) => ({
      dimension: name,
      gain: (weight * (1 - score.dimensions.get(name)!)) / weights,
      details: detailsOf(name, node, rules, nowMs).slice(0, DETAILS_MAX),
    }))
    .filter(({ gain }) => gain > 0)
    .sort((a, b) => b.gain - a.gain)
}

function detailsOf(name: DimensionName, node: ScoredNode, rules: ScoringRules, nowMs: number): string[] {
  const properties = [...node.properties]
  switch (name) {
    case 'FRESHNESS':
      return properties
        .sort((a, b) => a.updatedMs - b.updatedMs)
        .map(({ name: property, updatedMs }) => `${property}: last written ${new Date(updatedMs).toISOString()}`)
    case 'VERIFICATION':
      return properties
        .filter((property) => verificationOf(property, rules, nowMs) < 1)
        .map(({ name: property, metadata }) => {
          const time = metadata?.verifiedTime
          return time === undefined ? `${property}: not verified` : `${property}: verified ${time}`
        })
    case 'ORIGIN':
      return properties
        .filter((property) => originOf(property, rules) < 1)
        .map(({ name: property, metadata }) => {
          const level = metadata?.assuranceLevel === undefined ? '' : `, assurance level ${metadata.assuranceLevel}`
          return `${property}: ${metadata?.source ? `source ${metadata.source}` : 'no source'}${level}`
        })
    case 'COMPLETENESS':
      return [...rules.required].flatMap((name) => {
        const property = properties.find((one) => one.name === name)
        if (property === undefined) return [`${name}: missing`]
        return isFilled(property) ? [] : [`${name}: empty`]
      })
    case 'VALIDITY':
      return judgedRules(node, rules, nowMs)
        .filter(({ isFulfilled }) => !isFulfilled)
        .map(({ property, rule, other }) => `${property}: ${rule}${other === undefined ? '' : ` ${other}`}`)
  }
}
