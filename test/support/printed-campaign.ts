// Series of queries on the embedded store and, printed, on Neo4j: scenarios, random queries, and every operator on values of
// every kind. Counts of what was printed, and of each reason why not.
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Definitions } from '../../src/engine/bind/definitions.ts'
import { compileModel } from '../../src/engine/definitions/model.ts'
import { compileText } from '../../src/engine/prepared-query.ts'
import { type AccessQuery, allRows } from '../../src/engine/relation-query.ts'
import type { PropertyValue, Value } from '../../src/engine/value/value.ts'
import { Float } from '../../src/kernel/float.ts'
import { readPages } from '../docs/pages.ts'
import { randomGraph } from '../generate/graph.ts'
import { randomDerivedCondition, randomModel } from '../generate/model.ts'
import { Random } from '../generate/random.ts'
import { randomJudgedQuery } from '../judge/generate-query.ts'
import { type JudgedNode, ofReference } from '../judge/judge-graph.ts'
import type { Neo4jConnection } from '../judge/neo4j-side.ts'
import type { ReferenceGraph } from '../oracle/cypher/values.ts'
import { readScenario, type Scenario } from '../scenarios/read-scenario.ts'
import { openPrintedBench, type PrintedCase, type PrintedVerdict } from './printed-queries.ts'
import { printedCases } from './printed-scenarios.ts'

const scenarioFolder = join(import.meta.dirname, '..', 'scenarios')

/** The verdicts of a series. */
export class PrintedCounts {
  /** By kind of verdict. */
  readonly verdicts = new Map<string, number>()
  /** By reason, of queries that are not printable or failed on the server. */
  readonly reasons = new Map<string, number>()
  readonly differences: string[] = []

