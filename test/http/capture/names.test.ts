// One rule for names: what can be captured can be named in policies, paths, filters, queries, profiles, pipelines and introspection.
// Names of one letter, in lower case, in any script, with separators; properties `type` and with names of any characters.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { cypherName } from '../../../src/kernel/text/cypher-names.ts'
import { type ContextService, startContextService } from '../../support/context-service.ts'

const types = ['P', 'q', 'Straße', '車両', 'हिन्दी', 'order-line', 'api.v1.Doc', 'tenant/doc', 'a-1/b.2'] as const
const relationships = ['R', 'part-of', 'v1.owns/all'] as const
const properties = {
  type: 'sedan',
  p: 1,
  'first name': 'Ann',
  'a.b': 'dotted',
  'tick`ed': 'quoted',
  '*': 'star',
  $: 'dollar',
} as const

let setup: ContextService
beforeAll(async () => {
  setup = await startContextService({}, {})
  const listed = Object.entries(properties).map(([type, value]) => ({
    type,
    value,
    metadata: { custom_metadata: { 'read by': 'nora' } },
  }))
  const own = types.map((type) => ({ type, external_id: 'a', properties: listed }))
  const nodes = await setup.capture('nodes', { nodes: [...own, { type: 'Person', external_id: 'ann' }] })
  expect([nodes.status, nodes.text]).toEqual([200, expect.any(String)])
  const links = types.flatMap((type) =>
    relationships.map((relationship) => ({
      source: { type: 'Person', external_id: 'ann' },
      target: { type, external_id: 'a' },
      type: relationship,
      properties: Object.entries(properties).map(([name, value]) => ({ type: name, value })),
    })),
  )
  const linked = await setup.capture('relationships', { relationships: links })
  expect([linked.status, linked.text]).toEqual([200, expect.any(String)])
})
afterAll(() => setup.stop())

const graphQuery = (query: string) =>
  setup.service.send('/graph/v1/query', {
    headers: { authorization: `Bearer ${setup.service.token}`, 'x-project-id': setup.service.projectId },
    body: { query },
  })
const quoted = (name: string) => `\`${name.replaceAll('`', '``')}\``

it.each(types)('the type %s is a resource, with an action and a policy of one letter', async (type) => {
  const { service, key } = setup
  const stored = await service.configure('POST', 'authorization-policies', {
    project_id: service.projectId,
    name: String.fromCodePoint('a'.codePointAt(0)! + types.indexOf(type)),
    status: 'ACTIVE',
    policy: JSON.stringify({
      meta: { policy_version: '3.0-kbac' },
      subject: { type: 'Person' },
      actions: ['r'],
      resource: { type },
      condition: {
        cypher: `MATCH (subject:Person)-[l:R]->(resource:${quoted(type)}) WHERE ${Object.keys(properties)
          .map(
            (name) => `resource.property.${quoted(name)} = $${quoted(name)} AND l.${quoted(name)} = $${quoted(name)}`,
          )
          .join(' AND ')}`,
      },
    }),
  })
  expect([stored.status, stored.text]).toEqual([201, expect.any(String)])
  const asked = (input_params: object) =>
    service.send('/access/v1/evaluation', {
      headers: { 'x-svc-clientkey': key },
      body: {
        subject: { type: 'Person', id: 'ann' },
        action: { name: 'r' },
        resource: { type, id: 'a' },
        context: { input_params },
      },
    })
  expect((await asked(properties)).body).toMatchObject({ decision: true })
  for (const name of Object.keys(properties))
    expect((await asked({ ...properties, [name]: 'another' })).body, name).toMatchObject({ decision: false })
})

it.each(types)('the type %s is the subject of a policy, and listed', async (type) => {
  const { service } = setup
  const stored = await service.configure('POST', 'authorization-policies', {
    project_id: service.projectId,
    name: `subject-${types.indexOf(type)}`,
    status: 'ACTIVE',
    policy: JSON.stringify({
      meta: { policy_version: '3.0-kbac' },
      subject: { type },
      actions: ['r'],
      resource: { type: 'Person' },
      condition: { cypher: `MATCH (subject:${quoted(type)})<-[:R]-(resource:Person)` },
    }),
  })
  expect([stored.status, stored.text]).toEqual([201, expect.any(String)])
  const { key } = await service.addAgent(`reader-${types.indexOf(type)}`, ['ReadAuthZConfigs'])
  const listed = await service.send(`/access/v1/policies?subject_type=${encodeURIComponent(type)}`, {
    headers: { 'x-svc-clientkey': key },
  })
  expect([listed.status, listed.body.results]).toEqual([200, [expect.objectContaining({ policy: expect.anything() })]])
})

