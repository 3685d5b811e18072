// One request has one budget for all its policies and candidates.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { PolicyError } from '../../../src/pdp/decision-deps.ts'
import { graphServers } from '../../support/graph-servers.ts'
import { startService, type TestService } from '../../support/service.ts'

const PEOPLE = 24
/** A traversal of all pairs visits some 1,200 relationships; every hostile one visits an astronomical number. */
const STEPS = 20_000

let service: TestService
const faults: PolicyError[] = []

beforeAll(async () => {
  service = await startService(
    // A query on a database server counts no steps, so its time ends it. A granted decision takes a small part of that on a slow machine.
    { traversalStepsMax: STEPS, decisionTimeMs: graphServers.length === 0 ? 60_000 : 15_000 },
    { onDecisionFault: (fault) => faults.push(fault), log: () => {} },
  )
  const names = Array.from({ length: PEOPLE }, (_, i) => `p${i}`)
  const person = (external_id: string) => ({ type: 'Person', external_id })
  const cars = ['c1', 'c2'].map((external_id) => ({ type: 'Car', external_id }))
  await service.ask('/capture/v1/nodes', { nodes: [...names.map(person), ...cars] })
  const pairs = names.flatMap((a) => names.filter((b) => a < b).map((b) => [a, b] as const))
  const relationships = [
    ...pairs.map(([a, b]) => ({ source: person(a), type: 'KNOWS', target: person(b) })),
    { source: person('p0'), type: 'OWNS', target: cars[0] },
  ]
  for (let i = 0; i < relationships.length; i += 250) {
    const sent = await service.ask('/capture/v1/relationships', { relationships: relationships.slice(i, i + 250) })
    expect(sent.status).toBe(200)
  }

  const hostile = 'MATCH (subject)-[r:KNOWS*10..]-(x), (resource) WHERE x.external_id IS NULL'
  const owner = 'MATCH (subject)-[:OWNS]->(resource)'
  for (const name of ['h1', 'h2', 'h3', 'h4']) {
    await service.addPolicy({ name, actions: ['first', 'last', 'never'], cypher: hostile })
  }
  await service.addPolicy({ name: 'after', actions: ['last'], cypher: owner })
  await service.addPolicy({ name: 'before', actions: ['free'], cypher: owner })
  await service.addPolicy({ name: 'h5', actions: ['free'], cypher: hostile })
  // Expensive for each candidate, but within the limit for one.
  const each =
    'MATCH (subject), (resource) WHERE $subject_external_id <> "" AND COUNT { (x:Person)-[:KNOWS]-(y) WHERE x.external_id <> y.external_id } > 5'
  await service.addPolicy({ name: 'each', actions: ['each'], cypher: each })
})

afterAll(() => service?.stop())

const subject = { type: 'Person', id: 'p0' }
const resource = { type: 'Car', id: 'c1' }
const evaluate = (action: string) =>
  service.ask('/access/v1/evaluation', { subject, action: { name: action }, resource })
const search = (action: string) =>
  service.ask('/access/v1/search/subject', { subject: { type: 'Person' }, action: { name: action }, resource })
const spent = `{"message":"Unprocessable Entity","errors":["the limit of ${STEPS} steps is reached"]}`

describe('an evaluation', () => {
  it('evaluates no further policy when the budget is spent, and logs it once', async () => {
    faults.length = 0
    const { status, text } = await evaluate('never')
    expect([status, text]).toEqual([200, expect.stringMatching(/^\{"decision":false,.*policy_failed \(budget\)/)])
    expect(faults).toMatchObject([{ requestKind: 'evaluation', code: 'budget' }])
  })

  it('grants what was granted before the budget was spent, and nothing afterwards', async () => {
    expect((await evaluate('free')).text).toBe('{"decision":true}')
    expect((await evaluate('last')).body.decision).toBe(false)
  })
})

// A query on a database server has no steps: its time is limited.
describe.skipIf(graphServers.length > 0)('a search', () => {
  it('is refused if its policies together exceed the budget', async () => {
    faults.length = 0
    const { status, text } = await search('never')
    expect([status, text]).toEqual([422, spent])
    expect(faults).toHaveLength(1)
  })

  it('counts the checks of all its candidates together', async () => {
    expect((await evaluate('each')).text).toBe('{"decision":true}')
    const { status, text } = await search('each')
    expect([status, text]).toEqual([422, spent])
  })
})
