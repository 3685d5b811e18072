import { afterEach, describe, expect, test } from 'vitest'
import { startContextService } from '../../support/context-service.ts'
import { addSink, changeProvider, eventsLike, type SeenEvent } from '../../support/events.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService

afterEach(() => service.stop())

const everyChange = [{ type: 'svc.audit.cdc.*' }]
const short = ({ type, subject }: SeenEvent): string => `${type.replace('svc.audit.cdc.', '')} ${subject}`

async function capture(path: string, body: object): Promise<void> {
  const answered = await service.ask(`/capture/v1/${path}`, body)
  expect(answered.status, answered.text).toBe(200)
}

const value = (type: string, given: unknown, more: object = {}): object => ({ type, value: given, ...more })
const owns = { source: { type: 'Person', external_id: 'ann' }, target: { type: 'Car', external_id: 'c' }, type: 'OWNS' }

describe('change data capture', () => {
  test('has the images before and after of every element that a write changes, and a number without holes', async () => {
    service = await startService()
    await addSink(service, everyChange, { main: changeProvider })
    await capture('nodes', {
      nodes: [
        { type: 'Person', external_id: 'ann', is_identity: true },
        {
          type: 'Car',
          external_id: 'c',
          labels: ['Fast'],
          properties: [
            value('weight', 1.5, { metadata: { source: 'papers', assurance_level: 2, custom_metadata: { by: 'x' } } }),
            { type: 'owner_name', external_value: 'a-resolver' },
          ],
        },
      ],
    })
    await capture('relationships', { relationships: [{ ...owns, properties: [value('since', 2020)] }] })
    await capture('nodes', { nodes: [{ type: 'Car', external_id: 'c', properties: [value('weight', 2)] }] })
    await capture('nodes/delete', { nodes: [{ type: 'Car', external_id: 'c' }] })
    const seen = await eventsLike(service, 'svc.audit.cdc.')
    expect(seen.map(short)).toEqual([
      'node.create nodes/Person/ann',
      'node.create nodes/Car/c',
      'relationship.create relationships/Person/ann/OWNS/Car/c',
      'node.update nodes/Car/c',
      'relationship.delete relationships/Person/ann/OWNS/Car/c',
      'node.delete nodes/Car/c',
    ])
    expect(seen.map(({ data }) => data.lsn)).toEqual([1, 2, 3, 4, 5, 6])
    const [, created, related, updated, unrelated, deleted] = seen.map(({ data }) => data)
    expect(created).toMatchObject({
      before: null,
      after: {
        externalId: 'c',
        type: 'Car',
        labels: ['Car', 'Fast'],
        isIdentity: false,
        properties: {
          weight: { value: 1.5, metadata: { source: 'papers', assuranceLevel: 2, customMetadata: { by: 'x' } } },
          owner_name: { externalValue: 'a-resolver' },
        },
      },
    })
    expect(related).toMatchObject({
      before: null,
      after: {
        type: 'OWNS',
        source: { externalId: 'ann', type: 'Person' },
        target: { externalId: 'c', type: 'Car' },
        properties: { since: { value: 2020 } },
      },
    })
    expect(updated?.before).toEqual(created?.after)
    expect(updated?.after).toMatchObject({ properties: { weight: { value: 2 }, owner_name: {} } })
    expect([unrelated?.before, unrelated?.after]).toEqual([related?.after, null])
    expect([deleted?.before, deleted?.after]).toEqual([updated?.after, null])
  })

  test('has the time of the deletion, also of the relationships of a deleted node', async () => {
    const clock = new ManualClock(Date.now())
    service = await startService({}, { clock })
    await addSink(service, everyChange, { main: changeProvider })
    await capture('nodes', {
      nodes: [
        { type: 'Person', external_id: 'ann' },
        { type: 'Car', external_id: 'c' },
      ],
    })
    await capture('relationships', { relationships: [owns] })
    clock.advance(60_000)
    await capture('nodes/delete', { nodes: [{ type: 'Car', external_id: 'c' }] })
    const seen = await eventsLike(service, 'svc.audit.cdc.')
    const deleted = seen.filter(({ type }) => type.endsWith('.delete'))
    const now = new Date(clock.now()).toISOString()
    expect(deleted.map((event) => [short(event), event.attributes.time])).toEqual([
      ['relationship.delete relationships/Person/ann/OWNS/Car/c', now],
      ['node.delete nodes/Car/c', now],
    ])
    expect(deleted.every(({ data }) => (data.before as { updateTime: string }).updateTime < now)).toBe(true)
  })

  test('is sent only to providers that ask for it, and to none without such a provider', async () => {
    service = await startService()
    const sink = await addSink(
      service,
      [
        { type: 'svc.*', provider: 'plain' },
        { type: 'svc.*', provider: 'changes' },
      ],
      {
        plain: { ...changeProvider, include_cdc_events: false },
        changes: changeProvider,
      },
    )
    await capture('nodes', { nodes: [{ type: 'Car', external_id: 'c' }] })
    const [change] = await eventsLike(service, 'svc.audit.cdc.')
    const [captured] = await eventsLike(service, 'svc.audit.capture.')
    expect([change?.providers, captured?.providers]).toEqual([['changes'], ['plain', 'changes']])
    await service.configure('PUT', `event-sinks/${sink}`, {
      include_cdc_events: true,
      providers: {
        plain: { ...changeProvider, include_cdc_events: null },
        changes: { ...changeProvider, include_cdc_events: false },
      },
    })
    await capture('nodes', { nodes: [{ type: 'Car', external_id: 'd' }] })
    const [, second] = await eventsLike(service, 'svc.audit.cdc.')
    expect(second?.providers).toEqual(['plain'])
  })

  test('includes the writes of knowledge queries and the nodes of users and applications', async () => {
    const context = await startContextService()
    service = context.service
    await context.service.ask('/capture/v1/nodes', { nodes: [{ type: 'Person', external_id: 'ann' }] })
    await addSink(service, everyChange, { main: changeProvider })
    await context.addQuery(
      'add-car',
      {
        subject: { type: 'Person' },
        condition: { cypher: 'MATCH (subject:Person)' },
        allowed_reads: { nodes: ['car.*'], relationships: [] },
        allowed_upserts: { nodes: { node_types: ['Car'] } },
      },
      {
        nodes: ['car.external_id'],
        upsert_nodes: [{ name: 'car', type: 'Car', external_id: '$id', properties: [] }],
      },
    )
    const executed = await context.execute('add-car', { input_params: { id: 'new' } }, await context.tokenOf('ann'))
    expect(executed.status, executed.text).toBe(200)
    const created = await service.configure('POST', 'applications', { project_id: service.projectId, name: 'shop' })
    const seen = (await eventsLike(service, 'svc.audit.cdc.')).map(short)
    expect(seen).toContain('node.create nodes/Car/new')
    expect(seen).toContain(`node.create nodes/_Application/${created.body.id}`)
  })

  test('begins with a snapshot of what a graph holds, for a provider that was added later', async () => {
    service = await startService()
    await capture('nodes', {
      nodes: [
        { type: 'Person', external_id: 'ann' },
        { type: 'Car', external_id: 'c' },
      ],
    })
    await capture('relationships', { relationships: [owns] })
    await addSink(service, everyChange, { main: changeProvider })
    const { eventStreams } = service.app
    const [sink] = eventStreams.sinks()
    const subjects = await eventStreams.withStreams(service.projectId, async ([graph]) => {
      await graph!.outbox.begin(graph!.name)
      const seen: string[] = []
      let position: Parameters<typeof eventStreams.readSnapshot>[3] = null
      do {
        const part = eventStreams.readSnapshot(graph!, sink!, 'main', position, 2)
        seen.push(...part.events.map(({ attributes }) => attributes.subject!))
        position = part.next
      } while (position !== null)
      return seen.filter((subject) => !subject.includes('_App'))
    })
    expect(subjects).toEqual(['nodes/Person/ann', 'nodes/Car/c', 'relationships/Person/ann/OWNS/Car/c'])
  })

  test('of a node with very many relationships is divided into several records', async () => {
    service = await startService({ captureItemsMax: 5000 })
    const count = 2500
    const ids = Array.from({ length: count }, (_, at) => `p${at}`)
    await capture('nodes', {
      nodes: [{ type: 'Car', external_id: 'c' }, ...ids.map((external_id) => ({ type: 'Person', external_id }))],
    })
    const relationships = ids.map((external_id) => ({ ...owns, source: { type: 'Person', external_id } }))
    await capture('relationships', { relationships })
    await addSink(service, everyChange, { main: changeProvider })
    await capture('nodes/delete', { nodes: [{ type: 'Car', external_id: 'c' }] })
    const seen = await eventsLike(service, 'svc.audit.cdc.')
    expect(seen.length).toBe(count + 1)
    expect(seen.at(-1)?.type).toBe('svc.audit.cdc.node.delete')
    const records = await service.app.eventStreams.withStreams(service.projectId, async ([graph]) =>
      graph!.outbox.readHeads(graph!.name, 0, 100),
    )
    expect(records.length).toBeGreaterThan(1)
    expect(records.every(({ count }) => count <= 1000)).toBe(true)
  })
})
