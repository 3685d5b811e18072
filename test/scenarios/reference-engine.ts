// The reference interpreter as an engine: the union of what its policies grant; searches are projections of it.
import { decide } from '../oracle/cypher/decide.ts'
import { describeQuestion, policiesFor, type ScenarioEngine, type ScenarioQuestion } from './engines.ts'
import type { Scenario } from './read-scenario.ts'

/** By scenario and question: all engines are compared with the same relations. */
const relations = new WeakMap<Scenario, Map<string, ReadonlySet<string>>>()

/** `subjectId|resourceId` of every pair that some policy grants. */
export function grantedPairs(scenario: Scenario, question: ScenarioQuestion): ReadonlySet<string> {
  const known = relations.get(scenario) ?? new Map<string, ReadonlySet<string>>()
  relations.set(scenario, known)
  const key = describeQuestion(question)
  const pairs = known.get(key) ?? decidePairs(scenario, question)
  known.set(key, pairs)
  return pairs
}

function decidePairs(scenario: Scenario, question: ScenarioQuestion): ReadonlySet<string> {
  const granted = policiesFor(scenario, question).map((policy) =>
    decide(
      scenario.graph,
      { cypher: policy.cypher, subjectType: policy.subject, resourceType: policy.resource },
      question.parameters,
    ),
  )
  return new Set(granted.flatMap((pairs) => [...pairs]))
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
