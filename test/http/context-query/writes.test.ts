import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type ContextService, startContextService } from '../../support/context-service.ts'

let setup: ContextService
let ann: string
let count = 0

beforeAll(async () => {
  setup = await startContextService()
  ann = await setup.tokenOf('ann', { email: 'ann@example.org', groups: ['a', 'b'] })
})
afterAll(() => setup.stop())

/**
 * A separate graph for each test: its `ann` owns two cars, one of them parked; the subject of the token stays `ann`.
 */
interface WriteSetup {
  readonly tag: string
  id(name: string): string
  query(policy: object, query: object): Promise<string>
  run(id: string, params?: object, more?: object): ReturnType<ContextService['execute']>
}

type Records = { nodes?: Record<string, unknown>; relationships?: Record<string, unknown> }[]

async function writeSetup(): Promise<WriteSetup> {
  const tag = `w${++count}`
  const id = (name: string): string => `${tag}-${name}`
  const node = (type: string, name: string, more: object = {}) => ({ type, external_id: id(name), ...more })
  const joins = (source: object, type: string, target: object, more: object = {}) => ({ source, type, target, ...more })
  const car = (name: string) => ({ type: 'Car', external_id: id(name) })
  await setup.capture('nodes', {
    nodes: [
      { type: 'Person', external_id: 'ann', is_identity: true },
      node('Car', 'a', {
        labels: ['Vehicle'],
        properties: [
          { type: 'price', value: 10, metadata: { source: 'desk' } },
          { type: 'plate', value: 'A' },
        ],
      }),
      node('Car', 'b', { properties: [{ type: 'price', value: 20 }] }),
      node('Place', 'p'),
    ],
  })
  await setup.capture('relationships', {
    relationships: [
      joins({ type: 'Person', external_id: 'ann' }, 'OWNS', car('a'), { properties: [{ type: 'since', value: 2001 }] }),
      joins({ type: 'Person', external_id: 'ann' }, 'OWNS', car('b')),
      joins(car('a'), 'PARKED', { type: 'Place', external_id: id('p') }),
    ],
  })
  let queries = 0
  return {
    tag,
    id,
    query: (policy, query) => setup.addQuery(`${tag}-${++queries}`, policy, query),
    run: (id, params = {}, more = {}) =>
      setup.execute(id, { input_params: { world: `${tag}-`, ...params }, ...more }, ann),
  }
}

const mine = {
  subject: { type: 'Person' },
  condition: {
    cypher:
      'MATCH (subject:Person)-[r:OWNS]->(car:Car) WHERE car.external_id STARTS WITH $world ' +
      'OPTIONAL MATCH (car)-[p:PARKED]->(place:Place)',
    filter: [{ operator: '=', attribute: 'subject.external_id', value: '$token.sub' }],
  },
  allowed_reads: { nodes: ['car', 'car.*', 'place', 'note.*'], relationships: ['r', 'r.*'] },
  allowed_upserts: {
    nodes: { existing_nodes: ['car', 'place'], node_types: ['Note'] },
    relationships: {
      existing_relationships: ['r'],
      relationship_types: [{ type: 'ABOUT', source_node_label: 'Note', target_node_label: 'Vehicle' }],
    },
  },
  allowed_deletes: { nodes: ['car', 'car.*', 'place'], relationships: ['r', 'r.*', 'p'] },
}

/** A policy that reads notes. */
const reads = (cypher: string) => ({
  subject: { type: 'Person' },
  condition: { cypher },
  allowed_reads: { nodes: ['note.*'] },
})

const onlyCar = { operator: '=', attribute: 'car.external_id', value: '$car' }
const recordsOf = (body: Record<string, unknown>): Records => body.data as Records

/** The stored graph of a test, by paths that a query reads. */
async function carsOf({ query, run }: WriteSetup): Promise<Record<string, unknown>> {
  const { body } = await run(await query(mine, { nodes: ['car.external_id', 'car.property.*'] }))
  return Object.fromEntries(
    recordsOf(body).map(({ nodes = {} }) => [
      nodes['car.external_id'],
      Object.fromEntries((nodes['car.property.*'] as { type: string; value: unknown }[]).map((p) => [p.type, p.value])),
    ]),
  )
}

