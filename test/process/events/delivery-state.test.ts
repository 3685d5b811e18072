// The state of delivery for administrators: the providers of a sink that is read, and the metrics.
import { afterEach, describe, expect, test } from 'vitest'
import { createApp } from '../../../src/app.ts'
import { defaultSettings } from '../../../src/settings.ts'
import { type EventReceiver, receiverProvider, startReceiver } from '../../support/event-receiver.ts'
import { addSink } from '../../support/events.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { startService, type TestService } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let service: TestService
let receiver: EventReceiver | null = null

afterEach(async () => {
  await service.stop()
  await receiver?.stop()
  receiver = null
})

async function start(): Promise<EventReceiver> {
  const eventDelivery = { random: (): number => 0.001 }
  service = await startService({ upstreamAllow: '127.0.0.1' }, { sync: false, log: () => undefined, eventDelivery })
  receiver = startReceiver()
  return receiver
}

async function capture(...external_ids: readonly string[]): Promise<void> {
  const nodes = external_ids.map((external_id) => ({ type: 'Car', external_id }))
  expect((await service.ask('/capture/v1/nodes', { nodes })).status).toBe(200)
}

interface ReadProvider {
  readonly event_topic?: { readonly last_error: string }
  readonly queue_service?: { readonly last_error: string }
  readonly delivery: {
    readonly backlog: { readonly events: number; readonly bytes: number; readonly oldest_time?: string }
    readonly delivered: number
    readonly delivered_per_second: number
    readonly failed: number
    readonly dead_lettered: number
    readonly skipped: number
    readonly last_delivery_time?: string
    readonly last_error_time?: string
  }
}

async function providersOf(sink: string): Promise<Record<string, ReadProvider>> {
  const { status, body } = await service.configure('GET', `event-sinks/${sink}`)
  expect(status).toBe(200)
  return body.providers as Record<string, ReadProvider>
}

async function until(sink: string, condition: (providers: Record<string, ReadProvider>) => boolean): Promise<void> {
  const end = performance.now() + 60_000
  for (;;) {
    const providers = await providersOf(sink)
    if (condition(providers)) return
    if (performance.now() > end) throw new Error(`the state is ${JSON.stringify(providers)}`)
    await Bun.sleep(20)
  }
}

const captures = [{ type: 'svc.audit.capture.*' }]
const none = {
  delivered: 0,
  delivered_per_second: 0,
  failed: 0,
  dead_lettered: 0,
  dead_letters_dropped: 0,
  skipped: 0,
}

async function metrics(name: string): Promise<Record<string, number>> {
  const { text } = await service.send('/metrics', { headers: { authorization: `Bearer ${service.token}` } })
  const lines = text.matchAll(new RegExp(`^${name}\\{provider_kind="(\\w+)"\\} (\\S+)$`, 'gm'))
  return Object.fromEntries([...lines].map(([, kind, value]) => [kind, Number(value)]))
}

