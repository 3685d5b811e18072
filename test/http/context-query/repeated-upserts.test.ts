// Upserts of knowledge queries are merges: clients repeat calls, and others may have written the element before.
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ContextService, startContextService } from '../../support/context-service.ts'
import { type McpService, startMcpService } from '../../support/mcp-service.ts'

interface WholeElement {
  readonly Type: string
  readonly Labels: readonly string[]
  readonly Props: Readonly<Record<string, unknown>>
}
type ElementsByPath = Readonly<Record<string, WholeElement>>
interface AnsweredRecord {
  readonly nodes: ElementsByPath
  readonly relationships: ElementsByPath
}

let setup: ContextService
const asked: string[] = []
/** Answers with the query text that a resolver was called with. */
const upstream = createServer((request, response) => {
  asked.push(request.url ?? '')
  response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ answer: request.url }))
})

beforeAll(async () => {
  await new Promise<void>((resolve) => upstream.listen(0, '127.0.0.1', resolve))
  setup = await startContextService({ upstreamAllow: '127.0.0.1' })
})
afterAll(async () => {
  await setup.stop()
  upstream.closeAllConnections()
  upstream.close()
})

const node = (type: string, external_id: string, properties: object = {}, more: object = {}) => ({
  type,
  external_id,
  properties: Object.entries(properties).map(([name, value]) => ({ type: name, value })),
  ...more,
})
async function captured(path: 'nodes' | 'relationships', items: object[]): Promise<void> {
  const { status, text } = await setup.capture(path, { [path]: items })
  if (status !== 200) throw new Error(text)
}
async function run(id: string, input_params: object = {}): Promise<AnsweredRecord[]> {
  const { status, body, text } = await setup.execute(id, { input_params })
  expect([status, text]).toEqual([200, text])
  return body.data as AnsweredRecord[]
}

describe('a repeated upsert of a relationship', () => {
  const policy = {
    subject: { type: '_Application' },
    condition: {
      cypher: 'MATCH (subject:_Application), (track:Track), (venue:Venue) WHERE venue.external_id = $venue',
    },
    allowed_upserts: {
      relationships: {
        relationship_types: [{ type: 'PLAYED_AT', source_node_label: 'Track', target_node_label: 'Venue' }],
      },
    },
  }
  const played = { name: 'n', source: 'track', target: 'venue', type: 'PLAYED_AT' }
  const single = {
    ...policy,
    condition: { cypher: `${policy.condition.cypher} AND track.external_id = $track` },
  }
  const end = (type: string, external_id: string) => ({ type, external_id })
  const props = (record: AnsweredRecord | undefined) => Object.keys(record?.relationships.n?.Props ?? {})

  beforeAll(() =>
    captured('nodes', [
      ...['t1', 't2', 't3', 't4'].map((id) => node('Track', id)),
      ...['v1', 'v2', 'v3', 'v4'].map((id) => node('Venue', id)),
    ]),
  )

  it('returns the same relationship', async () => {
    const id = await setup.addQuery('played', single, { relationships: ['n'], upsert_relationships: [played] })
    const lasting = async () => {
      const [row] = await run(id, { track: 't1', venue: 'v1' })
      const { Props, ...members } = row!.relationships.n!
      const { update_time, ...fields } = Props
      expect(update_time).toEqual(expect.any(String))
      return { ...members, fields }
    }
    const first = await lasting()
    expect(first).toMatchObject({ Type: 'PLAYED_AT', fields: { id: expect.stringMatching(/^gid:/) } })
    for (let call = 0; call < 3; call++) expect(await lasting()).toEqual(first)
  })

  it('returns what the call wrote, and no property that the policy does not allow to read', async () => {
    const hidden = [
      { type: 'fee', value: 4321 },
      { type: 'crowd', value: 90 },
    ]
    await captured('relationships', [
      { source: end('Track', 't2'), target: end('Venue', 'v2'), type: 'PLAYED_AT', properties: hidden },
    ])
    const write = { ...played, properties: [{ type: 'volume', value: 11 }] }
    const fields = ['create_time', 'id', 'update_time']
    const query = {
      relationships: ['n', 'n.*', 'n.type', 'n.volume', 'n.fee', 'n.crowd'],
      upsert_relationships: [write],
    }
    const whole = await setup.addQuery('whole', single, query)
    const some = await setup.addQuery('some', { ...single, allowed_reads: { relationships: ['n.crowd'] } }, query)
    const all = await setup.addQuery('all', { ...single, allowed_reads: { relationships: ['n.*'] } }, query)
    const answer = async (id: string) =>
      (await run(id, { track: 't2', venue: 'v2' }))[0]?.relationships as ElementsByPath
    const names = (entries: unknown) => (entries as { type: string }[]).map(({ type }) => type)
    for (const [id, seen] of [
      [whole, ['volume']],
      [some, ['crowd', 'volume']],
      [all, ['fee', 'crowd', 'volume']],
    ] as const) {
      const { n, 'n.*': star, ...paths } = await answer(id)
      expect(Object.keys(n!.Props)).toEqual([...fields, ...seen])
      expect(names(star)).toEqual(['create_time', 'id', 'type', 'update_time', ...seen])
      expect(Object.keys(paths)).toEqual(
        ['n.type', 'n.volume', 'n.fee', 'n.crowd'].filter(
          (path) => path === 'n.type' || (seen as readonly string[]).includes(path.slice(2)),
        ),
      )
    }
  })

  it('of which some rows existed returns a record for each row', async () => {
    await captured('relationships', [
      {
        source: end('Track', 't3'),
        target: end('Venue', 'v3'),
        type: 'PLAYED_AT',
        properties: [{ type: 'fee', value: 4321 }],
      },
    ])
    const id = await setup.addQuery('every-track', policy, {
      relationships: ['n', 'n.seat'],
      upsert_relationships: [{ ...played, properties: [{ type: 'seat', value: '$seat' }] }],
    })
    for (const seat of [1, 2, 2]) {
      const rows = await run(id, { venue: 'v3', seat })
      expect(rows).toHaveLength(4)
      for (const row of rows) {
        expect(props(row)).toEqual(['create_time', 'id', 'update_time', 'seat'])
        expect(row.relationships['n.seat']).toBe(seat)
      }
    }
  })

  it('succeeds for callers at the same time, and for a retry after them', async () => {
    const id = await setup.addQuery('at-once', single, { relationships: ['n.id'], upsert_relationships: [played] })
    const params = { track: 't4', venue: 'v4' }
    const answers = await Promise.all(Array.from({ length: 20 }, () => run(id, params)))
    const ids = new Set([...answers, await run(id, params)].map(([row]) => row?.relationships['n.id']))
    expect([...ids]).toEqual([expect.stringMatching(/^gid:/)])
  })
})

