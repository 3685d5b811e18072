// Metamorphic test: a random query and its rewrites, which must have the same answer, on the engine alone.
import { randomGraph } from '../generate/graph.ts'
import { Random } from '../generate/random.ts'
import { type Rewrite, Rewriter } from '../generate/rewrites.ts'
import type { ReferenceGraph } from '../oracle/cypher/values.ts'
import { shrink } from '../oracle/shrink.ts'
import { type EngineSide, openEngineSide } from './engine-side.ts'
import { randomJudgedQuery } from './generate-query.ts'
import { ofReference } from './judge-graph.ts'
import { caseText } from './judged-case.ts'
import { BeyondLimits, differenceOf, type JudgedOutcome, type JudgedQuery } from './judged-outcome.ts'

/** The findings of a run up to now. */
export interface MetamorphicCounts {
  queries: number
  /** Rewrites with the same answer, by rule. */
  readonly equal: Map<string, number>
  /** Rewrites that do not compile: a rule does not know all scopes. */
  refused: number
  readonly differences: string[]
  nextSeed: number
}

export interface MetamorphicPlan {
  /** Round i has the seed `seed + i`, and a graph of its own. */
  readonly seed: number
  readonly queries: number
  readonly differencesMax: number
}

const QUERIES_PER_ROUND = 10
const REWRITES_PER_QUERY = 4
/** Most queries need far fewer; the others are not worth their time. */
const STEPS_MAX = 50_000

export async function runMetamorphic(
  plan: MetamorphicPlan,
  progress: (counts: MetamorphicCounts) => void = () => undefined,
): Promise<MetamorphicCounts> {
  const counts: MetamorphicCounts = {
    queries: 0,
    equal: new Map(),
    refused: 0,
    differences: [],
    nextSeed: plan.seed,
  }
  for (; counts.queries < plan.queries && counts.differences.length < plan.differencesMax; counts.nextSeed++) {
    const random = new Random(counts.nextSeed)
    const graph = randomGraph(random)
    const side = await openEngineSide(ofReference(graph), STEPS_MAX)
    try {
      for (let turn = 0; turn < QUERIES_PER_ROUND && counts.queries < plan.queries; turn++)
        await compareOne(random, graph, side, counts)
    } finally {
      await side.close()
    }
    progress(counts)
  }
  return counts
}

async function compareOne(
  random: Random,
  graph: ReferenceGraph,
  side: EngineSide,
  counts: MetamorphicCounts,
): Promise<void> {
  const query = randomJudgedQuery(random, () => true)
  const answer = answered(side, query)
  // An error may depend on the order in which operands are evaluated.
  if (answer === null || answer.error !== null) return
  counts.queries += 1
  const rewrites = new Rewriter(query.text).all()
  for (let turn = 0; turn < REWRITES_PER_QUERY && rewrites.length > 0; turn++) {
    const [rewrite] = rewrites.splice(random.between(0, rewrites.length - 1), 1) as [Rewrite]
    const difference = differenceBetween(side, query, answer, rewrite)
    if (difference === 'refused') counts.refused += 1
    else if (difference === null) counts.equal.set(rewrite.rule, (counts.equal.get(rewrite.rule) ?? 0) + 1)
    else counts.differences.push(`seed ${counts.nextSeed}\n${await smallest(graph, query, rewrite.rule, difference)}`)
  }
}

/** Null if the query is beyond the limits. */
function answered(side: EngineSide, query: JudgedQuery): JudgedOutcome | null {
  try {
    return side.answer(query)
  } catch (fault) {
    if (fault instanceof BeyondLimits) return null
    throw fault
  }
}

function differenceBetween(
  side: EngineSide,
  query: JudgedQuery,
  answer: JudgedOutcome,
  rewrite: Rewrite,
): string | null | 'refused' {
  const found = answered(side, { ...query, text: rewrite.text })
  if (found === null || found.error?.phase === 'compile') return 'refused'
  // A row that one operand of AND drops is not tested by the other, so an error at run may depend on the order of the operands.
  if (found.error?.kind === 'type' && query.text.includes(' AND ')) return 'refused'
  const difference = differenceOf(query, answer, found)
  return difference === null ? null : difference.replaceAll('Verdigraph:', 'query:').replaceAll('Neo4j:', 'rewritten:')
}

/** The smallest query and graph on which the rule still changes the answer. */
async function smallest(graph: ReferenceGraph, query: JudgedQuery, rule: string, difference: string): Promise<string> {
  let last = { rewrite: '', difference }
  const found = await shrink({ graph, text: query.text }, async (smaller) => {
    const shortened = { ...query, text: smaller.text }
    // Without ORDER BY a limit leaves any rows.
    if (/SKIP|LIMIT/.test(smaller.text) || query.orderedBy.length > 0) {
      if (!smaller.text.includes('ORDER BY')) return false
    }
    const side = await openEngineSide(ofReference(smaller.graph), STEPS_MAX)
    try {
      const answer = answered(side, shortened)
      if (answer === null || answer.error !== null) return false
      for (const rewrite of new Rewriter(smaller.text).all()) {
        if (rewrite.rule !== rule) continue
        const differs = differenceBetween(side, shortened, answer, rewrite)
        if (differs === null || differs === 'refused') continue
        last = { rewrite: rewrite.text, difference: differs }
        return true
      }
      return false
    } finally {
      await side.close()
    }
  })
  return `${rule}: ${last.rewrite}\n${caseText({ graph: found.graph, query: { ...query, text: found.text } }, last.difference)}`
}
