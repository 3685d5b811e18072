// The effect of a user token on decisions, with real tokens of a real issuer over HTTP
// (docs/decisions/0009-user-tokens.md).
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { inOrderOfCapture } from '../../support/graph-servers.ts'
import { startService, type TestService } from '../../support/service.ts'
import { startIssuer, type TestIssuer } from '../../support/token-issuer.ts'

let service: TestService
let issuer: TestIssuer

beforeAll(async () => {
  issuer = await startIssuer()
  service = await startService({ upstreamAllow: '127.0.0.1' }, { sync: false, log: () => {} })
  const introspect = await service.configure('POST', 'token-introspects', {
    project_id: service.projectId,
    name: 'people',
    jwt_matcher: { issuer: issuer.url, audience: 'cars' },
    offline_validation: {},
    ikg_node_type: 'Person',
    claims_mapping: { mail: { selector: 'email' } },
    perform_upsert: false,
  })
  expect([introspect.status, introspect.body.errors]).toEqual([201, undefined])
  const nodes = [
    ...['ann', 'bob'].map((external_id) => ({
      type: 'Person',
      external_id,
      properties: [{ type: 'email', value: `${external_id}@example.org` }],
    })),
    { type: 'Car', external_id: 'c1' },
    { type: 'Car', external_id: 'c2' },
  ]
  expect((await service.ask('/capture/v1/nodes', { nodes })).status).toBe(200)
  const owns = (who: string, what: string) => ({
    source: { type: 'Person', external_id: who },
    type: 'OWNS',
    target: { type: 'Car', external_id: what },
  })
  const relationships = [owns('ann', 'c1'), owns('bob', 'c2'), owns('bob', 'c1')]
  await service.ask('/capture/v1/relationships', { relationships })
  const owner = 'MATCH (subject:Person)-[:OWNS]->(resource:Car)'
  const old = { version: '2.0-kbac' } as const
  const policies: Parameters<TestService['addPolicy']>[0][] = [
    { name: 'old', actions: ['old', 'mixed'], cypher: owner, ...old },
    { name: 'new', actions: ['new', 'mixed'], cypher: owner },
    { name: 'mail', actions: ['mail'], cypher: `${owner} WHERE subject.property.email = $token.mail` },
    { name: 'pinned', actions: ['pinned'], cypher: 'MATCH (subject:Person {email: $token.email})-[:OWNS]->(resource)' },
    { name: 'negated', actions: ['negated'], cypher: `${owner} WHERE NOT $token.banned = true` },
    { name: 'agent', actions: ['agent'], cypher: `${owner} WHERE $svc_token.act.sub = 'assistant'` },
    { name: 'self', actions: ['self'], cypher: `${owner} WHERE subject.external_id = $subject_id`, ...old },
    {
      name: 'scoped',
      actions: ['scoped'],
      cypher: owner,
      filter: {
        operator: 'AND',
        operands: [
          { operator: 'CONTAINS', attribute: '$token.scope', value: 'drive', advice: { error: 'insufficient_scope' } },
          {
            operator: 'NOT',
            operands: [{ operator: '=', attribute: '$token.level', value: 'guest', advice: { error: 'step_up' } }],
          },
        ],
      },
    },
  ]
  for (const policy of policies) await service.addPolicy(policy)
})

afterAll(async () => {
  await service?.stop()
  await issuer?.stop()
})

const nowS = () => Math.floor(Date.now() / 1000)
const token = (sub: string, claims: Record<string, unknown> = {}) =>
  issuer.sign({ iss: issuer.url, aud: 'cars', sub, iat: nowS(), exp: nowS() + 300, ...claims })

async function ask(path: string, body: unknown, bearer: string | null, delegation?: string) {
  const headers = {
    'x-svc-clientkey': service.key,
    ...(bearer === null ? {} : { authorization: `Bearer ${bearer}` }),
    ...(delegation === undefined ? {} : { 'x-svc-token': delegation }),
  }
  return service.send(`/access/v1/${path}`, { headers, body })
}

async function decide(who: string, action: string, what: string, bearer: string | null = null, delegation?: string) {
  const body = { subject: { type: 'Person', id: who }, action: { name: action }, resource: { type: 'Car', id: what } }
  const { status, body: answer } = await ask('evaluation', body, bearer, delegation)
  return status === 200 ? answer.decision : [status, answer.message, ...((answer.errors as string[] | undefined) ?? [])]
}

