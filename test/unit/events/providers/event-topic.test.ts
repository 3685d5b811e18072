// The event topic driver against a fake: requests, statuses, size, secrets, addresses. test/stress/event-providers compares the
// requests with those of the vendor's SDK.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterEach, describe, expect, it } from 'vitest'
import { eventTopic } from '../../../../src/events/providers/event-topic.ts'
import type { ProviderConnection } from '../../../../src/events/providers/provider.ts'
import { type EventTopicFake, startEventTopic } from '../../../support/counterparts/event-topic.ts'
import { startSilentServer } from '../../../support/counterparts/silent-server.ts'
import { outgoingEvent, outgoingEvents, providerDeps } from '../../../support/outgoing-events.ts'

const authorities = readFileSync(join(import.meta.dirname, '../../../support/data/certificates/authority.pem'), 'utf8')
const access_key = 'c2VjcmV0IGtleSBvZiB0aGUgdG9waWM='
const cleanups: (() => Promise<unknown>)[] = []
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup()
})

async function topic(answer?: Parameters<typeof startEventTopic>[0]): Promise<EventTopicFake> {
  const started = await startEventTopic(answer)
  cleanups.push(() => started.stop())
  return started
}

function connectTo(topic_endpoint: string, allowed = '127.0.0.1,::1'): ProviderConnection {
  return eventTopic.connect({ topic_endpoint, access_key }, providerDeps(allowed, authorities))
}

describe('a batch for an event topic', () => {
  it('is a JSON array of CloudEvents, with the key in a header', async () => {
    const server = await topic()
    expect(await connectTo(server.endpoint).send([outgoingEvent(1)], 60_000)).toEqual({ kind: 'delivered' })
    expect(server.requests).toEqual([
      {
        method: 'POST',
        path: '/api/events?api-version=2018-01-01',
        contentType: 'application/cloudevents-batch+json; charset=utf-8',
        key: access_key,
        body: expect.any(String),
      },
    ])
    const { attributes, data } = outgoingEvent(1)
    expect(JSON.parse(server.requests[0]?.body ?? '')).toEqual([
      { ...attributes, data: JSON.parse(new TextDecoder().decode(data)) },
    ])
  })

  it('keeps a version and other parameters of the endpoint', async () => {
    const server = await topic()
    await connectTo(`${server.endpoint}?a=b&api-version=2030-01-01`).send([outgoingEvent(1)], 60_000)
    expect(server.requests[0]?.path).toBe('/api/events?a=b&api-version=2030-01-01')
  })

  it.each([
    [401, { kind: 'retry', delivered: 0, error: 'HTTP status 401: Unauthorized: the key *** is wrong' }],
    [404, { kind: 'retry', delivered: 0, error: 'HTTP status 404: Unauthorized: the key *** is wrong' }],
    [429, { kind: 'retry', delivered: 0 }],
    [503, { kind: 'retry', delivered: 0 }],
    [302, { kind: 'retry', delivered: 0 }],
    [400, { kind: 'refused', delivered: 0, isFinal: false }],
    [413, { kind: 'refused', delivered: 0, isFinal: true }],
  ])('that gets the status %i', async (status, outcome) => {
    const body = JSON.stringify({ error: { code: 'Unauthorized', message: `the key ${access_key}\nis wrong` } })
    const server = await topic(() => ({ status, body }))
    expect(await connectTo(server.endpoint).send(outgoingEvents(0, 2), 60_000)).toMatchObject(outcome)
  })

  it('is delivered up to and after an event that is refused', async () => {
    const server = await topic(({ body }) => ({ status: body.includes('"graph-6"') ? 413 : 200 }))
    const connection = connectTo(server.endpoint)
    const events = outgoingEvents(0, 10)
    expect(await connection.send(events, 60_000)).toEqual({
      kind: 'refused',
      delivered: 6,
      error: 'HTTP status 413',
      isFinal: true,
    })
    expect(await connection.send(events.slice(7), 60_000)).toEqual({ kind: 'delivered' })
    const accepted = server.requests.filter(({ body }) => !body.includes('"graph-6"'))
    const ids = accepted.flatMap(({ body }) => JSON.parse(body).map(({ id }: { id: string }) => id))
    expect(ids).toEqual(events.map(({ attributes }) => attributes.id).filter((id) => id !== 'graph-6'))
  })

  it('is sent in requests of at most a megabyte', async () => {
    const server = await topic()
    expect(await connectTo(server.endpoint).send(outgoingEvents(0, 30, 13, 100_000), 60_000)).toEqual({
      kind: 'delivered',
    })
    expect(server.requests.length).toBeGreaterThan(3)
    expect(server.requests.every(({ body }) => Buffer.byteLength(body) <= 1_048_576)).toBe(true)
  })

  it('ends at the deadline if there is no answer', async () => {
    const silent = await startSilentServer()
    cleanups.push(() => silent.stop())
    expect(await connectTo(`https://localhost:${silent.port}/api/events`).send([outgoingEvent(0)], 300)).toEqual({
      kind: 'retry',
      delivered: 0,
      error: expect.stringMatching(/^no complete response within \d+ milliseconds$/),
    })
  })

  it.each([
    ['not a URL', '', 'expected an absolute https URL without credentials'],
    ['ftp://topic.example/', '', 'expected an absolute https URL without credentials'],
    ['https://u:p@topic.example/', '', 'expected an absolute https URL without credentials'],
    ['http://topic.example/', '', 'expected https'],
    ['https://127.0.0.1:1/', '', 'the address `127.0.0.1` is not public'],
    ['https://[::1]:1/', '', 'the address `::1` is not public'],
    ['https://metadata.google.internal/', '', 'the host `metadata.google.internal` is not public'],
  ])('to %s is refused', async (endpoint, allowed, error) => {
    expect(await connectTo(endpoint, allowed).send([outgoingEvent(0)], 60_000)).toEqual({
      kind: 'retry',
      delivered: 0,
      error: `topic_endpoint: ${error}`,
    })
  })
})