describe('a query that writes', () => {
  it('updates the nodes of a variable in every row, visible in the records of the call', async () => {
    const graph = await writeSetup()
    const id = await graph.query(mine, {
      nodes: ['car.external_id', 'car.property.price'],
      upsert_nodes: [
        {
          name: 'car',
          properties: [
            { type: 'price', value: '$price' },
            { type: 'seen', value: true },
          ],
        },
      ],
    })
    const { status, body } = await graph.run(id, { price: 99 })
    expect(status).toBe(200)
    expect(recordsOf(body).map(({ nodes }) => [nodes?.['car.external_id'], nodes?.['car.property.price']])).toEqual([
      [graph.id('a'), 99],
      [graph.id('b'), 99],
    ])
    expect(await carsOf(graph)).toEqual({
      [graph.id('a')]: { price: 99, plate: 'A', seen: true },
      [graph.id('b')]: { price: 99, seen: true },
    })
  })

  it('creates nodes and relationships, which are read by their names in the same call', async () => {
    const graph = await writeSetup()
    const id = await graph.query(mine, {
      nodes: ['note.external_id', 'note.property.*', 'note', 'car.external_id'],
      relationships: ['about', 'about.weight', 'r.since'],
      filter: onlyCar,
      upsert_nodes: [
        {
          name: 'note',
          type: 'Note',
          external_id: '$note.id',
          labels: ['Memo', '$note.kind'],
          properties: [
            { type: 'text', value: '$note.text' },
            { type: 'by', value: '$token.email' },
            { type: 'groups', value: '$token.groups' },
            { type: 'size', value: 2.5 },
          ],
        },
      ],
      upsert_relationships: [
        { name: 'about', source: 'note', target: 'car', type: 'ABOUT', properties: [{ type: 'weight', value: 3 }] },
        { name: 'r', properties: [{ type: 'since', value: 2026 }] },
      ],
    })
    const params = { car: graph.id('a'), note: { id: graph.id('n'), kind: 'Urgent', text: 'clean it' } }
    const { status, body } = await graph.run(id, params)
    expect([status, body.errors]).toEqual([200, undefined])
    const [record] = recordsOf(body)
    expect(record?.nodes).toMatchObject({
      'note.external_id': graph.id('n'),
      'note.property.*': [
        { type: 'text', value: 'clean it' },
        { type: 'by', value: 'ann@example.org' },
        { type: 'groups', value: ['a', 'b'] },
        { type: 'size', value: 2.5 },
      ],
      note: { Labels: expect.arrayContaining(['Note', 'Memo', 'Urgent']), Props: { type: 'Note', text: 'clean it' } },
      'car.external_id': graph.id('a'),
    })
    expect(record?.relationships).toMatchObject({
      about: { Type: 'ABOUT', Props: { weight: 3 } },
      'about.weight': 3,
      'r.since': 2026,
    })
    // The values read within the call are those stored after it.
    const later = await graph.query(reads('MATCH (subject:Person)-[:OWNS]->(car:Car)<-[about:ABOUT]-(note:Note)'), {
      nodes: ['note'],
      filter: onlyCar,
    })
    const [again] = recordsOf((await graph.run(later, params)).body)
    expect(again?.nodes?.note).toEqual(record?.nodes?.note)
  })

  it('writes property metadata from arrays of entries, and replaces it with the value', async () => {
    const graph = await writeSetup()
    const policy = {
      ...mine,
      allowed_reads: {
        nodes: ['source', 'assurance_level', 'verified_time', 'by', 'more'].map(
          (f) => `car.property.price.metadata.${f}`,
        ),
      },
    }
    const entries = (metadata: object[]) => ({
      nodes: policy.allowed_reads.nodes,
      filter: onlyCar,
      upsert_nodes: [{ name: 'car', properties: [{ type: 'price', value: 1, metadata }] }],
    })
    const id = await graph.query(
      policy,
      entries([
        { type: 'source', value: '$source' },
        { type: 'assurance_level', value: 2 },
        { type: 'verified_time', value: '2026-05-01T10:00:00Z' },
        { type: 'by', value: '$token.sub' },
        { type: 'custom_metadata', value: '$custom' },
      ]),
    )
    const params = { car: graph.id('a'), source: 'audit', custom: { more: { deep: [1.5, 2] } } }
    const { body, text } = await graph.run(id, params)
    expect(text).toContain('{"deep":[1.5,2]}')
    expect(Object.values(recordsOf(body)[0]?.nodes ?? {})).toEqual([
      'audit',
      2,
      '2026-05-01T10:00:00Z',
      'ann',
      { deep: [1.5, 2] },
    ])
    const wrong = await graph.run(id, { ...params, source: 7 })
    expect([wrong.status, wrong.body.errors]).toEqual([
      422,
      ["missing or wrong input params, 'source': expected a string"],
    ])
    const bare = await graph.query(policy, entries([]))
    expect(Object.values(recordsOf((await graph.run(bare, params)).body)[0]?.nodes ?? {})).toEqual(Array(5).fill(null))
  })

  it('merges by type and external id: a named element may already exist', async () => {
    const graph = await writeSetup()
    const query = (properties: object[], nodes: string[]) =>
      graph.query(mine, {
        nodes,
        filter: onlyCar,
        upsert_nodes: [{ name: 'note', type: 'Note', external_id: '$id', properties }],
      })
    const first = await query(
      [
        { type: 'text', value: 'first' },
        { type: 'kept', value: 1 },
      ],
      ['note.property.text'],
    )
    const second = await query([{ type: 'text', value: 'second' }], ['note.property.*'])
    const params = { car: graph.id('a'), id: graph.id('n') }
    await graph.run(first, params)
    await graph.run(first, params)
    const { body } = await graph.run(second, params)
    expect(recordsOf(body)[0]?.nodes).toEqual({
      'note.property.*': [
        { type: 'text', value: 'second' },
        { type: 'kept', value: 1 },
      ],
    })
  })

  it('returns nothing of an existing node beyond what it wrote and the policy allows to be read', async () => {
    const graph = await writeSetup()
    const policy = { ...mine, allowed_reads: { nodes: ['car.external_id', 'note.property.open'] } }
    const reading = (nodes: string[]) =>
      graph.query(policy, {
        nodes,
        filter: onlyCar,
        upsert_nodes: [{ name: 'note', type: 'Note', external_id: '$id', properties: [{ type: 'text', value: 'x' }] }],
      })
    await setup.capture('nodes', {
      nodes: [
        {
          type: 'Note',
          external_id: graph.id('secret'),
          labels: ['Hidden'],
          properties: [
            { type: 'pin', value: 1234, metadata: { source: 'vault' } },
            { type: 'open', value: 'yes' },
          ],
        },
      ],
    })
    const secret = graph.id('secret')
    const fields = ['create_time', 'external_id', 'id', 'is_identity', 'type', 'update_time']
    const names = (entries: unknown) => (entries as { type: string }[]).map(({ type }) => type)
    const shown: [string, (value: unknown) => unknown, unknown][] = [
      ['note', (value) => Object.keys((value as { Props: object }).Props), [...fields, 'text', 'open']],
      ['note', (value) => (value as { Labels: string[] }).Labels, ['Note']],
      ['note.*', names, [...fields, 'text', 'open']],
      ['note.property.*', names, ['text', 'open']],
      ['note.property.pin', (value) => value, undefined],
      ['note.property.pin.metadata.source', (value) => value, undefined],
      ['note.property.text.metadata.source', (value) => value, null],
      ['note.trust_score.*', (value) => value, undefined],
      ['note.create_time', (value) => typeof value, 'string'],
      ['note.is_identity', (value) => value, false],
    ]
    for (const [path, part, expected] of shown) {
      const id = await reading([path])
      const made = graph.id(`new-${path.replaceAll('*', 'all')}`)
      for (const note of [secret, secret, made]) {
        const { status, body, text } = await graph.run(id, { car: graph.id('a'), id: note })
        expect([path, status, /1234|Hidden|vault/.test(text)]).toEqual([path, 200, false])
        const isNew = note === made && Array.isArray(expected)
        const found = part(recordsOf(body)[0]?.nodes?.[path])
        // The new note has no property `open`.
        expect([path, found]).toEqual([path, isNew ? expected.filter((name) => name !== 'open') : expected])
      }
    }
    const id = await reading(['note.external_id', 'note.property.text', 'note.property.open'])
    const { body } = await graph.run(id, { car: graph.id('a'), id: secret })
    expect(recordsOf(body)[0]?.nodes).toEqual({
      'note.external_id': secret,
      'note.property.text': 'x',
      'note.property.open': 'yes',
    })
  })

  it('deletes properties, relationships and nodes, and returns a record for each row', async () => {
    const graph = await writeSetup()
    const only = (more: object) => graph.query(mine, { filter: onlyCar, ...more })
    const car = graph.id('a')
    const named = await graph.run(await only({ delete_nodes: ['car.property.price'] }), { car })
    expect(named.body).toEqual({ data: [{ nodes: {} }] })
    expect((await carsOf(graph))[car]).toEqual({ plate: 'A' })
    const all = await graph.run(await only({ delete_nodes: ['car.*'], nodes: ['car.property.*'] }), { car })
    expect(all.body).toEqual({ data: [{ nodes: { 'car.property.*': [] } }] })
    const since = await graph.run(await only({ delete_relationships: ['r.since'], relationships: ['r.since'] }), {
      car,
    })
    expect(since.body).toEqual({ data: [{ relationships: { 'r.since': null } }] })
    const gone = await graph.run(await only({ delete_nodes: ['car'], nodes: ['car', 'place'], relationships: ['r'] }), {
      car,
    })
    expect(gone.status).toBe(200)
    expect(recordsOf(gone.body)).toEqual([
      { nodes: { car: null, place: expect.objectContaining({ Labels: ['Place'] }) }, relationships: { r: null } },
    ])
    expect(Object.keys(await carsOf(graph))).toEqual([graph.id('b')])
    const none = await graph.run(await only({ delete_nodes: ['car'] }), { car })
    expect([none.status, none.body]).toEqual([200, { data: [] }])
    await graph.run(await only({ delete_relationships: ['r'] }), { car: graph.id('b') })
    expect(await carsOf(graph)).toEqual({})
  })

  it('ignores what an optional match did not find, and deletes it without an error', async () => {
    const graph = await writeSetup()
    const id = await graph.query(mine, {
      nodes: ['car.external_id', 'place'],
      upsert_nodes: [{ name: 'place', properties: [{ type: 'used', value: true }] }],
      delete_relationships: ['p'],
    })
    const { body } = await graph.run(id)
    const places = recordsOf(body).map(({ nodes }) => nodes?.place)
    expect(places.filter((place) => place !== null)).toEqual([
      expect.objectContaining({ Props: expect.objectContaining({ used: true }) }),
    ])
    expect(places).toHaveLength(2)
    const again = await graph.run(id)
    expect(recordsOf(again.body).map(({ nodes }) => nodes?.place)).toEqual([null, null])
  })

  it('writes nothing if the pattern matches no row, and returns 200 without data', async () => {
    const graph = await writeSetup()
    const id = await graph.query(mine, {
      filter: onlyCar,
      upsert_nodes: [{ name: 'note', type: 'Note', external_id: graph.id('never') }],
    })
    const { status, body } = await graph.run(id, { car: 'none' })
    expect([status, body]).toEqual([200, { data: [] }])
    const found = await graph.query(reads('MATCH (subject:Person), (note:Note {external_id: $id})'), {
      nodes: ['note.external_id'],
    })
    expect((await graph.run(found, { id: graph.id('never') })).body).toEqual({ data: [] })
  })

  it('runs for an application without a token, with its own id', async () => {
    const graph = await writeSetup()
    const { applicationId } = setup.service
    const id = await graph.query(
      {
        subject: { type: '_Application' },
        condition: { cypher: 'MATCH (subject:_Application {external_id: $_appId})' },
        allowed_reads: { nodes: ['run.*'] },
        allowed_upserts: {
          nodes: { node_types: ['Run'] },
          relationships: {
            relationship_types: [{ type: 'DID', source_node_label: '_Application', target_node_label: 'Run' }],
          },
        },
      },
      {
        nodes: ['run.property.by'],
        relationships: ['did'],
        upsert_nodes: [
          { name: 'run', type: 'Run', external_id: graph.id('run'), properties: [{ type: 'by', value: '$_appId' }] },
        ],
        upsert_relationships: [{ name: 'did', source: 'subject', target: 'run', type: 'DID' }],
      },
    )
    const { body } = await setup.execute(id)
    expect(recordsOf(body)).toMatchObject([
      { nodes: { 'run.property.by': applicationId }, relationships: { did: { Type: 'DID' } } },
    ])
  })
})

