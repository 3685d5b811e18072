// Judges many random queries on random graphs: each round has a graph of its own seed. Differences are made smaller.
import { randomGraph } from '../generate/graph.ts'
import { Random } from '../generate/random.ts'
import type { Template } from './expression-grammar.ts'
import { type JudgeFinding, JudgeFindings } from './findings.ts'
import { randomJudgedQuery } from './generate-query.ts'
import { ofReference } from './judge-graph.ts'
import { caseText, type JudgedCase, type JudgedDifference, openBench, shrinkCase } from './judged-case.ts'
import type { JudgedQuery } from './judged-outcome.ts'
import type { Neo4jConnection } from './neo4j-side.ts'

export interface CampaignPlan {
  /** Round i has the seed `seed + i`. */
  readonly seed: number
  /** Judgements: queries times graphs. */
  readonly judgements: number
  /** Graphs on which each query is judged. Planning is most of the time of Neo4j, and it plans each query once. */
  readonly graphs: number
  readonly differencesMax: number
  readonly isUsed: (template: Template) => boolean
}

const QUERIES_PER_ROUND = 25
/** Most queries need far fewer; the others take both sides seconds. */
const STEPS_MAX = 50_000
/** While one round waits for Neo4j, another computes the answers of Verdigraph. */
const ROUNDS_AT_ONCE = 2

/** `progress` gets the findings up to now, and the seed of the next round. */
export async function runCampaign(
  plan: CampaignPlan,
  connection: Neo4jConnection,
  progress: (found: JudgeFindings, nextSeed: number) => void,
): Promise<{ found: JudgeFindings; nextSeed: number }> {
  const found = new JudgeFindings()
  let nextSeed = plan.seed
  while (found.judged < plan.judgements && found.differences.length < plan.differencesMax) {
    const missing = Math.ceil((plan.judgements - found.judged) / (QUERIES_PER_ROUND * plan.graphs))
    const seeds = Array.from({ length: Math.min(ROUNDS_AT_ONCE, missing) }, (_, index) => nextSeed + index)
    for (const round of await Promise.all(seeds.map((seed) => judgeRound(seed, plan, connection)))) found.add(round)
    nextSeed += seeds.length
    progress(found, nextSeed)
  }
  return { found, nextSeed }
}

async function judgeRound(seed: number, plan: CampaignPlan, connection: Neo4jConnection): Promise<JudgeFindings> {
  const found = new JudgeFindings()
  const source = `generated, seed ${seed}`
  const random = new Random(seed)
  const first = randomGraph(random)
  const queries = Array.from({ length: QUERIES_PER_ROUND }, () => randomJudgedQuery(random, plan.isUsed))
  const graphs = [first, ...Array.from({ length: plan.graphs - 1 }, () => randomGraph(random))]
  /** One query is reported once. */
  const reported = new Set<JudgedQuery>()
  for (const graph of graphs) {
    const bench = await openBench(ofReference(graph), connection, STEPS_MAX)
    try {
      const verdicts = await bench.judgeAll(queries)
      for (const [index, query] of queries.entries()) {
        if (reported.has(query)) continue
        const verdict = found.count(source, query, verdicts[index]!)
        if (verdict === null) continue
        reported.add(query)
        found.differences.push(await smallestFinding(source, { graph, query }, verdict, connection))
      }
    } finally {
      await bench.close()
    }
  }
  return found
}

async function smallestFinding(
  source: string,
  item: JudgedCase,
  verdict: JudgedDifference,
  connection: Neo4jConnection,
): Promise<JudgeFinding> {
  const smallest = await shrinkCase(item, verdict, connection)
  const difference = smallest.verdict.difference ?? ''
  return {
    source,
    query: smallest.item.query.text,
    difference,
    text: `${source}\n${caseText(smallest.item, difference)}`,
  }
}
