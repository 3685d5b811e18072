import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { GraphStore } from '../../../src/engine/store.ts'
import { readingGraphs } from '../../../src/kernel/request/remote-reads.ts'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

let service: TestService

/** Two locations share a database; one is the default database, one the composite database itself. */
const mapping = 'eu=eu-db&uk=eu-db&us=us-db&home=main-db&all=joined-db'
const connection = { url: 'lmdb:', name: 'main-db', composite_db_name: 'joined-db', alias_mapping: mapping }

beforeAll(async () => {
  service = await startService({}, { sync: false })
  // Captured before there is a composite database.
  await capture('nodes', {
    nodes: [person('early'), { ...car('early'), properties: [{ type: 'colour', value: 'red' }] }],
  })
  await capture('relationships', { relationships: [sees(person('early'), car('early'))] })
  expect((await service.connect(connection)).status).toBe(200)
})

afterAll(() => service?.stop())

const capture = (path: string, body: object) => service.ask(`/capture/v1/${path}`, body)
const person = (external_id: string, location?: string) => node('Person', external_id, location)
const car = (external_id: string, location?: string) => node('Car', external_id, location)
const sees = (source: object, target: object) => ({ source, target, type: 'SEES' })
const join = (...relationships: object[]) => capture('relationships', { relationships, use_global_db: true })

function node(type: string, external_id: string, location?: string) {
  return { type, external_id, ...(location === undefined ? {} : { location }) }
}

function idsOf({ status, body }: TestResponse): unknown[] {
  return [status, ...((body.results as { id: string }[] | undefined) ?? []).map(({ id }) => id)]
}

function errorsOf({ status, body }: TestResponse): unknown[] {
  return [status, ...((body.errors as string[] | undefined) ?? [])]
}

function graph(where: string | null): GraphStore {
  const graphs = service.app.capture.graphsOf(service.projectId)!
  return where === null ? graphs.default : where === 'global' ? graphs.global! : graphs.at(where)!
}

/** The stored node of a graph; null if it does not exist. */
function held(where: string | null, type: string, externalId: string) {
  return readingGraphs(() => stored(where, type, externalId))
}

function stored(where: string | null, type: string, externalId: string) {
  const snapshot = graph(where).snapshot()
  try {
    const id = snapshot.findNode(snapshot.symbol('label', type), externalId)
    if (id === 0) return null
    const location = snapshot.nodeField(id, 'location')
    return { id: snapshot.nodeField(id, 'id'), location, properties: Object.fromEntries(snapshot.nodeProperties(id)) }
  } finally {
    snapshot.close()
  }
}

function count(where: string | null): number | Promise<number> {
  return readingGraphs(() => {
    const snapshot = graph(where).snapshot()
    try {
      return snapshot.relationshipCount(null)
    } finally {
      snapshot.close()
    }
  })
}

