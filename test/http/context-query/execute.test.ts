import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ContextService, startContextService } from '../../support/context-service.ts'

let setup: ContextService
const logged: string[] = []
beforeAll(async () => {
  setup = await startContextService({}, { log: ({ message }) => logged.push(message) })
  const people = ['ann', 'bob'].map((external_id) => ({
    type: 'Person',
    external_id,
    is_identity: true,
    properties: [{ type: 'email', value: `${external_id}@example.org` }],
  }))
  const cars = Array.from({ length: 25 }, (_, i) => ({
    type: 'Car',
    external_id: `c${String(i).padStart(2, '0')}`,
    properties: [
      {
        type: 'price',
        value: 1000 * i,
        metadata: { source: i % 2 === 0 ? 'desk' : 'web', custom_metadata: { by: i } },
      },
      { type: 'plate', value: `P-${i}` },
    ],
  }))
  await setup.capture('nodes', { nodes: [...people, ...cars, { type: 'Place', external_id: 'p1' }] })
  const owns = cars.map(({ external_id }, i) => ({
    source: { type: 'Person', external_id: i < 20 ? 'ann' : 'bob' },
    target: { type: 'Car', external_id },
    type: 'OWNS',
    properties: [{ type: 'since', value: 2000 + i }],
  }))
  const parked = {
    source: { type: 'Car', external_id: 'c00' },
    target: { type: 'Place', external_id: 'p1' },
    type: 'PARKED',
  }
  await setup.capture('relationships', { relationships: [...owns, parked] })
})
afterAll(() => setup.stop())

const ownCars = {
  subject: { type: 'Person' },
  condition: {
    cypher: 'MATCH (subject:Person)-[r:OWNS]->(car:Car) OPTIONAL MATCH (car)-[:PARKED]->(place:Place)',
    filter: [{ operator: '=', attribute: 'subject.external_id', value: '$token.sub' }],
  },
  allowed_reads: {
    nodes: [
      'car.*',
      'car.property.price.metadata.source',
      'car.property.price.metadata.by',
      'place',
      'subject.external_id',
    ],
    relationships: ['r', 'r.since'],
  },
}

