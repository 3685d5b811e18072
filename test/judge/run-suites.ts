// Runs the fixed cases and the examples of the known differences on both engines.
import { readGraph } from '../support/graph-notation.ts'
import { emptyJudgedGraph, type JudgedGraph, ofReference } from './judge-graph.ts'
import { type JudgedBench, openBench } from './judged-case.ts'
import type { JudgedQuery } from './judged-outcome.ts'
import { knownDifferenceOf, knownDifferences } from './known-differences.ts'
import type { Neo4jConnection } from './neo4j-side.ts'
import { readParameters } from './read-parameters.ts'
import { type SuiteName, suites } from './suites.ts'

/** The findings of a suite. */
export interface SuiteFindings {
  readonly equal: number
  /** By the id of the known difference. */
  readonly known: ReadonlyMap<string, number>
  /** Each as text. */
  readonly differences: readonly string[]
}

/** Null if the suite is not here. */
export async function runSuite(name: SuiteName, connection: Neo4jConnection): Promise<SuiteFindings | null> {
  const cases = suites[name]()
  if (cases === null) return null
  let equal = 0
  const known = new Map<string, number>()
  const differences: string[] = []
  let openGraph: JudgedGraph | null = null
  let open: JudgedBench | null = null
  try {
    for (const { id, graph, query } of cases) {
      if (open === null || openGraph !== graph) {
        await open?.close()
        open = null
        openGraph = graph
        open = await openBench(graph, connection)
      }
      const verdict = await open.judge(query)
      if (verdict === null) {
        differences.push(`${id}\n${query.text}\nbeyond the limits of a query`)
      } else if (verdict.difference === null) {
        equal += 1
      } else {
        const entry = knownDifferenceOf(query.text, verdict.ours, verdict.theirs)
        if (entry === null) differences.push(`${id}\n${query.text}\n${verdict.difference}`)
        else known.set(entry.id, (known.get(entry.id) ?? 0) + 1)
      }
    }
  } finally {
    await open?.close()
  }
  return { equal, known, differences }
}

/** The entries of known differences whose example does not differ any more, or differs otherwise. */
export async function staleEntries(connection: Neo4jConnection): Promise<string[]> {
  const stale: string[] = []
  for (const { id, example } of knownDifferences) {
    const graph = example.graph === undefined ? emptyJudgedGraph : ofReference(readGraph(example.graph))
    const query: JudgedQuery = {
      text: example.query,
      parameters: readParameters(example.parameters ?? {}),
      orderedBy: [],
      bags: [],
    }
    const bench = await openBench(graph, connection)
    try {
      const verdict = await bench.judge(query)
      const found = verdict?.difference ? knownDifferenceOf(query.text, verdict.ours, verdict.theirs) : null
      if (found?.id !== id) {
        const reason = verdict?.difference ? `it is ${found?.id ?? `another: ${verdict.difference}`}` : 'both agree'
        stale.push(`known difference ${id} is stale: ${reason}\n${query.text}`)
      }
    } finally {
      await bench.close()
    }
  }
  return stale
}
