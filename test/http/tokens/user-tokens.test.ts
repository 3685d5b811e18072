// Tokens of a real OpenID provider in real requests: whoami, decisions, and the node created for the user.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { readingGraphs } from '../../../src/kernel/request/remote-reads.ts'
import { type OpenIdProvider, startProvider } from '../../support/oidc-provider.ts'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

const AUDIENCE = 'https://api.example'

let service: TestService
let provider: OpenIdProvider
let key: string
let people: string

beforeAll(async () => {
  provider = await startProvider()
  service = await startService({ upstreamAllow: '127.0.0.1' }, { log: () => undefined })
  key = (await service.addAgent('ciq', ['Authorization', 'CIQ'])).key
  people = await introspect({ name: 'people', jwt_matcher: { issuer: provider.issuer, audience: AUDIENCE } })
  await introspect({
    name: 'opaque',
    jwt_matcher: null,
    opaque_matcher: { hint: 'people' },
    offline_validation: null,
    online_validation: { userinfo_endpoint: provider.userinfoEndpoint },
  })
})
afterAll(async () => {
  await service.stop()
  await provider.stop()
})

async function introspect(fields: object): Promise<string> {
  const created = await service.configure('POST', 'token-introspects', {
    project_id: service.projectId,
    offline_validation: {},
    ikg_node_type: 'Person',
    claims_mapping: { mail: { selector: 'email' } },
    ...fields,
  })
  if (created.status !== 201) throw new Error(created.text)
  return created.body.id as string
}

const whoami = (headers: Record<string, string>): Promise<TestResponse> =>
  service.send('/contx-iq/v1/whoami', { headers: { 'x-svc-clientkey': key, ...headers } })

const evaluate = (token: string, subject: string, resource: string, action = 'read'): Promise<TestResponse> =>
  service.send('/access/v1/evaluation', {
    headers: { 'x-svc-clientkey': key, authorization: `Bearer ${token}` },
    body: {
      subject: { type: 'Person', id: subject },
      action: { name: action },
      resource: { type: 'Page', id: resource },
    },
  })

describe('whoami', () => {
  it('returns the node type of the configuration and the subject of the token, and nothing else', async () => {
    const token = await provider.accessTokenFor('ann', AUDIENCE)
    for (let i = 0; i < 2; i++) {
      const answered = await whoami({ authorization: `Bearer ${token}` })
      expect([answered.status, answered.body]).toEqual([200, { type: 'Person', id: 'ann' }])
    }
  })

  it('returns the subject of an opaque token until it is revoked', async () => {
    const token = await provider.opaqueToken('bea')
    expect((await whoami({ authorization: `Bearer ${token}` })).body).toEqual({ type: 'Person', id: 'bea' })
    await provider.revoke(token)
    const revoked = await whoami({ authorization: `Bearer ${token}` })
    expect([revoked.status, revoked.body]).toEqual([401, { message: 'Invalid token in Authorization header' }])
    expect(revoked.headers.get('www-authenticate')).toBe(
      'Bearer error="invalid_token", error_description="the issuer rejected the token"',
    )
  })

  it('has empty values if the configuration names no node type', async () => {
    const audience = 'https://untyped.example'
    await introspect({ name: 'untyped', jwt_matcher: { issuer: provider.issuer, audience }, ikg_node_type: null })
    const token = await provider.accessTokenFor('ann', audience)
    const answered = await whoami({ authorization: `Bearer ${token}` })
    expect([answered.status, answered.body]).toEqual([200, { type: '', id: '' }])
  })

  it('requires a user token, of an accepted issuer, and an agent with the permission to decide', async () => {
    const missing = await whoami({})
    expect([missing.status, missing.body]).toEqual([401, { message: 'end-user token is required' }])
    expect(missing.headers.get('www-authenticate')).toBe('Bearer')
    const wrong = await whoami({
      authorization: `Bearer ${await provider.accessTokenFor('ann', 'https://other.example')}`,
    })
    expect([wrong.status, wrong.body]).toEqual([401, { message: 'Invalid token in Authorization header' }])
    expect(wrong.headers.get('www-authenticate')).toMatch(/^Bearer error="invalid_token", error_description="[\w .]+"$/)
    const token = await provider.accessTokenFor('ann', AUDIENCE)
    const unable = await whoami({ 'x-svc-clientkey': service.key, authorization: `Bearer ${token}` })
    expect([unable.status, unable.body]).toEqual([401, { message: 'insufficient API access level for appAgent' }])
  })

  it('returns 503 with Retry-After while the issuer cannot be reached', async () => {
    const gone = await startProvider()
    const audience = 'https://gone.example'
    await introspect({ name: 'gone', jwt_matcher: { issuer: gone.issuer, audience } })
    const token = await gone.accessTokenFor('ann', audience)
    await gone.stop()
    const answered = await whoami({ authorization: `Bearer ${token}` })
    expect([answered.status, answered.body, answered.headers.get('retry-after')]).toEqual([
      503,
      { message: 'Unable to verify the end-user token, retry the request' },
      '10',
    ])
  })
})

