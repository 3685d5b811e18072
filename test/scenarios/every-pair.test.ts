// For every pair of every scenario, in every engine: search contains x ⇔ evaluate(x) is true ⇔ the reference grants it.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { storeEngine } from '../support/store-engine.ts'
import { describeQuestion, type OpenScenario, type ScenarioEngine, type ScenarioQuestion } from './engines.ts'
import { scenarios } from './every-scenario.ts'
import { httpEngine } from './http-engine.ts'
import type { Scenario } from './read-scenario.ts'
import { grantedPairs, referenceEngine } from './reference-engine.ts'

const engines: readonly ScenarioEngine[] = [referenceEngine, storeEngine('off'), storeEngine('on'), httpEngine]

/** Every question of the scenario, once. */
function questionsOf(scenario: Scenario): ScenarioQuestion[] {
  const asked = new Map<string, ScenarioQuestion>()
  const add = (
    subjectType: string,
    action: string,
    resourceType: string,
    parameters: ScenarioQuestion['parameters'],
  ): void => {
    const question = { subjectType, action, resourceType, parameters }
    asked.set(describeQuestion(question), question)
  }
  for (const each of scenario.decisions) add(each.subject.type, each.action, each.resource.type, each.parameters)
  for (const each of scenario.resources) add(each.given.type, each.action, each.soughtType, each.parameters)
  for (const each of scenario.subjects) add(each.soughtType, each.action, each.given.type, each.parameters)
  return [...asked.values()]
}

const idsOf = (scenario: Scenario, type: string): string[] =>
  scenario.graph.nodes.filter((node) => node.type === type).map((node) => node.externalId)

describe.each(engines)('$name', (engine) => {
  describe.each(scenarios)('in the scenario $name', (scenario) => {
    let open: OpenScenario
    beforeAll(async () => {
      open = await engine.open(scenario)
    })
    afterAll(() => open?.close())

    test('searches, evaluates and agrees with the reference for every pair', async () => {
      const wrong: string[] = []
      for (const question of questionsOf(scenario).filter((each) => open.carries(each.parameters))) {
        const granted = grantedPairs(scenario, question)
        const subjects = idsOf(scenario, question.subjectType)
        const resources = idsOf(scenario, question.resourceType)
        for (const subject of subjects) {
          const expected = resources.filter((resource) => granted.has(`${subject}|${resource}`)).sort()
          const found = (await open.resources(question, subject)).sort()
          if (`${found}` !== `${expected}`)
            wrong.push(`resources of ${subject}, ${describeQuestion(question)}: ${found} for ${expected}`)
          for (const resource of resources) {
            const is = await open.evaluate(question, subject, resource)
            if (is !== granted.has(`${subject}|${resource}`))
              wrong.push(`${subject} ${describeQuestion(question)} ${resource}: ${is}`)
          }
        }
        for (const resource of resources) {
          const expected = subjects.filter((subject) => granted.has(`${subject}|${resource}`)).sort()
          const found = (await open.subjects(question, resource)).sort()
          if (`${found}` !== `${expected}`)
            wrong.push(`subjects of ${resource}, ${describeQuestion(question)}: ${found} for ${expected}`)
        }
      }
      expect(wrong).toEqual([])
    })
  })
})
