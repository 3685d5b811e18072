import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OpenSnapshot } from '../../../src/engine/store.ts'
import { readingGraphs } from '../../../src/kernel/request/remote-reads.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

let service: TestService
const clock = new ManualClock(Date.parse('2026-03-01T10:00:00.000Z'))

beforeAll(async () => {
  service = await startService({}, { clock, sync: false })
  await service.addPolicy({ name: 'see', actions: ['see'], cypher: 'MATCH (subject:Person)-[:SEES]->(resource:Car)' })
  await service.addPolicy({
    name: 'since',
    actions: ['since'],
    cypher: 'MATCH (subject:Person)-[r:SEES]->(resource:Car) WHERE r.since = 2020',
  })
  await service.addPolicy({
    name: 'paint',
    actions: ['paint'],
    cypher: 'MATCH (subject:Person), (resource:Car) WHERE resource.colour IS NOT NULL',
  })
})

afterAll(() => service?.stop())

const post = (path: string, body: object) => service.ask(`/capture/v1/${path}`, body)
const person = (external_id: string) => ({ type: 'Person', external_id })
const car = (external_id: string) => ({ type: 'Car', external_id })
const sees = (source: string, target: string) => ({ source: person(source), target: car(target), type: 'SEES' })

function idsOf({ status, body }: TestResponse): unknown[] {
  return [status, ...(body.results as { id: string }[]).map(({ id }) => id)]
}

function errorsOf({ status, body }: TestResponse): unknown[] {
  return [status, ...(body.errors as string[])]
}

async function decide(action: string, subject: string, resource: string): Promise<unknown> {
  const asked = { subject: { type: 'Person', id: subject }, resource: { type: 'Car', id: resource } }
  return (await service.ask('/access/v1/evaluation', { ...asked, action: { name: action } })).body.decision
}

/** The stored times of a node and of one of its properties, which no endpoint returns. */
function kept(type: string, externalId: string, property: string) {
  return readingGraphs(() => stored(type, externalId, property))
}

function stored(type: string, externalId: string, property: string) {
  const graphs = service.app.capture.graphsOf(service.projectId)
  const snapshot = graphs?.default.snapshot() as OpenSnapshot
  try {
    const node = snapshot.findNode(snapshot.symbol('label', type), externalId)
    return {
      updated: snapshot.nodeField(node, 'update_time'),
      property: snapshot.nodeStoredProperty(node, snapshot.symbol('property', property)),
    }
  } finally {
    snapshot.close()
  }
}

