import { afterEach, describe, expect, test } from 'vitest'
import { addSink, eventsLike, eventsOf } from '../../support/events.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService

afterEach(() => service.stop())

const car = (external_id: string, more: object = {}): object => ({ type: 'Car', external_id, ...more })
const value = (type: string, given: unknown): object => ({ type, value: given })
const owns = (external_id: string, more: object = {}): object => ({
  source: { type: 'Person', external_id: 'ann' },
  target: { type: 'Car', external_id },
  type: 'OWNS',
  ...more,
})

async function capture(path: string, body: object): Promise<{ id: string }[]> {
  const answered = await service.ask(`/capture/v1/${path}`, body)
  expect(answered.status, answered.text).toBe(200)
  return answered.body.results as { id: string }[]
}

describe('captures', () => {
  test('have one event for each element that they write, with the payload of the operation', async () => {
    service = await startService()
    await addSink(service, [{ type: 'svc.audit.capture.*' }])
    const nodes = {
      nodes: [
        { type: 'Person', external_id: 'ann', is_identity: true },
        car('c 1/ä', {
          properties: [{ ...value('colour', 'red'), metadata: { source: 'papers' } }, value('wheels', 4)],
        }),
        car('c2'),
      ],
    }
    const [ann, c1, c2] = await capture('nodes', nodes)
    const [ownsC1] = await capture('relationships', {
      relationships: [owns('c 1/ä', { properties: [value('since', 1)] })],
    })
    await capture('relationships/properties/delete', { relationships: [owns('c 1/ä', { property_types: ['since'] })] })
    await capture('nodes/properties/metadata/delete', {
      nodes: [car('c 1/ä', { property_type: 'colour', metadata_fields: ['source'] })],
    })
    await capture('nodes/properties/delete', { nodes: [car('c 1/ä', { property_types: ['colour', 'wheels'] })] })
    await capture('relationships/delete', { relationships: [owns('c 1/ä')] })
    // A deletion of what does not exist has no event.
    await capture('nodes/delete', { nodes: [car('c2'), car('never captured')] })

    const seen = await eventsOf(service)
    const match = { externalId: 'c 1/ä', type: 'Car' }
    const relationship = { id: ownsC1?.id, type: 'OWNS', source: { externalId: 'ann', type: 'Person' }, target: match }
    expect(seen.map(({ type, data }) => [type.replace('svc.audit.capture.', ''), data])).toMatchObject([
      ['upsert.node', { nodes: [{ id: ann?.id, externalId: 'ann', type: 'Person', isIdentity: true }] }],
      ['upsert.node', { nodes: [{ id: c1?.id, ...match, isIdentity: false }] }],
      ['upsert.node', { nodes: [{ id: c2?.id, externalId: 'c2', type: 'Car', isIdentity: false }] }],
      ['upsert.relationship', { relationships: [relationship] }],
      ['delete.relationship.property', { relationshipProperties: [{ ...relationship, propertyType: 'since' }] }],
      [
        'delete.node.property.metadata',
        { nodeProperties: [{ id: c1?.id, match, propertyType: 'colour', metadataFields: ['source'] }] },
      ],
      [
        'delete.node.property',
        {
          nodeProperties: [
            { id: c1?.id, match, propertyType: 'colour' },
            { id: c1?.id, match, propertyType: 'wheels' },
          ],
        },
      ],
      ['delete.relationship', { relationships: [relationship] }],
      ['delete.node', { nodes: [{ id: c2?.id, externalId: 'c2', type: 'Car' }] }],
    ])
    expect(seen.map(({ sequence }) => sequence)).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9])
    expect(seen[1]).toMatchObject({
      source: 'graph',
      subject: 'nodes/Car/c%201%2F%C3%A4',
      providers: ['main'],
      attributes: {
        specversion: '1.0',
        type: 'svc.audit.capture.upsert.node',
        datacontenttype: 'application/json',
        projectid: service.projectId,
        sequence: '0000000000000002',
        partitionkey: 'nodes/Car/c%201%2F%C3%A4',
      },
      data: {
        eventType: 'svc.audit.capture.upsert.node',
        version: 1,
        actor: { type: 'agent', id: service.agentId, applicationId: service.applicationId },
      },
    })
    expect(seen[3]?.subject).toBe('relationships/Person/ann/OWNS/Car/c%201%2F%C3%A4')
    expect(new Set(seen.map(({ attributes }) => attributes.id)).size).toBe(9)
    // Property values are not in the events of captures.
    expect(JSON.stringify(seen)).not.toContain('red')
  })

  test('carry the request id, and nothing is written for a batch that is refused', async () => {
    service = await startService()
    await addSink(service, [{ type: 'svc.audit.capture.upsert.*' }])
    const headers = { 'x-svc-clientkey': service.key, 'x-request-id': 'request-7' }
    await service.send('/capture/v1/nodes', { headers, body: { nodes: [car('c1')] } })
    const refused = await service.ask('/capture/v1/relationships', { relationships: [owns('c1')] })
    expect(refused.status).toBe(422)
    const seen = await eventsOf(service)
    expect(seen.map(({ data }) => data.requestId)).toEqual(['request-7'])
  })

  test('have no event for the deletion of properties and metadata that the element does not have', async () => {
    service = await startService()
    await addSink(service, [{ type: 'svc.audit.capture.delete.*' }])
    const metadata = { source: 'papers', assurance_level: 2, custom_metadata: { by: 'x' } }
    const properties = [
      { ...value('colour', 'red'), metadata },
      { type: 'owner', external_value: 'a-resolver' },
    ]
    await capture('nodes', { nodes: [{ type: 'Person', external_id: 'ann' }, car('c', { properties })] })
    await capture('relationships', { relationships: [owns('c', { properties: [value('since', 1)] })] })
    const names = (property_types: string[]): object => ({ property_types })
    await capture('nodes/properties/delete', { nodes: [car('c', names(['wheels'])), car('none', names(['colour']))] })
    await capture('nodes/properties/delete', { nodes: [car('c', names(['wheels', 'owner', 'doors']))] })
    await capture('relationships/properties/delete', { relationships: [owns('c', names(['until']))] })
    await capture('relationships/properties/delete', { relationships: [owns('c', names(['until', 'since']))] })
    for (const metadata_fields of [['verified_time', 'until'], ['verified_time', 'assurance_level', 'by'], ['by']])
      await capture('nodes/properties/metadata/delete', {
        nodes: [car('c', { property_type: 'colour', metadata_fields })],
      })
    const seen = await eventsOf(service)
    expect(seen.map(({ data }) => data.nodeProperties ?? data.relationshipProperties)).toMatchObject([
      [{ propertyType: 'owner' }],
      [{ propertyType: 'since' }],
      [{ propertyType: 'colour', metadataFields: ['assurance_level', 'by'] }],
    ])
    expect(seen.map(({ data }) => Object.values(data).at(-1))).toMatchObject([
      { length: 1 },
      { length: 1 },
      { length: 1 },
    ])
  })

  test('are routed by type, label and property values, in order, until a route stops', async () => {
    service = await startService()
    await addSink(service, [
      {
        type: 'svc.audit.capture.upsert.node',
        context: { captureLabel: 'Car', manufacturer: 'Volt' },
        provider: 'volt',
        stop: true,
      },
      { type: 'svc.audit.capture.upsert.node', context: { captureLabel: 'Car' }, provider: 'cars' },
      { type: 'svc.audit.capture.*', context: { wheels: '4' }, provider: 'four' },
      { type: 'svc.audit.capture.*', context: { electric: 'true' }, provider: 'cars' },
    ])
    await capture('nodes', {
      nodes: [
        car('volt', { properties: [value('manufacturer', 'Volt'), value('wheels', 4)] }),
        car('other', { properties: [value('manufacturer', 'Other'), value('wheels', 4)] }),
        car('plain', { properties: [value('wheels', [3, 4]), value('electric', true)] }),
        { type: 'Bike', external_id: 'b', properties: [value('wheels', 2)] },
      ],
    })
    const routed = async (): Promise<unknown[]> =>
      (await eventsOf(service)).map(({ subject, providers }) => [subject.replace('nodes/', ''), providers])
    const first = [
      ['Car/volt', ['volt']],
      ['Car/other', ['cars', 'four']],
      ['Car/plain', ['cars', 'four']],
    ]
    expect(await routed()).toEqual(first)
    // The node has the property, and this request does not name it.
    await capture('nodes', { nodes: [car('volt', { properties: [value('wheels', 3)] })] })
    // A deletion is matched by what was there.
    await capture('nodes/properties/delete', { nodes: [car('other', { property_types: ['wheels'] })] })
    await capture('nodes/delete', { nodes: [car('other')] })
    expect(await routed()).toEqual([...first, ['Car/volt', ['volt']], ['Car/other', ['four']]])
  })

  test('that replace labels have one more event with the labels that the node has lost', async () => {
    service = await startService()
    await addSink(service, [
      { type: 'svc.audit.capture.delete.*', context: { captureLabel: 'Car', wheels: '4' } },
      { type: 'svc.audit.capture.upsert.node', context: { captureLabel: 'Bike' } },
    ])
    const wheels = (count: number): object => ({ properties: [value('wheels', count)] })
    const upsert = (...nodes: readonly object[]): Promise<unknown> => capture('nodes', { nodes })
    await upsert(
      car('c1', { labels: ['Fast', 'Red', 'Car'], ...wheels(4) }),
      car('c2', { labels: ['Fast'], ...wheels(3) }),
    )
    // Without labels the node keeps them; with all of them it loses none.
    await upsert(car('c1', wheels(4)), car('c1', { labels: ['Red'], tags: ['Fast'] }))
    expect(await eventsOf(service)).toEqual([])
    // The route reads the properties before the upsert.
    await upsert(car('c1', { labels: ['Blue'], ...wheels(5) }), car('c2', { labels: [], ...wheels(4) }))
    await upsert({ type: 'Bike', external_id: 'b', labels: ['Red'] }, car('c2', { labels: ['Slow'] }))
    await upsert({ type: 'Bike', external_id: 'b', labels: [] }, car('c2', { labels: [] }))
    const match = { externalId: 'c1', type: 'Car' }
    expect(
      (await eventsOf(service)).map(({ type, data }) => [type.replace('svc.audit.capture.', ''), data]),
    ).toMatchObject([
      [
        'delete.node.tag',
        {
          nodeTags: [
            { match, tagType: 'Fast' },
            { match, tagType: 'Red' },
          ],
        },
      ],
      ['upsert.node', { nodes: [{ externalId: 'b', type: 'Bike' }] }],
      ['upsert.node', { nodes: [{ externalId: 'b', type: 'Bike' }] }],
      ['delete.node.tag', { nodeTags: [{ match: { externalId: 'c2', type: 'Car' }, tagType: 'Slow' }] }],
    ])
  })

  test('of a project without a matching route write nothing to the outbox', async () => {
    service = await startService()
    await capture('nodes', { nodes: [car('c1')] })
    await addSink(service, [{ type: 'svc.audit.capture.delete.*' }])
    await capture('nodes', { nodes: [car('c2')] })
    const streams = await service.app.eventStreams.withStreams(service.projectId, async (found) =>
      found.filter(({ outbox, name }) => outbox.status(name) !== null).map(({ source }) => source),
    )
    expect(streams).toEqual([])
    await capture('nodes/delete', { nodes: [car('c2')] })
    expect((await eventsLike(service, 'svc.audit.capture')).map(({ type }) => type)).toEqual([
      'svc.audit.capture.delete.node',
    ])
  })

  test('of a composite project have a location, and one stream for each graph', async () => {
    service = await startService()
    const db_connection = { url: 'lmdb:', composite_db_name: 'whole', alias_mapping: 'eu=eu-db' }
    expect((await service.configure('PUT', `projects/${service.projectId}`, { db_connection })).status).toBe(200)
    await addSink(service, [{ type: 'svc.audit.capture.*' }])
    await capture('nodes', { nodes: [car('here'), { type: 'Person', external_id: 'ann', location: 'eu' }] })
    await capture('relationships', { relationships: [owns('here')], use_global_db: true })
    const seen = await eventsOf(service)
    const nodes = seen.filter(({ type }) => type.endsWith('.node'))
    expect(nodes.map(({ data }) => data)).toMatchObject([
      { nodes: [{ externalId: 'here' }] },
      { nodes: [{ externalId: 'ann', location: 'eu' }] },
    ])
    expect(JSON.stringify(nodes[0])).not.toContain('location')
    expect(seen.map(({ sequence }) => sequence)).toEqual([1, 1, 1])
    expect(new Set(seen.map(({ attributes }) => attributes.source)).size).toBe(3)
    expect(JSON.stringify(seen)).not.toContain('eu-db')
  })
})
