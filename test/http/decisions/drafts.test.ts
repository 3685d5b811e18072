// Requests about drafts: `context.policy_status: "DRAFT"` decides as if the DRAFT policies were ACTIVE too, for callers that may read
// the configuration.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClient } from '../../../src/client/index.ts'
import { inOrderOfCapture } from '../../support/graph-servers.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
/** Of an agent that may read the configuration. */
let key: string
const logged: Record<string, unknown>[] = []

const draft = { policy_status: 'DRAFT' } as const
const ann = { type: 'Person', id: 'ann' }
const c1 = { type: 'Car', id: 'c1' }
const c2 = { type: 'Car', id: 'c2' }
const drive = { name: 'drive' }

async function store(name: string, cypher: string, actions: readonly string[], status = 'DRAFT') {
  const policy = JSON.stringify({
    meta: { policy_version: '3.0-kbac' },
    subject: { type: 'Person' },
    actions,
    resource: { type: 'Car' },
    condition: { cypher },
  })
  const stored = await service.configure('POST', 'authorization-policies', {
    project_id: service.projectId,
    name,
    policy,
    status,
    tags: [name],
  })
  expect(stored.status).toBe(201)
  return String(stored.body.id)
}

beforeAll(async () => {
  service = await startService({}, { sync: false, onDecided: (event) => logged.push({ ...event }) })
  const node = (type: string, external_id: string) => ({ type, external_id })
  await service.ask('/capture/v1/nodes', { nodes: [node('Person', 'ann'), node('Car', 'c1'), node('Car', 'c2')] })
  const link = (type: string, car: string) => ({ source: node('Person', 'ann'), type, target: node('Car', car) })
  await service.ask('/capture/v1/relationships', { relationships: [link('OWNS', 'c1'), link('RENTS', 'c2')] })
  await service.addPolicy({ name: 'own', cypher: 'MATCH (subject)-[:OWNS]->(resource)' })
  await store('rent', 'MATCH (subject)-[:RENTS]->(resource)', ['drive', 'wash'])
  await store('paused', 'MATCH (subject:Person), (resource:Car)', ['drive', 'paint'], 'INACTIVE')
  key = (await service.addAgent('planner', ['Authorization', 'ReadAuthZConfigs'])).key
})
afterAll(() => service?.stop())

function ask(path: string, body: object, as = key) {
  return service.send(`/access/v1/${path}`, { method: 'POST', headers: { 'x-svc-clientkey': as }, body })
}
const evaluation = (resource: object, context?: object) => ({ subject: ann, action: drive, resource, context })