async function resources(who: string, action: string, bearer: string | null) {
  const body = { subject: { type: 'Person', id: who }, action: { name: action }, resource: { type: 'Car' } }
  const { status, body: answer } = await ask('search/resource', body, bearer)
  if (status !== 200) return [status, answer.message]
  return inOrderOfCapture((answer.results as { id: string }[]).map(({ id }) => id))
}

const differs = [403, 'bearer token subject differs from requested subject']

it('compares long numbers of a claim and of a filter exactly', async () => {
  // The runtime's own parser reads both as the same number.
  const [mine, neighbour] = ['1234567890123456800', '1234567890123456768']
  const post = (path: string, raw: string) => service.send(path, { headers: { 'x-svc-clientkey': service.key }, raw })
  const car = (id: string, owner: string) =>
    `{"type":"Car","external_id":"${id}","properties":[{"type":"owner","value":${owner}}]}`
  await post('/capture/v1/nodes', `{"nodes":[${car('mine', mine)},${car('neighbour', neighbour)}]}`)
  const cypher = 'MATCH (subject:Person), (resource:Car) WHERE resource.owner = $token.uid'
  await service.addPolicy({ name: 'numbered', actions: ['numbered'], cypher })
  const ann = await token('ann', { uid: Number(mine) })
  expect(await decide('ann', 'numbered', 'mine', ann)).toBe(true)
  expect(await decide('ann', 'numbered', 'neighbour', ann)).toBe(false)

  const filter = `{"operator":"=","attribute":"$n","value":${mine}}`
  const stored = await service.configure('POST', 'authorization-policies', {
    project_id: service.projectId,
    name: 'literal',
    status: 'ACTIVE',
    policy: `{"meta":{"policy_version":"3.0-kbac"},"subject":{"type":"Person"},"actions":["literal"],"resource":{"type":"Car"},
      "condition":{"cypher":"MATCH (subject:Person)-[:OWNS]->(resource:Car)","filter":${filter}}}`,
  })
  expect([stored.status, stored.body.errors]).toEqual([201, undefined])
  const question =
    '"subject":{"type":"Person","id":"ann"},"action":{"name":"literal"},"resource":{"type":"Car","id":"c1"}'
  const decisions = []
  for (const n of [mine, neighbour]) {
    const answer = await post('/access/v1/evaluation', `{${question},"context":{"input_params":{"n":${n}}}}`)
    decisions.push(answer.body.decision)
  }
  expect(decisions).toEqual([true, false])
})

