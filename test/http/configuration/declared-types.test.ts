// Declared types over HTTP: what policies, queries, profiles and pipelines may name, and what a change of the types breaks.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

const MODEL = `(:User {email STRING, clearance INTEGER}),
(:Group {name STRING}),
(:Doc {level INTEGER, title STRING}),
(:User)-[:MEMBER]->(:Group),
(:User)-[:OWNER]->(:Doc),
(:Group)-[:VIEWER]->(:Doc)

DEFINE (u:User)-[:can_read]->(d:Doc) AS {
  MATCH (u)-[:OWNER]->(d)
  UNION MATCH (u)-[:MEMBER]->(:Group)-[:VIEWER]->(d)
}`

let service: TestService
beforeEach(async () => {
  service = await startService({}, { sync: false })
})
afterEach(() => service.stop())

function store(kind: string, body: object): Promise<TestResponse> {
  return service.configure('POST', kind, { project_id: service.projectId, ...body })
}

function policy(cypher: string, others: object = {}): object {
  return {
    name: 'read',
    status: 'ACTIVE',
    policy: JSON.stringify({
      meta: { policy_version: '3.0-kbac' },
      subject: { type: 'User' },
      actions: ['read'],
      resource: { type: 'Doc' },
      condition: { cypher },
      ...others,
    }),
  }
}

/** The first line of each issue: the lines after it show the place. */
function issuesOf({ status, body }: TestResponse): unknown {
  const messages = (body.errors ?? body.issues ?? [body.message]) as readonly unknown[]
  return [status, ...messages.map((one) => JSON.stringify(one).split('\\n')[0]?.replaceAll('"', ''))]
}

async function storedModel(model = MODEL): Promise<string> {
  const created = await store('models', { name: 'model', model })
  if (created.status !== 201) throw new Error(created.text)
  return created.body.id as string
}

