import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startService()
  await service.addPolicy({ name: 'see', actions: ['see'], cypher: 'MATCH (subject:Person)-[:SEES]->(resource:Car)' })
  await service.addPolicy({
    name: 'float',
    actions: ['float'],
    cypher: 'MATCH (subject:Person), (resource:Car) WHERE resource.size / 2 = 0.5',
  })
  await service.addPolicy({
    name: 'colour',
    actions: ['colour'],
    cypher: 'MATCH (subject:Person), (resource:Car) WHERE resource.colour = $colour',
  })
})

afterAll(() => service?.stop())

const nodes = (...items: unknown[]) => service.ask('/capture/v1/nodes', { nodes: items })
const relationships = (...items: unknown[]) => service.ask('/capture/v1/relationships', { relationships: items })
const person = (external_id: string) => ({ type: 'Person', external_id })
const car = (external_id: string) => ({ type: 'Car', external_id })

async function decide(action: string, subject: string, resource: string, input_params = {}): Promise<unknown> {
  const { body } = await service.ask('/access/v1/evaluation', {
    subject: { type: 'Person', id: subject },
    action: { name: action },
    resource: { type: 'Car', id: resource },
    context: { input_params },
  })
  return body.decision
}

function errorsOf({ status, body }: TestResponse): unknown[] {
  return [status, ...(body.errors as string[])]
}

