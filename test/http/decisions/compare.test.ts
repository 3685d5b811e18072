// Comparisons of policies over HTTP: who gains, who loses, by which path, and what was left out.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createClient } from '../../../src/client/index.ts'
import { inOrderOfCapture } from '../../support/graph-servers.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let key: string

beforeAll(async () => {
  service = await startService({ parameterMask: 'secret' }, { sync: false })
  const node = (type: string, external_id: string) => ({ type, external_id })
  const people = ['ann', 'bob', 'cyd'].map((id) => node('Person', id))
  const cars = ['c1', 'c2', 'c3'].map((id) => ({
    ...node('Car', id),
    properties: [{ type: 'wheels', value: id === 'c3' ? 3 : 4 }],
  }))
  const nodes = [...people, ...cars, node('Team', 'red')]
  const link = (source: [string, string], type: string, target: [string, string]) => ({
    source: node(...source),
    type,
    target: node(...target),
  })
  const relationships = [
    link(['Person', 'ann'], 'OWNS', ['Car', 'c1']),
    link(['Person', 'bob'], 'OWNS', ['Car', 'c2']),
    link(['Person', 'bob'], 'MEMBER', ['Team', 'red']),
    link(['Person', 'cyd'], 'MEMBER', ['Team', 'red']),
    link(['Team', 'red'], 'USES', ['Car', 'c2']),
    link(['Team', 'red'], 'USES', ['Car', 'c3']),
  ]
  expect((await service.ask('/capture/v1/nodes', { nodes })).status).toBe(200)
  expect((await service.ask('/capture/v1/relationships', { relationships })).status).toBe(200)
  await service.addPolicy({ name: 'own', actions: ['drive', 'sell'], cypher: 'MATCH (subject)-[:OWNS]->(resource)' })
  await service.addPolicy({ name: 'all-cars', actions: ['see'], cypher: 'MATCH (subject:Person), (resource:Car)' })
  key = (await service.addAgent('planner', ['Authorization', 'ReadAuthZConfigs'])).key
})

afterAll(() => service?.stop())

const document = (cypher: string, actions: readonly string[] = ['drive'], more: object = {}) => ({
  meta: { policy_version: '3.0-kbac' },
  subject: { type: 'Person' },
  actions,
  resource: { type: 'Car' },
  condition: { cypher, ...more },
})
const team = 'MATCH (subject)-[:MEMBER]->(:Team)-[:USES]->(resource)'

/** Compares as a service account, which may propose policies. */
async function compare(body: object, status = 200) {
  const headers = { authorization: `Bearer ${service.token}`, 'x-project-id': service.projectId }
  const answer = await service.send('/access/v1/compare', { method: 'POST', headers, body })
  expect(answer.status, answer.text).toBe(status)
  return answer.body
}

