import { expect, test } from 'vitest'
import { StreamDelivery } from '../../../../src/events/delivery/stream-delivery.ts'
import { encodeRecord } from '../../../../src/events/event-record.ts'
import type { OutgoingEvent } from '../../../../src/events/providers/provider.ts'
import { EventsFolder } from '../../../../src/store/outbox/events-folder.ts'
import { ManualClock } from '../../../support/manual-clock.ts'
import { temporaryFolder } from '../../../support/temporary-folder.ts'

const stream = { projectId: 'p', source: 'activity' } as const
const all = { events: Number.POSITIVE_INFINITY, bytes: Number.POSITIVE_INFINITY }

function record(providers: readonly string[]): Uint8Array {
  const ready = { subject: 's', timeMs: 1, members: '"number":1' }
  const receivers = 2 ** providers.length - 1
  const events = [{ type: 'svc.audit.authorization.evaluation', providers: receivers, ready }] as const
  return encodeRecord({ sinkId: 'sink', revision: 1, providers, requestId: '', actor: null, events })
}

/** Delivers one event to the provider `old`, which has no list of other providers, and stores its position. */
async function deliver(providers: readonly string[], newest: readonly string[] | null) {
  const folder = new EventsFolder(temporaryFolder(), { sync: false })
  const { outbox } = folder
  await outbox.append([{ stream: 'p', bytes: record(providers), count: 1, timeMs: 1 }])
  const sent = Promise.withResolvers<readonly OutgoingEvent[]>()
  const target = {
    sinkId: 'sink',
    providerId: 'old',
    addedAt: 0,
    providers: ['old'],
    configuration: '',
    startsWithSnapshot: false,
    configError: () => null,
    connect: () => ({
      async send(events: readonly OutgoingEvent[]) {
        sent.resolve(events)
        return { kind: 'delivered' } as const
      },
      close: async () => {},
    }),
  }
  const delivery = new StreamDelivery(stream, target, {
    withOutbox: async (work) => work(outbox, 'p'),
    readSnapshot: async () => null,
    newestProviders: () => newest,
    deadLetterBytesMax: 1e9,
    bounds: { bytesMax: 1e9, ageMaxMs: 1e9 },
    clock: new ManualClock(5),
    random: () => 0,
    log: () => {},
    changeStatus: () => {},
  })
  expect((await sent.promise).length).toBe(1)
  await delivery.stop()
  const found = { records: outbox.read('p', 0, all).length, cursor: outbox.cursors('p').get('old')?.next ?? null }
  await folder.close()
  return found
}

test('an event leaves the outbox when its provider has it', async () => {
  expect(await deliver(['old'], ['old'])).toEqual({ records: 0, cursor: 2 })
})

test('an event for a provider that was added since stays, although the delivery does not know the provider yet', async () => {
  expect(await deliver(['old', 'added'], ['old', 'added'])).toEqual({ records: 1, cursor: 2 })
})

test('a provider that was removed since, or with its sink, stores no position', async () => {
  expect(await deliver(['old', 'added'], ['added'])).toEqual({ records: 1, cursor: null })
  expect(await deliver(['old'], null)).toEqual({ records: 1, cursor: null })
})