describe('a node with a location', () => {
  it('has its data there, and a proxy without data in the global graph', async () => {
    const ann = { ...person('ann', 'eu'), labels: ['Employee'], properties: [{ type: 'age', value: 42 }] }
    const [status, id] = idsOf(await capture('nodes', { nodes: [ann] }))
    expect(status).toBe(200)
    expect(await held('eu', 'Person', 'ann')).toEqual({ id, location: 'eu', properties: { age: 42 } })
    expect(await held('global', 'Person', 'ann')).toEqual({ id, location: 'eu', properties: {} })
    expect([await held(null, 'Person', 'ann'), await held('us', 'Person', 'ann')]).toEqual([null, null])
    expect(await held('global', 'Employee', 'ann')).toBeNull()
  })

  it('is deleted with its proxy, and with the relationships of both', async () => {
    await capture('nodes', { nodes: [person('bob', 'eu'), car('b1', 'eu'), car('b2', 'us')] })
    await capture('relationships', { relationships: [sees(person('bob', 'eu'), car('b1', 'eu'))] })
    await join(sees(person('bob', 'eu'), car('b2', 'us')))
    const before = [await count('eu'), await count('global')]
    const [, id] = idsOf(await capture('nodes/delete', { nodes: [person('bob')] }))
    expect([id, await held('eu', 'Person', 'bob')]).toEqual(['', expect.anything()])
    const [, deleted] = idsOf(await capture('nodes/delete', { nodes: [person('bob', 'eu')] }))
    expect(deleted).toMatch(/^gid:/)
    expect([await held('eu', 'Person', 'bob'), await held('global', 'Person', 'bob')]).toEqual([null, null])
    expect([await count('eu'), await count('global')]).toEqual(before.map((relationships) => relationships - 1))
  })

  it('loses properties and metadata at its location, and nowhere else', async () => {
    const properties = [
      { type: 'age', value: 42, metadata: { source: 'hr' } },
      { type: 'size', value: 1 },
    ]
    const nodes = [{ ...person('cal', 'us'), properties }]
    const [, id] = idsOf(await capture('nodes', { nodes }))
    const trim = (location?: string) => ({ nodes: [{ ...person('cal', location), property_types: ['size'] }] })
    expect(idsOf(await capture('nodes/properties/delete', trim()))).toEqual([200, ''])
    expect(idsOf(await capture('nodes/properties/delete', trim('us')))).toEqual([200, id])
    expect((await held('us', 'Person', 'cal'))?.properties).toEqual({ age: 42 })
    const fields = { nodes: [{ ...person('cal', 'us'), property_type: 'age', metadata_fields: ['source'] }] }
    expect(idsOf(await capture('nodes/properties/metadata/delete', fields))).toEqual([200, id])
  })

  it('shares a database with the other locations that are mapped to it', async () => {
    const [, one] = idsOf(await capture('nodes', { nodes: [person('dot', 'eu')] }))
    const [, same] = idsOf(await capture('nodes', { nodes: [person('dot', 'uk')] }))
    expect(same).toBe(one)
    expect([await held('eu', 'Person', 'dot'), await held('global', 'Person', 'dot')]).toEqual([
      { id: one, location: 'uk', properties: {} },
      { id: one, location: 'uk', properties: {} },
    ])
    const [, home] = idsOf(await capture('nodes', { nodes: [person('eve', 'home')] }))
    expect(await held(null, 'Person', 'eve')).toEqual({ id: home, location: 'home', properties: {} })
  })

  it('may exist at another location too: the proxy belongs to the first one as long as it exists', async () => {
    const [, eu, us] = idsOf(await capture('nodes', { nodes: [person('fay', 'eu'), person('fay', 'us'), car('f1')] }))
    expect(await held('global', 'Person', 'fay')).toMatchObject({ id: eu, location: 'eu' })
    await join(sees(person('fay'), car('f1')))
    await capture('nodes/delete', { nodes: [person('fay', 'eu')] })
    expect(await held('global', 'Person', 'fay')).toMatchObject({ id: us, location: 'us' })
    const gone = { relationships: [sees(person('fay'), car('f1'))], use_global_db: true }
    expect(idsOf(await capture('relationships/delete', gone))).toEqual([200, ''])
    await capture('nodes/delete', { nodes: [person('fay', 'us')] })
    expect(await held('global', 'Person', 'fay')).toBeNull()
  })
})

describe('a node without a location', () => {
  it('is in the default constituent, with a proxy in the global graph, also from before the composite database', async () => {
    const [, id] = idsOf(await capture('nodes', { nodes: [person('gus')] }))
    expect([await held(null, 'Person', 'gus'), await held('global', 'Person', 'gus')]).toEqual([
      { id, location: null, properties: {} },
      { id, location: null, properties: {} },
    ])
    expect(await held('global', 'Car', 'early')).toEqual({ ...(await held(null, 'Car', 'early')), properties: {} })
    expect(await held('global', '_Application', service.applicationId)).not.toBeNull()
  })
})

