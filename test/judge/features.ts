// Which templates of expressions each of the two engines reads: every template is tried with the simplest operands.
import { Random } from '../generate/random.ts'
import { readGraph } from '../support/graph-notation.ts'
import { aggregates, composed, leaves, type Template } from './expression-grammar.ts'
import { probeOf } from './generate-query.ts'
import { ofReference } from './judge-graph.ts'
import { openBench } from './judged-case.ts'
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
  const templates = [leaves, composed].flatMap((table) => Object.values(table).flat())
  try {
    for (const template of [...templates, ...aggregates.map(([text]) => text)]) {
      let readBy: ReadBy = 'none'
      for (let turn = 0; turn < TRIES && readBy !== 'both'; turn++) {
        const verdict = await bench.judge(probeOf(template, random, (leaf) => (found.get(leaf) ?? 'both') === 'both'))
        const [ours, theirs] = [verdict?.ours.error?.phase !== 'compile', verdict?.theirs.error?.phase !== 'compile']
        if (ours && theirs) readBy = 'both'
        else if (ours) readBy = 'Verdigraph'
        else if (theirs) readBy = 'Neo4j'
      }
      found.set(template, readBy)
    }
  } finally {
    await bench.close()
  }
  return found
}
