// What do the parts cost: the parser, the compiler, every function and aggregate, and the plan operators? Timed by
// tinybench. Small figures to compare before and after a change of one part; the other benches measure whole decisions.
import { Bench as Tinybench } from 'tinybench'
import { parse } from '../../grammar/index.ts'
import { compileCondition } from '../../src/engine/conditions.ts'
import { compileRowsQuery, type QueryResult } from '../../src/engine/rows-query.ts'
import type { GraphStore } from '../../src/engine/store.ts'
import type { Value } from '../../src/engine/value/value.ts'
import { aggregateExamples } from '../../test/language-reference/examples.ts'
import { sampleGraph } from '../../test/language-reference/forms.ts'
import { functionSamples } from '../../test/support/function-samples.ts'
import { readGraph } from '../../test/support/graph-notation.ts'
import { storeGraph } from '../../test/support/store-engine.ts'
import { openLoaded } from '../engine/load-graph.ts'
import { type Bench, type BenchOptions, mustEqual, round } from '../harness.ts'
import { groupId, type OwnershipGraph, ownershipGraph, personId } from '../ownership-graph.ts'

const NODES = 2_000
const EVALUATIONS = 1_000
const limits = { stepsMax: 1_000_000_000, timeMs: 60_000 }

export const micro: Bench = {
  name: 'micro',
  question: 'the cost of the parser, of each function and aggregate, and of each plan operator',
  async run(options) {
    texts(options)
    await functions(options)
    await operators(options)
  },
}

/** From text to syntax tree, and from text to a compiled condition. */
const policies: Readonly<Record<string, string>> = {
  'one hop': 'MATCH (subject:Person)-[:OWNS]->(resource:Document)',
  'two hops, a filter':
    "MATCH (subject:Person)-[m:MEMBER]->(g:Group)-[:MAY_READ]->(resource:Document) WHERE m.since > 2020 AND g.name STARTS WITH 'a'",
  'variable length, EXISTS':
    'MATCH (subject:Person)-[:MEMBER*1..4]->(:Group)-[:MAY_READ]->(resource:Document) ' +
    'WHERE NOT EXISTS { MATCH (subject)-[:BLOCKED]->(resource) } AND resource.level <= $level',
  '100 conjuncts': `MATCH (subject:Person)-[:OWNS]->(resource:Document) WHERE ${Array.from({ length: 100 }, (_, i) => `subject.p${i} = ${i}`).join(' AND ')}`,
}

function texts(options: BenchOptions): void {
  const tasks: Task[] = []
  for (const [name, text] of Object.entries(policies)) {
    const compiled = () =>
      compileCondition({ text, dialect: '3.0-kbac', subjectType: 'Person', resourceType: 'Document' })
    mustEqual(`parse ${name}`, parse(text).ok, true)
    mustEqual(`compile ${name}`, compiled().ok, true)
    tasks.push(['parse', name, () => parse(text)], ['compile', name, compiled])
  }
  report(options, tasks)
}

/** Nanoseconds of one evaluation; the baseline is the same query without the function or aggregate. */
async function functions(options: BenchOptions): Promise<void> {
  const stored = await storeGraph(readGraph(sampleGraph))
  try {
    const items = new Map<string, Value>([['items', Array.from({ length: EVALUATIONS }, (_, i) => i % 10)]])
    const run = prepared(stored.environment, items)
    const each = (expression: string): (() => unknown) =>
      run(`MATCH p = (n:Vip)-[r:OWNS]->(m) RETURN size([x IN $items | [${expression}]]) AS v`)
    const ofFunctions = Object.entries(functionSamples).map(
      ([name, { example }]): Task => ['function', name, each(example)],
    )
    report(options, [['function', BASELINE, each('x')], ...ofFunctions], EVALUATIONS)
    const aggregated = (expression: string): (() => unknown) => run(`UNWIND $items AS x RETURN ${expression} AS v`)
    const ofAggregates = Object.entries(aggregateExamples).map(
      ([name, example]): Task => ['aggregate', name, aggregated(example)],
    )
    report(options, [['aggregate', BASELINE, aggregated('count(*)')], ...ofAggregates], EVALUATIONS)
  } finally {
    await stored.close()
  }
}

const BASELINE = '(baseline)'

type Task = readonly [group: string, name: string, call: () => unknown]

