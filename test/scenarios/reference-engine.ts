// The reference interpreter as an engine: the union of what its policies grant; searches are projections of it.
import { decide } from '../oracle/cypher/decide.ts'
import { describeQuestion, policiesFor, type ScenarioEngine, type ScenarioQuestion } from './engines.ts'
import type { Scenario } from './read-scenario.ts'

/** `subjectId|resourceId` of every pair that some policy grants. */
export function grantedPairs(scenario: Scenario, question: ScenarioQuestion): Set<string> {
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
    // The relation does not depend on the given entity, so it is computed once per question.
    const relations = new Map<string, Set<string>>()
    const relationOf = (question: ScenarioQuestion): Set<string> => {
      const key = describeQuestion(question)
      const known = relations.get(key) ?? grantedPairs(scenario, question)
      relations.set(key, known)
      return known
    }
    const halves = (question: ScenarioQuestion): [string, string][] =>
      [...relationOf(question)].map((pair) => pair.split('|') as [string, string])
    return {
      carries: () => true,
      evaluate: async (question, subjectId, resourceId) => relationOf(question).has(`${subjectId}|${resourceId}`),
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
