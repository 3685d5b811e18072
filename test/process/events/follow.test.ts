// Following the events of a project over HTTP, with and without delivery to a provider.
import { afterEach, describe, expect, test } from 'vitest'
import { payloadSchema } from '../../../src/events/event-types.ts'
import { Random, testSeed } from '../../generate/random.ts'
import { untilCommitted } from '../../support/commits.ts'
import { type EventReceiver, receiverProvider, startReceiver } from '../../support/event-receiver.ts'
import { addSink, changeProvider, envelopeFaults } from '../../support/events.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
const receivers: EventReceiver[] = []

afterEach(async () => {
  await service.stop()
  for (const receiver of receivers.splice(0)) await receiver.stop()
})

interface Followed {
  readonly events: readonly {
    readonly providers: readonly string[]
    readonly event: Record<string, string> & { readonly data: object }
  }[]
  readonly position: string
  readonly has_more: boolean
  readonly missed: number
}

async function follow(sink: string, body: object = {}): Promise<Followed> {
  const { status, body: read, text } = await service.configure('POST', `event-sinks/${sink}/follow`, body)
  expect(status, text).toBe(200)
  return read as unknown as Followed
}

const subjects = ({ events }: Followed): (string | undefined)[] => events.map(({ event }) => event.subject)

async function capture(...external_ids: readonly string[]): Promise<void> {
  const nodes = external_ids.map((external_id) => ({ type: 'Car', external_id }))
  expect((await service.ask('/capture/v1/nodes', { nodes })).status).toBe(200)
}

const decide = () =>
  service.ask('/access/v1/evaluation', {
    subject: { type: 'Person', id: 'ann' },
    action: { name: 'drive' },
    resource: { type: 'Car', id: 'a' },
  })