/** One query for each operator of a plan, or the few that the operator needs around it. */
const plans: Readonly<Record<string, string>> = {
  NodeUniqueIndexSeek: 'MATCH (p:Person {external_id: $person}) RETURN p.external_id AS v',
  NodeByLabelScan: 'MATCH (g:Group) RETURN count(*) AS v',
  Expand: 'MATCH (:Person {external_id: $person})-[:OWNS]->(d) RETURN count(d) AS v',
  'Expand, two hops': 'MATCH (:Person {external_id: $person})-[:MEMBER]->()-[:MAY_READ]->(d) RETURN count(d) AS v',
  ExpandInto:
    'MATCH (p:Person {external_id: $person}), (g:Group {external_id: $group}) MATCH (p)-[r:MEMBER]->(g) RETURN count(r) AS v',
  VarLengthExpand: 'MATCH (:Person {external_id: $person})-[*1..2]->(x) RETURN count(*) AS v',
  PruningVarExpand: 'MATCH (:Person {external_id: $person})-[*1..2]->(x) WITH DISTINCT x RETURN count(*) AS v',
  ShortestPath:
    'MATCH (p:Person {external_id: $person}) MATCH (g:Group {external_id: $group}) ' +
    'MATCH q = shortestPath((p)-[*..3]-(g)) RETURN length(q) AS v',
  Filter: "MATCH (g:Group) WHERE g.external_id STARTS WITH 'group-1' RETURN count(*) AS v",
  Distinct: 'MATCH (g:Group) WITH DISTINCT size(g.external_id) AS length RETURN count(*) AS v',
  EagerAggregation: 'MATCH (g:Group) RETURN size(g.external_id) AS length, count(*) AS v ORDER BY length',
  Sort: 'MATCH (g:Group) WITH g.external_id AS id ORDER BY id DESC RETURN collect(id)[0] AS v',
  Top: 'MATCH (g:Group) RETURN g.external_id AS v ORDER BY v DESC LIMIT 10',
  Optional:
    'MATCH (p:Person {external_id: $person}) OPTIONAL MATCH (p)-[:BLOCKED]->(b) RETURN count(b) AS v, count(p) AS w',
  SemiApply: 'MATCH (g:Group) WHERE EXISTS { (:Person)-[:MEMBER]->(g) } RETURN count(*) AS v',
  'count subquery': 'MATCH (p:Person {external_id: $person}) RETURN COUNT { (p)-[:OWNS]->() } AS v',
  Unwind: 'UNWIND range(1, 1000) AS x RETURN sum(x) AS v',
  Union: 'UNWIND range(1, 500) AS x RETURN x UNION ALL UNWIND range(1, 500) AS x RETURN x',
}

async function operators(options: BenchOptions): Promise<void> {
  const graph = ownershipGraph(NODES, options.seed)
  const { store, cold, uncached } = await openLoaded(graph, NODES, options.seed, options.report.note)
  try {
    const run = prepared(store, ends(graph))
    report(
      options,
      Object.entries(plans).map(([name, text]): Task => ['operator', name, run(text)]),
    )
  } finally {
    for (const opened of [store, cold, uncached]) await opened.close()
  }
}

/** A person and one of the person's groups. */
function ends(graph: OwnershipGraph): ReadonlyMap<string, Value> {
  const person = 7
  return new Map([
    ['person', personId(person)],
    ['group', groupId(graph.ofPerson[person * 10 + 5] as number)],
  ])
}

/** Compiles queries; each first proves that its rows are those of the plan without optimiser rules, and are not empty. */
function prepared(store: GraphStore, parameters: ReadonlyMap<string, Value>) {
  return (text: string): (() => QueryResult) => {
    const [query, unoptimized] = (['on', 'off'] as const).map((rules) => {
      const compiled = compileRowsQuery(text, { rules })
      if (!compiled.ok) throw new Error(`${text}: ${compiled.error[0]?.message}`)
      return () => {
        const snapshot = store.snapshot()
        try {
          return compiled.value.run({ snapshot, parameters, limits })
        } finally {
          snapshot.close()
        }
      }
    }) as [() => QueryResult, () => QueryResult]
    const rows = query().rows
    mustEqual(text, String(rows), String(unoptimized().rows))
    mustEqual(`${text} returns rows`, rows.length > 0, true)
    return query
  }
}

/** Times the tasks: p50 and p99 of a call in µs, or p50 of one of the `evaluations` in a call in ns. */
function report({ small, report: { line } }: BenchOptions, tasks: readonly Task[], evaluations = 1): void {
  const bench = new Tinybench({ time: small ? 20 : 300, warmupTime: small ? 20 : 100, retainSamples: true })
  for (const [group, name, call] of tasks) bench.add(`${group} ${name}`, call)
  bench.runSync()
  tasks.forEach(([group, name], at) => {
    const result = bench.tasks[at]?.result
    if (result?.state !== 'completed') throw new Error(`${group} ${name}: ${result?.state}`)
    const { p50, p99, samplesCount } = result.latency
    const figures =
      evaluations === 1
        ? { p50_us: round(p50 * 1000), p99_us: round(p99 * 1000) }
        : { p50_ns: round((p50 * 1e6) / evaluations, 1) }
    line({ record: group, name, ...figures, calls: samplesCount })
  })
}