describe('a sink that is read', () => {
  test('shows per provider what was delivered, what failed and what waits', async () => {
    const receiver = await start()
    let isDown = false
    receiver.answer = (events) => (isDown ? 503 : events.some(({ subject }) => subject === 'nodes/Car/bad') ? 413 : 200)
    const providers = { main: receiverProvider(receiver) }
    const sink = await addSink(service, captures, providers)
    expect(await providersOf(sink)).toEqual({
      main: {
        event_topic: { topic_endpoint: receiver.endpoint, last_error: '' },
        delivery: { backlog: { events: 0, bytes: 0 }, ...none },
      },
    })
    const before = Date.now()
    await capture('a', 'bad', 'b')
    // The counts and the position are stored one after the other.
    await until(
      sink,
      ({ main }) =>
        main?.delivery.delivered === 2 && main.delivery.dead_lettered === 1 && main.delivery.backlog.events === 0,
    )
    const delivered = (await providersOf(sink)).main?.delivery
    expect([delivered?.backlog, delivered?.skipped]).toEqual([{ events: 0, bytes: 0 }, 0])
    expect(Date.parse(delivered?.last_delivery_time ?? '')).toBeGreaterThanOrEqual(before)

    isDown = true
    await capture('c', 'd')
    await until(sink, ({ main }) => main?.event_topic?.last_error.includes('503') === true)
    const failing = (await providersOf(sink)).main
    expect(failing?.delivery.failed).toBeGreaterThan(0)
    expect(failing?.delivery.backlog).toEqual({
      events: 2,
      bytes: expect.any(Number),
      oldest_time: expect.any(String),
    })
    expect(failing?.delivery.backlog.bytes).toBeGreaterThan(50)
    const oldest = Date.parse(failing?.delivery.backlog.oldest_time ?? '')
    expect([oldest >= before, oldest <= Date.now()]).toEqual([true, true])
    isDown = false
    await until(sink, ({ main }) => main?.event_topic?.last_error === '' && main.delivery.delivered === 4)
    expect((await providersOf(sink)).main?.delivery.last_error_time).toBeDefined()
  })

  test('shows the events per second of the last minute, also as a metric', async () => {
    const clock = new ManualClock(Date.parse('2026-01-01T00:00:00.000Z'))
    receiver = startReceiver()
    const eventDelivery = { random: (): number => 0.001 }
    const overrides = { sync: false, clock, log: () => undefined, eventDelivery }
    service = await startService({ upstreamAllow: '127.0.0.1' }, overrides)
    const sink = await addSink(service, captures, { main: receiverProvider(receiver) })
    await capture(...Array.from({ length: 120 }, (_, at) => `c${at}`))
    await until(sink, ({ main }) => main?.delivery.delivered === 120)
    const rate = async (): Promise<unknown> => (await providersOf(sink)).main?.delivery.delivered_per_second
    expect(await rate()).toBe(2)
    clock.advance(30_000)
    await capture('later')
    await until(sink, ({ main }) => main?.delivery.delivered === 121)
    expect(await rate()).toBe(2.02)
    const metric = async (): Promise<number | undefined> => {
      const headers = { authorization: `Bearer ${await service.app.issueAdminToken(3600)}` }
      const { text } = await service.send('/metrics', { headers })
      const found = /^verdigraph_events_delivered_per_second\{provider_kind="event_topic"\} (\S+)$/m.exec(text)
      return Number(found?.[1])
    }
    expect(await metric()).toBeCloseTo(121 / 60)
    clock.advance(31_000)
    expect(await rate()).toBe(0.02)
    clock.advance(30_000)
    expect([await rate(), await metric()]).toEqual([0, 0])
  })

  test('shows the state in lists and by name, keeps its ETag, and ignores the state that a client sends back', async () => {
    const receiver = await start()
    const providers = { main: receiverProvider(receiver), slow: receiverProvider(receiver) }
    const routes = [...captures, { type: 'svc.audit.capture.*', provider: 'slow' }]
    const sink = await addSink(service, routes, providers)
    const first = await service.configure('GET', `event-sinks/${sink}`)
    await capture('a')
    // Nothing changes between the two reads that are compared.
    await until(sink, (all) =>
      Object.values(all).every(({ delivery }) => delivery.delivered === 1 && delivery.backlog.events === 0),
    )
    const read = await service.configure('GET', `event-sinks/${sink}`)
    expect(read.headers.get('etag')).toBe(first.headers.get('etag'))
    const [listed] = (await service.configure('GET', `event-sinks?project_id=${service.projectId}`)).body
      .data as object[]
    expect(listed).toEqual(read.body)
    expect((await service.configure('GET', `event-sinks/sink?project_id=${service.projectId}`)).body).toEqual(read.body)
    const sent = await service.configure('PUT', `event-sinks/${sink}`, { providers: read.body.providers })
    expect([sent.status, sent.headers.get('etag')]).toEqual([200, first.headers.get('etag')])
    const wrong = structuredClone(read.body.providers) as unknown as Record<
      string,
      { delivery: { delivered: unknown } }
    >
    ;(wrong.main as { delivery: { delivered: unknown } }).delivery.delivered = 'many'
    const refused = await service.configure('PUT', `event-sinks/${sink}`, { providers: wrong })
    expect([refused.status, refused.body.errors]).toEqual([
      422,
      ['providers.main.delivery.delivered: expected number, found string'],
    ])
  })

  test('names a wrong configuration before the first event, until it is corrected', async () => {
    const { endpoint } = await start()
    const topic = (topic_endpoint: string): object => ({ event_topic: { topic_endpoint, access_key: 'secret-1' } })
    const providers = {
      main: topic('http://10.0.0.1/events'),
      text: topic('events.example.org'),
      queue: { queue_service: { queueOrTopicName: 'q', connectionString: 'secret-2' } },
      broker: { streaming_broker: { brokers: ['b.example.org', 'b:port'], topic: 't' } },
      account: {
        pub_sub: { project_id: 'project-1', topic_name: 'top', credentials_json: '{"private_key":"secret-3"}' },
      },
      fine: topic(endpoint),
    }
    const sink = await addSink(service, captures, providers)
    const errors = (all: Record<string, ReadProvider>): Record<string, string | undefined> =>
      Object.fromEntries(
        Object.entries(all).map(([id, { delivery: _, ...kinds }]) => [
          id,
          (Object.values(kinds)[0] as { last_error: string }).last_error,
        ]),
      )
    await until(sink, ({ main }) => main?.event_topic?.last_error !== '')
    const shown = await providersOf(sink)
    expect(errors(shown)).toEqual({
      main: 'topic_endpoint: the address `10.0.0.1` is not public',
      text: 'topic_endpoint: expected an absolute https URL without credentials',
      queue: 'connectionString: expected `Name=value` parts separated by `;`, or an AMQP URL',
      broker: expect.stringMatching(/^brokers\[1\]: /),
      account: expect.stringMatching(
        /^credentials_json: expected the key file of a service account; missing or invalid: /,
      ),
      fine: '',
    })
    expect(shown.main?.delivery).toMatchObject({ failed: 0, last_error_time: expect.any(String) })
    expect(JSON.stringify(shown)).not.toContain('secret-')
    const corrected = { ...providers, main: topic(endpoint) }
    expect((await service.configure('PUT', `event-sinks/${sink}`, { providers: corrected })).status).toBe(200)
    await until(sink, ({ main }) => main?.event_topic?.last_error === '')
    expect(errors(await providersOf(sink))).toMatchObject({ main: '', text: expect.stringContaining('https URL') })
  })

  test('names a forbidden address until the service is started with a setting that allows it', async () => {
    const dataDir = temporaryFolder()
    receiver = startReceiver()
    const overrides = { sync: false, log: () => undefined, eventDelivery: { random: (): number => 0.001 } }
    service = await startService({ dataDir }, overrides)
    const sink = await addSink(service, captures, { main: receiverProvider(receiver) })
    await until(sink, ({ main }) => main?.event_topic?.last_error.includes('is not public') === true)
    await service.stop()
    const app = await createApp({ ...defaultSettings, port: 0, dataDir, upstreamAllow: '127.0.0.1' }, overrides)
    const { url } = await app.listen()
    const headers = { authorization: `Bearer ${await app.issueAdminToken(600)}` }
    const end = performance.now() + 60_000
    for (;;) {
      const response = await fetch(`${url}/configs/v1/event-sinks/${sink}`, { headers })
      const { providers } = (await response.json()) as { readonly providers: { readonly main: ReadProvider } }
      if (providers.main.event_topic?.last_error === '') break
      if (performance.now() > end) throw new Error(`the state is ${JSON.stringify(providers)}`)
      await Bun.sleep(20)
    }
    await app.close()
  })

  test('counts a provider that was never reached from the first event of every source', async () => {
    const clock = new ManualClock(Date.parse('2026-01-01T00:00:00.000Z'))
    service = await startService({}, { sync: false, clock, log: () => undefined })
    const sink = await addSink(service, [{ type: 'svc.audit.capture.*' }, { type: 'svc.audit.config.create' }])
    await capture('a', 'b', 'c')
    const state = (await providersOf(sink)).main
    expect(state?.queue_service?.last_error).toBe('')
    // The creation of the sink is an event too.
    expect(state?.delivery.backlog).toMatchObject({ events: 4, oldest_time: '2026-01-01T00:00:00.000Z' })
    await service.configure('DELETE', `event-sinks/${sink}`)
    const next = await addSink(service, captures)
    expect((await providersOf(next)).main?.delivery).toEqual({ backlog: { events: 0, bytes: 0 }, ...none })
  })
})

