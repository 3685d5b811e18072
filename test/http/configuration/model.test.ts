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

test('a definition with recursion along two branches decides, searches and explains', async () => {
  await stored(`DEFINE (u:User)-[:approves]->(d:Doc|Folder) AS {
  MATCH (u)-[:OWNER]->(d)
  UNION MATCH (d)-[:PARENT]->(a:Folder), (d)-[:SECOND]->(b:Folder) WHERE (u)-[:approves]->(a) AND (u)-[:approves]->(b)
}`)
  await captured('nodes', { nodes: [{ type: 'Folder', external_id: 'side' }] })
  await captured('relationships', {
    relationships: [
      related('Doc', 'plan', 'SECOND', 'Folder', 'side'),
      ...['top', 'side'].map((folder) => related('User', 'ann', 'OWNER', 'Folder', folder)),
      related('User', 'bob', 'OWNER', 'Folder', 'top'),
    ],
  })
  await service.addPolicy({
    name: 'approve',
    cypher: 'MATCH (subject:User)-[:approves]->(resource:Doc)',
    subject: 'User',
    actions: ['read'],
    resource: 'Doc',
  })
  expect([await mayRead('ann'), await mayRead('bob')]).toEqual([true, false])
  const found = await service.ask('/access/v1/search/subject', {
    subject: { type: 'User' },
    action: { name: 'read' },
    resource: { type: 'Doc', id: 'plan' },
  })
  expect(found.body.results).toEqual([{ type: 'User', id: 'ann' }])
  const explained = await asEditor('/access/v1/explain', {
    subject: { type: 'User', id: 'bob' },
    action: { name: 'read' },
    resource: { type: 'Doc', id: 'plan' },
  })
  expect([explained.status, explained.body.decision], explained.text).toEqual([200, false])
  const rows = await asEditor('/graph/v1/query', { query: 'MATCH (u:User)-[:approves]->(d:Doc) RETURN u.external_id' })
  expect(rows.body.rows, rows.text).toEqual([['ann']])
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

describe('other doors use the definitions', () => {
  beforeEach(async () => {
    await stored()
    await readPolicy()
  })

  const decision = {
    subject: { type: 'User', id: 'ann' },
    action: { name: 'read' },
    resource: { type: 'Doc', id: 'plan' },
  }

  test('a batch, an explanation and a search for actions', async () => {
    const batch = await service.ask('/access/v1/evaluations', {
      ...decision,
      evaluations: [{}, { subject: { type: 'User', id: 'bob' } }],
    })
    const explained = await asEditor('/access/v1/explain', decision)
    const actions = await service.ask('/access/v1/search/action', {
      subject: decision.subject,
      resource: decision.resource,
    })
    expect([batch.body.evaluations, explained.body.decision, actions.body.results]).toEqual([
      [{ decision: true }, { decision: false }],
      true,
      [{ name: 'read' }],
    ])
  })

  test('a graph query, its check and its completion', async () => {
    const query = 'MATCH (u:User)-[:can_read]->(d:Doc) RETURN u.external_id AS user, d.external_id AS doc'
    const [rows, misspelt, completed] = await Promise.all([
      asEditor('/graph/v1/query', { query }),
      asEditor('/graph/v1/check', { query: query.replace('can_read', 'can_reed') }),
      asEditor('/graph/v1/complete', { text: 'MATCH (u)-[:ca', offset: 14 }),
    ])
    expect([rows.status, rows.body.rows, rows.body.warnings]).toEqual([200, [['ann', 'plan']], undefined])
    expect(misspelt.body.findings).toMatchObject([{ rule: 'unknown-relationship-type', suggestion: 'can_read' }])
    expect(completed.body.completions).toEqual([{ text: 'can_read', kind: 'relationship-type' }])
    const checked = await asEditor('/graph/v1/check', { query })
    expect(checked.body).toMatchObject({ findings: [], plans: [{ use: 'rows' }] })
  })

  test('the check of a model that is being written', async () => {
    const { body } = await asEditor('/graph/v1/check', { model: READS.replace('DEFINE', 'DEFIN') })
    expect(body.findings).toMatchObject([{ rule: 'invalid-model', severity: 'error', start: 0 }])
  })

  test('a knowledge query', async () => {
    const agent = await service.addAgent('reader', ['CIQ'])
    const policy = {
      meta: { policy_version: '1.0-ciq' },
      subject: { type: '_Application' },
      condition: { cypher: 'MATCH (subject:_Application), (:User {external_id: $user})-[:can_read]->(doc:Doc)' },
      allowed_reads: { nodes: ['doc.external_id'] },
    }
    const created = await service.configure('POST', 'authorization-policies', {
      project_id: service.projectId,
      name: 'docs',
      policy: JSON.stringify(policy),
      status: 'ACTIVE',
    })
    expect([created.status, created.text]).toEqual([201, expect.any(String)])
    const query = await service.configure('POST', 'knowledge-queries', {
      project_id: service.projectId,
      name: 'docs',
      policy_id: created.body.id,
      query: JSON.stringify({ nodes: ['doc.external_id'] }),
      status: 'ACTIVE',
    })
    expect([query.status, query.text]).toEqual([201, expect.any(String)])
    const found = await service.send('/contx-iq/v1/execute', {
      headers: { 'x-svc-clientkey': agent.key },
      body: { id: 'docs', input_params: { user: 'ann' } },
    })
    expect(found.body.data, found.text).toEqual([{ nodes: { 'doc.external_id': 'plan' } }])
  })

  test('a scenario over the stored policies', async () => {
    const scenario = `graph: |
  (ann:User)-[:OWNER]->(plan:Doc)
  (bob:User)
decisions:
  - [User:ann, read, Doc:plan, yes]
  - [User:bob, read, Doc:plan, no]
`
    const run = await asEditor('/access/v1/test', { scenario })
    expect([run.status, run.body.passed, run.text]).toEqual([200, true, expect.any(String)])
  })
})

describe('one apply', () => {
  /** Renames the definition in the model, in the policy, or in both. */
  function renamed(model: string, cypher: string, deleted: readonly object[] = []): Promise<TestResponse> {
    const policy = JSON.stringify({
      meta: { policy_version: '3.0-kbac' },
      subject: { type: 'User' },
      actions: ['read'],
      resource: { type: 'Doc' },
      condition: { cypher },
    })
    return service.configure('POST', `projects/${service.projectId}/apply`, {
      project: { body: { region: 'local' } },
      documents: [
        { kind: 'authorization-policies', name: 'read', body: { policy, status: 'ACTIVE' } },
        ...(deleted.length > 0 ? [] : [{ kind: 'models', name: 'model', body: { model } }]),
      ],
      delete: deleted,
    })
  }

  beforeEach(async () => {
    await stored()
    await readPolicy()
  })

  test('changes a definition and the policies that use it together', async () => {
    const [model, cypher] = [READS, CYPHER].map((text) => text.replaceAll('can_read', 'reads')) as [string, string]
    const refused = await renamed(model, CYPHER)
    expect([refused.status, refused.text]).toEqual([
      422,
      expect.stringContaining('models model: the authorization policy `read` uses the definition `can_read`'),
    ])
    const applied = await renamed(model, cypher)
    expect([applied.status, await mayRead('ann')], applied.text).toEqual([200, true])
  })

  test('deletes the model with its last use', async () => {
    const deleted = [{ kind: 'models', name: 'model' }]
    const refused = await renamed('', CYPHER, deleted)
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('which the change removes')])
    const applied = await renamed('', 'MATCH (subject:User)-[:OWNER]->(resource:Doc)', deleted)
    expect([applied.status, await mayRead('ann')], applied.text).toEqual([200, false])
  })
})

