// The warnings about names in policies and knowledge queries that no capture has ever used.
import { rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApp } from '../../../src/app.ts'
import { PROJECTS_FOLDER } from '../../../src/kernel/folder/data-folder.ts'
import { defaultSettings } from '../../../src/settings.ts'
import { startService, type TestService } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let service: TestService
let made = 0

const node = (type: string, external_id: string, properties: object = {}, more: object = {}) => ({
  type,
  external_id,
  properties: Object.entries(properties).map(([name, value]) => ({ type: name, value })),
  ...more,
})

beforeAll(async () => {
  service = await startService({}, { sync: false })
})
afterAll(() => service?.stop())

async function capture(to: TestService): Promise<void> {
  await to.ask('/capture/v1/nodes', {
    nodes: [
      node('Author', 'ada', { email: 'ada@example.org', name: 'Ada' }, { labels: ['Member'] }),
      node('Page', 'home', { title: 'Home', status: 'open' }),
    ],
  })
  const from = { type: 'Author', external_id: 'ada' }
  const properties = [{ type: 'since', value: 2020 }]
  await to.ask('/capture/v1/relationships', {
    relationships: [{ source: from, type: 'WROTE', target: { type: 'Page', external_id: 'home' }, properties }],
  })
}

function decision(cypher: string, more: object = {}): object {
  return {
    meta: { policy_version: '3.0-kbac' },
    subject: { type: 'Author' },
    actions: ['edit'],
    resource: { type: 'Page' },
    condition: { cypher },
    ...more,
  }
}

function context(cypher: string, more: object = {}): object {
  return { meta: { policy_version: '1.0-ciq' }, subject: { type: 'Author' }, condition: { cypher }, ...more }
}

/** Stores a policy, which must succeed, and returns the response. */
async function store(policy: object | string, status = 'ACTIVE', to = service) {
  made += 1
  const text = typeof policy === 'string' ? policy : JSON.stringify(policy)
  const stored = await to.configure('POST', 'authorization-policies', {
    project_id: to.projectId,
    name: `policy-${made}`,
    policy: text,
    status,
  })
  if (stored.status !== 201) throw new Error(stored.text)
  return stored.body as { id: string; warnings?: string[] }
}

const warningsOf = async (policy: object | string, status?: string) => (await store(policy, status)).warnings

const good = 'MATCH (subject:Author)-[:WROTE]->(resource:Page)'

it('a policy whose exclusion a null turns off is stored with a warning', async () => {
  const cypher = `${good} WHERE NOT EXISTS { (subject)-[b:BANNED]->(resource) WHERE b.region = $context.region }`
  const [warning, ...others] = (await warningsOf(decision(cypher)))!.filter((text) => text.includes('may be null'))
  expect(others).toEqual([])
  expect(warning).toContain('write `coalesce(b.region = $context.region, true)`')
})

describe('a context policy whose subject the caller chooses', () => {
  const cypher = 'MATCH (subject:Author)-[:WROTE]->(page:Page)'
  const identityWarnings = async (policy: object, status?: string): Promise<readonly string[]> =>
    ((await warningsOf(policy, status)) ?? []).filter((text) => /caller/.test(text))

  it('is stored with a warning about the filter that compares with a value of the caller', async () => {
    const filter = [{ operator: '=', attribute: 'subject.external_id', value: '$subject_external_id' }]
    const reads = { allowed_reads: { nodes: ['page.*'] } }
    const policy = context(cypher, { ...reads, condition: { cypher, filter } })
    const expected =
      'policy.condition.filter[0].value: the service does not fill `$subject_external_id` in context queries: the caller chooses its value'
    expect(await identityWarnings(policy)).toEqual([expected])
    expect(await identityWarnings(policy, 'DRAFT')).toEqual([expected])
  })

  it('is stored with a warning about the place in Cypher', async () => {
    const [warning, ...others] = await identityWarnings(
      context(`${cypher} WHERE subject.external_id = $subject_external_id`),
    )
    expect(others).toEqual([])
    expect(warning).toContain('policy.condition.cypher: line 1, column 74: the service does not fill')
  })

  it('is stored with a warning if it never reads the token', async () => {
    const [warning, ...others] = await identityWarnings(context(cypher))
    expect(others).toEqual([])
    expect(warning).toContain('policy.subject.type: nothing ties the subject to the caller')
  })

  it('is stored without one if it reads the token, in Cypher or in a filter, or if the subject is the application', async () => {
    const byToken = [{ operator: '=', attribute: 'subject.external_id', value: '$token.sub' }]
    expect(await identityWarnings(context(`${cypher} WHERE subject.external_id = $token.sub`))).toEqual([])
    expect(await identityWarnings(context(cypher, { condition: { cypher, filter: byToken } }))).toEqual([])
    const application = {
      ...context('MATCH (subject:_Application) MATCH (page:Page)'),
      subject: { type: '_Application' },
    }
    expect(await identityWarnings(application)).toEqual([])
  })
})

