// A search finds x exactly when the evaluation of x permits, even if some of the rows in between fail.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService

beforeAll(async () => {
  service = await startService({}, { onDecisionFault: () => {}, log: () => {} })
  const node = (type: string, external_id: string, properties: Record<string, unknown> = {}) => ({
    type,
    external_id,
    properties: Object.entries(properties).map(([name, value]) => ({ type: name, value })),
  })
  await service.ask('/capture/v1/nodes', {
    nodes: [
      node('Person', 'ann'),
      node('Person', 'bob'),
      node('Group', 'g0', { k: 0, flag: true }),
      node('Group', 'g1', { k: 1, flag: 'yes' }),
      node('Group', 'g2', { k: 2, flag: true }),
      node('Car', 'red', { n: 1 }),
      node('Car', 'blue', { n: 2 }),
    ],
  })
  const link = (source: string, sourceId: string, type: string, target: string, targetId: string) => ({
    source: { type: source, external_id: sourceId },
    type,
    target: { type: target, external_id: targetId },
  })
  await service.ask('/capture/v1/relationships', {
    relationships: [
      link('Person', 'ann', 'IN', 'Group', 'g0'),
      link('Person', 'ann', 'IN', 'Group', 'g1'),
      link('Person', 'bob', 'IN', 'Group', 'g2'),
      link('Group', 'g1', 'MAY', 'Car', 'red'),
      link('Group', 'g2', 'MAY', 'Car', 'red'),
      link('Group', 'g0', 'MAY', 'Car', 'blue'),
      link('Group', 'g2', 'MAY', 'Car', 'blue'),
    ],
  })
  const way = 'MATCH (subject:Person)-[:IN]->(g:Group)-[:MAY]->(resource:Car)'
  await service.addPolicy({ name: 'divides', actions: ['divide'], cypher: `${way} WHERE 10 / g.k > 1` })
  await service.addPolicy({ name: 'flags', actions: ['flag'], cypher: `${way} WHERE g.flag` })
  await service.addPolicy({ name: 'drops', actions: ['drop'], cypher: `${way} WHERE resource.n = 1 AND 10 / g.k > 1` })
})

afterAll(() => service?.stop())

for (const action of ['divide', 'flag', 'drop']) {
  it(`${action}: both searches agree with the evaluations`, async () => {
    const people = ['ann', 'bob']
    const cars = ['red', 'blue']
    const permitted: string[] = []
    const found = { resources: [] as string[], subjects: [] as string[] }
    for (const s of people) {
      const subject = { type: 'Person', id: s }
      for (const r of cars) {
        const body = { subject, action: { name: action }, resource: { type: 'Car', id: r } }
        if ((await service.ask('/access/v1/evaluation', body)).body.decision) permitted.push(`${s} ${r}`)
      }
      const body = { subject, action: { name: action }, resource: { type: 'Car' } }
      const { results } = (await service.ask('/access/v1/search/resource', body)).body
      for (const { id } of results as { id: string }[]) found.resources.push(`${s} ${id}`)
    }
    for (const r of cars) {
      const body = { subject: { type: 'Person' }, action: { name: action }, resource: { type: 'Car', id: r } }
      const { results } = (await service.ask('/access/v1/search/subject', body)).body
      for (const { id } of results as { id: string }[]) found.subjects.push(`${id} ${r}`)
    }
    expect(permitted).toContain('bob red')
    expect(found.resources.sort()).toEqual([...permitted].sort())
    expect(found.subjects.sort()).toEqual([...permitted].sort())
  })
}