describe('a comparison with a proposed model', () => {
  const proposed = READS.replace('OWNER', 'VIEWER')

  beforeEach(async () => {
    await stored()
    await readPolicy()
    await captured('relationships', { relationships: [related('User', 'bob', 'OWNER', 'Doc', 'plan')] })
  })

  test('shows which decisions the model would change', async () => {
    const { status, body, text } = await asEditor('/access/v1/compare', { model: proposed })
    expect([status, body.gained, body.lost, body.complete], text).toEqual([200, 0, 1, true])
    expect(body.losses).toMatchObject([{ sample: [{ subject: { id: 'bob' }, resource: { id: 'plan' } }] }])
    const unchanged = await asEditor('/access/v1/compare', { model: `// the same\n${READS}` })
    expect([unchanged.body.gained, unchanged.body.lost]).toEqual([0, 0])
  })

  test('compares the project without its model, and refuses a faulty one', async () => {
    const none = await asEditor('/access/v1/compare', { model: null })
    expect([none.status, none.body.lost], none.text).toEqual([200, 2])
    const refused = await asEditor('/access/v1/compare', { model: 'DEFINE' })
    expect([refused.status, refused.text]).toEqual([422, expect.stringContaining('model: line 1')])
  })
})

describe('the name of a definition', () => {
  test('cannot be the type of a captured relationship', async () => {
    await stored()
    const refused = await service.ask('/capture/v1/relationships', {
      relationships: [
        related('User', 'bob', 'OWNER', 'Doc', 'plan'),
        related('User', 'bob', 'can_read', 'Doc', 'plan'),
      ],
    })
    expect([refused.status, refused.body.errors]).toEqual([
      422,
      ['relationships[1].type: `can_read` is a definition of the model of the project, and cannot be stored'],
    ])
  })

  test('cannot be written by a knowledge query', async () => {
    await stored()
    const policy = {
      meta: { policy_version: '1.0-ciq' },
      subject: { type: 'User' },
      condition: { cypher: 'MATCH (subject:User), (doc:Doc)' },
      allowed_upserts: {
        relationships: {
          relationship_types: [{ type: 'can_read', source_node_label: 'User', target_node_label: 'Doc' }],
        },
      },
    }
    const created = await service.configure('POST', 'authorization-policies', {
      project_id: service.projectId,
      name: 'writes',
      policy: JSON.stringify(policy),
      status: 'ACTIVE',
    })
    expect([created.status, created.body.errors]).toEqual([
      422,
      [
        'policy.allowed_upserts.relationships.relationship_types[0].type: `can_read` is a definition of the model of the project, and cannot be stored',
      ],
    ])
  })

  test('is warned about if relationships of the type are stored', async () => {
    const created = await create('DEFINE (u:User)-[:VIEWER]->(d:Doc) AS { MATCH (u)-[:OWNER]->(d) }')
    expect([created.status, created.body.warnings]).toEqual([
      201,
      [
        'model: `VIEWER` is also the type of 1 stored relationship, which nothing reads while the model defines the name: rename the definition, or delete them',
      ],
    ])
  })
})

