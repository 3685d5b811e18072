// Captures of a project with declared types: open types warn, closed types refuse, and a text of a temporal type becomes a value.
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { startService, type TestService } from '../../support/service.ts'

const TYPES = `(:User {email STRING NOT NULL, clearance INTEGER, ratio FLOAT, tags LIST<STRING>, born DATE}),
(:User&Admin {email STRING NOT NULL, area STRING}),
(:Group),
(:User)-[:MEMBER {until ZONED DATETIME}]->(:Group),
(:User)-[:LEADS {since DATE NOT NULL}]->(:Group)
DEFINE (u:User)-[:near]->(v:User) AS { MATCH (u)-[:MEMBER]->(:Group)<-[:MEMBER]-(v) }`

let service: TestService
beforeEach(async () => {
  service = await startService({ metricsAccess: 'public' }, { sync: false })
})
afterEach(() => service.stop())

async function declared(mode: 'OPEN' | 'CLOSED', types = TYPES): Promise<void> {
  const body = { project_id: service.projectId, name: 'model', model: `${mode} ${types}` }
  const created = await service.configure('POST', 'models', body)
  if (created.status !== 201) throw new Error(created.text)
}

function node(
  id: string,
  type: string,
  properties: Readonly<Record<string, unknown>> = {},
  others: object = {},
): object {
  const all = Object.entries(properties).map(([name, value]) => ({ type: name, value }))
  return { type, external_id: id, ...(all.length > 0 && { properties: all }), ...others }
}

function related(
  type: string,
  properties: Readonly<Record<string, unknown>> = {},
  source = 'User',
  target = 'Group',
): object {
  const all = Object.entries(properties).map(([name, value]) => ({ type: name, value }))
  return {
    type,
    source: { type: source, external_id: source === 'User' ? 'ann' : 'g' },
    target: { type: target, external_id: target === 'User' ? 'ann' : 'g' },
    ...(all.length > 0 && { properties: all }),
  }
}

/** The status, and the issues or warnings. */
async function captured(what: 'nodes' | 'relationships', ...items: readonly object[]): Promise<readonly unknown[]> {
  const { status, body } = await service.ask(`/capture/v1/${what}`, { [what]: items })
  return [status, ...((body.warnings ?? body.errors ?? []) as readonly unknown[])]
}

async function rows(query: string): Promise<unknown> {
  const headers = { authorization: `Bearer ${service.token}`, 'x-project-id': service.projectId }
  const answer = await service.send('/graph/v1/query', { headers, body: { query } })
  return answer.body.rows ?? answer.body
}

const faults: readonly (readonly [object, string])[] = [
  [node('u', 'Usr'), 'the model declares no node type `Usr`; did you mean `User`?'],
  [node('u', 'User', { emial: 'x', email: 'x' }), '`(:User)` has no property `emial`; did you mean `email`?'],
  [node('u', 'User', { email: 1 }), '`email`: expected `STRING NOT NULL`, found `INTEGER`'],
  [node('u', 'User', { email: 'x', tags: [1, 2] }), '`tags`: expected `LIST<STRING>`, found `LIST<INTEGER>`'],
  [node('u', 'User', { email: 'x', clearance: 1.5 }), '`clearance`: expected `INTEGER`, found `FLOAT`'],
  [node('u', 'User', { email: 'x', born: 'soon' }), '`born`: expected `DATE`, found `STRING`'],
  [node('u', 'User', { clearance: 1 }), '`email`: expected a value, because the model says NOT NULL'],
  [
    node('u', 'User', { email: 'x' }, { labels: ['Group'] }),
    'the model declares no node type with exactly the labels `User`, `Group`',
  ],
]

describe('open types', () => {
  test.each(faults)('warn, and the node is written: %j', async (item, fault) => {
    await declared('OPEN')
    expect(await captured('nodes', node('fits', 'User', { email: 'a' }), item)).toEqual([200, `nodes[1]: ${fault}`])
    expect((await service.send('/metrics')).text.split('\n')).toContain('verdigraph_unfit_items_total 1')
  })

  test('say nothing about what fits', async () => {
    await declared('OPEN')
    const ann = node('ann', 'User', { email: 'a', clearance: 3, ratio: 1, tags: ['x'], born: '2001-02-03' })
    expect(await captured('nodes', ann, node('g', 'Group'))).toEqual([200])
    expect(await captured('nodes', node('ann', 'User', { clearance: 4 }))).toEqual([200])
    expect(await captured('nodes', node('root', 'User', { email: 'r', area: 'x' }, { labels: ['Admin'] }))).toEqual([
      200,
    ])
    expect(await captured('relationships', related('MEMBER', { until: '2030-01-01T00:00:00Z' }))).toEqual([200])
    expect(
      await rows(
        'MATCH (u:User {external_id: "ann"})-[m:MEMBER]->() RETURN valueType(u.born) AS b, valueType(m.until) AS u',
      ),
    ).toEqual([['DATE NOT NULL', 'ZONED DATETIME NOT NULL']])
  })
})

describe('closed types', () => {
  test.each(faults)('refuse the request and name the item: %j', async (item, fault) => {
    await declared('CLOSED')
    expect(await captured('nodes', node('fits', 'User', { email: 'a' }), item)).toEqual([422, `nodes[1]: ${fault}`])
    expect(await rows('MATCH (n:User) RETURN count(*) AS n')).toEqual([[0]])
  })

  test.each([
    [related('MEMBR'), 'the model declares no relationship type `MEMBR`; did you mean `MEMBER`?'],
    [
      related('MEMBER', {}, 'Group', 'User'),
      '`MEMBER` cannot connect `(:Group)` to `(:User)`; the model declares `(:User)-[:MEMBER]->(:Group)`',
    ],
    [
      related('MEMBER', { untill: 'x' }),
      '`(:User)-[:MEMBER]->(:Group)` has no property `untill`; did you mean `until`?',
    ],
    [related('MEMBER', { until: 'x' }), '`until`: expected `ZONED DATETIME`, found `STRING`'],
    [related('LEADS'), '`since`: expected a value, because the model says NOT NULL'],
  ])('refuse the relationship %j', async (item, fault) => {
    await declared('CLOSED')
    await captured('nodes', node('ann', 'User', { email: 'a' }), node('g', 'Group'))
    expect(await captured('relationships', item)).toEqual([422, `relationships[0]: ${fault}`])
  })

  test('refuse the deletion of a property that each node has', async () => {
    await declared('CLOSED')
    await captured('nodes', node('ann', 'User', { email: 'a' }))
    const deleted = await service.ask('/capture/v1/nodes/properties/delete', {
      nodes: [{ type: 'User', external_id: 'ann', property_types: ['email'] }],
    })
    expect([deleted.status, deleted.text]).toEqual([422, expect.stringContaining('the model says NOT NULL')])
  })
})
