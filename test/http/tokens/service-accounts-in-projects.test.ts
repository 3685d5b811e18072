// Service accounts call the APIs of a project as agents do: with `X-Project-Id`.
import { randomUUID } from 'node:crypto'
import { calculateJwkThumbprint, exportJWK, generateKeyPair, SignJWT } from 'jose'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { auditedEvents } from '../../support/events.ts'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

let service: TestService
let viewer: string

beforeAll(async () => {
  service = await startService({ auditDecisions: 'all' }, { sync: false })
  viewer = await viewerToken()
  await service.addPolicy({ name: 'drive', cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)' })
})

afterAll(() => service?.stop())

async function viewerToken(): Promise<string> {
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const jwk = await exportJWK(publicKey)
  const account = { organization_id: service.app.organizationId, name: 'viewer', role: 'all_viewer' }
  const id = String((await service.configure('POST', 'service-accounts', account)).body.id)
  const credential = { service_account_id: id, public_key_jwk: jwk }
  const created = await service.configure('POST', 'service-account-credentials', credential)
  expect([created.status, created.text]).toEqual([201, expect.any(String)])
  const nowS = Math.floor(Date.now() / 1000)
  return new SignJWT({ iss: id, sub: id, iat: nowS, exp: nowS + 600, jti: randomUUID() })
    .setProtectedHeader({ alg: 'ES256', kid: await calculateJwkThumbprint(jwk) })
    .sign(privateKey)
}

const send = (path: string, token: string, body?: unknown, more: object = {}): Promise<TestResponse> =>
  service.send(path, {
    headers: { authorization: `Bearer ${token}`, 'x-project-id': service.projectId, ...more },
    ...(body === undefined ? {} : { body }),
  })
const graph = {
  nodes: [
    { type: 'Person', external_id: 'ann', is_identity: true },
    { type: 'Car', external_id: 'c1' },
  ],
}
const owns = {
  type: 'OWNS',
  source: { type: 'Person', external_id: 'ann' },
  target: { type: 'Car', external_id: 'c1' },
}
const evaluation = (id: string, type = 'Person'): object => ({
  subject: { type, id },
  action: { name: 'drive' },
  resource: { type: 'Car', id: 'c1' },
})

describe('a service account that may edit', () => {
  it('captures, decides, searches, explains and reads in a project of its organization', async () => {
    const { token } = service
    expect((await send('/capture/v1/nodes', token, graph)).status).toBe(200)
    expect((await send('/capture/v1/relationships', token, { relationships: [owns] })).status).toBe(200)
    expect((await send('/access/v1/evaluation', token, evaluation('ann'))).text).toBe('{"decision":true}')
    expect((await send('/access/v1/evaluation', token, evaluation('bob'))).text).toBe('{"decision":false}')
    const search = { ...evaluation('ann'), resource: { type: 'Car' } }
    expect((await send('/access/v1/search/resource', token, search)).body.results).toMatchObject([{ id: 'c1' }])
    expect((await send('/access/v1/explain', token, evaluation('ann'))).body).toMatchObject({ decision: true })
    expect((await send('/access/v1/policies?subject_type=Person', token)).status).toBe(200)
    expect((await send('/data-schema/v1', token)).status).toBe(200)
  })

  it('is the actor of the audit records', async () => {
    expect((await send('/capture/v1/nodes', service.token, graph, { 'x-request-id': 'capture' })).status).toBe(200)
    await send('/access/v1/evaluation', service.token, evaluation('ann'), { 'x-request-id': 'decision' })
    const records = (await auditedEvents(service)).filter(({ data }) =>
      ['capture', 'decision'].includes(String(data.requestId)),
    )
    expect(records.length).toBeGreaterThan(1)
    for (const { data } of records) expect(data.actor).toMatchObject({ type: 'service-account', role: 'all_editor' })
  })

  it('is no application: it runs no knowledge query, and is no subject `_Application`', async () => {
    const { token } = service
    const executed = await send('/contx-iq/v1/execute', token, { id: 'q' })
    expect([executed.status, executed.body.message]).toEqual([
      403,
      'the role `all_editor` of the service account does not include the permission CIQ',
    ])
    await service.addPolicy({
      name: 'app',
      subject: '_Application',
      cypher: 'MATCH (subject:_Application), (resource:Car) WHERE subject.external_id <> $_appId',
    })
    const asked = evaluation(service.applicationId, '_Application')
    expect((await send('/access/v1/evaluation', token, asked)).body.decision).toBe(false)
  })

  it('is refused in a project that does not exist; second-organization.test.ts has one of another organization', async () => {
    for (const id of ['gid:unknown', '']) {
      const answer = await send('/access/v1/evaluation', service.token, evaluation('ann'), { 'x-project-id': id })
      expect([answer.status, answer.body.message]).toEqual([
        403,
        `X-Project-Id: the organization of the service account has no project \`${id}\``,
      ])
    }
  })

  it('needs a valid token of an account', async () => {
    expect((await send('/access/v1/evaluation', 'x.y.z', evaluation('ann'))).status).toBe(401)
    expect((await send('/access/v1/evaluation', service.key, evaluation('ann'))).status).toBe(401)
    const anonymous = await service.send('/access/v1/evaluation', {
      headers: { 'x-project-id': service.projectId },
      body: evaluation('ann'),
    })
    expect(anonymous.status).toBe(401)
    // Without the header the token is no agent key.
    const { status, body } = await service.send('/access/v1/evaluation', {
      headers: { authorization: `Bearer ${service.token}` },
      body: evaluation('ann'),
    })
    expect([status, body.message]).toEqual([
      401,
      'the application agent key is unknown or expired; with the token of a service account, X-Project-Id is required',
    ])
  })

  it('takes no token of a user, because its own is in that header', async () => {
    const answer = await send('/access/v1/evaluation', service.token, evaluation('ann'), {
      'x-svc-token': 'delegation',
    })
    expect([answer.status, answer.body.message]).toEqual([401, 'end-user token is required'])
  })

  it('does not change a request with the key of an agent', async () => {
    const { status } = await service.send('/access/v1/evaluation', {
      headers: { 'x-svc-clientkey': service.key, 'x-project-id': 'gid:unknown' },
      body: evaluation('ann'),
    })
    expect(status).toBe(200)
  })
})

describe('a service account that may only read', () => {
  it('lists policies, and neither decides, captures nor reads the data schema', async () => {
    expect((await send('/access/v1/policies?subject_type=Person', viewer)).status).toBe(200)
    for (const [path, body] of [
      ['/access/v1/evaluation', evaluation('ann')],
      ['/access/v1/explain', evaluation('ann')],
      ['/capture/v1/nodes', graph],
      ['/data-schema/v1', undefined],
    ] as const) {
      const answer = await send(path, viewer, body)
      expect([path, answer.status]).toEqual([path, 403])
      expect(answer.body.message).toContain('the role `all_viewer` of the service account does not include')
    }
  })
})
