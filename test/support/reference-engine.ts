// The naive interpreter as one of the engines: the union of what its policies grant, and searches as projections of it.
import { decide } from '../reference/decide.ts'
import { type Engine, policiesFor, type Question, told } from './engines.ts'
import type { World } from './world.ts'

/** `subjectId|resourceId` of every pair that some policy grants (ruling D1). */
export function grantedPairs(world: World, question: Question): Set<string> {
  const granted = policiesFor(world, question).map((policy) =>
    decide(
      world.graph,
      { cypher: policy.cypher, subjectType: policy.subject, resourceType: policy.resource },
      question.parameters,
    ),
  )
  return new Set(granted.flatMap((pairs) => [...pairs]))
}

export const referenceEngine: Engine = {
  name: 'the reference interpreter',
  refuses: false,
  open: async (world) => {
    // The relation has nothing to do with who is asked about, so it is found once for each question.
    const relations = new Map<string, Set<string>>()
    const relationOf = (question: Question): Set<string> => {
      const key = told(question)
      const known = relations.get(key) ?? grantedPairs(world, question)
      relations.set(key, known)
      return known
    }
    const halves = (question: Question): [string, string][] =>
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
