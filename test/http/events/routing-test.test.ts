// The tester of routes: which providers an event reaches and why, and a test event that is really sent.
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest'
import { payloadSchema } from '../../../src/events/event-types.ts'
import { type EventReceiver, receiverProvider, startReceiver } from '../../support/event-receiver.ts'
import { addSink, eventsOf, sinkBody } from '../../support/events.ts'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

let service: TestService
let receiver: EventReceiver
const sinks: string[] = []

beforeAll(async () => {
  service = await startService({ upstreamAllow: '127.0.0.1' }, { sync: false, log: () => undefined })
  receiver = startReceiver()
})
afterEach(async () => {
  receiver.answer = () => 200
  receiver.accepted.length = 0
  for (const id of sinks.splice(0)) await service.configure('DELETE', `event-sinks/${id}`)
})
afterAll(async () => {
  await service.stop()
  await receiver.stop()
})

const upsert = 'svc.audit.capture.upsert.node'
const routes = [
  { type: 'svc.audit.config.*', provider: 'all' },
  { type: 'svc.audit.capture.*', context: { captureLabel: 'Car', wheels: '4' }, provider: 'cars', stop: true },
  { type: 'svc.audit.capture.*', provider: 'all' },
  { type: upsert, provider: 'all' },
  { type: 'svc.*', context: { captureLabel: 'Boat' }, provider: 'all' },
]

async function sink(routesOf = routes): Promise<string> {
  const providers = { cars: receiverProvider(receiver, {}, 'key-cars'), all: receiverProvider(receiver, {}, 'key-all') }
  const id = await addSink(service, routesOf, providers)
  sinks.push(id)
  return id
}

function ask(id: string, body: unknown): Promise<TestResponse> {
  return service.configure('POST', `event-sinks/${id}/test`, body)
}

