import { afterAll, afterEach, beforeEach, describe, expect, test } from 'vitest'
import { isEmptySet } from '../../../src/policy/compile-policy.ts'
import {
  errorIn,
  openProject,
  type ProjectFixture,
  projectBody,
  removeTemporaryFolders,
  valueIn,
} from '../../support/configuration-fixture.ts'

const policyDocument = {
  meta: { policy_version: '1.0-ciq' },
  subject: { type: 'Person' },
  condition: { cypher: 'MATCH (subject:Person)-[r:OWNS]->(car:Car) WITH subject, r, car, COUNT(r) AS n' },
  allowed_reads: { nodes: ['car.*', 'subject.external_id'], relationships: ['r'], aggregate_values: ['n', 'total'] },
  allowed_upserts: {
    nodes: { existing_nodes: ['car'], node_types: ['Note'] },
    relationships: {
      existing_relationships: ['r'],
      relationship_types: [{ type: 'ABOUT', source_node_label: 'Note', target_node_label: 'Car' }],
    },
  },
  allowed_deletes: { nodes: ['car.property.price'], relationships: ['r'] },
}

let setup: ProjectFixture
let policy: string
beforeEach(async () => {
  setup = await openProject()
  policy = await addPolicy('own-cars', policyDocument)
})
afterEach(() => setup.close())
afterAll(removeTemporaryFolders)

const kind = () => setup.kind('knowledge-queries')
async function addPolicy(name: string, document: object, status = 'ACTIVE', project = setup.project): Promise<string> {
  const body = { project_id: project, name, policy: JSON.stringify(document), status }
  return (await setup.create('authorization-policies', body)).id
}
const create = (query: object | string, more: object = {}) =>
  setup.service.create(setup.admin, kind(), {
    project_id: setup.project,
    name: 'cars',
    policy_id: policy,
    query: typeof query === 'string' ? query : JSON.stringify(query),
    status: 'ACTIVE',
    ...more,
  })
const issuesOf = async (query: object | string, more: object = {}) => {
  const error = errorIn(await create(query, more))
  return error.kind === 'invalid' ? error.issues : error
}

test('a knowledge query that keeps within its policy is stored', async () => {
  const query = {
    nodes: ['car', 'car.property.plate', 'car.property.*', 'subject.external_id', 'note.external_id'],
    relationships: ['r'],
    aggregate_values: ['n'],
    filter: { operator: '=', attribute: 'car.external_id', value: '$car' },
    batch_read: false,
    upsert_nodes: [
      { name: 'car', properties: [{ type: 'price', external_value: '$resolver' }] },
      {
        name: 'note',
        type: 'Note',
        external_id: '$note',
        labels: ['Memo'],
        properties: [{ type: 'text', value: '$text', metadata: [{ type: 'source', value: 'desk' }] }],
      },
    ],
    upsert_relationships: [
      { name: 'about', source: 'note', target: 'car', type: 'ABOUT' },
      { name: 'r', properties: [{ type: 'since', value: 2026 }] },
    ],
    delete_nodes: ['car.property.price'],
    delete_relationships: ['r'],
  }
  const { body } = valueIn(await create(query))
  expect(setup.read('knowledge-queries', body.id as string)).toMatchObject({
    policy_id: policy,
    query: JSON.stringify(query),
    status: 'ACTIVE',
  })
})

