// Events that a provider refuses for good: listed, read, sent again and deleted over HTTP, while the dispatcher runs.
import { afterEach, describe, expect, test } from 'vitest'
import { untilCommitted } from '../../support/commits.ts'
import { type EventReceiver, receiverProvider, startReceiver } from '../../support/event-receiver.ts'
import { addSink } from '../../support/events.ts'
import { startService, type TestResponse, type TestService } from '../../support/service.ts'

let service: TestService
let receiver: EventReceiver
let sink: string

afterEach(async () => {
  await service.stop()
  await receiver.stop()
})

/** Starts a service whose provider `main` refuses cars whose external id begins with `bad`. */
async function start(names: readonly string[] = ['main']): Promise<void> {
  const eventDelivery = { random: (): number => 0.001 }
  service = await startService({ upstreamAllow: '127.0.0.1' }, { sync: false, log: () => undefined, eventDelivery })
  receiver = startReceiver()
  receiver.answer = (events) => (events.some(({ subject }) => subject.startsWith('nodes/Car/bad')) ? 413 : 200)
  const routes = names.map((provider) => ({ type: 'svc.audit.capture.*', provider }))
  sink = await addSink(service, routes, Object.fromEntries(names.map((name) => [name, receiverProvider(receiver)])))
}

async function capture(...external_ids: readonly string[]): Promise<void> {
  const nodes = external_ids.map((external_id) => ({ type: 'Car', external_id }))
  expect((await service.ask('/capture/v1/nodes', { nodes })).status).toBe(200)
}

interface Letter {
  readonly id: string
  readonly provider_id: string
  readonly subject: string
  readonly is_requested: boolean
}

function call(method: string, path = '', body?: unknown): Promise<TestResponse> {
  return service.configure(method, `event-sinks/${sink}/dead-letters${path}`, body)
}

async function list(query = ''): Promise<{ readonly letters: readonly Letter[]; readonly next: string }> {
  const { status, body, text } = await call('GET', query)
  expect(status, text).toBe(200)
  return { letters: body.dead_letters as Letter[], next: body.next_page_token as string }
}

async function untilListed(count: number): Promise<readonly Letter[]> {
  let letters: readonly Letter[] = []
  await untilCommitted(service.dataDir, `there are ${count} dead letters`, async () => {
    letters = (await list('?page_size=500')).letters
    return letters.length === count
  })
  return letters
}

