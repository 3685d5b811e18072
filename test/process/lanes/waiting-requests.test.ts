// A request that waits for other services leaves its lane to other requests.
import { afterEach, expect, test } from 'vitest'
import { childCommand } from '../../../src/cli/settings/self-command.ts'
import { type EventReceiver, receiverProvider, startReceiver } from '../../support/event-receiver.ts'
import { addSink } from '../../support/events.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let receiver: EventReceiver

afterEach(async () => {
  await service.stop()
  await receiver.stop()
})

test('captures and reads run in the only lane while tests of event sinks wait for their receiver', async () => {
  const laneCommand = childCommand('lane')
  service = await startService({ lanes: 1, upstreamAllow: '127.0.0.1' }, { laneCommand, log: () => undefined })
  receiver = startReceiver()
  const released = Promise.withResolvers<number>()
  receiver.answer = () => released.promise
  const id = await addSink(service, [{ type: 'svc.audit.capture.*' }], { main: receiverProvider(receiver) })
  const body = { event: { type: 'svc.audit.capture.upsert.node' }, send: true }
  const tests = Array.from({ length: 8 }, () => service.configure('POST', `event-sinks/${id}/test`, body))
  while (receiver.seen.length < 8) await Bun.sleep(5)
  const captured = await service.ask('/capture/v1/nodes', { nodes: [{ type: 'Car', external_id: 'a' }] })
  const read = await service.configure('GET', `event-sinks/${id}`)
  expect([captured.status, read.status, receiver.seen.length]).toEqual([200, 200, 8])
  released.resolve(200)
  const outcomes = (await Promise.all(tests)).map(
    ({ body: { deliveries } }) => (deliveries as { outcome: string }[])[0],
  )
  expect(outcomes.map((one) => one?.outcome)).toEqual(tests.map(() => 'delivered'))
})