it('a policy with a date that does not exist is refused, unless it is a draft', async () => {
  const cypher = `${good} WHERE resource.day < date('2024-02-30')`
  for (const policy of [decision(cypher), context(cypher)]) {
    await expect(store(policy)).rejects.toThrow(
      'policy.condition.cypher: line 1, column 71: date() always fails: `day` is 30, not between 1 and 29',
    )
  }
  const { id } = await store(decision(cypher), 'DRAFT')
  const active = await service.configure('PUT', `authorization-policies/${id}`, { status: 'ACTIVE' })
  expect(active.status).toBe(422)
  expect(active.text).toContain('date() always fails')
})

describe('while nothing was captured', () => {
  it('a policy is stored without warnings, also if an application and an agent exist', async () => {
    const before = await store(decision('MATCH (subject:Writer)-[:WROT {x: 1}]->(resource:Pag) WHERE resource.y = 1'))
    expect(before).not.toHaveProperty('warnings')
    await capture(service)
    // Each request compares anew: an update of the same document reports what is missing by then.
    const policy = JSON.stringify(decision('MATCH (subject:Autor)-[:WROT]->(resource:Page)'))
    const { status, body } = await service.configure('PUT', `authorization-policies/${before.id}`, {
      policy,
      status: 'ACTIVE',
    })
    expect(status).toBe(200)
    expect(body.warnings).toEqual([
      'policy.condition.cypher: line 1, column 16: no node with the label `Autor` was ever captured; did you mean `(:Author)`?\n' +
        'MATCH (subject:Autor)-[:WROT]->(resource:Page)\n               ^^^^^',
      'policy.condition.cypher: line 1, column 25: no relationship of type `WROT` was ever captured; did you mean `[:WROTE]`?\n' +
        'MATCH (subject:Autor)-[:WROT]->(resource:Page)\n                        ^^^^',
    ])
    // An update that changes nothing reports the same.
    const again = await service.configure('PUT', `authorization-policies/${before.id}`, { policy, status: 'ACTIVE' })
    expect(again.body.warnings).toEqual(body.warnings)
    const read = await service.configure('GET', `authorization-policies/${before.id}`)
    expect(read.body).not.toHaveProperty('warnings')
  })
})

