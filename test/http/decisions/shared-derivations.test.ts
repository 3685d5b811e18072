// The policies of a request and the requests of a batch derive a pair of a definition once. None of them is charged for what another one has left.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { graphServers } from '../../support/graph-servers.ts'
import { startService, type TestService } from '../../support/service.ts'

const DOCUMENTS = 40
/** What is reached from x20 takes more than half of it, and from x0 more than all of it. */
const STEPS = 6_000

let service: TestService

beforeAll(async () => {
  service = await startService({ traversalStepsMax: STEPS, decisionTimeMs: 60_000 }, { log: () => {} })
  const doc = (external_id: string) => ({ type: 'Doc', external_id })
  const names = Array.from({ length: DOCUMENTS + 1 }, (_, at) => `x${at}`)
  await service.ask('/capture/v1/nodes', { nodes: [...names, 'y'].map(doc) })
  const relationships = [
    ...names.slice(1).map((name, at) => ({ source: doc(names[at]!), type: 'NEXT', target: doc(name) })),
    { source: doc('x0'), type: 'NEXT', target: doc('y') },
    { source: doc('x20'), type: 'KNOWS', target: doc('y') },
  ]
  expect((await service.ask('/capture/v1/relationships', { relationships })).status).toBe(200)
  const model = await service.configure('POST', 'models', {
    project_id: service.projectId,
    name: 'model',
    model:
      'DEFINE (a:Doc)-[:reaches]->(b:Doc) AS { MATCH (a)-[:NEXT]->(b) UNION MATCH (a)-[:reaches]->(x), (x)-[:reaches]->(b) }',
  })
  expect(model.status, model.text).toBe(201)
  const [subject, resource] = ['Doc', 'Doc']
  for (const name of ['first', 'second', 'third']) {
    const cypher = 'MATCH (subject:Doc)-[:reaches]->(resource:Doc)'
    await service.addPolicy({ name, subject, resource, actions: ['read'], cypher })
  }
  const cypher = 'MATCH (subject:Doc)-[:KNOWS]->(resource:Doc)'
  await service.addPolicy({ name: 'z', subject, resource, actions: ['read'], cypher })
})

afterAll(() => service?.stop())

const question = (from: string, to: string) => ({
  subject: { type: 'Doc', id: from },
  action: { name: 'read' },
  resource: { type: 'Doc', id: to },
})
const exhausted = { decision: false, context: { reason: expect.stringContaining('policy_failed (budget)') } }

// A definition is evaluated in the service, but a policy without one counts no steps on a database server.
describe.skipIf(graphServers.length > 0)('what is derived', () => {
  it('is derived once for all policies of a request', async () => {
    const { body } = await service.ask('/access/v1/evaluation', question('x20', 'y'))
    expect(body).toEqual({ decision: true })
  })

  it('is known to the next request of a batch, and what a request leaves or does not complete costs it nothing', async () => {
    const evaluations = [
      question('x0', 'x5'),
      question('x38', 'y'),
      question('x1', 'y'),
      question('x20', 'y'),
      question('x38', 'y'),
      question('x0', 'x5'),
    ]
    const { body } = await service.ask('/access/v1/evaluations', { evaluations })
    const alone = await Promise.all(evaluations.map((one) => service.ask('/access/v1/evaluation', one)))
    expect(alone.map(({ body }) => body.decision)).toEqual([true, false, false, true, false, true])
    expect(alone[2]!.body).toEqual(exhausted)
    expect(body.evaluations).toEqual(alone.map(({ body }) => body))
  })
})
