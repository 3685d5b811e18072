// Runs many comparisons in rounds: each round has a graph of its own seed, with conditions and row queries.

import { randomGraphs } from '../generate/graph.ts'
import { Random } from '../generate/random.ts'
import { searchedPlaces } from '../generate/searched-places.ts'
import { type StoredGraph, storeGraph } from '../support/store-engine.ts'
import {
  asWorld,
  type ComparisonOutcome,
  randomCase,
  randomSearchedCase,
  SHORT_CHUNKS,
  settled,
} from './compare-conditions.ts'
import { asRowsWorld, randomRowsCase, settledRows } from './compare-rows.ts'
import type { ReferenceGraph } from './cypher/values.ts'
import { type ShrinkCase, shrink } from './shrink.ts'

export interface Campaign {
  /** Round i has the seed `seed + i`, so that a run can continue where another ended. */
  readonly seed: number
  readonly rounds: number
  readonly conditionsPerRound: number
  readonly rowsPerRound: number
  /** Stops after this many differences. */
  readonly failuresMax: number
  /** How many small graphs are one graph; one if absent. With more, each condition has many more answers. */
  readonly graphsPerRound?: number
  /** Only conditions with a selector or a quantified path pattern where there may be no match. */
  readonly isSearched?: boolean
  /** Stops after this many answers of conditions. */
  readonly answersMax?: number
  /** Stops after the round in which this many seconds have passed. */
  readonly secondsMax?: number
}

export interface ComparisonCounts {
  agree: number
  /** The answers in these: a condition has one for each check and each search. */
  answers: number
  /** Agreed, and granted something or had rows. */
  fruitful: number
  /** The grants or the rows, in all that agreed. */
  size: number
  refused: number
  tooLarge: number
  differ: number
}

export interface Findings {
  readonly conditions: ComparisonCounts
  readonly rows: ComparisonCounts
  /** The seed after the last round. */
  nextSeed: number
  /** Each with its seed and the smallest case that still differs. */
  readonly failures: string[]
  /** Of the conditions that agreed: how many selectors and quantified path patterns were in which optional place. */
  readonly places: Map<string, number>
  readonly refusals: Map<string, string>
}

const tally = (): ComparisonCounts => ({
  agree: 0,
  answers: 0,
  fruitful: 0,
  size: 0,
  refused: 0,
  tooLarge: 0,
  differ: 0,
})

export const compared = ({ conditions, rows }: Findings): number => conditions.agree + rows.agree

export async function campaign(plan: Campaign, progress?: (findings: Findings) => void): Promise<Findings> {
  const findings: Findings = {
    conditions: tally(),
    rows: tally(),
    nextSeed: plan.seed,
    failures: [],
    places: new Map(),
    refusals: new Map(),
  }
  const { answersMax = Number.POSITIVE_INFINITY, secondsMax = Number.POSITIVE_INFINITY } = plan
  const endsAt = performance.now() + secondsMax * 1000
  for (let round = 0; round < plan.rounds && findings.failures.length < plan.failuresMax; round++) {
    if (findings.conditions.answers >= answersMax || performance.now() >= endsAt) break
    await runRound(plan, plan.seed + round, findings)
    findings.nextSeed = plan.seed + round + 1
    progress?.(findings)
  }
  return findings
}

async function runRound(plan: Campaign, seed: number, findings: Findings): Promise<void> {
  const random = new Random(seed)
  const graph = randomGraphs(random, plan.graphsPerRound ?? 1)
  const stored = await storeGraph(graph, SHORT_CHUNKS)
  try {
    for (let turn = 0; turn < plan.conditionsPerRound; turn++) {
      const case_ = plan.isSearched ? randomSearchedCase(random, graph) : randomCase(random, graph)
      await judge(case_, settled, asWorld, findings.conditions, stored, seed, findings)
    }
    for (let turn = 0; turn < plan.rowsPerRound; turn++) {
      const case_ = randomRowsCase(random, graph)
      await judge(case_, settledRows, asRowsWorld, findings.rows, stored, seed, findings)
    }
  } finally {
    await stored.close()
  }
}

async function judge<C extends ShrinkCase>(
  case_: C,
  settle: (case_: C, stored: StoredGraph) => ComparisonOutcome,
  told: (case_: C, why: string) => string,
  count: ComparisonCounts,
  stored: StoredGraph,
  seed: number,
  findings: Findings,
): Promise<void> {
  const outcome = settle(case_, stored)
  switch (outcome.kind) {
    case 'agree':
      count.agree += 1
      count.answers += outcome.answers
      count.size += outcome.size
      if (outcome.size > 0) count.fruitful += 1
      if (count === findings.conditions) {
        for (const place of searchedPlaces(case_.text))
          findings.places.set(place, (findings.places.get(place) ?? 0) + 1)
      }
      return
    case 'refused':
      count.refused += 1
      findings.refusals.set(outcome.why, case_.text)
      return
    case 'too-large':
      count.tooLarge += 1
      return
    case 'differ': {
      count.differ += 1
      const alone = (smaller: C): Promise<ComparisonOutcome> =>
        settledAlone(smaller.graph, (store) => settle(smaller, store))
      const smallest = await shrink(case_, async (smaller) => (await alone(smaller)).kind === 'differ')
      const last = await alone(smallest)
      findings.failures.push(`seed ${seed}\n${told(smallest, 'why' in last ? last.why : outcome.why)}`)
    }
  }
}

async function settledAlone(
  graph: ReferenceGraph,
  settle: (stored: StoredGraph) => ComparisonOutcome,
): Promise<ComparisonOutcome> {
  const stored = await storeGraph(graph, SHORT_CHUNKS)
  try {
    return settle(stored)
  } finally {
    await stored.close()
  }
}