describe('a decision policy', () => {
  it('has no warnings if every name was captured, or is a field of nodes, a map or a parameter', async () => {
    for (const cypher of [
      good,
      `${good} WHERE subject.email = $token.mail AND resource.property.title <> $subject_properties.tilte`,
      `${good} WHERE subject:Member AND resource.external_id = 'x' AND resource.create_time IS NOT NULL`,
      'MATCH (subject:Author {email: $mail})-[r:WROTE {since: 2020}]->(resource:Page) WHERE r.since > {value: 1}.valeu',
      'MATCH (subject)-[r]->(resource) WHERE size(keys(r)) >= 0 AND date("2020-01-01").year > 1',
    ]) {
      expect(await warningsOf(decision(cypher)), cypher).toBeUndefined()
    }
  })

  it('has one for each unknown name, with line and column, and is in use nevertheless', async () => {
    const cypher = [
      'MATCH (subject:Author)-[w:WROTE|WROUGHT*1..2 {sinc: 2020}]->(resource:Page)',
      'WHERE resource.tittle = "Home" AND (subject:Membr OR EXISTS { (resource)<-[:LIKES]-(:Reader {nme: "x"}) })',
      'WITH subject, resource, [x IN [1] WHERE resource.property.stauts = x | x] AS found',
      'WHERE size(found) > 0 OR NOT subject:!Author',
    ].join('\n')
    const warnings = await warningsOf(decision(cypher))
    expect(warnings?.map((text) => text.split('\n')[0])).toEqual([
      'policy.condition.cypher: line 1, column 33: no relationship of type `WROUGHT` was ever captured',
      'policy.condition.cypher: line 1, column 47: no property `sinc` was ever captured; did you mean `since`?',
      'policy.condition.cypher: line 2, column 16: no property `tittle` was ever captured; did you mean `title`?',
      'policy.condition.cypher: line 2, column 45: no node with the label `Membr` was ever captured; did you mean `(:Member)`?',
      'policy.condition.cypher: line 2, column 77: no relationship of type `LIKES` was ever captured',
      'policy.condition.cypher: line 2, column 86: no node with the label `Reader` was ever captured',
      'policy.condition.cypher: line 2, column 94: no property `nme` was ever captured; did you mean `name`?',
      'policy.condition.cypher: line 3, column 59: no property `stauts` was ever captured; did you mean `status`?',
    ])
    // The policy decides: an unknown type does not matter if another one is known.
    await store(decision('MATCH (subject:Author)-[:WROTE|WRITES]->(resource:Page)', { actions: ['read'] }))
    const asked = { subject: { type: 'Author', id: 'ada' }, resource: { type: 'Page', id: 'home' } }
    expect((await service.ask('/access/v1/evaluation', { ...asked, action: { name: 'read' } })).body).toEqual({
      decision: true,
    })
  })

  it('has them for the types of subject and resource, and for names of another case', async () => {
    expect(
      await warningsOf(
        decision('MATCH (subject)-[:wrote]->(resource)', { subject: { type: 'Auhtor' }, resource: { type: 'page' } }),
      ),
    ).toEqual([
      'policy.subject.type: no node with the label `Auhtor` was ever captured; did you mean `(:Author)`?',
      'policy.resource.type: no node with the label `page` was ever captured; did you mean `(:Page)`?',
      'policy.condition.cypher: line 1, column 19: no relationship of type `wrote` was ever captured; did you mean `[:WROTE]`?\n' +
        'MATCH (subject)-[:wrote]->(resource)\n                  ^^^^^',
    ])
    // A field of nodes is suggested too.
    const [field] = (await warningsOf(decision(`${good} WHERE resource.externalid = 'home'`))) ?? []
    expect(field).toContain('no property `externalid` was ever captured; did you mean `external_id`?')
  })

  it('names what reads an own field, whose name no property can have', async () => {
    const matched = 'MATCH (subject:Author)-[w:WROTE]->(resource:Page)'
    const messageFor = async (condition: string) => {
      const [warning = '', ...more] = (await warningsOf(decision(`${matched} WHERE ${condition}`))) ?? []
      expect(more, condition).toEqual([])
      return warning.split('\n')[0]?.replace(/^policy\.condition\.cypher: line 1, column \d+: /, '')
    }
    const relationships: [condition: string, message: string, right: string][] = [
      ['w.type = "WROTE"', 'property `type`: their type is `type(r)`', 'type(w) = "WROTE"'],
      ...(['id', 'create_time', 'update_time'] as const).map((name): [string, string, string] => [
        `w.${name} IS NULL`,
        `property \`${name}\`: the own field is \`graph.field(r, '${name}')\``,
        `graph.field(w, '${name}') IS NOT NULL`,
      ]),
      ['startNode(w).external_id <> endNode(w).external_id AND w.external_id = "x"', '`external_id`', 'true'],
      ['EXISTS { (resource)<-[:WROTE {type: "x"}]-() }', 'property `type`: their type is `type(r)`', 'true'],
    ]
    for (const [wrong, message] of relationships) {
      expect(await messageFor(wrong), wrong).toBe(`relationships have no ${message}`)
    }
    expect(await messageFor('resource.id = "home"')).toBe(
      "nodes have no property `id`: `n.external_id` is the external id, and `graph.field(n, 'id')` the id",
    )
    for (const name of ['type', 'external_id', 'create_time', 'update_time']) {
      expect(await messageFor(`resource.property.${name} IS NULL`)).toBe(
        `nodes have no property \`${name}\`: the own field is \`n.${name}\``,
      )
    }
    // The recommended forms have a value, and no warning.
    const right = [
      ...relationships.map(([, , condition]) => condition),
      `resource.external_id = 'home' AND graph.field(resource, 'id') IS NOT NULL`,
      `resource.type = 'Page' AND resource.create_time IS NOT NULL AND resource.update_time IS NOT NULL`,
    ].join(' AND ')
    expect(await warningsOf(decision(`${matched} WHERE ${right}`, { actions: ['inspect'] }))).toBeUndefined()
    const asked = { subject: { type: 'Author', id: 'ada' }, resource: { type: 'Page', id: 'home' } }
    expect((await service.ask('/access/v1/evaluation', { ...asked, action: { name: 'inspect' } })).body).toEqual({
      decision: true,
    })
  })

  it('knows the nodes of the service, and corrects their names only', async () => {
    const application = (label: string, type: string) =>
      decision(`MATCH (subject:${label})<-[:${type}]-(agent:_AppAgent), (resource:Page)`, {
        subject: { type: '_Application' },
      })
    expect(await warningsOf(application('_Application', '_AGENT_OF'))).toBeUndefined()
    const [label, type, ...more] = (await warningsOf(application('_Aplication', '_AGENTOF'))) ?? []
    expect(label).toContain('did you mean `(:_Application)`?')
    expect(type).toContain('did you mean `[:_AGENT_OF]`?')
    expect(more).toEqual([])
    // The service writes trust scores only later.
    expect(await warningsOf(decision(`${good} WHERE EXISTS { (resource)-[:_HAS]->(:_TrustScore) }`))).toBeUndefined()
  })

  it('has them as a draft too, unless the draft does not compile', async () => {
    const policy = decision('MATCH (subject:Author)-[:WROET]->(resource:Page)')
    const [warning, ...more] = (await warningsOf(policy, 'DRAFT')) ?? []
    expect(warning).toContain('line 1, column 26: no relationship of type `WROET`')
    expect(more).toEqual([])
    expect(await warningsOf(policy, 'INACTIVE')).toEqual([warning])
    for (const draft of ['not JSON', '{}', JSON.stringify(decision('MATCH (subject:Autor)-[:WROET]->('))]) {
      expect(await warningsOf(draft, 'DRAFT'), draft).toBeUndefined()
    }
  })

  it('has no more than 100, of a document of any size', async () => {
    const labels = Array.from({ length: 150 }, (_, i) => `subject:Author${i}x`)
    const warnings = await warningsOf(decision(`${good} WHERE ${labels.join(' OR ')}`))
    expect(warnings).toHaveLength(101)
    expect(warnings?.at(-1)).toBe('and 50 more')
  })
})

