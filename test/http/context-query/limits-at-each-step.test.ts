// If any step of a knowledge query or a graph query meets a limit, the response is a typed one, never 500.
import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { type ContextService, startContextService } from '../../support/context-service.ts'
import { chargeFaults, failingAt } from '../../support/failing-charges.ts'
import type { TestResponse } from '../../support/service.ts'

let setup: ContextService
const queries = new Map<string, string>()

beforeAll(async () => {
  setup = await startContextService({}, { log: () => {} })
  const node = (type: string, external_id: string) => ({ type, external_id })
  const cars = ['c1', 'c2', 'c3'].map((id) => node('Car', id))
  expect((await setup.capture('nodes', { nodes: [node('Person', 'ann'), ...cars] })).status).toBe(200)
  const relationships = cars.map((target) => ({ source: node('Person', 'ann'), type: 'OWNS', target }))
  expect((await setup.capture('relationships', { relationships })).status).toBe(200)
  const cypher =
    'MATCH (subject:_Application {external_id: $_appId}) MATCH (person:Person)-[:OWNS]->(car:Car) WHERE car.external_id <> $other'
  const filter = [{ operator: '=', attribute: 'car.external_id', value: '$car' }]
  const nodes = ['car.external_id']
  const policy = {
    subject: { type: '_Application' },
    condition: { cypher, filter },
    allowed_reads: { nodes },
    allowed_upserts: { nodes: { existing_nodes: ['car'] } },
  }
  queries.set('reads', await setup.addQuery('reads', policy, { nodes }))
  const upsert_nodes = [{ name: 'car', properties: [{ type: 'seen', value: true }] }]
  queries.set('writes', await setup.addQuery('writes', policy, { nodes, upsert_nodes }))
})
afterAll(() => setup?.stop())
afterEach(() => void vi.restoreAllMocks())

const input_params = { car: 'c2', other: 'c1' }
const graphQuery = (query: string) => (): Promise<TestResponse> => {
  const { service } = setup
  const headers = { authorization: `Bearer ${service.token}`, 'x-project-id': service.projectId }
  return service.send('/graph/v1/query', { headers, body: { query } })
}
const requests: Readonly<Record<string, () => Promise<TestResponse>>> = {
  'a knowledge query that reads': () => setup.execute(queries.get('reads')!, { input_params }),
  'a page of a knowledge query': () => setup.execute(queries.get('reads')!, { input_params, page_size: 1 }),
  'a knowledge query that writes': () => setup.execute(queries.get('writes')!, { input_params }),
  'a graph query': graphQuery(
    'MATCH (p:Person)-[:OWNS]->(c:Car) RETURN p, collect(c.external_id) AS cars ORDER BY size(cars)',
  ),
}

/** After one LaneRequiredError, a knowledge query always runs in a lane. This service has no lanes. */
const limits = Object.entries(chargeFaults).filter(([name]) => name !== 'a missing lane')

describe.each(Object.entries(requests))('%s', (_, ask) => {
  it.each(limits)('that meets %s at any step has a typed response', async (_, fault) => {
    const whole = await ask()
    expect(whole.status, whole.text).toBe(200)
    for (let n = 0; ; n++) {
      const isMet = await failingAt(n, fault, async () => {
        const { status, text } = await ask()
        expect([n, status, text]).toEqual([n, expect.toBeOneOf([200, 408, 422, 503]), expect.anything()])
      })
      const again = await ask()
      const { data, rows } = again.body
      expect([n, again.status, data, rows]).toEqual([n, 200, whole.body.data, whole.body.rows])
      if (!isMet) break
    }
  })
})