describe('a comparison', () => {
  it('reports the pairs that a new policy adds, with the path, and not those that another policy grants', async () => {
    const answer = await compare({ policies: [{ name: 'team', policy: document(team) }], sample: 10 })
    // Bob may drive c2 already, because he owns it.
    expect(answer).toMatchObject({ complete: true, gained: 3, lost: 0, losses: [], left_out: [] })
    const [gain] = answer.gains as [{ sample: { subject: object; resource: object; matched: object }[] }]
    expect(gain).toMatchObject({ policy: { id: null, name: 'team' }, actions: ['drive'], pairs: 3, at_least: false })
    expect(gain.sample).toContainEqual({
      subject: { type: 'Person', id: 'bob' },
      resource: { type: 'Car', id: 'c3' },
      matched: {
        nodes: expect.arrayContaining([{ type: 'Team', id: 'red', variable: null }]),
        relationships: [
          expect.objectContaining({ type: 'MEMBER', target: { type: 'Team', id: 'red' } }),
          expect.objectContaining({ type: 'USES', source: { type: 'Team', id: 'red' } }),
        ],
      },
    })
  })

  it('reports the pairs of a removed policy, once for policies with the same actions', async () => {
    const answer = await compare({ removed_policies: ['own'] })
    expect(answer).toMatchObject({ gained: 0, lost: 4 })
    expect(answer.losses).toMatchObject([{ policy: { name: 'own' }, actions: ['drive', 'sell'], pairs: 2 }])
    expect(String((answer.losses as { policy: { id: string } }[])[0]?.policy.id)).toMatch(/^gid:/)
  })

  it('compares a replaced policy as a loss and a gain, and nothing for the same text', async () => {
    const policy = document('MATCH (subject)-[:OWNS]->(resource)', ['drive', 'sell'])
    expect(await compare({ policies: [{ name: 'own', policy }] })).toMatchObject({
      gained: 0,
      lost: 0,
      steps: 0,
    })
    const narrower = document('MATCH (subject)-[:OWNS]->(resource) WHERE subject.external_id = "ann"', ['drive'])
    const answer = await compare({ policies: [{ name: 'own', policy: narrower }] })
    expect(answer).toMatchObject({ gained: 0, lost: 3 })
    expect(answer.losses).toMatchObject([
      { actions: ['drive'], pairs: 1, sample: [{ subject: { id: 'bob' } }] },
      { actions: ['sell'], pairs: 2 },
    ])
  })

  it('is restricted to a subject, an action and a resource', async () => {
    const proposal = { replace_all: true }
    expect(await compare(proposal)).toMatchObject({ lost: 13 })
    expect(await compare({ ...proposal, action: { name: 'see' } })).toMatchObject({ lost: 9 })
    expect(await compare({ ...proposal, subject: { type: 'Person', id: 'ann' } })).toMatchObject({ lost: 5 })
    expect(await compare({ ...proposal, resource: { type: 'Car', id: 'c2' } })).toMatchObject({ lost: 5 })
    expect(await compare({ ...proposal, resource: { type: 'Boat' } })).toMatchObject({ lost: 0 })
  })

  it('leaves out a policy without its parameters, and names them', async () => {
    const cypher = 'MATCH (subject:Person), (resource:Car) WHERE resource.wheels >= $min AND $token.level > $secret'
    const policies = [{ name: 'wheels', policy: document(cypher) }]
    const answer = await compare({ policies })
    expect(answer).toMatchObject({ complete: false, gained: 0 })
    expect(answer.left_out).toMatchObject([
      { policy: { name: 'wheels' }, in: 'new', reason: 'parameters', missing: ['min', 'token', 'secret'] },
    ])
    const given = {
      policies,
      context: { input_params: { min: 4, secret: 1 } },
      token: { claims: { level: 2 } },
    }
    expect(await compare(given)).toMatchObject({
      complete: true,
      // 3 people and 2 cars, without the two that are owned.
      gained: 4,
      parameters: { min: 4, secret: '***' },
    })
    expect(await compare({ ...given, token: { claims: { level: 1 } } })).toMatchObject({ complete: true, gained: 0 })
  })

  it('names a policy whose tags differ, unless decisions with tags are compared', async () => {
    const policy = document('MATCH (subject)-[:OWNS]->(resource)', ['drive', 'sell'])
    const policies = [{ name: 'own', policy, tags: ['beta'] }]
    expect(await compare({ policies })).toMatchObject({
      complete: false,
      gained: 0,
      left_out: [{ policy: { name: 'own' }, in: 'both', actions: ['drive', 'sell'], reason: 'tags' }],
    })
    expect(await compare({ policies, action: { name: 'see' } })).toMatchObject({ complete: true, left_out: [] })
    const tagged = { policies, context: { policy_tags: ['beta'] } }
    expect(await compare(tagged)).toMatchObject({ complete: true, gained: 4, lost: 0 })
  })

  it('gives each subject a token of its own', async () => {
    const cypher =
      'MATCH (subject:Person), (resource:Car) WHERE subject.external_id = $token.sub AND $token.sub <> "cyd"'
    const answer = await compare({ policies: [{ name: 'self', policy: document(cypher) }], token: {} })
    expect(answer).toMatchObject({ complete: true, gained: 4 })
  })

  it('has a time limit without a budget, which leaves time for others that wait, and a higher one that no budget exceeds', async () => {
    const own = await startService({ batchTimeMs: 1000 }, { sync: false })
    try {
      const nodes = Array.from({ length: 100 }, (_, i) => [
        { type: 'Person', external_id: `p${i}` },
        { type: 'Car', external_id: `c${i}` },
      ]).flat()
      expect((await own.ask('/capture/v1/nodes', { nodes })).status).toBe(200)
      const cypher =
        'MATCH (subject:Person), (resource:Car) WHERE reduce(s = 0, x IN range(1, 20000) | s + size(subject.external_id + resource.external_id)) < 0'
      const headers = { authorization: `Bearer ${own.token}`, 'x-project-id': own.projectId }
      const body = { policies: [{ name: 'all', policy: document(cypher) }] }
      const asked = (more: object = {}) => own.send('/access/v1/compare', { headers, body: { ...body, ...more } })
      const limits = [
        ...(await Promise.all([asked(), asked(), asked(), asked()])),
        await asked({ budget: { time_ms: 100_000 } }),
      ].map(({ status, text, body: answer }) => {
        expect(status, text).toBe(200)
        return (answer.left_out as unknown as { message: string }[]).map(({ message }) => message)
      })
      const reached = (ms: number) => [expect.stringContaining(`the time limit of ${ms} ms was reached`)]
      expect(limits).toEqual([reached(200), reached(200), reached(200), reached(200), reached(750)])
    } finally {
      await own.stop()
    }
  })

  it('lists what it left out at the end of its budget, and reports no wrong pair', async () => {
    const answer = await compare({ replace_all: true, budget: { steps: 10 }, sample: 100 })
    expect(answer).toMatchObject({ complete: false, gained: 0 })
    const left = answer.left_out as { reason: string; message: string; pairs: number; of: number }[]
    expect(left.length).toBeGreaterThan(0)
    for (const one of left)
      expect(one).toMatchObject({ reason: 'budget', message: expect.stringContaining('10 steps') })
    expect(Number(answer.lost)).toBeLessThan(13)
  })

  it('compares stored drafts as if they were active, and names those that do not compile', async () => {
    const draft = (name: string, text: string) =>
      service.configure('POST', 'authorization-policies', {
        project_id: service.projectId,
        name,
        status: 'DRAFT',
        policy: text,
      })
    expect((await draft('team-draft', JSON.stringify(document(team)))).status).toBe(201)
    expect((await draft('half', JSON.stringify(document('MATCH (subject')))).status).toBe(201)
    expect(await compare({})).toMatchObject({ gained: 0, lost: 0, complete: true })
    const answer = await compare({ draft: true })
    expect(answer).toMatchObject({ gained: 3, lost: 0, complete: false })
    expect(answer.left_out).toMatchObject([{ policy: { name: 'half' }, reason: 'draft' }])
  })
})

