// What does a compiled plan cost compared with the same question hand-written on the store's keys, in SQL, and in other
// Cypher engines?
import { loadavg } from 'node:os'
import { compileCondition } from '../../src/engine/conditions.ts'
import type { GraphStore } from '../../src/engine/store.ts'
import { AnswerHash, type Bench, quantile, round } from '../harness.ts'
import {
  authorizationGraph,
  type BenchQuestion,
  type QuestionName,
  questionsAbout,
  sizes,
} from './authorization-graph.ts'
import type { BenchmarkedEngine } from './benchmarked-engine.ts'
import { compiled, compiledPlans, conditions, limits } from './compiled-plans.ts'
import { peer, peerNames } from './cypher-peers.ts'
import { handWritten } from './hand-written.ts'
import { openAuthorizationGraph } from './load-authorization-graph.ts'
import { contest, type Percentiles } from './rounds.ts'
import { sqlite } from './sqlite.ts'

const QUESTIONS = 2_000

export const engine: Bench = {
  name: 'engine',
  question:
    'the authorization graph: compiled plans compared with hand-written code, SQLite and two other Cypher engines',
  async run({ small, seed, report }) {
    const of = sizes(small)
    const graph = authorizationGraph(of, seed)
    const questions = questionsAbout(graph, of, small ? 400 : QUESTIONS, seed)
    report.line({ record: 'graph', ...graph.counts, relationships: relationshipsIn(graph.relationships) })
    const store = await openAuthorizationGraph(graph, seed, report.note)
    const contestants: BenchmarkedEngine[] = [compiledPlans(store), handWritten(store), sqlite(graph)]
    for (const name of peerNames) {
      const found = await peer(name, graph)
      if ('absent' in found) report.line({ record: 'absent', engine: name, why: found.absent })
      else contestants.push(found)
    }
    const load = (): string =>
      loadavg()
        .map((one) => one.toFixed(2))
        .join(' ')
    report.line({ record: 'load', average: load() })

    for (const [question, asked] of Object.entries(questions) as [QuestionName, readonly BenchQuestion[]][]) {
      const hash = new AnswerHash()
      for (const { answer } of asked) hash.add(answer)
      report.line({ record: 'answers', question, count: hash.count, hash: hash.hex })
      const runners = contestants.map(({ name, answers }) => ({ name, ask: answers[question] }))
      const { compared, percentiles } = await contest(question, runners, asked, small ? 4 : 16, report.note)
      for (const [name, { calls, p50Us, p95Us, p99Us }] of percentiles) {
        report.line({
          record: 'latency',
          question,
          engine: name,
          p50_us: round(p50Us, 2),
          p95_us: round(p95Us, 2),
          p99_us: round(p99Us, 2),
          calls,
          answers_compared: compared.get(name)!,
        })
      }
      report.line({ record: 'result', question, ...ratios(percentiles) })
    }
    report.line({ record: 'first_use', ...firstUse(store, questions.can_view, small ? 200 : 2_000) })
    report.line({ record: 'load', average: load() })
    for (const [question, of] of Object.entries(conditions)) {
      const asks = question === 'folders_of_user' ? 'resources' : 'check'
      report.note(`plan of ${question}\n${compiled(of).explain(asks).replaceAll(/^/gm, '  ')}`)
    }
    for (const contestant of contestants) await contestant.close()
    await store.close()
  },
}

function relationshipsIn(relationships: Readonly<Record<string, readonly unknown[]>>): number {
  return Object.values(relationships).reduce((sum, pairs) => sum + pairs.length, 0)
}

/** p50 of our engine over p50 of another. */
function ratios(percentiles: ReadonlyMap<string, Percentiles>): Readonly<Record<string, number | string | null>> {
  const ours = percentiles.get('engine')!.p50Us
  const beside = (name: string): number | null => {
    const other = percentiles.get(name)
    return other === undefined ? null : round(ours / other.p50Us)
  }
  const peers = peerNames.filter((name) => percentiles.has(name))
  const best = peers.toSorted((a, b) => percentiles.get(a)!.p50Us - percentiles.get(b)!.p50Us)[0]
  return {
    p50_us: round(ours, 2),
    ratio_to_floor: beside('floor'),
    ratio_to_sqlite: beside('sqlite'),
    best_cypher_engine: best ?? null,
    ratio_to_best_cypher_engine: best === undefined ? null : round(ours / percentiles.get(best)!.p50Us, 4),
  }
}

/**
 * From the text to the first answer: parse, bind, plan, compile, run. Every text is different, so nothing is cached.
 */
function firstUse(store: GraphStore, asked: readonly BenchQuestion[], count: number) {
  const compileUs: number[] = []
  const answeredUs: number[] = []
  let length = 0
  for (let at = 0; at < count; at++) {
    const text =
      'MATCH (subject:User)-[:MEMBER_OF]->(:Group)-[:CAN_VIEW]->(f:Folder)<-[:IN]-(resource:Document) ' +
      `WHERE f.level >= 0 AND resource.size <> ${1_000_000 + at} AND $on`
    length = text.length
    const { first, second } = asked[at % asked.length]!
    const snapshot = store.snapshot()
    const start = Bun.nanoseconds()
    const condition = compileCondition({ text, dialect: '3.0-kbac', subjectType: 'User', resourceType: 'Document' })
    const between = Bun.nanoseconds()
    if (!condition.ok) throw new Error(condition.error[0]?.message)
    condition.value.check({ snapshot, parameters: new Map([['on', true]]), limits }, first, second)
    const end = Bun.nanoseconds()
    snapshot.close()
    compileUs.push((between - start) / 1000)
    answeredUs.push((end - start) / 1000)
  }
  const at = (values: readonly number[], share: number): number =>
    round(
      quantile(
        values.toSorted((a, b) => a - b),
        share,
      ),
      1,
    )
  return {
    characters: length,
    texts: count,
    text_to_bound_p50_us: at(compileUs, 0.5),
    text_to_answer_p50_us: at(answeredUs, 0.5),
    text_to_answer_p99_us: at(answeredUs, 0.99),
  }
}