describe('a call is refused, and writes nothing', () => {
  const untouched = async (graph: WriteSetup, id: string, params: object, more: object = {}) => {
    const before = await carsOf(graph)
    const { status, body } = await graph.run(id, params, more)
    expect(await carsOf(graph)).toEqual(before)
    return [status, body.errors ?? body.message]
  }
  const marked = { name: 'car', properties: [{ type: 'marked', value: true }] }

  it('if the labels of a row’s nodes do not match the policy (403)', async () => {
    const graph = await writeSetup()
    // Car a is a Vehicle, car b is not: the row of b is refused, although that of a is allowed.
    const id = await graph.query(mine, {
      upsert_nodes: [marked, { name: 'note', type: 'Note', external_id: graph.id('n') }],
      upsert_relationships: [{ name: 'about', source: 'note', target: 'car', type: 'ABOUT' }],
    })
    expect(await untouched(graph, id, {})).toEqual([
      403,
      'query.upsert_relationships[0]: the policy does not allow a `ABOUT` between `note` and `car` in every row',
    ])
    const backwards = await graph.query(mine, {
      filter: onlyCar,
      upsert_nodes: [marked, { name: 'note', type: 'Note', external_id: graph.id('n') }],
      upsert_relationships: [{ name: 'about', source: 'car', target: 'note', type: 'ABOUT' }],
    })
    expect((await untouched(graph, backwards, { car: graph.id('a') }))[0]).toBe(403)
  })

  it('if a row has no node for the end of a relationship', async () => {
    const graph = await writeSetup()
    const policy = {
      ...mine,
      allowed_upserts: {
        ...mine.allowed_upserts,
        relationships: { relationship_types: [{ type: 'AT', source_node_label: 'Car', target_node_label: 'Place' }] },
      },
    }
    const id = await graph.query(policy, {
      upsert_nodes: [marked],
      upsert_relationships: [{ name: 'at', source: 'car', target: 'place', type: 'AT' }],
    })
    expect(await untouched(graph, id, {})).toEqual([
      422,
      ['query.upsert_relationships[0].target: `place` is not a node in one of the rows'],
    ])
  })

  it('if a value is missing, or cannot be stored in a property', async () => {
    const graph = await writeSetup()
    const value = (value: string) =>
      graph.query(mine, { upsert_nodes: [{ name: 'car', properties: [{ type: 'price', value }] }] })
    const byParameter = await value('$price')
    const expected = 'expected a string, a finite number, a boolean or an array of one of these'
    expect(await untouched(graph, byParameter, {})).toEqual([422, ["missing or wrong input params, 'price'"]])
    for (const price of [null, { a: 1 }, [1, 'x'], [[1]], [null]]) {
      const refused = [422, [`missing or wrong input params, 'price': ${expected}`]]
      expect(await untouched(graph, byParameter, { price })).toEqual(refused)
    }
    expect(await untouched(graph, await value('$price.of.it'), { price: { of: 1 } })).toEqual([
      422,
      [`missing or wrong input params, 'price.of.it': ${expected}`],
    ])
    expect(await untouched(graph, await value('$token.nickname'), {})).toEqual([
      422,
      [`query.upsert_nodes[0].properties[0].value: \`$token.nickname\`: ${expected}`],
    ])
    expect((await untouched(graph, await value('$_appId'), {}))[0]).toBe(422)
  })

  it('if an external id or a label is invalid', async () => {
    const graph = await writeSetup()
    const id = await graph.query(mine, {
      filter: onlyCar,
      upsert_nodes: [marked, { name: 'note', type: 'Note', external_id: '$id', labels: ['$label'] }],
    })
    const good = { car: graph.id('a'), id: graph.id('x'), label: 'Fine' }
    for (const wrong of [
      { id: '' },
      { id: 7 },
      { id: 'x'.repeat(1025) },
      { label: '_AppAgent' },
      { label: 'no label' },
    ]) {
      const [status, errors] = await untouched(graph, id, { ...good, ...wrong })
      expect([wrong, status, errors]).toEqual([
        wrong,
        422,
        [expect.stringContaining(`missing or wrong input params, '${Object.keys(wrong)[0]}'`)],
      ])
    }
    expect((await graph.run(id, good)).status).toBe(200)
  })

  it('if more rows match than the page holds, or another page is requested', async () => {
    const graph = await writeSetup()
    const id = await graph.query(mine, { upsert_nodes: [marked] })
    expect(await untouched(graph, id, {}, { page_size: 1 })).toEqual([
      422,
      ['page_size: the query writes and matches more than 1 rows; nothing was written'],
    ])
    expect(await untouched(graph, id, {}, { page_token: 2, page_size: 2 })).toEqual([
      422,
      ['page_token: a query that writes has one page'],
    ])
    expect((await graph.run(id, {}, { page_token: 1, page_size: 2 })).status).toBe(200)
  })

  it('if a variable is bound to a node or a relationship of the service', async () => {
    const graph = await writeSetup()
    await setup.capture('relationships', {
      relationships: [
        {
          source: { type: '_Application', external_id: setup.service.applicationId },
          target: { type: 'Car', external_id: graph.id('b') },
          type: 'HOLDS',
        },
      ],
    })
    const policy = {
      ...mine,
      condition: {
        cypher: 'MATCH (subject:Person)-[:OWNS]->(car:Car)<-[h]-(any) WHERE car.external_id STARTS WITH $world',
      },
      allowed_upserts: { nodes: { existing_nodes: ['car', 'any'] } },
      allowed_deletes: { nodes: ['any', 'any.*'], relationships: ['h'] },
    }
    const held = { filter: { operator: '=', attribute: 'any.type', value: '_Application' } }
    const upsert = await graph.query(policy, { ...held, upsert_nodes: [marked, { ...marked, name: 'any' }] })
    expect(await untouched(graph, upsert, {})).toEqual([
      403,
      'query.upsert_nodes[1]: `any` is a node of the service in one of the rows',
    ])
    for (const path of ['any', 'any.*']) {
      const id = await graph.query(policy, { ...held, upsert_nodes: [marked], delete_nodes: [path] })
      expect((await untouched(graph, id, {}))[0]).toBe(403)
    }
    const agents = await graph.query(
      {
        subject: { type: '_Application' },
        condition: { cypher: 'MATCH (subject:_Application)-[of]-(agent:_AppAgent)' },
        allowed_deletes: { relationships: ['of'] },
      },
      { delete_relationships: ['of'] },
    )
    const { status, body } = await setup.execute(agents)
    expect([status, body.message]).toEqual([
      403,
      'query.delete_relationships[0]: `of` is a relationship of the service in one of the rows',
    ])
  })
})
