// A service whose folder has two organizations: a service account of one cannot reach a project of the other, by `X-Project-Id` or by
// the configuration interface, and learns nothing about it (docs/decisions/0014-service-accounts.md).
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { organizationsKind, projectsKind, type StoredDocument } from '../../../src/config/kind.ts'
import { ConfigRepository } from '../../../src/config/repository.ts'
import { CONFIGURATION_FOLDER, CURRENT_DOCUMENTS } from '../../../src/kernel/folder/data-folder.ts'
import { mintGid } from '../../../src/kernel/ids.ts'
import { systemClock } from '../../../src/kernel/time/clock.ts'
import { openCollections } from '../../../src/store/documents/collections.ts'
import { startService, type TestService } from '../../support/service.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'verdigraph-organizations-'))
let service: TestService
/** Of the other organization. */
let foreign: { projectId: string; key: string; policyId: string }

const evaluation = {
  subject: { type: 'Person', id: 'ann' },
  action: { name: 'drive' },
  resource: { type: 'Car', id: 'c1' },
}

beforeAll(async () => {
  const first = await startService({ dataDir }, { sync: false })
  const policyId = await first.addPolicy({ name: 'drive', cypher: 'MATCH (subject)-[:OWNS]->(resource)' })
  const node = (type: string, external_id: string): object => ({ type, external_id })
  await first.ask('/capture/v1/nodes', { nodes: [node('Person', 'ann'), node('Car', 'c1')] })
  const owns = { type: 'OWNS', source: node('Person', 'ann'), target: node('Car', 'c1') }
  await first.ask('/capture/v1/relationships', { relationships: [owns] })
  foreign = { projectId: first.projectId, key: first.key, policyId }
  await first.configure('PUT', `projects/${first.projectId}`, { name: 'foreign' })
  await first.stop()
  await moveToAnotherOrganization(first.projectId)
  service = await startService({ dataDir }, { sync: false })
})

afterAll(async () => {
  await service?.stop()
  rmSync(dataDir, { recursive: true, force: true })
})

/** No request creates an organization, so the documents are written to the folder. */
async function moveToAnotherOrganization(projectId: string): Promise<void> {
  const collections = openCollections(join(dataDir, CONFIGURATION_FOLDER), { sync: false })
  try {
    const documents = new ConfigRepository(collections)
    const [organization] = documents.all(organizationsKind)
    const stored = collections.all(CURRENT_DOCUMENTS).map(([, value]) => value as StoredDocument)
    const moved = stored.filter((one) => one.id === projectId || one.project_id === projectId)
    expect(moved.length).toBeGreaterThan(4)
    await documents.write((draft) => {
      const id = mintGid(systemClock.now())
      draft.put({ ...organization!, id, revision: 1, name: 'other' })
      for (const document of moved) {
        const parent_id = document.id === projectId ? id : document.parent_id
        draft.put({ ...document, organization_id: id, parent_id, revision: document.revision + 1 })
      }
    })
  } finally {
    await collections.close()
  }
}

const asAccount = (path: string, body?: object, method?: string) =>
  service.send(path, {
    headers: { authorization: `Bearer ${service.token}`, 'x-project-id': foreign.projectId },
    ...(method !== undefined && { method }),
    ...(body !== undefined && { body }),
  })

test('the project lives: its own agent is answered, and an account reaches the projects of its organization', async () => {
  const own = await service.send('/access/v1/evaluation', {
    headers: { 'x-svc-clientkey': foreign.key },
    body: evaluation,
  })
  expect([own.status, own.body]).toEqual([200, { decision: true }])
  const headers = { authorization: `Bearer ${service.token}`, 'x-project-id': service.projectId }
  expect((await service.send('/access/v1/evaluation', { headers, body: evaluation })).status).toBe(200)
})

test('X-Project-Id with a project of another organization is 403, as for a project that does not exist', async () => {
  const requests: readonly (readonly [path: string, body?: object])[] = [
    ['/access/v1/evaluation', evaluation],
    ['/access/v1/evaluations', { evaluations: [evaluation] }],
    ['/access/v1/search/resource', { ...evaluation, resource: { type: 'Car' } }],
    ['/access/v1/explain', evaluation],
    ['/access/v1/compare', { removed_policies: ['drive'] }],
    ['/access/v1/policies?subject_type=Person'],
    ['/access/v1/watch'],
    ['/access/v1/decisions'],
    ['/capture/v1/nodes', { nodes: [{ type: 'Person', external_id: 'eve' }] }],
    ['/data-schema/v1'],
    ['/graph/v1/names'],
    ['/graph/v1/query', { query: 'MATCH (n) RETURN n' }],
  ]
  for (const [path, body] of requests) {
    const { status, body: answer } = await asAccount(path, body)
    expect([path, status, answer.message]).toEqual([
      path,
      403,
      `X-Project-Id: the organization of the service account has no project \`${foreign.projectId}\``,
    ])
  }
})

test('the configuration interface does not show or change it', async () => {
  const { projectId: id, policyId } = foreign
  const listed = (await service.configure('GET', 'projects')).body.data as unknown as { id: string }[]
  expect(listed.map((one) => one.id)).toEqual([service.projectId])
  const paths = [`${projectsKind}/${id}`, `${projectsKind}/${id}/documents`, `authorization-policies/${policyId}`]
  for (const path of paths) {
    const found = await service.configure('GET', path)
    const other = mintGid(systemClock.now())
    const absent = await service.configure('GET', path.replaceAll(id, other).replaceAll(policyId, other))
    expect([path, found.status, absent.status]).toEqual([path, 404, 404])
  }
  expect((await service.configure('DELETE', `authorization-policies/${policyId}`)).status).toBe(404)
  expect((await service.configure('PUT', `${projectsKind}/${id}`, { name: 'taken' })).status).toBe(404)
  const applied = await service.configure('POST', `${projectsKind}/${id}/apply`, {
    expected: '',
    project: { body: {} },
    documents: [],
    delete: [],
  })
  expect(applied.status).toBe(404)
  const created = await service.configure('POST', 'applications', { project_id: id, name: 'intruder' })
  expect([created.status, created.text]).toEqual([
    expect.toBeOneOf([403, 404, 422]),
    expect.not.stringContaining('foreign'),
  ])
})
