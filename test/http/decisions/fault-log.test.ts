// The log of a policy that fails in every decision: enough to fix it, without a flood of lines.
import { afterAll, beforeAll, expect, it } from 'vitest'
import type { LogEntry } from '../../../src/ops/log.ts'
import { ManualClock } from '../../support/manual-clock.ts'
import { startService, type TestService } from '../../support/service.ts'

const clock = new ManualClock(Date.now())
const entries: LogEntry[] = []
let service: TestService

beforeAll(async () => {
  service = await startService({}, { clock, sync: false, log: (entry) => entries.push(entry) })
  const nodes = [
    { type: 'Person', external_id: 'ann' },
    { type: 'Car', external_id: 'c1', properties: [{ type: 'wheels', value: 0 }] },
  ]
  expect((await service.ask('/capture/v1/nodes', { nodes })).status).toBe(200)
})

afterAll(() => service?.stop())

const decide = async (name: string, times: number): Promise<void> => {
  const question = { subject: { type: 'Person', id: 'ann' }, action: { name }, resource: { type: 'Car', id: 'c1' } }
  for (let i = 0; i < times; i++) {
    expect((await service.ask('/access/v1/evaluation', question)).body).toMatchObject({ decision: false })
  }
}

/** The log lines about policies since the previous call. */
const told = () =>
  entries
    .splice(0)
    .filter(({ message }) => message === 'a policy failed and does not grant')
    .map(({ policyId, revision, code, times }) => ({ policyId, revision, code, ...(times !== undefined && { times }) }))

it('is one line per minute for each policy, revision and error, with a count', async () => {
  const faulty = 'MATCH (subject:Person), (resource:Car) WHERE 1 / resource.wheels > 1'
  const first = await service.addPolicy({ name: 'first', actions: ['drive', 'park'], cypher: faulty })
  const second = await service.addPolicy({ name: 'second', actions: ['park'], cypher: faulty })
  const fault = (policyId: string, revision = 1) => ({ policyId, revision, code: 'arithmetic' })

  await decide('drive', 3)
  expect(told()).toEqual([fault(first)])
  await decide('park', 2)
  expect(told()).toEqual([fault(second)])

  clock.advance(60_000)
  await decide('park', 2)
  expect(told()).toEqual([
    { ...fault(first), times: 5 },
    { ...fault(second), times: 2 },
  ])

  // A changed policy that still fails is reported at once.
  const { body } = await service.configure('GET', `authorization-policies/${first}`)
  const policy = (body.policy as string).replace('> 1', '> 2')
  const changed = await service.configure('PUT', `authorization-policies/${first}`, { policy, status: 'ACTIVE' })
  expect(changed.status).toBe(200)
  await decide('drive', 2)
  expect(told()).toEqual([fault(first, 2)])
})