describe('the test of a sink', () => {
  test('has one entry for each route with the reason, and the providers that receive the event', async () => {
    const id = await sink()
    const truck = await ask(id, { event: { type: upsert, context: { captureLabel: 'Truck', wheels: 6 } } })
    expect([truck.status, truck.body]).toEqual([
      200,
      {
        providers: ['all'],
        routes: [
          ['type-differs', 'all', `\`svc.audit.config.*\` does not match \`${upsert}\``],
          ['context-differs', 'cars', '`captureLabel`: expected `Car`, found `Truck`'],
          ['sent', 'all', 'sent to `all`'],
          ['already-sent', 'all', 'an earlier route sends it to `all`'],
          ['context-differs', 'all', '`captureLabel`: expected `Boat`, found `Truck`'],
        ].map(([outcome, provider_id, reason], route) => ({ route, display_name: '', provider_id, outcome, reason })),
      },
    ])
    const event = { type: upsert, context: { captureLabel: ['Vehicle', 'Car'], wheels: 4 } }
    const car = (await ask(id, { event, send: false })).body
    expect([car.providers, (car.routes as { outcome: string }[]).map(({ outcome }) => outcome)]).toEqual([
      ['cars'],
      ['type-differs', 'sent', 'not-reached', 'not-reached', 'not-reached'],
    ])
    const change = (await ask(id, { event: { type: 'svc.audit.cdc.node.create' } })).body
    expect((change.routes as { reason: string }[])[4]?.reason).toBe(
      'the provider `all` does not have `include_cdc_events`',
    )
    expect(receiver.seen).toEqual([])
  })

  test('decides as the recording of real events does', async () => {
    const id = await sink()
    const cars = [
      { external_id: 'a', wheels: 4 },
      { external_id: 'b', wheels: 3 },
      { external_id: 'c', wheels: '4' },
    ]
    const nodes = cars.map(({ external_id, wheels }) => ({
      type: 'Car',
      external_id,
      properties: [{ type: 'wheels', value: wheels }],
    }))
    expect((await service.ask('/capture/v1/nodes', { nodes })).status).toBe(200)
    const stored = (await eventsOf(service)).filter(({ type }) => type === upsert).map(({ providers }) => providers)
    const tested = []
    for (const { wheels } of cars) {
      const { body } = await ask(id, { event: { type: upsert, context: { captureLabel: 'Car', wheels } } })
      tested.push(body.providers)
    }
    expect(tested).toEqual(stored)
    expect(stored).toEqual([['cars'], ['all'], ['cars']])
  })

  test('sends one marked event to each matching provider and reports what happened', async () => {
    const id = await sink()
    const event = { type: upsert, context: { captureLabel: 'Truck' } }
    const sent = await service.send(`/configs/v1/event-sinks/${id}/test`, {
      headers: { authorization: `Bearer ${service.token}`, 'x-request-id': 'test-1' },
      body: { event, send: true },
    })
    expect([sent.status, sent.body.deliveries]).toEqual([
      200,
      [{ provider_id: 'all', outcome: 'delivered', error: '', duration_ms: expect.any(Number) }],
    ])
    const [arrived, ...more] = receiver.accepted
    expect([more, receiver.keys.at(-1)]).toEqual([[], 'key-all'])
    expect([arrived?.type, arrived?.subject]).toEqual(['svc.events.test', `event-sinks/${id}`])
    expect(arrived?.source).toMatch(new RegExp(`^/projects/${service.projectId}/test/[0-9a-z]{10}$`))
    const payload = {
      eventType: 'svc.events.test',
      version: 1,
      requestId: 'test-1',
      address: '127.0.0.1',
      actor: {
        type: 'service-account',
        id: service.app.serviceAccountId,
        role: 'all_editor',
        keyId: expect.stringMatching(/^gid:/),
      },
      tested: { eventType: upsert, context: { captureLabel: 'Truck' } },
    }
    expect(arrived?.data).toEqual(payload)
    expect(payloadSchema('svc.events.test').safeParse(arrived?.data).error).toBeUndefined()
  })

  test('sends nothing if no route matches, and reports a refusal and an unreachable provider', async () => {
    const id = await sink()
    const quiet = await ask(id, { event: { type: 'svc.audit.ciq.execute' }, send: true })
    expect([quiet.body.providers, quiet.body.deliveries]).toEqual([[], []])
    receiver.answer = () => 413
    const event = { type: 'svc.audit.config.read', context: { configType: 'event-sinks' } }
    const refused = await ask(id, { event, send: true })
    expect(refused.body.deliveries).toMatchObject([{ outcome: 'refused', error: expect.stringContaining('413') }])
    receiver.answer = () => 401
    const failed = await ask(id, { event, send: true })
    expect(failed.body.deliveries).toMatchObject([{ outcome: 'failed', error: expect.stringContaining('401') }])
    for (const { text } of [refused, failed]) expect(text).not.toContain('key-all')
  })

  test('refuses unknown types, keys and members with their places, and unknown sinks', async () => {
    const id = await sink()
    const issues = async (body: unknown): Promise<unknown> => {
      const refused = await ask(id, body)
      expect(refused.status).toBe(422)
      return refused.body.errors
    }
    expect(await issues({})).toEqual(['event: expected object, found nothing'])
    expect(await issues({ event: { type: 'svc.audit.capture.*' } })).toEqual([
      expect.stringMatching(
        /^event\.type: expected .*`svc\.audit\.capture\.upsert\.node`.*, found `svc.audit.capture.\*`$/,
      ),
    ])
    expect(await issues({ event: { type: 'svc.events.gap' } })).toHaveLength(1)
    expect(await issues({ event: { type: 'svc.audit.config.read', context: { configtype: 'x' } } })).toEqual([
      'event.context.configtype: `svc.audit.config.read` has the context keys `configType`',
    ])
    expect(await issues({ event: { type: upsert, context: { wheels: { a: 1 } } } })).toEqual([
      'event.context.wheels: expected string, number, boolean, or a list of them',
    ])
    expect(await issues({ event: { type: upsert }, sned: true })).toEqual(['body: unknown member `sned`'])
    expect(await issues({ event: { type: upsert }, send: 'yes' })).toEqual(['send: expected boolean, found string'])
    const missing = `gid:${'0'.repeat(26)}`
    const unknown = await ask(missing, { event: { type: upsert } })
    expect([unknown.status, unknown.body]).toEqual([404, { message: `no event sink \`${missing}\`` }])
    expect((await service.send(`/configs/v1/event-sinks/${id}/test`, { body: {} })).status).toBe(401)
  })
})

describe('the test of a draft', () => {
  const draft = (body: unknown): Promise<TestResponse> => service.configure('POST', 'event-sinks/test', body)
  const providers = () => ({ cars: receiverProvider(receiver), all: receiverProvider(receiver, {}, 'draft-key') })

  test('tests and sends with what a create request would store, also if the project has a sink', async () => {
    await sink()
    const tested = sinkBody(service.projectId, routes, providers())
    const sent = await draft({ sink: tested, event: { type: upsert }, send: true })
    expect([sent.status, sent.body.providers, sent.body.deliveries]).toMatchObject([
      200,
      ['all'],
      [{ outcome: 'delivered' }],
    ])
    expect([receiver.keys.at(-1), receiver.accepted[0]?.subject]).toEqual(['draft-key', 'event-sinks'])
    const { name: _, ...unnamed } = tested as { name: string }
    expect((await draft({ sink: unnamed, event: { type: upsert } })).status).toBe(200)
    expect((await service.configure('GET', `event-sinks?project_id=${service.projectId}`)).body.data).toHaveLength(1)
  })

  test('refuses what a create request refuses, and projects of others', async () => {
    const tested = sinkBody(service.projectId, [{ type: upsert, provider: 'none' }], providers())
    const refused = await draft({ sink: tested, event: { type: upsert } })
    expect([refused.status, refused.body.errors]).toEqual([422, ['sink.routes[0].provider_id: no provider `none`']])
    const foreign = await draft({ sink: sinkBody('gid:none', routes, providers()), event: { type: upsert } })
    expect(foreign.body.errors).toEqual(['sink.project_id: no project `gid:none`'])
    const empty = await draft({ sink: sinkBody(service.projectId, routes, {}), event: { type: upsert } })
    expect(empty.body.errors).toEqual(['sink.providers: expected at least 1 provider'])
    const inside = { main: { event_topic: { topic_endpoint: 'http://10.0.0.1/', access_key: 'k' } } }
    const forbidden = await draft({
      sink: sinkBody(service.projectId, [{ type: upsert }], inside),
      event: { type: upsert },
      send: true,
    })
    expect(forbidden.body.deliveries).toMatchObject([
      { outcome: 'failed', error: expect.stringContaining('is not public') },
    ])
  })
})