describe('deleting nodes', () => {
  it('deletes their relationships too, and returns the former ids', async () => {
    const captured = await post('nodes', { nodes: [person('a1'), car('c1'), car('c2')] })
    const [, ann, car1] = idsOf(captured)
    await post('relationships', { relationships: [sees('a1', 'c1'), sees('a1', 'c2')] })
    expect([await decide('see', 'a1', 'c1'), await decide('see', 'a1', 'c2')]).toEqual([true, true])
    expect(idsOf(await post('nodes/delete', { nodes: [car('c1')] }))).toEqual([200, car1])
    expect([await decide('see', 'a1', 'c1'), await decide('see', 'a1', 'c2')]).toEqual([false, true])
    expect(idsOf(await post('nodes/delete/', { nodes: [person('a1')] }))).toEqual([200, ann])
    await post('nodes', { nodes: [person('a1'), car('c1')] })
    expect([await decide('see', 'a1', 'c1'), await decide('see', 'a1', 'c2')]).toEqual([false, false])
  })

  it('of a missing node is not an error: the id is empty', async () => {
    const [, id] = idsOf(await post('nodes', { nodes: [car('once')] }))
    const both = { nodes: [car('never'), car('once'), car('once')] }
    expect(idsOf(await post('nodes/delete', both))).toEqual([200, '', id, ''])
    expect(idsOf(await post('nodes/delete', both))).toEqual([200, '', '', ''])
  })

  it('cannot delete the nodes of the service', async () => {
    const node = { type: '_Application', external_id: service.applicationId }
    expect(errorsOf(await post('nodes/delete', { nodes: [node] }))).toEqual([
      422,
      'nodes[0].type: `_Application` is reserved for the service',
    ])
  })

  it.each([
    [{}, 'nodes: expected array, found nothing'],
    [{ nodes: [] }, 'nodes: expected at least 1 item'],
    [{ nodes: Array.from({ length: 251 }, () => car('x')) }, 'nodes: expected at most 250 items'],
    [{ nodes: [{ type: 'Car' }] }, 'nodes[0].external_id: expected string, found nothing'],
    [{ nodes: [{ ...car(''), type: 'C' }] }, 'nodes[0].external_id: expected at least 1 character'],
    [{ nodes: [{ ...car('x'), location: '' }] }, 'nodes[0].location: expected at least 1 character'],
    [{ nodes: [{ ...car('x'), location: 'x'.repeat(33) }] }, 'nodes[0].location: expected at most 32 characters'],
    [{ nodes: [{ ...car('x'), properties: [] }] }, 'nodes[0]: unknown member `properties`'],
    [{ nodes: [car('x')], use_global_db: true }, 'body: unknown member `use_global_db`'],
  ])('refuses %j', async (body, message) => {
    const { status, body: answer } = await post('nodes/delete', body)
    expect([status, (answer.errors as string[])[0]]).toEqual([400, message])
  })
})

describe('deleting properties of nodes', () => {
  it('deletes the named ones, keeps the others, and updates the time of the node', async () => {
    const properties = [
      { type: 'colour', value: 'red' },
      { type: 'wheels', value: 4 },
    ]
    const [, id] = idsOf(await post('nodes', { nodes: [{ ...car('p1'), properties }] }))
    const captured = await kept('Car', 'p1', 'wheels')
    expect(await decide('paint', 'x', 'p1')).toBe(false)
    await post('nodes', { nodes: [person('x')] })
    expect(await decide('paint', 'x', 'p1')).toBe(true)
    clock.advance(60_000)
    const gone = { nodes: [{ ...car('p1'), property_types: ['colour', 'never'] }] }
    expect(idsOf(await post('nodes/properties/delete', gone))).toEqual([200, id])
    expect(await decide('paint', 'x', 'p1')).toBe(false)
    expect((await kept('Car', 'p1', 'colour')).property).toBeNull()
    const after = await kept('Car', 'p1', 'wheels')
    expect(after.property).toEqual(captured.property)
    expect([captured.updated, after.updated]).toEqual(['2026-03-01T10:00:00.000Z', '2026-03-01T10:01:00.000Z'])
    clock.advance(60_000)
    expect(idsOf(await post('nodes/properties/delete', gone))).toEqual([200, id])
    expect((await kept('Car', 'p1', 'wheels')).updated).toBe('2026-03-01T10:01:00.000Z')
  })

  it('returns an empty id for a missing node', async () => {
    const nodes = [{ ...car('nowhere'), property_types: ['colour'] }]
    expect(idsOf(await post('nodes/properties/delete', { nodes }))).toEqual([200, ''])
  })

  it('refuses the fields that every element has', async () => {
    const nodes = [{ ...car('p1'), property_types: ['wheels', 'external_id', '_service'] }]
    expect(errorsOf(await post('nodes/properties/delete', { nodes }))).toEqual([
      422,
      'nodes[0].property_types[1]: `external_id` is a protected name',
      'nodes[0].property_types[2]: `_service` is a protected name',
    ])
    expect((await kept('Car', 'p1', 'wheels')).property).not.toBeNull()
  })

  it.each([
    [undefined, 'nodes[0].property_types: expected array, found nothing'],
    [[], 'nodes[0].property_types: expected at least 1 item'],
    [Array.from({ length: 251 }, (_, i) => `p${i}`), 'nodes[0].property_types: expected at most 250 items'],
    [[5], 'nodes[0].property_types[0]: expected string, found number'],
    [[''], 'nodes[0].property_types[0]: expected at least 1 character'],
    [['x'.repeat(129)], 'nodes[0].property_types[0]: expected at most 128 characters'],
  ])('refuses the names %j', async (property_types, message) => {
    const nodes = [{ ...car('p1'), property_types }]
    expect(errorsOf(await post('nodes/properties/delete', { nodes }))).toEqual([400, message])
  })

  it('accepts 250 names', async () => {
    const nodes = [{ ...car('p1'), property_types: Array.from({ length: 250 }, (_, i) => `p${i}`) }]
    expect((await post('nodes/properties/delete', { nodes })).status).toBe(200)
  })
})