describe('a relationship', () => {
  it('is stored in the constituent of its ends', async () => {
    await capture('nodes', { nodes: [person('h', 'eu'), car('h1', 'uk'), person('i'), car('i1', 'home')] })
    const before = [await count('eu'), await count(null), await count('global')]
    const [status, ...ids] = idsOf(
      await capture('relationships', {
        relationships: [sees(person('h', 'eu'), car('h1', 'uk')), sees(person('i'), car('i1', 'home'))],
      }),
    )
    expect([status, new Set(ids).size]).toEqual([200, 2])
    expect([await count('eu'), await count(null), await count('global')]).toEqual([
      before[0]! + 1,
      before[1]! + 1,
      before[2],
    ])
  })

  it('connects nodes of any locations with `use_global_db`, and is deleted or loses properties with it too', async () => {
    await capture('nodes', { nodes: [person('j', 'eu'), car('j1', 'us'), car('j2')] })
    const properties = [{ type: 'since', value: 2020 }]
    const joins = [{ ...sees(person('j', 'eu'), car('j1')), properties }, sees(person('j'), car('j2'))]
    const [status, first, second] = idsOf(await join(...joins))
    expect([status, typeof first, typeof second]).toEqual([200, 'string', 'string'])
    expect(idsOf(await join(...joins))).toEqual([200, first, second])
    const application = node('_Application', service.applicationId)
    expect((await join(sees(application, car('j1', 'us')))).status).toBe(200)

    const trimmed = { ...sees(person('j'), car('j1')), property_types: ['since'] }
    const trim = (body: object) => capture('relationships/properties/delete', { relationships: [trimmed], ...body })
    expect(idsOf(await trim({}))).toEqual([200, ''])
    expect(idsOf(await trim({ use_global_db: true }))).toEqual([200, first])
    const remove = (body: object) => capture('relationships/delete', { relationships: [joins[0]], ...body })
    expect(errorsOf(await remove({}))).toEqual([
      422,
      'relationships[0]: source and target are in different constituents, eu and the default one; `use_global_db` joins them',
    ])
    expect(idsOf(await remove({ use_global_db: true }))).toEqual([200, first])
    expect(idsOf(await remove({ use_global_db: true }))).toEqual([200, ''])
  })

  it('is read where the composite database has a location', async () => {
    await capture('nodes', { nodes: [person('k', 'eu'), car('k1', 'us')] })
    await join(sees(person('k'), car('k1')))
    expect(graph('all')).toBe(graph('global'))
    expect(
      (await capture('relationships', { relationships: [sees(person('k', 'all'), car('k1', 'all'))] })).status,
    ).toBe(200)
  })

  it('writes nothing of a batch over several constituents if an end is missing in one', async () => {
    await capture('nodes', { nodes: [person('l', 'eu'), car('l1', 'eu'), car('l2', 'us')] })
    const before = [await count('eu'), await count('us')]
    const refused = await capture('relationships', {
      relationships: [
        sees(person('l', 'eu'), car('l1', 'eu')),
        sees(person('l', 'us'), car('l2', 'us')),
        sees(person('l'), car('l2', 'home')),
      ],
    })
    expect(errorsOf(refused)).toEqual([
      422,
      'relationships[1].source: the node `Person` `l` does not exist at us',
      'relationships[2].source: the node `Person` `l` does not exist in the default constituent',
      'relationships[2].target: the node `Car` `l2` does not exist at home',
    ])
    expect([await count('eu'), await count('us')]).toEqual(before)
    expect(errorsOf(await join(sees(person('l', 'us'), car('nowhere'))))).toEqual([
      422,
      'relationships[0].source: the node `Person` `l` does not exist at us',
      'relationships[0].target: the node `Car` `nowhere` does not exist at any location',
    ])
  })

  it('between constituents is refused without `use_global_db`', async () => {
    const refused = await capture('relationships', {
      relationships: [sees(person('ann', 'eu'), car('l2', 'us')), sees(person('ann'), car('l2', 'us'))],
    })
    expect(errorsOf(refused)).toEqual([
      422,
      'relationships[0]: source and target are in different constituents, eu and us; `use_global_db` joins them',
      'relationships[1]: source and target are in different constituents, the default one and us; `use_global_db` joins them',
    ])
  })
})

