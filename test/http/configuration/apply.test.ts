// Applying the documents of a project over HTTP: one transaction for all of them, with every check of single requests.
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

let service: TestService
let viewerToken: string

beforeAll(async () => {
  service = await startService({}, { sync: false })
  const { body } = await service.configure('POST', 'service-accounts', {
    organization_id: service.app.organizationId,
    name: 'viewer',
    role: 'all_viewer',
  })
  const credential = await service.configure('POST', 'service-account-credentials', { service_account_id: body.id })
  viewerToken = (credential.body.service_account_config as { token: string }).token
})
afterAll(() => service.stop())

interface Doc {
  readonly kind: string
  readonly name: string
  readonly body: object
  readonly references?: readonly { member: string; kind: string; name: string }[]
}

const ownProject = { project: { body: { region: 'local' } } }

function apply(
  project: string,
  documents: readonly Doc[],
  more: object = {},
  query = '',
  token = service.token,
): Promise<TestResponse> {
  const body = { ...ownProject, documents, ...more }
  const headers = { authorization: `Bearer ${token}` }
  return service.send(`/configs/v1/projects/${project}/apply${query}`, { method: 'POST', headers, body })
}

async function documentsOf(project: string, token = service.token): Promise<TestResponse> {
  return service.send(`/configs/v1/projects/${project}/documents`, { headers: { authorization: `Bearer ${token}` } })
}

async function namesIn(project: string): Promise<string[]> {
  const { body } = await documentsOf(project)
  return (body.documents as Doc[]).map(({ kind, name }) => `${kind} ${name}`)
}

const policy = (name: string, cypher = 'MATCH (subject)-[:OWNS]->(resource)', more: object = {}): Doc => ({
  kind: 'authorization-policies',
  name,
  body: {
    policy: JSON.stringify({
      meta: { policy_version: '3.0-kbac' },
      subject: { type: 'Person' },
      actions: ['drive'],
      resource: { type: 'Car' },
      condition: { cypher },
    }),
    status: 'ACTIVE',
    ...more,
  },
})
const contextPolicy = (name: string, variable = 'car'): Doc => ({
  kind: 'authorization-policies',
  name,
  body: {
    policy: JSON.stringify({
      meta: { policy_version: '1.0-ciq' },
      subject: { type: 'Person' },
      condition: { cypher: `MATCH (subject)-[:OWNS]->(${variable}:Car)` },
      allowed_reads: { nodes: [`${variable}.external_id`] },
    }),
    status: 'ACTIVE',
  },
})
const query = (name: string, of: string, variable = 'car'): Doc => ({
  kind: 'knowledge-queries',
  name,
  body: { query: JSON.stringify({ nodes: [`${variable}.external_id`] }), status: 'ACTIVE' },
  references: [{ member: 'policy_id', kind: 'authorization-policies', name: of }],
})
const resolver = (name: string, secret: string, url = 'https://example.org/price'): Doc => ({
  kind: 'external-data-resolvers',
  name,
  body: {
    url,
    method: 'GET',
    headers: { Authorization: secret },
    request_content_type: 'JSON',
    response_content_type: 'JSON',
    response_selector: '.price',
  },
})
const introspection = (name: string, issuer: string): Doc => ({
  kind: 'token-introspects',
  name,
  body: { jwt_matcher: { issuer, audience: 'cars' }, offline_validation: {} },
})

/** A project of its own for one test. */
async function newProject(name: string, documents: readonly Doc[] = []): Promise<string> {
  const applied = await apply(name, documents, { create: true, expected: '' })
  expect(applied.status, applied.text).toBe(200)
  return applied.body.project_id as string
}

const actionsOf = ({ body }: TestResponse): string[] =>
  (body.documents as { kind: string; name: string; action: string }[]).map(
    ({ kind, name, action }) => `${action} ${kind} ${name}`,
  )

