import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { PolicyError } from '../../../src/pdp/decision-deps.ts'
import { startService, type TestService } from '../../support/service.ts'

let service: TestService
const faults: PolicyError[] = []
beforeAll(async () => {
  service = await startService({}, { onDecisionFault: (fault) => faults.push(fault), log: () => undefined })
  const car = (external_id: string, flag: object | null) => ({
    type: 'Car',
    external_id,
    properties: [{ type: 'wheels', value: 4 }, ...(flag === null ? [] : [{ type: 'flag', ...flag }])],
  })
  const cars = [car('known', { value: true }), car('absent', null), car('supplied', { external_value: 'flags' })]
  const nodes = [{ type: 'Person', external_id: 'ann', is_identity: true }, ...cars]
  expect((await service.ask('/capture/v1/nodes', { nodes })).status).toBe(200)
  const relationships = cars.map(({ external_id }) => ({
    source: { type: 'Person', external_id: 'ann' },
    target: { type: 'Car', external_id },
    type: 'OWNS',
    properties: [external_id === 'supplied' ? { type: 'since', external_value: 'dates' } : { type: 'since', value: 1 }],
  }))
  expect((await service.ask('/capture/v1/relationships', { relationships })).status).toBe(200)
})
afterAll(() => service.stop())
beforeEach(() => {
  faults.length = 0
})

const OWNS = 'MATCH (subject:Person)-[r:OWNS]->(resource:Car)'
let made = 0

/** The granted cars, by evaluations and by a search, which must agree. */
async function granted(cypher: string, version: '2.0-kbac' | '3.0-kbac'): Promise<string[]> {
  made += 1
  const action = { name: `drive-${made}` }
  await service.addPolicy({ name: `policy-${made}`, cypher, version, actions: [action.name] })
  const subject = { type: 'Person', id: 'ann' }
  const found: string[] = []
  for (const id of ['known', 'absent', 'supplied']) {
    const { body } = await service.ask('/access/v1/evaluation', { subject, action, resource: { type: 'Car', id } })
    if (body.decision === true) found.push(id)
  }
  const search = await service.ask('/access/v1/search/resource', { subject, action, resource: { type: 'Car' } })
  const ids = (search.body.results as { id: string }[]).map(({ id }) => id)
  expect([...ids].sort()).toEqual([...found].sort())
  return found
}

const versions = ['2.0-kbac', '3.0-kbac'] as const

describe.each(versions)('a property of a resolver, in a policy of %s', (version) => {
  it('is unknown in a comparison, also under NOT', async () => {
    expect(await granted(`${OWNS} WHERE resource.flag = true`, version)).toEqual(['known'])
    expect(await granted(`${OWNS} WHERE NOT resource.flag = false`, version)).toEqual(['known'])
    expect(await granted(`${OWNS} WHERE resource.flag <> false OR resource.wheels = 4`, version)).toHaveLength(3)
    expect(await granted(`MATCH (subject:Person)-[r:OWNS]->(resource:Car {flag: true})`, version)).toEqual(['known'])
    expect(await granted(`${OWNS} WHERE r.since = 1`, version)).toEqual(['known', 'absent'])
    expect(await granted(`${OWNS} WHERE resource.flag IN [true]`, version)).toEqual(['known'])
    expect(
      await granted(`${OWNS} WHERE EXISTS { MATCH (subject)-[:OWNS]->(resource) WHERE resource.flag }`, version),
    ).toEqual(['known'])
  })

  it('is never treated as absent', async () => {
    const absent = [
      `${OWNS} WHERE resource.flag IS NULL`,
      `${OWNS} WHERE NOT resource.flag IS NOT NULL`,
      `${OWNS} WHERE coalesce(resource.flag, true) = true AND resource.flag IS NULL`,
      `${OWNS} WHERE NOT EXISTS { MATCH (resource) WHERE resource.flag = true }`,
      `${OWNS} WHERE NOT EXISTS { MATCH (c:Car {flag: true}) WHERE c = resource }`,
      `${OWNS} WITH subject, resource, resource.flag AS flag WHERE flag IS NULL`,
      `${OWNS} WHERE properties(resource).flag IS NULL`,
      `${OWNS} WHERE resource['flag'] IS NULL`,
      `${OWNS} WHERE NOT 'flag' IN keys(resource)`,
      `${OWNS} OPTIONAL MATCH (resource)<-[s:OWNS]-(subject) WHERE resource.flag = true WITH subject, resource, s WHERE s IS NULL`,
      `${OWNS} OPTIONAL MATCH (c:Car {flag: true}) WHERE c = resource WITH subject, resource, count(c) AS n WHERE n = 0`,
    ]
    for (const cypher of absent) {
      const found = await granted(cypher, version)
      expect(found, cypher).not.toContain('supplied')
      expect(
        faults.map(({ code }) => code),
        cypher,
      ).toContain('external')
      faults.length = 0
    }
    expect(await granted(`${OWNS} WHERE resource.flag IS NULL`, version)).toEqual(['absent'])
    expect(await granted(`${OWNS} WHERE r.since IS NULL`, version)).toEqual([])
  })

  it('does not affect other properties', async () => {
    expect(await granted(`${OWNS} WHERE resource.wheels IS NOT NULL AND resource.none IS NULL`, version)).toHaveLength(
      3,
    )
    expect(faults).toEqual([])
  })
})