describe('an unknown location', () => {
  const text = 'location: unknown location mars'
  const located = [
    ['nodes', { nodes: [person('x'), person('x', 'mars')] }, `nodes[1].${text}`],
    ['nodes/delete', { nodes: [person('x', 'mars')] }, `nodes[0].${text}`],
    ['nodes/properties/delete', { nodes: [{ ...person('x', 'mars'), property_types: ['a'] }] }, `nodes[0].${text}`],
    [
      'nodes/properties/metadata/delete',
      { nodes: [{ ...person('x', 'mars'), property_type: 'a', metadata_fields: ['source'] }] },
      `nodes[0].${text}`,
    ],
    ['relationships', { relationships: [sees(person('x'), car('y', 'mars'))] }, `relationships[0].target.${text}`],
    [
      'relationships',
      { relationships: [sees(person('x', 'mars'), car('y'))], use_global_db: true },
      `relationships[0].source.${text}`,
    ],
    [
      'relationships/delete',
      { relationships: [sees(person('x', 'mars'), car('y'))] },
      `relationships[0].source.${text}`,
    ],
    [
      'relationships/properties/delete',
      { relationships: [{ ...sees(person('x', 'mars'), car('y')), property_types: ['a'] }] },
      `relationships[0].source.${text}`,
    ],
    // The name of a database is not a location and never returned.
    ['nodes', { nodes: [person('x', 'eu-db')] }, 'nodes[0].location: unknown location eu-db'],
  ] as const
  it.each(located)('is refused by %s: %j', async (path, body, message) => {
    expect(errorsOf(await capture(path, body))).toEqual([422, message])
    expect(await held(null, 'Person', 'x')).toBeNull()
  })

  it('nor can nodes be captured into the composite database', async () => {
    expect(errorsOf(await capture('nodes', { nodes: [person('x', 'all')] }))).toEqual([
      422,
      'nodes[0].location: all is the composite database, which stores no nodes',
    ])
    expect(errorsOf(await capture('nodes/delete', { nodes: [person('ann', 'all')] }))[0]).toBe(422)
    expect(await held('global', 'Person', 'ann')).not.toBeNull()
  })
})

describe('another mapping', () => {
  const put = (alias_mapping: string, more: object = {}) => service.connect({ ...connection, ...more, alias_mapping })

  it('may add locations, which can be used as soon as it is stored', async () => {
    expect((await put(`${mapping}&asia=asia-db`)).status).toBe(200)
    expect(idsOf(await capture('nodes', { nodes: [person('m', 'asia')] }))[0]).toBe(200)
    expect(await held('global', 'Person', 'm')).toMatchObject({ location: 'asia' })
  })

  it('cannot remove a location with data, or change its database', async () => {
    const holds = (location: string) =>
      `db_connection.alias_mapping: the location \`${location}\` holds data and cannot change its database`
    expect(errorsOf(await put(mapping))).toEqual([422, holds('asia')])
    expect(errorsOf(await put(`${mapping}&asia=other-db`))).toEqual([422, holds('asia')])
    const plain = await service.connect({ url: 'lmdb:' })
    expect(errorsOf(plain)).toEqual([
      422,
      ...['eu', 'uk', 'us', 'home', 'all', 'asia'].map(holds),
      'db_connection.composite_db_name: cannot be removed while relationships connect nodes of different locations',
    ])
    await capture('nodes/delete', { nodes: [person('m', 'asia')] })
    expect((await put(mapping)).status).toBe(200)
    expect(errorsOf(await capture('nodes', { nodes: [person('m', 'asia')] }))).toEqual([
      422,
      'nodes[0].location: unknown location asia',
    ])
  })

  it('uses separate databases', async () => {
    expect(errorsOf(await put(mapping, { name: 'joined-db' }))).toEqual([
      422,
      'db_connection.composite_db_name: expected another database than `name`, which stores the data without a location',
    ])
  })
})