describe('a decision', () => {
  beforeAll(async () => {
    const nodes = ['ann', 'bea'].map((external_id) => ({ type: 'Person', external_id, is_identity: true }))
    await service.ask('/capture/v1/nodes', { nodes: [...nodes, { type: 'Page', external_id: 'home' }] })
    const cypher = 'MATCH (subject:Person), (resource:Page)'
    await service.addPolicy({ name: 'read', actions: ['read'], resource: 'Page', cypher })
    await service.addPolicy({ name: 'see', actions: ['see'], resource: 'Page', cypher, version: '2.0-kbac' })
  })

  it('is for the subject of the token, and no other', async () => {
    const token = await provider.accessTokenFor('ann', AUDIENCE)
    expect((await evaluate(token, 'ann', 'home')).body).toEqual({ decision: true })
    const other = await evaluate(token, 'bea', 'home')
    expect([other.status, other.body]).toEqual([
      403,
      { message: 'bearer token subject differs from requested subject' },
    ])
    expect((await evaluate(token, 'ann', 'home', 'see')).body).toEqual({ decision: true })
    expect((await evaluate(token, 'bea', 'home', 'see')).body).toEqual({ decision: false })
  })

  it('is refused with an invalid token', async () => {
    const [header, claims, signature = ''] = (await provider.accessTokenFor('ann', AUDIENCE)).split('.')
    const forged = `${header}.${claims}.${[...signature].reverse().join('')}`
    expect((await evaluate(forged, 'ann', 'home')).status).toBe(401)
  })
})

describe('perform_upsert', () => {
  const audience = 'https://upsert.example'
  let id: string
  beforeAll(async () => {
    id = await introspect({ name: 'upsert', jwt_matcher: { issuer: provider.issuer, audience }, perform_upsert: true })
    await service.ask('/capture/v1/nodes', { nodes: [{ type: 'Person', external_id: 'observer' }] })
  })

  const personsWith = async (cypher: string): Promise<unknown> => {
    const name = `look-${crypto.randomUUID().slice(0, 8)}`
    const policy = await service.addPolicy({ name, actions: [name], cypher, subject: 'Person', resource: 'Person' })
    const body = { subject: { type: 'Person' }, action: { name }, resource: { type: 'Person', id: 'observer' } }
    const { results } = (await service.ask('/access/v1/search/subject', body)).body as { results: { id: string }[] }
    await service.configure('DELETE', `authorization-policies/${policy}`)
    return results.map((result) => result.id)
  }

  it('creates the node of a subject at its first use, an identity with its mapped claims', async () => {
    const token = await provider.accessTokenFor('cleo', audience)
    expect(await personsWith("MATCH (subject:Person {external_id: 'cleo'}), (resource:Person)")).toEqual([])
    expect((await whoami({ authorization: `Bearer ${token}` })).body).toEqual({ type: 'Person', id: 'cleo' })
    expect(
      await personsWith(
        "MATCH (subject:Person {mail: 'cleo@example.com'}), (resource:Person) WHERE subject.is_identity",
      ),
    ).toEqual(['cleo'])
  })

  it('updates different claims and keeps unknown properties', async () => {
    const properties = [
      { type: 'mail', value: 'old@example.com' },
      { type: 'team', value: 'red' },
    ]
    await service.ask('/capture/v1/nodes', { nodes: [{ type: 'Person', external_id: 'dan', properties }] })
    await whoami({ authorization: `Bearer ${await provider.accessTokenFor('dan', audience)}` })
    expect(
      await personsWith(
        "MATCH (subject:Person {mail: 'dan@example.com', team: 'red'}), (resource:Person) WHERE subject.is_identity",
      ),
    ).toEqual(['dan'])
  })

  it('writes nothing if nothing has changed', async () => {
    const updatedAt = (): unknown => readingGraphs(storedTime)
    const storedTime = (): unknown => {
      const graph = service.app.decisions.graphsOf(service.projectId)?.default
      const snapshot = graph?.snapshot()
      if (snapshot === undefined) throw new Error('no graph')
      const node = snapshot.findNode(snapshot.symbol('label', 'Person'), 'eva')
      const time = snapshot.nodeField(node, 'update_time')
      snapshot.close()
      return time
    }
    await whoami({ authorization: `Bearer ${await provider.accessTokenFor('eva', audience)}` })
    const first = await updatedAt()
    await whoami({ authorization: `Bearer ${await provider.accessTokenFor('eva', audience)}` })
    expect(first).toBeTypeOf('string')
    expect(await updatedAt()).toBe(first)
  })

  it('creates one node for many concurrent first requests, and none for a refused one', async () => {
    const token = await provider.accessTokenFor('finn', audience)
    const delegation = await provider.accessTokenFor('somebody', audience)
    const refused = await whoami({ authorization: `Bearer ${token}`, 'x-svc-token': delegation })
    expect(refused.status).toBe(401)
    expect(await personsWith("MATCH (subject:Person {external_id: 'finn'}), (resource:Person)")).toEqual([])
    const answers = await Promise.all(Array.from({ length: 10 }, () => whoami({ authorization: `Bearer ${token}` })))
    expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
    expect(await personsWith("MATCH (subject:Person {external_id: 'finn'}), (resource:Person)")).toEqual(['finn'])
  })

  it('ends with the configuration', async () => {
    const token = await provider.accessTokenFor('gus', audience)
    expect((await service.configure('DELETE', `token-introspects/${id}`)).status).toBe(200)
    expect((await whoami({ authorization: `Bearer ${token}` })).status).toBe(401)
    expect((await service.configure('GET', `token-introspects/${people}`)).status).toBe(200)
  })
})
