// The conditions of scenarios as cases for the printer: every check and every search that a policy can answer in its scenario.
import type { DialectName } from '../../src/engine/conditions.ts'
import { compileText } from '../../src/engine/prepared-query.ts'
import type { AccessQuery } from '../../src/engine/relation-query.ts'
import type { Scenario, ScenarioPolicy } from '../scenarios/read-scenario.ts'
import { engineParameters } from './convert-graph.ts'
import type { PrintedCase } from './printed-queries.ts'

/** Checks of one policy with one set of parameters. */
const PAIRS_MAX = 12

/** The cases of each policy of a scenario. */
export function printedCases(scenario: Scenario): { readonly policy: ScenarioPolicy; readonly cases: PrintedCase[] }[] {
  return scenario.policies.map((policy) => ({ policy, cases: casesOf(scenario, policy) }))
}

function casesOf(scenario: Scenario, policy: ScenarioPolicy): PrintedCase[] {
  const dialect = policy.cypher.includes('$token') ? 'open' : (policy.version as DialectName)
  const compiled = compileText(policy.cypher, dialect, 'condition')
  if (!compiled.ok) throw new Error(`${scenario.name}, ${policy.cypher}: ${compiled.error[0]?.message}`)
  const { bound } = compiled.value
  const types = new Map([
    ['subject', policy.subject],
    ['resource', policy.resource],
  ])
  const idsOf = (type: string): string[] =>
    scenario.graph.nodes.filter((node) => node.type === type).map(({ externalId }) => externalId)
  const [subjects, resources] = [idsOf(policy.subject), idsOf(policy.resource)]
  const given = new Map(
    [...scenario.decisions, ...scenario.resources, ...scenario.subjects]
      .filter(({ action }) => policy.actions.includes(action))
      .map(({ parameters }) => engineParameters(parameters))
      .map((parameters) => [JSON.stringify([...parameters], (_, value: unknown) => String(value)), parameters]),
  )
  const cases: PrintedCase[] = []
  for (const parameters of given.values()) {
    const add = (access: Omit<AccessQuery, 'types'>, externalIds: readonly string[]): void => {
      cases.push({
        text: policy.cypher,
        bound,
        access: { ...access, types },
        externalIds,
        parameters,
        orderedBy: [],
        bags: [],
      })
    }
    for (const id of subjects) add({ fixed: ['subject'], returns: { nodesOf: 'resource' } }, [id])
    for (const id of resources) add({ fixed: ['resource'], returns: { nodesOf: 'subject' } }, [id])
    const pairs = subjects.flatMap((subject) => resources.map((resource) => [subject, resource]))
    for (const pair of pairs.slice(0, PAIRS_MAX)) add({ fixed: ['subject', 'resource'], returns: 'exists' }, pair)
  }
  return cases
}
