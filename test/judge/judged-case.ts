// One case for both engines: opened on both, answered, compared, and made smaller while the same difference remains.
import type { ReferenceGraph } from '../oracle/cypher/values.ts'
import { shrink } from '../oracle/shrink.ts'
import { printGraph } from '../support/graph-notation.ts'
import { type EngineSide, openEngineSide } from './engine-side.ts'
import { type JudgedGraph, ofReference } from './judge-graph.ts'
import { BeyondLimits, differenceOf, type JudgedOutcome, type JudgedQuery } from './judged-outcome.ts'
import { type KnownDifference, knownDifferencesOf } from './known-differences.ts'
import type { Neo4jConnection, Neo4jSide } from './neo4j-side.ts'
import { changedQueries } from './query-changes.ts'

/** A query on a graph. */
export interface JudgedCase {
  readonly graph: ReferenceGraph
  readonly query: JudgedQuery
}

/** Both answers, and the difference in one line or null. */
export interface ComparedAnswers {
  readonly ours: JudgedOutcome
  readonly theirs: JudgedOutcome
  readonly difference: string | null
}

/** Also, the known difference that this one is, or null. */
export interface JudgedDifference extends ComparedAnswers {
  readonly known: KnownDifference | null
}

/** Both sides of one graph. */
export interface JudgedBench {
  /** In the order of the queries. */
  judgeAll(queries: readonly JudgedQuery[]): Promise<(JudgedDifference | BeyondLimits)[]>
  judge(query: JudgedQuery): Promise<JudgedDifference | BeyondLimits>
  close(): Promise<void>
}

/** `stepsMax`: steps of one query on Verdigraph. Neo4j is not asked what needs more. */
export async function openBench(
  judged: JudgedGraph,
  connection: Neo4jConnection,
  stepsMax?: number,
): Promise<JudgedBench> {
  const ours: EngineSide = await openEngineSide(judged, stepsMax)
  const theirs: Neo4jSide = connection.open(judged)
  const compareAll = async (queries: readonly JudgedQuery[]): Promise<(ComparedAnswers | BeyondLimits)[]> => {
    const found = await ourAnswers(ours, queries)
    const asked = queries.filter((_, index) => !(found[index] instanceof BeyondLimits))
    const judgements = (await theirs.answers(asked)).values()
    return queries.map((query, index) => {
      const mine = found[index]!
      if (mine instanceof BeyondLimits) return mine
      const judgement = judgements.next().value!
      if (judgement instanceof BeyondLimits) return judgement
      return { ours: mine, theirs: judgement, difference: differenceOf(query, mine, judgement) }
    })
  }
  const compare = async (query: JudgedQuery): Promise<ComparedAnswers | BeyondLimits> => (await compareAll([query]))[0]!
  const judgeAll: JudgedBench['judgeAll'] = async (queries) => {
    const verdicts: (JudgedDifference | BeyondLimits)[] = []
    for (const [index, found] of (await compareAll(queries)).entries()) {
      if (found instanceof BeyondLimits) verdicts.push(found)
      else verdicts.push({ ...found, known: await knownCauseOf(queries[index]!, found, compare) })
    }
    return verdicts
  }
  return { judgeAll, judge: async (query) => (await judgeAll([query]))[0]!, close: () => ours.close() }
}

/** Whether both fail, and who fails in the verdict with the same kind of error. */
function failAlike(alone: ComparedAnswers, verdict: ComparedAnswers): boolean {
  if (alone.ours.error?.phase !== 'run' || alone.theirs.error === null) return false
  const { ours, theirs } = verdict
  return (
    (ours.error === null || ours.error.kind === alone.ours.error.kind) &&
    (theirs.error === null || theirs.error.kind === alone.theirs.error.kind)
  )
}

/** Causes of one difference. */
const CAUSES_MAX = 2

/** The known difference whose cause the query and the answers of both engines to changed queries show, or null. */
export async function knownCauseOf(
  query: JudgedQuery,
  verdict: ComparedAnswers,
  compare: (query: JudgedQuery) => Promise<ComparedAnswers | BeyondLimits>,
  causesMax = CAUSES_MAX,
): Promise<KnownDifference | null> {
  if (verdict.difference === null || causesMax === 0) return null
  const oneFailsAlike = async (texts: readonly string[]): Promise<boolean> => {
    for (const text of texts) {
      const alone = await compare({ ...query, text, orderedBy: [] })
      if (!(alone instanceof BeyondLimits) && failAlike(alone, verdict)) return true
    }
    return texts.length === 0
  }
  for (const known of knownDifferencesOf(query.text, verdict.ours, verdict.theirs)) {
    if (known.changed === undefined) return known
    for (const { text, keepsRows, failsAlone } of changedQueries(query.text, known.changed)) {
      if (!(await oneFailsAlike(failsAlone))) continue
      const changed = await compare({ ...query, text })
      if (changed instanceof BeyondLimits || changed.ours.error !== null) continue
      if (keepsRows && differenceOf(query, verdict.ours, changed.ours) !== null) continue
      if (changed.difference === null) return known
      // A query may have several causes.
      if ((await knownCauseOf({ ...query, text }, changed, compare, causesMax - 1)) !== null) return known
    }
  }
  return null
}

async function ourAnswers(
  ours: EngineSide,
  queries: readonly JudgedQuery[],
): Promise<(JudgedOutcome | BeyondLimits)[]> {
  const found: (JudgedOutcome | BeyondLimits)[] = []
  for (const query of queries) {
    let answer = answerWithinLimits(ours, query)
    // The machine may have been busy: once more.
    if (answer instanceof BeyondLimits && answer.limit === 'timed out') answer = answerWithinLimits(ours, query)
    found.push(answer)
    // Requests for other graphs are sent between two answers.
    await new Promise<void>((resolve) => setImmediate(resolve))
  }
  return found
}

function answerWithinLimits(ours: EngineSide, query: JudgedQuery): JudgedOutcome | BeyondLimits {
  try {
    return ours.answer(query)
  } catch (fault) {
    if (fault instanceof BeyondLimits) return fault
    throw fault
  }
}

async function judgeAlone(item: JudgedCase, connection: Neo4jConnection): Promise<JudgedDifference | BeyondLimits> {
  const bench = await openBench(ofReference(item.graph), connection)
  try {
    return await bench.judge(item.query)
  } finally {
    await bench.close()
  }
}

/** Which errors the sides have: a smaller case with other errors is another difference. Names and numbers in a message may change. */
const signature = ({ ours, theirs }: JudgedDifference): string =>
  [ours, theirs]
    .map(({ error }) =>
      error === null ? 'rows' : `${error.phase} ${error.kind} ${error.message.split(/['"`(\d]/)[0]}`,
    )
    .join('; ')

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
      if (item.query.orderedBy.length > 0 || /SKIP|LIMIT|COLLECT/i.test(text)) return false
    }
    // A temporal function without a value reads the clock.
    if (/\b(date|time|localtime|datetime|localdatetime)(\.\w+)?\((['"]\w+['"])?\)/.test(text)) return false
    // Which of several paths of one length are kept is not specified.
    if (count(text, /SHORTEST \d+(?! GROUP)/gi) > count(item.query.text, /SHORTEST \d+(?! GROUP)/gi)) return false
    const found = await judgeAlone({ graph, query: withText(item.query, text) }, connection).catch(() => null)
    if (found === null || found instanceof BeyondLimits) return false
    if (found.difference === null || signature(found) !== wanted) return false
    // It must not become one of the known differences.
    if (found.known !== null) return false
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
