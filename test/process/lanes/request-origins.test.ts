// What a lane records about a request is what the serving process knows about its client.
import { afterEach, expect, test } from 'vitest'
import { LANE_COMMAND, selfCommand } from '../../../src/cli/self-command.ts'
import { addSink, eventsLike } from '../../support/events.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService

afterEach(() => service.stop())

test('an event that a lane records has the address of the client of the serving process', async () => {
  const laneCommand = selfCommand([LANE_COMMAND])
  service = await startService(
    { lanes: 1, clientAddressHeader: 'x-forwarded-for' },
    { laneCommand, log: () => undefined },
  )
  await addSink(service, [{ type: 'svc.audit.capture.*' }])
  const capture = (headers: Record<string, string>) =>
    service.send('/capture/v1/nodes', {
      headers: { 'x-svc-clientkey': service.key, ...headers },
      body: { nodes: [{ type: 'Car', external_id: 'a' }] },
    })
  const answers = [await capture({}), await capture({ 'x-forwarded-for': '203.0.113.9, 192.0.2.44' })]
  expect(answers.map(({ status }) => status)).toEqual([200, 200])
  const seen = await eventsLike(service, 'svc.audit.capture.')
  expect(seen.map(({ data }) => data.address)).toEqual(['127.0.0.1', '192.0.2.44'])
})
