// The scenarios in the pages (YAML blocks without a file name) hold in every engine, as those in files do. Blocks with the name of a
// file of a project folder are a project together.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { openAuthorizer } from '../../src/authorizer/open-authorizer.ts'
import { loadProject } from '../../src/project/load-project.ts'
import { readScenarioText } from '../../src/scenarios/load-scenario.ts'
import { runScenario } from '../../src/scenarios/run.ts'
import {
  describeQuestion,
  type OpenScenario,
  type ScenarioEngine,
  type ScenarioQuestion,
} from '../scenarios/engines.ts'
import { httpEngine } from '../scenarios/http-engine.ts'
import { readScenario } from '../scenarios/read-scenario.ts'
import { referenceEngine } from '../scenarios/reference-engine.ts'
import { storeEngine } from '../support/store-engine.ts'
import { temporaryFolder } from '../support/temporary-folder.ts'
import { readPages } from './pages.ts'

const scenarios = readPages().flatMap(({ path, blocks }) =>
  blocks
    .filter(({ language, info }) => language === 'yaml' && info === '')
    .map(({ text, line }) => readScenario(`${path}:${line}`, text)),
)
const engines: readonly ScenarioEngine[] = [referenceEngine, storeEngine('off'), storeEngine('on'), httpEngine]

test('the files of a project folder in a page are a project without errors', async () => {
  for (const { path, blocks } of readPages()) {
    const files = blocks.filter(({ language, info }) => language === 'yaml' && /^[a-z-]+\/[\w.-]+\.yaml$/.test(info))
    if (files.length === 0) continue
    const folder = temporaryFolder()
    writeFileSync(join(folder, 'verdigraph.yaml'), 'name: page\n')
    for (const { info, text } of files) {
      mkdirSync(dirname(join(folder, info)), { recursive: true })
      writeFileSync(join(folder, info), text)
    }
    const { documents } = await loadProject(folder)
    expect(documents.length, path).toBe(files.length)
    await (await openAuthorizer({ memory: true, project: folder })).close()
  }
})

test.each(
  readPages().flatMap(({ path, blocks }) =>
    blocks
      .filter(({ language, info }) => language === 'yaml' && info === '')
      .map(({ text, line }) => [path, line, text]),
  ) as [string, number, string][],
)('%s:%d passes as a test', async (path, line, text) => {
  const { checks } = await runScenario(readScenarioText(`${path}:${line}`, text, null))
  const failed = checks.filter(({ passed }) => !passed)
  expect(failed.map(({ title, expected, actual }) => `${title}: expected ${expected}, found ${actual}`)).toEqual([])
})

test('there are scenarios', () => expect(scenarios.length).toBeGreaterThanOrEqual(8))

/** The reference interpreter has no temporal functions. */
const canRun = ({ name }: ScenarioEngine, policies: readonly { readonly cypher: string }[]): boolean =>
  name !== referenceEngine.name || !policies.some(({ cypher }) => cypher.includes('datetime('))

describe.each(engines)('$name', (engine) => {
  describe.each(scenarios.filter(({ policies }) => canRun(engine, policies)))('$name', (scenario) => {
    let open: OpenScenario
    beforeAll(async () => {
      open = await engine.open(scenario)
    })
    afterAll(() => open?.close())

    test('returns the decisions and search results that the page shows', async () => {
      const found: string[] = []
      const expected: string[] = []
      for (const { subject, action, resource, parameters, granted } of scenario.decisions) {
        if (!open.carries(parameters)) continue
        const question: ScenarioQuestion = {
          subjectType: subject.type,
          action,
          resourceType: resource.type,
          parameters,
        }
        const line = `${subject.id} ${describeQuestion(question)} ${resource.id}`
        expected.push(`${line}: ${granted}`)
        found.push(`${line}: ${await open.evaluate(question, subject.id, resource.id)}`)
      }
      for (const { given, action, soughtType, parameters, ids } of scenario.resources) {
        const question: ScenarioQuestion = { subjectType: given.type, action, resourceType: soughtType, parameters }
        expected.push(`${given.id} ${describeQuestion(question)}: ${ids}`)
        found.push(`${given.id} ${describeQuestion(question)}: ${(await open.resources(question, given.id)).sort()}`)
      }
      for (const { given, action, soughtType, parameters, ids } of scenario.subjects) {
        const question: ScenarioQuestion = { subjectType: soughtType, action, resourceType: given.type, parameters }
        expected.push(`${describeQuestion(question)} ${given.id}: ${ids}`)
        found.push(`${describeQuestion(question)} ${given.id}: ${(await open.subjects(question, given.id)).sort()}`)
      }
      expect(found).toEqual(expected)
    })
  })
})