describe('a knowledge query is refused', () => {
  test.each<[string, object | string, string[]]>([
    ['invalid JSON', '{"nodes"}', ['query: malformed JSON at line 1, column 9: expected `:`, found `}`']],
    ['no object', '[]', ['query: expected object, found array']],
    ['an unknown member', { order: 'n' }, ['query: unknown member `order`']],
    [
      'paths that the policy does not allow',
      { nodes: ['subject.*', 'bike'], relationships: ['r.*'], aggregate_values: ['m'] },
      [
        'query.nodes[0]: the policy does not allow reading it',
        'query.nodes[1]: the policy does not bind `bike`',
        'query.relationships[0]: the policy does not allow reading it',
        'query.aggregate_values[0]: the policy does not allow reading `m`',
      ],
    ],
    [
      'a node of its own read as a relationship, and a relationship read as a node',
      {
        nodes: ['about'],
        relationships: ['note.text', 'note'],
        upsert_nodes: [{ name: 'note', type: 'Note', external_id: 'n' }],
        upsert_relationships: [{ name: 'about', source: 'note', target: 'car', type: 'ABOUT' }],
      },
      [
        'query.nodes[0]: the policy does not bind `about`',
        'query.relationships[0]: the policy does not bind `note`',
        'query.relationships[1]: the policy does not bind `note`',
      ],
    ],
    [
      'an aggregate that the pattern does not have, although the query writes under its name',
      { aggregate_values: ['total'], upsert_nodes: [{ name: 'total', type: 'Note', external_id: 'n' }] },
      ['query.aggregate_values[0]: the policy does not bind `total`'],
    ],
    [
      'a filter on what is not bound',
      { filter: { operator: 'IS NULL', attribute: 'bike.type' } },
      ['query.filter: the policy does not bind `bike`'],
    ],
    [
      'nodes that the policy does not let be written',
      {
        upsert_nodes: [
          { name: 'subject' },
          { name: 'car', type: 'Car', external_id: 'x' },
          { name: 'other', type: 'Person', external_id: 'x' },
          { name: 'bare' },
          { name: 'bare' },
        ],
      },
      [
        'query.upsert_nodes[0]: the policy does not allow writing `subject`',
        'query.upsert_nodes[1].type: `car` exists and has its type',
        'query.upsert_nodes[1].external_id: `car` exists and has its external id',
        'query.upsert_nodes[2].type: the policy does not allow creating a `Person`',
        'query.upsert_nodes[3].type: expected string, found nothing',
        'query.upsert_nodes[4].name: `bare` is written twice',
      ],
    ],
    [
      'relationships that the policy does not let be written',
      {
        upsert_relationships: [
          { name: 'a', source: 'subject', target: 'car', type: 'SOLD' },
          { name: 'b', source: 'subject', target: 'nobody', type: 'ABOUT' },
          { name: 'c', source: 'subject' },
          { name: 'r', source: 'car' },
        ],
      },
      [
        'query.upsert_relationships[0].type: the policy does not allow creating a `SOLD`',
        'query.upsert_relationships[1].target: unknown node `nobody`',
        'query.upsert_relationships[2].target: expected string, found nothing',
        'query.upsert_relationships[2].type: expected string, found nothing',
        'query.upsert_relationships[3].source: `r` exists and has its source',
      ],
    ],
    [
      'deletions that the policy does not allow',
      { delete_nodes: ['car', 'car.external_id', 'car.property.plate'], delete_relationships: ['r.since'] },
      [
        'query.delete_nodes[0]: the policy does not allow deleting it',
        'query.delete_nodes[1]: is a protected name',
        'query.delete_nodes[2]: the policy does not allow deleting it',
        'query.delete_relationships[0]: the policy does not allow deleting it',
      ],
    ],
    [
      'values that no row could have',
      {
        upsert_nodes: [
          {
            name: 'car',
            properties: [
              { type: 'x', value: ['a', 1] },
              { type: 'y', value: '$' },
            ],
          },
          { name: 'note', type: 'Note', external_id: '$token', labels: ['_AppAgent'] },
        ],
        upsert_relationships: [
          {
            name: 'r',
            properties: [
              {
                type: 'since',
                value: 1,
                metadata: [
                  { type: 'assurance_level', value: 4 },
                  { type: 'verified_time', value: 'today' },
                  { type: 'source', value: '$token.sub' },
                ],
              },
            ],
          },
        ],
      },
      [
        'query.upsert_nodes[0].properties[0].value: expected a string, a finite number, a boolean or an array of one of these',
        'query.upsert_nodes[0].properties[1].value: expected a reference such as `$param`, `$param.member` or `$token.<claim>`',
        'query.upsert_nodes[1].external_id: expected a reference such as `$param`, `$param.member` or `$token.<claim>`',
        'query.upsert_nodes[1].labels[0]: expected a label, or an array of labels, that is not reserved',
        'query.upsert_relationships[0].properties[0].metadata[0].value: expected 1, 2 or 3',
        'query.upsert_relationships[0].properties[0].metadata[1].value: expected an RFC 3339 timestamp',
      ],
    ],
    [
      'relationships instead of nodes, and one name for both',
      {
        upsert_nodes: [{ name: 'note', type: 'Note', external_id: 'n' }],
        upsert_relationships: [
          { name: 'about', source: 'note', target: 'r', type: 'ABOUT' },
          { name: 'note', source: 'note', target: 'car', type: 'ABOUT' },
        ],
      },
      [
        'query.upsert_relationships[0].target: unknown node `r`',
        'query.upsert_relationships[1].name: `note` is a node',
      ],
    ],
    [
      'properties that cannot be written',
      {
        upsert_nodes: [
          { name: 'car', properties: [{ type: 'create_time', value: 1 }, { type: '$x', value: 1 }, { type: 'y' }] },
        ],
      },
      [
        'query.upsert_nodes[0].properties[0].type: is a protected name',
        'query.upsert_nodes[0].properties[1].type: a property is named literally, not by a parameter',
        'query.upsert_nodes[0].properties[2]: expected exactly one of `value` and `external_value`',
      ],
    ],
  ])('for %s', async (_, query, issues) => {
    expect(await issuesOf(query)).toEqual(issues)
  })

  test('without a context policy of its project', async () => {
    const kbac = await addPolicy('decides', {
      meta: { policy_version: '3.0-kbac' },
      subject: { type: 'Person' },
      actions: ['drive'],
      resource: { type: 'Car' },
      condition: { cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)' },
    })
    const draft = await addPolicy('unfinished', { meta: { policy_version: '1.0-ciq' } }, 'DRAFT')
    const elsewhere = (await setup.create('projects', projectBody(setup, { name: 'other' }))).id
    const foreign = await addPolicy('foreign', policyDocument, 'ACTIVE', elsewhere)
    expect(await issuesOf({}, { policy_id: kbac })).toEqual(['policy_id: expected a policy of version `1.0-ciq`'])
    expect(await issuesOf({}, { policy_id: draft })).toEqual(['policy_id: the policy is a draft that cannot be run'])
    expect(await issuesOf({}, { policy_id: foreign })).toEqual([
      `policy_id: no authorization policy \`${foreign}\` in the project`,
    ])
  })
})

