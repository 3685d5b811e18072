// The model of a project over HTTP: definitions that policies use, what a change breaks, and what is refused.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

const READS = `DEFINE (u:User)-[:in]->(g:Group) AS { MATCH (u)-[:MEMBER]->+(g) }

DEFINE (u:User)-[:can_read]->(d:Doc|Folder) AS {
  MATCH (u)-[:OWNER]->(d)
  UNION MATCH (u)-[:in]->(:Group)-[:VIEWER]->(d)
  UNION MATCH (d)-[:PARENT]->(f:Folder) WHERE (u)-[:can_read]->(f)
}`
const CYPHER = 'MATCH (subject:User)-[:can_read]->(resource:Doc)'

let service: TestService
beforeEach(async () => {
  service = await startService({}, { sync: false })
  await captured('nodes', {
    nodes: [
      ...['ann', 'bob'].map((id) => ({ type: 'User', external_id: id, is_identity: true })),
      { type: 'Group', external_id: 'staff' },
      { type: 'Folder', external_id: 'top' },
      { type: 'Doc', external_id: 'plan' },
    ],
  })
  await captured('relationships', {
    relationships: [
      related('User', 'ann', 'MEMBER', 'Group', 'staff'),
      related('Group', 'staff', 'VIEWER', 'Folder', 'top'),
      related('Doc', 'plan', 'PARENT', 'Folder', 'top'),
    ],
  })
})
afterEach(() => service.stop())

function related(from: string, source: string, type: string, to: string, target: string) {
  return { source: { type: from, external_id: source }, target: { type: to, external_id: target }, type }
}

async function captured(what: string, body: object): Promise<void> {
  const answer = await service.ask(`/capture/v1/${what}`, body)
  if (answer.status >= 300) throw new Error(answer.text)
}

function create(model: string): Promise<TestResponse> {
  return service.configure('POST', 'models', { project_id: service.projectId, name: 'model', model })
}

async function stored(model = READS): Promise<string> {
  const created = await create(model)
  if (created.status !== 201) throw new Error(created.text)
  return created.body.id as string
}

async function mayRead(user: string): Promise<unknown> {
  const answer = await service.ask('/access/v1/evaluation', {
    subject: { type: 'User', id: user },
    action: { name: 'read' },
    resource: { type: 'Doc', id: 'plan' },
  })
  return answer.body.decision
}

const readPolicy = () =>
  service.addPolicy({ name: 'read', cypher: CYPHER, subject: 'User', actions: ['read'], resource: 'Doc' })

describe('a policy that uses a definition', () => {
  test('grants by it, whether the model or the policy is stored first', async () => {
    await readPolicy()
    expect([await mayRead('ann'), await mayRead('bob')]).toEqual([false, false])
    await stored()
    expect([await mayRead('ann'), await mayRead('bob')]).toEqual([true, false])
  })

  test('is decided with the new model after a change', async () => {
    const id = await stored()
    await readPolicy()
    expect(await mayRead('ann')).toBe(true)
    const changed = await service.configure('PUT', `models/${id}`, { model: READS.replace('VIEWER', 'EDITOR') })
    expect([changed.status, await mayRead('ann')]).toEqual([200, false])
  })

  test('finds resources and subjects by it', async () => {
    await stored()
    await readPolicy()
    const [resources, subjects] = await Promise.all([
      service.ask('/access/v1/search/resource', {
        subject: { type: 'User', id: 'ann' },
        action: { name: 'read' },
        resource: { type: 'Doc' },
      }),
      service.ask('/access/v1/search/subject', {
        subject: { type: 'User' },
        action: { name: 'read' },
        resource: { type: 'Doc', id: 'plan' },
      }),
    ])
    expect([resources.body.results, subjects.body.results]).toEqual([
      [{ type: 'Doc', id: 'plan' }],
      [{ type: 'User', id: 'ann' }],
    ])
  })
})

describe('a change of the model', () => {
  test('is refused if it removes a definition that a policy uses, and the policy is named', async () => {
    const id = await stored()
    await readPolicy()
    const model = 'DEFINE (u:User)-[:in]->(g:Group) AS { MATCH (u)-[:MEMBER]->+(g) }'
    const changed = await service.configure('PUT', `models/${id}`, { model })
    expect([changed.status, changed.body.errors]).toEqual([
      422,
      [
        'the authorization policy `read` uses the definition `can_read`, which the change removes: change it first, or in the same apply',
      ],
    ])
    const removed = await service.configure('DELETE', `models/${id}`)
    expect([removed.status, removed.text]).toEqual([409, expect.stringContaining('`read` uses the definition')])
    expect(await mayRead('ann')).toBe(true)
  })

  test('is refused if it removes a definition that another one uses', async () => {
    const id = await stored()
    const model = READS.replace(/^DEFINE.*\n/, '')
    const changed = await service.configure('PUT', `models/${id}`, { model })
    expect([changed.status, changed.text]).toEqual([
      422,
      expect.stringContaining('the definition `can_read` uses the definition `in`, which the change removes'),
    ])
  })

  test('is refused if a policy would not compile with it, and the policy is named', async () => {
    const cypher = 'MATCH (subject:User)-[r:can_read]->(resource:Doc) WHERE r.since < 2020'
    await service.addPolicy({ name: 'since', cypher, subject: 'User', actions: ['read'], resource: 'Doc' })
    const refused = await create(READS)
    expect([refused.status, refused.text]).toEqual([
      422,
      expect.stringContaining('the authorization policy `since` would not compile: policy.condition.cypher: line 1'),
    ])
  })

  test('is accepted without its uses, and by deletion of the project', async () => {
    const id = await stored()
    expect((await service.configure('DELETE', `models/${id}`)).status).toBe(200)
    await stored()
    await readPolicy()
    expect((await service.configure('DELETE', `projects/${service.projectId}`)).status).toBe(200)
  })
})

test('a project has one model', async () => {
  await stored()
  const second = await service.configure('POST', 'models', { project_id: service.projectId, name: 'b', model: READS })
  expect([second.status, second.body.message]).toEqual([409, 'the project has a model already, named `model`'])
})

test('a faulty model is refused with the place of each fault', async () => {
  const refused = await create('DEFINE (u:User)-[:a]->(d:Doc) AS {\n  MATCH (u)-[:OWNER]->(d) WHERE NOT (u)-[:a]->(d)\n}')
  expect([refused.status, refused.body.errors]).toEqual([
    422,
    [
      'model: line 2, column 43: a definition cannot exclude or count what depends on itself: `a` → `a`\n  MATCH (u)-[:OWNER]->(d) WHERE NOT (u)-[:a]->(d)\n                                          ^',
    ],
  ])
})