describe('capturing nodes', () => {
  it('returns one identifier per item, in order, and the same for the same node', async () => {
    const first = await nodes(person('p1'), person('p2'))
    expect(first.status).toBe(200)
    const ids = (first.body.results as { id: string }[]).map(({ id }) => id)
    expect(ids[0]).toMatch(/^gid:[A-Za-z0-9_-]{22,}$/)
    expect(new Set(ids).size).toBe(2)
    const again = await nodes(person('p2'), person('p1'), person('p2'))
    expect((again.body.results as { id: string }[]).map(({ id }) => id)).toEqual([ids[1], ids[0], ids[1]])
  })

  it('accepts all fields of a node', async () => {
    const { status } = await nodes({
      external_id: 'full',
      type: 'Person',
      labels: ['Employee', 'Driver'],
      is_identity: true,
      properties: [
        { type: 'email', value: 'a@b.c', metadata: { source: 'hr', assurance_level: 2 } },
        { type: 'age', value: 42, metadata: { verified_time: '2026-01-01T00:00:00Z', custom_metadata: { a: [1.5] } } },
        { type: 'height', value: 1.85 },
        { type: 'active', value: false },
        { type: 'names', value: ['a', 'b'] },
        { type: 'big', value: 9_007_199_254_740_991 },
        { type: 'none', value: [] },
        { type: 'outside', external_value: 'a-resolver' },
      ],
    })
    expect(status).toBe(200)
  })

  it('accepts a trailing slash', async () => {
    expect((await service.ask('/capture/v1/nodes/', { nodes: [person('slash')] })).status).toBe(200)
  })

  it('keeps integers and floats distinct', async () => {
    await nodes(person('f'), car('int'), car('float'))
    const send = (text: string) =>
      service.send('/capture/v1/nodes', { headers: { 'x-svc-clientkey': service.key }, raw: text })
    const sized = (id: string, size: string) =>
      `{"nodes":[{"type":"Car","external_id":"${id}","properties":[{"type":"size","value":${size}}]}]}`
    expect((await send(sized('int', '1'))).status).toBe(200)
    expect((await send(sized('float', '1.0'))).status).toBe(200)
    expect(await decide('float', 'f', 'int')).toBe(false)
    expect(await decide('float', 'f', 'float')).toBe(true)
  })

  it('replaces the given properties and keeps the others', async () => {
    await nodes(person('c'), { ...car('paint'), properties: [{ type: 'colour', value: 'red' }] })
    expect(await decide('colour', 'c', 'paint', { colour: 'red' })).toBe(true)
    await nodes({ ...car('paint'), properties: [{ type: 'wheels', value: 4 }] })
    expect(await decide('colour', 'c', 'paint', { colour: 'red' })).toBe(true)
    await nodes({ ...car('paint'), properties: [{ type: 'colour', value: 'blue' }] })
    expect(await decide('colour', 'c', 'paint', { colour: 'red' })).toBe(false)
    expect(await decide('colour', 'c', 'paint', { colour: 'blue' })).toBe(true)
  })

  it('refuses an empty batch and more than 250 items', async () => {
    expect(errorsOf(await nodes())).toEqual([400, 'nodes: expected at least 1 item'])
    const many = Array.from({ length: 251 }, (_, i) => person(`m${i}`))
    expect(errorsOf(await nodes(...many))).toEqual([400, 'nodes: expected at most 250 items'])
    expect((await nodes(...many.slice(1))).status).toBe(200)
  })

  it.each([
    [{ type: 'Person' }, 'nodes[0].external_id: expected string, found nothing'],
    [{ type: 'Person', external_id: '' }, 'nodes[0].external_id: expected at least 1 character'],
    [person('x'.repeat(1025)), 'nodes[0].external_id: expected at most 1024 characters'],
    [{ external_id: 'a', type: 'P'.repeat(65) }, 'nodes[0].type: expected at most 64 characters'],
    [
      { external_id: 'a', type: 'Per son' },
      'nodes[0].type: expected a label: a letter or `_`, then letters, digits and `_`, and between two of them single `-`, `.` or `/`',
    ],
    [{ ...person('a'), extra: 1 }, 'nodes[0]: unknown member `extra`'],
    [{ ...person('a'), is_identity: 'yes' }, 'nodes[0].is_identity: expected boolean, found string'],
    [{ ...person('a'), labels: ['Ok', 5] }, 'nodes[0].labels[1]: expected string, found number'],
    ['ann', 'nodes[0]: expected object, found string'],
    [{ ...person('a'), properties: {} }, 'nodes[0].properties: expected array, found object'],
    [{ ...person('a'), properties: [{ value: 1 }] }, 'nodes[0].properties[0].type: expected string, found nothing'],
    [
      { ...person('a'), properties: [{ type: 'x' }] },
      'nodes[0].properties[0]: expected exactly one of `value` and `external_value`',
    ],
    [
      { ...person('a'), properties: [{ type: 'x', value: 1, external_value: 'r' }] },
      'nodes[0].properties[0]: expected exactly one of `value` and `external_value`',
    ],
    [
      { ...person('a'), properties: [{ type: 'x'.repeat(129), value: 1 }] },
      'nodes[0].properties[0].type: expected at most 128 characters',
    ],
    [
      { ...person('a'), properties: [{ type: 'x', value: { y: 1 } }] },
      'nodes[0].properties[0].value: expected a string, a finite number of at most 64 bits, a boolean or an array of one of these, found object',
    ],
    [
      { ...person('a'), properties: [{ type: 'x', value: null }] },
      'nodes[0].properties[0].value: expected a string, a finite number of at most 64 bits, a boolean or an array of one of these, found null',
    ],
    [
      { ...person('a'), properties: [{ type: 'x', value: ['a', 1] }] },
      'nodes[0].properties[0].value: expected a string, a finite number of at most 64 bits, a boolean or an array of one of these, found an array of string and number',
    ],
    [
      { ...person('a'), properties: [{ type: 'x', value: 1, metadata: { assurance_level: 4 } }] },
      'nodes[0].properties[0].metadata.assurance_level: expected `1` or `2` or `3`, found `4`',
    ],
    [
      { ...person('a'), properties: [{ type: 'x', value: 1, metadata: { verified_time: 'noon' } }] },
      'nodes[0].properties[0].metadata.verified_time: expected an RFC 3339 timestamp, found `noon`',
    ],
  ])('refuses %j', async (node, message) => {
    expect(errorsOf(await nodes(node))).toEqual([400, message])
  })

  it('refuses a number that no type can represent', async () => {
    const raw = (value: string) =>
      service.send('/capture/v1/nodes', {
        headers: { 'x-svc-clientkey': service.key },
        raw: `{"nodes":[{"type":"Car","external_id":"n","properties":[{"type":"x","value":${value}}]}]}`,
      })
    for (const value of ['9223372036854775808', '-9223372036854775809', '1e999']) {
      expect([value, (await raw(value)).status]).toEqual([value, 400])
    }
    expect((await raw('9223372036854775807')).status).toBe(200)
    const free = (value: string) => raw(`1,"metadata":{"custom_metadata":{"deep":[{"n":${value}}]}}`)
    expect((await free('9223372036854775808')).body.errors).toEqual([
      'nodes[0].properties[0].metadata.custom_metadata: expected numbers of at most 64 bits, found a longer one',
    ])
    expect((await free('9223372036854775807')).status).toBe(200)
  })

  it('refuses reserved names, with every path', async () => {
    const refused = await nodes(
      { external_id: 'a', type: '_Application' },
      { ...person('b'), labels: ['_Hidden'], properties: [{ type: 'create_time', value: 'now' }] },
      { ...person('c'), location: 'mars' },
    )
    expect(errorsOf(refused)).toEqual([
      422,
      'nodes[0].type: `_Application` is reserved for the service',
      'nodes[1].labels[0]: `_Hidden` is reserved for the service',
      'nodes[1].properties[0].type: `create_time` is a protected name',
      'nodes[2].location: unknown location mars: the project has no composite database',
    ])
  })
})