describe('execute', () => {
  it('returns the rows for the person of the token, path by path', async () => {
    const id = await setup.addQuery('paths', ownCars, {
      nodes: [
        'car.external_id',
        'car.property.price',
        'car.property.price.metadata.source',
        'car.property.*',
        'place',
        'car',
      ],
      relationships: ['r', 'r.since'],
      filter: { operator: '=', attribute: 'car.external_id', value: '$car' },
    })
    const token = await setup.tokenOf('ann')
    const { status, body } = await setup.execute(id, { input_params: { car: 'c01' } }, token)
    expect(status).toBe(200)
    const [record] = body.data as { nodes: Record<string, unknown>; relationships: Record<string, unknown> }[]
    expect(record?.nodes).toMatchObject({
      'car.external_id': 'c01',
      'car.property.price': 1000,
      'car.property.price.metadata.source': 'web',
      'car.property.*': [
        { type: 'price', value: 1000 },
        { type: 'plate', value: 'P-1' },
      ],
      place: null,
      car: { Labels: ['Car'], Props: { external_id: 'c01', type: 'Car', price: 1000, plate: 'P-1' } },
    })
    expect(record?.relationships).toMatchObject({ 'r.since': 2001, r: { Type: 'OWNS', Props: { since: 2001 } } })
    const others = await setup.execute(id, { input_params: { car: 'c24' } }, token)
    expect(others.body).toEqual({ data: [] })
  })

  it('returns the own fields of a relationship by path and as part of `r.*`, and filters by them', async () => {
    const policy = { ...ownCars, allowed_reads: { relationships: ['r', 'r.*'] } }
    const query = {
      relationships: ['r', 'r.*', 'r.id', 'r.type', 'r.create_time', 'r.update_time', 'r.since', 'r.property.since'],
      filter: {
        operator: 'AND',
        operands: [
          { operator: '=', attribute: 'r.type', value: 'OWNS' },
          { operator: '<=', attribute: 'r.create_time', value: { type: 'datetime', value: '$now' } },
          { operator: '=', attribute: 'r.property.since', value: 2003 },
        ],
      },
    }
    const token = await setup.tokenOf('ann')
    const input_params = { now: new Date().toISOString() }
    const rows = async (id: string) => {
      const { status, body, text } = await setup.execute(id, { input_params }, token)
      expect([status, text]).toEqual([200, text])
      return (body.data as { relationships: Record<string, never> }[]).map(({ relationships }) => relationships)
    }
    const [own, ...others] = await rows(await setup.addQuery('own-fields', policy, query))
    expect(others).toEqual([])
    const { ElementId, Props } = own!.r as unknown as { ElementId: string; Props: Record<string, string> }
    const { create_time, update_time } = Props
    expect(ElementId).toMatch(/^gid:/)
    expect(own).toEqual({
      r: own?.r,
      'r.*': [
        { type: 'create_time', value: create_time },
        { type: 'id', value: ElementId },
        { type: 'type', value: 'OWNS' },
        { type: 'update_time', value: update_time },
        { type: 'since', value: 2003 },
      ],
      'r.id': ElementId,
      'r.type': 'OWNS',
      'r.create_time': create_time,
      'r.update_time': update_time,
      'r.since': 2003,
      'r.property.since': 2003,
    })
    const none = { ...query, filter: { operator: '<>', attribute: 'r.type', value: 'OWNS' } }
    expect(await rows(await setup.addQuery('no-own-fields', policy, none))).toEqual([])
  })

  it('refuses to store a path that can never have a value', async () => {
    const store = async (kind: string, name: string, more: object) => {
      const body = { project_id: setup.service.projectId, name, status: 'ACTIVE', ...more }
      const { status, body: answer } = await setup.service.configure('POST', kind, body)
      return [status, answer.errors]
    }
    const policy = (allowed_reads: object) => ({
      policy: JSON.stringify({ meta: { policy_version: '1.0-ciq' }, ...ownCars, allowed_reads }),
    })
    const problem = 'no relationship has a property `external_id`, because the name is protected'
    expect(await store('authorization-policies', 'no-path', policy({ relationships: ['r.external_id'] }))).toEqual([
      422,
      [`policy.allowed_reads.relationships[0]: ${problem}`],
    ])
    const { body } = await setup.service.configure('POST', 'authorization-policies', {
      project_id: setup.service.projectId,
      name: 'all-of-r',
      status: 'ACTIVE',
      ...policy({ relationships: ['r.*'] }),
    })
    const query = JSON.stringify({ relationships: ['r.type', 'r.external_id'] })
    expect(await store('knowledge-queries', 'no-path', { policy_id: body.id, query })).toEqual([
      422,
      [`query.relationships[1]: ${problem}`],
    ])
  })

  it('finds a query by its name too, and no missing one', async () => {
    const token = await setup.tokenOf('bob')
    expect((await setup.execute('paths', { input_params: { car: 'c24' } }, token)).body.data).toHaveLength(1)
    const { status, body } = await setup.execute('no-such-query', {}, token)
    expect([status, body.message]).toEqual([404, 'no active knowledge query `no-such-query`'])
  })

  it('requires a token if the subject is a person, and every parameter', async () => {
    const unknown = await setup.execute('paths', { input_params: { car: 'c01' } })
    expect([unknown.status, unknown.body.message]).toEqual([401, 'end-user token is required'])
    const token = await setup.tokenOf('ann')
    const lacking = await setup.execute('paths', {}, token)
    expect([lacking.status, lacking.body.errors]).toEqual([422, ["missing or wrong input params, 'car'"]])
    const forged = await setup.execute('paths', { input_params: { car: 'c24', token: { sub: 'bob' } } }, token)
    expect([forged.status, forged.body.errors]).toEqual([422, ['input_params.token: reserved, filled by the service']])
  })

  it('refuses a string that is too long, at any depth of the parameters', async () => {
    const token = await setup.tokenOf('ann')
    const asked = (more: unknown) => setup.execute('paths', { input_params: { car: 'c01', more } }, token)
    const fits = 'x'.repeat(65_536)
    expect((await asked([0, { b: fits, [fits]: null }])).status).toBe(200)
    const deep = await asked([0, 0, 0, { b: `${fits}x` }])
    expect([deep.status, deep.body.errors]).toEqual([
      422,
      ['input_params.more[3].b: expected at most 65536 characters, found 65537'],
    ])
    const name = await asked({ [`${fits}x`]: null })
    expect([name.status, name.body.errors]).toEqual([
      422,
      ['input_params.more: expected names of at most 65536 characters, found one of 65537'],
    ])
  })

  it('returns pages that together are the whole, in a stable order', async () => {
    const id = await setup.addQuery('pages', ownCars, { nodes: ['car.external_id'] })
    const token = await setup.tokenOf('ann')
    const rows = async (page_token: number, page_size: number): Promise<string[]> => {
      const { body } = await setup.execute(id, { page_token, page_size }, token)
      return (body.data as { nodes: Record<string, string> }[]).map(({ nodes }) => nodes['car.external_id'] as string)
    }
    const whole = await rows(0, 100)
    expect(whole).toHaveLength(20)
    for (const size of [1, 3, 7, 20]) {
      const joined: string[] = []
      for (let token = 0; ; token += size) {
        const page = await rows(token, size)
        joined.push(...page)
        if (page.length < size) break
      }
      expect(joined).toEqual(whole)
    }
    expect(await rows(-5, 3)).toEqual(whole.slice(0, 3))
    // Clients that count pages start with 1.
    expect(await rows(1, 3)).toEqual(whole.slice(0, 3))
    expect(await rows(1, 1)).toEqual(whole.slice(1, 2))
  })

  it('returns pages in the same order in every process, also if one ran the query on an earlier state of the graph', async () => {
    const policy = {
      subject: { type: 'Person' },
      condition: { cypher: 'MATCH (subject:Person)-[:FLIES]->(plane:Plane)' },
      allowed_reads: { nodes: ['subject.external_id', 'plane.external_id'] },
    }
    const query = { nodes: ['subject.external_id', 'plane.external_id'] }
    const token = await setup.tokenOf('ann')
    const plane = (external_id: string) => ({ type: 'Plane', external_id })
    const flies = (person: string, to: string) => ({
      source: { type: 'Person', external_id: person },
      target: plane(to),
      type: 'FLIES',
    })
    await setup.capture('nodes', { nodes: [plane('x0')] })
    await setup.capture('relationships', { relationships: [flies('bob', 'x0')] })
    const id = await setup.addQuery('flown', policy, query)
    const rows = async () => (await setup.execute(id, {}, token)).body.data
    expect(await rows()).toHaveLength(1)

    const planes = Array.from({ length: 20 }, (_, i) => `x${i + 1}`)
    await setup.capture('nodes', { nodes: planes.map(plane) })
    const relationships = planes.flatMap((to) => [flies('bob', to), flies('ann', to)])
    await setup.capture('relationships', { relationships })
    const before = await rows()
    expect(before).toHaveLength(41)
    // Another revision is compiled and planned again, as by another process.
    const { policy_id } = (await setup.service.configure('GET', `knowledge-queries/${id}`)).body
    const revised = { policy_id, query: JSON.stringify(query), status: 'ACTIVE', display_name: 'flown again' }
    expect((await setup.service.configure('PUT', `knowledge-queries/${id}`, revised)).status).toBe(200)
    expect(await rows()).toEqual(before)
  })

  it('reports an invalid page, and returns nothing after the last row', async () => {
    const headers = { 'x-svc-clientkey': setup.key, authorization: `Bearer ${await setup.tokenOf('ann')}` }
    const answerTo = async (page: string) => {
      const raw = `{"id": "pages", ${page}}`
      const sent = { headers: { ...headers, 'content-type': 'application/json' }, raw }
      const { status, body } = await setup.service.send('/contx-iq/v1/execute', sent)
      return [status, body.errors ?? (body.data as unknown[]).length]
    }
    expect(await answerTo('"page_token": 20')).toEqual([200, 0])
    expect(await answerTo('"page_token": 18, "page_size": 10000')).toEqual([200, 2])
    expect(await answerTo('"page_size": -1')).toEqual([400, ['page_size: expected at least 0']])
    expect(await answerTo('"page": 0')).toEqual([400, ['page: expected at least 1']])
    expect(await answerTo('"page": "1"')).toEqual([400, ['page: expected number, found string']])
    expect(await answerTo('"page_size": 10001')).toEqual([400, ['page_size: expected at most 10000']])
    const tooLong = 'page_token: expected integer of at most 53 bits, found `9007199254740993`'
    expect(await answerTo('"page_token": 9007199254740993')).toEqual([400, [tooLong]])
    // An integer for JSON Schema, in the notation of some clients.
    expect(await answerTo('"page_token": 18.0, "page_size": 1e1')).toEqual([200, 2])
    expect(await answerTo('"page": 2.0, "page_size": 15.00')).toEqual([200, 5])
    expect(await answerTo('"page": 0.0')).toEqual([400, ['page: expected at least 1']])
    expect(await answerTo('"page_size": 1.0001e4')).toEqual([400, ['page_size: expected at most 10000']])
    for (const member of ['page', 'page_token', 'page_size']) {
      expect(await answerTo(`"${member}": 1.5`)).toEqual([400, [`${member}: expected integer, found number`]])
    }
    expect(await answerTo('"page_size": "a", "size": 1')).toEqual([
      400,
      ['page_size: expected number, found string', 'body: unknown member `size`'],
    ])
  })

  it('uses the current policy: 403 for what it no longer allows, 404 if it is not ACTIVE', async () => {
    const id = await setup.addQuery('shrinking', ownCars, { nodes: ['car.property.plate'] })
    const token = await setup.tokenOf('ann')
    const { body } = await setup.service.configure('GET', `knowledge-queries/${id}`)
    const answerUnder = async (status: string, nodes: string[]) => {
      const policy = { meta: { policy_version: '1.0-ciq' }, ...ownCars, allowed_reads: { nodes } }
      const changed = { status, policy: JSON.stringify(policy) }
      const put = await setup.service.configure('PUT', `authorization-policies/${body.policy_id}`, changed)
      expect(put.status).toBe(200)
      return setup.execute('shrinking', {}, token)
    }
    expect((await answerUnder('ACTIVE', ['car.*'])).status).toBe(200)
    const refused = await answerUnder('ACTIVE', ['car.external_id'])
    expect([refused.status, refused.text.includes('query.nodes[0]: the policy does not allow reading it')]).toEqual([
      403,
      true,
    ])
    // Reported once, however often others of the project change.
    await setup.addQuery('beside', ownCars, { nodes: ['car.property.plate'] })
    expect((await setup.execute('shrinking', {}, token)).status).toBe(403)
    expect(logged.filter((line) => line.includes(`${id} (shrinking) cannot be run`))).toHaveLength(1)
    expect((await answerUnder('INACTIVE', ['car.*'])).status).toBe(404)
    expect((await answerUnder('ACTIVE', ['car.*'])).status).toBe(200)
  })

  it('needs no token for an application, and sets its parameter', async () => {
    const { applicationId } = setup.service
    const holds = { source: { type: '_Application', external_id: applicationId }, type: 'HOLDS' }
    await setup.capture('relationships', { relationships: [{ ...holds, target: { type: 'Car', external_id: 'c03' } }] })
    const id = await setup.addQuery(
      'held',
      {
        subject: { type: '_Application' },
        condition: { cypher: 'MATCH (subject:_Application {external_id: $_appId})-[:HOLDS]->(car:Car)' },
        allowed_reads: { nodes: ['car.external_id'] },
      },
      { nodes: ['car.external_id'] },
    )
    expect((await setup.execute(id)).body).toEqual({ data: [{ nodes: { 'car.external_id': 'c03' } }] })
    const { status, body } = await setup.execute(id, { input_params: { _appId: 'another' } })
    expect([status, body.errors]).toEqual([422, ['input_params._appId: reserved, filled by the service']])
  })

  it('returns aggregates under their names, and filters by them', async () => {
    const policy = {
      subject: { type: 'Person' },
      condition: {
        cypher: 'MATCH (subject:Person)-[:OWNS]->(car:Car) WITH subject, count(car) AS cars, avg(car.price) AS mean',
        filter: [{ operator: '>', attribute: 'cars', value: 10 }],
      },
      allowed_reads: { nodes: ['subject.external_id'], aggregate_values: ['cars', 'mean'] },
    }
    const id = await setup.addQuery('counts', policy, {
      nodes: ['subject.external_id'],
      aggregate_values: ['cars', 'mean'],
    })
    const { body } = await setup.execute(id, {}, await setup.tokenOf('ann'))
    expect(body.data).toEqual([{ nodes: { 'subject.external_id': 'ann' }, aggregate_values: { cars: 20, mean: 9500 } }])
  })

  it('returns 403 with the advice of the policy if the token filter fails', async () => {
    const strict = {
      ...ownCars,
      condition: {
        ...ownCars.condition,
        token_filter: {
          operator: '=',
          attribute: '$token.acr',
          value: 'high',
          advice: { error: 'insufficient_user_authentication', error_description: 'sign in "again"' },
        },
      },
    }
    const id = await setup.addQuery('strict', strict, { nodes: ['car.external_id'] })
    const low = await setup.execute(id, {}, await setup.tokenOf('ann', { acr: 'low' }))
    expect(low.status).toBe(403)
    expect(low.headers.get('www-authenticate')).toBe(
      'Bearer error="insufficient_user_authentication", error_description="sign in  again "',
    )
    expect((await setup.execute(id, {}, await setup.tokenOf('ann', { acr: 'high' }))).body.data).toHaveLength(20)
    expect((await setup.execute(id, {}, await setup.tokenOf('ann'))).status).toBe(403)
  })
})

