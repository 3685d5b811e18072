// Runs of many scenario files: shared projects, errors as results, merged coverage, and the reports.
import { mkdirSync, writeFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { DOMParser, type Element, onErrorStopParsing } from '@xmldom/xmldom'
import { beforeAll, describe, expect, test } from 'vitest'
import { mergeCoverage, uncoveredParts } from '../../../src/scenarios/merge-coverage.ts'
import { HumanReport } from '../../../src/scenarios/report/human-report.ts'
import { jsonReport } from '../../../src/scenarios/report/json-report.ts'
import { junitReport } from '../../../src/scenarios/report/junit-report.ts'
import type { TestReport } from '../../../src/scenarios/report/test-report.ts'
import { runSuite, type ScenarioFileResult } from '../../../src/scenarios/run-suite.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const cars = {
  'verdigraph.yaml': 'name: cars\n',
  'policies/drive.policy.yaml': `subject: Person
actions: [drive]
resource: Car
cypher: |
  MATCH (subject)-[:OWNS]->(resource)
  WHERE resource.wheels >= $min OR resource.colour = 'red'
`,
  'policies/sell.policy.yaml':
    'subject: Person\nactions: [sell]\nresource: Car\ncypher: MATCH (subject)-[:OWNS]->(resource)\n',
  'scenarios/a.scenario.yaml': `graph: |
  (ann:Person)-[:OWNS]->(c1:Car {wheels: 4})
decisions:
  - [Person:ann, drive, Car:c1, {min: 4}, yes]
`,
  'scenarios/b.scenario.yaml': `graph: |
  (ann:Person)-[:OWNS]->(c1:Car {wheels: 3, colour: 'blue'})
  (ann)-[:OWNS]->(c2:Car {wheels: 3, colour: 'red'})
decisions:
  - [Person:ann, drive, Car:c1, {min: 4}, yes]
  - [Person:ann, drive, Car:c2, {min: 4}, yes]
subjects:
  - [Person, drive, Car:c1, {min: 4}, [ann]]
`,
}

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = temporaryFolder()
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true })
    writeFileSync(join(folder, path), text)
  }
  return folder
}

const plain = { red: (text: string) => `<${text}>`, green: String, dim: () => '' }

function reportOf(results: readonly ScenarioFileResult[]): TestReport {
  const coverage = mergeCoverage(results.flatMap(({ run }) => run?.coverage ?? []))
  return { results, coverage, startedAt: new Date(1e12), durationMs: 12.3456 }
}

