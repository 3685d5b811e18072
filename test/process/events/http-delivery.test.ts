import { afterEach, describe, expect, test } from 'vitest'
import type { AppOverrides } from '../../../src/app/overrides.ts'
import { createApp } from '../../../src/app.ts'
import { readDeadLetter } from '../../../src/events/delivery/dead-letter.ts'
import { REFUSALS_MAX } from '../../../src/events/delivery/provider-sender.ts'
import type { DeliveryState } from '../../../src/events/event-sink.ts'
import { defaultSettings } from '../../../src/settings.ts'
import type { EventOutbox } from '../../../src/store/outbox/outbox.ts'
import { Random, testSeed } from '../../generate/random.ts'
import { untilCommitted } from '../../support/commits.ts'
import {
  type AcceptedEvent,
  checkOrder,
  type EventReceiver,
  receiverProvider,
  startReceiver,
} from '../../support/event-receiver.ts'
import { addSink, type RouteInput, sinkBody } from '../../support/events.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { startService, type TestService } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

let service: TestService
const receivers: EventReceiver[] = []

afterEach(async () => {
  await service.stop()
  for (const receiver of receivers.splice(0)) await receiver.stop()
})

function receive(): EventReceiver {
  const receiver = startReceiver()
  receivers.push(receiver)
  return receiver
}

/** Retries follow at once. */
const eventDelivery = { random: (): number => 0.001 }

async function start(settings: object = {}, overrides: AppOverrides = { eventDelivery }): Promise<void> {
  const log = (): void => {}
  service = await startService({ upstreamAllow: '127.0.0.1', ...settings }, { log, sync: false, ...overrides })
}

async function capture(...external_ids: readonly string[]): Promise<void> {
  const nodes = external_ids.map((external_id) => ({ type: 'Car', external_id }))
  const answered = await service.ask('/capture/v1/nodes', { nodes })
  expect(answered.status, answered.text).toBe(200)
}

const all = { events: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }
const captures = [{ type: 'svc.audit.capture.*' }]
const has =
  (...subjects: readonly string[]) =>
  (accepted: readonly { subject: string }[]): boolean =>
    subjects.every((subject) => accepted.some((event) => event.subject === `nodes/Car/${subject}`))

interface StoredStatus {
  readonly lastError: string
  readonly delivered: number
  readonly failed: number
  readonly deadLettered: number
  readonly deadLettersDropped: number
  readonly skipped: number
}

async function statusOf(provider: string): Promise<StoredStatus | undefined> {
  return (await service.app.eventStreams.statuses(service.projectId)).get(provider)
}

/** Resolves when the stored status of the provider fulfils the condition, or rejects after 60 s. */
async function untilStatus(provider: string, condition: (status: StoredStatus) => boolean): Promise<StoredStatus> {
  let status: StoredStatus | undefined
  await untilCommitted(service.dataDir, `a status of ${provider}`, async () => {
    status = await statusOf(provider)
    return status !== undefined && condition(status)
  })
  return status!
}

/** Calls `work` with the outbox of the graph. */
async function inGraph<T>(work: (outbox: EventOutbox, name: string) => T | Promise<T>): Promise<T> {
  return service.app.eventStreams.withStreams(service.projectId, async (streams) => {
    const graph = streams.find(({ source }) => source === 'graph')
    if (graph === undefined) throw new Error('the graph has no events')
    return work(graph.outbox, graph.name)
  })
}

/** Resolves when the outbox of the graph contains no event, or rejects after 60 s. */
async function untilEmpty(): Promise<void> {
  const isEmpty = async (): Promise<boolean> => (await inGraph((outbox, name) => outbox.status(name)?.oldest)) === null
  await untilCommitted(service.dataDir, 'the outbox is trimmed', isEmpty)
}

