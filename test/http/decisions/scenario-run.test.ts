// Scenario files over HTTP: they run against the stored policies of a project, in memory, within limits, and for editors only.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

let service: TestService

function run(scenario: string, more: object = {}): Promise<TestResponse> {
  const headers = { authorization: `Bearer ${service.token}`, 'x-project-id': service.projectId }
  return service.send('/access/v1/test', { headers, body: { scenario, ...more } })
}

const graph = 'graph: |\n  (ann:Person)-[:OWNS]->(c1:Car {wheels: 4})\n  (bob:Person)\n'
const decisions = (...rows: readonly string[]): string => `decisions:\n${rows.map((row) => `  - ${row}\n`).join('')}`

beforeAll(async () => {
  service = await startService({}, { sync: false })
  await service.addPolicy({
    name: 'drive-own-car',
    cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car) WHERE resource.wheels >= $min',
  })
  const captured = await service.ask('/capture/v1/nodes', { nodes: [{ type: 'Person', external_id: 'zoe' }] })
  expect(captured.status, captured.text).toBe(200)
})
afterAll(() => service.stop())

describe('POST /access/v1/test', () => {
  test('runs the checks with the stored policies, and explains a failed one with its place', async () => {
    const text = `${graph}${decisions('[Person:ann, drive, Car:c1, {min: 4}, yes]', '[Person:bob, drive, Car:c1, {min: 4}, yes]')}`
    const { status, body, text: answer } = await run(text)
    expect(status, answer).toBe(200)
    expect(body).toMatchObject({
      passed: false,
      policies: 1,
      left_out: 0,
      checks: [
        {
          list: 'decisions',
          title: 'Person:ann drive Car:c1 {"min":4}',
          passed: true,
          line: 5,
          column: 5,
          details: [],
        },
        { passed: false, expected: 'yes', actual: 'no', line: 6 },
      ],
    })
    const [, failed] = body.checks as [unknown, { details: readonly string[] }]
    expect(failed.details.join('\n')).toContain('drive-own-car')
  })

  test('neither reads nor changes the graph of the project', async () => {
    const { body } = await run(
      `${graph}resources:\n  - {subject: Person:ann, action: drive, params: {min: 1}, ids: [c1]}\n`,
    )
    expect(body).toMatchObject({ passed: true })
    const asked = await service.ask('/access/v1/search/resource', {
      subject: { type: 'Person', id: 'ann' },
      action: { name: 'drive' },
      resource: { type: 'Car' },
      context: { input_params: { min: 1 } },
    })
    expect(asked.body.results ?? []).toEqual([])
    const unknown = await run(`${graph}${decisions('[Person:zoe, drive, Car:c1, {min: 1}, unknown-node]')}`)
    expect(unknown.body).toMatchObject({ passed: true })
  })

  test('runs policies of the request instead of stored ones, drafts, and the policies of the file alone', async () => {
    const asked = `${graph}${decisions('[Person:bob, drive, Car:c1, {}, yes]')}`
    const policy = {
      meta: { policy_version: '3.0-kbac' },
      subject: { type: 'Person' },
      actions: ['drive'],
      resource: { type: 'Car' },
      condition: { cypher: 'MATCH (subject:Person) MATCH (resource:Car)' },
    }
    const changed = await run(asked, { policies: [{ name: 'drive-own-car', policy }] })
    expect(changed.body).toMatchObject({ passed: true, policies: 1 })
    const draft = { name: 'drive-any-car', status: 'DRAFT', policy: JSON.stringify(policy) }
    const stored = await service.configure('POST', 'authorization-policies', {
      project_id: service.projectId,
      ...draft,
    })
    expect(stored.status, stored.text).toBe(201)
    expect((await run(asked)).body).toMatchObject({ passed: false })
    expect((await run(asked, { draft: true })).body).toMatchObject({ passed: true, policies: 2 })
    const own = `policies:\n  - subject: Person\n    actions: [drive]\n    resource: Car\n    cypher: MATCH (subject) MATCH (resource)\n`
    expect((await run(own + asked)).body).toMatchObject({ passed: true, policies: 0 })
  })

  test.each([
    [
      '[Person:ann, drvie, Car:c1, {min: 9}, no]',
      'no policy for Person and Car names the action `drvie`; did you mean `drive`?',
    ],
    ['[Person:anm, drive, Car:c1, {min: 9}, no]', '`Person:anm` is not in the graph; did you mean `Person:ann`?'],
    ['[Person:ann, drive, Cra:c1, {min: 9}, no]', 'no policy and no node has the type `Cra`; did you mean `Car`?'],
    [
      '[Person:ann, drive, Car:c1, {mni: 9}, no]',
      'no policy for Person and Car reads the parameter `$mni`; did you mean `$min`?',
    ],
    ['[Person:ann, drive, Car:c1, no]', expect.stringContaining("missing or wrong input params, 'min'")],
  ])('fails for a name that the check does not mean: %s', async (row, actual) => {
    expect((await run(`${graph}${decisions(row)}`)).body).toMatchObject({
      passed: false,
      checks: [{ passed: false, actual }],
    })
  })

  test('reports errors of the file and of a policy with their places', async () => {
    expect((await run('decisions:\n  - [Person:ann]\n')).body.errors).toEqual([
      expect.stringMatching(/^scenario: line 2, column 5: decisions\[0\]: expected \[/),
    ])
    expect((await run('graph: [\n')).status).toBe(422)
    const faults = await run(decisions(...Array.from({ length: 200 }, () => '[1]')))
    expect(faults.body.errors).toHaveLength(51)
    const policy = { meta: { policy_version: '3.0-kbac' } }
    const broken = await run(`${graph}${decisions('[Person:bob, drive, Car:c1, {}, no]')}`, {
      policies: [{ name: 'broken', policy }],
    })
    expect([broken.status, broken.body.errors]).toEqual([
      422,
      expect.arrayContaining([expect.stringMatching(/^policy broken: /)]),
    ])
  })

  test('refuses a file that is too large, and callers that are no editors', async () => {
    const many = Array.from({ length: 501 }, () => '[Person:ann, drive, Car:c1, {}, no]')
    expect((await run(`${graph}${decisions(...many)}`)).body.errors).toEqual([
      'scenario: expected at most 500 checks, found 501',
    ])
    const nodes = Array.from({ length: 2001 }, (_, i) => `  (n${i}:Person)\n`).join('')
    expect((await run(`graph: |\n${nodes}`)).body.errors).toEqual([
      'scenario: graph: expected at most 2000 elements, found 2001',
    ])
    expect((await run(' '.repeat(131_073))).status).toBe(400)
    const { key } = await service.addAgent('reader', ['Authorization', 'ReadAuthZConfigs'])
    const agent = await service.send('/access/v1/test', {
      headers: { 'x-svc-clientkey': key },
      body: { scenario: 'decisions: []' },
    })
    expect([agent.status, agent.text]).toEqual([403, expect.stringContaining('all_editor')])
  })
})
