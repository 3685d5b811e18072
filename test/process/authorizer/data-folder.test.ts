// An authorizer over a data folder that a service has open: it sees what the service commits, and writes nothing.
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { openAuthorizer } from '../../../src/authorizer/open-authorizer.ts'
import { startService, type TestService } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

const [ann, c1] = [
  { type: 'Person', external_id: 'ann' },
  { type: 'Car', external_id: 'c1' },
]
const request = {
  subject: { type: 'Person', id: 'ann' },
  action: { name: 'drive' },
  resource: { type: 'Car', id: 'c1' },
}

let service: TestService
beforeAll(async () => {
  service = await startService({}, { sync: false, log: () => {} })
  await service.ask('/capture/v1/nodes', { nodes: [ann, c1] })
})
afterAll(() => service.stop())

test('an authorizer sees each commit of the service: policies and the graph', async () => {
  await using authorizer = await openAuthorizer({ folder: service.dataDir })
  const unnamed = { decision: false, context: { reason: expect.stringMatching(/^no_policy: /) } }
  expect(authorizer.evaluate(request)).toEqual(unnamed)
  const policyId = await service.addPolicy({ name: 'drive', cypher: 'MATCH (subject)-[:OWNS]->(resource)' })
  expect(authorizer.explain(request).policies).toMatchObject([{ id: policyId, name: 'drive', outcome: 'denied' }])
  await service.ask('/capture/v1/relationships', { relationships: [{ source: ann, target: c1, type: 'OWNS' }] })
  expect(authorizer.evaluate(request)).toEqual({ decision: true })
  const decided = await service.ask('/access/v1/evaluation', request)
  expect(decided.body).toEqual({ decision: true })
})

test('an authorizer with a project folder decides by its policies over the graph of the data folder', async () => {
  const project = temporaryFolder()
  mkdirSync(join(project, 'policies'))
  writeFileSync(join(project, 'verdigraph.yaml'), 'name: draft\n')
  writeFileSync(
    join(project, 'policies', 'drive.policy.yaml'),
    'subject: Person\nactions: [drive]\nresource: Car\ncypher: MATCH (subject)-[:RENTS]->(resource)\n',
  )
  await using authorizer = await openAuthorizer({ folder: service.dataDir, project })
  expect(authorizer.evaluate(request)).toEqual({ decision: false })
  expect(authorizer.explain(request).policies.map(({ name }) => name)).toEqual(['drive'])
  const listed = await service.configure('GET', `authorization-policies?project_id=${service.projectId}`)
  expect(JSON.stringify(listed.body)).not.toContain('RENTS')
})

test('an authorizer over a data folder refuses to write', async () => {
  await using authorizer = await openAuthorizer({ folder: service.dataDir, projectName: 'test' })
  await expect(authorizer.write({ nodes: [ann] })).rejects.toThrow('an authorizer over a data folder only reads')
})

test('an unknown project is refused with the nearest name', async () => {
  const opened = openAuthorizer({ folder: service.dataDir, projectName: 'tests' })
  await expect(opened).rejects.toThrow('no project is named `tests`; did you mean `test`?')
})