function asEditor(path: string, body: object): Promise<TestResponse> {
  const headers = { authorization: `Bearer ${service.token}`, 'x-project-id': service.projectId }
  return service.send(path, { headers, body })
}

test('a project has one model', async () => {
  await stored()
  const second = await service.configure('POST', 'models', { project_id: service.projectId, name: 'b', model: READS })
  expect([second.status, second.body.message]).toEqual([409, 'the project has a model already, named `model`'])
})

test('a faulty model is refused with the place of each fault', async () => {
  const refused = await create(
    'DEFINE (u:User)-[:a]->(d:Doc) AS {\n  MATCH (u)-[:OWNER]->(d) WHERE NOT (u)-[:a]->(d)\n}',
  )
  expect([refused.status, refused.body.errors]).toEqual([
    422,
    [
      'model: line 2, column 43: a definition cannot exclude or count what depends on itself: `a` → `a`\n  MATCH (u)-[:OWNER]->(d) WHERE NOT (u)-[:a]->(d)\n                                          ^',
    ],
  ])
})

describe('the revision of the model', () => {
  const decision = {
    subject: { type: 'User', id: 'ann' },
    action: { name: 'read' },
    resource: { type: 'Doc', id: 'plan' },
  }
  const asked = (model_revision: unknown) => ({ ...decision, context: { model_revision } })

  test('is in the answers of requests that ask for it, and in no other', async () => {
    await readPolicy()
    const id = await stored()
    await service.configure('PUT', `models/${id}`, { model: `// the same\n${READS}` })
    const context = { model_revision: 2 }
    for (const revision of [0, 2]) {
      const body = asked(revision)
      const [single, batch, resources, subjects, actions] = await Promise.all([
        service.ask('/access/v1/evaluation', body),
        service.ask('/access/v1/evaluations', { ...body, evaluations: [{}, { context: {} }] }),
        service.ask('/access/v1/search/resource', { ...body, resource: { type: 'Doc' } }),
        service.ask('/access/v1/search/subject', { ...body, subject: { type: 'User' } }),
        service.ask('/access/v1/search/action', body),
      ])
      expect([single.body, batch.body, resources.body, subjects.body, actions.body]).toEqual([
        { decision: true, context },
        { evaluations: [{ decision: true, context }, { decision: true }] },
        { context, results: [{ type: 'Doc', id: 'plan' }] },
        { context, results: [{ type: 'User', id: 'ann' }] },
        { context, results: [{ name: 'read' }] },
      ])
    }
    const plain = await service.ask('/access/v1/evaluation', decision)
    expect(plain.body).toEqual({ decision: true })
    const explained = await asEditor('/access/v1/explain', decision)
    expect(explained.body.model).toEqual({ id, name: 'model', revision: 2 })
  })

  test('is refused if it is not the present one, with the next step, and 0 if the project has no model', async () => {
    await readPolicy()
    const none = await service.ask('/access/v1/evaluation', asked(0))
    expect(none.body).toEqual({ decision: false, context: { model_revision: 0 } })
    const absent = await service.ask('/access/v1/evaluation', asked(1))
    expect([absent.status, absent.text]).toEqual([422, expect.stringContaining('the project has no model')])
    await stored()
    const message =
      'context.model_revision: expected revision 7, but the model of the project has revision 1, and decisions use the present model: read it again, or send 0, which any revision matches'
    const refused = await service.ask('/access/v1/evaluation', asked(7))
    expect([refused.status, refused.body.errors]).toEqual([422, [message]])
    const searched = await service.ask('/access/v1/search/resource', { ...asked(7), resource: { type: 'Doc' } })
    expect([searched.status, searched.body.errors]).toEqual([422, [message]])
    const batch = await service.ask('/access/v1/evaluations', { ...asked(7), evaluations: [{}] })
    expect(batch.body.evaluations).toEqual([{ decision: false, context: { reason: `invalid_argument: ${message}` } }])
    const malformed = await service.ask('/access/v1/evaluation', asked('seven'))
    expect([malformed.status, malformed.text]).toEqual([
      400,
      expect.stringContaining('context.model_revision: expected an integer of 0 or more, found string'),
    ])
  })
})