describe('with declared types', () => {
  test('a policy that fits them is stored without a warning, before anything was captured', async () => {
    await storedModel()
    const created = await store(
      'authorization-policies',
      policy('MATCH (subject)-[:can_read]->(resource) WHERE resource.level <= subject.clearance'),
    )
    expect([created.status, created.body.warnings]).toEqual([201, undefined])
  })

  test.each([
    [
      'MATCH (subject)-[:OWNR]->(resource)',
      'policy.condition.cypher: line 1, column 19: the model declares no relationship of type `OWNR`; did you mean `[:OWNER]`?',
    ],
    [
      'MATCH (subject)-[:MEMBER]->(resource)',
      'policy.condition.cypher: line 1, column 19: `MEMBER` cannot connect `(:User)` to `(:Doc)`; the model declares (:User)-[:MEMBER]->(:Group)',
    ],
    [
      'MATCH (subject)-[:OWNER]->(resource)\nWHERE resource.levl > 1',
      'policy.condition.cypher: line 2, column 16: the model declares no property `levl`; did you mean `level`?',
    ],
    [
      'MATCH (subject)-[:OWNER]->(resource) WHERE resource.level = subject.email',
      'policy.condition.cypher: line 1, column 44: a value of type `INTEGER` is compared with one of type `STRING`, which is never true',
    ],
  ])('a policy is refused: %s', async (cypher, issue) => {
    await storedModel()
    expect(issuesOf(await store('authorization-policies', policy(cypher)))).toEqual([422, issue])
  })

  test('a policy about an undeclared type is refused, and a draft is not', async () => {
    await storedModel()
    const asked = policy('MATCH (subject)-[:OWNER]->(resource)', { resource: { type: 'Docs' } })
    expect(issuesOf(await store('authorization-policies', asked))).toEqual([
      422,
      'policy.resource.type: the model declares no node with the label `Docs`; did you mean `(:Doc)`?',
    ])
    expect((await store('authorization-policies', { ...asked, status: 'DRAFT' })).status).toBe(201)
  })

  test('a context policy and its queries are compared with the types', async () => {
    await storedModel()
    const reads = (paths: readonly string[]) => ({
      name: 'docs',
      status: 'ACTIVE',
      policy: JSON.stringify({
        meta: { policy_version: '1.0-ciq' },
        subject: { type: 'User' },
        condition: {
          cypher: 'MATCH (subject:User)-[:OWNER]->(doc)',
          filter: [
            { operator: 'AND', operands: [{ attribute: 'subject.external_id', operator: '=', value: '$token.sub' }] },
          ],
        },
        allowed_reads: { nodes: paths },
      }),
    })
    expect(issuesOf(await store('authorization-policies', reads(['doc.property.name'])))).toEqual([
      422,
      'policy.allowed_reads.nodes[0]: `(:Doc)` has no property `name`; `(:Group)` has it',
    ])
    const created = await store('authorization-policies', reads(['doc.property.title', 'doc.*']))
    expect(created.status).toBe(201)
    const query = (path: string) => ({
      name: 'titles',
      status: 'ACTIVE',
      policy_id: created.body.id,
      query: JSON.stringify({ nodes: [path] }),
    })
    expect(issuesOf(await store('knowledge-queries', query('doc.property.titel')))).toEqual([
      422,
      'query.nodes[0]: the model declares no property `titel`; did you mean `title`?',
    ])
    expect((await store('knowledge-queries', query('doc.property.title'))).status).toBe(201)
  })

  test('a trust score profile and a matching pipeline name declared types', async () => {
    await storedModel()
    const profile = (type: string, property: string) => ({
      name: 'scores',
      node_classification: type,
      dimensions: [{ name: 'FRESHNESS', weight: 1 }],
      schedule: 'DAILY',
      required_properties: [property],
    })
    expect(issuesOf(await store('trust-score-profiles', profile('Usr', 'email')))).toEqual([
      422,
      'node_classification: the model declares no node with the label `Usr`; did you mean `(:User)`?',
    ])
    expect(issuesOf(await store('trust-score-profiles', profile('User', 'title')))).toEqual([
      422,
      'required_properties[0]: `(:User)` has no property `title`; `(:Doc)` has it',
    ])
    expect((await store('trust-score-profiles', profile('User', 'email'))).status).toBe(201)
    const pipeline = (target: string) => ({
      name: 'people',
      node_filter: { source_node_types: ['User'], target_node_types: [target] },
      similarity_score_cutoff: 0.9,
    })
    expect(issuesOf(await store('entity-matching-pipelines', pipeline('Person')))).toEqual([
      422,
      'node_filter.target_node_types[0]: the model declares no node with the label `Person`',
    ])
    expect((await store('entity-matching-pipelines', pipeline('User'))).status).toBe(201)
  })

  test('a change of the types that a stored policy does not fit is refused, and names the policy', async () => {
    const id = await storedModel()
    await store('authorization-policies', policy('MATCH (subject)-[:OWNER]->(resource) WHERE resource.level > 1'))
    const changed = await service.configure('PUT', `models/${id}`, {
      model: MODEL.replace('level INTEGER', 'level STRING'),
    })
    expect([changed.status, changed.text]).toEqual([422, expect.stringContaining('`read` would not fit the types')])
    expect((await service.configure('PUT', `models/${id}`, { model: `CLOSED ${MODEL}` })).status).toBe(200)
  })

  test('a model lists the stored data that it would not fit, counted with examples', async () => {
    const node = (type: string, external_id: string, name: string, value: unknown) => ({
      type,
      external_id,
      properties: [{ type: name, value }],
    })
    await service.ask('/capture/v1/nodes', {
      nodes: [
        node('User', 'ann', 'emial', 'a'),
        node('User', 'bob', 'emial', 'b'),
        node('Doc', 'd1', 'level', 'high'),
        node('Doc', 'd2', 'level', 3),
      ],
    })
    const [source, target] = [
      { type: 'Doc', external_id: 'd2' },
      { type: 'User', external_id: 'ann' },
    ]
    await service.ask('/capture/v1/relationships', { relationships: [{ source, target, type: 'OWNER' }] })
    const created = await store('models', { name: 'model', model: MODEL })
    expect([created.status, created.body.warnings]).toEqual([
      201,
      [
        'model: 2 stored elements do not fit: `(:User)` has no property `emial`; did you mean `email`?; such as User:ann, User:bob',
        'model: 1 stored element does not fit: `OWNER` cannot connect `(:Doc)` to `(:User)`; the model declares `(:User)-[:OWNER]->(:Doc)`; such as (Doc:d2)-[:OWNER]->(User:ann)',
        'model: 1 stored element does not fit: `level`: expected `INTEGER`, found `STRING`; such as Doc:d1',
      ],
    ])
  })

  test('a proposed model lists the stored data that it would not fit, in a comparison and in a dry run', async () => {
    await storedModel()
    await service.ask('/capture/v1/nodes', { nodes: [{ type: 'Group', external_id: 'staff' }] })
    const headers = { authorization: `Bearer ${service.token}`, 'x-project-id': service.projectId }
    const model = MODEL.replace('{name STRING}', '{name STRING NOT NULL}')
    const warnings = [
      'model: 1 stored element does not fit: `name`: expected a value, because the model says NOT NULL; such as Group:staff',
    ]
    const compared = await service.send('/access/v1/compare', { headers, body: { model } })
    expect([compared.status, compared.body.warnings], compared.text).toEqual([200, warnings])
    const asStored = await service.send('/access/v1/compare', { headers, body: { model: MODEL } })
    expect([asStored.status, asStored.body.warnings], asStored.text).toEqual([200, undefined])
    const dryRun = await service.configure('POST', `projects/${service.projectId}/apply?dry_run=true`, {
      project: { body: { region: 'local' } },
      documents: [{ kind: 'models', name: 'model', body: { model } }],
      delete: [],
    })
    expect([dryRun.status, dryRun.body.documents], dryRun.text).toEqual([
      200,
      expect.arrayContaining([expect.objectContaining({ kind: 'models', action: 'updated', warnings })]),
    ])
  })

  test('a dry run warns of the names in a policy as with the model that it would store', async () => {
    await service.ask('/capture/v1/nodes', { nodes: [{ type: 'User', external_id: 'ann' }] })
    const { name, ...body } = policy('MATCH (subject)-[:can_read]->(resource)') as { name: string }
    const documents = [
      { kind: 'models', name: 'model', body: { model: MODEL } },
      { kind: 'authorization-policies', name, body },
    ]
    const request = { project: { body: { region: 'local' } }, documents, delete: [] }
    const path = `projects/${service.projectId}/apply`
    const [dryRun, applied] = [
      await service.configure('POST', `${path}?dry_run=true`, request),
      await service.configure('POST', path, request),
    ]
    const warningsOf = ({ body: { documents: done } }: TestResponse) =>
      (done as { kind: string; warnings?: unknown }[]).map(({ kind, warnings }) => [kind, warnings])
    expect([dryRun.status, warningsOf(dryRun)], dryRun.text).toEqual([applied.status, warningsOf(applied)])
  })

  test('a graph query is warned of what it cannot find', async () => {
    await storedModel()
    await service.ask('/capture/v1/nodes', { nodes: [{ type: 'User', external_id: 'ann' }] })
    const headers = { authorization: `Bearer ${service.token}`, 'x-project-id': service.projectId }
    const query = 'MATCH (u:User)-[:MEMBER]->(d:Doc) RETURN u'
    const { status, body } = await service.send('/graph/v1/query', { headers, body: { query } })
    expect([status, body.warnings]).toEqual([
      200,
      [expect.objectContaining({ code: 'ImpossiblePattern', line: 1, column: 18 })],
    ])
  })

  test('declared names are completed before data has them', async () => {
    await storedModel()
    const headers = { authorization: `Bearer ${service.token}`, 'x-project-id': service.projectId }
    const completed = async (text: string) => {
      const { body } = await service.send('/graph/v1/complete', { headers, body: { text, offset: text.length } })
      return (body.completions as { text: string }[]).map((one) => one.text)
    }
    expect(await completed('MATCH (u:Us')).toEqual(['User'])
    expect(await completed('MATCH (u:User)-[:MEM')).toEqual(['MEMBER'])
    expect(await completed('MATCH (u:User) WHERE u.clear')).toEqual(['clearance'])
  })

  test('types with faults are refused with their places', async () => {
    expect(issuesOf(await store('models', { name: 'model', model: '(:User {email STRNG})' }))).toEqual([
      422,
      'model: line 1, column 15: unknown type `STRNG`; did you mean `STRING`?',
    ])
  })
})