describe('a denial that a property of a resolver may have caused', () => {
  const reasons = () => faults.map(({ code, message }) => [code, message])
  it('is reported as an error of a 3.0 policy, and not of a 2.0 policy', async () => {
    await granted(`${OWNS} WHERE resource.flag = true`, '2.0-kbac')
    expect(reasons()).toEqual([])
    await granted(`${OWNS} WHERE resource.flag = true`, '3.0-kbac')
    expect(reasons()).toEqual([['external', 'external properties cannot be used in data-residency policies: `flag`']])
  })

  it('is no longer reported when the property gets a value, and is again when it loses it', async () => {
    const flag = (given: object) =>
      service.ask('/capture/v1/nodes', {
        nodes: [{ type: 'Car', external_id: 'absent', properties: [{ type: 'flag', ...given }] }],
      })
    const cypher = `${OWNS} WHERE resource.flag IS NULL`
    expect(await granted(cypher, '3.0-kbac')).toEqual(['absent'])
    await flag({ external_value: 'flags' })
    expect(await granted(cypher, '3.0-kbac')).toEqual([])
    await flag({ value: false })
    expect(await granted(`${OWNS} WHERE resource.flag = false`, '3.0-kbac')).toEqual(['absent'])
  })
})

describe('a property of a resolver, in a definition', () => {
  beforeAll(async () => {
    const model = await service.configure('POST', 'models', {
      project_id: service.projectId,
      name: 'model',
      model: `DEFINE (p:Person)-[:flagged]->(c:Car) AS { MATCH (p)-[:OWNS]->(c) WHERE c.flag = true }
DEFINE (p:Person)-[:tabled]->(c:Car) AS {
  MATCH (p)-[:OWNS]->(c) WHERE c.flag = true
  UNION MATCH (p)-[:tabled]->(x:Car), (p)-[:tabled]->(y:Car), (x)-[:NEXT]->(c)<-[:NEXT]-(y)
}`,
    })
    expect(model.status, model.text).toBe(201)
  })

  it.each(['flagged', 'tabled'])('fails the evaluation, and is never treated as absent: %s', async (type) => {
    for (const version of versions) {
      for (const [cypher, expected] of [
        [`MATCH (subject:Person)-[:${type}]->(resource:Car)`, 'known'],
        [`${OWNS} WHERE NOT (subject)-[:${type}]->(resource)`, 'absent'],
        [`${OWNS} WHERE NOT EXISTS { (subject)-[:${type}]->(resource) }`, 'absent'],
        [`${OWNS} WHERE COUNT { (subject)-[:${type}]->(resource) } = 0`, 'absent'],
      ] as const) {
        expect(await granted(cypher, version), cypher).toEqual([expected])
        expect(
          faults.map(({ code }) => code),
          cypher,
        ).toEqual(['external', 'external'])
        faults.length = 0
      }
    }
  })
})