describe('a repeated upsert of a node', () => {
  const policy = {
    subject: { type: '_Application' },
    condition: { cypher: 'MATCH (subject:_Application), (area:Area)' },
    allowed_upserts: { nodes: { existing_nodes: ['area'], node_types: ['Area', 'Visit'] } },
    allowed_deletes: { nodes: ['area.property.draft'] },
  }
  const visit = (properties: object[]) => ({ name: 'visit', type: 'Visit', external_id: '$id', properties })

  beforeAll(() =>
    captured('nodes', [
      ...['a1', 'a2', 'a3'].map((id) => node('Area', id, { secret: `key of ${id}`, draft: 1 })),
      node(
        'Visit',
        'known',
        { note: 'hidden note', host: 'hidden host', draft: 'hidden draft' },
        { labels: ['Private'] },
      ),
    ]),
  )

  it('by several rows and under two names returns what any of them wrote', async () => {
    const id = await setup.addQuery('two-names', policy, {
      nodes: ['visit', 'other', 'visit.property.reason', 'other.property.purpose', 'visit.property.host'],
      upsert_nodes: [
        visit([{ type: 'purpose', value: 'tour' }]),
        { ...visit([{ type: 'reason', value: 'work' }]), name: 'other' },
      ],
    })
    for (const key of ['known', 'known', 'new', 'new']) {
      const rows = await run(id, { id: key })
      expect(rows).toHaveLength(3)
      for (const { nodes } of rows) {
        expect(nodes).toMatchObject({ 'visit.property.reason': 'work', 'other.property.purpose': 'tour' })
        expect('visit.property.host' in nodes).toBe(false)
        for (const name of ['visit', 'other']) {
          expect(nodes[name]?.Labels).toEqual(['Visit'])
          const { purpose, reason, external_id, host, note } = nodes[name]!.Props
          expect([purpose, reason, external_id, host, note]).toEqual(['tour', 'work', key, undefined, undefined])
        }
      }
    }
  })

  it('returns the labels that it wrote, and the metadata of what it wrote', async () => {
    const id = await setup.addQuery('labels', policy, {
      nodes: ['visit', 'visit.property.host.metadata.source', 'visit.property.note.metadata.source'],
      upsert_nodes: [
        {
          ...visit([{ type: 'host', value: 'ann', metadata: [{ type: 'source', value: 'desk' }] }]),
          labels: ['Public'],
        },
      ],
    })
    await captured('nodes', [
      {
        ...node('Visit', 'labelled', {}, { labels: ['Private'] }),
        properties: [{ type: 'note', value: 'n', metadata: { source: 'hidden source' } }],
      },
    ])
    const [row] = await run(id, { id: 'labelled' })
    expect(row?.nodes).toEqual({
      visit: expect.objectContaining({ Labels: expect.arrayContaining(['Visit', 'Public']) }),
      'visit.property.host.metadata.source': 'desk',
    })
    expect(JSON.stringify(row)).not.toMatch(/Private|hidden/)
  })

  it('that the pattern binds as well shows under the name of the query only what the call wrote', async () => {
    const id = await setup.addQuery('bound-too', policy, {
      nodes: ['same.property.*', 'same.property.draft', 'same.property.seen', 'same.property.secret'],
      filter: { operator: '=', attribute: 'area.external_id', value: '$id' },
      upsert_nodes: [
        { name: 'area', properties: [{ type: 'seen', value: true }] },
        { name: 'same', type: 'Area', external_id: '$id', properties: [{ type: 'draft', value: 2 }] },
      ],
      delete_nodes: ['area.property.draft'],
    })
    for (let call = 0; call < 2; call++) {
      expect(await run(id, { id: 'a1' })).toEqual([
        {
          nodes: {
            'same.property.*': [{ type: 'seen', value: true }],
            'same.property.draft': null,
            'same.property.seen': true,
          },
        },
      ])
    }
  })

  it('shows whether a guessed id is that of a node that the policy allows to update, and the order of names', async () => {
    const id = await setup.addQuery('guessed', policy, {
      nodes: ['same.property.*', 'same.property.checked'],
      filter: { operator: '=', attribute: 'area.external_id', value: 'a1' },
      upsert_nodes: [
        { name: 'area', properties: [{ type: 'checked', value: true }] },
        {
          name: 'same',
          type: 'Area',
          external_id: '$id',
          properties: [
            { type: 'guess', value: 3 },
            { type: 'draft', value: 2 },
          ],
        },
      ],
    })
    // In the order in which the graph saw the names first, not in that of the query.
    const own = [
      { type: 'draft', value: 2 },
      { type: 'checked', value: true },
      { type: 'guess', value: 3 },
    ]
    for (let call = 0; call < 2; call++) {
      expect(await run(id, { id: 'a1' })).toEqual([
        { nodes: { 'same.property.*': own, 'same.property.checked': true } },
      ])
      expect(await run(id, { id: 'a2' })).toEqual([
        { nodes: { 'same.property.*': own.filter(({ type }) => type !== 'checked') } },
      ])
    }
  })

  it('resolves a written property without what the policy does not allow to read', async () => {
    const { port } = upstream.address() as AddressInfo
    const at = `http://127.0.0.1:${port}`
    for (const [name, url, method, request_payload] of [
      ['lookup', `${at}/of?visit={$external_id}&reason={$reason}&host={$host}`, 'GET', ''],
      ['default', `${at}/of?host={$host || none}`, 'GET', ''],
      ['payload', `${at}/of`, 'POST', '{"host": {$host || "none"}}'],
    ]) {
      const created = await setup.service.configure('POST', 'external-data-resolvers', {
        project_id: setup.service.projectId,
        name,
        url,
        method,
        request_payload,
        request_content_type: 'JSON',
        response_content_type: 'JSON',
        response_selector: '.answer',
      })
      expect([created.status, created.text]).toEqual([201, created.text])
    }
    const query = {
      nodes: ['visit.property.found'],
      upsert_nodes: [
        visit([
          { type: 'reason', value: 'work' },
          { type: 'found', external_value: 'lookup' },
        ]),
      ],
      filter: { operator: '=', attribute: 'area.external_id', value: 'a1' },
    }
    const closed = await setup.addQuery('resolved', policy, query)
    const open = await setup.addQuery('resolved-open', { ...policy, allowed_reads: { nodes: ['visit.*'] } }, query)
    await captured('nodes', [node('Visit', 'hosted', { host: 'hidden host' }), node('Visit', 'free')])
    asked.length = 0
    const answer = async (id: string, params: object) => {
      const { status, body } = await setup.execute(id, { input_params: params })
      const [row] = body.data as AnsweredRecord[]
      return [status, row?.nodes['visit.property.found'], body.warnings]
    }
    // The caller cannot replace what the graph holds, and does not learn it.
    const refused = 'property `found`, external data resolver `lookup`: there is no scalar value for `{$host}`'
    expect(await answer(closed, { id: 'hosted', host: 'mine' })).toEqual([200, null, [refused]])
    expect(await answer(closed, { id: 'hosted' })).toEqual([200, null, [refused]])
    for (const name of ['default', 'payload']) {
      const [written] = query.upsert_nodes
      const properties = [{ type: 'found', external_value: name }]
      const id = await setup.addQuery(`resolved-${name}`, policy, {
        ...query,
        upsert_nodes: [{ ...written, properties }],
      })
      expect(await answer(id, { id: 'hosted', host: 'mine' })).toEqual([200, null, [refused.replace('lookup', name)]])
      expect((await answer(id, { id: 'free' }))[2]).toBeUndefined()
    }
    expect(asked).toEqual(['/of?host=none', '/of'])
    for (let call = 0; call < 2; call++) {
      const url = '/of?visit=free&reason=work&host=mine'
      expect(await answer(closed, { id: 'free', host: 'mine' })).toEqual([200, url, undefined])
    }
    expect(await answer(open, { id: 'hosted', host: 'mine' })).toEqual([
      200,
      '/of?visit=hosted&reason=work&host=hidden%20host',
      undefined,
    ])
  })
})

