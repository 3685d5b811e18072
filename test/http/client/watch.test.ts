// The client's change stream, also over a restart of the service.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { createApp } from '../../../src/app.ts'
import { createClient, NotAuthorizedError, UnavailableError, type WatchEvent } from '../../../src/client/index.ts'
import { defaultSettings } from '../../../src/settings.ts'
import { freePorts } from '../../support/counterparts/broker-process.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService

beforeAll(async () => {
  // A port that no other server gets between the end of the service and its next start.
  const [port] = await freePorts(1)
  service = await startService({ port: port! }, { sync: false, log: () => undefined })
  await service.addPolicy({ name: 'all', cypher: 'MATCH (subject:Person), (resource:Car)' })
})
afterAll(() => service?.stop())

const drive = { subject_type: 'Person', action: 'drive', resource_type: 'Car' }

async function next(events: AsyncGenerator<WatchEvent, void>): Promise<WatchEvent> {
  const { value } = await events.next()
  if (value === undefined) throw new Error('the stream ended')
  return value
}

test('yields changes, and ends with its signal', async () => {
  const client = createClient({ url: service.url, key: service.key })
  const stopping = new AbortController()
  const events = client.watch({ subjectType: 'Person', signal: stopping.signal })
  expect(await next(events)).toEqual({
    type: 'hello',
    revision: expect.any(Number),
    resumed: false,
    time_dependent: [],
  })
  await client.write({ nodes: [{ type: 'Car', external_id: 'c1' }] })
  expect(await next(events)).toEqual({ type: 'change', revision: expect.any(Number), changes: [drive] })
  const last = next(events)
  stopping.abort(new Error('enough'))
  await expect(last).rejects.toThrow('enough')
})

test('rejects if it is refused, or finds no service', async () => {
  const wrong = createClient({ url: service.url, key: 'vgk_wrong' })
  await expect(next(wrong.watch())).rejects.toThrow(NotAuthorizedError)
  const absent = createClient({ url: 'http://127.0.0.1:1', key: service.key })
  await expect(next(absent.watch())).rejects.toThrow(UnavailableError)
})

test('connects again after a restart, and says that anything may have changed', async () => {
  const { dataDir, url, key } = service
  const client = createClient({ url, key })
  const events = client.watch()
  const hello = await next(events)
  await service.app.close()
  const again = await createApp({ ...defaultSettings, port: Number(new URL(url).port), dataDir }, { sync: false })
  try {
    await again.listen()
    const reset = await next(events)
    expect(reset).toEqual({ type: 'reset', revision: expect.any(Number), reason: expect.any(String) })
    expect(reset.revision).toBeGreaterThanOrEqual(hello.revision)
    await client.write({ nodes: [{ type: 'Person', external_id: 'ann' }] })
    expect(await next(events)).toMatchObject({ type: 'change', changes: [drive] })
    await events.return()
  } finally {
    await again.close()
  }
})
