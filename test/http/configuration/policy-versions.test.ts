// Policies in the spelling of older documents: the version `1.0-svc` and the member `policyVersion`.
import { cpSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApp } from '../../../src/app.ts'
import { MASTER_KEY_FILE } from '../../../src/kernel/folder/data-folder.ts'
import { defaultSettings } from '../../../src/settings.ts'
import { exportFolder } from '../../../src/transfer/export/export.ts'
import { importFile } from '../../../src/transfer/import/import.ts'
import { startService, type TestService } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let service: TestService
let key: string

beforeAll(async () => {
  service = await startService({}, { sync: false })
  key = (await service.addAgent('reader', ['Authorization', 'ReadAuthZConfigs', 'CIQ'])).key
  const node = (type: string, external_id: string) => ({ type, external_id })
  await service.ask('/capture/v1/nodes', {
    nodes: [node('Person', 'ann'), node('Person', 'bob'), node('Car', 'c1')],
  })
  await service.ask('/capture/v1/relationships', {
    relationships: [{ source: node('Person', 'ann'), type: 'OWNS', target: node('Car', 'c1') }],
  })
})
afterAll(() => service?.stop())

const CYPHER = 'MATCH (subject:Person)-[:OWNS]->(resource:Car)'

function policyText(meta: object, action: string, cypher = CYPHER): string {
  return JSON.stringify({
    meta,
    subject: { type: 'Person' },
    actions: [action],
    resource: { type: 'Car' },
    condition: { cypher },
  })
}

const store = (name: string, policy: string, status = 'ACTIVE') =>
  service.configure('POST', 'authorization-policies', { project_id: service.projectId, name, policy, status })

const body = (subject: string, action: string, context?: object) => ({
  subject: { type: 'Person', id: subject },
  action: { name: action },
  resource: { type: 'Car', id: 'c1' },
  ...(context !== undefined && { context }),
})

const decide = async (subject: string, action: string, context?: object) =>
  (await service.ask('/access/v1/evaluation', body(subject, action, context))).body.decision

const withKey = (path: string, sent?: object) =>
  service.send(path, { headers: { 'x-svc-clientkey': key }, ...(sent !== undefined && { body: sent }) })