describe('a repeated upsert over MCP', () => {
  let mcp: McpService
  beforeAll(async () => {
    mcp = await startMcpService()
  })
  afterAll(() => mcp.stop())

  it('returns the relationship at each call of ciq_execute', async () => {
    const { service, create } = mcp
    const secret = [{ type: 'secret', value: 'hidden' }]
    const end = (type: string, external_id: string) => ({ type, external_id })
    await service.ask('/capture/v1/relationships', {
      relationships: [{ source: end('Person', 'ann'), target: end('Car', 'c1'), type: 'LIKES', properties: secret }],
    })
    const policy_id = await create('authorization-policies', {
      name: 'likes',
      status: 'ACTIVE',
      policy: JSON.stringify({
        meta: { policy_version: '1.0-ciq' },
        subject: { type: 'Person' },
        condition: {
          cypher: 'MATCH (subject:Person)-[:OWNS]->(car:Car)',
          filter: [{ operator: '=', attribute: 'subject.external_id', value: '$token.sub' }],
        },
        allowed_upserts: {
          relationships: {
            relationship_types: [{ type: 'LIKES', source_node_label: 'Person', target_node_label: 'Car' }],
          },
        },
      }),
    })
    await create('knowledge-queries', {
      name: 'like-my-cars',
      status: 'ACTIVE',
      policy_id,
      query: JSON.stringify({
        relationships: ['likes', 'likes.stars'],
        upsert_relationships: [
          {
            name: 'likes',
            source: 'subject',
            target: 'car',
            type: 'LIKES',
            properties: [{ type: 'stars', value: '$stars' }],
          },
        ],
      }),
    })
    const token = await mcp.tokenOf('ann')
    for (const stars of [3, 4, 4]) {
      const answer = await mcp.ask(token, 'tools/call', {
        name: 'ciq_execute',
        arguments: { id: 'like-my-cars', input_params: { stars } },
      })
      const { structuredContent, isError } = answer.body.result as {
        structuredContent: { data: AnsweredRecord[] }
        isError?: boolean
      }
      expect([answer.status, isError ?? false]).toEqual([200, false])
      expect(structuredContent.data).toHaveLength(2)
      for (const { relationships } of structuredContent.data) {
        expect(relationships).toMatchObject({ likes: { Type: 'LIKES', Props: { stars } }, 'likes.stars': stars })
      }
      expect(answer.text).not.toContain('hidden')
    }
  })
})