describe('the metrics of delivery', () => {
  test('are sums by provider kind without identifiers', async () => {
    const receiver = await start()
    receiver.answer = (events) => (events.some(({ subject }) => subject === 'nodes/Car/bad') ? 413 : 200)
    const queue = { queue_service: { queueOrTopicName: 'q', connectionString: 'amqp://u:p@127.0.0.1:1' } }
    const routes = [...captures, { type: 'svc.audit.capture.*', provider: 'queue' }]
    const sink = await addSink(service, routes, { main: receiverProvider(receiver), queue })
    await capture('a', 'bad', 'b')
    await until(
      sink,
      ({ main, queue }) =>
        main?.delivery.dead_lettered === 1 &&
        main.delivery.delivered === 2 &&
        main.delivery.backlog.events === 0 &&
        queue?.delivery.failed !== 0,
    )
    expect(await metrics('verdigraph_events_delivered_total')).toEqual({
      streaming_broker: 0,
      event_topic: 2,
      queue_service: 0,
      pub_sub: 0,
    })
    expect(await metrics('verdigraph_event_providers')).toMatchObject({ event_topic: 1, queue_service: 1, pub_sub: 0 })
    expect(await metrics('verdigraph_event_providers_failing')).toMatchObject({ event_topic: 0, queue_service: 1 })
    expect(await metrics('verdigraph_events_dead_lettered_total')).toMatchObject({ event_topic: 1, queue_service: 0 })
    expect(await metrics('verdigraph_events_pending')).toMatchObject({ event_topic: 0, queue_service: 3 })
    expect((await metrics('verdigraph_events_pending_bytes')).queue_service).toBeGreaterThan(0)
    expect((await metrics('verdigraph_event_deliveries_failed_total')).queue_service).toBeGreaterThan(0)
    expect((await metrics('verdigraph_events_skipped_total')).queue_service).toBe(0)
    expect((await metrics('verdigraph_events_oldest_pending_seconds')).queue_service).toBeGreaterThanOrEqual(0)
    const { text } = await service.send('/metrics', { headers: { authorization: `Bearer ${service.token}` } })
    expect(text).not.toContain(service.projectId)
    expect(text).not.toContain(sink)
  })

  test('have the age of the oldest event that waits, and follow a deleted sink', async () => {
    const clock = new ManualClock(Date.parse('2026-01-01T00:00:00.000Z'))
    service = await startService({}, { sync: false, clock, log: () => undefined })
    const sink = await addSink(service, captures)
    await capture('a')
    clock.advance(90_000)
    const headers = { authorization: `Bearer ${await service.app.issueAdminToken(3600)}` }
    const read = async (): Promise<string> => (await service.send('/metrics', { headers })).text
    expect(await read()).toContain('verdigraph_events_oldest_pending_seconds{provider_kind="queue_service"} 90\n')
    await service.configure('DELETE', `event-sinks/${sink}`)
    clock.advance(10_000)
    expect(await read()).toContain('verdigraph_event_providers{provider_kind="queue_service"} 0\n')
  })
})
