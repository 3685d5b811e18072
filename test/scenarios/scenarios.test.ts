// Runs every scenario through every engine: the expected results, and for every pair of the scenario search contains x
// ⇔ evaluate(x) is true ⇔ the reference grants it.
import { readdirSync, readFileSync } from 'node:fs'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { storeEngine } from '../support/store-engine.ts'
import { describeQuestion, type OpenScenario, type ScenarioEngine, type ScenarioQuestion } from './engines.ts'
import { httpEngine } from './http-engine.ts'
import { readScenario, type Scenario } from './read-scenario.ts'
import { grantedPairs, referenceEngine } from './reference-engine.ts'

const folder = new URL('./', import.meta.url)
const scenarios = readdirSync(folder)
  .filter((file) => file.endsWith('.scenario.yaml'))
  .sort()
  .map((file) => readScenario(file.replace('.scenario.yaml', ''), readFileSync(new URL(file, folder), 'utf8')))

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

    test('has the expected decisions', async () => {
      const wrong: string[] = []
      for (const { subject, action, resource, parameters, granted } of scenario.decisions) {
        if (!open.carries(parameters)) continue
        const question = { subjectType: subject.type, action, resourceType: resource.type, parameters }
        if ((await open.evaluate(question, subject.id, resource.id)) !== granted) {
          wrong.push(`${subject.id} ${describeQuestion(question)} ${resource.id} should be ${granted ? 'yes' : 'no'}`)
        }
      }
      expect(wrong).toEqual([])
    })

    test('has the expected search results', async () => {
      const found: string[] = []
      const stated: string[] = []
      for (const { given, action, soughtType, parameters, ids } of scenario.resources) {
        if (!open.carries(parameters)) continue
        const question = { subjectType: given.type, action, resourceType: soughtType, parameters }
        stated.push(`${given.id} ${describeQuestion(question)}: ${ids}`)
        found.push(`${given.id} ${describeQuestion(question)}: ${(await open.resources(question, given.id)).sort()}`)
      }
      for (const { given, action, soughtType, parameters, ids } of scenario.subjects) {
        if (!open.carries(parameters)) continue
        const question = { subjectType: soughtType, action, resourceType: given.type, parameters }
        stated.push(`${describeQuestion(question)} ${given.id}: ${ids}`)
        found.push(`${describeQuestion(question)} ${given.id}: ${(await open.subjects(question, given.id)).sort()}`)
      }
      expect(found).toEqual(stated)
    })

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

    if (!engine.refuses || scenario.refused.length === 0) return

    test('refuses what must not compile, with the expected message', async () => {
      const wrong: string[] = []
      for (const policy of scenario.refused) {
        const refusal = await open.refusal(policy)
        if (refusal === null || !refusal.includes(policy.messageContains)) {
          wrong.push(`${policy.cypher}: ${refusal ?? 'taken'}, should contain \`${policy.messageContains}\``)
        }
      }
      expect(wrong).toEqual([])
    })
  })
})