describe('a policy of context queries and its queries', () => {
  it('have them for filters and paths as well', async () => {
    const { id, warnings } = await store(
      context('MATCH (subject:Author)-[w:WROTE]->(page:Page) OPTIONAL MATCH (page)-[:PARENT]->(up:Page)', {
        condition: {
          cypher: 'MATCH (subject:Author)-[w:WROTE]->(page:Page) OPTIONAL MATCH (page)-[:PARENT]->(up:Page)',
          filter: [
            {
              operator: 'AND',
              operands: [
                { operator: '=', attribute: 'subject.property.emial', value: '$token.email' },
                { operator: 'IN', attribute: 'subject.external_id', value: '@page.property.reviewers' },
              ],
            },
          ],
        },
        allowed_reads: {
          nodes: ['page.*', 'page.property.titel', 'page.property.title.metadata.source', 'subject.external_id'],
          relationships: ['w', 'w.sinse'],
        },
        allowed_deletes: { nodes: ['page.property.drafts'] },
      }),
    )
    expect(warnings?.map((text) => text.split('\n')[0])).toEqual([
      'policy.condition.cypher: line 1, column 71: no relationship of type `PARENT` was ever captured',
      'policy.condition.filter[0].operands[0].attribute: no property `emial` was ever captured; did you mean `email`?',
      'policy.condition.filter[0].operands[1].value: no property `reviewers` was ever captured',
      'policy.allowed_reads.nodes[1]: no property `titel` was ever captured; did you mean `title`?',
      'policy.allowed_reads.relationships[1]: no property `sinse` was ever captured; did you mean `since`?',
      'policy.allowed_deletes.nodes[0]: no property `drafts` was ever captured',
    ])
    const query = async (document: object, status = 'ACTIVE') => {
      made += 1
      const stored = await service.configure('POST', 'knowledge-queries', {
        project_id: service.projectId,
        name: `query-${made}`,
        policy_id: id,
        query: JSON.stringify(document),
        status,
      })
      if (stored.status !== 201) throw new Error(stored.text)
      return stored.body as { id: string; warnings?: string[] }
    }
    expect(await query({ nodes: ['page.property.title', 'page', 'page.*'] })).not.toHaveProperty('warnings')
    const document = {
      nodes: ['page.property.title', 'page.property.statsu'],
      relationships: ['w.sinse'],
      filter: { operator: '=', attribute: 'page.property.tilte', value: 'Home' },
      delete_nodes: ['page.property.drafts'],
    }
    const expected = [
      'query.nodes[1]: no property `statsu` was ever captured; did you mean `status`?',
      'query.relationships[0]: no property `sinse` was ever captured; did you mean `since`?',
      'query.delete_nodes[0]: no property `drafts` was ever captured',
      'query.filter.attribute: no property `tilte` was ever captured; did you mean `title`?',
    ]
    const stored = await query(document)
    expect(stored.warnings).toEqual(expected)
    expect((await query(document, 'DRAFT')).warnings).toEqual(expected)
    expect(await query({ nodes: 1 }, 'DRAFT')).not.toHaveProperty('warnings')
    const updated = await service.configure('PUT', `knowledge-queries/${stored.id}`, {
      policy_id: id,
      query: JSON.stringify({ nodes: ['page.property.titels'] }),
      status: 'ACTIVE',
    })
    expect(updated.body.warnings).toEqual([
      'query.nodes[0]: no property `titels` was ever captured; did you mean `title`?',
    ])
  })

  it('have none for what they write themselves', async () => {
    const { id, warnings } = await store(
      context(
        'MATCH (subject:Author)-[w:WROTE]->(page:Page) OPTIONAL MATCH (page)-[:HAS_NOTE]->(note:Note) WITH subject, w, page, note WHERE page.reviewed IS NULL AND w.approved IS NULL AND subject.external_id = $token.sub',
        {
          allowed_reads: { nodes: ['page.property.reviewed', 'fresh.*'], relationships: ['w.approved'] },
          allowed_upserts: {
            nodes: { existing_nodes: ['page'], node_types: ['Note'] },
            relationships: {
              existing_relationships: ['w'],
              relationship_types: [{ type: 'HAS_NOTE', source_node_label: 'Page', target_node_label: 'Note' }],
            },
          },
        },
      ),
    )
    expect(warnings).toBeUndefined()
    const stored = await service.configure('POST', 'knowledge-queries', {
      project_id: service.projectId,
      name: 'review',
      policy_id: id,
      query: JSON.stringify({
        nodes: ['page.property.reviewed', 'fresh.property.body'],
        upsert_nodes: [
          { name: 'page', properties: [{ type: 'reviewed', value: true }] },
          { name: 'fresh', type: 'Note', external_id: 'n1', properties: [{ type: 'body', value: 'ok' }] },
        ],
      }),
      status: 'ACTIVE',
    })
    expect([stored.status, stored.body.warnings]).toEqual([201, undefined])
  })
})