  add(source: string, item: PrintedCase, verdict: PrintedVerdict): void {
    const isEqual = verdict.kind === 'equal'
    increase(this.verdicts, isEqual && verdict.hasRows ? 'equal with rows' : verdict.kind)
    if (isEqual) return
    if (verdict.kind === 'not printable') increase(this.reasons, verdict.why)
    if (verdict.kind === 'failed') increase(this.reasons, `failed: ${verdict.why.split(/['"`(\d]/)[0]}`)
    if (verdict.kind === 'different') {
      const parameters = [...item.parameters].map(([name, value]) => `${name}: ${shown(value)}`).join(', ')
      this.differences.push(`${source}: ${item.text}\n  {${parameters}}\n  ${verdict.printed}\n  ${verdict.why}`)
    }
  }

  count(kind: string): number {
    return this.verdicts.get(kind) ?? 0
  }

  lines(): string[] {
    const listed = (counts: ReadonlyMap<string, number>): string =>
      [...counts]
        .sort(([, a], [, b]) => b - a)
        .map(([name, count]) => `${count} ${name}`)
        .join(', ')
    return [listed(this.verdicts), `not printable or failed by reason: ${listed(this.reasons)}`]
  }
}

function increase(counts: Map<string, number>, name: string): void {
  counts.set(name, (counts.get(name) ?? 0) + 1)
}

const shown = (value: Value): string =>
  JSON.stringify(value, (_, part: unknown) => (typeof part === 'bigint' ? `${part}n` : part))

/**
 * Every check and every search of every scenario; `withPages`: also of every policy of the documentation. `policies` counts those without
 * functions of Verdigraph alone.
 */
export async function judgeScenarios(
  connection: Neo4jConnection,
  withPages: boolean,
): Promise<{ readonly counts: PrintedCounts; readonly policies: Readonly<Record<'printable' | 'other', number>> }> {
  const counts = new PrintedCounts()
  const policies = { printable: 0, other: 0 }
  for (const scenario of [...testScenarios(), ...(withPages ? pageScenarios() : [])]) {
    const bench = await openPrintedBench(ofReference(scenario.graph), connection)
    for (const { cases } of printedCases(scenario)) {
      const verdicts = await bench.judge(cases)
      verdicts.forEach((verdict, i) => {
        counts.add(scenario.name, cases[i]!, verdict)
      })
      const refused = verdicts.flatMap((verdict) => (verdict.kind === 'not printable' ? [verdict.why] : []))
      // No server has these functions.
      if (cases.length === 0 || refused.some((why) => why.startsWith('the function net.'))) continue
      policies[refused.length > 0 ? 'other' : 'printable'] += 1
    }
    await bench.close()
  }
  return { counts, policies }
}

function testScenarios(): Scenario[] {
  const files = readdirSync(scenarioFolder).filter((file) => file.endsWith('.scenario.yaml'))
  return files.sort().map((file) => readScenario(file, readFileSync(join(scenarioFolder, file), 'utf8')))
}

function pageScenarios(): Scenario[] {
  return readPages().flatMap(({ path, blocks }) =>
    blocks
      .filter(({ language, info }) => language === 'yaml' && info === '')
      .map(({ text, line }) => readScenario(`${path}:${line}`, text)),
  )
}

const QUERIES_PER_ROUND = 25

/** Random queries on random graphs: round i has the seed `seed + i`. */
export async function judgeRandom(
  connection: Neo4jConnection,
  { seed, rounds }: { readonly seed: number; readonly rounds: number },
): Promise<PrintedCounts> {
  const counts = new PrintedCounts()
  for (let round = 0; round < rounds; round++) {
    const random = new Random(seed + round)
    const graph = randomGraph(random)
    const cases: PrintedCase[] = []
    while (cases.length < QUERIES_PER_ROUND) {
      const { text, parameters, orderedBy, bags } = randomJudgedQuery(random, () => true)
      const compiled = compileText(text, 'open', 'rows')
      if (!compiled.ok) continue
      cases.push({ ...rowsCase(text, parameters), orderedBy, bags })
    }
    const bench = await openPrintedBench(ofReference(graph), connection)
    const verdicts = await bench.judge(cases)
    verdicts.forEach((verdict, i) => {
      counts.add(`seed ${seed + round}`, cases[i]!, verdict)
    })
    await bench.close()
  }
  return counts
}

const MODELS_PER_ROUND = 12
const CONDITIONS_PER_MODEL = 8

/**
 * Random models over random graphs: checks, searches from both ends, and rows. Conditions that need a table are left out: the engine
 * executes these. Round i has the seed `seed + i`.
 */
export async function judgeModels(
  connection: Neo4jConnection,
  { seed, rounds }: { readonly seed: number; readonly rounds: number },
): Promise<PrintedCounts> {
  const counts = new PrintedCounts()
  for (let round = 0; round < rounds; round++) {
    const random = new Random(seed + round)
    const graph = randomGraph(random)
    const cases = Array.from({ length: MODELS_PER_ROUND }, () => randomModel(random)).flatMap((model) => {
      const definitions = compiledModel(model.text)
      return Array.from({ length: CONDITIONS_PER_MODEL }, () => randomDerivedCondition(random, model))
        .flatMap((text) => modelCases(text, definitions, graph, random))
        .filter(({ bound }) => bound.tabled.length === 0)
        .map((item) => ({ model, item }))
    })
    const bench = await openPrintedBench(ofReference(graph), connection)
    const verdicts = await bench.judge(cases.map(({ item }) => item))
    verdicts.forEach((verdict, i) => {
      const { model, item } = cases[i]!
      counts.add(`seed ${seed + round}\n${model.text}`, item, verdict)
    })
    await bench.close()
  }
  return counts
}

function compiledModel(text: string): Definitions {
  const compiled = compileModel(text)
  if (!compiled.ok) throw new Error(`${text}: ${compiled.error[0]!.message}`)
  return compiled.value
}

/** Searches from each end, some checks, and the rows of one condition. */
function modelCases(text: string, definitions: Definitions, graph: ReferenceGraph, random: Random): PrintedCase[] {
  const parameters = new Map<string, Value>([['n', 1]])
  const compiled = compileText(text, 'open', 'condition', definitions)
  if (!compiled.ok) throw new Error(`${text}: ${compiled.error[0]!.message}`)
  const typeOf = (variable: string): string => new RegExp(`\\(${variable}:(\\w+)`).exec(text)![1]!
  const types = new Map(['subject', 'resource'].map((variable) => [variable, typeOf(variable)]))
  const idsOf = (variable: string): string[] =>
    graph.nodes.filter(({ type }) => type === types.get(variable)).map(({ externalId }) => externalId)
  const [subjects, resources] = [idsOf('subject'), idsOf('resource')]
  const asked = (access: Omit<AccessQuery, 'types'>, externalIds: readonly string[]): PrintedCase => ({
    text,
    bound: compiled.value.bound,
    access: { ...access, types },
    externalIds,
    parameters,
    orderedBy: [],
    bags: [],
  })
  const pairs = subjects.flatMap((subject) => resources.map((resource) => [subject, resource]))
  return [
    ...subjects.map((id) => asked({ fixed: ['subject'], returns: { nodesOf: 'resource' } }, [id])),
    ...resources.map((id) => asked({ fixed: ['resource'], returns: { nodesOf: 'subject' } }, [id])),
    ...pairs
      .filter(() => random.odds(0.5))
      .slice(0, 6)
      .map((pair) => asked({ fixed: ['subject', 'resource'], returns: 'exists' }, pair)),
    rowsCase(`${text} RETURN subject, resource`, parameters, definitions),
  ]
}

/** A query with RETURN. Throws for a text that the engine refuses. */
export function rowsCase(
  text: string,
  parameters: ReadonlyMap<string, Value> = new Map(),
  definitions?: Definitions,
): PrintedCase {
  const compiled = compileText(text, 'open', 'rows', definitions)
  if (!compiled.ok) throw new Error(`${text}: ${compiled.error[0]!.message}`)
  return {
    text,
    bound: compiled.value.bound,
    access: allRows,
    externalIds: [],
    parameters,
    orderedBy: [],
    bags: 'all',
  }
}

/** Stored values of every kind; null is a missing property. */
const stored: readonly (PropertyValue | null)[] = [
  null,
  true,
  false,
  0,
  1,
  -3,
  9007199254740993n,
  new Float(1.5),
  new Float(1),
  new Float(-2.5),
  '',
  'a',
  'Ab',
  '1',
  '\u{1F600}x',
  'true',
  '2024-02-30',
  '2024-02-29T10:00:00+02:00',
  [],
  [1, 2],
  ['a', 'b'],
  [new Float(1.5)],
  [true],
]

const operators = ['=', '<>', '<', '<=', '>', '>=', '+', '-', '*', '/', '%', '||', 'IN', 'STARTS WITH', 'ENDS WITH']
const binary: readonly string[] = [
  ...[...operators, 'CONTAINS', 'AND', 'OR', 'XOR'].map((operator) => `a.v ${operator} b.v`),
  'nullIf(a.v, b.v)',
  'coalesce(a.v, b.v)',
  '[x IN a.v WHERE x = b.v]',
  'any(x IN a.v WHERE x = b.v)',
  'all(x IN a.v WHERE x < b.v)',
  'none(x IN a.v WHERE x = b.v)',
  'single(x IN a.v WHERE x = b.v)',
  'CASE a.v WHEN b.v THEN 1 ELSE 2 END',
  '[a.v, 1] = [b.v, 1]',
  '{k: a.v} = {k: b.v}',
  'a.v IN [b.v, null]',
  'reduce(s = a.v, x IN b.v | s + x)',
  "replace(a.v, 'a', b.v)",
  'a:V AND b.v',
  'max(a.v) + max(b.v)',
]
const unary: readonly string[] = [
  ...['size', 'isEmpty', 'head', 'last', 'tail', 'reverse', 'abs', 'sign', 'ceil', 'floor', 'round', 'sqrt', 'isNaN'],
  ...['toUpper', 'toLower', 'char_length', 'type', 'startNode', 'nodes', 'length', 'id', 'date', 'datetime'],
]
  .map((name) => `${name}(a.v)`)
  .concat([
    ...['-a.v', 'NOT a.v', 'a.v IS NULL', "split(a.v, 'a')", "a.v =~ 'a.*'", "a.v =~ '[A-Z]b'", 'a.v.x'],
    ...['CASE WHEN a.v THEN 1 ELSE 2 END', '[x IN a.v | x]', 'a.v:V', 'a.v + 1', "a.v + 'x'", '[1] + a.v', 'a.v * 2'],
    ...['1 / a.v', '1.5 / a.v', 'a.v % 2', 'a.v > 0', "a.v > 'a'", '1 IN a.v', "'a' IN a.v", 'a.v[0]', 'a.v[1..]'],
    ...['substring(a.v, 1)', 'left(a.v, 1)', 'right(a.v, 1)', 'EXISTS { MATCH (a) WHERE a.v }', 'sum(a.v)', 'min(a.v)'],
    ...['COUNT { MATCH (x:V) WHERE x.v = a.v }', 'count(DISTINCT a.v)', 'percentileDisc(a.v, 0.5)', 'a.v = true'],
  ])
const clauses: readonly string[] = [
  'UNWIND a.v AS x RETURN x',
  'WITH a WHERE a.v RETURN a',
  'OPTIONAL MATCH (b:V) WHERE b.v = a.v RETURN b.k AS k',
]

/** Every operator and function on stored values of every kind. */
export async function judgeValues(connection: Neo4jConnection): Promise<PrintedCounts> {
  const counts = new PrintedCounts()
  const nodes = stored.map((value, k): JudgedNode => {
    const properties = new Map<string, PropertyValue>([['k', k]])
    if (value !== null) properties.set('v', value)
    return { key: { type: 'V', externalId: `v${k}` }, isIdentity: false, labels: ['V'], properties }
  })
  const bench = await openPrintedBench({ nodes, relationships: [] }, connection)
  const indexes = [...stored.keys()]
  const judge = async (text: string, all: readonly (readonly [number, number])[]): Promise<void> => {
    const cases = all.map(([i, j]) =>
      rowsCase(
        text,
        new Map([
          ['i', i],
          ['j', j],
        ]),
      ),
    )
    const verdicts = await bench.judge(cases)
    verdicts.forEach((verdict, i) => {
      counts.add('values', cases[i]!, verdict)
    })
  }
  for (const one of unary)
    await judge(
      `MATCH (a:V {k: $i}) RETURN ${one} AS r`,
      indexes.map((i) => [i, i]),
    )
  for (const one of clauses)
    await judge(
      `MATCH (a:V {k: $i}) ${one}`,
      indexes.map((i) => [i, i]),
    )
  const pairs = indexes.flatMap((i) => indexes.map((j) => [i, j] as const))
  for (const one of binary) await judge(`MATCH (a:V {k: $i}), (b:V {k: $j}) RETURN ${one} AS r`, pairs)
  await bench.close()
  return counts
}