describe('two scenarios of a project', () => {
  let folder: string
  let results: readonly ScenarioFileResult[]
  const seen: string[] = []
  beforeAll(async () => {
    folder = folderWith(cars)
    const files = ['a', 'b'].map((name) => join(folder, 'scenarios', `${name}.scenario.yaml`))
    results = await runSuite(files, { coverage: true, onResult: ({ file }) => seen.push(file) })
  })
  const lines = (texts: readonly string[]): readonly string[] => texts.map((text) => text.replaceAll(folder, 'DIR'))

  test('are reported as they finish, with the folder of their project', () => {
    expect(seen).toEqual(results.map(({ file }) => file))
    expect(results.map(({ projectFolder }) => projectFolder)).toEqual([folder, folder])
  })

  test('cover together what each of them covers alone', () => {
    const [first, second] = results.map(({ run }) => mergeCoverage(run?.coverage ? [run.coverage] : []))
    expect(lines(first!.policies.flatMap(uncoveredParts))).toEqual([
      `DIR/policies/drive.policy.yaml:6:36: policy drive: \`resource.colour = 'red'\` is never true`,
      `DIR/policies/sell.policy.yaml:1:1: policy sell: no decision asks for it`,
    ])
    expect(lines(second!.policies.flatMap(uncoveredParts))[0]).toContain('`resource.wheels >= $min` is never true')
    const { coverage } = reportOf(results)
    expect(lines(coverage!.policies.flatMap(uncoveredParts))).toEqual([
      `DIR/policies/sell.policy.yaml:1:1: policy sell: no decision asks for it`,
    ])
    expect(coverage!.parts - coverage!.covered).toBe(1)
    expect(coverage!.percent).toBe(Math.floor((1000 * coverage!.covered) / coverage!.parts) / 10)
    expect(coverage!.policies.map(({ name, asked }) => [name, asked])).toEqual([
      ['drive', 4],
      ['sell', 0],
    ])
  })

  test('have a report for a person: places, both values of the nearest miss, counts', () => {
    const report = new HumanReport(plain)
    const [passed, failed] = results.map((result) => lines(report.file(result)))
    expect(passed).toEqual(['✓ DIR/scenarios/a.scenario.yaml: 1 check '])
    const drive = [
      'policy drive does not grant',
      '  reached: Argument subject, resource, for example (Person:ann), (Car:c1)',
      "  stopped: the predicate is not true: (resource.wheels >= $min OR resource.colour = 'red')",
      '  values: resource.wheels = 3, $min = 4, resource.colour = "blue"',
      'with $min = 4',
    ]
    expect(failed).toEqual([
      '<✗ DIR/scenarios/b.scenario.yaml: 2 of 3 checks failed>',
      '<  DIR/scenarios/b.scenario.yaml:5:5: decisions: Person:ann drive Car:c1 {"min":4}: expected yes, found no>',
      ...drive.map((line) => `    ${line}`),
      '<  DIR/scenarios/b.scenario.yaml:8:5: subjects: Person drive Car:c1 {"min":4}: expected [ann], found []>',
      '    not found: ann',
      '    Person:ann drive Car:c1 {"min":4}:',
      ...drive.map((line) => `      ${line}`),
    ])
    expect(report.summary(reportOf(results), 100).slice(-2)).toEqual([
      '<the coverage is below the minimum of 100 %>',
      '2 files: 1 passed, 1 failed; 4 checks: 2 passed, 2 failed (0.01 s)',
    ])
    expect(report.summary(reportOf(results), 50).join('\n')).not.toContain('minimum')
  })

  test('have a report for programs', () => {
    const { coverage, scenarios, ...rest } = JSON.parse(jsonReport(reportOf(results)))
    expect(rest).toEqual({
      version: 1,
      started_at: '2001-09-09T01:46:40.000Z',
      duration_ms: 12.346,
      files: { total: 2, passed: 1, failed: 1, invalid: 0 },
      checks: { total: 4, passed: 2, failed: 2 },
    })
    expect(scenarios[1].checks[0]).toMatchObject({
      list: 'decisions',
      title: 'Person:ann drive Car:c1 {"min":4}',
      line: 5,
      column: 5,
      passed: false,
      expected: 'yes',
      actual: 'no',
    })
    expect(coverage.policies[0].conditions[1]).toMatchObject({
      text: "resource.colour = 'red'",
      line: 6,
      problem: null,
    })
  })

  test('run only the checks that are selected, and end after the first failure', async () => {
    const files = results.map(({ file }) => file).reverse()
    const isSelected = (text: string) => text.includes('decisions Person:ann drive')
    const chosen = await runSuite(files, { isSelected })
    expect(chosen.map(({ run }) => run?.checks.length)).toEqual([2, 1])
    const ended = await runSuite(files, { bail: true })
    expect(ended.map(({ run }) => run?.checks.map(({ passed }) => passed))).toEqual([[false]])
  })
})

test('of several plans of a policy the best covered one counts, with what all scenarios reached of it', () => {
  const coverageOf = (...operators: readonly string[]) => ({
    policies: [
      {
        name: 'drive',
        position: { file: 'drive.policy.yaml', line: 1, column: 1 },
        asked: 1,
        granted: 0,
        // A name with a sign is an operator that had a row.
        operators: operators.map((name) => ({
          operator: name.replace('+', ''),
          detail: '',
          isReached: name.endsWith('+'),
        })),
        conditions: [],
      },
    ],
  })
  const shown = (...plans: readonly (readonly string[])[]) => {
    const { covered, parts, policies } = mergeCoverage(plans.map((plan) => coverageOf(...plan)))
    return [covered, parts, policies[0]!.operators.map(({ operator, isReached }) => `${operator} ${isReached}`)]
  }
  expect(shown(['Expand+', 'Filter'], ['Scan', 'Filter', 'Sort'])).toEqual([2, 3, ['Expand true', 'Filter false']])
  expect(shown(['Expand+', 'Filter'], ['Scan', 'Filter+'], ['Scan+', 'Filter'])).toEqual([
    3,
    3,
    ['Scan true', 'Filter true'],
  ])
  expect(shown([])).toEqual([1, 1, []])
})

