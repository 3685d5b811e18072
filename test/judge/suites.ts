// The fixed cases of the judge: the open half of the openCypher TCK, the conditions of all scenarios, and the recipes of the policy
// cookbook.
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { readPages } from '../docs/pages.ts'
import { readScenario, type Scenario } from '../scenarios/read-scenario.ts'
import { engineParameters } from '../support/convert-graph.ts'
import { type TckCase, type TckFixture, toValue } from '../tck/case.ts'
import { readSuite } from '../tck/suite.ts'
import { emptyJudgedGraph, type JudgedGraph, ofFixture, ofReference } from './judge-graph.ts'
import type { JudgedQuery } from './judged-outcome.ts'

/** One case of a suite. */
export interface JudgedSuiteCase {
  readonly id: string
  readonly graph: JudgedGraph
  readonly query: JudgedQuery
}

const tckFolder = new URL('../../../shared/tck/open', import.meta.url).pathname
const scenarioFolder = join(import.meta.dirname, '..', 'scenarios')

/** Each suite with its cases, in an order in which cases of one graph follow each other. Null if the suite is not here. */
export const suites = {
  tck: (): JudgedSuiteCase[] | null => (existsSync(tckFolder) ? tckCases() : null),
  scenarios: (): JudgedSuiteCase[] =>
    readdirSync(scenarioFolder)
      .filter((file) => file.endsWith('.scenario.yaml'))
      .sort()
      .flatMap((file) => casesOfScenario(readScenario(file, readFileSync(join(scenarioFolder, file), 'utf8')))),
  cookbook: (): JudgedSuiteCase[] =>
    readPages().flatMap(({ path, blocks }) =>
      blocks
        .filter(({ language, info }) => language === 'yaml' && info === '')
        .flatMap(({ text, line }) => casesOfScenario(readScenario(`${path}:${line}`, text))),
    ),
} as const

export type SuiteName = keyof typeof suites

function tckCases(): JudgedSuiteCase[] {
  const { cases, named } = readSuite(tckFolder)
  const graphs = new Map<string, JudgedGraph>()
  const graphOf = (item: TckCase): JudgedGraph => {
    const fixture: TckFixture | undefined = item.fixture ?? named[item.graph ?? '']
    if (fixture === undefined) return emptyJudgedGraph
    const key = JSON.stringify(fixture)
    const graph = graphs.get(key) ?? ofFixture(fixture)
    graphs.set(key, graph)
    return graph
  }
  const found = cases.map((item) => ({ id: item.id, graph: graphOf(item), query: tckQuery(item) }))
  const order = new Map([...graphs.values()].map((graph, index) => [graph, index]))
  return found.sort((a, b) => (order.get(a.graph) ?? -1) - (order.get(b.graph) ?? -1))
}

function tckQuery({ query, params, expect }: TckCase): JudgedQuery {
  const isOrdered = expect.kind === 'rows' && expect.ordered
  return {
    text: query,
    parameters: new Map(Object.entries(params ?? {}).map(([name, value]) => [name, toValue(value)])),
    orderedBy: isOrdered ? expect.columns : [],
    bags: expect.kind === 'rows' && expect.ignoreListOrder ? 'all' : [],
  }
}

/**
 * The condition of each policy as a query for its pairs, once for each set of parameters in the decisions. The types of subject and
 * resource, which the service adds to a condition, are tested at the end.
 */
function casesOfScenario(scenario: Scenario): JudgedSuiteCase[] {
  const graph = ofReference(scenario.graph)
  return scenario.policies.flatMap((policy) => {
    const parameters = new Map(
      [...scenario.decisions, ...scenario.resources, ...scenario.subjects]
        .filter(({ action }) => policy.actions.includes(action))
        .map((asked) => engineParameters(asked.parameters))
        .map((given) => [JSON.stringify([...given].map(([name, value]) => [name, String(value)])), given]),
    )
    // Only Verdigraph reads captured properties by `.property.`.
    const condition = policy.cypher.trim().replaceAll('.property.', '.')
    const text = `${condition}\nWITH * WHERE subject:\`${policy.subject}\` AND resource:\`${policy.resource}\`
RETURN DISTINCT subject.external_id AS subject, resource.external_id AS resource`
    return [...parameters.values()].map((given) => ({
      id: `${scenario.name}, ${policy.subject} ${policy.actions.join()} ${policy.resource}`,
      graph,
      query: { text, parameters: given, orderedBy: [], bags: [] },
    }))
  })
}
