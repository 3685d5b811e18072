// The reference interpreter as an engine: the union of what its policies grant, without what others forbid; searches are projections
// of it.
import { decide, relation } from '../oracle/cypher/decide.ts'
import { ReferenceEvaluationError } from '../oracle/cypher/values.ts'
import { describeQuestion, policiesFor, type ScenarioEngine, type ScenarioQuestion } from './engines.ts'
import type { Scenario } from './read-scenario.ts'

/** By scenario and question: all engines are compared with the same relations. */
const relations = new WeakMap<Scenario, Map<string, ReadonlySet<string>>>()

/** `subjectId|resourceId` of every pair that some policy grants, and none forbids. */
export function grantedPairs(scenario: Scenario, question: ScenarioQuestion): ReadonlySet<string> {
  const known = relations.get(scenario) ?? new Map<string, ReadonlySet<string>>()
  relations.set(scenario, known)
  const key = describeQuestion(question)
  const pairs = known.get(key) ?? decidePairs(scenario, question)
  known.set(key, pairs)
  return pairs
}

function decidePairs(scenario: Scenario, question: ScenarioQuestion): ReadonlySet<string> {
  const { graph } = scenario
  const { parameters } = question
  const policies = policiesFor(scenario, question).map(({ cypher, subject, resource, effect }) => ({
    cypher,
    subjectType: subject,
    resourceType: resource,
    keepsUnknown: effect === 'forbid',
  }))
  const granted = policies
    .filter(({ keepsUnknown }) => !keepsUnknown)
    .map((policy) => decide(graph, policy, parameters))
  const pairs = new Set(granted.flatMap((found) => [...found]))
  for (const policy of policies.filter(({ keepsUnknown }) => keepsUnknown)) {
    try {
      for (const pair of relation(graph, policy, parameters)) pairs.delete(pair)
    } catch (fault) {
      if (!(fault instanceof ReferenceEvaluationError)) throw fault
      // A policy that fails forbids. The scenarios have no policy that fails for some pairs only.
      pairs.clear()
    }
  }
  return pairs
}

export const referenceEngine: ScenarioEngine = {
  name: 'the reference interpreter',
  refuses: false,
  open: async (scenario) => {
    const halves = (question: ScenarioQuestion): [string, string][] =>
      [...grantedPairs(scenario, question)].map((pair) => pair.split('|') as [string, string])
    return {
      carries: () => true,
      evaluate: async (question, subjectId, resourceId) =>
        grantedPairs(scenario, question).has(`${subjectId}|${resourceId}`),
      resources: async (question, subjectId) =>
        halves(question)
          .filter(([subject]) => subject === subjectId)
          .map(([, resource]) => resource),
      subjects: async (question, resourceId) =>
        halves(question)
          .filter(([, resource]) => resource === resourceId)
          .map(([subject]) => subject),
      refusal: async () => null,
      close: async () => {},
    }
  },
}