describe('following events', () => {
  test('returns numbers of payloads as they are delivered', async () => {
    service = await startService({}, { log: () => undefined })
    const sink = await addSink(service, [{ type: 'svc.audit.cdc.*' }], { main: changeProvider })
    const raw =
      '{"nodes":[{"type":"Car","external_id":"a","properties":[{"type":"mass","value":1.0},{"type":"count","value":9007199254740993}]}]}'
    const headers = { 'x-svc-clientkey': service.key }
    expect((await service.send('/capture/v1/nodes', { raw, headers })).status).toBe(200)
    const { text } = await service.configure('POST', `event-sinks/${sink}/follow`, { start: 'oldest' })
    expect(text).toContain('"mass":{"value":1.0,')
    expect(text).toContain('"count":{"value":9007199254740993,')
  })

  test('returns those since the position as CloudEvents, from all sources by time, each once', async () => {
    service = await startService({}, { log: () => undefined })
    const sink = await addSink(service, [{ type: 'svc.audit.*' }])
    const start = await follow(sink)
    expect([start.events, start.has_more, start.missed]).toEqual([[], false, 0])
    await capture('a', 'b')
    await decide()
    await service.app.settleEvents()
    const first = await follow(sink, { position: start.position })
    const types = first.events.map(({ event }) => event.type)
    expect(types).toEqual(expect.arrayContaining(['svc.audit.authorization.evaluation']))
    expect(types.filter((type) => type === 'svc.audit.capture.upsert.node')).toHaveLength(2)
    for (const { event, providers } of first.events) {
      const { data, ...attributes } = event
      expect(envelopeFaults(attributes)).toEqual([])
      expect(payloadSchema(event.type as never).safeParse(data).error).toBeUndefined()
      expect(providers).toEqual(['main'])
    }
    const times = first.events.map(({ event }) => event.time ?? '')
    expect(times).toEqual([...times].sort())
    expect((await follow(sink, { position: first.position })).events).toEqual([])
    await capture('c')
    const next = await follow(sink, { position: first.position })
    expect(subjects(next)).toEqual(['nodes/Car/c'])
    // A position may be used again.
    expect(subjects(await follow(sink, { position: first.position }))).toEqual(['nodes/Car/c'])
  })

  test('starts with the oldest stored event, filters by type, and continues within a transaction', async () => {
    service = await startService({}, { log: () => undefined })
    const sink = await addSink(service, [{ type: 'svc.audit.capture.*' }, { type: 'svc.audit.config.*' }])
    await capture('a', 'b', 'c', 'd', 'e')
    await service.ask('/capture/v1/nodes/delete', { nodes: [{ type: 'Car', external_id: 'a' }] })
    const all = await follow(sink, { start: 'oldest' })
    expect(all.events.map(({ event }) => event.type)[0]).toBe('svc.audit.config.create')
    const event_type = 'svc.audit.capture.upsert.*'
    const seen: (string | undefined)[] = []
    let body: object = { start: 'oldest', event_type, limit: 2 }
    for (let hasMore = true; hasMore; ) {
      const part = await follow(sink, body)
      seen.push(...subjects(part))
      expect(part.events.length).toBeLessThanOrEqual(2)
      body = { position: part.position, event_type, limit: 2 }
      hasMore = part.has_more
    }
    expect(seen).toEqual(['a', 'b', 'c', 'd', 'e'].map((id) => `nodes/Car/${id}`))
  })

  test('sees every event although a provider receives and removes them at once, from the first event of a source on', async () => {
    const seed = testSeed()
    const random = new Random(seed)
    const eventDelivery = { random: (): number => 0.001 }
    service = await startService({ upstreamAllow: '127.0.0.1' }, { sync: false, log: () => undefined, eventDelivery })
    const receiver = startReceiver()
    receivers.push(receiver)
    const routes = [{ type: 'svc.audit.capture.*' }, { type: 'svc.audit.authorization.*' }]
    const sink = await addSink(service, routes, { main: receiverProvider(receiver) })
    let { position } = await follow(sink)
    const seen: string[] = []
    let missed = 0
    const read = async (): Promise<void> => {
      for (let hasMore = true; hasMore; ) {
        const part = await follow(sink, { position, limit: 7 })
        seen.push(...part.events.map(({ event }) => event.id as string))
        missed += part.missed
        ;({ position } = part)
        hasMore = part.has_more
      }
    }
    await decide()
    for (let round = 0; round < 20; round++) {
      await capture(...Array.from({ length: random.between(1, 9) }, (_, at) => `c${round}-${at}`))
      if (random.odds(0.5))
        await receiver.until((accepted) => accepted.some(({ subject }) => subject.includes(`c${round}-`)))
      if (random.odds(0.3)) await read()
    }
    await receiver.until((accepted) => accepted.some(({ subject }) => subject.includes('c19-')))
    await service.app.settleEvents()
    await receiver.until((accepted) => accepted.some(({ type }) => type.includes('authorization')))
    await read()
    expect(missed, `seed ${seed}`).toBe(0)
    expect(seen.sort(), `seed ${seed}`).toEqual([...new Set(receiver.accepted.map(({ id }) => id))].sort())
  })

  test('counts what was removed before it was read', async () => {
    const eventDelivery = { random: (): number => 0.001 }
    service = await startService({ upstreamAllow: '127.0.0.1' }, { sync: false, log: () => undefined, eventDelivery })
    const receiver = startReceiver()
    receivers.push(receiver)
    const sink = await addSink(service, [{ type: 'svc.audit.capture.*' }], { main: receiverProvider(receiver) })
    await capture('a', 'b')
    await receiver.until((accepted) => accepted.length === 2)
    const trimmed = async (): Promise<boolean> =>
      service.app.eventStreams.withStreams(
        service.projectId,
        async ([graph]) => graph?.outbox.status(graph.name)?.oldest === null,
      )
    await untilCommitted(service.dataDir, 'the outbox is trimmed', trimmed)
    const old = Buffer.from(JSON.stringify([['graph/default', 1]])).toString('base64url')
    expect(await follow(sink, { position: old })).toMatchObject({ events: [], missed: 2 })
    expect(await follow(sink, { start: 'oldest' })).toMatchObject({ events: [], missed: 0 })
  })

  test('refuses wrong positions, types and sinks', async () => {
    service = await startService({}, { log: () => undefined })
    const sink = await addSink(service, [{ type: 'svc.audit.capture.*' }])
    const issues = async (body: unknown): Promise<unknown> => {
      const refused = await service.configure('POST', `event-sinks/${sink}/follow`, body)
      expect(refused.status).toBe(422)
      return refused.body.errors
    }
    const expected = ['position: expected the `position` of an answer']
    const encode = (value: unknown): string => Buffer.from(JSON.stringify(value)).toString('base64url')
    for (const position of ['', 'x', '!', encode({}), encode([['a', 0]]), encode([['a', 1.5]]), encode([[1, 1]])])
      expect(await issues({ position })).toEqual(expected)
    expect(await issues({ position: encode([]), start: 'now' })).toEqual(['start: cannot be combined with `position`'])
    expect(await issues({ start: 'then' })).toEqual(['start: expected `now` or `oldest`, found `then`'])
    expect(await issues({ event_type: 'svc.*.capture' })).toEqual([
      expect.stringMatching(/^event_type: expected words/),
    ])
    expect(await issues({ limit: 0 })).toEqual(['limit: expected at least 1'])
    expect(await issues({ limit: 501 })).toEqual(['limit: expected at most 500'])
    // Names of streams that do not exist are ignored.
    expect((await follow(sink, { position: encode([['graph/none', 7]]) })).missed).toBe(0)
    const missing = `gid:${'0'.repeat(26)}`
    expect((await service.configure('POST', `event-sinks/${missing}/follow`, {})).status).toBe(404)
    await service.configure('DELETE', `event-sinks/${sink}`)
    expect((await service.configure('POST', `event-sinks/${sink}/follow`, {})).status).toBe(404)
  })
})
