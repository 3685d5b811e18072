// One rule for names: what can be captured can be named in policies, paths, filters, queries, profiles, pipelines and introspection.
// Names of one letter, in lower case, in any script; properties `type` and with names of any characters.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type ContextService, startContextService } from '../../support/context-service.ts'

const types = ['P', 'q', 'Straße', '車両'] as const
const relationship = 'R'
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
  const links = types.map((type) => ({
    source: { type: 'Person', external_id: 'ann' },
    target: { type, external_id: 'a' },
    type: relationship,
    properties: Object.entries(properties).map(([name, value]) => ({ type: name, value })),
  }))
  const relationships = await setup.capture('relationships', { relationships: links })
  expect([relationships.status, relationships.text]).toEqual([200, expect.any(String)])
})
afterAll(() => setup.stop())

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