describe('dead letters', () => {
  test('have the numbers of the event as it was sent', async () => {
    await start()
    const main = receiverProvider(receiver, { include_cdc_events: true })
    const filter = { event_type: 'svc.audit.cdc.*' }
    const routes = [{ provider_id: 'main', event_type_key_values_filter: filter }]
    expect((await service.configure('PUT', `event-sinks/${sink}`, { providers: { main }, routes })).status).toBe(200)
    const raw =
      '{"nodes":[{"type":"Car","external_id":"bad","properties":[{"type":"mass","value":1.0},{"type":"count","value":9007199254740993}]}]}'
    const headers = { 'x-svc-clientkey': service.key }
    expect((await service.send('/capture/v1/nodes', { raw, headers })).status).toBe(200)
    const [letter] = await untilListed(1)
    const { text } = await call('GET', `/${letter?.id}`)
    expect(text).toContain('"mass":{"value":1.0,')
    expect(text).toContain('"count":{"value":9007199254740993,')
  })

  test('are listed with the reason, and read with the event', async () => {
    await start()
    await capture('a', 'bad', 'b')
    const [letter] = await untilListed(1)
    await receiver.until((accepted) => accepted.length >= 2)
    expect(receiver.accepted.map(({ subject }) => subject)).toEqual(['nodes/Car/a', 'nodes/Car/b'])
    expect(letter).toEqual({
      id: expect.stringMatching(/^main\.2\.[0-9a-z]{10}-2$/),
      provider_id: 'main',
      event_id: letter?.id.slice('main.2.'.length),
      event_type: 'svc.audit.capture.upsert.node',
      source: expect.stringContaining(`/projects/${service.projectId}/graph/`),
      subject: 'nodes/Car/bad',
      time: expect.any(String),
      error: expect.stringContaining('413'),
      attempts: 1,
      dead_letter_time: expect.any(String),
      is_requested: false,
    })
    const read = await call('GET', `/${letter?.id}`)
    const event = {
      specversion: '1.0',
      subject: 'nodes/Car/bad',
      data: { nodes: [{ externalId: 'bad', type: 'Car' }] },
    }
    expect([read.status, read.body]).toMatchObject([200, { ...letter, event }])
  })

  test('are sent again when they are requested, and disappear when the provider accepts them', async () => {
    await start()
    await capture('bad1', 'bad2', 'bad3')
    const letters = await untilListed(3)
    const ids = letters.map(({ id }) => id)
    const again = await call('POST', '', { ids: [ids[0], 'main.1.none-1', 'garbage'] })
    const reason = (id: string): object => ({ id, reason: `no dead letter \`${id}\`` })
    expect([again.status, again.body]).toEqual([
      202,
      { requested: 1, refused: [reason('main.1.none-1'), reason('garbage')] },
    ])
    // It is refused again, and stays.
    const isSentAgain = async (): Promise<boolean> => (await call('GET', `/${ids[0]}`)).body.attempts === 2
    await untilCommitted(service.dataDir, 'it is sent again', isSentAgain)
    expect((await call('GET', `/${ids[0]}`)).body.is_requested).toBe(false)
    receiver.answer = () => 200
    expect((await call('POST', '', { provider_id: 'main' })).body).toEqual({ requested: 3, refused: [] })
    await untilListed(0)
    expect(new Set(receiver.accepted.map(({ subject }) => subject))).toEqual(
      new Set(['nodes/Car/bad1', 'nodes/Car/bad2', 'nodes/Car/bad3']),
    )
    expect(receiver.accepted[0]?.id).toBe(ids[0]?.slice('main.1.'.length))
  })

  test('are listed in pages by provider, and deleted one by one or all of a provider', async () => {
    await start(['first', 'second'])
    await capture('bad1', 'bad2', 'bad3', 'bad4', 'bad5')
    const all = await untilListed(10)
    const pages: string[] = []
    for (let token = '', more = true; more; more = token !== '') {
      const { letters, next } = await list(`?page_size=3${token === '' ? '' : `&page_token=${token}`}`)
      expect(letters.length).toBeLessThanOrEqual(3)
      pages.push(...letters.map(({ id }) => id))
      token = next
    }
    expect(pages).toEqual(all.map(({ id }) => id))
    const second = await list('?provider_id=second&page_size=2')
    const rest = await list(`?provider_id=second&page_token=${second.next}`)
    const found = [...second.letters, ...rest.letters].map(({ id }) => id)
    expect([found, rest.next]).toEqual([pages.filter((id) => id.startsWith('second.')), ''])
    expect((await list('?provider_id=other')).letters).toEqual([])

    expect((await call('DELETE', `/${pages[0]}`)).body).toEqual({ id: pages[0] })
    expect((await call('DELETE', `/${pages[0]}`)).status).toBe(404)
    expect((await call('GET', `/${pages[0]}`)).body).toEqual({ message: `no dead letter \`${pages[0]}\`` })
    expect((await call('DELETE', '?provider_id=second')).body).toEqual({ deleted: 5 })
    expect((await list()).letters.map(({ id }) => id)).toEqual(pages.slice(1, 5))
    expect((await call('DELETE', '?provider_id=second')).body).toEqual({ deleted: 0 })
  })

  test('requests with wrong members, tokens and ids are refused with the reason', async () => {
    await start()
    const errors = async (method: string, path: string, body?: unknown): Promise<unknown> => {
      const refused = await call(method, path, body)
      expect([refused.status, refused.text]).toEqual([422, expect.any(String)])
      return refused.body.errors
    }
    const either = ['body: expected exactly one of `ids`, `provider_id`']
    expect(await errors('POST', '', {})).toEqual(either)
    expect(await errors('POST', '', { ids: ['main.1.x-1'], provider_id: 'main' })).toEqual(either)
    expect(await errors('POST', '', { ids: [] })).toEqual(['ids: expected at least 1 item'])
    expect(await errors('POST', '', { provider_id: 'other' })).toEqual(['provider_id: no provider `other`'])
    expect(await errors('GET', '?page_size=0')).toEqual([expect.stringContaining('page_size: expected an integer')])
    expect(await errors('GET', '?page_size=501')).toHaveLength(1)
    for (const token of ['x', 'W10', Buffer.from('["graph/default","main",-1]').toString('base64url')])
      expect(await errors('GET', `?page_token=${token}`)).toEqual(['page_token: expected a `next_page_token`'])
    expect(await errors('GET', '?limit=3')).toEqual([expect.stringContaining('limit')])
    expect(await errors('DELETE', '')).toEqual([expect.stringContaining('provider_id')])
    for (const id of [
      'x',
      'main.',
      'main.abc',
      'main.1.',
      'main.1.abc-1',
      `main.${'9'.repeat(16)}.a-1`,
      'main.x.a-1',
      `main.1.${'9'.repeat(300)}`,
    ])
      expect((await call('GET', `/${id}`)).status).toBe(404)
    sink = `gid:${'0'.repeat(26)}`
    expect((await call('GET')).body).toEqual({ message: `no event sink \`${sink}\`` })
  })

  test('belong to one sink and one organization', async () => {
    await start()
    await capture('bad')
    const [letter] = await untilListed(1)
    await service.configure('DELETE', `event-sinks/${sink}`)
    expect((await call('GET', `/${letter?.id}`)).status).toBe(404)
    sink = await addSink(service, [{ type: 'svc.audit.capture.*' }], { main: receiverProvider(receiver) })
    expect((await list()).letters).toEqual([])
    expect((await call('GET', `/${letter?.id}`)).status).toBe(404)
  })
})
