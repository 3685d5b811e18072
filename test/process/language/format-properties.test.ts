// The properties of the formatter over the openCypher suite, the policies and examples of the repository, and random queries.
import { readdirSync, readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { readPages } from '../../docs/pages.ts'
import { randomCondition } from '../../generate/condition.ts'
import { Random, testSeed } from '../../generate/random.ts'
import { randomRows } from '../../generate/rows-query.ts'
import { readScenario } from '../../scenarios/read-scenario.ts'
import { holdsForAll } from '../../support/format-properties.ts'
import { readSuite, suitePresent } from '../../tck/suite-queries.ts'
import { readCases } from '../../unit/grammar/read-cases.ts'

const seed = testSeed()

test.skipIf(!suitePresent)(
  `a formatted query of the openCypher suite has the same tree and comments (seed ${seed})`,
  () => {
    const queries = readSuite().map(({ query }) => query)
    expect(holdsForAll(queries, new Random(seed))).toBeGreaterThan(1_000)
  },
)

test(`a formatted policy of a scenario or a page has the same tree and comments (seed ${seed})`, () => {
  const random = new Random(seed)
  const folder = new URL('../../scenarios/', import.meta.url)
  const scenarios = readdirSync(folder).filter((name) => name.endsWith('.scenario.yaml'))
  const policies = scenarios.flatMap((name) =>
    readScenario(name, readFileSync(new URL(name, folder), 'utf8')).policies.map(({ cypher }) => cypher),
  )
  expect(holdsForAll(policies, random)).toBeGreaterThan(100)
  const blocks = readPages().flatMap(({ blocks }) => blocks.filter(({ language }) => language === 'cypher'))
  const cases = readCases('accepted.case', '=').map(({ text }) => text)
  const inPages = readPages().flatMap(({ text }) => [
    ...text.matchAll(/`((?:MATCH|OPTIONAL|UNWIND|WITH|CALL|USE|RETURN) [^`\n]+)`/g),
  ])
  const texts = [
    ...blocks.map(({ text }) => text),
    ...cases,
    ...inPages.map(([, text = '']) => text.replaceAll('\\|', '|')),
  ]
  expect(holdsForAll(texts, random)).toBeGreaterThan(200)
})

test(`a formatted random query has the same tree and comments (seed ${seed})`, () => {
  const random = new Random(seed)
  const texts = Array.from({ length: 400 }, (_, i) =>
    i % 2 === 0 ? randomCondition(random).text : randomRows(random).text,
  )
  expect(holdsForAll(texts, random)).toBeGreaterThan(300)
})