test('errors of files and of their project are results, each of them printed once', async () => {
  const folder = folderWith({
    ...cars,
    'policies/sell.policy.yaml':
      'subject: Person\nactions: [sell]\nresource: Car\ncypher: MATCH (subject)-[:OWNS]->(resouce)\n',
    'scenarios/c.scenario.yaml': 'decision: 1\npolicies: []\n',
    'scenarios/d.scenario.yaml': 'policies: []\ngraph:\n  nodes: [{type: Person, external_id: ""}]\n',
  })
  const files = ['a', 'b', 'c', 'd'].map((name) => join(folder, 'scenarios', `${name}.scenario.yaml`))
  const results = await runSuite(files, {})
  const report = new HumanReport(plain)
  const shown = results.flatMap((result) => report.file(result)).map((line) => line.replaceAll(folder, 'DIR'))
  expect(shown).toEqual([
    '<✗ DIR/scenarios/a.scenario.yaml: not run>',
    `  DIR/policies/sell.policy.yaml:4:9: the condition must bind \`resource\` and keep it in scope to its end`,
    '<✗ DIR/scenarios/b.scenario.yaml: not run>',
    '  the errors above',
    '<✗ DIR/scenarios/c.scenario.yaml: not run>',
    '  DIR/scenarios/c.scenario.yaml:1:1: unknown member `decision`; did you mean `decisions`?',
    '<✗ DIR/scenarios/d.scenario.yaml: not run>',
    expect.stringMatching(/^ {2}DIR\/scenarios\/d\.scenario\.yaml:3:3: graph: .*external_id/),
  ])
  expect(report.summary({ ...reportOf(results), coverage: null }, null)).toEqual([
    '4 files: 0 passed, 4 not run; 0 checks: 0 passed (0.01 s)',
  ])
})

describe('the JUnit report', () => {
  // The elements and attributes of junit-10.xsd of the xUnit plugin of Jenkins, as far as they are used.
  const elements: Readonly<Record<string, { attributes: RegExp; children: readonly string[] }>> = {
    testsuites: { attributes: /^(?:name|time|tests|failures|errors)$/, children: ['testsuite'] },
    testsuite: {
      attributes: /^(?:name|tests|failures|errors|group|time|skipped|timestamp|hostname|id|package|file|log|url)$/,
      children: ['testcase'],
    },
    testcase: { attributes: /^(?:name|time|classname|group)$/, children: ['error', 'failure'] },
    error: { attributes: /^(?:type|message)$/, children: [] },
    failure: { attributes: /^(?:type|message)$/, children: [] },
  }

  function checkElement(element: Element): void {
    const declared = elements[element.tagName]!
    for (const { name, value } of [...element.attributes]) {
      expect(name).toMatch(declared.attributes)
      if (name === 'time') expect(value).toMatch(/^\d+\.\d{3}$/)
    }
    for (const child of [...element.children]) {
      expect(declared.children).toContain(child.tagName)
      checkElement(child)
    }
  }

  const parsed = (text: string): Element =>
    new DOMParser({ onError: onErrorStopParsing }).parseFromString(text, 'text/xml').documentElement!

  test('has the form that build servers read, also with special characters', async () => {
    const folder = folderWith({
      'a.scenario.yaml': `graph: (ann:Person)-[:OWNS]->(c1:Car)
policies:
  - {name: drive, subject: Person, action: drive, resource: Car, cypher: 'MATCH (subject)-[:OWNS]->(resource)'}
decisions:
  - [Person:ann, drive, Car:c1, {}, yes]
  - ["Person:\\x01 <a> & \\"b\\"\\n]]>", drive, Car:c1, {}, no]
`,
      'b.scenario.yaml': 'graph: (ann\n',
    })
    const file = join(folder, 'a.scenario.yaml')
    const results = await runSuite([file, join(folder, 'b.scenario.yaml')], {})
    const root = parsed(junitReport(reportOf(results)))
    checkElement(root)
    expect([
      root.tagName,
      root.getAttribute('tests'),
      root.getAttribute('failures'),
      root.getAttribute('errors'),
    ]).toEqual(['testsuites', '3', '1', '1'])
    const cases = [...root.getElementsByTagName('testcase')]
    expect(cases.map((one) => one.getAttribute('name'))).toEqual([
      'decisions: Person:ann drive Car:c1',
      'decisions: Person:\uFFFD <a> & "b"\n]]> drive Car:c1',
      'the file can be run',
    ])
    expect(cases[1]!.getElementsByTagName('failure')[0]!.textContent).toContain(
      'a.scenario.yaml:6:5: expected no, found ',
    )
    expect(cases[2]!.getElementsByTagName('error')[0]!.getAttribute('message')).toContain('b.scenario.yaml:1:')
  })
})
