// One case for both engines: opened on both, answered, compared, and made smaller while the same difference remains.
import type { ReferenceGraph } from '../oracle/cypher/values.ts'
import { shrink } from '../oracle/shrink.ts'
import { printGraph } from '../support/graph-notation.ts'
import { type EngineSide, openEngineSide, TooLargeError } from './engine-side.ts'
import { type JudgedGraph, ofReference } from './judge-graph.ts'
import { differenceOf, type JudgedOutcome, type JudgedQuery } from './judged-outcome.ts'
import { knownDifferenceOf } from './known-differences.ts'
import type { Neo4jConnection, Neo4jSide } from './neo4j-side.ts'

/** A query on a graph. */
export interface JudgedCase {
  readonly graph: ReferenceGraph
  readonly query: JudgedQuery
}

/** Both answers, and the difference in one line or null. */
export interface JudgedDifference {
  readonly ours: JudgedOutcome
  readonly theirs: JudgedOutcome
  readonly difference: string | null
}

/** Both sides of one graph. */
export interface JudgedBench {
  /** Null if the query is beyond the limits of either side. */
  judge(query: JudgedQuery): Promise<JudgedDifference | null>
  close(): Promise<void>
}

export async function openBench(judged: JudgedGraph, connection: Neo4jConnection): Promise<JudgedBench> {
  const ours: EngineSide = await openEngineSide(judged)
  let theirs: Neo4jSide
  try {
    theirs = await connection.open(judged)
  } catch (fault) {
    await ours.close()
    throw fault
  }
  return {
    judge: async (query) => {
      try {
        const found = ours.answer(query)
        const judgement = await theirs.answer(query)
        return { ours: found, theirs: judgement, difference: differenceOf(query, found, judgement) }
      } catch (fault) {
        if (fault instanceof TooLargeError) return null
        throw fault
      }
    },
    close: async () => {
      await theirs.close()
      await ours.close()
    },
  }
}

async function judgeAlone(item: JudgedCase, connection: Neo4jConnection): Promise<JudgedDifference | null> {
  const bench = await openBench(ofReference(item.graph), connection)
  try {
    return await bench.judge(item.query)
  } finally {
    await bench.close()
  }
}

/** Which errors the sides have: a smaller case with other errors is another difference. */
const signature = ({ ours, theirs }: JudgedDifference): string =>
  [ours, theirs].map(({ error }) => (error === null ? 'rows' : `${error.phase} ${error.kind}`)).join('; ')

/** The smallest case found with the same kind of difference, and its verdict. */
export async function shrinkCase(
  item: JudgedCase,
  verdict: JudgedDifference,
  connection: Neo4jConnection,
): Promise<{ item: JudgedCase; verdict: JudgedDifference }> {
  const wanted = signature(verdict)
  let last = verdict
  const smallest = await shrink({ graph: item.graph, text: item.query.text }, async ({ graph, text }) => {
    // Without ORDER BY the order is unspecified, and so is which rows a limit leaves.
    if (count(text, /ORDER BY/g) < count(item.query.text, /ORDER BY/g) && /SKIP|LIMIT|ORDER BY/.test(item.query.text)) {
      if (item.query.orderedBy.length > 0 || /SKIP|LIMIT/.test(text)) return false
    }
    // A temporal function without arguments reads the clock.
    if (/\b(date|time|localtime|datetime|localdatetime)(\.\w+)?\(\)/.test(text)) return false
    const found = await judgeAlone({ graph, query: withText(item.query, text) }, connection).catch(() => null)
    if (found === null || found.difference === null || signature(found) !== wanted) return false
    // It must not become one of the known differences.
    if (knownDifferenceOf(text, found.ours, found.theirs) !== null) return false
    last = found
    return true
  })
  return { item: { graph: smallest.graph, query: withText(item.query, smallest.text) }, verdict: last }
}

const count = (text: string, what: RegExp): number => [...text.matchAll(what)].length

const withText = (query: JudgedQuery, text: string): JudgedQuery => ({ ...query, text })

/** As text for a report. */
export function caseText({ graph, query }: JudgedCase, difference: string): string {
  const printed = printGraph(graph)
  const lines = [`query: ${query.text.replaceAll('\n', '\n       ')}`]
  if (printed !== '') lines.push(`graph: ${printed.replaceAll('\n', '\n       ')}`)
  return [...lines, difference].join('\n')
}
