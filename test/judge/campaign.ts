// Judges many random queries on random graphs: each round has a graph of its own seed. Differences are made smaller.
import { randomGraph } from '../generate/graph.ts'
import { Random } from '../generate/random.ts'
import type { Template } from './expression-grammar.ts'
import { randomJudgedQuery } from './generate-query.ts'
import { ofReference } from './judge-graph.ts'
import { caseText, type JudgedBench, openBench, shrinkCase } from './judged-case.ts'
import { knownDifferenceOf } from './known-differences.ts'
import type { Neo4jConnection } from './neo4j-side.ts'

/** The findings of a run up to now. */
export interface CampaignCounts {
  judged: number
  /** Equal, and with rows. */
  withRows: number
  /** Equal, and an error. */
  withErrors: number
  tooLarge: number
  /** By the id of the known difference. */
  readonly known: Map<string, number>
  /** Each with its seed. */
  readonly differences: string[]
  nextSeed: number
}

export interface CampaignPlan {
  /** Round i has the seed `seed + i`. */
  readonly seed: number
  readonly queries: number
  readonly differencesMax: number
  readonly isUsed: (template: Template) => boolean
}

const QUERIES_PER_ROUND = 25

export async function runCampaign(
  plan: CampaignPlan,
  connection: Neo4jConnection,
  progress: (counts: CampaignCounts) => void,
): Promise<CampaignCounts> {
  const counts: CampaignCounts = {
    judged: 0,
    withRows: 0,
    withErrors: 0,
    tooLarge: 0,
    known: new Map(),
    differences: [],
    nextSeed: plan.seed,
  }
  for (; counts.judged < plan.queries && counts.differences.length < plan.differencesMax; counts.nextSeed++) {
    await runRound(plan, counts, connection)
    progress(counts)
  }
  return counts
}

async function runRound(plan: CampaignPlan, counts: CampaignCounts, connection: Neo4jConnection): Promise<void> {
  const random = new Random(counts.nextSeed)
  const graph = randomGraph(random)
  const bench: JudgedBench = await openBench(ofReference(graph), connection)
  try {
    for (let turn = 0; turn < QUERIES_PER_ROUND; turn++) {
      const query = randomJudgedQuery(random, plan.isUsed)
      const verdict = await bench.judge(query)
      counts.judged += 1
      if (verdict === null) counts.tooLarge += 1
      else if (verdict.difference === null) {
        if (verdict.ours.error !== null) counts.withErrors += 1
        else if (verdict.ours.rows.length > 0) counts.withRows += 1
      } else {
        const known = knownDifferenceOf(query.text, verdict.ours, verdict.theirs)
        if (known !== null) {
          counts.known.set(known.id, (counts.known.get(known.id) ?? 0) + 1)
          continue
        }
        const smallest = await shrinkCase({ graph, query }, verdict, connection)
        counts.differences.push(
          `seed ${counts.nextSeed}\n${caseText(smallest.item, smallest.verdict.difference ?? '')}`,
        )
      }
    }
  } finally {
    await bench.close()
  }
}
