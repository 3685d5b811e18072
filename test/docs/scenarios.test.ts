// The scenarios in the pages (YAML blocks with a graph) hold in every engine, as those in files do.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type Engine, type OpenWorld, type Question, told } from '../support/engines.ts'
import { httpEngine } from '../support/http-engine.ts'
import { referenceEngine } from '../support/reference-engine.ts'
import { storeEngine } from '../support/store-engine.ts'
import { readWorld } from '../support/world.ts'
import { readPages } from './pages.ts'

const scenarios = readPages().flatMap(({ path, blocks }) =>
  blocks.filter(({ language }) => language === 'yaml').map(({ text, line }) => readWorld(`${path}:${line}`, text)),
)
const engines: readonly Engine[] = [referenceEngine, storeEngine('off'), storeEngine('on'), httpEngine]

test('there are scenarios', () => expect(scenarios.length).toBeGreaterThanOrEqual(8))

describe.each(engines)('$name', (engine) => {
  describe.each(scenarios)('$name', (scenario) => {
    let open: OpenWorld
    beforeAll(async () => {
      open = await engine.open(scenario)
    })
    afterAll(() => open?.close())

    test('decides and finds as the page says', async () => {
      const found: string[] = []
      const expected: string[] = []
      for (const { subject, action, resource, parameters, granted } of scenario.decisions) {
        if (!open.carries(parameters)) continue
        const question: Question = { subjectType: subject.type, action, resourceType: resource.type, parameters }
        const line = `${subject.id} ${told(question)} ${resource.id}`
        expected.push(`${line}: ${granted}`)
        found.push(`${line}: ${await open.evaluate(question, subject.id, resource.id)}`)
      }
      for (const { given, action, soughtType, parameters, ids } of scenario.resources) {
        const question: Question = { subjectType: given.type, action, resourceType: soughtType, parameters }
        expected.push(`${given.id} ${told(question)}: ${ids}`)
        found.push(`${given.id} ${told(question)}: ${(await open.resources(question, given.id)).sort()}`)
      }
      for (const { given, action, soughtType, parameters, ids } of scenario.subjects) {
        const question: Question = { subjectType: soughtType, action, resourceType: given.type, parameters }
        expected.push(`${told(question)} ${given.id}: ${ids}`)
        found.push(`${told(question)} ${given.id}: ${(await open.subjects(question, given.id)).sort()}`)
      }
      expect(found).toEqual(expected)
    })
  })
})