it.each(['-a', 'a-', '.a', 'a..b', 'a/', 'a//b', 'a./b', 'a:b', 'a b', '1a', 'a\\b', 'a%b', 'a`b'])(
  'the name %s can neither be captured nor be in a policy',
  async (name) => {
    for (const body of [
      { type: name, external_id: 'a' },
      { type: 'P', external_id: 'a', labels: [name] },
    ]) {
      const captured = await setup.capture('nodes', { nodes: [body] })
      expect([captured.status, captured.text]).toEqual([400, expect.stringContaining('expected a label')])
    }
    const linked = await setup.capture('relationships', {
      relationships: [{ source: { type: 'P', external_id: 'a' }, target: { type: 'P', external_id: 'a' }, type: name }],
    })
    expect([linked.status, linked.text]).toEqual([400, expect.stringContaining('expected a relationship type')])
    const stored = await setup.service.configure('POST', 'authorization-policies', {
      project_id: setup.service.projectId,
      name: 'refused',
      status: 'ACTIVE',
      policy: JSON.stringify({
        meta: { policy_version: '3.0-kbac' },
        subject: { type: name },
        actions: ['r'],
        resource: { type: 'Person' },
        condition: { cypher: 'MATCH (subject)<-[:R]-(resource:Person)' },
      }),
    })
    expect([stored.status, stored.text]).toEqual([422, expect.stringContaining('expected a label')])
  },
)

it.each(types)('a node of the type %s is captured and deleted by a percent-encoded path', async (type) => {
  const { service, key } = setup
  const path = `/capture/v1/nodes/${encodeURIComponent(`${type}:by path`)}`
  const headers = { 'x-svc-clientkey': key }
  const put = await service.send(path, { method: 'PUT', headers, body: { properties: [{ type: 'p', value: 2 }] } })
  expect([put.status, put.text]).toEqual([200, expect.any(String)])
  const read = await graphQuery(
    `MATCH (n:${cypherName(type)} {external_id: 'by path'}) RETURN n.type AS type, n.p AS p`,
  )
  expect([read.status, read.body.rows]).toEqual([200, [[type, 2]]])
  const gone = await setup.capture('nodes/delete', { nodes: [{ type, external_id: 'by path' }] })
  expect([gone.status, gone.text]).toEqual([200, expect.any(String)])
})

it.each(relationships)('the relationship type %s is written, read and derived from', async (relationship) => {
  const { service } = setup
  const stored = await service.configure('POST', 'models', {
    project_id: service.projectId,
    name: 'names',
    model: `DEFINE (u:Person)-[:\`may-see.1/2\`]->(d) AS { MATCH (u)-[:${cypherName(relationship)}]->(d) }`,
  })
  expect([stored.status, stored.text]).toEqual([201, expect.any(String)])
  const read = await graphQuery(
    `MATCH (:Person)-[r:${cypherName(relationship)}]->(n) MATCH (:Person)-[:\`may-see.1/2\`]->(n) RETURN type(r) AS r, n.type AS n`,
  )
  expect([read.status, read.body.rows]).toEqual([
    200,
    expect.arrayContaining(types.map((type) => [relationship, type])),
  ])
  expect((await service.configure('DELETE', `models/${stored.body.id}`)).status).toBe(200)
})

it('a policy has any number of actions, in any script', async () => {
  const { service, key } = setup
  const actions = ['öffnen', 'पढ़ना', '読む', 'a', ...Array.from({ length: 1000 }, (_, at) => `do:${at}`)]
  const stored = await service.configure('POST', 'authorization-policies', {
    project_id: service.projectId,
    name: 'many-actions',
    status: 'ACTIVE',
    policy: JSON.stringify({
      meta: { policy_version: '3.0-kbac' },
      subject: { type: 'Person' },
      actions,
      resource: { type: 'tenant/doc' },
      condition: { cypher: 'MATCH (subject:Person)-[:`part-of`]->(resource:`tenant/doc`)' },
    }),
  })
  expect([stored.status, stored.text]).toEqual([201, expect.any(String)])
  const headers = { 'x-svc-clientkey': key }
  const question = { subject: { type: 'Person', id: 'ann' }, resource: { type: 'tenant/doc', id: 'a' } }
  for (const name of ['öffnen', 'पढ़ना', '読む', 'a', 'do:999']) {
    const asked = await service.send('/access/v1/evaluation', { headers, body: { ...question, action: { name } } })
    expect([name, asked.body]).toMatchObject([name, { decision: true }])
  }
  const found = await service.send('/access/v1/search/action', { headers, body: question })
  expect(found.body.results).toHaveLength(actions.length)
})