describe('capturing relationships', () => {
  it('connects nodes, and the next decision sees it', async () => {
    await nodes(person('r1'), car('k1'), car('k2'))
    expect(await decide('see', 'r1', 'k1')).toBe(false)
    const joined = await relationships({
      source: person('r1'),
      target: car('k1'),
      type: 'SEES',
      properties: [{ type: 'since', value: 2020 }],
    })
    expect(joined.status).toBe(200)
    expect((joined.body.results as { id: string }[])[0]?.id).toMatch(/^gid:/)
    expect(await decide('see', 'r1', 'k1')).toBe(true)
    const again = await relationships({ source: person('r1'), target: car('k1'), type: 'SEES' })
    expect(again.body.results).toEqual(joined.body.results)
  })

  it('writes nothing of a batch with a missing end node, and names each missing node', async () => {
    await nodes(person('r2'), car('k3'))
    const refused = await relationships(
      { source: person('r2'), target: car('k3'), type: 'SEES' },
      { source: person('ghost'), target: car('k3'), type: 'SEES' },
      { source: person('r2'), target: car('phantom'), type: 'SEES' },
    )
    expect(errorsOf(refused)).toEqual([
      422,
      'relationships[1].source: the node `Person` `ghost` does not exist',
      'relationships[2].target: the node `Car` `phantom` does not exist',
    ])
    expect(await decide('see', 'r2', 'k3')).toBe(false)
  })

  it('connects the node of the application to business data', async () => {
    await nodes(car('k4'))
    const source = { type: '_Application', external_id: service.applicationId }
    expect((await relationships({ source, target: car('k4'), type: 'SERVES' })).status).toBe(200)
  })

  it('refuses meaningless input', async () => {
    const end = person('r2')
    expect(errorsOf(await relationships({ source: end, target: end, type: '_HAS' }))).toEqual([
      422,
      'relationships[0].type: `_HAS` is reserved for the service',
    ])
    const body = { relationships: [{ source: end, target: end, type: 'KNOWS' }], use_global_db: true }
    expect(errorsOf(await service.ask('/capture/v1/relationships', body))).toEqual([
      422,
      'use_global_db: the project has no composite database',
    ])
    const located = { source: { ...end, location: 'mars' }, target: end, type: 'KNOWS' }
    expect(errorsOf(await relationships(located))).toEqual([
      422,
      'relationships[0].source.location: unknown location mars: the project has no composite database',
    ])
  })

  it.each([
    [{ target: person('a'), type: 'KNOWS' }, 'relationships[0].source: expected object, found nothing'],
    [
      { source: person('a'), target: person('a'), type: 'KNOWS', properties: [{ type: 'x', value: 1, metadata: {} }] },
      'relationships[0].properties[0]: unknown member `metadata`',
    ],
    [
      { source: { ...person('a'), name: 'x' }, target: person('a'), type: 'KNOWS' },
      'relationships[0].source: unknown member `name`',
    ],
    [
      { source: person('a'), target: person('a'), type: 'knows well' },
      'relationships[0].type: expected a relationship type: a letter or `_`, then letters, digits and `_`, and between two of them single `-`, `.` or `/`',
    ],
  ])('refuses %j', async (relationship, message) => {
    expect(errorsOf(await relationships(relationship))).toEqual([400, message])
  })
})

describe('permission to capture', () => {
  it('only an agent with the permission', async () => {
    const { key } = await service.addAgent('decider', ['Authorization'])
    const body = { nodes: [person('x')] }
    const refused = await service.send('/capture/v1/nodes', { headers: { 'x-svc-clientkey': key }, body })
    expect([refused.status, refused.text]).toEqual([401, '{"message":"insufficient API access level for appAgent"}'])
    expect((await service.send('/capture/v1/nodes', { body })).status).toBe(401)
  })

  it('refuses a key of a deleted project', async () => {
    const other = await startService()
    try {
      expect((await other.ask('/capture/v1/nodes', { nodes: [person('x')] })).status).toBe(200)
      expect((await other.configure('DELETE', `projects/${other.projectId}`)).status).toBe(200)
      const gone = [404, '{"message":"knowledge graph not found for this project"}']
      const captured = await other.ask('/capture/v1/nodes', { nodes: [person('x')] })
      expect([captured.status, captured.text]).toEqual(gone)
      const asked = {
        subject: { type: 'Person', id: 'x' },
        action: { name: 'drive' },
        resource: { type: 'Car', id: 'c' },
      }
      for (const path of ['evaluation', 'search/resource', 'search/subject']) {
        const answered = await other.ask(`/access/v1/${path}`, asked)
        expect([answered.status, answered.text]).toEqual(gone)
      }
      const headers = { 'x-svc-clientkey': `${other.key.slice(0, -1)}?` }
      expect((await other.send('/access/v1/evaluation', { headers, body: asked })).status).toBe(401)
    } finally {
      await other.stop()
    }
  })
})
