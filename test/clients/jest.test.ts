// The built `verdigraph/jest` in a real run of Jest, in a project of its own.
import { existsSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { runProgram } from '../../clients/run-program.ts'
import { nodeProgram } from '../support/node-program.ts'

/** Installed for the run only: it has 250 packages. */
const jest = 'jest@30.5.2'
const top = join(import.meta.dirname, '..', '..')
let folder: string

beforeAll(async () => {
  if (!existsSync(join(top, 'dist', 'library', 'jest.js')))
    throw new Error('dist/library is absent: npm run build:package')
  folder = mkdtempSync(join(tmpdir(), 'verdigraph-jest-'))
  const files = {
    'package.json': '{"type":"module"}',
    'authz/verdigraph.yaml': 'name: cars\n',
    'authz/policies/drive.policy.yaml': policy,
    'authz.test.js': tests,
  }
  mkdirSync(join(folder, 'authz', 'policies'), { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  await runProgram(['npm', 'install', '--no-audit', '--no-fund', '--prefer-offline', '--no-save', jest], {
    cwd: folder,
  })
  symlinkSync(top, join(folder, 'node_modules', 'verdigraph'))
}, 300_000)

afterAll(() => rmSync(folder, { recursive: true, force: true }))

const policy = `subject: Person
actions: [drive]
resource: Car
cypher: |
  MATCH (subject)-[:OWNS]->(resource)
  WHERE resource.wheels >= $min
`

const tests = `import { openAuthorizer } from 'verdigraph'
import { matchers } from 'verdigraph/jest'

expect.extend(matchers)
let authorizer
beforeAll(async () => {
  authorizer = await openAuthorizer({ memory: true, project: './authz' })
  const [ann, car] = [{ type: 'Person', external_id: 'ann' }, { type: 'Car', external_id: 'c1' }]
  const bob = { type: 'Person', external_id: 'bob' }
  await authorizer.write({
    nodes: [ann, bob, { ...car, properties: [{ type: 'wheels', value: 4 }] }],
    relationships: [{ source: ann, target: car, type: 'OWNS' }],
  })
})
afterAll(() => authorizer.close())

test('right', () => {
  expect(authorizer).toAllow({ Person: 'ann' }, 'drive', { Car: 'c1' }, { min: 4 })
  expect(authorizer).toDeny('Person:bob', 'drive', 'Car:c1', { min: 4 })
  expect(authorizer).not.toAllow('Person:bob', 'drive', 'Car:c1', { min: 4 })
})
test('denied', () => expect(authorizer).toAllow({ Person: 'ann' }, 'drive', { Car: 'c1' }, { min: 5 }))
test('allowed', () => expect(authorizer).toDeny({ Person: 'ann' }, 'drive', { Car: 'c1' }, { min: 4 }))
test('refused', () => expect(authorizer).toDeny({ Person: 'ann' }, 'drive', { Car: 'c1' }))
`

/** The output of the red tests, by their names. */
const printed = {
  denied: `expected Person:ann drive Car:c1 with {"min":5} to be allowed

policy drive does not grant
  reached: Argument subject, resource, for example (Person:ann), (Car:c1)
  stopped: the predicate is not true: resource.wheels >= $min
  values: resource.wheels = 4, $min = 5
with $min = 5`,
  allowed: `expected Person:ann drive Car:c1 with {"min":4} to be denied

policy drive grants: (Person:ann)-[:OWNS]->(Car:c1)
with $min = 4`,
  refused: "missing or wrong input params, 'min'",
}

it('a red test of Jest shows the nearest miss', async () => {
  const program = join(folder, 'node_modules', 'jest', 'bin', 'jest.js')
  const command = [
    nodeProgram(),
    '--experimental-vm-modules',
    program,
    '--json',
    '--no-cache',
    '--outputFile',
    'out.json',
  ]
  await expect(runProgram(command, { cwd: folder })).rejects.toThrow('ended with 1')
  const { testResults } = (await Bun.file(join(folder, 'out.json')).json()) as JestReport
  const results = testResults.flatMap(({ assertionResults }) => assertionResults)
  expect(results.map(({ title, status }) => [title, status])).toEqual([
    ['right', 'passed'],
    ['denied', 'failed'],
    ['allowed', 'failed'],
    ['refused', 'failed'],
  ])
  for (const [title, text] of Object.entries(printed)) {
    expect(results.find((result) => result.title === title)?.failureMessages.join()).toContain(text)
  }
}, 120_000)

interface JestReport {
  readonly testResults: readonly {
    readonly assertionResults: readonly {
      readonly title: string
      readonly status: string
      readonly failureMessages: readonly string[]
    }[]
  }[]
}