describe('the names of a project', () => {
  it('are not checked while its graph is unavailable, which is a warning itself', async () => {
    const dataDir = join(temporaryFolder(), 'data')
    const before = await startService({ dataDir }, { sync: false })
    await capture(before)
    await before.stop()
    rmSync(join(dataDir, PROJECTS_FOLDER), { recursive: true })
    const app = await createApp({ ...defaultSettings, port: 0, dataDir }, { sync: false, log: () => undefined })
    try {
      const { url } = await app.listen()
      const answer = await fetch(`${url}/configs/v1/authorization-policies`, {
        method: 'POST',
        headers: { authorization: `Bearer ${await app.issueAdminToken(120)}`, 'content-type': 'application/json' },
        body: JSON.stringify({
          project_id: before.projectId,
          name: 'unchecked',
          policy: JSON.stringify(decision('MATCH (subject:Autor)-[:WROT]->(resource:Page)')),
          status: 'ACTIVE',
        }),
      })
      expect([answer.status, await answer.json()]).toEqual([
        201,
        expect.objectContaining({
          warnings: ['the names in the document were not checked: the knowledge graph of this project is unavailable'],
        }),
      ])
    } finally {
      await app.close()
    }
  })

  it('are those of all its constituents, and outlast the elements that had them', async () => {
    const composite = await startService({}, { sync: false })
    try {
      const connection = { url: 'lmdb:', composite_db_name: 'all', alias_mapping: 'eu=eu-db&us=us-db&de=eu-db' }
      await composite.configure('PUT', `projects/${composite.projectId}`, { db_connection: connection })
      const at = (type: string, location: string, properties = {}) => node(type, 'x', properties, { location })
      const captured = await composite.ask('/capture/v1/nodes', {
        nodes: [at('Clerk', 'eu', { rank: 1 }), at('Account', 'us', { iban: 'x' }), at('Former', 'us')],
      })
      expect(captured.status).toBe(200)
      const end = (type: string) => ({ type, external_id: 'x' })
      const joined = await composite.ask('/capture/v1/relationships', {
        relationships: [{ source: end('Clerk'), type: 'MANAGES', target: end('Account') }],
        use_global_db: true,
      })
      expect(joined.status).toBe(200)
      await composite.ask('/capture/v1/nodes/delete', { nodes: [{ ...end('Former'), location: 'us' }] })
      const types = { subject: { type: 'Clerk' }, resource: { type: 'Account' } }
      const known =
        'MATCH (subject:Clerk {rank: 1})-[:MANAGES]->(resource:Account {iban: $iban}) WHERE NOT resource:Former'
      expect(await store(decision(known, types), 'ACTIVE', composite)).not.toHaveProperty('warnings')
      const unknown = 'MATCH (subject:Clerck {rang: 1})-[:MANAGE]->(resource:Acount {ibam: $iban})'
      const { warnings } = await store(decision(unknown, types), 'ACTIVE', composite)
      expect(warnings?.map((text) => text.split('\n')[0]?.split('did you mean ')[1])).toEqual([
        '`(:Clerk)`?',
        '`rank`?',
        '`[:MANAGES]`?',
        '`(:Account)`?',
        '`iban`?',
      ])
    } finally {
      await composite.stop()
    }
  })
})