test('`var.*` and `var.property.*` mean the same in a deletion', async () => {
  for (const [i, [allowed, requested]] of [
    ['car.property.*', 'car.*'],
    ['car.*', 'car.property.*'],
    ['car.property.*', 'car.property.plate'],
  ].entries()) {
    const own = await addPolicy(`own-${i}`, { ...policyDocument, allowed_deletes: { nodes: [allowed] } })
    valueIn(await create({ delete_nodes: [requested] }, { policy_id: own, name: `deletes-${i}` }))
    expect(await issuesOf({ delete_nodes: ['car'] }, { policy_id: own, name: `deletes-car-${i}` })).toEqual([
      'query.delete_nodes[0]: the policy does not allow deleting it',
    ])
  }
})

test('reserved names are written by no query, whatever its policy allows', async () => {
  const own = await addPolicy('own', {
    ...policyDocument,
    allowed_upserts: {
      nodes: { node_types: ['_AppAgent'] },
      relationships: {
        relationship_types: [{ type: '_HAS', source_node_label: 'Car', target_node_label: '_TrustScore' }],
      },
    },
  })
  const query = {
    upsert_nodes: [{ name: 'agent', type: '_AppAgent', external_id: 'x' }],
    upsert_relationships: [{ name: 'has', source: 'car', target: 'car', type: '_HAS' }],
  }
  expect(await issuesOf(query, { policy_id: own })).toEqual([
    'query.upsert_nodes[0].type: `_AppAgent` is reserved for the service',
    'query.upsert_relationships[0].type: `_HAS` is reserved for the service',
  ])
})

test('a DRAFT may contain anything, for an existing policy', async () => {
  valueIn(await create('{"unfinished":', { status: 'DRAFT' }))
  expect(await issuesOf('{}', { status: 'DRAFT', policy_id: 'gid:none', name: 'other' })).toEqual([
    'policy_id: no authorization policy `gid:none` in the project',
  ])
})

test('a context policy has no effect on decisions, and the log has no error about it', async () => {
  for (const _ of setup.library.warming()) expect.fail('a context policy was compiled')
  expect(isEmptySet(setup.library.find(setup.project, 'Person', 'drive', 'Car'))).toBe(true)
  expect(setup.log).toEqual([])
})

test('a policy can be deleted before its queries', async () => {
  const { body } = valueIn(await create({ nodes: ['car'] }))
  valueIn(await setup.service.remove(setup.admin, setup.kind('authorization-policies'), policy, null))
  expect(setup.read('knowledge-queries', body.id as string).policy_id).toBe(policy)
})
