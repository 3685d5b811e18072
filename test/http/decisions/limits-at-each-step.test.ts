// If any step of a request meets a limit, the response is a typed one: a denial, a refusal or a shorter explanation, never 500.
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { chargeFaults, failingAt } from '../../support/failing-charges.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
let key: string

beforeAll(async () => {
  service = await startService({}, { log: () => {} })
  const node = (type: string, external_id: string) => ({ type, external_id, properties: [] })
  const cars = ['c1', 'c2', 'c3', 'c4'].map((id) => node('Car', id))
  await service.ask('/capture/v1/nodes', { nodes: [node('Person', 'ann'), node('Person', 'bob'), ...cars] })
  const end = (type: string, external_id: string) => ({ type, external_id })
  const relationships = cars.map(({ external_id }) => ({
    source: end('Person', 'ann'),
    type: 'OWNS',
    target: end('Car', external_id),
  }))
  expect((await service.ask('/capture/v1/relationships', { relationships })).status).toBe(200)
  const owns = 'MATCH (subject:Person)-[:OWNS]->(resource:Car)'
  const filter = { operator: '=', attribute: '$purpose', value: 'work', advice: { error: 'purpose' } }
  const add = (name: string, cypher: string, more: object = {}) =>
    service.addPolicy({ name, actions: ['drive', 'park'], cypher, ...more })
  await add('never', `${owns} WHERE resource.wheels > 3 AND EXISTS { MATCH (subject)-[:KNOWS]->(:Person) }`)
  await add('filtered', owns, { filter })
  await add('each', `${owns} WHERE $resource_external_id <> "c9" AND resource.external_id <> "c4"`)
  await add('owns', owns)
  key = (await service.addAgent('reader', ['Authorization', 'ReadAuthZConfigs'])).key
})
afterAll(() => service?.stop())
afterEach(() => void vi.restoreAllMocks())

const context = { input_params: { purpose: 'fun' } }
const subject = { type: 'Person', id: 'ann' }
const resource = { type: 'Car', id: 'c1' }
const action = { name: 'drive' }
const requests: Readonly<Record<string, object>> = {
  evaluation: { subject, action, resource, context },
  'evaluation ': { subject: { type: 'Person', id: 'bob' }, action, resource, context },
  evaluations: { subject, action, context, evaluations: [{ resource }, { resource: { type: 'Car', id: 'c2' } }] },
  explain: { subject, action, resource, context },
  'explain ': { subject: { type: 'Person', id: 'bob' }, action, resource, context },
  'search/resource': { subject, action, resource: { type: 'Car' }, context },
  'search/resource ': { subject, action, resource: { type: 'Car' }, context, page: { limit: 2 } },
  'search/subject': { subject: { type: 'Person' }, action, resource, context },
  'search/action': { subject, resource, context },
  'what-authorized': { subject, context, evaluations: [{ action, resource: { type: 'Car' } }] },
  'who-authorized': { context, evaluations: [{ action, resource }] },
}

describe.each(Object.entries(chargeFaults))('a request that meets %s', (_, fault) => {
  it.each(Object.entries(requests))('at any step of %s has a typed response', async (path, body) => {
    const post = () => service.send(`/access/v1/${path.trim()}`, { headers: { 'x-svc-clientkey': key }, body })
    const whole = await post()
    expect(whole.status).toBe(200)
    for (let n = 0; ; n++) {
      const isMet = await failingAt(n, fault, async () => {
        const { status } = await post()
        expect([n, status]).toEqual([n, expect.toBeOneOf([200, 422, 503])])
      })
      const { status, body: again } = await post()
      expect([n, status, again.decision, again.results]).toEqual([n, 200, whole.body.decision, whole.body.results])
      if (!isMet) break
    }
  })
})
