// Each form of a text in which an absent value may decide: a policy that forbids passes over a car whose values make it false, and
// forbids, or fails, for the car without values. Evaluations and searches agree.
import { afterAll, beforeAll, expect, test } from 'vitest'
import { startService, type TestService } from '../../support/service.ts'

const forms = [
  'MATCH (subject), (resource:$(resource.kind))',
  'MATCH (subject), (resource) WHERE resource:$(resource.kind)',
  'MATCH (subject)-[:$(resource.kind)]->(resource)',
  'MATCH (subject)-[r]->(resource) WHERE r:$(resource.kind)',
  'MATCH (subject)-[:OWNS {since: resource.since}]->(resource)',
  'MATCH (subject)-[r:OWNS]->(resource) WHERE r.since > 3',
  'MATCH (subject)-[:OWNS*1..2 {since: 4}]->(resource)',
  'MATCH (subject) ((a)-[r:OWNS]->(b) WHERE r.since > 3){1,2} (resource)',
  'MATCH (subject)-[r:OWNS WHERE r.since > 3]->+(resource)',
  'MATCH (subject), (resource) WHERE any(x IN resource.tags WHERE x = 1)',
  'MATCH (subject), (resource) WHERE none(x IN resource.tags WHERE x = 1) = false',
  'MATCH (subject), (resource) WHERE reduce(s = 0, x IN resource.tags | s + x) > 3',
  'MATCH (subject), (resource) UNWIND resource.tags AS t WITH subject, resource, t WHERE t = 1',
  'MATCH (subject), (resource) WITH subject, resource, resource.level AS l WHERE l > 3',
  'MATCH (subject), (resource) WHERE resource[resource.key] = 5',
  'MATCH (subject), (resource) WHERE NOT (NOT EXISTS { (subject)-[r:OWNS]->(resource) WHERE r.since > 3 })',
  'MATCH (subject), (resource) CALL (resource) { WITH resource WHERE resource.level > 3 RETURN 1 AS one }',
  'MATCH (subject), (resource) WHERE resource.name STARTS WITH "x"',
  'MATCH (subject), (resource) WHERE size(resource.name) > 2 XOR false',
  'MATCH (subject), (resource), (:Person {external_id: resource.owner})',
  'MATCH (subject), (resource) WHERE subject.external_id = resource.owner',
  'MATCH (subject), (resource) WHERE date(resource.day) < date("2000-01-01")',
  'MATCH (subject), (resource) WHERE net.contains("10.0.0.0/8", resource.ip)',
]

let service: TestService
beforeAll(async () => {
  service = await startService({}, { sync: false, log: () => {} })
  const values = {
    ...{ kind: 'Bus', since: 2, tags: [2], level: 1, key: 'level', name: 'y', owner: 'zoe', day: '2020-01-01' },
    ip: '192.0.2.1',
  }
  const properties = Object.entries(values).map(([type, value]) => ({ type, value }))
  const cars = [
    { type: 'Car', external_id: 'safe', properties },
    { type: 'Car', external_id: 'blank' },
  ]
  const owns = (id: string, more: object = {}) => ({
    ...{ source: { type: 'Person', external_id: 'ann' }, type: 'OWNS', target: { type: 'Car', external_id: id } },
    ...more,
  })
  await service.ask('/capture/v1/nodes', { nodes: [{ type: 'Person', external_id: 'ann' }, ...cars] })
  const since = { properties: [{ type: 'since', value: 1 }] }
  await service.ask('/capture/v1/relationships', { relationships: [owns('safe', since), owns('blank')] })
  for (const [i, cypher] of forms.entries()) {
    const actions = [`use-${i}`]
    await service.addPolicy({ name: `grant-${i}`, actions, cypher: 'MATCH (subject)-[:OWNS]->(resource)' })
    await service.addPolicy({ name: `forbid-${i}`, actions, cypher, effect: 'forbid' })
  }
})
afterAll(() => service.stop())

test.each(forms.map((form, i) => [form, i] as const))('%s', async (_, i) => {
  const question = { subject: { type: 'Person', id: 'ann' }, action: { name: `use-${i}` } }
  const decisionAbout = async (id: string) => {
    const { body } = await service.ask('/access/v1/evaluation', { ...question, resource: { type: 'Car', id } })
    return body.decision
  }
  const found = await service.ask('/access/v1/search/resource', { ...question, resource: { type: 'Car' } })
  expect([await decisionAbout('safe'), await decisionAbout('blank')]).toEqual([true, false])
  expect(found.body.results).toEqual([{ type: 'Car', id: 'safe' }])
})