it('the type _x can neither be captured nor be the subject of a policy', async () => {
  const captured = await setup.capture('nodes', { nodes: [{ type: '_x', external_id: 'a' }] })
  expect(captured.status).toBe(422)
  const stored = await setup.service.configure('POST', 'authorization-policies', {
    project_id: setup.service.projectId,
    name: 'reserved',
    status: 'ACTIVE',
    policy: JSON.stringify({
      meta: { policy_version: '3.0-kbac' },
      subject: { type: '_x' },
      actions: ['r'],
      resource: { type: 'Person' },
      condition: { cypher: 'MATCH (subject:_x)<-[:R]-(resource:Person)' },
    }),
  })
  expect([stored.status, stored.text]).toEqual([422, expect.stringContaining('_x')])
})

it.each(types)('the type %s is scored, matched, and the node of a token', async (type) => {
  const { service } = setup
  const project_id = service.projectId
  const name = `of-${types.indexOf(type)}`
  for (const [kind, body] of [
    [
      'trust-score-profiles',
      { node_classification: type, dimensions: [{ name: 'VALIDITY', weight: 1 }], schedule: 'DAILY' },
    ],
    [
      'entity-matching-pipelines',
      { node_filter: { source_node_types: [type], target_node_types: ['Person'] }, similarity_score_cutoff: 0.5 },
    ],
    [
      'token-introspects',
      {
        jwt_matcher: { issuer: `https://${name}.example`, audience: 'a' },
        ikg_node_type: type,
        offline_validation: {},
        claims_mapping: { type: { selector: 'kind' } },
      },
    ],
  ] as const) {
    const stored = await service.configure('POST', kind, { project_id, name, ...body })
    expect([kind, stored.status, stored.text]).toEqual([kind, 201, expect.any(String)])
    const reserved = JSON.stringify({ project_id, name: `${name}-x`, ...body }).replaceAll(
      `"${type}"`,
      '"_Application"',
    )
    const refused = await service.configure('POST', kind, JSON.parse(reserved))
    expect([kind, refused.status, refused.text]).toEqual([
      kind,
      422,
      expect.stringContaining('is reserved for the service'),
    ])
  }
})

it('every property is read, filtered, written and deleted by its path', async () => {
  const names = Object.keys(properties)
  const paths = names.map((name) => `n.property.${quoted(name)}`)
  const links = names.map((name) => `l.property.${quoted(name)}`)
  const filter = names.map((name) => ({
    operator: '=',
    attribute: `n.property.${quoted(name)}`,
    value: properties[name as keyof typeof properties],
  }))
  const policy = {
    subject: { type: '_Application' },
    condition: { cypher: 'MATCH (subject:_Application), (n:P)<-[l:R]-(m:Person)', filter },
    allowed_reads: {
      nodes: [...paths, 'n.type', 'n.*', 'n.property.`first name`.metadata.`read by`'],
      relationships: [...links, 'l.type', 'l.*'],
    },
    allowed_upserts: { nodes: { existing_nodes: ['n'] } },
    allowed_deletes: { nodes: ['m.property.`first name`', 'm.property.type'] },
  }
  const read = await setup.addQuery('names', policy, {
    nodes: [...paths, 'n.type', 'n.*', 'n.property.`first name`.metadata.`read by`'],
    relationships: [...links, 'l.type'],
    filter: { operator: '=', attribute: 'l.property.`first name`', value: '@n.property.`first name`' },
  })
  const { status, body, text } = await setup.execute(read)
  expect([status, text]).toEqual([200, expect.any(String)])
  const [record] = body.data as { nodes: Record<string, unknown>; relationships: Record<string, unknown> }[]
  expect(record?.nodes).toMatchObject({
    ...Object.fromEntries(names.map((name, at) => [paths[at], properties[name as keyof typeof properties]])),
    'n.type': 'P',
    'n.property.`first name`.metadata.`read by`': 'nora',
  })
  expect(record?.relationships).toMatchObject({
    ...Object.fromEntries(names.map((name, at) => [links[at], properties[name as keyof typeof properties]])),
    'l.type': 'R',
  })
  // Own fields win where both are listed under their bare names.
  const all = record?.nodes['n.*'] as { type: string; value: unknown }[]
  expect(all.filter(({ type }) => type === 'type')).toEqual([{ type: 'type', value: 'P' }])
  const write = await setup.addQuery('written', policy, {
    nodes: ['n.property.`type`'],
    upsert_nodes: [{ name: 'n', properties: [{ type: 'type', value: 'estate' }] }],
    delete_nodes: ['m.property.`first name`', 'm.property.type'],
  })
  const written = await setup.execute(write)
  expect([written.status, written.body.data]).toEqual([
    200,
    [expect.objectContaining({ nodes: { 'n.property.`type`': 'estate' } })],
  ])
})