describe('an apply', () => {
  test('creates a project with its documents in any order, and is the same the second time', async () => {
    const agent: Doc = {
      kind: 'application-agents',
      name: 'web-agent',
      body: { api_permissions: ['Authorization'] },
      references: [{ member: 'application_id', kind: 'applications', name: 'web' }],
    }
    // The order of the request is the reverse of that of the references.
    const documents = [
      query('my-cars', 'see'),
      agent,
      contextPolicy('see'),
      policy('drive'),
      { kind: 'applications', name: 'web', body: {} },
    ]
    const first = await apply('ordered', documents, { create: true, expected: '' })
    expect(first.status, first.text).toBe(200)
    expect(actionsOf(first)).toEqual([
      'created projects ordered',
      'created knowledge-queries my-cars',
      'created application-agents web-agent',
      'created authorization-policies see',
      'created authorization-policies drive',
      'created applications web',
    ])
    const before = await documentsOf('ordered')
    expect(before.body.etag).toBe(first.body.etag)
    const second = await apply('ordered', documents, { create: true, expected: first.body.etag })
    expect(actionsOf(second).every((line) => line.startsWith('unchanged '))).toBe(true)
    expect(second.body.etag).toBe(first.body.etag)
    expect((await documentsOf(first.body.project_id as string)).body).toEqual(before.body)
    const [read] = (await service.configure('GET', `authorization-policies?project_id=${first.body.project_id}`)).body
      .data as { update_time: string; create_time: string }[]
    expect(read?.update_time).toBe(read?.create_time)
  })

  test('replaces documents as a whole: what a document does not have is removed', async () => {
    const id = await newProject('replaced', [policy('drive', undefined, { tags: ['x'], description: 'Owners drive.' })])
    const applied = await apply(id, [policy('drive')])
    expect(actionsOf(applied)[1]).toBe('updated authorization-policies drive')
    const { body } = await service.configure('GET', `authorization-policies/drive?project_id=${id}`)
    expect(body).toMatchObject({ tags: [], description: '' })
  })

  test('takes texts with another spacing for the same', async () => {
    const id = await newProject('spaced', [policy('drive')])
    const spaced = policy('drive')
    const text = JSON.stringify(JSON.parse((spaced.body as { policy: string }).policy), null, 2)
    const applied = await apply(id, [{ ...spaced, body: { ...spaced.body, policy: text } }])
    expect(actionsOf(applied)[1]).toBe('unchanged authorization-policies drive')
  })

  test('stores nothing if one document is refused, and reports the errors of all', async () => {
    const id = await newProject('refused', [policy('drive')])
    const before = (await documentsOf(id)).body
    const applied = await apply(
      id,
      [
        policy('drive', 'MATCH (subject)-[:DRIVES]->(resource)'),
        policy('broken', 'MATCH (subject)-[:OWNS]->(resource'),
        policy('unknown-member', undefined, { colour: 'red' }),
        query('lost', 'nowhere'),
        query('waiting', 'broken'),
      ],
      { delete: [{ kind: 'authorization-policies', name: 'absent' }] },
    )
    expect(applied.status).toBe(422)
    const errors = applied.body.errors as string[]
    expect(errors.map((line) => line.split('\n')[0])).toEqual([
      'authorization-policies absent: no such authorization policy',
      expect.stringMatching(/^authorization-policies broken: policy\.condition\.cypher: line 1, column \d+: /),
      'authorization-policies unknown-member: body: unknown member `colour`',
      'knowledge-queries lost: policy_id: no authorization policy is named `nowhere`',
    ])
    expect((await documentsOf(id)).body).toEqual(before)
  })

  test('refuses unknown kinds, kinds that are not part of a project, repeated names and members of its own', async () => {
    const id = await newProject('kinds')
    const applied = await apply(id, [
      { kind: 'policies', name: 'drive', body: {} },
      { kind: 'projects', name: 'other', body: {} },
      { kind: 'application-agent-credentials', name: 'secret', body: {} },
      { ...policy('named'), body: { ...policy('named').body, name: 'another', project_id: 'gid:other' } },
    ])
    expect(applied.body.errors).toEqual([
      'policies drive: unknown kind `policies`',
      'projects other: documents of the kind `projects` are not part of a project',
      'application-agent-credentials secret: unknown kind `application-agent-credentials`',
      'authorization-policies named: name: expected no such member in `body`',
      'authorization-policies named: project_id: expected no such member in `body`',
    ])
    const twice = await apply(id, [policy('drive'), policy('drive')])
    expect(twice.body.errors).toEqual(['authorization-policies drive: given twice'])
    const self = {
      ...query('self', 'self'),
      references: [{ member: 'policy_id', kind: 'knowledge-queries', name: 'self' }],
    }
    expect((await apply(id, [self])).body.errors).toEqual([
      'knowledge-queries self: references: the documents refer to each other',
    ])
  })

  test('refuses an agent below an application of another project, new and stored', async () => {
    const agentBelow = (applicationId: string): Doc => ({
      kind: 'application-agents',
      name: 'web-agent',
      body: { application_id: applicationId, api_permissions: ['Authorization'] },
    })
    const web: Doc = { kind: 'applications', name: 'web', body: {} }
    await apply('agents-here', [web], { create: true })
    await apply('agents-there', [web], { create: true })
    const applicationOf = async (project: string): Promise<string> =>
      ((await documentsOf(project)).body.documents as { id: string }[])[0]?.id ?? ''
    const [here, there] = [await applicationOf('agents-here'), await applicationOf('agents-there')]
    const refused = async (id: string): Promise<void> => {
      const { status, body } = await apply('agents-here', [web, agentBelow(id)])
      const message = `application_id: no application \`${id}\` in the project`
      expect([status, body.errors]).toEqual([422, [`application-agents web-agent: ${message}`]])
    }
    await refused(there)
    expect(await namesIn('agents-there')).toEqual(['applications web'])
    expect((await apply('agents-here', [web, agentBelow(here)])).status).toBe(200)
    await refused(there)
    expect(await namesIn('agents-here')).toEqual(['applications web', 'application-agents web-agent'])
  })

  test('refuses a change of what cannot be changed', async () => {
    const id = await newProject('fixed')
    const applied = await apply(id, [], { project: { body: { region: 'elsewhere' } } })
    expect(applied.status).toBe(422)
    expect(applied.body.errors).toEqual(['projects fixed: region: cannot be changed after creation'])
  })

  test('is refused after a concurrent change, and stores nothing', async () => {
    const id = await newProject('concurrent', [policy('drive')])
    const { etag } = (await documentsOf(id)).body
    const other = await apply(id, [policy('drive'), policy('other')])
    expect(other.status).toBe(200)
    const late = await apply(id, [policy('late')], { expected: etag })
    expect(late.status).toBe(412)
    expect(await namesIn(id)).toEqual(['authorization-policies drive', 'authorization-policies other'])
    const again = await apply('concurrent', [policy('late')], { create: true, expected: '' })
    expect(again.status).toBe(412)
  })

  test('of many at the same time with one ETag, only one is stored', async () => {
    const id = await newProject('race')
    const { etag } = (await documentsOf(id)).body
    const answers = await Promise.all(
      Array.from({ length: 8 }, (_, i) => apply(id, [policy(`drive-${i}`)], { expected: etag })),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([200, ...Array.from({ length: 7 }, () => 412)])
    expect(await namesIn(id)).toHaveLength(1)
  })

  test('needs a project, and the right to change it; who may read may read it', async () => {
    const id = await newProject('rights', [policy('drive')])
    const missing = await apply('nothing-here', [])
    expect([missing.status, missing.body.message]).toEqual([404, 'no project `nothing-here`'])
    const refused = await apply(id, [], {}, '', viewerToken)
    expect([refused.status, refused.body.message]).toEqual([403, 'the role `all_viewer` may not change projects'])
    expect((await documentsOf(id, viewerToken)).status).toBe(200)
    expect((await documentsOf('nothing-here')).status).toBe(404)
    expect((await documentsOf(id, 'nonsense')).status).toBe(401)
    expect((await apply(id, [], {}, '', 'nonsense')).status).toBe(401)
  })

  test('with dry_run checks everything and stores nothing', async () => {
    const id = await newProject('rehearsed', [policy('drive')])
    const before = (await documentsOf(id)).body
    const dry = await apply(
      id,
      [policy('drive', 'MATCH (subject)-[:DRIVES]->(resource)'), policy('more')],
      {},
      '?dry_run=true',
    )
    expect(actionsOf(dry).slice(1)).toEqual([
      'updated authorization-policies drive',
      'created authorization-policies more',
    ])
    expect((await documentsOf(id)).body).toEqual(before)
    const absent = await apply('rehearsed-only', [policy('more')], { create: true }, '?dry_run=true')
    expect([absent.status, absent.body.project_id, absent.body.etag]).toEqual([200, '', ''])
    expect((await documentsOf('rehearsed-only')).status).toBe(404)
    expect((await apply(id, [policy('broken', 'MATCH (')], {}, '?dry_run=true')).status).toBe(422)
  })

  test('keeps secrets sealed, compares them, and never sends a stored one to another address', async () => {
    const id = await newProject('secrets', [resolver('price', 'Bearer hidden-1')])
    const read = await documentsOf(id)
    expect(read.text).not.toContain('hidden-1')
    expect((read.body.documents as { secrets: unknown }[])[0]?.secrets).toEqual([['headers', 'Authorization']])
    expect(actionsOf(await apply(id, [resolver('price', 'Bearer hidden-1')]))[1]).toMatch(/^unchanged /)
    expect(actionsOf(await apply(id, [resolver('price', 'Bearer hidden-2')]))[1]).toMatch(/^updated /)
    const masked = await apply(id, [resolver('price', '', 'https://elsewhere.example/')])
    expect(masked.status).toBe(422)
    const without = resolver('price', '')
    const moved = { ...without, body: { ...without.body, headers: {}, url: 'https://elsewhere.example/' } }
    expect((await apply(id, [moved])).status).toBe(200)
    expect(((await documentsOf(id)).body.documents as { secrets: unknown }[])[0]?.secrets).toEqual([])
  })

  test('deletes before it stores, so that a name or an issuer may be used again', async () => {
    const id = await newProject('released', [introspection('old', 'https://one.example')])
    const both = await apply(id, [introspection('new', 'https://one.example')])
    expect(both.body.errors).toEqual([
      'token-introspects new: the project has another configuration for this issuer and audience: `old`',
    ])
    const moved = await apply(id, [introspection('new', 'https://one.example')], {
      delete: [{ kind: 'token-introspects', name: 'old' }],
    })
    expect(actionsOf(moved).slice(1)).toEqual(['created token-introspects new', 'deleted token-introspects old'])
    // The later document of the request releases the issuer that the earlier one takes.
    const chained = await apply(id, [
      introspection('also', 'https://one.example'),
      introspection('new', 'https://two.example'),
    ])
    expect(chained.status, chained.text).toBe(200)
  })

  test('checks queries that stay the same against a policy that changes', async () => {
    const id = await newProject('checked', [contextPolicy('see'), query('my-cars', 'see')])
    const applied = await apply(id, [contextPolicy('see', 'bike'), query('my-cars', 'see')])
    expect(applied.status).toBe(422)
    expect((applied.body.errors as string[])[0]).toMatch(/^knowledge-queries my-cars: query\.nodes/)
    const both = await apply(id, [contextPolicy('see', 'bike'), query('my-cars', 'see', 'bike')])
    expect(both.status, both.text).toBe(200)
  })

  test('deletes credentials with their agent, and its key is refused at once', async () => {
    const { agentId, key } = await service.addAgent('leaving', ['Authorization'])
    expect((await documentsOf(service.projectId)).body.credentials).toMatchObject({ [agentId]: 1 })
    const ask = () =>
      service.send('/access/v1/evaluation', {
        headers: { 'x-svc-clientkey': key },
        body: { subject: { type: 'Person', id: 'a' }, action: { name: 'drive' }, resource: { type: 'Car', id: 'c' } },
      })
    expect((await ask()).status).toBe(200)
    const applied = await apply(service.projectId, [], { delete: [{ kind: 'application-agents', name: 'leaving' }] })
    expect(actionsOf(applied)).toEqual(['unchanged projects test', 'deleted application-agents leaving'])
    expect((await ask()).status).toBe(401)
  })

  test('has decisions of the new policies as soon as it is answered', async () => {
    const capture = (path: string, body: object) => service.ask(`/capture/v1/${path}`, body)
    await capture('nodes', {
      nodes: [
        { type: 'Person', external_id: 'pat' },
        { type: 'Car', external_id: 'c9' },
      ],
    })
    await capture('relationships', {
      relationships: [
        { source: { type: 'Person', external_id: 'pat' }, target: { type: 'Car', external_id: 'c9' }, type: 'OWNS' },
      ],
    })
    const may = async () =>
      (
        await service.ask('/access/v1/evaluation', {
          subject: { type: 'Person', id: 'pat' },
          action: { name: 'drive' },
          resource: { type: 'Car', id: 'c9' },
        })
      ).body.decision
    expect(await may()).toBe(false)
    await apply(service.projectId, [policy('drive')])
    expect(await may()).toBe(true)
    await apply(service.projectId, [policy('drive', 'MATCH (subject)-[:RENTS]->(resource)')])
    expect(await may()).toBe(false)
  })
})