describe('a comparison is refused', () => {
  it('for a policy that does not compile, with its place', async () => {
    const { errors } = await compare({ policies: [{ name: 'x', policy: document('MATCH (subject') }] }, 422)
    expect(String(errors)).toMatch(/^policies\[0\]\.policy\.condition\.cypher: line 1, column 15/)
  })

  it('for a name that is not stored, or given twice, or an unknown member', async () => {
    const twice = { name: 'x', policy: document(team) }
    expect((await compare({ removed_policies: ['owm'] }, 422)).errors).toEqual([
      'removed_policies[0]: no ACTIVE decision policy is named `owm`',
    ])
    expect((await compare({ policies: [twice, twice] }, 422)).errors).toEqual(['policies[1].name: `x` is given twice'])
    expect(String((await compare({ policy: twice }, 400)).errors)).toContain('policy')
    expect(String((await compare({ context: { input_params: { token: 1 } } }, 422)).errors)).toContain('reserved')
  })

  it('without the permission to read the configuration; an account of an editor has it', async () => {
    const answer = await service.ask('/access/v1/compare', {})
    expect(answer.status).toBe(401)
    expect(await compare({ removed_policies: ['own'] })).toMatchObject({ lost: 4 })
  })

  it('for policies that an agent proposes, whose counts would show any property; not for stored ones', async () => {
    const byAgent = (body: object) =>
      service.send('/access/v1/compare', { method: 'POST', headers: { 'x-svc-clientkey': key }, body })
    const probe = document('MATCH (subject:Person), (resource:Car) WHERE resource.wheels > 3')
    const refused = await byAgent({ policies: [{ name: 'probe', policy: probe }] })
    expect([refused.status, refused.text]).toEqual([403, expect.stringContaining('only a service account')])
    const model = 'DEFINE (p:Person)-[:OWNS]->(c:Car) AS { MATCH (p), (c) WHERE c.price > 5 }'
    const refusedModel = await byAgent({ model })
    expect([refusedModel.status, refusedModel.text]).toEqual([403, expect.stringContaining('policies, model: only')])
    expect((await byAgent({ policies: [], removed_policies: ['own'] })).body).toMatchObject({ lost: 4 })
    expect((await byAgent({ draft: true })).body).toMatchObject({ gained: 3 })
  })
})

it('the client compares', async () => {
  const client = createClient({ url: service.url, key })
  const { lost, losses } = await client.compare({ removed_policies: ['own'], action: { name: 'sell' } })
  expect(lost).toBe(2)
  expect(inOrderOfCapture(losses[0]?.sample.map(({ subject }) => subject.id) ?? [])).toEqual(['ann', 'bob'])
})
