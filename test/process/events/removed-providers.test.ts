// Providers that are removed from a sink, also while no process delivers: what waited for them reaches no later provider with the
// same id.
import { afterEach, expect, test } from 'vitest'
import type { App } from '../../../src/app.ts'
import { createApp } from '../../../src/app.ts'
import { defaultSettings } from '../../../src/settings.ts'
import type { EventOutbox } from '../../../src/store/outbox/outbox.ts'
import { untilCommitted } from '../../support/commits.ts'
import { type EventReceiver, receiverProvider, startReceiver } from '../../support/event-receiver.ts'
import { addSink, sinkBody } from '../../support/events.ts'
import { startService, type TestService } from '../../support/service.ts'
import { temporaryFolder } from '../../support/temporary-folder.ts'

/** Retries follow at once. */
const eventDelivery = { random: (): number => 0.001 }
const routes = ['main', 'kept'].map((provider) => ({ type: 'svc.audit.capture.*', provider }))

let service: TestService
let app: App
let url: string
const receivers: EventReceiver[] = []

afterEach(async () => {
  await app.close()
  for (const receiver of receivers.splice(0)) await receiver.stop()
})

function receive(): EventReceiver {
  const receiver = startReceiver()
  receivers.push(receiver)
  return receiver
}

async function start(): Promise<void> {
  service = await startService(
    { upstreamAllow: '127.0.0.1', dataDir: temporaryFolder() },
    { eventDelivery, log: () => {}, sync: false },
  )
  app = service.app
  url = service.url
}

/** Closes the service and opens it again, with or without delivery. */
async function reopen(overrides: { eventDelivery?: typeof eventDelivery }): Promise<void> {
  await app.close()
  const settings = { ...defaultSettings, port: 0, dataDir: service.dataDir, upstreamAllow: '127.0.0.1' }
  app = await createApp(settings, { ...overrides, log: () => {}, sync: false })
  url = (await app.listen()).url
}

async function send(method: string, path: string, body: object, headers: Record<string, string>): Promise<void> {
  const sent = { method, headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) }
  const response = await fetch(`${url}${path}`, sent)
  expect(response.ok, await response.text()).toBe(true)
}

function capture(...names: readonly string[]): Promise<void> {
  const nodes = names.map((external_id) => ({ type: 'Car', external_id }))
  return send('POST', '/capture/v1/nodes', { nodes }, { 'x-svc-clientkey': service.key })
}

async function update(sink: string, providers: object): Promise<void> {
  const used = routes.filter(({ provider }) => Object.hasOwn(providers, provider))
  const { project_id: _, name: __, ...body } = sinkBody(service.projectId, used, providers) as Record<string, unknown>
  const authorization = `Bearer ${await app.issueAdminToken(3600)}`
  await send('PUT', `/configs/v1/event-sinks/${sink}`, body, { authorization })
}

function inGraph<T>(work: (outbox: EventOutbox, name: string) => T | Promise<T>): Promise<T> {
  return app.eventStreams.withStreams(service.projectId, async (streams) => {
    const graph = streams.find(({ source }) => source === 'graph')
    if (graph === undefined) throw new Error('the graph has no events')
    return work(graph.outbox, graph.name)
  })
}

const until = (what: string, condition: () => Promise<boolean>): Promise<void> =>
  untilCommitted(service.dataDir, what, condition)

const subjects = ({ accepted }: EventReceiver): string[] =>
  accepted.map(({ subject }) => subject.replace('nodes/Car/', ''))
const storedEvents = (): Promise<number> =>
  inGraph((outbox, name) => outbox.readHeads(name, 0, 100).reduce((sum, { count }) => sum + count, 0))
const isStored = (provider: string): Promise<boolean> => inGraph((outbox, name) => outbox.cursors(name).has(provider))

test('a provider that is added again while nothing is delivered receives nothing of the removed one', async () => {
  await start()
  const [kept, old, added] = [receive(), receive(), receive()]
  const isLarge = ({ subject }: { subject: string }): boolean => subject.endsWith('/large')
  old.answer = (events) => (events.some(isLarge) ? 413 : 200)
  const sink = await addSink(service, routes, { main: receiverProvider(old), kept: receiverProvider(kept) })
  await capture('large')
  await until('a dead letter', () => inGraph((outbox, name) => outbox.deadLetters.list(name, 9).length === 1))
  await until('a position', () => inGraph((outbox, name) => outbox.cursors(name).get('kept')?.next === 2))
  // Both wait: events of the removed provider also stay stored for the other one.
  await Promise.all([old.stop(), kept.stop()])
  await capture('waiting')
  await reopen({})
  expect(await inGraph((outbox, name) => outbox.deadLetters.request(name, 'main', 1))).toBe(true)
  await update(sink, { kept: receiverProvider(kept) })
  await capture('between')
  await update(sink, { main: receiverProvider(added), kept: receiverProvider(kept) })
  await capture('new')
  kept.start()
  await reopen({ eventDelivery })
  await added.until((accepted) => accepted.some(({ subject }) => subject.endsWith('/new')))
  await kept.until((accepted) => accepted.some(({ subject }) => subject.endsWith('/new')))
  await until('the end', async () => (await storedEvents()) === 0)
  expect([subjects(added), added.seen.length]).toEqual([['new'], 1])
  expect(subjects(kept)).toEqual(['large', 'waiting', 'between', 'new'])
  expect(
    await inGraph((outbox, name) => [outbox.deadLetters.list(name, 9), outbox.deadLetters.hasRequests(name)]),
  ).toEqual([[], false])
  const delivered = async (): Promise<unknown> =>
    (await app.eventStreams.statuses(service.projectId)).get('main')?.delivered
  await until('the count of the new provider', async () => (await delivered()) === 1)
})

test('a provider that is removed while nothing is delivered leaves no position, dead letter or waiting event', async () => {
  await start()
  const [kept, old] = [receive(), receive()]
  old.answer = (events) => (events.some(({ subject }) => subject.endsWith('/large')) ? 413 : 503)
  const sink = await addSink(service, routes, { main: receiverProvider(old), kept: receiverProvider(kept) })
  await capture('large', 'waiting')
  await until('a dead letter', () => inGraph((outbox, name) => outbox.deadLetters.list(name, 9).length === 1))
  await until('a position', () => isStored('kept'))
  await reopen({})
  await update(sink, { kept: receiverProvider(kept) })
  expect([await isStored('main'), await storedEvents()]).toEqual([true, 2])
  await reopen({ eventDelivery })
  await until('the end', async () => (await storedEvents()) === 0)
  expect(await isStored('main')).toBe(false)
  expect(await inGraph((outbox, name) => outbox.deadLetters.list(name, 9))).toEqual([])
  expect(subjects(kept)).toEqual(['large', 'waiting'])
})