describe('deleting metadata', () => {
  const metadata = {
    source: 'hr',
    assurance_level: 2,
    verified_time: '2026-01-01T00:00:00Z',
    custom_metadata: { desk: 'A1', notes: ['x'] },
  }
  const trim = (metadata_fields: string[], property_type = 'email') =>
    post('nodes/properties/metadata/delete', { nodes: [{ ...person('m1'), property_type, metadata_fields }] })

  it('deletes standard and custom fields, keeps the value, and updates the times of property and node', async () => {
    const properties = [{ type: 'email', value: 'a@b.c', metadata }]
    const [, id] = idsOf(await post('nodes', { nodes: [{ ...person('m1'), properties }] }))
    clock.advance(1000)
    expect(idsOf(await trim(['source', 'desk', 'never']))).toEqual([200, id])
    const { updated, property } = await kept('Person', 'm1', 'email')
    expect(property).toEqual({
      value: 'a@b.c',
      externalValue: null,
      updatedMs: clock.now(),
      metadata: { assuranceLevel: 2, verifiedTime: '2026-01-01T00:00:00Z', custom: { notes: ['x'] } },
    })
    expect(updated).toBe(new Date(clock.now()).toISOString())
    clock.advance(1000)
    expect(idsOf(await trim(['source']))).toEqual([200, id])
    expect(await kept('Person', 'm1', 'email')).toEqual({ updated, property })
    await trim(['assurance_level', 'verified_time', 'notes'])
    expect((await kept('Person', 'm1', 'email')).property?.metadata).toBeNull()
  })

  it('of a missing property or node is not an error', async () => {
    const [, id] = idsOf(await post('nodes', { nodes: [person('m1')] }))
    expect(idsOf(await trim(['source'], 'never'))).toEqual([200, id])
    const nodes = [{ ...person('nobody'), property_type: 'email', metadata_fields: ['source'] }]
    expect(idsOf(await post('nodes/properties/metadata/delete', { nodes }))).toEqual([200, ''])
  })

  it('does not affect the metadata of the next value', async () => {
    const capture = (property: object) => post('nodes', { nodes: [{ ...person('m2'), properties: [property] }] })
    await capture({ type: 'email', value: 'a@b.c', metadata })
    await capture({ type: 'email', value: 'd@e.f', metadata: { source: 'self' } })
    expect((await kept('Person', 'm2', 'email')).property?.metadata).toEqual({ source: 'self' })
    await capture({ type: 'email', external_value: 'a-resolver' })
    expect((await kept('Person', 'm2', 'email')).property).toMatchObject({
      externalValue: 'a-resolver',
      metadata: null,
    })
  })

  it.each([
    [{ property_type: 'a' }, 'nodes[0].metadata_fields: expected array, found nothing'],
    [{ property_type: 'a', metadata_fields: [] }, 'nodes[0].metadata_fields: expected at least 1 item'],
    [{ property_type: 'a', metadata_fields: [''] }, 'nodes[0].metadata_fields[0]: expected at least 1 character'],
    [
      { property_type: 'a', metadata_fields: Array.from({ length: 251 }, () => 'x') },
      'nodes[0].metadata_fields: expected at most 250 items',
    ],
    [{ metadata_fields: ['source'] }, 'nodes[0].property_type: expected string, found nothing'],
    [{ property_type: ['a'], metadata_fields: ['x'] }, 'nodes[0].property_type: expected string, found array'],
  ])('refuses %j', async (entry, message) => {
    const nodes = [{ ...person('m1'), ...entry }]
    expect(errorsOf(await post('nodes/properties/metadata/delete', { nodes }))).toEqual([400, message])
  })
})