describe('a request about drafts', () => {
  it('decides with ACTIVE and DRAFT policies, and not with INACTIVE ones', async () => {
    const decisionOf = async (body: object) => (await ask('evaluation', body)).body.decision
    expect(await decisionOf(evaluation(c2))).toBe(false)
    expect(await decisionOf(evaluation(c2, { policy_status: 'ACTIVE' }))).toBe(false)
    expect(await decisionOf(evaluation(c2, draft))).toBe(true)
    expect(await decisionOf(evaluation(c1, draft))).toBe(true)
    // A draft alone, by its tag.
    expect(await decisionOf(evaluation(c1, { ...draft, policy_tags: ['rent'] }))).toBe(false)
    expect(await decisionOf(evaluation(c2, { ...draft, policy_tags: ['rent'] }))).toBe(true)
    expect(await decisionOf({ ...evaluation(c2, draft), action: { name: 'paint' } })).toBe(false)
  })

  it('is answered by batches, searches and explanations', async () => {
    const batch = await ask('evaluations', {
      ...evaluation(c2),
      evaluations: [{}, { context: draft }, { resource: c1 }],
    })
    expect(batch.body.evaluations).toMatchObject([{ decision: false }, { decision: true }, { decision: true }])
    const search = { subject: ann, action: drive, resource: { type: 'Car' } }
    expect((await ask('search/resource', search)).body.results).toEqual([c1])
    const drafted = (await ask('search/resource', { ...search, context: draft })).body.results as (typeof c1)[]
    expect(inOrderOfCapture(drafted, ({ id }) => id)).toEqual([c1, c2])
    const subjects = { subject: { type: 'Person' }, action: drive, resource: c2, context: draft }
    expect((await ask('search/subject', subjects)).body.results).toEqual([ann])
    const actions = { subject: ann, resource: c2 }
    expect((await ask('search/action', actions)).body.results).toEqual([])
    const found = (await ask('search/action', { ...actions, context: draft })).body.results
    expect(found).toEqual(expect.arrayContaining([{ name: 'drive' }, { name: 'wash' }]))
    const explained = await ask('explain', evaluation(c2, draft))
    expect(explained.body).toMatchObject({
      decision: true,
      policies: [
        { name: 'own', outcome: 'denied' },
        { name: 'rent', outcome: 'granted' },
      ],
    })
  })

  it('needs the permission to read the configuration, with every kind of request', async () => {
    for (const [path, body] of [
      ['evaluation', evaluation(c2, draft)],
      ['search/resource', { subject: ann, action: drive, resource: { type: 'Car' }, context: draft }],
      ['search/subject', { subject: { type: 'Person' }, action: drive, resource: c2, context: draft }],
      ['search/action', { subject: ann, resource: c2, context: draft }],
      ['who-authorized', { evaluations: [{ action: drive, resource: c2 }], context: draft }],
    ] as const) {
      const refused = await ask(path, body, service.key)
      expect(refused.status, path).toBe(403)
      expect(refused.text).toContain('ReadAuthZConfigs')
    }
    const { body } = await ask('evaluations', { ...evaluation(c2), evaluations: [{ context: draft }] }, service.key)
    expect(body.evaluations).toMatchObject([
      { decision: false, context: { reason: expect.stringMatching(/^permission_denied: .*ReadAuthZConfigs/) } },
    ])
  })

  it('is marked in its record', async () => {
    logged.length = 0
    await ask('evaluation', evaluation(c2, draft))
    await ask('evaluation', evaluation(c2, draft), service.key)
    expect(logged).toMatchObject([
      { request: { context: draft }, decision: true },
      { request: { context: draft }, error: { kind: 'forbidden' } },
    ])
  })

  it('is refused for another status', async () => {
    const refused = await ask('evaluation', evaluation(c2, { policy_status: 'INACTIVE' }))
    expect([refused.status, refused.body.errors]).toEqual([
      400,
      ['context.policy_status: expected `ACTIVE` or `DRAFT`, found `INACTIVE`'],
    ])
  })

  it('is refused while a draft for its types and action does not compile, which the error names', async () => {
    const id = await store('half', 'MATCH (subject', ['park'])
    const parked = { ...evaluation(c1), action: { name: 'park' } }
    expect((await ask('evaluation', parked)).body).toMatchObject({
      decision: false,
      context: { reason: expect.stringMatching(/^no_policy: /) },
    })
    const refused = await ask('evaluation', { ...parked, context: draft })
    expect(refused.status).toBe(422)
    expect(String(refused.body.errors)).toContain('the draft `half` does not compile: policy.condition.cypher: line 1')
    expect((await ask('evaluation', evaluation(c2, draft))).body).toEqual({ decision: true })
    expect((await service.configure('DELETE', `authorization-policies/${id}`)).status).toBeLessThan(300)
    expect((await ask('evaluation', { ...parked, context: draft })).body).toMatchObject({
      decision: false,
      context: { reason: expect.stringMatching(/^no_policy: /) },
    })
  })

  it('can be made with the client', async () => {
    const client = createClient({ url: service.url, key })
    expect(await client.evaluate({ subject: ann, action: drive, resource: c2, context: draft })).toEqual({
      decision: true,
    })
  })
})