test('a viewer of the configuration may test routes, and may not send', async () => {
  const id = await sink()
  const body = { organization_id: service.app.organizationId, name: 'viewer', role: 'all_viewer' }
  const account = (await service.configure('POST', 'service-accounts', body)).body.id
  const credential = await service.configure('POST', 'service-account-credentials', { service_account_id: account })
  const { token } = credential.body.service_account_config as { token: string }
  const headers = { authorization: `Bearer ${token}` }
  const event = { type: upsert }
  const path = `/configs/v1/event-sinks/${id}`
  expect((await service.send(`${path}/test`, { headers, body: { event } })).status).toBe(200)
  const refused = await service.send(`${path}/test`, { headers, body: { event, send: true } })
  expect([refused.status, refused.body.message]).toEqual([403, 'the role `all_viewer` may not send events'])
  const statuses = []
  for (const [method, place, sent] of [
    ['POST', 'follow', {}],
    ['GET', 'dead-letters', undefined],
    ['POST', 'dead-letters', { provider_id: 'all' }],
    ['DELETE', 'dead-letters?provider_id=all', undefined],
    ['GET', 'dead-letters/all.1.x-1', undefined],
    ['DELETE', 'dead-letters/all.1.x-1', undefined],
  ] as const)
    statuses.push((await service.send(`${path}/${place}`, { method, headers, body: sent })).status)
  expect(statuses).toEqual([403, 403, 403, 403, 403, 403])
})

describe('routes that no event can match', () => {
  const faults: readonly (readonly [type: string, context: Readonly<Record<string, string>>, error: string])[] = [
    ['svc.audit.captures.*', {}, 'event_type: no event type matches `svc.audit.captures.*`'],
    ['SVC.AUDIT.CAPTURE.*', {}, 'event_type: no event type matches `SVC.AUDIT.CAPTURE.*`'],
    [
      'svc.audit.authorization.isauthorized',
      {},
      'event_type: no event type matches `svc.audit.authorization.isauthorized`',
    ],
    ['svc.events.gap', {}, 'event_type: no event type matches `svc.events.gap`'],
    [
      'svc.audit.config.read',
      { configType: 'projects', captureLabel: 'Car' },
      'context_key_value[1].key: `svc.audit.config.read` has the context keys `configType`',
    ],
    [
      'svc.audit.config.*',
      { configType: 'application-agents', role: 'Capture' },
      'context_key_value: no event type has all of these keys',
    ],
  ]

  test.each(faults)('are refused when they are stored: %s %o', async (type, context, error) => {
    const expected = `routes[1].event_type_key_values_filter.${error}`
    const body = sinkBody(service.projectId, [{ type: '*' }, { type, context }])
    const refused = await service.configure('POST', 'event-sinks', body)
    expect([refused.status, refused.body.errors]).toEqual([422, [expected]])
    const { providers, routes: wrong } = body as { providers: object; routes: object[] }
    const draft = { project_id: service.projectId, providers, routes: wrong }
    const event = { type: 'svc.audit.config.read' }
    const tested = await service.configure('POST', 'event-sinks/test', { sink: draft, event })
    expect([tested.status, tested.body.errors]).toEqual([422, [`sink.${expected}`]])
    const id = await addSink(service, [{ type: '*' }])
    sinks.push(id)
    const updated = await service.configure('PUT', `event-sinks/${id}`, { routes: wrong })
    expect([updated.status, updated.body.errors]).toEqual([422, [expected]])
  })

  test('are not those with any key of an element, nor those of which some types match', async () => {
    const accepted = [
      { type: 'svc.audit.capture.batch.*', context: { captureLabel: 'Car', any: 'x' } },
      { type: '*', context: { role: 'Capture' } },
    ]
    sinks.push(await addSink(service, accepted))
  })
})