describe('deleting relationships', () => {
  it('ends what they granted at once; `properties` is ignored', async () => {
    await post('nodes', { nodes: [person('r1'), car('k1'), car('k2')] })
    const [, first] = idsOf(await post('relationships', { relationships: [sees('r1', 'k1'), sees('r1', 'k2')] }))
    const gone = { relationships: [{ ...sees('r1', 'k1'), properties: 'anything' }, sees('r1', 'nowhere')] }
    expect(idsOf(await post('relationships/delete', gone))).toEqual([200, first, ''])
    expect([await decide('see', 'r1', 'k1'), await decide('see', 'r1', 'k2')]).toEqual([false, true])
    expect(idsOf(await post('relationships/delete/', gone))).toEqual([200, '', ''])
  })

  it('or some of their properties', async () => {
    await post('nodes', { nodes: [person('r2'), car('k3')] })
    const properties = [{ type: 'since', value: 2020 }]
    const [, id] = idsOf(await post('relationships', { relationships: [{ ...sees('r2', 'k3'), properties }] }))
    expect(await decide('since', 'r2', 'k3')).toBe(true)
    const gone = { relationships: [{ ...sees('r2', 'k3'), property_types: ['since'], properties: [] }] }
    expect(idsOf(await post('relationships/properties/delete', gone))).toEqual([200, id])
    expect([await decide('since', 'r2', 'k3'), await decide('see', 'r2', 'k3')]).toEqual([false, true])
    const never = { relationships: [{ ...sees('r2', 'k9'), property_types: ['since'] }] }
    expect(idsOf(await post('relationships/properties/delete', never))).toEqual([200, ''])
  })

  it('refuses meaningless input', async () => {
    const own = { ...sees('r1', 'k1'), type: '_HAS' }
    const issue = 'relationships[0].type: `_HAS` is reserved for the service'
    expect(errorsOf(await post('relationships/delete', { relationships: [own] }))).toEqual([422, issue])
    const composite = { relationships: [sees('r1', 'k1')], use_global_db: true }
    expect(errorsOf(await post('relationships/delete', composite))).toEqual([
      422,
      'use_global_db: the project has no composite database',
    ])
    const fixed = { relationships: [{ ...sees('r1', 'k1'), property_types: ['id'] }] }
    expect(errorsOf(await post('relationships/properties/delete', fixed))).toEqual([
      422,
      'relationships[0].property_types[0]: `id` is a protected name',
    ])
  })

  it.each([
    ['relationships/delete', { relationships: [] }, 'relationships: expected at least 1 item'],
    [
      'relationships/delete',
      { relationships: [{ source: person('a'), type: 'SEES' }] },
      'relationships[0].target: expected object, found nothing',
    ],
    [
      'relationships/delete',
      { relationships: [{ ...sees('a', 'b'), property_types: ['x'] }] },
      'relationships[0]: unknown member `property_types`',
    ],
    [
      'relationships/properties/delete',
      { relationships: [sees('a', 'b')] },
      'relationships[0].property_types: expected array, found nothing',
    ],
    [
      'relationships/delete',
      { relationships: [sees('a', 'b')], use_global_db: 1 },
      'use_global_db: expected boolean, found number',
    ],
  ])('%s refuses %j', async (path, body, message) => {
    expect(errorsOf(await post(path, body))).toEqual([400, message])
  })
})
