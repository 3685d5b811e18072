// Runs every scenario through every engine: the expected results. Every pair of them: every-pair.test.ts.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { storeEngine } from '../support/store-engine.ts'
import { describeQuestion, type OpenScenario, type ScenarioEngine } from './engines.ts'
import { scenarios } from './every-scenario.ts'
import { httpEngine } from './http-engine.ts'
import { referenceEngine } from './reference-engine.ts'

const engines: readonly ScenarioEngine[] = [referenceEngine, storeEngine('off'), storeEngine('on'), httpEngine]

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
