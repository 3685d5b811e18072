// Runs the fixed cases and the examples of the known differences on both engines.
import { readGraph } from '../support/graph-notation.ts'
import { findingOf, JudgeFindings } from './findings.ts'
import { emptyJudgedGraph, ofReference } from './judge-graph.ts'
import { openBench } from './judged-case.ts'
import { BeyondLimits, type JudgedQuery } from './judged-outcome.ts'
import { knownDifferences } from './known-differences.ts'
import type { Neo4jConnection } from './neo4j-side.ts'
import { readParameters } from './read-parameters.ts'
import { type SuiteName, suites } from './suites.ts'

/** Null if the suite is not here. */
export async function runSuite(name: SuiteName, connection: Neo4jConnection): Promise<JudgeFindings | null> {
  const cases = suites[name]()
  if (cases === null) return null
  const found = new JudgeFindings()
  for (const [graph, group] of Map.groupBy(cases, (item) => item.graph)) {
    const bench = await openBench(graph, connection)
    try {
      const verdicts = await bench.judgeAll(group.map(({ query }) => query))
      for (const [index, { id, query }] of group.entries()) {
        const verdict = verdicts[index]!
        const source = `${name}, ${id}`
        const difference =
          verdict instanceof BeyondLimits && verdict.limit === 'too large'
            ? `beyond the limits of a query: ${verdict.message}`
            : found.count(source, query, verdict)?.difference
        if (difference) found.differences.push(findingOf(source, query.text, difference))
      }
    } finally {
      await bench.close()
    }
  }
  return found
}

/** The entries of known differences whose example does not differ any more, or differs otherwise. */
export async function staleEntries(connection: Neo4jConnection): Promise<JudgeFindings> {
  const findings = new JudgeFindings()
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
      const source = `known difference ${id}`
      if (verdict instanceof BeyondLimits) {
        findings.timedOut.push(findingOf(source, query.text, verdict.message))
        continue
      }
      if (verdict.known?.id === id) continue
      const reason = verdict.difference
        ? `it is ${verdict.known?.id ?? `another: ${verdict.difference}`}`
        : 'both agree'
      findings.differences.push(findingOf(source, query.text, `the entry is stale: ${reason}`))
    } finally {
      await bench.close()
    }
  }
  return findings
}