describe('delivery', () => {
  test('a capture arrives at the receiver as CloudEvents with the access key, and leaves the outbox', async () => {
    await start()
    const receiver = receive()
    await addSink(service, captures, { main: receiverProvider(receiver) })
    await capture('a', 'b')
    await capture('c')
    await receiver.until(has('a', 'b', 'c'))
    expect(receiver.accepted.map(({ type, subject, sequence }) => [type, subject, Number(sequence)])).toEqual([
      ['svc.audit.capture.upsert.node', 'nodes/Car/a', 1],
      ['svc.audit.capture.upsert.node', 'nodes/Car/b', 2],
      ['svc.audit.capture.upsert.node', 'nodes/Car/c', 3],
    ])
    expect(new Set(receiver.keys)).toEqual(new Set(['key-1']))
    expect(receiver.accepted[0]?.data).toMatchObject({ nodes: [{ externalId: 'a', type: 'Car', isIdentity: false }] })
    await untilEmpty()
    expect(await untilStatus('main', ({ delivered }) => delivered === 3)).toMatchObject({ lastError: '', failed: 0 })
  })

  test('events of the configuration and of decisions arrive as well', async () => {
    await start()
    const receiver = receive()
    const routes = [{ type: 'svc.audit.config.*' }, { type: 'svc.audit.authorization.*' }]
    await addSink(service, routes, { main: receiverProvider(receiver) })
    await service.addPolicy({ name: 'drivers', cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)' })
    await service.ask('/access/v1/evaluation', {
      subject: { type: 'Person', id: 'ann' },
      action: { name: 'drive' },
      resource: { type: 'Car', id: 'c1' },
    })
    await receiver.until((accepted) => new Set(accepted.map(({ source }) => source.split('/')[3])).size === 2)
    const sources = receiver.accepted.map(({ type, source }) => `${type} of ${source.split('/')[3]}`)
    expect(sources.filter((text) => text.endsWith('of configuration')).length).toBeGreaterThan(0)
    expect(sources.filter((text) => text.endsWith('of activity')).length).toBeGreaterThan(0)
  })

  test('a failed batch is sent again with equal bytes and in order, and the status shows the error', async () => {
    await start()
    const receiver = receive()
    const statuses = [500, 401, 503]
    let isDown = true
    receiver.answer = () => (isDown ? (statuses[receiver.seen.length % 3] as number) : 200)
    await addSink(service, captures, { main: receiverProvider(receiver) })
    await capture('a', 'b')
    await untilStatus('main', ({ lastError, failed }) => failed > 3 && lastError.startsWith('HTTP status '))
    await capture('a', 'c')
    isDown = false
    await receiver.until(has('a', 'b', 'c'))
    expect(checkOrder(receiver.accepted)).toBe(0)
    const texts = new Map<string, Set<string>>()
    for (const { id, text } of receiver.seen) texts.set(id, new Set([...(texts.get(id) ?? []), text]))
    expect(receiver.seen.length).toBeGreaterThan(receiver.accepted.length)
    for (const [id, each] of texts) expect(each.size, id).toBe(1)
    expect(await untilStatus('main', ({ delivered }) => delivered === 4)).toMatchObject({ lastError: '' })
  })

  test('captures are answered while a receiver is down, and their events arrive when it is back', async () => {
    await start()
    const receiver = receive()
    await addSink(service, captures, { main: receiverProvider(receiver) })
    await receiver.stop()
    for (let i = 0; i < 20; i++) await capture(`c${i}`)
    expect((await untilStatus('main', ({ failed }) => failed > 0)).lastError).not.toBe('')
    receiver.start()
    await receiver.until((accepted) => accepted.length >= 20)
    expect(checkOrder(receiver.accepted)).toBe(0)
    expect(receiver.accepted).toHaveLength(20)
  })

  test('one receiver that is down delays no other', async () => {
    await start()
    const [down, up] = [receive(), receive()]
    await down.stop()
    const routes = ['down', 'up'].map((provider) => ({ type: 'svc.audit.capture.*', provider }))
    await addSink(service, routes, { down: receiverProvider(down), up: receiverProvider(up) })
    await capture('a')
    await up.until(has('a'))
    await untilStatus('down', ({ failed }) => failed > 0)
    await capture('b')
    await up.until(has('b'))
    expect(await statusOf('up')).toMatchObject({ failed: 0, lastError: '' })
    // Stored for the receiver that is down.
    expect(await inGraph((outbox, name) => outbox.read(name, 0, all).length)).toBe(2)
    down.start()
    await down.until(has('a', 'b'))
    await untilEmpty()
  })

  test('an event that is too large becomes a dead letter at once, and the later events arrive', async () => {
    await start()
    const receiver = receive()
    const isLarge = ({ subject }: { subject: string }): boolean => subject.endsWith('/large')
    receiver.answer = (events) => (events.some(isLarge) ? 413 : 200)
    const sinkId = await addSink(service, captures, { main: receiverProvider(receiver) })
    await capture('a', 'large', 'b')
    await receiver.until(has('a', 'b'))
    // The status may be stored between the two.
    await untilStatus('main', ({ deadLettered, delivered }) => deadLettered === 1 && delivered === 2)
    const [letter] = await inGraph((outbox, name) => outbox.deadLetters.list(name, 10))
    expect(letter).toMatchObject({ provider: 'main', sequence: 2 })
    expect(readDeadLetter(letter!.bytes)).toMatchObject({
      sinkId,
      error: 'HTTP status 413',
      attempts: 1,
      attributes: { subject: 'nodes/Car/large' },
      orderingKey: 'nodes/Car/large',
    })

    // Requested while the receiver still refuses it, and when it accepts it.
    const request = (): Promise<boolean> => inGraph((outbox, name) => outbox.deadLetters.request(name, 'main', 2))
    expect(await request()).toBe(true)
    await untilStatus('main', ({ failed }) => failed === 2)
    expect(
      readDeadLetter((await inGraph((outbox, name) => outbox.deadLetters.list(name, 10)))[0]!.bytes).attempts,
    ).toBe(2)
    receiver.answer = () => 200
    expect(await request()).toBe(true)
    await receiver.until(has('large'))
    await untilStatus('main', ({ delivered }) => delivered === 3)
    // It is counted first, and removed then.
    await expect.poll(() => inGraph((outbox, name) => outbox.deadLetters.list(name, 10))).toEqual([])
    const texts = receiver.seen.filter(isLarge).map(({ text }) => text)
    expect(new Set(texts).size).toBe(1)
  })

  test('dead letters beyond their bound replace the oldest, and are logged together', async () => {
    const lines: { readonly message: string; readonly events?: number }[] = []
    await start({ eventDeadLetterBytesMax: 20_000 }, { eventDelivery, log: (entry) => void lines.push(entry) })
    const receiver = receive()
    receiver.answer = () => 413
    const sink = await addSink(service, captures, { main: receiverProvider(receiver) })
    const count = 60
    await capture(...Array.from({ length: count }, (_, i) => `c${i}`))
    const lettersOf = () => inGraph((outbox, name) => outbox.deadLetters.list(name, 100))
    const bytesOf = (letters: Awaited<ReturnType<typeof lettersOf>>): number =>
      letters.reduce((sum, letter) => sum + letter.bytes.length, 0)
    // The last one is counted, then stored, and then the oldest are dropped and counted.
    const read = async () => {
      const [status, letters] = [await statusOf('main'), await lettersOf()]
      const dropped = status?.deadLettersDropped ?? 0
      return [status?.deadLettered, dropped + letters.length, bytesOf(letters) <= 20_000]
    }
    await expect.poll(read).toEqual([count, count, true])
    const deadLettersDropped = (await statusOf('main'))?.deadLettersDropped ?? 0
    expect(deadLettersDropped).toBeGreaterThan(0)
    const stored = await lettersOf()
    expect(stored.map(({ sequence }) => sequence)).toEqual(
      Array.from({ length: count - deadLettersDropped }, (_, i) => deadLettersDropped + 1 + i),
    )
    const bytes = bytesOf(stored)
    expect(await inGraph((outbox, name) => outbox.deadLetters.totals(name, 'main'))).toEqual({
      count: stored.length,
      bytes,
    })
    const { body } = await service.configure('GET', `event-sinks/${sink}`)
    expect(body).toMatchObject({ providers: { main: { delivery: { dead_letters_dropped: deadLettersDropped } } } })
    const { text } = await service.send('/metrics', { headers: { authorization: `Bearer ${service.token}` } })
    const metric = 'verdigraph_event_dead_letters_dropped_total{provider_kind="event_topic"}'
    expect(text).toContain(`${metric} ${deadLettersDropped}\n`)

    const eventsOf = (message: string): (number | undefined)[] =>
      lines.filter((line) => line.message === message).map(({ events }) => events)
    const buried = 'events cannot be delivered and are stored as dead letters'
    expect(eventsOf(buried)).toEqual([1])
    await service.app.close()
    expect(eventsOf(buried)).toEqual([1, count - 1])
    const dropped = eventsOf('the oldest dead letters of a provider were dropped because they exceeded their bound')
    expect(dropped).toHaveLength(2)
    expect(dropped.reduce((sum: number, events) => sum + (events ?? 0), 0)).toBe(deadLettersDropped)
  })

  test('an event that a receiver keeps refusing becomes a dead letter after some attempts', async () => {
    await start()
    const receiver = receive()
    receiver.answer = (events) => (events.some(({ subject }) => subject.endsWith('/bad')) ? 422 : 200)
    await addSink(service, captures, { main: receiverProvider(receiver) })
    await capture('bad', 'good')
    await receiver.until(has('good'))
    const [letter] = await inGraph((outbox, name) => outbox.deadLetters.list(name, 10))
    expect(readDeadLetter(letter!.bytes)).toMatchObject({ attempts: REFUSALS_MAX, error: 'HTTP status 422' })
  })

  test('beyond the bound of the backlog the oldest events are dropped, and one event says which, before later ones', async () => {
    await start({ eventBacklogBytesMax: 3000 })
    const receiver = receive()
    await addSink(service, captures, { main: receiverProvider(receiver) })
    await receiver.stop()
    for (let i = 0; i < 30; i++) await capture(`c${i}`)
    await untilStatus('main', (status) => status.skipped > 0)
    const pendingBytes = (): Promise<number> => inGraph((outbox, name) => outbox.status(name)?.pendingBytes ?? 0)
    await untilCommitted(service.dataDir, 'the backlog is dropped', async () => (await pendingBytes()) <= 3000)
    receiver.start()
    await receiver.until(has('c29'))
    const [gap, ...rest] = receiver.accepted
    expect(gap?.type).toBe('svc.events.gap')
    // The status is stored later than the position, and the backlog may have exceeded its bound several times.
    const skipped = gap?.data.events as number
    expect(gap?.data).toMatchObject({ from: 1, to: skipped + 1 })
    await untilStatus('main', (status) => status.skipped === skipped)
    expect(rest.map(({ sequence }) => Number(sequence))).toEqual(
      Array.from({ length: 30 - skipped }, (_, i) => skipped + 1 + i),
    )
    expect(checkOrder(rest)).toBe(0)
  })

  test('while nothing is delivered writers keep the bound, no capture fails, and the receiver gets the gap first', async () => {
    const dataDir = temporaryFolder()
    await start({ dataDir, eventBacklogBytesMax: 3000 }, {})
    const receiver = receive()
    const sink = await addSink(service, captures, { main: receiverProvider(receiver) })
    const pending = (): Promise<number> => inGraph((outbox, name) => outbox.status(name)?.pendingBytes ?? 0)
    for (let i = 0; i < 60; i++) {
      await capture(`c${i}`)
      expect(await pending()).toBeLessThanOrEqual(3750)
    }
    const read = (await service.configure('GET', `event-sinks/${sink}`)).body as unknown as {
      readonly providers: { readonly main: { readonly delivery: DeliveryState } }
    }
    const { skipped, backlog } = read.providers.main.delivery
    expect(skipped).toBeGreaterThan(0)
    expect(backlog.events).toBe(60 - skipped)
    const { text } = await service.send('/metrics', { headers: { authorization: `Bearer ${service.token}` } })
    expect(text).toContain(`verdigraph_events_skipped_total{provider_kind="event_topic"} ${skipped}\n`)
    await service.app.close()

    const settings = { ...defaultSettings, port: 0, dataDir, upstreamAllow: '127.0.0.1' }
    const app = await createApp(settings, { eventDelivery, log: () => {}, sync: false })
    await receiver.until(has('c59'))
    await app.close()
    const [gap, ...rest] = receiver.accepted
    expect(gap).toMatchObject({ type: 'svc.events.gap', data: { from: 1, to: skipped + 1, events: skipped } })
    expect(rest.map(({ sequence }) => Number(sequence))).toEqual(
      Array.from({ length: 60 - skipped }, (_, i) => skipped + 1 + i),
    )
  })

  test('events that wait for a receiver for too long are dropped', async () => {
    const clock = new ManualClock(Date.now())
    await start({ eventBacklogAgeMaxS: 1 }, { eventDelivery, clock })
    const receiver = receive()
    await addSink(service, captures, { main: receiverProvider(receiver) })
    await receiver.stop()
    await capture('old')
    await untilStatus('main', ({ failed }) => failed > 2)
    expect((await statusOf('main'))?.skipped).toBe(0)
    clock.advance(1001)
    await untilStatus('main', ({ skipped }) => skipped === 1)
    receiver.start()
    await capture('new')
    await receiver.until(has('new'))
    expect(receiver.accepted.map(({ type }) => type)).toEqual(['svc.events.gap', 'svc.audit.capture.upsert.node'])
  })

  test('changes of routes, addresses and secrets apply to a running delivery', async () => {
    await start()
    const [wrong, right] = [receive(), receive()]
    wrong.answer = () => 401
    const sink = await addSink(service, captures, { main: receiverProvider(wrong) })
    await capture('a')
    await untilStatus('main', ({ failed }) => failed > 2)
    const moved = sinkBody(service.projectId, captures, { main: receiverProvider(right, {}, 'key-2') })
    const { project_id: _, name: __, ...changes } = moved as Record<string, unknown>
    const changed = await service.configure('PUT', `event-sinks/${sink}`, changes)
    expect(changed.status, changed.text).toBe(200)
    await right.until(has('a'))
    expect(new Set(right.keys)).toEqual(new Set(['key-2']))
    expect(await untilStatus('main', ({ lastError }) => lastError === '')).toMatchObject({ delivered: 1 })

    // A second provider receives what is captured from then on; the first is removed with its progress.
    const second = receive()
    const routes = [{ type: 'svc.audit.capture.*', provider: 'other' }]
    const {
      project_id: ___,
      name: ____,
      ...next
    } = sinkBody(service.projectId, routes, {
      other: receiverProvider(second),
    }) as Record<string, unknown>
    expect((await service.configure('PUT', `event-sinks/${sink}`, next)).status).toBe(200)
    await capture('b')
    await second.until(has('b'))
    await untilEmpty()
    expect([right.accepted.length, second.accepted.length]).toEqual([1, 1])
    await expect.poll(() => inGraph((outbox, name) => [...outbox.cursors(name).keys()])).toEqual(['other'])
    await untilStatus('other', ({ delivered }) => delivered === 1)
    expect(await statusOf('main')).toBe(undefined)
  })

  test('a provider that is given another address, or removed, while events are sent to it is not reported as failing', async () => {
    const lines: { readonly level: string; readonly message: string }[] = []
    await start({}, { eventDelivery, log: (entry) => void lines.push(entry) })
    const [slow, next] = [receive(), receive()]
    const held = Promise.withResolvers<number>()
    slow.answer = () => held.promise
    const sink = await addSink(service, captures, { main: receiverProvider(slow) })
    await capture('a')
    while (slow.seen.length === 0) await Bun.sleep(5)
    const update = async (to: readonly RouteInput[], providers: object): Promise<void> => {
      const { project_id: _, name: __, ...body } = sinkBody(service.projectId, to, providers) as Record<string, unknown>
      const changed = await service.configure('PUT', `event-sinks/${sink}`, body)
      expect(changed.status, changed.text).toBe(200)
    }
    await update(captures, { main: receiverProvider(next) })
    await next.until(has('a'))
    // Its position is stored: nothing else ends the next send.
    await untilEmpty()

    next.answer = () => held.promise
    await capture('b')
    while (next.seen.length === 1) await Bun.sleep(5)
    const last = receive()
    await update([{ type: 'svc.audit.capture.*', provider: 'last' }], { last: receiverProvider(last) })
    await capture('c')
    await last.until(has('c'))
    while (!lines.some(({ message }) => message.startsWith('a provider was removed'))) await Bun.sleep(5)
    // The end of the removed delivery.
    await service.app.close()
    held.resolve(200)
    expect(lines.filter(({ level }) => level === 'error')).toEqual([])
  })

  test('a deleted sink drops what was not delivered, and a new one starts with new events', async () => {
    const lines: object[] = []
    await start({}, { eventDelivery, log: (entry) => void lines.push(entry) })
    const receiver = receive()
    await receiver.stop()
    const sink = await addSink(service, captures, { main: receiverProvider(receiver) })
    await capture('lost')
    await untilStatus('main', ({ failed }) => failed > 0)
    expect((await service.configure('DELETE', `event-sinks/${sink}`)).status).toBe(200)
    expect(lines).toContainEqual({
      level: 'info',
      message: 'an event sink was deleted; the events that were not delivered are dropped',
      project: service.projectId,
      events: 1,
    })
    receiver.start()
    await addSink(service, captures, { main: receiverProvider(receiver) })
    await capture('new')
    await receiver.until(has('new'))
    expect(receiver.accepted.map(({ subject }) => subject)).toEqual(['nodes/Car/new'])
    expect(await untilStatus('main', ({ delivered }) => delivered === 1)).toMatchObject({ failed: 0 })
  })

  test('a restart continues where the delivery was', async () => {
    const dataDir = temporaryFolder()
    await start({ dataDir })
    const receiver = receive()
    await addSink(service, captures, { main: receiverProvider(receiver) })
    await capture('a')
    await receiver.until(has('a'))
    // Its answer has arrived, so that it is not sent again.
    await untilEmpty()
    await receiver.stop()
    await capture('b')
    const { key, projectId } = service
    await service.stop()
    receiver.start()
    const app = await createApp(
      { ...defaultSettings, port: 0, dataDir, upstreamAllow: '127.0.0.1' },
      { eventDelivery, log: () => {} },
    )
    const { url } = await app.listen()
    await receiver.until(has('b'))
    const headers = { 'x-svc-clientkey': key, 'content-type': 'application/json' }
    const body = JSON.stringify({ nodes: [{ type: 'Car', external_id: 'c' }] })
    expect((await fetch(`${url}/capture/v1/nodes`, { method: 'POST', headers, body })).status).toBe(200)
    await receiver.until(has('c'))
    expect(receiver.accepted.map(({ subject }) => subject)).toEqual(['nodes/Car/a', 'nodes/Car/b', 'nodes/Car/c'])
    expect((await app.eventStreams.statuses(projectId)).get('main')?.delivered).toBeGreaterThanOrEqual(1)
    await app.close()
  })

  test('random failures of receivers lose no event and keep the order of each element', async () => {
    const seed = testSeed()
    const random = new Random(seed)
    await start({}, { eventDelivery: { random: () => random.between(0, 99) / 1000 } })
    const receiver = receive()
    receiver.answer = async () => {
      await Bun.sleep(random.between(0, 4))
      return random.odds(0.3) ? 503 : 200
    }
    await addSink(service, captures, { main: receiverProvider(receiver) })
    const sent = new Map<string, number>()
    for (let i = 0; i < 40; i++) {
      const names = Array.from({ length: random.between(1, 5) }, () => `c${random.between(0, 9)}`)
      const unique = [...new Set(names)]
      await capture(...unique)
      for (const name of unique) sent.set(name, (sent.get(name) ?? 0) + 1)
    }
    const total = [...sent.values()].reduce((sum, count) => sum + count, 0)
    await receiver.until((accepted) => accepted.length >= total)
    expect(checkOrder(receiver.accepted), `seed ${seed}`).toBe(0)
    const received = new Map<string, number>()
    for (const { subject } of receiver.accepted) {
      const name = subject.replace('nodes/Car/', '')
      received.set(name, (received.get(name) ?? 0) + 1)
    }
    expect(received, `seed ${seed}`).toEqual(sent)
  })
})

describe('change data capture that starts with a snapshot', () => {
  const changes = [{ type: 'svc.audit.cdc.*' }]
  const many = Array.from({ length: 1200 }, (_, i) => `c${i}`)

  async function captureMany(): Promise<void> {
    for (let at = 0; at < many.length; at += 200) await capture(...many.slice(at, at + 200))
  }

  const snapshotEvents = (events: readonly AcceptedEvent[]): AcceptedEvent[] =>
    events.filter(({ data }) => data.snapshot === true)
  const carsOf = (events: readonly AcceptedEvent[]): Set<string> =>
    new Set(events.map(({ subject }) => subject).filter((subject) => subject.startsWith('nodes/Car/')))

  test('sends every existing element, then the changes, and continues after a restart where it was', async () => {
    const dataDir = temporaryFolder()
    await start({ dataDir })
    await captureMany()
    const receiver = receive()
    const provider = receiverProvider(receiver, { include_cdc_events: true, snapshot: 'initial' })
    // The second part is not accepted.
    receiver.answer = () => (receiver.accepted.length === 0 ? 200 : 503)
    await addSink(service, changes, { main: provider })
    await untilStatus('main', ({ failed }) => failed > 2)
    const before = receiver.accepted.length
    expect(before).toBe(500)
    await capture('later')
    const { projectId } = service
    await service.stop()

    receiver.answer = () => 200
    const app = await createApp(
      { ...defaultSettings, port: 0, dataDir, upstreamAllow: '127.0.0.1' },
      { eventDelivery, log: () => {}, sync: false },
    )
    await receiver.until(has('later', 'c1199'))
    const isComplete = (): Promise<boolean> =>
      app.eventStreams.withStreams(projectId, async (streams) => {
        const graph = streams.find(({ source }) => source === 'graph')
        return graph?.outbox.cursors(graph.name).get('main')?.snapshot === 'complete'
      })
    await untilCommitted(app.settings.dataDir, 'the snapshot is complete', isComplete)
    await app.close()
    const sent = snapshotEvents(receiver.accepted)
    expect(carsOf(sent).size).toBeGreaterThanOrEqual(1200)
    // The accepted part was not sent again. The snapshot may also contain what was captured while it was read.
    expect(sent.length).toBe(new Set(sent.map(({ subject }) => subject)).size)
    expect(snapshotEvents(receiver.accepted.slice(0, before)).length).toBe(before)
    expect(sent[0]?.data).toMatchObject({ snapshot: true, before: null, after: { type: '_Application' } })
    const streamed = receiver.accepted.filter(({ data }) => data.snapshot !== true)
    expect(streamed.map(({ subject }) => subject)).toContain('nodes/Car/later')
  })

  test('is sent for a graph without events, only to providers that ask for it, and again when it is switched on again', async () => {
    await start()
    await capture('a', 'b')
    const [one, two] = [receive(), receive()]
    const providers = (snapshot: string): object => ({
      one: receiverProvider(one, { snapshot }),
      two: receiverProvider(two, { snapshot: 'none' }),
    })
    const routes = ['one', 'two'].map((provider) => ({ type: 'svc.audit.cdc.*', provider }))
    const body = { ...sinkBody(service.projectId, routes, providers('initial')), include_cdc_events: true }
    const created = await service.configure('POST', 'event-sinks', body)
    expect(created.status, created.text).toBe(201)
    await one.until(has('a', 'b'))
    await capture('c')
    await one.until(has('c'))
    await two.until(has('c'))
    expect([...carsOf(snapshotEvents(one.accepted))].sort()).toEqual(['nodes/Car/a', 'nodes/Car/b'])
    expect(carsOf(two.accepted)).toEqual(new Set(['nodes/Car/c']))

    const update = async (snapshot: string): Promise<void> => {
      const {
        project_id: _,
        name: __,
        ...more
      } = { ...body, providers: providers(snapshot) } as Record<string, unknown>
      const changed = await service.configure('PUT', `event-sinks/${created.body.id}`, more)
      expect(changed.status, changed.text).toBe(200)
    }
    await update('none')
    await capture('d')
    await one.until(has('d'))
    // The delivery has noticed that the snapshot was switched off.
    const snapshotOf = () => inGraph((outbox, name) => outbox.cursors(name).get('one')?.snapshot)
    await expect.poll(snapshotOf).toBeUndefined()
    const count = snapshotEvents(one.accepted).length
    await update('initial')
    await one.until((accepted) => carsOf(snapshotEvents(accepted).slice(count)).size === 4)
  })

  test('begins again after a gap, because the copy of the receiver lacks changes', async () => {
    await start({ eventBacklogBytesMax: 3000 })
    await capture('a')
    const receiver = receive()
    const provider = receiverProvider(receiver, { include_cdc_events: true, snapshot: 'initial' })
    await addSink(service, changes, { main: provider })
    await receiver.until(has('a'))
    await receiver.stop()
    for (let i = 0; i < 20; i++) await capture(`c${i}`)
    await untilStatus('main', ({ skipped }) => skipped > 0)
    receiver.start()
    await receiver.until((accepted) => {
      const gap = accepted.findIndex(({ type }) => type === 'svc.events.gap')
      return gap >= 0 && carsOf(snapshotEvents(accepted.slice(gap))).size === 21
    })
  })

  test('is refused for a provider without change data capture', async () => {
    await start()
    const receiver = receive()
    const routes = [{ type: 'svc.audit.*' }]
    const create = async (more: object, provider: object): Promise<unknown[]> => {
      const body = { ...sinkBody(service.projectId, routes, { main: receiverProvider(receiver, provider) }), ...more }
      const { status, body: answer } = await service.configure('POST', 'event-sinks', body)
      return [status, answer.errors]
    }
    expect(await create({}, { snapshot: 'initial' })).toEqual([
      422,
      ['providers.main.snapshot: requires `include_cdc_events`'],
    ])
    expect(await create({ snapshot: 'initial' }, {})).toEqual([422, ['snapshot: requires `include_cdc_events`']])
    const [status, errors] = await create({}, { snapshot: 'always', include_cdc_events: true })
    expect([status, errors]).toEqual([422, [expect.stringContaining('snapshot')]])
  })
})
