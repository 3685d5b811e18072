// Which templates of expressions each of the two engines reads: every template is tried with the simplest operands.
import { Random } from '../generate/random.ts'
import { readGraph } from '../support/graph-notation.ts'
import { aggregates, composed, leaves, type Template } from './expression-grammar.ts'
import { probeOf } from './generate-query.ts'
import { ofReference } from './judge-graph.ts'
import { type JudgedDifference, openBench } from './judged-case.ts'
import { BeyondLimits } from './judged-outcome.ts'
import type { Neo4jConnection } from './neo4j-side.ts'

/** Who reads a template. */
export type ReadBy = 'both' | 'Verdigraph' | 'Neo4j' | 'none'

/** Operands are random, and some of them have a type that the text shows to be wrong. */
const TRIES = 4

export async function readTemplates(connection: Neo4jConnection): Promise<Map<Template, ReadBy>> {
  const graph = readGraph(
    "(a:Person {num: 1, name: 'ab', flag: true, tags: ['a', 'b']})-[:A {since: 1}]->(b:Team {num: 1.5})",
  )
  const bench = await openBench(ofReference(graph), connection)
  const random = new Random(1)
  const found = new Map<Template, ReadBy>()
  const isUsed = (leaf: Template): boolean => (found.get(leaf) ?? 'both') === 'both'
  try {
    // The operands of composed templates are leaves that both read.
    for (const table of [
      Object.values(leaves).flat(),
      [...Object.values(composed).flat(), ...aggregates.map(([text]) => text)],
    ]) {
      for (let turn = 0; turn < TRIES; turn++) {
        const open = table.filter((template) => found.get(template) !== 'both')
        const verdicts = await bench.judgeAll(open.map((template) => probeOf(template, random, isUsed)))
        for (const [index, template] of open.entries()) found.set(template, readByOf(verdicts[index]!))
      }
    }
  } finally {
    await bench.close()
  }
  return found
}

function readByOf(verdict: JudgedDifference | BeyondLimits): ReadBy {
  // Who needs time has read it.
  if (verdict instanceof BeyondLimits) return 'both'
  const [ours, theirs] = [verdict.ours.error?.phase !== 'compile', verdict.theirs.error?.phase !== 'compile']
  if (ours) return theirs ? 'both' : 'Verdigraph'
  return theirs ? 'Neo4j' : 'none'
}
