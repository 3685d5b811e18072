// What a lane records about a request is what the serving process knows about its client.
import { afterEach, expect, test } from 'vitest'
import { childCommand } from '../../../src/cli/settings/self-command.ts'
import { addSink, eventsLike } from '../../support/events.ts'
import { startService, type TestService } from '../../support/service.ts'
import { makePeople, type People } from '../../support/user-tokens.ts'

let service: TestService

afterEach(() => service.stop())

test('an event that a lane records has the address of the client of the serving process', async () => {
  const laneCommand = childCommand('lane')
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

test('a token is recorded once, although its request moves to a lane that writes the node of the user', async () => {
  const laneCommand = childCommand('lane')
  service = await startService({ lanes: 1 }, { laneCommand, log: () => undefined })
  await addSink(service, [{ type: 'svc.audit.credentials.*' }])
  const people = await makePeople('Person')
  const introspect = { project_id: service.projectId, ...people.introspect, perform_upsert: true }
  expect((await service.configure('POST', 'token-introspects', introspect)).status).toBe(201)
  await service.addPolicy({ name: 'self', actions: ['see'], cypher: 'MATCH (subject:Person)-[:OWNS]->(resource:Car)' })
  const names = ['ann', 'bob']
  const statuses: number[] = []
  // The second time, the token is known.
  for (const name of [...names, ...names]) {
    const { status } = await service.send('/access/v1/evaluation', {
      headers: { 'x-svc-clientkey': service.key, authorization: `Bearer ${await tokenOf(people, name)}` },
      body: { subject: { type: 'Person', id: name }, action: { name: 'see' }, resource: { type: 'Car', id: 'c' } },
    })
    statuses.push(status)
  }
  expect(statuses).toEqual([200, 200, 200, 200])
  const seen = await eventsLike(service, 'svc.audit.credentials.token.introspected')
  expect(seen.map(({ data }) => (data.subject as { externalId: string }).externalId)).toEqual(names)
})

const tokens = new Map<string, Promise<string>>()

function tokenOf(people: People, name: string): Promise<string> {
  const token = tokens.get(name) ?? people.tokenOf(name)
  tokens.set(name, token)
  return token
}