describe('the size of a response', () => {
  it('counts a value as often as rows contain it, and is limited before the process runs out of memory', async () => {
    const small = await startContextService({ executeAnswerMax: 20_000 })
    try {
      const text = 'x'.repeat(1000)
      const nodes = Array.from({ length: 30 }, (_, i) => ({ type: 'Car', external_id: `c${i}` }))
      const hub = { type: 'Hub', external_id: 'h', properties: [{ type: 'text', value: text }] }
      await small.capture('nodes', { nodes: [{ type: 'Person', external_id: 'ann' }, hub, ...nodes] })
      const policy = {
        subject: { type: 'Person' },
        condition: { cypher: 'MATCH (subject:Person), (hub:Hub), (car:Car) WITH subject, hub, car, [hub] AS hubs' },
        allowed_reads: { nodes: ['hub.*'], aggregate_values: ['hubs'] },
        allowed_upserts: { nodes: { existing_nodes: ['car'] } },
      }
      const token = await small.tokenOf('ann')
      const refusal = 'the limit of 20000 characters in one answer is reached; request a smaller page'
      const upsert_nodes = [{ name: 'car', properties: [{ type: 'seen', value: true }] }]
      const queries = {
        path: { nodes: ['hub.property.text'] },
        whole: { nodes: ['hub'] },
        wildcard: { nodes: ['hub.*'] },
        aggregate: { aggregate_values: ['hubs'] },
        writing: { nodes: ['hub.property.text'], upsert_nodes },
      }
      for (const [name, query] of Object.entries(queries)) {
        const id = await small.addQuery(name, policy, query)
        const { status, body } = await small.execute(id, {}, token)
        expect([name, status, body.errors]).toEqual([name, 422, [refusal]])
        if (name === 'writing') continue
        expect((await small.execute(id, { page_size: 5 }, token)).body.data).toHaveLength(5)
      }
      const unseen = { nodes: ['hub.external_id'], filter: { operator: '=', attribute: 'hub.external_id', value: 'h' } }
      const seen = await small.addQuery(
        'seen',
        {
          ...policy,
          condition: { ...policy.condition, filter: [{ operator: '=', attribute: 'car.property.seen', value: true }] },
        },
        unseen,
      )
      expect((await small.execute(seen, {}, token)).body.data).toEqual([])
    } finally {
      await small.stop()
    }
  })
})