describe('a policy of version `1.0-svc`', () => {
  it('decides as one of `2.0-kbac`, in both spellings of the member', async () => {
    const spellings = {
      'old-value': { policy_version: '1.0-svc' },
      'old-member': { policyVersion: '2.0-kbac' },
      'old-both': { policyVersion: '1.0-svc' },
      'old-twice': { policy_version: '1.0-svc', policyVersion: '1.0-svc' },
    }
    for (const [name, meta] of Object.entries(spellings)) {
      expect(await store(name, policyText(meta, name)), name).toMatchObject({ status: 201 })
      expect([await decide('ann', name), await decide('bob', name)], name).toEqual([true, false])
    }
    // `$subject_id` exists in 2.0 alone, and USE and CALL do not.
    const reading = `${CYPHER} WHERE subject.external_id = $subject_id`
    expect(await store('old-id', policyText({ policy_version: '1.0-svc' }, 'own-id', reading))).toMatchObject({
      status: 201,
    })
    expect(await decide('ann', 'own-id', { input_params: { subject_id: 'ann' } })).toBe(true)
    for (const [name, cypher, message] of [
      ['old-use', `USE graph.byName('eu') ${CYPHER}`, 'USE clause is not allowed'],
      ['old-call', `CALL () { ${CYPHER} RETURN subject, resource }`, 'Cypher contains forbidden clauses: [CALL]'],
    ] as const) {
      const refused = await store(name, policyText({ policyVersion: '1.0-svc' }, 'drive', cypher))
      expect(refused.status).toBe(422)
      expect(String((refused.body.errors as string[])[0])).toContain(message)
    }
  })

  it('reads back as it was sent, and as `2.0-kbac` where the executed policy is described', async () => {
    const text = policyText({ policyVersion: '1.0-svc' }, 'look')
    const stored = await store('old-look', text)
    const { id } = stored.body
    expect((await service.configure('GET', `authorization-policies/${id}`)).body.policy).toBe(text)
    const { results } = (await withKey('/access/v1/policies?subject_type=Person')).body
    const listed = (results as { policy: { meta: unknown; actions: string[] } }[]).map(({ policy }) => policy)
    expect(listed.find(({ actions }) => actions[0] === 'look')?.meta).toEqual({ policy_version: '2.0-kbac' })
    const explained = (await withKey('/access/v1/explain', body('ann', 'look'))).body
    expect(explained).toMatchObject({ decision: true, policies: [{ name: 'old-look', version: '2.0-kbac' }] })
    // The same document again changes nothing.
    const updated = await service.configure('PUT', `authorization-policies/${id}`, { policy: text, status: 'ACTIVE' })
    expect([updated.status, updated.headers.get('etag')]).toEqual([200, stored.headers.get('etag')])
  })

  it('may be a draft, also with two versions, and is found by its kind', async () => {
    const both = policyText({ policy_version: '1.0-svc', policyVersion: '3.0-kbac' }, 'draft')
    const draft = await store('old-draft', both, 'DRAFT')
    expect(draft.status).toBe(201)
    const context = JSON.stringify({
      meta: { policyVersion: '1.0-ciq' },
      subject: { type: '_Application' },
      condition: { cypher: 'MATCH (subject:_Application) MATCH (car:Car)' },
      allowed_reads: { nodes: ['car.external_id'] },
    })
    const stored = await store('old-context', context)
    const names = async (type: string) => {
      const { data } = (
        await service.configure('GET', `authorization-policies?project_id=${service.projectId}&type=${type}`)
      ).body
      return (data as { name: string }[]).map(({ name }) => name)
    }
    expect(await names('ciq')).toEqual(['old-context'])
    expect(await names('kbac')).toContain('old-draft')
    await service.configure('POST', 'knowledge-queries', {
      project_id: service.projectId,
      name: 'old-cars',
      policy_id: stored.body.id,
      query: JSON.stringify({ nodes: ['car.external_id'] }),
      status: 'ACTIVE',
    })
    expect((await withKey('/contx-iq/v1/execute', { id: 'old-cars' })).body).toEqual({
      data: [{ nodes: { 'car.external_id': 'c1' } }],
    })
    // Only the activation checks the draft.
    const id = String(draft.body.id)
    const active = await service.configure('PUT', `authorization-policies/${id}`, { policy: both, status: 'ACTIVE' })
    expect(active.body.errors).toEqual([
      'policy.meta.policyVersion: differs from `policy_version`, of which it is another spelling; give one of them',
    ])
  })

  it('is refused with two different versions, an unknown one, none, or one that is not a string', async () => {
    const known = 'expected one of `2.0-kbac`, `3.0-kbac`, `1.0-ciq`'
    const differs =
      'policy.meta.policyVersion: differs from `policy_version`, of which it is another spelling; give one of them'
    for (const [meta, issue] of [
      [{ policy_version: '2.0-kbac', policyVersion: '3.0-kbac' }, differs],
      [{ policy_version: '2.0-kbac', policyVersion: '1.0-svc' }, differs],
      // Null is a value like any other: it is refused in each member of `meta`.
      [{ policy_version: '2.0-kbac', policyVersion: null }, 'policy.meta.policyVersion: expected string, found null'],
      [{ policyVersion: null }, 'policy.meta.policyVersion: expected string, found null'],
      [{ policy_version: null }, 'policy.meta.policy_version: expected string, found null'],
      [{ policy_version: null, policyVersion: '2.0-kbac' }, 'policy.meta.policy_version: expected string, found null'],
      [{ policy_version: '1.0-ciq', policyVersion: '2.0-kbac' }, differs],
      [{ policyVersion: '0.9-svc' }, `policy.meta.policy_version: ${known}, found \`0.9-svc\``],
      [{ policy_version: '1.0-SVC' }, `policy.meta.policy_version: ${known}, found \`1.0-SVC\``],
      [{}, 'policy.meta.policy_version: expected string, found nothing'],
      [{ policyVersion: 2 }, 'policy.meta.policy_version: expected string, found number'],
      [{ policy_version: '1.0-svc', version: 1 }, 'policy.meta: unknown member `version`'],
    ] as const) {
      const refused = await store('wrong', policyText(meta, 'drive'))
      expect([refused.status, refused.body.errors], JSON.stringify(meta)).toEqual([422, [issue]])
    }
  })

  it('is refused with the name of the variable that its condition does not bind', async () => {
    for (const version of ['1.0-svc', '2.0-kbac', '3.0-kbac']) {
      for (const [cypher, missing] of [
        ['MATCH (subject:Person)-[:OWNS]->(car:Car)', ['resource']],
        ['MATCH (person:Person)-[:OWNS]->(resource:Car)', ['subject']],
        ['MATCH (person:Person)-[:OWNS]->(car:Car)', ['subject', 'resource']],
        ['MATCH (subject:Person)-[:OWNS]->(resource:Car) WITH subject', ['resource']],
      ] as const) {
        const refused = await store('unbound', policyText({ policyVersion: version }, 'drive', cypher))
        expect(refused.status).toBe(422)
        const issues = refused.body.errors as string[]
        expect(issues).toHaveLength(missing.length)
        missing.forEach((name, i) => {
          expect(issues[i]).toMatch(
            new RegExp(`^policy\\.condition\\.cypher: line 1, column 1: the condition must bind \`${name}\` `),
          )
        })
      }
    }
  })

  it('decides the same after an export and an import', async () => {
    const source = await startService({}, { sync: false })
    const folder = join(temporaryFolder(), 'imported')
    const nodes = [
      { type: 'Person', external_id: 'ann' },
      { type: 'Car', external_id: 'c1' },
    ]
    let project: string
    try {
      const [from, to] = nodes
      await source.ask('/capture/v1/nodes', { nodes })
      await source.ask('/capture/v1/relationships', { relationships: [{ source: from, type: 'OWNS', target: to }] })
      project = source.projectId
      const policy = policyText({ policyVersion: '1.0-svc' }, 'drive')
      await source.configure('POST', 'authorization-policies', {
        project_id: project,
        name: 'moved',
        policy,
        status: 'ACTIVE',
      })
      const out = join(temporaryFolder(), 'lines')
      await exportFolder({ dataDir: source.dataDir, out, progress: () => {} })
      await importFile({ dataDir: folder, from: out, dryRun: false, resume: false, progress: () => {} })
      // The key of secrets is not part of an export.
      cpSync(join(source.dataDir, MASTER_KEY_FILE), join(folder, MASTER_KEY_FILE))
      const app = await createApp({ ...defaultSettings, port: 0, dataDir: folder }, { sync: false })
      try {
        const { url } = await app.listen()
        const answer = await fetch(`${url}/access/v1/evaluation`, {
          method: 'POST',
          headers: { 'content-type': 'application/json', 'x-svc-clientkey': source.key },
          body: JSON.stringify(body('ann', 'drive')),
        })
        expect(await answer.json()).toEqual({ decision: true })
        const token = await app.issueAdminToken(120)
        const read = await fetch(`${url}/configs/v1/authorization-policies/moved?project_id=${project}`, {
          headers: { authorization: `Bearer ${token}` },
        })
        expect(await read.json()).toMatchObject({ policy })
      } finally {
        await app.close()
      }
    } finally {
      await source.stop()
    }
  })
})