describe('the subject of a token', () => {
  it('is the only one to whom a 2.0 policy grants anything', async () => {
    const ann = await token('ann')
    expect(await decide('ann', 'old', 'c1', ann)).toBe(true)
    expect(await decide('bob', 'old', 'c1', ann)).toBe(false)
    expect(await decide('bob', 'old', 'c1')).toBe(true)
  })

  it('is the only accepted subject if a 3.0 policy applies', async () => {
    const ann = await token('ann')
    expect(await decide('ann', 'new', 'c1', ann)).toBe(true)
    expect(await decide('ann', 'new', 'c2', ann)).toBe(false)
    expect(await decide('bob', 'new', 'c1', ann)).toEqual(differs)
    expect(await decide('bob', 'mixed', 'c1', ann)).toEqual(differs)
    expect(await decide('bob', 'unknown', 'c1', ann)).toBe(false)
  })

  it('has the type of its configuration: an equal id of another type is another subject', async () => {
    const dog = { type: 'Dog', external_id: 'ann' }
    await service.ask('/capture/v1/nodes', { nodes: [dog] })
    const bed = { source: dog, type: 'OWNS', target: { type: 'Car', external_id: 'c1' } }
    await service.ask('/capture/v1/relationships', { relationships: [bed] })
    const cypher = 'MATCH (subject:Dog)-[:OWNS]->(resource:Car)'
    await service.addPolicy({ name: 'old-dog', actions: ['sniff'], cypher, subject: 'Dog', version: '2.0-kbac' })
    await service.addPolicy({ name: 'new-dog', actions: ['bark'], cypher, subject: 'Dog' })
    const ann = await token('ann')
    const question = (name: string) => ({
      subject: { type: 'Dog', id: 'ann' },
      action: { name },
      resource: { type: 'Car', id: 'c1' },
    })
    const asked = async (path: string, body: unknown, bearer: string | null) => {
      const { status, body: answer } = await ask(path, body, bearer)
      return status === 200 ? answer : [status, answer.message]
    }
    expect(await asked('evaluation', question('sniff'), null)).toEqual({ decision: true })
    expect(await asked('evaluation', question('sniff'), ann)).toEqual({ decision: false })
    expect(await asked('search/resource', question('sniff'), ann)).toEqual({ results: [] })
    expect(await asked('evaluation', question('bark'), null)).toEqual({ decision: true })
    expect(await asked('evaluation', question('bark'), ann)).toEqual(differs)
    expect(await asked('search/resource', question('bark'), ann)).toEqual(differs)
    expect(await asked('search/action', question('bark'), ann)).toEqual(differs)
    expect(await asked('evaluations', { evaluations: [question('sniff'), question('bark')] }, ann)).toEqual({
      evaluations: [{ decision: false }, { decision: false, context: { reason: `permission_denied: ${differs[1]}` } }],
    })
  })

  it('narrows searches for resources and actions, but not for subjects', async () => {
    const ann = await token('ann')
    expect(await resources('ann', 'old', ann)).toEqual(['c1'])
    expect(await resources('bob', 'old', ann)).toEqual([])
    expect(await resources('bob', 'old', null)).toEqual(['c1', 'c2'])
    expect(await resources('bob', 'new', ann)).toEqual(differs)
    const subjects = { subject: { type: 'Person' }, action: { name: 'new' }, resource: { type: 'Car', id: 'c1' } }
    const found = await ask('search/subject', subjects, ann)
    expect(found.body).toEqual((await ask('search/subject', subjects, null)).body)
    expect(found.body.results).toHaveLength(2)
    const actions = { subject: { type: 'Person', id: 'ann' }, resource: { type: 'Car', id: 'c1' } }
    const named = (await ask('search/action', actions, ann)).body.results as { name: string }[]
    expect(named.map(({ name }) => name)).toEqual(expect.arrayContaining(['old', 'new', 'mixed', 'self']))
    const other = await ask('search/action', { ...actions, subject: { type: 'Person', id: 'bob' } }, ann)
    expect([other.status, other.body.message]).toEqual(differs)
  })

  it('narrows what-authorized as a resource search, and has no effect on who-authorized', async () => {
    const ann = await token('ann')
    const what = async (who: string, action: string, bearer: string | null) => {
      const evaluations = [{ action: { name: action }, resource: { type: 'Car' } }]
      const { status, body } = await ask(
        'what-authorized',
        { subject: { type: 'Person', id: who }, evaluations },
        bearer,
      )
      if (status !== 200) return [status, body.message]
      return inOrderOfCapture((body.evaluations as { resource: { id: string } }[]).map(({ resource }) => resource.id))
    }
    expect(await what('ann', 'old', ann)).toEqual(['c1'])
    expect(await what('bob', 'old', ann)).toEqual([])
    expect(await what('bob', 'old', null)).toEqual(['c1', 'c2'])
    expect(await what('bob', 'new', ann)).toEqual(differs)
    const whoBody = { evaluations: [{ action: { name: 'new' }, resource: { type: 'Car', id: 'c1' } }] }
    const [found] = (await ask('who-authorized', whoBody, ann)).body.evaluations as { subjects: unknown[] }[]
    expect(found?.subjects).toHaveLength(2)
  })

  it('applies in a batch to each item separately', async () => {
    const items = ['ann', 'bob'].map((id) => ({ subject: { type: 'Person', id } }))
    const body = { action: { name: 'new' }, resource: { type: 'Car', id: 'c1' }, evaluations: items }
    expect((await ask('evaluations', body, await token('ann'))).body.evaluations).toEqual([
      { decision: true },
      { decision: false, context: { reason: `permission_denied: ${differs[1]}` } },
    ])
  })

  it('is `$subject_id` of a 2.0 policy, whatever the caller sends', async () => {
    expect(await decide('ann', 'self', 'c1', await token('ann'))).toBe(true)
    expect(await decide('ann', 'self', 'c1')).toEqual([
      422,
      'Unprocessable Entity',
      "missing or wrong input params, 'subject_id'",
    ])
    const body = (subject_id: string) => ({
      subject: { type: 'Person', id: 'ann' },
      action: { name: 'self' },
      resource: { type: 'Car', id: 'c1' },
      context: { input_params: { subject_id } },
    })
    expect((await ask('evaluation', body('ann'), null)).body).toEqual({ decision: true })
    expect((await ask('evaluation', body('bob'), null)).body).toEqual({ decision: false })
    expect((await ask('evaluation', body('bob'), await token('ann'))).body).toEqual({ decision: true })
  })
})