describe('the time limit of an execution', () => {
  it('ends it with 408, and is higher for a query with `batch_read`', async () => {
    const short = await startContextService({ executeTimeMs: 1, batchReadTimeMs: 60_000 })
    try {
      const nodes = Array.from({ length: 60 }, (_, i) => ({ type: 'Car', external_id: `c${i}` }))
      await short.capture('nodes', { nodes: [{ type: 'Person', external_id: 'ann', is_identity: true }, ...nodes] })
      const policy = {
        subject: { type: 'Person' },
        condition: {
          cypher:
            'MATCH (subject:Person), (a:Car), (b:Car), (c:Car) WHERE a.external_id <= b.external_id AND b.external_id <= c.external_id WITH subject, count(*) AS n',
        },
        allowed_reads: { aggregate_values: ['n'] },
      }
      const token = await short.tokenOf('ann')
      const answerTo = async (name: string, batch_read: boolean) =>
        short.execute(await short.addQuery(name, policy, { aggregate_values: ['n'], batch_read }), {}, token)
      expect((await answerTo('impatient', false)).status).toBe(408)
      const { status, body } = await answerTo('patient', true)
      expect([status, body.data]).toEqual([200, [{ aggregate_values: { n: (60 * 61 * 62) / 6 } }]])
    } finally {
      await short.stop()
    }
  })
})
