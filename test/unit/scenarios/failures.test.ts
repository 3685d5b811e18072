// A check that expects a denial must be denied by its policies: one that failed, a member that is not given and an empty
// expectation prove nothing.
import { expect, test } from 'vitest'
import { matchers } from '../../../src/authorizer/matchers.ts'
import { readScenarioText } from '../../../src/scenarios/load-scenario.ts'
import { openScenario, runScenario } from '../../../src/scenarios/run.ts'

const beginning = `
version: 3.0-kbac
graph: "(ann:Person {identity: true})-[:OWNS]->(c1:Car {owner: 'bob', wheels: 4})"
policies:
  - {name: hidden, subject: Person, action: drive, resource: Car, cypher: "MATCH (subject:Person), (resource:Car) WHERE resource.owner IN $parents"}
  - {name: nested, subject: Person, action: lift, resource: Car, cypher: "MATCH (subject:Person), (resource:Car) WHERE resource.owner = $context.a.b"}
`
const TYPE_FAULT = 'policy_failed (type): a value has a type that the policy does not accept'
const absent = (path: string) => `the policy nested reads \`$${path}\`, which is not given`

async function run(text: string) {
  return (await runScenario(readScenarioText('failures', `${beginning}${text}\n`, null))).checks
}

test.each([
  ['decisions: [[Person:ann, drive, Car:c1, {parents: bob}, no]]', TYPE_FAULT],
  ['resources: [[Person:ann, drive, {parents: bob}, []]]', TYPE_FAULT],
  ['subjects: [[Person, drive, Car:c1, {parents: bob}, []]]', TYPE_FAULT],
  ['actions: [[Person:ann, Car:c1, {parents: bob, context: {a: {b: x}}}, []]]', TYPE_FAULT],
  ['decisions: [[Person:ann, drive, Car:c1, {parents: [eve]}, failed]]', 'expected a policy that fails, and none does'],
  ['decisions: [[Person:ann, lift, Car:c1, {context: {}}, no]]', absent('context.a')],
  ['decisions: [[Person:ann, lift, Car:c1, {context: {a: {}}}, no]]', absent('context.a.b')],
  ['resources: [[Person:ann, lift, {context: {a: {}}}, []]]', absent('context.a.b')],
])('is an error: %s', async (text, message) => {
  const [check] = await run(text)
  expect([check?.passed, check?.actual]).toEqual([false, message])
})

test('a failure names its policy, and how to expect it', async () => {
  const [check] = await run('decisions: [[Person:ann, drive, Car:c1, {parents: bob}, no]]')
  expect(check?.details).toEqual([
    TYPE_FAULT,
    expect.stringMatching(/^policy hidden failed: /),
    'with $parents = "bob"',
    'a test that means it expects `failed`',
  ])
})

test('passes for what the check means', async () => {
  const checks = await run(`
decisions:
  - [Person:ann, drive, Car:c1, {parents: bob}, failed]
  - [Person:ann, drive, Car:c1, {parents: [eve]}, no]
  - [Person:ann, lift, Car:c1, {context: {a: {b: null}}}, no]
  - [Person:ann, lift, Car:c1, {context: {a: null}}, no]
resources:
  - [Person:ann, drive, {parents: bob}, failed]
  - [Person:ann, drive, {parents: [bob]}, [c1]]
subjects: [[Person, drive, Car:c1, {parents: bob}, failed]]
actions: [[Person:ann, Car:c1, {parents: bob, context: {a: {b: x}}}, failed]]
explanations: [{subject: Person:ann, action: drive, resource: Car:c1, params: {parents: bob}, outcomes: {hidden: faulted}}]`)
  expect(checks.filter(({ passed }) => !passed)).toEqual([])
  expect(checks).toHaveLength(9)
})

test('a denial that a test expects is not a failure', async () => {
  await using authorizer = await openScenario(readScenarioText('failures', beginning, null))
  const asked = [authorizer, 'Person:ann', 'drive', 'Car:c1', { parents: 'bob' }] as const
  expect(() => matchers.toDeny(...asked)).toThrow(`is not tested: ${TYPE_FAULT}`)
  expect(() => matchers.toAllow(...asked)).toThrow('policy hidden failed: ')
  expect(matchers.toDeny(...asked, { because: 'failed' }).pass).toBe(true)
  expect(() => matchers.toDeny(authorizer, 'Person:ann', 'lift', 'Car:c1', { context: { a: {} } })).toThrow(
    absent('context.a.b'),
  )
})

const explanation = (members: string) =>
  `explanations: [{subject: Person:ann, action: drive, resource: Car:c1, params: {parents: [eve]}${members}}]`

test.each([
  [explanation(", stopped: ''"), 'expected a part of a text; the empty text is a part of every one'],
  [explanation(", reached: ''"), 'expected a part of a text; the empty text is a part of every one'],
  [explanation(', outcomes: {}'), 'expected the outcome of at least one policy'],
  [explanation(''), 'expected `outcomes`, `reached` or `stopped`: without them every explanation is right'],
  ["refused: [{cypher: 'MATCH', message-contains: ''}]", 'expected a part of a text'],
])('refuses an expectation that every answer meets: %s', async (text, message) => {
  expect(() => readScenarioText('failures', `${beginning}${text}\n`, null)).toThrow(message)
})