describe('the claims of a token', () => {
  it('are available to conditions, under their own names and the mapped ones', async () => {
    const ann = await token('ann', { email: 'ann@example.org' })
    expect(await decide('ann', 'mail', 'c1', ann)).toBe(true)
    expect(await decide('ann', 'pinned', 'c1', ann)).toBe(true)
    const wrong = await token('ann', { email: 'bob@example.org' })
    expect(await decide('ann', 'mail', 'c1', wrong)).toBe(false)
    expect(await decide('ann', 'pinned', 'c1', wrong)).toBe(false)
  })

  it('that are absent grant nothing, not even under NOT', async () => {
    expect(await decide('ann', 'mail', 'c1', await token('ann'))).toBe(false)
    expect(await decide('ann', 'mail', 'c1')).toBe(false)
    expect(await decide('ann', 'pinned', 'c1')).toBe(false)
    expect(await decide('ann', 'negated', 'c1', await token('ann'))).toBe(false)
    expect(await decide('ann', 'negated', 'c1')).toBe(false)
    expect(await decide('ann', 'negated', 'c1', await token('ann', { banned: false }))).toBe(true)
    expect(await decide('ann', 'negated', 'c1', await token('ann', { banned: true }))).toBe(false)
  })

  it('of a delegation token are available next to them', async () => {
    const ann = await token('ann')
    expect(await decide('ann', 'agent', 'c1', ann, await token('ann', { act: { sub: 'assistant' } }))).toBe(true)
    expect(await decide('ann', 'agent', 'c1', ann, await token('ann', { act: { sub: 'other' } }))).toBe(false)
    expect(await decide('ann', 'agent', 'c1', ann)).toBe(false)
  })

  it('are tested by filters, whose advice is returned', async () => {
    const asked = {
      subject: { type: 'Person', id: 'ann' },
      action: { name: 'scoped' },
      resource: { type: 'Car', id: 'c1' },
    }
    const answer = async (claims: Record<string, unknown>) =>
      (await ask('evaluation', asked, await token('ann', claims))).body
    const reason = 'the filter of a matching policy does not admit the token or the parameters'
    expect(await answer({ scope: 'drive park', level: 'member' })).toEqual({ decision: true })
    expect(await answer({ scope: ['drive'], level: 'member' })).toEqual({ decision: true })
    expect(await answer({ scope: 'park', level: 'member' })).toEqual({
      decision: false,
      context: { reason, advice: [{ error: 'insufficient_scope' }] },
    })
    // NOT of an absent claim is unknown, so it does not grant.
    expect(await answer({ scope: 'drive' })).toEqual({
      decision: false,
      context: { reason, advice: [{ error: 'step_up' }] },
    })
    const none = (await ask('evaluation', asked, null)).body
    expect(none).toEqual({
      decision: false,
      context: { reason, advice: [{ error: 'insufficient_scope' }, { error: 'step_up' }] },
    })
  })

  it('are not used from an invalid token', async () => {
    const stranger = await issuer.sign({ iss: 'https://elsewhere', aud: 'cars', sub: 'ann', exp: nowS() + 300 })
    expect(((await decide('ann', 'old', 'c1', stranger)) as unknown[])[0]).toBe(401)
    const expired = await token('ann', { exp: nowS() - 3600 })
    expect(((await decide('ann', 'old', 'c1', expired)) as unknown[])[0]).toBe(401)
  })
})

it('a page token of one user is invalid for another', async () => {
  const body = { subject: { type: 'Person', id: 'bob' }, action: { name: 'old' }, resource: { type: 'Car' } }
  const first = await ask('search/resource', { ...body, page: { limit: 1 } }, await token('bob'))
  const { next_token } = first.body.page as { next_token: string }
  expect(next_token).not.toBe('')
  const page = { token: next_token }
  expect((await ask('search/resource', { ...body, page }, await token('bob'))).body.results).toHaveLength(1)
  expect((await ask('search/resource', { ...body, page }, null)).status).toBe(400)
})
