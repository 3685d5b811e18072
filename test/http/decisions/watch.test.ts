// Change streams: which decisions may have changed, and nothing else.
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { ManualClock } from '../../support/manual-clock.ts'
import { EventStreamReader, type ServerEvent } from '../../support/server-events.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
const open: EventStreamReader[] = []

beforeAll(async () => {
  service = await startService({}, { sync: false })
  await nodes(['Person', 'ann'], ['Person', 'bob'], ['Car', 'c1'], ['Truck', 't1'], ['Depot', 'd1'])
  await service.addPolicy({ name: 'drive', cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)' })
  await service.addPolicy({
    name: 'load',
    actions: ['load', 'unload'],
    resource: 'Truck',
    cypher: "MATCH (subject:Person), (resource:Truck) WHERE resource.state = 'open'",
  })
})
afterEach(async () => {
  for (const stream of open.splice(0)) await stream.close()
})
afterAll(() => service?.stop())

async function watch(query = '', headers: Record<string, string> = {}): Promise<EventStreamReader> {
  const url = `${service.url}/access/v1/watch${query}`
  const stream = await EventStreamReader.open(url, { 'x-svc-clientkey': service.key, ...headers })
  open.push(stream)
  await stream.until(({ name }) => name === 'hello')
  return stream
}

async function nodes(...list: readonly (readonly [type: string, id: string, properties?: object])[]): Promise<void> {
  const answer = await service.ask('/capture/v1/nodes', {
    nodes: list.map(([type, external_id, properties = {}]) => ({
      type,
      external_id,
      properties: Object.entries(properties).map(([name, value]) => ({ type: name, value })),
    })),
  })
  expect(answer.status, answer.text).toBe(200)
}

function relationship(source: string, type: string, target: readonly [type: string, id: string], path = '') {
  const relationships = [
    {
      source: { type: 'Person', external_id: source },
      target: { type: target[0], external_id: target[1] },
      type,
    },
  ]
  return service.ask(`/capture/v1/relationships${path}`, { relationships })
}

/** The changes of an event as short texts. */
function changesOf({ data }: ServerEvent): string[] {
  const changes = data.changes as { subject_type: string; action: string; resource_type: string }[]
  return changes.map(({ subject_type, action, resource_type }) => `${subject_type} ${action} ${resource_type}`).sort()
}

const isChange = ({ name }: ServerEvent): boolean => name === 'change'
/** A change whose commit takes long is reported before it, at the revision before it, and once more after it. */
const isCommitted = (event: ServerEvent, last: ServerEvent): boolean =>
  isChange(event) && (event.data.revision as number) > (last.data.revision as number)

describe('a change stream', () => {
  it('begins with a revision, and reports the decisions that a write may change', async () => {
    const stream = await watch()
    expect(stream.events).toEqual([
      {
        name: 'hello',
        id: expect.any(String),
        data: { revision: expect.any(Number), resumed: false, time_dependent: [] },
      },
    ])
    await relationship('ann', 'OWNS', ['Car', 'c1'])
    const owned = await stream.until((event) => isCommitted(event, stream.events[0]!))
    for (const event of stream.events.slice(1)) expect(changesOf(event)).toEqual(['Person drive Car'])
    const seen = stream.events.length
    await nodes(['Truck', 't1', { state: 'open' }])
    await stream.until((event) => isCommitted(event, owned), seen)
    for (const event of stream.events.slice(seen))
      expect(changesOf(event)).toEqual(['Person load Truck', 'Person unload Truck'])
  })

  it('reports no write that changes nothing of what the policies read', async () => {
    const stream = await watch()
    await nodes(['Truck', 't1', { state: 'open' }], ['Truck', 't1', { colour: 'red' }], ['Depot', 'd2'])
    await relationship('ann', 'KNOWS', ['Person', 'bob'])
    // Events come in order: the next change is that of the last write only.
    await relationship('bob', 'OWNS', ['Car', 'c1'])
    expect(changesOf(await stream.until(isChange))).toEqual(['Person drive Car'])
  })

  it.each([
    [
      'the deletion of a relationship',
      () => relationship('bob', 'OWNS', ['Car', 'c1'], '/delete'),
      ['Person drive Car'],
    ],
    [
      'the deletion of a node, with its relationships',
      () => service.ask('/capture/v1/nodes/delete', { nodes: [{ type: 'Person', external_id: 'ann' }] }),
      ['Person drive Car', 'Person load Truck', 'Person unload Truck'],
    ],
    [
      'the deletion of a property',
      () =>
        service.ask('/capture/v1/nodes/properties/delete', {
          nodes: [{ type: 'Truck', external_id: 't1', property_types: ['state'] }],
        }),
      ['Person load Truck', 'Person unload Truck'],
    ],
  ])('reports %s', async (_, write, expected) => {
    await nodes(['Person', 'ann'], ['Truck', 't1', { state: 'open' }])
    await relationship('ann', 'OWNS', ['Car', 'c1'])
    await relationship('bob', 'OWNS', ['Car', 'c1'])
    const stream = await watch()
    const answer = await write()
    expect(answer.status, answer.text).toBe(200)
    expect(changesOf(await stream.until(isChange))).toEqual(expected)
  })

  it('sends only what its filters accept', async () => {
    const streams = [
      await watch('?action=load'),
      await watch('?resource_type=Car'),
      await watch('?subject_type=Robot'),
    ] as const
    await nodes(['Truck', 't1', { state: `${Math.random()}` }])
    await relationship('ann', 'OWNS', ['Car', 'c1'], '/delete')
    await relationship('ann', 'OWNS', ['Car', 'c1'])
    expect(changesOf(await streams[0].until(isChange))).toEqual(['Person load Truck'])
    expect(changesOf(await streams[1].until(isChange))).toEqual(['Person drive Car'])
    expect(streams[2].events.filter(isChange)).toEqual([])
    const unknown = await service.send('/access/v1/watch?colour=red', { headers: { 'x-svc-clientkey': service.key } })
    expect([unknown.status, unknown.body.errors]).toEqual([422, [expect.stringContaining('colour')]])
  })

  it('reports policies that come, change and go, and names those that read the time', async () => {
    const stream = await watch()
    const timed = { subject_type: 'Person', action: 'park', resource_type: 'Depot' }
    const id = await service.addPolicy({
      name: 'park',
      actions: ['park'],
      resource: 'Depot',
      cypher: 'MATCH (subject:Person), (resource:Depot) WHERE datetime() < resource.until',
    })
    const added = await stream.until(isChange)
    expect(added.data).toMatchObject({ changes: [timed], time_dependent: [timed] })
    const seen = stream.events.length
    expect((await service.configure('DELETE', `authorization-policies/${id}`)).status).toBe(200)
    const removed = await stream.until(isChange, seen)
    expect(removed.data).toMatchObject({ changes: [timed], time_dependent: [] })
  })

  it('reports what definitions of the model read, also with a table, and resets streams when the model changes', async () => {
    const model = `DEFINE (p:Person)-[:keeps]->(d:Depot) AS { MATCH (p)-[:RENTS]->(d) }
DEFINE (p:Person)-[:oversees]->(d:Depot) AS {
  MATCH (p)-[:HEADS]->(d)
  UNION MATCH (d)<-[:keeps]-(a:Person), (d)-[:NEAR]->(b:Depot) WHERE (p)-[:LEADS]->(a) AND (p)-[:oversees]->(b)
}`
    const body = { project_id: service.projectId, name: 'model', model }
    const stored = await service.configure('POST', 'models', body)
    expect(stored.status, stored.text).toBe(201)
    const ids: string[] = []
    for (const type of ['keeps', 'oversees']) {
      const cypher = `MATCH (subject)-[:${type}]->(resource)`
      ids.push(await service.addPolicy({ name: type, actions: [type], resource: 'Depot', cypher }))
    }
    for (const [type, expected] of [
      ['RENTS', ['Person keeps Depot', 'Person oversees Depot']],
      ['HEADS', ['Person oversees Depot']],
    ] as const) {
      const stream = await watch()
      await relationship('bob', type, ['Depot', 'd1'])
      expect(changesOf(await stream.until(isChange))).toEqual(expected)
    }
    const stream = await watch()
    const changed = { model: model.replace('RENTS', 'OWNS') }
    expect((await service.configure('PUT', `models/${stored.body.id}`, changed)).status).toBe(200)
    await stream.until(({ name }) => name === 'reset')
    for (const id of ids) await service.configure('DELETE', `authorization-policies/${id}`)
    expect((await service.configure('DELETE', `models/${stored.body.id}`)).status).toBe(200)
  })

  it('reports what a policy with a quantified path pattern reads, also inside of a path with a selector', async () => {
    const stream = await watch()
    const ids: string[] = []
    for (const [action, cypher] of [
      ['reach', 'MATCH (subject) ((a)-[:LEADS]->(b:Person) WHERE a.rank < b.level){1,3} (c)-[:PARKS]->(resource)'],
      ['find', 'MATCH ANY SHORTEST (subject) ((a)-[:LEADS]->(b) WHERE a.rank < b.level)+ (c)-[:PARKS]->(resource)'],
    ] as const) {
      ids.push(await service.addPolicy({ name: action, actions: [action], resource: 'Depot', cypher }))
    }
    for (const write of [
      () => relationship('ann', 'LEADS', ['Person', 'bob']),
      () => nodes(['Person', 'bob', { level: Math.random() }]),
      () => relationship('bob', 'PARKS', ['Depot', 'd1']),
    ]) {
      const fresh = await watch()
      await write()
      expect(changesOf(await fresh.until(isChange))).toEqual(['Person find Depot', 'Person reach Depot'])
    }
    expect(stream.events.filter(({ name }) => name === 'reset')).toEqual([])
    for (const id of ids) expect((await service.configure('DELETE', `authorization-policies/${id}`)).status).toBe(200)
  })

  it('continues after the last event, and says when it cannot', async () => {
    const first = await watch()
    await relationship('ann', 'OWNS', ['Car', 'c1'], '/delete')
    await relationship('ann', 'OWNS', ['Car', 'c1'])
    const { id } = await first.until(isChange)
    await first.close()
    await nodes(['Truck', 't1', { state: `${Math.random()}` }])
    const id2 = await service.addPolicy({
      name: 'extra',
      actions: ['wash'],
      cypher: 'MATCH (subject:Person), (resource:Car)',
    })
    const second = await watch('', { 'last-event-id': id })
    expect(second.events[0]?.data.resumed).toBe(true)
    // On a slow graph the relationship is seen twice, without it and with it.
    const resumed = changesOf(await second.until(isChange)).filter((change) => change !== 'Person drive Car')
    expect(resumed).toEqual(['Person load Truck', 'Person unload Truck', 'Person wash Car'])
    await service.configure('DELETE', `authorization-policies/${id2}`)
    for (const unknown of ['other.1.2', 'x', id.replace(/\.\d+$/, '.999999'), `${id}.1`, '']) {
      const third = await watch('', { 'last-event-id': unknown })
      expect(third.events[0]?.data.resumed, unknown).toBe(false)
      await third.until(({ name }) => name === 'reset')
    }
  })

  it('ends when the agent loses its permission, and when the service stops', async () => {
    const { agentId, key } = await service.addAgent('watcher', ['Authorization'])
    const stream = await watch('', { 'x-svc-clientkey': key })
    const agent = await service.configure('PUT', `application-agents/${agentId}`, { api_permissions: ['Capture'] })
    expect(agent.status, agent.text).toBe(200)
    await stream.ended
    const refused = await service.send('/access/v1/watch', { headers: { 'x-svc-clientkey': key } })
    expect(refused.status).toBe(401)
    const other = await startService({}, { sync: false })
    const last = await EventStreamReader.open(`${other.url}/access/v1/watch`, { 'x-svc-clientkey': other.key })
    await other.stop()
    await last.ended
  })

  it('has a limit for each project', async () => {
    const small = await startService({ watchStreamsMax: 5 }, { sync: false })
    try {
      const headers = { 'x-svc-clientkey': small.key }
      const only = await EventStreamReader.open(`${small.url}/access/v1/watch`, headers)
      const refused = await small.send('/access/v1/watch', { headers })
      expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '30'])
      await only.close()
      for (;;) {
        const next = await fetch(`${small.url}/access/v1/watch`, { headers })
        await next.body?.cancel()
        if (next.status === 200) break
      }
    } finally {
      await small.stop()
    }
  })
})

it('reports a write directly after the clock of the machine was set forward', async () => {
  const clock = new ManualClock(Date.now())
  const other = await startService({}, { sync: false, clock })
  const shared = service
  service = other
  try {
    await other.addPolicy({ name: 'drive', cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)' })
    await nodes(['Person', 'ann'], ['Car', 'c1'])
    const stream = await watch()
    clock.advance(3_600_000)
    await relationship('ann', 'OWNS', ['Car', 'c1'])
    expect(changesOf(await stream.until(isChange))).toEqual(['Person drive Car'])
    await stream.close()
  } finally {
    service = shared
    await other.stop()
  }
})
